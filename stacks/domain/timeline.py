"""What happens when: a plan's events as offsets, because a plan knows no clock; in UTC where EC2 said when a block ends."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from stacks.domain.live import LiveFacts, known
from stacks.domain.plan import ClusterPlan, JobPlan, Plan
from stacks.domain.render.neuron_env import compile_cache_prefix
from stacks.domain.reservations import CAPACITY_BLOCK, DRAIN_MARGIN_MINUTES, moments

Event = dict[str, str]
ANY_END = datetime(2026, 1, 1, tzinfo=UTC)
"""Only differences to it are used."""


def timeline(plan: Plan, live: LiveFacts) -> list[Event]:
    blocks = [cluster for cluster in plan.clusters if cluster.capacity.kind == CAPACITY_BLOCK]
    return [
        _event("deploy", "stacks are made; nodes start only with a job"),
        *(event for job in plan.jobs for event in _compiling(plan, job)),
        *(event for cluster in blocks for event in _block_end(plan, cluster, _end(cluster, live))),
        _event(f"deploy + {plan.lifetime_days} d", "the lifetime ends: destroy"),
    ]


def _compiling(plan: Plan, job: JobPlan) -> Iterator[Event]:
    in_block = plan.cluster(job.cluster).capacity.kind == CAPACITY_BLOCK
    advice = "; compile on one node before the block starts" if in_block else ""
    yield _event(
        f"first run of {job.name}",
        f"compiles before it trains, on paid time: the compile cache is cold for each new SDK, type and model ({compile_cache_prefix(plan, job)}); "
        f"for how long no source says{advice}",
    )


def _end(cluster: ClusterPlan, live: LiveFacts) -> datetime | None:
    """None where EC2 was not asked, or did not say."""
    bought = cluster.capacity.id
    reservation = known(live.of(live.reservations, bought), None) if bought else None
    return reservation.end if reservation else None


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
