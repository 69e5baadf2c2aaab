"""Node images of Slurm clusters: one a version, and with the Slurm that its cluster has."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.findings import Severity
from stacks.domain.live import LiveAmi, known
from stacks.domain.node_image_plan import built_clusters, parent_reference
from stacks.domain.plan import ClusterPlan
from stacks.domain.rules.rule import Facts, Need, Problem, Rule

SLURM_SOURCE = "AWS PCS user guide, AMIs: nodes run the Slurm version of their cluster"
ONE_SOURCE = "neuronkit: a node image is named by its Slurm version (node-image:slurm-25.11)"


def one_parent_for_a_version(facts: Facts) -> Iterator[Problem]:
    for version, clusters in built_clusters(facts.environment).items():
        (first, of_first), *others = clusters.items()
        for name, cluster in others:
            if parent_reference(cluster) != parent_reference(of_first):
                yield Problem(
                    ("clusters", name, "slurm", "parent_ami"),
                    repr(parent_reference(cluster)),
                    repr(parent_reference(of_first)),
                    f"one node image is built for Slurm {version}, and cluster {first} names another parent",
                    "write the same parent_ami for both, or give one of them an AMI of your own under slurm.ami",
                )


def the_ami_has_the_cluster_s_slurm(facts: Facts) -> Iterator[Problem]:
    for cluster, found in _found(facts):
        wanted = cluster.slurm.version if cluster.slurm else None
        if found.slurm_version is not None and found.slurm_version != wanted:
            yield Problem(
                ("clusters", cluster.name, "slurm"),
                found.slurm_version,
                str(wanted),
                f"{found.id} has Slurm {found.slurm_version}, the cluster {wanted}: its nodes would not register",
                "run `neuronkit image build` with this file, or name an AMI with the cluster's version",
            )


def _untagged(facts: Facts) -> Iterator[str]:
    for cluster, found in _found(facts):
        if found.slurm_version is None:
            yield f"which Slurm is in {found.id} of cluster {cluster.name}: it has no tag neuronkit:slurm-version"


def _wanted(facts: Facts) -> Iterator[tuple[ClusterPlan, str]]:
    for cluster in facts.plan.clusters if facts.plan else ():
        if cluster.slurm is not None and cluster.ami is not None:
            yield cluster, cluster.ami.reference


def _found(facts: Facts) -> Iterator[tuple[ClusterPlan, LiveAmi]]:
    for cluster, reference in _wanted(facts):
        found = known(facts.live.of(facts.live.amis, reference), None)
        if found is not None:
            yield cluster, found


def _answers(facts: Facts) -> Iterator[object]:
    for _, reference in _wanted(facts):
        yield facts.live.of(facts.live.amis, reference)


RULES = (
    Rule("NK660", Severity.ERROR, "two parents for one node image", "only one of them would be built", ONE_SOURCE, one_parent_for_a_version),
)  # fmt: skip
LIVE_RULES = (
    Rule("NK661", Severity.ERROR, "AMI with another Slurm", "nodes start, cost money and never join", SLURM_SOURCE, the_ami_has_the_cluster_s_slurm, Need("the AMIs of Slurm clusters", _answers), unknown=_untagged),
)  # fmt: skip
