"""What EC2 says of a type that only the file names: whether it exists at all, and whether it is what was assumed."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.findings import Severity
from stacks.domain.live import CouldNotAsk, LiveInstanceType
from stacks.domain.plan import ClusterPlan, Plan
from stacks.domain.rules.rule import Facts, Need, Problem, Rule

TYPES_SOURCE = "EC2 API, DescribeInstanceTypes"


def ec2_knows_the_type(facts: Facts) -> Iterator[Problem]:
    for cluster in unlisted_clusters(facts.plan):
        if facts.live.of(facts.live.instance_types, cluster.instance_type) is None:
            yield Problem(
                ("clusters", cluster.name, "instance_type"),
                repr(cluster.instance_type),
                message=f"EC2 knows no such type in {facts.environment.region}, or not for this account",
                fix="correct the name, or ask AWS for the type in this account and region",
            )


def the_type_is_as_assumed(facts: Facts) -> Iterator[Problem]:
    for cluster in unlisted_clusters(facts.plan):
        found = facts.live.of(facts.live.instance_types, cluster.instance_type)
        if not isinstance(found, LiveInstanceType):
            continue
        different = [
            f"{what}: EC2 says {said:g}, the shape gives {taken:g}"
            for what, said, taken in _compared(found, cluster, facts)
            if said is not None and said != taken
        ]
        if different:
            yield Problem(
                ("clusters", cluster.name, "shape"),
                repr(facts.environment.clusters[cluster.name].shape),
                message=f"{cluster.instance_type} is not what was assumed ({'; '.join(different)})",
                fix="write the shape that fits; if none does, this version of the kit cannot make its launch template",
            )


def unlisted_clusters(plan: Plan | None) -> tuple[ClusterPlan, ...]:
    return tuple(cluster for cluster in plan.clusters if not cluster.type_is_listed) if plan else ()


def _compared(
    found: LiveInstanceType, cluster: ClusterPlan, facts: Facts
) -> Iterator[tuple[str, float | None, float]]:
    yield "vCPUs", found.vcpus, cluster.vcpus_per_node
    yield "memory in GiB", found.memory_gib, cluster.memory_gib_per_node
    instance_type = facts.instance_type(cluster.name)
    if instance_type is not None:
        yield "network cards", found.network_cards, len(instance_type.network_cards)
        yield "EFA interfaces", found.efa_interfaces, instance_type.efa_interfaces_max


def _answers(facts: Facts) -> Iterator[object]:
    for cluster in unlisted_clusters(facts.plan):
        answer = facts.live.of(facts.live.instance_types, cluster.instance_type)
        yield (
            CouldNotAsk(f"{cluster.instance_type}: {answer.why}")
            if isinstance(answer, CouldNotAsk)
            else answer
        )


TYPES = Need("a type that only the file names", _answers)

RULES = (
    Rule("NK304", Severity.ERROR, "a type that EC2 does not know", "nothing could start", TYPES_SOURCE, ec2_knows_the_type, TYPES),
    Rule("NK305", Severity.ERROR, "a type that is not what was assumed", "a launch template with the wrong cards starts nothing", TYPES_SOURCE, the_type_is_as_assumed, TYPES),
)  # fmt: skip
