"""Every error that botocore's models know of the calls that we make: refusals, throttling and AWS's own failures are
taken for what they are.
"""

from __future__ import annotations

import re

import botocore.session
from botocore.exceptions import ClientError

from scripts.aws.translation import AccessDeniedError, ThrottledError, translate
from stacks.domain.errors import KitError
from tests.unit.aws.operations import called_operations

# Named or numbered like one of them, but something else.
_NOT_DENIED = {"InvalidObjectState"}  # 403: an archived object
_NOT_THROTTLED = {"TooManyParts"}
_NOT_THEIR_FAULT = {
    "DependencyTimeout",  # a neighbour of a mount target is busy: worth another try, see teardown
    "ResourceContention",  # likewise, an Auto Scaling group's
    "ServiceLinkedRoleFailure",
}


def errors() -> dict[str, int]:
    """Code -> HTTP status, 0 where the model has none."""
    found = {}
    for _, _, model in called_operations(botocore.session.get_session()):
        for shape in model.error_shapes:
            found[shape.error_code] = int(shape.metadata.get("error", {}).get("httpStatusCode") or 0)
    return found


def translated(code: str) -> KitError:
    error = ClientError({"Error": {"Code": code, "Message": "m"}}, "X")
    return translate(error, service="s", operation="X", region="us-east-2", profile=None)


def test_the_models_are_read() -> None:
    codes = errors()
    assert {"ForbiddenException", "CallRateLimitExceededException", "ClusterNotFoundException"} <= set(codes)
    assert len(codes) > 80


def test_every_refusal_is_known() -> None:
    refusals = {
        code
        for code, status in errors().items()
        if (status in (401, 403) or re.search("Denied|Forbidden|Unauthorized", code))
        and code not in _NOT_DENIED
    }
    assert len(refusals) >= 2
    assert {code for code in refusals if not isinstance(translated(code), AccessDeniedError)} == set()


def test_every_throttling_is_known() -> None:
    throttling = {
        code
        for code, status in errors().items()
        if (status == 429 or re.search("Throttl|RateLimit|TooMany", code)) and code not in _NOT_THROTTLED
    }
    assert len(throttling) >= 3
    assert {code for code in throttling if not isinstance(translated(code), ThrottledError)} == set()


def test_every_failure_of_aws_itself_is_known() -> None:
    failures = {
        code
        for code, status in errors().items()
        if (status >= 500 or re.search("Internal|Unavailable|ServerError", code))
        and code not in _NOT_THEIR_FAULT
    }
    assert len(failures) >= 5
    assert {code for code in failures if "AWS's side" not in translated(code).hint} == set()
