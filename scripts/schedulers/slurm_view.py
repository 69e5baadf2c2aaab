"""A Slurm cluster as `status` shows it: what PCS says of it, what Slurm says of nodes and runs where it answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

from scripts.aws.ec2 import CapacityReservation
from scripts.aws.pcs import PcsResource
from scripts.deployed_cluster import DeployedCluster, capacity_of, room_words
from scripts.schedulers.capacity_words import BY_THE_HOUR, capacity_words, ends
from scripts.schedulers.scheduler import ScheduledRun
from scripts.schedulers.slurm_answers import WAITING_STATES, NodeState, node_counts
from scripts.schedulers.slurm_scheduler import SLURM, Seen, SlurmScheduler
from scripts.schedulers.slurm_words import waiting_words
from scripts.waiting_reasons import unfit_capacity
from stacks.domain.errors import KitError
from stacks.domain.plan import ClusterPlan, JobPlan

ANSWERS: Final = "answers"
_REASONS_MAX: Final = 5
# botocore 1.44.8, pcs Cluster.status.
_STATE_WORDS: Final = {
    "SUSPENDED": "its controller is down and its instances are ended: no job runs; a newer `version` in the file and a deploy "
    "may bring it back, `neuronkit destroy FILE` removes it",
    "SUSPENDING": "its controller is being taken down: no job runs",
}


@dataclass(frozen=True, slots=True)
class NodeGroupStatus:
    name: str
    status: str
    """PCS's; "not deployed" where it has none."""
    nodes: str | None
    """Counts by state; None while Slurm does not answer."""


@dataclass(frozen=True, slots=True)
class SlurmClusterStatus:
    name: str
    pcs_cluster: str
    slurm_version: str
    why: tuple[str, ...]
    """What PCS says is wrong."""
    login_node: str
    """"answers", or why it does not."""
    node_groups: tuple[NodeGroupStatus, ...]
    node_reasons: tuple[str, ...]
    """Of nodes that Slurm does not use."""
    capacity: str
    ends: str | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> list[str]:
        login = self.login_node if self.login_node == ANSWERS else f"does not answer: {self.login_node}"
        groups = [
            f"         nodes {group.name}: {group.status}" + (f"; {group.nodes}" if group.nodes else "")
            for group in self.node_groups
        ]
        return [
            f"cluster  {self.name}: PCS cluster {self.pcs_cluster}, Slurm {self.slurm_version}; login node {login}",
            *(f"         {words}" for words in self.why),
            *groups,
            *(f"         {words}" for words in self.node_reasons),
            f"         capacity {self.capacity}" + (f", ends {self.ends}" if self.ends else ""),
        ]


class SlurmView:
    """`scheduler` None: its stack is not deployed. One look at Slurm serves everything."""

    scheduler_name = SLURM

    def __init__(
        self,
        cluster: ClusterPlan,
        pcs: tuple[PcsResource, ...],
        pcs_words: str,
        scheduler: SlurmScheduler | None,
        reservations: tuple[CapacityReservation, ...],
        deployed: DeployedCluster | None,
    ) -> None:
        """`pcs` are the cluster and its parts as far as PCS has them; `pcs_words` stand for a cluster that it has not."""
        self._cluster = cluster
        self._pcs = pcs
        self._pcs_words = pcs_words
        self._scheduler = scheduler
        self._reservations = reservations
        self._deployed = deployed
        self._capacity = capacity_of(cluster, deployed)
        self._seen, self._silence = _look(scheduler)

    @property
    def unanswered(self) -> str | None:
        return None if self._scheduler is None else "UNKNOWN (the login node does not answer)"

    @property
    def status(self) -> SlurmClusterStatus:
        slurm = self._cluster.slurm
        assert slurm is not None, "of a Slurm cluster"
        own = next((one for one in self._pcs if one.id == one.cluster_id), None)
        nodes = self._seen.nodes if self._seen else ()
        advice = _STATE_WORDS.get(own.status) if own else None
        return SlurmClusterStatus(
            name=self._cluster.name,
            pcs_cluster=own.status if own else self._pcs_words,
            slurm_version=slurm.version,
            why=tuple(words for words in (advice, *(own.errors if own else ())) if words),
            login_node=self._silence or ANSWERS,
            node_groups=tuple(self._group(group.name, nodes) for group in slurm.node_groups),
            node_reasons=_unused(nodes),
            capacity=capacity_words(self._capacity, self._reservations, self._cluster.capacity),
            ends=ends(self._reservations),
        )

    def newest_runs(
        self, job: JobPlan, names: Iterable[str], at_most: int
    ) -> tuple[ScheduledRun, ...] | None:
        if self._scheduler is None or self._seen is None:
            return None
        return self._scheduler.runs_of(job, names)

    def why(self, job: JobPlan, run: ScheduledRun) -> tuple[str, ...]:
        if run.has_failed:
            return (run.reason,) if run.reason else ()
        if run.state not in WAITING_STATES:
            return ()
        room = room_words(self._cluster, self._deployed, run.nodes or 0)
        return (waiting_words(run.reason, run.id), *([room] if room else ()), *self._capacity_reasons())

    def _capacity_reasons(self) -> tuple[str, ...]:
        capacity = self._capacity
        if capacity.kind in BY_THE_HOUR:
            return ()
        found = self._reservations or (None,)
        return tuple(words for one in found for words in unfit_capacity(capacity, one))

    def _group(self, name: str, nodes: tuple[NodeState, ...]) -> NodeGroupStatus:
        known = next((one for one in self._pcs if one.name == name), None)
        counts = node_counts(node for node in nodes if node.group == name)
        return NodeGroupStatus(
            name, known.status if known else self._pcs_words, (counts or "no nodes") if self._seen else None
        )


def _look(scheduler: SlurmScheduler | None) -> tuple[Seen | None, str | None]:
    """What there is, or why nobody knows."""
    if scheduler is None:
        return None, "not deployed"
    try:
        scheduler.active_runs()
    except KitError as error:
        return None, f"{error.message}; {error.hint}" if error.hint else error.message
    return scheduler.seen, None


def _unused(nodes: tuple[NodeState, ...]) -> tuple[str, ...]:
    found = [f"node {node.name} is {node.words}: {node.reason}" for node in nodes if node.reason]
    more = len(found) - _REASONS_MAX
    return tuple(found[:_REASONS_MAX]) + ((f"{more} more nodes have a reason",) if more > 0 else ())
