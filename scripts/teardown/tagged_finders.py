"""What only the tagging API knows, and whether it is really there: for hours it goes on listing what was deleted
(aws/aws-sdk issue 676, boto/boto3 issue 3341).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from scripts.aws import autoscaling, ec2, ecs_nodes, imagebuilder, kms, resource_groups
from scripts.aws.cloud import Cloud
from scripts.teardown.fleet_kinds import kind_of
from scripts.teardown.found import Found
from scripts.teardown.model import Item
from scripts.teardown.scope import Scope

TAGGED: Final = "tagged resource"
_LISTED_ONLY: Final = "listed by the tagging API only, which goes on listing for hours what was deleted"
_PENDING: Final = "PendingDeletion"


def other_tagged(cloud: Cloud, scope: Scope) -> Found:
    """What is there counts. Of what the kit does not make, it cannot say whether it is: a suspect, such as a topic that
    somebody has given our tag.
    """
    loose: list[Item] = []
    suspects: list[Item] = []
    kept: list[Item] = []
    for arn in scope.tagged_arns:
        if _has_a_finder(arn) or scope.is_member({}, arn, *_ids(arn)):
            continue
        exists = _EXISTS.get(_kind(arn))
        if exists is None:
            suspects.append(Item(TAGGED, arn, why=_LISTED_ONLY))
        elif _kind(arn) == _KEY and kms.key_state(cloud, arn) == _PENDING:
            why = "AWS deletes it when its waiting period is over"
            kept.append(Item("KMS key", arn, state=_PENDING, why=why))
        elif exists(cloud, arn):
            loose.append(Item(TAGGED, arn))
    return Found(loose=tuple(loose), suspects=tuple(suspects), kept=tuple(kept))


def _kind(arn: str) -> tuple[str, str]:
    """Service and type of resource, as ARNs have them."""
    _, _, service, _, _, resource = arn.split(":", 5)
    return service, re.split("[:/]", resource)[0]


def _ids(arn: str) -> tuple[str, ...]:
    """What CloudFormation may know it by, and what it is a part of: a cluster's name in the ARN of its instance."""
    resource = arn.split(":", 5)[5]
    return arn.rpartition(":")[2], *re.split("[:/]", resource)[1:]


def _last(arn: str) -> str:
    return arn.rpartition("/")[2]


def _group_exists(cloud: Cloud, arn: str) -> bool:
    return autoscaling.find_group(cloud, arn.partition("autoScalingGroupName/")[2]) is not None


_KEY: Final = ("kms", "key")
# What the kit makes, and what AWS's services make for it with the tags of what they made it for (EC2 Fleets of PCS and
# of Managed Instances, container instances), where no other question answers for the kind.
_EXISTS: Final[Mapping[tuple[str, str], Callable[[Cloud, str], bool]]] = {
    _KEY: lambda cloud, arn: kms.key_state(cloud, arn) is not None,
    # The record of a finished job runs nothing and costs nothing.
    ("batch", "job"): lambda *_: False,
    ("resource-groups", "group"): resource_groups.exists,
    ("ecs", "container-instance"): ecs_nodes.exists,
    ("ec2", "fleet"): lambda cloud, arn: ec2.fleet_launches(cloud, _last(arn)),
    ("ec2", "security-group-rule"): lambda cloud, arn: ec2.security_group_rule_exists(cloud, _last(arn)),
    ("autoscaling", "autoScalingGroup"): _group_exists,
    **{("imagebuilder", part): imagebuilder.exists for part in imagebuilder.PARTS},
}


def _has_a_finder(arn: str) -> bool:
    """Whether another question, or the list of stacks, answers for this kind: its word counts."""
    service, kind = _kind(arn)
    if kind_of(arn) is not None or service in ("s3", "cloudformation", "pcs"):
        return True
    return (service, kind) in _ASKED_ABOUT


_ASKED_ABOUT: Final = frozenset(
    [
        *(("ec2", kind) for kind in ("capacity-reservation", *(kind.arn_type for kind in ec2.KINDS))),
        *(("batch", kind) for kind in ("job-definition", "job-queue", "compute-environment")),
        *(("logs", kind) for kind in ("log-group", "delivery", "delivery-source", "delivery-destination")),
        ("imagebuilder", "image"),
        ("elasticfilesystem", "file-system"),
        ("fsx", "file-system"),
        ("fsx", "backup"),
    ]
)
