"""What a plan needs of EC2's vCPU quotas, and whether the account's limits and present use leave room for it.

EC2 counts vCPUs, not instances, by group of families: all clusters and fleets of a plan that share a quota add up, but for
the two sides of a shift, which never have all of theirs at once. Capacity
blocks are not charged to these quotas; a reservation that is held already is in the account's use, not in the need.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from stacks.domain.catalog import Catalog
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.live import CouldNotAsk, LiveFacts, QuotaLimit, RunningNodes
from stacks.domain.plan import ClusterPlan, Plan
from stacks.domain.shift_plan import ShiftPlan
from stacks.domain.slurm import login_vcpus

ENOUGH, SHORT, NOT_CHECKED = "enough", "short", "not checked"
LOGIN_QUOTA_NAME = "Running On-Demand Standard instances"
"""What login nodes are charged to."""
QUOTA_SOURCE = (
    "EC2 user guide, ec2-on-demand-instances (limits in vCPUs) and ec2-capacity-reservations "
    "(active and unused reservations count)"
)


@dataclass(frozen=True, slots=True)
class QuotaState:
    """`used_vcpus` are those of others: this environment's own running nodes are in `needed_vcpus` already."""

    code: str
    name: str
    needed_vcpus: int
    limit_vcpus: int | None
    used_vcpus: int | None
    state: str
    """enough, short, or not checked."""
    short_by: int | None
    """In vCPUs; with unknown use the least that is missing. None unless the state is short."""
    why: str = ""
    """Why it was not checked."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def text(self) -> str:
        head = f"{self.code} ({self.name}): {self.needed_vcpus:,} vCPUs needed"
        if self.state == NOT_CHECKED:
            return f"{head}; not checked: {self.why}"
        used = "unknown" if self.used_vcpus is None else f"{self.used_vcpus:,}"
        verdict = f"short by {self.short_by:,}" if self.short_by is not None else ENOUGH
        return f"{head}, limit {self.limit_vcpus:,}, used by others {used}: {verdict}"


def quota_code(cluster: ClusterPlan, catalog: Catalog) -> str | None:
    """Of the quota that a cluster is charged to; None when it is charged to none, or nothing says to which."""
    found = catalog.instance_types.get(cluster.instance_type)
    return found.quota_code_on_demand if found and cluster.capacity.kind == "on-demand" else None


def charged(cluster: ClusterPlan, catalog: Catalog) -> dict[str, int]:
    """The vCPUs of a cluster by quota code: its nodes', and its login nodes'."""
    found: dict[str, int] = {}
    code = quota_code(cluster, catalog)
    if code is not None:
        found[code] = cluster.vcpus
    login = login_vcpus(cluster.slurm.login_instance_type) if cluster.slurm else None
    if login is not None:
        vcpus, code = login
        found[code] = found.get(code, 0) + vcpus * cluster.cells
    return found


def fleet_charged(fleet: FleetPlan, catalog: Catalog) -> dict[str, int]:
    """The vCPUs of a fleet by quota code, its GPU group's too: at the maximum of both."""
    groups = [(fleet.instance_type, fleet.capacity.kind, fleet.nodes_maximum * fleet.vcpus_per_node)]
    gpu = fleet.fallback
    if gpu is not None:
        groups.append((gpu.instance_type, gpu.capacity.kind, gpu.nodes_maximum * gpu.vcpus_per_node))
    found: dict[str, int] = {}
    for name, kind, vcpus in groups:
        known = catalog.instance_types.get(name)
        if known is None or kind not in ("on-demand", "spot"):
            continue
        code = known.quota_code_on_demand if kind == "on-demand" else known.quota_code_spot
        if code is not None:
            found[code] = found.get(code, 0) + vcpus
    return found


