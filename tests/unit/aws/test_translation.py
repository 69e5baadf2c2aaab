"""Every kind of failure, in the words that a user gets."""

from __future__ import annotations

from typing import Any

import pytest
from botocore import exceptions as botocore_errors
from botocore.exceptions import BotoCoreError, ClientError

from scripts.aws.translation import (
    AccessDeniedError,
    AwsError,
    CredentialsError,
    ThrottledError,
    UnreachableError,
    iam_action,
    translate,
)
from stacks.domain.errors import InputError, KitError, WorldError


def of_client_error(
    code: str,
    message: str = "",
    *,
    service: str = "batch",
    operation: str = "SubmitJob",
    profile: str | None = None,
) -> KitError:
    error = ClientError({"Error": {"Code": code, "Message": message}}, operation)
    return translate(error, service=service, operation=operation, region="us-east-2", profile=profile)


def of_botocore_error(error: BotoCoreError, profile: str | None = "work") -> KitError:
    return translate(error, service="sts", operation="GetCallerIdentity", region="us-east-2", profile=profile)


CLIENT_ERRORS = [
    ("AccessDenied", AccessDeniedError, "batch:SubmitJob"),
    ("AccessDeniedException", AccessDeniedError, "batch:SubmitJob"),
    ("UnauthorizedOperation", AccessDeniedError, "add batch:SubmitJob to the policies"),
    ("403", AccessDeniedError, "batch:SubmitJob"),
    ("ExpiredToken", CredentialsError, "aws sso login"),
    ("ExpiredTokenException", CredentialsError, "aws sso login"),
    ("RequestExpired", CredentialsError, "have expired"),
    ("InvalidClientTokenId", CredentialsError, "us-east-2 is not enabled"),
    ("UnrecognizedClientException", CredentialsError, "us-east-2"),
    ("AuthFailure", CredentialsError, "us-east-2"),
    ("OptInRequired", AwsError, "aws account enable-region --region-name us-east-2"),
    ("Throttling", ThrottledError, "throttled batch:SubmitJob"),
    ("ThrottlingException", ThrottledError, "same command again"),
    ("TooManyRequestsException", ThrottledError, "throttled"),
    ("RequestLimitExceeded", ThrottledError, "throttled"),
    ("SlowDown", ThrottledError, "throttled"),
    ("VcpuLimitExceeded", AwsError, "quota"),
    ("LimitExceededException", AwsError, "Service Quotas"),
    ("SignatureDoesNotMatch", AwsError, "clock"),
    ("RequestTimeTooSkewed", AwsError, "clock"),
    ("InternalFailure", AwsError, "AWS's side"),
    ("ServiceUnavailable", AwsError, "AWS's side"),
    ("503", AwsError, "AWS's side"),
]


@pytest.mark.parametrize(("code", "kind", "words"), CLIENT_ERRORS)
def test_an_answer_of_aws_is_worded(code: str, kind: type[KitError], words: str) -> None:
    error = of_client_error(code)
    assert type(error) is kind
    assert words in f"{error.message}\n{error.hint}"
    assert isinstance(error, WorldError)
    assert error.exit_code == 3
    assert isinstance(error, AwsError)
    assert error.code == code


