"""Slurm clusters on AWS PCS: names, sizes, scaling, devices that are counted, shared storage."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stacks.domain.catalog import InstanceType
from stacks.domain.environment import Cluster, SharedStorage, SlurmSettings
from stacks.domain.findings import Severity, one_of
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.slurm import (
    CLUSTER_NAME,
    NODE_GROUP_NAME,
    QUEUE_NAME,
    clusters_max,
    controller_sizes,
    cpus_of_node,
    default_login_instance_type,
    node_groups_max,
    pcs_regions,
)
from stacks.domain.slurm_plan import (
    minimum_nodes,
    node_group_name,
    pcs_cluster_name,
    slurm_settings_of,
)

SCHEMA_SOURCE = "`neuronkit schema`"
NAMES_SOURCE = "botocore 1.44.8 pcs: clusters 3 to 40 characters, node groups and queues 3 to 25"
SCALING_SOURCE = (
    "AWS PCS user guide, working-with_cng_create (copy of early 2026): no mix of static and dynamic"
)
SIZES_SOURCE = "botocore 1.44.8 pcs CreateClusterRequest.size"
QUOTA_SOURCE = "AWS PCS user guide, service-endpoints-quotas (copy of early 2026)"
GRES_SOURCE = "AWS PCS user guide, gres-custom-settings and troubleshooting-invalid-registration"
CPUS_SOURCE = "AWS PCS user guide, working-with_launch-templates_overview: one thread a core"
LUSTRE_SOURCE = "FSx for Lustre API, CreateFileSystem StorageCapacity (botocore 1.44.8): 1,200, 2,400 and then by 2,400 GiB"
REGIONS_SOURCE = "CloudFormation registry, AWS::PCS::Cluster by region (cfn-lint 1.58, 2026-10-20)"
TYPES_SOURCE = "EC2 user guide, instance type naming conventions: g after the generation is AWS Graviton"
ARM_TYPE = r"(a1|[a-z]+[0-9]+[a-z]*g[a-z]*)\.[a-z0-9-]+"
INSTANCE_TYPE = rf"(?!{ARM_TYPE}$)[a-z][a-z0-9-]*[a-z0-9]\.[a-z0-9-]+"
SMALLEST_LUSTRE_GIB, LUSTRE_STEP_GIB = 1_200, 2_400
SYSTEM_DIRECTORIES = (
    "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "root", "run", "sbin", "snap", "sys", "usr",
)  # fmt: skip
"""Of the node's own system, with all that is in them."""
SHARED_DIRECTORIES = {
    "opt": ("amazon", "aws", "slurm"),
    "tmp": (),
    "var": ("cache", "lib", "lock", "log", "run", "spool", "tmp"),
}
"""The same, but others may put a directory into them, beside these."""


def slurm_block_has_its_scheduler(facts: Facts) -> Iterator[Problem]:
    for name, cluster in facts.environment.clusters.items():
        if cluster.slurm is not None and cluster.scheduler != "slurm":
            yield Problem(
                ("clusters", name, "slurm"),
                "a slurm block",
                f"null with scheduler {cluster.scheduler}",
                "nothing would read it",
                "write scheduler: slurm, or remove the block",
                at_key=True,
            )


def cluster_name_fits(facts: Facts) -> Iterator[Problem]:
    for name, _ in slurm_clusters(facts):
        whole = pcs_cluster_name(facts.environment.name, name)
        if not re.fullmatch(CLUSTER_NAME, whole):
            yield Problem(
                ("clusters", name),
                f"{whole}, {len(whole)} characters",
                "3 to 40 characters for the environment's name, - and the cluster's",
                fix=f"shorten the cluster's name to {max(40 - len(facts.environment.name) - 1, 1)} characters, or the environment's",
                at_key=True,
            )


def queue_name_fits(facts: Facts) -> Iterator[Problem]:
    for name, _ in slurm_clusters(facts):
        if not re.fullmatch(QUEUE_NAME, name):
            yield Problem(
                ("clusters", name),
                f"{len(name)} characters",
                "3 to 25 characters with scheduler slurm",
                "the cluster's name is its queue's",
                "rename it",
                at_key=True,
            )