def needed_vcpus(plan: Plan, catalog: Catalog) -> dict[str, int]:
    """By quota code, over the whole plan."""
    needs: dict[str, int] = {}
    of_clusters = (charged(cluster, catalog) for cluster in plan.clusters)
    of_fleets = (fleet_charged(fleet, catalog) for fleet in plan.fleets)
    for found in (*of_clusters, *of_fleets):
        for code, vcpus in found.items():
            needs[code] = needs.get(code, 0) + vcpus
    for shift in plan.shifts:
        for code, vcpus in _never_at_once(plan, shift, catalog):
            needs[code] -= vcpus
    return dict(sorted(needs.items()))


def _never_at_once(plan: Plan, shift: ShiftPlan, catalog: Catalog) -> Iterator[tuple[str, int]]:
    """What the sum of both sides is above the larger of what runs in the widest window, and outside of windows."""
    cluster, fleet = plan.cluster(shift.cluster), plan.fleet(shift.fleet)
    code, known = quota_code(cluster, catalog), catalog.instance_types.get(fleet.instance_type)
    if (
        code is None
        or known is None
        or fleet.capacity.kind != "on-demand"
        or known.quota_code_on_demand != code
    ):
        return
    each = fleet.vcpus_per_node
    at_once = max(shift.nodes_floor * each + cluster.vcpus, shift.nodes_serving * each)
    yield code, fleet.nodes_maximum * each + cluster.vcpus - at_once


def families_of(codes: Iterable[str], catalog: Catalog) -> tuple[str, ...]:
    """The instance families that these quotas count."""
    wanted = frozenset(codes)
    types = catalog.instance_types.values()
    return tuple(sorted({t.family for t in types if t.quota_code_on_demand in wanted}))


def quota_states(plan: Plan, catalog: Catalog, live: LiveFacts) -> tuple[QuotaState, ...]:
    return tuple(_state(code, vcpus, catalog, live) for code, vcpus in needed_vcpus(plan, catalog).items())


def _state(code: str, needed: int, catalog: Catalog, live: LiveFacts) -> QuotaState:
    name = catalog.quotas[code].name if code in catalog.quotas else LOGIN_QUOTA_NAME
    limit = live.of(live.quota_limits, code)
    used = _used_vcpus(code, catalog, live)
    if isinstance(limit, CouldNotAsk):
        known_use = None if isinstance(used, CouldNotAsk) else used
        return QuotaState(code, name, needed, None, known_use, NOT_CHECKED, None, limit.why)
    if isinstance(used, CouldNotAsk):
        return _state_with_unknown_use(code, name, needed, limit, used)
    short_by = needed + used - limit.vcpus
    if short_by <= 0:
        return QuotaState(code, name, needed, limit.vcpus, used, ENOUGH, None)
    return QuotaState(code, name, needed, limit.vcpus, used, SHORT, min(short_by, needed))


def _state_with_unknown_use(
    code: str, name: str, needed: int, limit: QuotaLimit, used: CouldNotAsk
) -> QuotaState:
    """Too low even for an account that runs nothing else: that needs no second answer."""
    if needed > limit.vcpus:
        return QuotaState(code, name, needed, limit.vcpus, None, SHORT, needed - limit.vcpus)
    return QuotaState(code, name, needed, limit.vcpus, None, NOT_CHECKED, None, f"present use: {used.why}")


def _used_vcpus(code: str, catalog: Catalog, live: LiveFacts) -> int | CouldNotAsk:
    total = 0
    families = families_of([code], catalog)
    if not families:
        return CouldNotAsk("the families that this quota counts are not in the bundled data")
    for answer in (live.running, live.unused_reservations):
        if isinstance(answer, CouldNotAsk):
            return answer
        for nodes in answer:
            if nodes.is_ours or nodes.instance_type.partition(".")[0] not in families:
                continue
            each = _vcpus_each(nodes, catalog.instance_types)
            if each is None:
                return CouldNotAsk(f"nothing says how many vCPUs a running {nodes.instance_type} has")
            total += nodes.count * each
    return total


def _vcpus_each(nodes: RunningNodes, instance_types: Mapping[str, Any]) -> int | None:
    """The catalog's first: EC2's own answer is of the cores that were switched on."""
    known = instance_types.get(nodes.instance_type)
    return known.vcpus if known else nodes.vcpus_each
