"""Which refusals mean that AWS only needs more time."""

from __future__ import annotations

import botocore.session
import pytest
from botocore.exceptions import ClientError

from scripts.aws.translation import AwsError, translate
from scripts.local_cloud.ecs.errors import ClusterContainsCapacityProviderException
from scripts.teardown.slow_removals import _NOT_YET, is_not_yet

SCOPED = "The Cluster cannot be deleted while Cluster Scoped Capacity Providers are attached to the cluster."


def refusal(code: str, message: str = "") -> AwsError:
    error = ClientError({"Error": {"Code": code, "Message": message}}, "DeleteCluster")
    found = translate(error, service="ecs", operation="DeleteCluster", region="us-east-2", profile=None)
    assert isinstance(found, AwsError)
    return found


@pytest.mark.parametrize(
    ("code", "message", "is_waited_for"),
    [
        ("ClientException", SCOPED, True),
        ("ClientException", SCOPED.rstrip("."), True),
        ("ClientException", "The specified cluster is invalid.", False),
        ("ClusterContainsCapacityProviderException", "", True),
        ("UpdateInProgressException", "", True),
        ("BackupInProgress", "", True),
        ("ConflictException", "", True),
        ("AccessDeniedException", "", False),
    ],
)
def test_a_refusal_is_waited_for_where_it_passes_by_itself(
    code: str, message: str, is_waited_for: bool
) -> None:
    assert is_not_yet(refusal(code, message)) is is_waited_for


def test_the_local_cloud_refuses_in_the_words_of_ecs() -> None:
    error = ClusterContainsCapacityProviderException()
    assert (error.code, error.message) == ("ClientException", SCOPED)


@pytest.mark.parametrize(
    ("service", "operation"),
    [
        ("ecs", "DeleteCluster"),
        ("ecs", "DeleteCapacityProvider"),
        ("fsx", "DeleteBackup"),
        ("efs", "DeleteFileSystem"),
    ],
)
def test_every_busy_word_of_the_models_is_known(service: str, operation: str) -> None:
    model = botocore.session.get_session().get_service_model(service).operation_model(operation)
    busy = {
        shape.error_code
        for shape in model.error_shapes
        if any(
            word in shape.error_code for word in ("InProgress", "InUse", "Contains", "Copied", "Restoring")
        )
    }
    assert busy
    assert busy <= set(_NOT_YET)