def node_group_names_fit(facts: Facts) -> Iterator[Problem]:
    for name, cluster in slurm_clusters(facts):
        longest = node_group_name(
            cluster.instance_type, group_count(facts, name) - 1 if _members(facts, name) else None
        )
        if not re.fullmatch(NODE_GROUP_NAME, longest):
            yield Problem(
                ("clusters", name, "instance_type"),
                repr(cluster.instance_type),
                "a type that gives 3 to 25 letters, digits and -",
                f"node groups are named for the type: {longest}",
            )


def scaling_is_not_mixed(facts: Facts) -> Iterator[Problem]:
    for name, cluster in slurm_clusters(facts):
        least = minimum_nodes(cluster, facts.capacity_kind(name) or "")
        if least not in (0, cluster.nodes):
            yield Problem(
                ("clusters", name, "slurm", "minimum_nodes"),
                str(least),
                f"0 or {cluster.nodes}",
                "PCS has node groups that are always there and node groups that come with jobs, and no mix of both",
                f"write {cluster.nodes} to keep all of `nodes` running, 0 to start them with a job",
            )


def controller_takes_all_nodes(facts: Facts) -> Iterator[Problem]:
    sizes = {size.size: size.nodes_max for size in controller_sizes()}
    for name, cluster in slurm_clusters(facts):
        wanted, needed = slurm_settings_of(cluster).controller_size, cluster.nodes + 1
        most = max(sizes.values()) if wanted == "auto" else sizes[wanted]
        if needed <= most:
            continue
        larger = [size for size, nodes in sizes.items() if nodes >= needed]
        chosen = wanted != "auto" and bool(larger)
        yield Problem(
            ("clusters", name, "slurm", "controller_size") if chosen else ("clusters", name, "nodes"),
            wanted if chosen else f"{cluster.nodes:,}",
            one_of(["auto", *larger]) if chosen else f"1 to {most - 1:,}",
            f"{cluster.nodes:,} nodes and the login node are more than the {most:,} of the size",
            f"write {larger[0]} or auto" if chosen else "use several clusters, or `cells`",
        )


def node_groups_are_few_enough(facts: Facts) -> Iterator[Problem]:
    most = node_groups_max() - 1
    for name, cluster in slurm_clusters(facts):
        members, groups = _members(facts, name), group_count(facts, name)
        if members and groups > most:
            yield Problem(
                ("clusters", name, "nodes"),
                f"{cluster.nodes:,} nodes = {groups} UltraServers",
                f"at most {most * members} nodes",
                f"a PCS cluster has {most + 1} node groups at most: the login node's and one for each UltraServer",
                "use several clusters, or `cells`",
            )


def clusters_are_few_enough(facts: Facts) -> Iterator[Problem]:
    number = sum(cluster.cells for _, cluster in slurm_clusters(facts))
    if number > clusters_max():
        yield Problem(
            ("clusters",),
            f"{number} PCS clusters",
            f"{clusters_max()} an account and region by default",
            "the quota is adjustable; PCS makes them one after another",
            "ask for a higher quota, or make fewer, larger ones",
            at_key=True,
        )


def devices_are_counted_right(facts: Facts) -> Iterator[Problem]:
    for name, settings in slurm_blocks(facts):
        found = facts.instance_type(name)
        if found is None or settings.gres is None or settings.gres in (0, found.chips):
            continue
        yield Problem(
            ("clusters", name, "slurm", "gres"),
            str(settings.gres),
            f"0 or {found.chips}",
            _unit_of_gres(settings.gres, found),
            f"write {found.chips}, or leave the key out; 0 counts nothing",
        )


def cpus_are_known(facts: Facts) -> Iterator[Problem]:
    for name, cluster in slurm_clusters(facts):
        if facts.instance_type(name) is not None and cpus_of_node(cluster.instance_type) is None:
            yield Problem(
                ("clusters", name, "instance_type"),
                repr(cluster.instance_type),
                message="PCS runs one thread a core, and nothing states the cores of this type: Slurm's CPUs are not known",
                fix="look at `scontrol show node` once a node is up",
            )


