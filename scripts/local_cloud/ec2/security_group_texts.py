"""EC2 takes few characters in the descriptions of security groups and of their rules, an apostrophe not among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses import EC2Response

_ALLOWED = re.compile(r"[a-zA-Z0-9. _\-:/()#,@\[\]+=&;{}!$*]{0,255}")
_SET = (
    "Valid descriptions are strings less than 256 characters from the following set: "
    "a-zA-Z0-9. _-:/()#,@[]+=&;{}!$*"
)
_RANGES = ("IpRanges", "Ipv6Ranges", "Groups", "UserIdGroupPairs", "PrefixListIds")


class SecurityGroupTexts(EC2Response):
    def create_security_group(self) -> ActionResult:
        if not _ALLOWED.fullmatch(self._get_param("Description") or ""):
            raise EC2ClientError("InvalidParameterValue", f"Invalid security group description. {_SET}")
        return super().create_security_group()

    def authorize_security_group_ingress(self) -> ActionResult:
        self._check_rules()
        return super().authorize_security_group_ingress()

    def authorize_security_group_egress(self) -> ActionResult:
        self._check_rules()
        return super().authorize_security_group_egress()

    def _check_rules(self) -> None:
        for text in _descriptions(self._get_param("IpPermissions", [])):
            if not _ALLOWED.fullmatch(text):
                raise EC2ClientError("InvalidParameterValue", f"Invalid rule description. {_SET}")


def _descriptions(permissions: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    for permission in permissions:
        for name in _RANGES:
            yield from (one["Description"] for one in permission.get(name) or () if one.get("Description"))
