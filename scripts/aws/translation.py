"""The one place where what botocore and AWS say becomes what we say: a KitError with a hint.

Order of the tables matters: the first row that knows the failure words it. botocore's ParamValidationError is not
translated: a call that we built wrongly is a bug of ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from botocore import exceptions as botocore_errors
from botocore.exceptions import BotoCoreError, ClientError

from stacks.domain.errors import InputError, KitError, WorldError

_ACTION_IN_MESSAGE = re.compile(r"not authorized to perform:? ([a-z0-9-]+:[A-Za-z0-9*]+)")
_STATED_DENY = re.compile(r"explicit deny in an? ([a-z- ]+?)(?: policy)?(?:[:.,]|$)")

# IAM's names, where they are not "<service>:<Operation>".
_IAM_PREFIXES = {
    "efs": "elasticfilesystem",
    "elbv2": "elasticloadbalancing",
    "resourcegroupstaggingapi": "tag",
    "service-quotas": "servicequotas",
}
_IAM_ACTIONS = {
    "s3:ListObjectsV2": "s3:ListBucket",
    "s3:ListObjectVersions": "s3:ListBucketVersions",
    "s3:ListBuckets": "s3:ListAllMyBuckets",
    "s3:HeadBucket": "s3:ListBucket",
    "s3:HeadObject": "s3:GetObject",
    "s3:DeleteObjects": "s3:DeleteObjectVersion",
    "s3:ListMultipartUploads": "s3:ListBucketMultipartUploads",
}


class AwsError(WorldError):
    """A call that AWS refused. `code` is AWS's own word, `action` the IAM action, such as batch:SubmitJob."""

    def __init__(
        self, message: str, hint: str = "", *, code: str = "", action: str = "", reason: str = ""
    ) -> None:
        super().__init__(message, hint)
        self.code = code
        self.action = action
        self.reason = reason
        """AWS's own sentence."""


class AccessDeniedError(AwsError):
    """The caller lacks a permission, which the message names."""


class CredentialsError(AwsError):
    """There are no credentials, or they are no longer valid."""


class ThrottledError(AwsError):
    """AWS refused because of too many calls, also after all retries."""


class UnreachableError(AwsError):
    """No answer came from the endpoint."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed call, as the tables see it."""

    service: str
    operation: str
    region: str
    profile: str | None
    code: str
    message: str

    @property
    def action(self) -> str:
        """From AWS's message where it names one, else from the call."""
        named = _ACTION_IN_MESSAGE.search(self.message)
        return named.group(1) if named else iam_action(self.service, self.operation)

    @property
    def login(self) -> str:
        return f"aws sso login{self.profile_option}"

    @property
    def profile_option(self) -> str:
        return f" --profile {self.profile}" if self.profile else ""


def iam_action(service: str, operation: str) -> str:
    plain = f"{_IAM_PREFIXES.get(service, service)}:{operation}"
    return _IAM_ACTIONS.get(plain, plain)


def translate(
    error: ClientError | BotoCoreError, *, service: str, operation: str, region: str, profile: str | None
) -> KitError:
    """`operation` in AWS's spelling, such as SubmitJob."""
    if isinstance(error, ClientError):
        details = error.response.get("Error", {})
        code, message = str(details.get("Code", "unknown")), str(details.get("Message", ""))
        failure = Failure(service, operation, region, profile, code, message)
        return _CLIENT_ROWS.get(code, _anything_else)(failure)
    failure = Failure(service, operation, region, profile, type(error).__name__, str(error))
    for kind, row in _BOTOCORE_ROWS:
        if isinstance(error, kind):
            return row(failure)
    return _anything_else(failure)


def _error(kind: type[AwsError], failure: Failure, message: str, hint: str) -> AwsError:
    return kind(message, hint, code=failure.code, action=failure.action, reason=failure.message)


def _access_denied(failure: Failure) -> KitError:
    deny = _STATED_DENY.search(failure.message)
    if deny:
        hint = f"a {deny.group(1)} forbids it: no permission of yours can change that; ask whoever owns that policy"
    else:
        hint = f"add {failure.action} to the policies of the identity that you use{_of_profile(failure)}"
    detail = f" ({failure.message})" if failure.message else ""
    return _error(
        AccessDeniedError, failure, f"not allowed: {failure.action} in {failure.region}{detail}", hint
    )


