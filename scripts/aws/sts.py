"""Who calls, and whether the region is one that this account can use."""

from __future__ import annotations

from dataclasses import dataclass

from botocore.exceptions import BotoCoreError, ClientError

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError, CredentialsError, region_not_enabled

# Every account can use it: where it accepts what the file's region refused, that region is not enabled.
_REFERENCE_REGION = "us-east-1"
_REFUSED_TOKEN = ("InvalidClientTokenId", "UnrecognizedClientException", "AuthFailure", "InvalidAccessKeyId")


@dataclass(frozen=True, slots=True)
class Caller:
    account: str
    arn: str


def caller(cloud: Cloud) -> Caller:
    """Raises KitError; a region that is not enabled is told apart from wrong keys."""
    try:
        answer = cloud.call("sts", "get_caller_identity")
    except CredentialsError as error:
        if error.code in _REFUSED_TOKEN and _accepted_elsewhere(cloud):
            raise AwsError(*region_not_enabled(cloud.region), code=error.code, action=error.action) from error
        raise
    return Caller(account=answer["Account"], arn=answer["Arn"])


def _accepted_elsewhere(cloud: Cloud) -> bool:
    try:
        cloud.session.client("sts", region_name=_REFERENCE_REGION).get_caller_identity()
    except (ClientError, BotoCoreError):
        return False
    return True