BOTOCORE_ERRORS: list[tuple[BotoCoreError, type[KitError], str]] = [
    (botocore_errors.NoCredentialsError(), CredentialsError, "profile work has no credentials"),
    (
        botocore_errors.PartialCredentialsError(provider="env", cred_var="secret"),
        CredentialsError,
        "incomplete",
    ),
    (botocore_errors.UnauthorizedSSOTokenError(), CredentialsError, "aws sso login --profile work"),
    (botocore_errors.SSOTokenLoadError(error_msg="x"), CredentialsError, "aws sso login --profile work"),
    (
        botocore_errors.TokenRetrievalError(provider="sso", error_msg="x"),
        CredentialsError,
        "aws sso login --profile work",
    ),
    (botocore_errors.LoginRefreshRequired(), CredentialsError, "aws login --profile work"),
    (
        botocore_errors.CredentialRetrievalError(provider="custom-process", error_msg="x"),
        CredentialsError,
        "aws sts get-caller-identity --profile work",
    ),
    (botocore_errors.ProfileNotFound(profile="wrok"), InputError, "wrok"),
    (
        botocore_errors.ConfigParseError(path="~/.aws/config", error=ValueError("x")),
        InputError,
        "~/.aws/config",
    ),
    (botocore_errors.InvalidRegionError(region_name="us east 2"), InputError, "not a region"),
    (
        botocore_errors.EndpointConnectionError(endpoint_url="https://x"),
        UnreachableError,
        "no connection to sts",
    ),
    (botocore_errors.ConnectTimeoutError(endpoint_url="https://x"), UnreachableError, "check the network"),
    (botocore_errors.ReadTimeoutError(endpoint_url="https://x"), UnreachableError, "check the network"),
    (botocore_errors.ProxyConnectionError(proxy_url="http://p"), UnreachableError, "proxy"),
    (botocore_errors.SSLError(endpoint_url="https://x", error="bad"), UnreachableError, "AWS_CA_BUNDLE"),
    (botocore_errors.HTTPClientError(error="reset"), UnreachableError, "no connection"),
    (botocore_errors.DataNotFoundError(data_path="x"), AwsError, "DataNotFoundError"),
]


@pytest.mark.parametrize(("error", "kind", "words"), BOTOCORE_ERRORS, ids=lambda value: type(value).__name__)
def test_a_failure_before_aws_answers_is_worded(error: Any, kind: type[KitError], words: str) -> None:
    translated = of_botocore_error(error)
    assert type(translated) is kind
    assert words in f"{translated.message}\n{translated.hint}"
    assert translated.exit_code == (2 if kind is InputError else 3)


def test_without_a_profile_the_login_command_has_none() -> None:
    error = of_botocore_error(botocore_errors.UnauthorizedSSOTokenError(), profile=None)
    assert "`aws sso login`" in error.hint


def test_the_permission_is_the_one_that_aws_names() -> None:
    message = (
        "User: arn:aws:sts::1:assumed-role/dev/me is not authorized to perform: iam:PassRole on resource: arn:… "
        "because no identity-based policy allows the iam:PassRole action"
    )
    error = of_client_error("AccessDenied", message, service="cloudformation", operation="CreateStack")
    assert "not allowed: iam:PassRole" in error.message
    assert "add iam:PassRole" in error.hint


@pytest.mark.parametrize("policy", ["service control", "permissions boundary"])
def test_a_deny_that_no_permission_can_change_is_told_apart(policy: str) -> None:
    message = (
        f"… is not authorized to perform: ec2:RunInstances on … with an explicit deny in a {policy} policy"
    )
    error = of_client_error("UnauthorizedOperation", message, service="ec2", operation="RunInstances")
    assert f"a {policy} forbids it" in error.hint
    assert "add ec2" not in error.hint


ACTIONS = [
    ("batch", "SubmitJob", "batch:SubmitJob"),
    ("resourcegroupstaggingapi", "GetResources", "tag:GetResources"),
    ("s3", "ListObjectsV2", "s3:ListBucket"),
    ("s3", "ListObjectVersions", "s3:ListBucketVersions"),
    ("s3", "HeadObject", "s3:GetObject"),
    ("s3", "ListBuckets", "s3:ListAllMyBuckets"),
    ("s3", "DeleteObjects", "s3:DeleteObjectVersion"),
    ("s3", "PutObject", "s3:PutObject"),
]


@pytest.mark.parametrize(("service", "operation", "action"), ACTIONS)
def test_a_call_has_the_name_that_a_policy_wants(service: str, operation: str, action: str) -> None:
    assert iam_action(service, operation) == action
    assert action in of_client_error("AccessDenied", service=service, operation=operation).hint


def test_an_unknown_code_keeps_what_aws_said() -> None:
    error = of_client_error("ClientException", "Job queue does not exist")
    assert error.message == "batch:SubmitJob in us-east-2 failed: ClientException: Job queue does not exist"