def _of_profile(failure: Failure) -> str:
    return f" (profile {failure.profile})" if failure.profile else ""


def _expired(failure: Failure) -> KitError:
    return _error(
        CredentialsError,
        failure,
        f"the AWS credentials have expired ({failure.code})",
        f"run `{failure.login}`, or renew the credentials that you use, and give the same command again",
    )


def _sso_expired(failure: Failure) -> KitError:
    return _error(
        CredentialsError,
        failure,
        "the AWS SSO login has expired",
        f"run `{failure.login}`, then the same command again",
    )


def _login_expired(failure: Failure) -> KitError:
    command = f"aws login{failure.profile_option}"
    return _error(
        CredentialsError,
        failure,
        "the AWS login has expired",
        f"run `{command}`, then the same command again",
    )


def _no_credentials(failure: Failure) -> KitError:
    return _error(
        CredentialsError,
        failure,
        "no AWS credentials were found"
        if not failure.profile
        else f"profile {failure.profile} has no credentials",
        "give --profile NAME, set AWS_PROFILE, or run `aws configure sso`; --local needs none",
    )


def _partial_credentials(failure: Failure) -> KitError:
    return _error(
        CredentialsError,
        failure,
        f"the AWS credentials are incomplete ({failure.message})",
        "set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use --profile NAME",
    )


def _credential_source_failed(failure: Failure) -> KitError:
    return _error(
        CredentialsError,
        failure,
        f"the source of the AWS credentials failed: {failure.message}",
        "try `aws sts get-caller-identity" + failure.profile_option + "`: it has to work first",
    )


def _unknown_profile(failure: Failure) -> KitError:
    return InputError(
        failure.message or "unknown AWS profile", "`aws configure list-profiles` names those that exist"
    )


def _bad_configuration(failure: Failure) -> KitError:
    return InputError(f"the AWS configuration cannot be used: {failure.message}", "correct ~/.aws/config")


def _invalid_token(failure: Failure) -> KitError:
    """What a region that is not enabled says, and what wrong keys say: `scripts/aws/sts.py` tells them apart."""
    return _error(
        CredentialsError,
        failure,
        f"AWS does not accept these credentials in {failure.region} ({failure.code})",
        f"either the keys are wrong, or region {failure.region} is not enabled in this account",
    )


def _opt_in(failure: Failure) -> KitError:
    return _error(AwsError, failure, *region_not_enabled(failure.region))


def region_not_enabled(region: str) -> tuple[str, str]:
    """Message and hint."""
    return (
        f"region {region} is not enabled in this account",
        f"run `aws account enable-region --region-name {region}` (it takes minutes to hours), or choose another region",
    )


def _throttled(failure: Failure) -> KitError:
    return _error(
        ThrottledError,
        failure,
        f"AWS throttled {failure.action} in {failure.region}, also after several tries ({failure.code})",
        "wait a minute and give the same command again; it continues",
    )


def _unavailable(failure: Failure) -> KitError:
    return _error(
        AwsError,
        failure,
        f"{failure.service} in {failure.region} failed to answer {failure.operation}: {failure.code} {failure.message}".rstrip(),
        "it is AWS's side: give the same command again in a few minutes; it continues",
    )


def _quota(failure: Failure) -> KitError:
    return _error(
        AwsError,
        failure,
        f"a quota of the account in {failure.region} is used up: {failure.message or failure.code}",
        "ask for more in the Service Quotas console, or remove what is no longer used",
    )


def _clock(failure: Failure) -> KitError:
    return _error(
        AwsError,
        failure,
        f"AWS refuses the request's time or signature ({failure.code}): {failure.message}",
        "set this machine's clock right (NTP); if it is right, the secret access key is wrong",
    )


def _unreachable(failure: Failure) -> KitError:
    return _error(
        UnreachableError,
        failure,
        f"no connection to {failure.service} in {failure.region}: {failure.message}",
        "check the network, the proxy and the region's name; with --local: `neuronkit local status`",
    )


def _certificate(failure: Failure) -> KitError:
    return _error(
        UnreachableError,
        failure,
        f"the certificate of {failure.service} in {failure.region} was not accepted: {failure.message}",
        "behind a proxy that opens TLS, point AWS_CA_BUNDLE at its certificate authority",
    )


def _no_region(failure: Failure) -> KitError:
    return InputError(
        f"{failure.region} is not a region that AWS has: {failure.message}", "correct `region` in the file"
    )


