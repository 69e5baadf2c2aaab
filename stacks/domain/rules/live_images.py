"""The AMI of each cluster and fleet, as this region and account see it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from stacks.domain.environment import Path, format_path
from stacks.domain.findings import Severity
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.live import LiveAmi, known
from stacks.domain.pinned import AmiPlan
from stacks.domain.plan import ClusterPlan
from stacks.domain.rules.rule import Facts, Need, Problem, Rule

IMAGE_SOURCE = "EC2 API, DescribeImages (botocore 1.44.8)"
VOLUME_SOURCE = "EC2 API, EbsBlockDevice.VolumeSize: equal to or larger than the snapshot"
ARCHITECTURE = "x86_64"
"""Of every Inferentia and Trainium type in the catalog (EC2 DescribeInstanceTypes, captured about 2026-10-01, moto 5.2.5)."""

Starting = ClusterPlan | FleetPlan
"""Whose nodes start from an AMI."""


def ami_exists(facts: Facts) -> Iterator[Problem]:
    for node, ami in _wanted(facts):
        if facts.live.of(facts.live.amis, ami.reference) is None:
            if ami.is_node_image and isinstance(node, ClusterPlan):
                yield _not_built(node, ami)
                continue
            kind = "AMI" if ami.is_resolved else "SSM parameter"
            name = ami.id if ami.is_resolved else ami.reference
            yield Problem(
                _path(facts, node),
                repr(name),
                message=f"{facts.environment.region} has no such {kind}, or does not share it with this account",
                fix=f"run `neuronkit lock --update`, or name another under {format_path(_key(node))}",
            )


def _not_built(cluster: ClusterPlan, ami: AmiPlan) -> Problem:
    version = cluster.slurm.version if cluster.slurm else ""
    gone = f"{ami.id} of the lock is gone, as `neuronkit destroy FILE` deletes it"
    return Problem(
        ("clusters", cluster.name, "slurm", "ami"),
        f"the node image of Slurm {version}",
        message=gone if ami.is_resolved else "the lock names none: it is not built yet, or not locked",
        fix="run `neuronkit image build FILE`, which locks it, too",
    )


def ami_is_available(facts: Facts) -> Iterator[Problem]:
    for node, found in _found(facts):
        if found.state and found.state != "available":
            message = f"{found.id} is {found.state}: no node starts from it"
            yield Problem(_path(facts, node), message=message, fix="take another AMI")


def ami_is_for_the_processor(facts: Facts) -> Iterator[Problem]:
    for node, found in _found(facts):
        if found.architecture and found.architecture != ARCHITECTURE:
            yield Problem(
                _path(facts, node),
                message=f"{found.id} is for {found.architecture}, {node.instance_type} is {ARCHITECTURE}",
                fix=f"take the AMI's {ARCHITECTURE} form",
            )


def root_volume_holds_the_ami(facts: Facts) -> Iterator[Problem]:
    for node, found in _found(facts):
        if found.root_snapshot_gib is not None and found.root_snapshot_gib > _root_volume_gib(node):
            yield Problem(
                (*_block(node), "root_volume_gib"),
                str(_root_volume_gib(node)),
                f"{found.root_snapshot_gib} or more",
                f"smaller than the snapshot of {found.id}",
                f"write {found.root_snapshot_gib} or more",
            )


def root_device_is_the_ami_s(facts: Facts) -> Iterator[Problem]:
    for node, found in _found(facts):
        planned = node.ami.root_device_name if node.ami else ""
        if found.root_device_name and found.root_device_name != planned:
            yield Problem(
                _path(facts, node),
                message=f"the root device of {found.id} is {found.root_device_name}, the plan says {planned}: "
                "the node would keep the AMI's small root volume and get a second one",
                fix="run `neuronkit lock --update`",
            )


def ami_is_not_deprecated(facts: Facts) -> Iterator[Problem]:
    as_of = facts.live.as_of
    for node, found in _found(facts):
        if found.deprecated_at is None or as_of is None:
            continue
        end = as_of + timedelta(days=facts.environment.lifetime_days)
        if found.deprecated_at <= end:
            when = f"{'is' if found.deprecated_at <= as_of else 'will be'} deprecated since {found.deprecated_at:%Y-%m-%d}"
            when = when.replace("be deprecated since", "be deprecated on")
            yield Problem(
                _path(facts, node),
                message=f"{found.id} {when}: it still starts nodes, but is no longer maintained",
                fix="run `neuronkit lock --update`, or name a newer one",
            )


def _wanted(facts: Facts) -> Iterator[tuple[Starting, AmiPlan]]:
    for cluster in facts.plan.clusters if facts.plan else ():
        if cluster.ami is not None:
            yield cluster, cluster.ami
    for fleet in facts.plan.fleets if facts.plan else ():
        if fleet.ami is not None:
            yield fleet, fleet.ami


def _found(facts: Facts) -> Iterator[tuple[Starting, LiveAmi]]:
    for node, ami in _wanted(facts):
        found = known(facts.live.of(facts.live.amis, ami.reference), None)
        if found is not None:
            yield node, found


def _root_volume_gib(node: Starting) -> int:
    return node.settings.root_volume_gib if isinstance(node, FleetPlan) else node.root_volume_gib


def _block(node: Starting) -> Path:
    return ("fleets" if isinstance(node, FleetPlan) else "clusters", node.name)


def _path(facts: Facts, node: Starting) -> Path:
    """The file's own word, or the cluster or fleet for which one was chosen."""
    if _is_slurm(node):
        return _key(node)
    return _block(node) if facts.environment.software.ami == "auto" else ("software", "ami")


def _key(node: Starting) -> Path:
    """Where the file may name an AMI."""
    return ("clusters", node.name, "slurm", "ami") if _is_slurm(node) else ("software", "ami")


def _is_slurm(node: Starting) -> bool:
    return isinstance(node, ClusterPlan) and node.slurm is not None


def _answers(facts: Facts) -> Iterator[object]:
    for _, ami in _wanted(facts):
        yield facts.live.of(facts.live.amis, ami.reference)


IMAGES = Need("the AMIs", _answers)

RULES = (
    Rule("NK340", Severity.ERROR, "no such AMI here", "ids differ by region; nodes never start", IMAGE_SOURCE, ami_exists, IMAGES),
    Rule("NK341", Severity.ERROR, "AMI not available", "nodes never start", IMAGE_SOURCE, ami_is_available, IMAGES),
    Rule("NK342", Severity.ERROR, "AMI for another processor", "RunInstances refuses the pair", IMAGE_SOURCE, ami_is_for_the_processor, IMAGES),
    Rule("NK343", Severity.ERROR, "root volume smaller than the AMI's snapshot", "RunInstances refuses it", VOLUME_SOURCE, root_volume_holds_the_ami, IMAGES),
    Rule("NK344", Severity.ERROR, "root device of another name", "the root disk stays small and images do not fit", IMAGE_SOURCE, root_device_is_the_ami_s, IMAGES),
    Rule("NK345", Severity.WARNING, "AMI deprecated", "no fixes come any more", IMAGE_SOURCE, ami_is_not_deprecated, IMAGES),
)  # fmt: skip
