"""Service Quotas: one EC2 limit by its code."""

from __future__ import annotations

from typing import Any

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError
from stacks.domain.errors import WorldError
from stacks.domain.live import QuotaLimit

_SERVICE = "service-quotas"
_EC2 = "ec2"


def ec2_limit(cloud: Cloud, code: str) -> QuotaLimit:
    """The account's own value, else AWS's default for every account. Raises KitError, also where there is no number."""
    try:
        answer = cloud.call(_SERVICE, "get_service_quota", ServiceCode=_EC2, QuotaCode=code)
        return QuotaLimit(_vcpus(answer, code), is_default=False)
    except AwsError as error:
        if error.code != "NoSuchResourceException":
            raise
    answer = cloud.call(_SERVICE, "get_aws_default_service_quota", ServiceCode=_EC2, QuotaCode=code)
    return QuotaLimit(_vcpus(answer, code), is_default=True)


def _vcpus(answer: dict[str, Any], code: str) -> int:
    quota = answer.get("Quota") or {}
    value = quota.get("Value")
    if value is None:
        reason = (quota.get("ErrorReason") or {}).get("ErrorMessage") or "no reason given"
        raise WorldError(f"Service Quotas has no value for {code} ({reason})")
    return int(value)
