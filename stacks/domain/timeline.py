"""What happens when: a plan's events as offsets, because a plan knows no clock; in UTC where EC2 said when a block ends."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from stacks.domain.fleet_timeline import fleet_events
from stacks.domain.live import LiveFacts, known
from stacks.domain.plan import ClusterPlan, JobPlan, Plan
from stacks.domain.render.neuron_env import compile_cache_prefix
from stacks.domain.reservations import CAPACITY_BLOCK, DRAIN_MARGIN_MINUTES, moments

Event = dict[str, str]
IMAGE_BUILD_MINUTES = "30 to 45"
IMAGE_BUILD_SOURCE = "aws-samples/aws-hpc-recipes@009a29a recipes/pcs/dlami_for_pcs_imagebuilder"
PCS_CLUSTER_TIMEOUT_MINUTES, PCS_GROUP_TIMEOUT_MINUTES = 130, 160
PCS_TIMEOUT_SOURCE = "CloudFormation registry, handlers of AWS::PCS::Cluster and ComputeNodeGroup, 2026-10-20"
REGISTRATION_MINUTES = 30
REGISTRATION_SOURCE = "AWS PCS user guide, cng-node-lifecycle-actions-troubleshooting"
ANY_END = datetime(2026, 1, 1, tzinfo=UTC)
"""Only differences to it are used."""


def timeline(plan: Plan, live: LiveFacts) -> list[Event]:
    blocks = [cluster for cluster in plan.clusters if cluster.capacity.kind == CAPACITY_BLOCK]
    return [
        *(event for version in plan.node_images for event in _image_build(version)),
        _event("deploy", _what_a_deploy_makes(plan)),
        *(event for cluster in plan.clusters for event in _slurm_nodes(cluster)),
        *(event for fleet in plan.fleets for event in fleet_events(fleet)),
        *(event for job in plan.jobs for event in _compiling(plan, job)),
        *(event for cluster in blocks for event in _block_end(plan, cluster, _end(cluster, live))),
        _event(f"deploy + {plan.lifetime_days} d", "the lifetime ends: destroy"),
    ]


def _image_build(slurm_version: str) -> Iterator[Event]:
    yield _event(
        "before deploy",
        f"`neuronkit image build` makes the node image of Slurm {slurm_version}: about {IMAGE_BUILD_MINUTES} min, on a paid instance "
        f"({IMAGE_BUILD_SOURCE}; not measured with the Neuron image)",
    )


def _what_a_deploy_makes(plan: Plan) -> str:
    started = [c.name for c in plan.clusters if c.slurm and c.slurm.is_static]
    serving = [f.name for f in plan.fleets if f.nodes_minimum]
    if started:
        made = f"stacks are made, and all nodes of {', '.join(started)} start at once"
        return f"{made}; {_least_of(serving)}" if serving else made
    if serving:
        return f"stacks are made; {_least_of(serving)}"
    with_what = "a job" if plan.clusters or plan.projected else "a request"
    return f"stacks are made; nodes start only with {with_what}"


def _least_of(fleets: list[str]) -> str:
    return f"then the least nodes of fleet {', '.join(fleets)} start"


def _slurm_nodes(cluster: ClusterPlan) -> Iterator[Event]:
    if cluster.slurm is None:
        return
    yield _event(
        "during deploy",
        f"PCS makes cluster {cluster.slurm.cluster_name}, its node groups and its queue: CloudFormation waits up to "
        f"{PCS_CLUSTER_TIMEOUT_MINUTES} min for the cluster and {PCS_GROUP_TIMEOUT_MINUTES} min for each group ({PCS_TIMEOUT_SOURCE})",
    )
    first = "deploy" if cluster.slurm.is_static else f"first job on {cluster.name}"
    yield _event(
        f"{first} + up to {REGISTRATION_MINUTES} min",
        f"a node of {cluster.name} that boots has about {REGISTRATION_MINUTES} min to join Slurm ({REGISTRATION_SOURCE})",
    )


def _compiling(plan: Plan, job: JobPlan) -> Iterator[Event]:
    in_block = plan.cluster(job.cluster).capacity.kind == CAPACITY_BLOCK
    advice = "; compile on one node before the block starts" if in_block else ""
    yield _event(
        f"first run of {job.name}",
        f"compiles before it trains, on paid time: the compile cache is cold for each new SDK, type and model ({compile_cache_prefix(plan, job)}); "
        f"for how long no source says{advice}",
    )


def _end(cluster: ClusterPlan, live: LiveFacts) -> datetime | None:
    """The first, where a cluster has several. None where EC2 was not asked, or did not say of all of them."""
    bought = cluster.capacity.ids or ((cluster.capacity.id,) if cluster.capacity.id else ())
    reservations = [known(live.of(live.reservations, id_), None) for id_ in bought]
    ends = [reservation.end if reservation else None for reservation in reservations]
    return None if None in ends else min((end for end in ends if end is not None), default=None)


def _block_end(plan: Plan, cluster: ClusterPlan, end: datetime | None) -> Iterator[Event]:
    """The longest checkpoint interval of the cluster's jobs decides; without one the first two moments are unknown."""
    is_ultraserver = cluster.ultraserver is not None
    intervals = [job.checkpoint_seconds for job in plan.jobs if job.cluster == cluster.name]
    known = [seconds for seconds in intervals if seconds is not None]
    found = moments(ANY_END, is_ultraserver=is_ultraserver, checkpoint_seconds=max(known, default=0))
    if intervals and len(known) == len(intervals):
        longest = max(known) // 60
        yield _event(
            _before_end(found.no_new_jobs, end),
            f"no new jobs on {cluster.name}: they could not save one checkpoint interval ({longest} min)",
        )
        yield _event(
            _before_end(found.drain, end),
            f"save and stop on {cluster.name}: one checkpoint and {DRAIN_MARGIN_MINUTES} min of margin before EC2 reclaims",
        )
    elif intervals:
        yield _event(
            "block end - unknown",
            f"save and stop on {cluster.name}: when depends on checkpoint_minutes, which not every job of it has",
        )
    yield _event(
        _before_end(found.reclaim, end),
        f"EC2 begins to reclaim the nodes of {cluster.name}: checkpoint and drain before",
    )


def _before_end(moment: datetime, end: datetime | None) -> str:
    lead = ANY_END - moment
    offset = f"block end - {int(lead.total_seconds()) // 60} min"
    return offset if end is None else f"{(end - lead).astimezone(UTC):%Y-%m-%d %H:%M} UTC ({offset})"


def _event(at: str, what: str) -> Event:
    return {"at": at, "what": what}
