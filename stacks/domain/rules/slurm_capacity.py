"""How nodes of a Slurm cluster are bought: what PCS's guide does not list, and one reservation for each UltraServer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from stacks.domain.environment import Cluster
from stacks.domain.findings import Severity
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.rules.slurm import group_count, slurm_clusters

BLOCKS_SOURCE = (
    "AWS PCS user guide, capacity-blocks (P families only, read in 2026); arminagha1234/trainium-course-cluster@d25aaed "
    "ran the smallest Trainium2 type on one"
)
RESERVATIONS_SOURCE = (
    "AWS PCS user guide, capacity-reservations-odcr (an id in the launch template) against "
    "working-with_launch-templates_overview (none, but a group)"
)
GROUPS_SOURCE = "AWS PCS user guide, capacity-blocks-configure-cng: one block a node group"
SPOT_SOURCE = "AWS PCS user guide, working-with_cng_create (SPOT); EC2 user guide, spot-interruptions"


def block_is_not_in_pcs_list(facts: Facts) -> Iterator[Problem]:
    for name, cluster in slurm_clusters(facts):
        if facts.capacity_kind(name) == "capacity-block":
            yield Problem(
                ("clusters", name, "capacity"),
                repr(cluster.capacity),
                message="Trainium is not in PCS's documented list of types on capacity blocks; somebody ran the smallest Trainium2 type on one, "
                "nobody has published another type",
                fix="start one node in it before you rely on it",
            )


def reservation_on_pcs_is_unverified(facts: Facts) -> Iterator[Problem]:
    for name, cluster in slurm_clusters(facts):
        if facts.capacity_kind(name) == "reservation":
            yield Problem(
                ("clusters", name, "capacity"),
                repr(cluster.capacity),
                message="a reservation on PCS is unverified: a page of its guide says that a launch template may name only a group of "
                "reservations, which the kit makes around this one; another sets the id itself; a group starts nodes outside the "
                "reservation, too, once it is full",
                fix="start one node and look at its reservation; an open reservation needs no id: kind: on-demand uses it by itself",
            )


def ids_are_of_ultraservers(facts: Facts) -> Iterator[Problem]:
    for name, capacity in facts.environment.capacity.items():
        if not capacity.ids:
            continue
        path = ("capacity", name, "ids")
        given = f"{len(capacity.ids)} ids"
        strangers = [c for c, _ in _users(facts, name) if not _is_slurm_of_ultraservers(facts, c)]
        if capacity.id is not None:
            yield Problem(path, given, "id or ids", "id is given, too", "remove one", at_key=True)
        elif capacity.kind not in ("reservation", "capacity-block"):
            yield Problem(
                path, given, "none", f"{capacity.kind} capacity has no id", "remove it", at_key=True
            )
        elif strangers:
            yield Problem(
                path,
                given,
                "id",
                f"cluster {strangers[0]} is not one of UltraServers under Slurm: its nodes are bought as a whole",
                "write id: with one reservation",
                at_key=True,
            )
        repeated = [id_ for id_, times in Counter(capacity.ids).items() if times > 1]
        if repeated:
            yield Problem(
                path, repeated[0], "each id once", "an UltraServer is bought once", "remove it", at_key=True
            )


def each_ultraserver_has_its_id(facts: Facts) -> Iterator[Problem]:
    for name, cluster in slurm_clusters(facts):
        capacity = facts.environment.capacity.get(cluster.capacity)
        if capacity is None or not _is_slurm_of_ultraservers(facts, name):
            continue
        wanted, shared = group_count(facts, name), len(list(_users(facts, cluster.capacity))) > 1
        if capacity.id is not None and not capacity.ids and wanted > 1:
            yield Problem(
                ("capacity", cluster.capacity, "id"),
                repr(capacity.id),
                f"ids: a list of {wanted}",
                f"cluster {name} has {wanted} UltraServers, and PCS takes one reservation for the node group of each",
                "write ids: with one reservation for each UltraServer, in their order",
            )
        elif capacity.ids and shared:
            yield Problem(
                ("clusters", name, "capacity"),
                repr(cluster.capacity),
                "a capacity of its own",
                "another cluster has the same reservations",
                "give each cluster an entry of its own",
            )
        elif capacity.ids and len(capacity.ids) != wanted:
            yield Problem(
                ("capacity", cluster.capacity, "ids"),
                f"{len(capacity.ids)} ids",
                f"{wanted}",
                f"cluster {name} has {wanted} UltraServers ({cluster.nodes} nodes), each with its reservation",
                f"name {wanted} reservations, or change nodes",
                at_key=True,
            )


def spot_nodes_may_go(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        cluster = facts.environment.clusters.get(job.cluster)
        if cluster is None or cluster.scheduler != "slurm" or facts.capacity_kind(job.cluster) != "spot":
            continue
        if job.attempts == 1 or job.checkpoint_minutes is None:
            lacks = "has one attempt" if job.attempts == 1 else "does not say how often it saves"
            yield Problem(
                ("jobs", name),
                message=f"EC2 takes spot nodes back at two minutes' notice, and the job {lacks}",
                fix="write attempts: 2 or more, and checkpoint_minutes",
                at_key=True,
            )


def _users(facts: Facts, capacity: str) -> Iterator[tuple[str, Cluster]]:
    for name, cluster in facts.environment.clusters.items():
        if cluster.capacity == capacity:
            yield name, cluster


def _is_slurm_of_ultraservers(facts: Facts, cluster: str) -> bool:
    ultraserver = facts.ultraserver(cluster)
    is_slurm = facts.environment.clusters[cluster].scheduler == "slurm"
    return is_slurm and ultraserver is not None and ultraserver.members is not None


RULES = (
    Rule("NK642", Severity.WARNING, "block that PCS does not list", "the node group may not start", BLOCKS_SOURCE, block_is_not_in_pcs_list),
    Rule("NK643", Severity.WARNING, "reservation on PCS is unverified", "sources disagree", RESERVATIONS_SOURCE, reservation_on_pcs_is_unverified),
    Rule("NK644", Severity.ERROR, "ids of no UltraServers", "a reservation that nothing names is paid for, and idle", GROUPS_SOURCE, ids_are_of_ultraservers),
    Rule("NK645", Severity.ERROR, "not one id for each UltraServer", "the node group of an UltraServer would start outside it, or never", GROUPS_SOURCE, each_ultraserver_has_its_id),
    Rule("NK646", Severity.WARNING, "job that spot nodes may end", "what an interrupted attempt did is lost, and paid", SPOT_SOURCE, spot_nodes_may_go),
)  # fmt: skip