def shared_storage_is_there(facts: Facts) -> Iterator[Problem]:
    for name, cluster in slurm_clusters(facts):
        if slurm_settings_of(cluster).shared_storage is None:
            yield Problem(
                ("clusters", name, "slurm") if cluster.slurm else ("clusters", name),
                "no shared_storage",
                "kind: efs, or kind: lustre with capacity_gib",
                "job scripts, logs and the state of runs are there; nodes have nothing else in common",
                "write slurm.shared_storage: {kind: efs}",
                at_key=True,
            )


def shared_storage_has_its_size(facts: Facts) -> Iterator[Problem]:
    for name, storage in _storages(facts):
        path = ("clusters", name, "slurm", "shared_storage", "capacity_gib")
        given = storage.capacity_gib
        if storage.kind == "efs" and given is not None:
            yield Problem(
                path,
                f"{given}",
                "null with kind efs",
                "EFS grows by itself",
                "remove it, or write kind: lustre",
            )
        elif storage.kind == "lustre" and given is None:
            yield Problem(
                path,
                "no capacity_gib",
                f"{SMALLEST_LUSTRE_GIB}, or a multiple of {LUSTRE_STEP_GIB}",
                "FSx for Lustre is paid by its size",
                f"write capacity_gib: {SMALLEST_LUSTRE_GIB}",
            )
        elif storage.kind == "lustre" and given != nearest_lustre_gib(given or 0):
            yield Problem(
                path,
                f"{given}",
                f"{SMALLEST_LUSTRE_GIB}, or a multiple of {LUSTRE_STEP_GIB}",
                "FSx for Lustre is not made in this size",
                f"write {nearest_lustre_gib(given or 0)}",
            )


def mount_point_is_free(facts: Facts) -> Iterator[Problem]:
    for name, storage in _storages(facts):
        _, top, *rest = storage.mount_point.split("/")
        shared = SHARED_DIRECTORIES.get(top)
        is_free = shared is not None and bool(rest) and rest[0] not in shared
        if top in SYSTEM_DIRECTORIES or (shared is not None and not is_free):
            yield Problem(
                ("clusters", name, "slurm", "shared_storage", "mount_point"),
                repr(storage.mount_point),
                "a directory that the node's system does not have, such as /shared",
                f"it would hide what the node's own /{top} has",
                "write /shared",
            )


def login_type_can_start_the_image(facts: Facts) -> Iterator[Problem]:
    for name, settings in slurm_blocks(facts):
        given = settings.login_instance_type
        if given is None or re.fullmatch(INSTANCE_TYPE, given):
            continue
        is_arm = re.fullmatch(ARM_TYPE, given) is not None
        yield Problem(
            ("clusters", name, "slurm", "login_instance_type"),
            repr(given),
            f"a type with an x86_64 processor, such as {default_login_instance_type()}",
            "its processor is Arm (Graviton), and the nodes' image is for x86_64"
            if is_arm
            else "no EC2 instance type",
            f"write {default_login_instance_type()}, or leave the key out",
        )


def region_has_pcs(facts: Facts) -> Iterator[Problem]:
    region = facts.environment.region
    if region in facts.catalog.regions and region not in pcs_regions() and any(slurm_clusters(facts)):
        yield Problem(
            ("region",),
            repr(region),
            "a region with AWS PCS",
            "CloudFormation has no PCS types there",
            "change region and zone_id, or write scheduler: batch",
        )


def slurm_clusters(facts: Facts) -> Iterator[tuple[str, Cluster]]:
    for name, cluster in facts.environment.clusters.items():
        if cluster.scheduler == "slurm":
            yield name, cluster


def slurm_blocks(facts: Facts) -> Iterator[tuple[str, SlurmSettings]]:
    """Also the defaults of a Slurm cluster without a block."""
    for name, cluster in slurm_clusters(facts):
        yield name, slurm_settings_of(cluster)


