"""Service Quotas for EC2. The local cloud has no limits of its own: every quota is generous, unless a test sets one."""

from __future__ import annotations

import re
from typing import Any

from moto.core.base_backend import BackendDict, BaseBackend

from scripts.local_cloud.own_service import ActionResult, OwnService, ServiceException

GENEROUS_VCPUS = 10_000_000
_EC2 = "ec2"
_CODE = re.compile(r"^L-[0-9A-F]{8}$")


class NoSuchResourceException(ServiceException):
    code = "NoSuchResourceException"


class Backend(BaseBackend):
    """`limits`: what was set, by quota code."""

    def __init__(self, region_name: str, account_id: str) -> None:
        super().__init__(region_name, account_id)
        self.limits: dict[str, float] = {}


backends = BackendDict(Backend, "service-quotas")


def set_limit(account: str, region: str, code: str, vcpus: float) -> dict[str, Any]:
    if not _CODE.match(code):
        raise ValueError(f"{code!r} is no quota code")
    backends[account][region].limits[code] = float(vcpus)
    return {"code": code, "vcpus": float(vcpus)}


class ServiceQuotas(OwnService):
    service = "service-quotas"

    def get_service_quota(self) -> ActionResult:
        """As in AWS, an account that never asked for more has no value of its own."""
        code = self._code()
        limit = backends[self.current_account][self.region].limits.get(code)
        if limit is None:
            raise NoSuchResourceException(f"no value of its own for {code}")
        return ActionResult({"Quota": self._quota(code, limit)})

    def get_aws_default_service_quota(self) -> ActionResult:
        return ActionResult({"Quota": self._quota(self._code(), float(GENEROUS_VCPUS))})

    def _code(self) -> str:
        arguments = self.arguments()
        code = str(arguments["QuotaCode"])
        if arguments["ServiceCode"] != _EC2 or not _CODE.match(code):
            raise NoSuchResourceException("the local cloud knows the vCPU quotas of ec2 only")
        return code

    def _quota(self, code: str, vcpus: float) -> dict[str, Any]:
        return {
            "ServiceCode": _EC2,
            "ServiceName": "Amazon Elastic Compute Cloud (Amazon EC2)",
            "QuotaArn": f"arn:aws:servicequotas:{self.region}:{self.current_account}:ec2/{code}",
            "QuotaCode": code,
            "QuotaName": f"{code}, emulated by the local cloud",
            "Value": vcpus,
            "Unit": "None",
            "Adjustable": True,
            "GlobalQuota": False,
        }