def _anything_else(failure: Failure) -> KitError:
    return _error(
        AwsError,
        failure,
        f"{failure.action} in {failure.region} failed: {failure.code}: {failure.message}".rstrip(": "),
        "",
    )


_Row = Callable[[Failure], KitError]


def _rows(*groups: tuple[_Row, str]) -> dict[str, _Row]:
    return {code: row for row, codes in groups for code in codes.split()}


_CLIENT_ROWS: dict[str, _Row] = _rows(
    (
        _access_denied,
        "AccessDenied AccessDeniedException UnauthorizedOperation Client.UnauthorizedOperation UnauthorizedException "
        "AuthorizationError NotAuthorized ForbiddenException 403",
    ),
    (_expired, "ExpiredToken ExpiredTokenException RequestExpired TokenRefreshRequired"),
    (_invalid_token, "InvalidClientTokenId UnrecognizedClientException AuthFailure InvalidAccessKeyId"),
    (_opt_in, "OptInRequired InvalidRegion RegionDisabledException"),
    (
        _throttled,
        "Throttling ThrottlingException ThrottledException RequestThrottled RequestThrottledException "
        "RequestLimitExceeded TooManyRequestsException BandwidthLimitExceeded SlowDown PriorRequestNotComplete "
        "EC2ThrottledException ProvisionedThroughputExceededException CallRateLimitExceededException TooManyUpdates",
    ),
    (
        _quota,
        "LimitExceeded LimitExceededException ServiceQuotaExceededException VcpuLimitExceeded InstanceLimitExceeded "
        "VpcLimitExceeded AddressLimitExceeded NatGatewayLimitExceeded TooManyBuckets ResourceLimitExceeded "
        "SecurityGroupLimitExceeded ServiceLimitExceeded ParameterLimitExceeded",
    ),
    (_clock, "RequestTimeTooSkewed SignatureDoesNotMatch InvalidSignatureException"),
    (
        _unavailable,
        "InternalError InternalFailure InternalServerError InternalServiceError ServiceUnavailable "
        "ServiceUnavailableException ServerException Unavailable 500 502 503 504 InternalException "
        "InternalErrorException InternalServerException InternalServerErrorException InternalServiceException "
        "KMSInternalException DependencyTimeoutException HealthUnavailable ServiceException ServiceFailure",
    ),
)

_BOTOCORE_ROWS: tuple[tuple[type[BotoCoreError], _Row], ...] = (
    (botocore_errors.ProfileNotFound, _unknown_profile),
    (botocore_errors.ConfigParseError, _bad_configuration),
    (botocore_errors.ConfigNotFound, _bad_configuration),
    (botocore_errors.InvalidConfigError, _bad_configuration),
    (botocore_errors.InfiniteLoopConfigError, _bad_configuration),
    (botocore_errors.UnknownCredentialError, _bad_configuration),
    (botocore_errors.PartialCredentialsError, _partial_credentials),
    (botocore_errors.NoCredentialsError, _no_credentials),
    (botocore_errors.NoAuthTokenError, _no_credentials),
    (botocore_errors.SSOError, _sso_expired),
    (botocore_errors.TokenRetrievalError, _sso_expired),
    (botocore_errors.LoginError, _login_expired),
    (botocore_errors.CredentialRetrievalError, _credential_source_failed),
    (botocore_errors.MetadataRetrievalError, _credential_source_failed),
    (botocore_errors.RefreshWithMFAUnsupportedError, _credential_source_failed),
    (botocore_errors.NoRegionError, _no_region),
    (botocore_errors.InvalidRegionError, _no_region),
    (botocore_errors.UnknownRegionError, _no_region),
    (botocore_errors.SSLError, _certificate),
    (botocore_errors.EndpointConnectionError, _unreachable),
    (botocore_errors.ProxyConnectionError, _unreachable),
    (botocore_errors.ConnectTimeoutError, _unreachable),
    (botocore_errors.ReadTimeoutError, _unreachable),
    (botocore_errors.ConnectionClosedError, _unreachable),
    (botocore_errors.ConnectionError, _unreachable),
    (botocore_errors.HTTPClientError, _unreachable),
    (botocore_errors.IncompleteReadError, _unreachable),
    (botocore_errors.ResponseStreamingError, _unreachable),
)