def group_count(facts: Facts, cluster: str) -> int:
    """Of compute node groups."""
    members = _members(facts, cluster)
    return -(-facts.environment.clusters[cluster].nodes // members) if members else 1


def nearest_lustre_gib(given: int) -> int:
    """Not below what is wanted."""
    if given <= SMALLEST_LUSTRE_GIB:
        return SMALLEST_LUSTRE_GIB
    return -(-given // LUSTRE_STEP_GIB) * LUSTRE_STEP_GIB


def _members(facts: Facts, cluster: str) -> int | None:
    ultraserver = facts.ultraserver(cluster)
    return ultraserver.members if ultraserver else None


def _storages(facts: Facts) -> Iterator[tuple[str, SharedStorage]]:
    for name, settings in slurm_blocks(facts):
        if settings.shared_storage is not None:
            yield name, settings.shared_storage


def _unit_of_gres(given: int, found: InstanceType) -> str:
    logical = [found.logical_cores(size) for size in (found.chip.logical_core_sizes if found.chip else ())]
    units = f"Slurm counts devices, /dev/neuron0 and on, one a chip: {found.name} has {found.chips}"
    if given == found.physical_cores:
        return f"{given} is the number of physical cores; {units}"
    if given in logical:
        return f"{given} is a number of logical cores; {units}"
    return f"{units}; nodes that have others than they say are drained"


RULES = (
    Rule("NK620", Severity.ERROR, "slurm block without Slurm", "a setting that nothing reads hides a mistake", SCHEMA_SOURCE, slurm_block_has_its_scheduler),
    Rule("NK621", Severity.ERROR, "name of no PCS cluster", "the deploy fails in the middle", NAMES_SOURCE, cluster_name_fits),
    Rule("NK622", Severity.ERROR, "name of no queue", "the deploy fails in the middle", NAMES_SOURCE, queue_name_fits),
    Rule("NK623", Severity.ERROR, "name of no node group", "the deploy fails in the middle", NAMES_SOURCE, node_group_names_fit),
    Rule("NK624", Severity.ERROR, "mixed scaling", "PCS refuses it; cfn-lint does not", SCALING_SOURCE, scaling_is_not_mixed),
    Rule("NK625", Severity.ERROR, "more nodes than the controller takes", "ServiceQuotaExceededException", SIZES_SOURCE, controller_takes_all_nodes),
    Rule("NK626", Severity.ERROR, "too many node groups", "the limit is not adjustable", QUOTA_SOURCE, node_groups_are_few_enough),
    Rule("NK630", Severity.ERROR, "wrong number of devices", "PCS checks it against nothing, and Slurm drains the nodes", GRES_SOURCE, devices_are_counted_right),
    Rule("NK632", Severity.INFO, "CPUs of the type not known", "a job that asks for more than there are is refused", CPUS_SOURCE, cpus_are_known),
    Rule("NK633", Severity.ERROR, "no shared storage", "a job script starts on nodes that share nothing else", SCHEMA_SOURCE, shared_storage_is_there),
    Rule("NK634", Severity.ERROR, "size of the shared storage", "FSx refuses it half-way through the deploy", LUSTRE_SOURCE, shared_storage_has_its_size),
    Rule("NK635", Severity.ERROR, "mount point that is taken", "the node would lose what its system needs", "Filesystem Hierarchy Standard 3.0; /opt/aws/pcs: AWS PCS user guide", mount_point_is_free),
    Rule("NK636", Severity.ERROR, "no AWS PCS in the region", "the deploy fails at once", REGIONS_SOURCE, region_has_pcs, can_be_forced=True),
    Rule("NK662", Severity.ERROR, "login node of no fitting type", "the node never starts, and with it no job", TYPES_SOURCE, login_type_can_start_the_image),
    Rule("NK641", Severity.WARNING, "more PCS clusters than an account has by default", "the deploy stops half-way", QUOTA_SOURCE, clusters_are_few_enough),
)  # fmt: skip
