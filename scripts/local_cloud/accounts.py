"""One server serves every account: the access key names the account.

A request that carries `access_key("123456789012")` acts in that account, as does one with credentials that
`sts:AssumeRole` gave for a role of it.
"""

from __future__ import annotations

import re

DEFAULT_ACCOUNT = "123456789012"

SECRET = "local-cloud"  # noqa: S105  no secret: nothing checks signatures here
_PREFIX = "AKIALOCL"
_KEY = re.compile(rf"{_PREFIX}(\d{{12}})$")


def access_key(account: str) -> str:
    """Twenty characters, as AWS's access keys have."""
    if not re.fullmatch(r"\d{12}", account):
        raise ValueError(f"an AWS account id has twelve digits: {account!r}")
    return f"{_PREFIX}{account}"


def account_of(key: str) -> str | None:
    match = _KEY.match(key)
    return match.group(1) if match else None
