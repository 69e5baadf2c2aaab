"""What AWS PCS has of ours outside of CloudFormation's care, and what it may leave behind in EC2 and in the logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from scripts.aws import ec2, iam, log_deliveries, logs, pcs, secrets
from scripts.aws.cloud import Cloud
from scripts.aws.pcs import PcsResource
from scripts.teardown.found import Found, Question, sorted_out
from scripts.teardown.model import Item, Ownership
from scripts.teardown.order import LOG_GROUP
from scripts.teardown.scope import Scope
from stacks.domain.names import ENVIRONMENT_TAG, PCS_CLUSTER_TAG, PCS_NODE_GROUP_TAG

MANAGED_TAG: Final = "AWSPCSManaged"
"""On what PCS makes for a node group (AWSPCSServiceRolePolicy v10): its own launch template, interfaces."""
_LOG_PREFIX: Final = "/aws/pcs/"
_MANAGED_SECRETS: Final = "pcs!"
_SERVICE_ROLES: Final = ("AWSServiceRoleForPCS", "AWSServiceRoleForEC2Spot")
_LEFT_BY_PCS: Final = (ec2.INSTANCE, ec2.NETWORK_INTERFACE, ec2.LAUNCH_TEMPLATE)
_UNLINKED: Final = f"tagged {MANAGED_TAG}; of which cluster, its tags and name do not say"


def item_id(resource: PcsResource) -> str:
    """What `parts_of_id` takes apart: the API wants both ids."""
    return f"{resource.cluster_id}/{resource.id}"


def parts_of_id(id_: str) -> tuple[str, str]:
    cluster_id, _, own_id = id_.partition("/")
    return cluster_id, own_id


def is_of_living_cluster(scope: Scope, tags: Mapping[str, str]) -> bool:
    """PCS ends such an instance with its node group; ended by us, it would start another in its place."""
    return tags.get(PCS_CLUSTER_TAG) in scope.slurm.living


def clusters(cloud: Cloud, scope: Scope) -> Found:
    """Queues, node groups and clusters that no stack deletes, or that CloudFormation failed to delete."""
    if not scope.slurm.is_used:
        return Found()
    answers = [_cluster(cloud, scope, cluster) for cluster in pcs.clusters(cloud)]
    return Found(
        loose=tuple(item for found in answers for item in found.loose),
        suspects=tuple(item for found in answers for item in found.suspects),
        notices=tuple(notice for found in answers for notice in found.notices),
    )


def _cluster(cloud: Cloud, scope: Scope, cluster: PcsResource) -> Found:
    if scope.is_member({}, cluster.arn, cluster.id):
        return _of_a_stack(cloud, scope, cluster)
    owner = scope.ownership(pcs.tags(cloud, cluster.arn), cluster.arn, cluster.id, cluster.name)
    if owner is Ownership.OURS:
        parts = pcs.parts(cloud, cluster.id)
        loose = tuple(_item(resource) for resource in (*parts, cluster))
        return Found(loose=loose, notices=_running(cloud, cluster, parts))
    if owner is Ownership.SUSPECT:
        return Found(suspects=(_item(cluster, "named like the environment, but not tagged with it"),))
    return Found()


def _of_a_stack(cloud: Cloud, scope: Scope, cluster: PcsResource) -> Found:
    """The stack deletes it, but for what was put into it by hand and what CloudFormation got stuck on."""
    parts = pcs.parts(cloud, cluster.id)
    stuck = [one for one in (*parts, cluster) if one.arn in scope.slurm.stuck]
    strange = [part for part in parts if not scope.is_member({}, part.arn, part.id)]
    tags = {part.arn: pcs.tags(cloud, part.arn) for part in strange}
    ours = [part for part in strange if tags[part.arn].get(ENVIRONMENT_TAG) == scope.environment]
    why = f"made by hand in {cluster.name}, which cannot be deleted before it"
    return Found(
        loose=tuple(_item(resource) for resource in (*stuck, *ours)),
        suspects=tuple(_item(part, why) for part in strange if part not in ours),
        notices=_running(cloud, cluster, parts),
    )


def _item(resource: PcsResource, why: str = "") -> Item:
    return Item(resource.kind, item_id(resource), resource.name, resource.status, why)


def _running(cloud: Cloud, cluster: PcsResource, parts: tuple[PcsResource, ...]) -> tuple[str, ...]:
    """DeleteQueue ends the nodes of its groups, so whatever runs on them ends without asking Slurm."""
    instances = ec2.with_tag(cloud, ec2.INSTANCE, PCS_CLUSTER_TAG, cluster.id)
    names = {part.id: part.name for part in parts}
    counts = Counter(names.get(one.tags.get(PCS_NODE_GROUP_TAG, ""), "unknown groups") for one in instances)
    if not counts:
        return ()
    nodes = ", ".join(f"{count} of {name}" for name, count in sorted(counts.items()))
    return (
        f"nodes of Slurm cluster {cluster.name}, and every job that runs on them, without a last checkpoint: {nodes}",
    )


def left_in_ec2(cloud: Cloud, scope: Scope) -> Found:
    """What still names a cluster or node group of ours that is gone, or, nameless, was made by PCS."""
    if not scope.slurm.is_used:
        return Found()
    loose: dict[str, Item] = {}
    suspects: dict[str, Item] = {}
    for kind in _LEFT_BY_PCS:
        linked = [one for id_ in scope.slurm.gone for one in ec2.with_tag(cloud, kind, PCS_CLUSTER_TAG, id_)]
        managed = ec2.with_tag_key(cloud, kind, MANAGED_TAG)
        for one in (*linked, *managed):
            item = Item(one.kind, one.id, one.name, one.state)
            if _names_a_gone_one(scope, one):
                loose[one.id] = item
            elif _is_unlinked(scope, one):
                suspects[one.id] = Item(one.kind, one.id, one.name, one.state, _UNLINKED)
    return Found(loose=tuple(loose.values()), suspects=tuple(suspects.values()))


def _names_a_gone_one(scope: Scope, one: ec2.Ec2Resource) -> bool:
    """Ids of PCS are not used twice."""
    if {one.tags.get(PCS_CLUSTER_TAG), one.tags.get(PCS_NODE_GROUP_TAG)} & scope.slurm.gone:
        return True
    return any(id_ in text for id_ in scope.slurm.gone for text in (one.name, one.description))


def _is_unlinked(scope: Scope, one: ec2.Ec2Resource) -> bool:
    is_linked = PCS_CLUSTER_TAG in one.tags or PCS_NODE_GROUP_TAG in one.tags or ENVIRONMENT_TAG in one.tags
    # While a cluster of ours lives, what PCS made for it is in use.
    return not is_linked and not scope.slurm.living


def log_groups(cloud: Cloud, scope: Scope) -> Found:
    """PCS's own are named after the cluster's id and carry no tag of ours."""
    if not scope.slurm.is_used:
        return Found()
    found = [
        group
        for id_ in sorted(scope.slurm.gone)
        for group in logs.groups_below(cloud, f"{_LOG_PREFIX}{id_}/")
    ]
    return Found(loose=tuple(Item(LOG_GROUP, group.name, group.name) for group in found))


def deliveries(cloud: Cloud, scope: Scope) -> Found:
    if not scope.slurm.is_used:
        return Found()
    parts = [part for part in log_deliveries.delivery_parts(cloud) if not scope.is_member({}, part.arn)]
    return sorted_out(scope, [(part.kind, part.id, part.id, part.tags) for part in parts])


def kept_by_aws(cloud: Cloud, scope: Scope) -> Found:
    """What PCS makes and deletes by itself, and what the account shares."""
    if not scope.slurm.is_used:
        return Found()
    return Found(kept=(*_secrets(cloud, scope), *_service_roles(cloud)))


def _secrets(cloud: Cloud, scope: Scope) -> Iterator[Item]:
    why = "the cluster's Slurm key, made by PCS, which deletes it by itself"
    for name in secrets.names_with_prefix(cloud, _MANAGED_SECRETS):
        if any(id_ in name for id_ in (*scope.slurm.living, *scope.slurm.gone)):
            yield Item("secret", name, why=why)


def _service_roles(cloud: Cloud) -> Iterator[Item]:
    why = "AWS's own, shared by the account; it costs nothing"
    for name in _SERVICE_ROLES:
        if iam.role_exists(cloud, name):
            yield Item("service-linked role", name, why=why)


SLURM_QUESTIONS: Final[tuple[tuple[str, Question], ...]] = (
    ("PCS clusters", clusters),
    ("what PCS made in EC2", left_in_ec2),
    ("log groups of PCS", log_groups),
    ("log deliveries", deliveries),
    ("PCS's secrets and roles", kept_by_aws),
)
