"""What Slurm jobs run in and what their nodes start from, as far as the file says it twice or nobody has tried it."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.findings import Severity, one_of
from stacks.domain.node_image_sources import pcs_packages
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.rules.slurm import SCHEMA_SOURCE, slurm_blocks


def containers_are_untried(facts: Facts) -> Iterator[Problem]:
    for name, settings in slurm_blocks(facts):
        if settings.runs_in != "virtual-environment":
            yield Problem(
                ("clusters", name, "slurm", "runs_in"),
                settings.runs_in,
                message="no public sample gives Neuron devices to such a container; Pyxis is built for one Slurm version, and "
                "another stops slurmd",
                fix="run a one-node job first, or write virtual-environment",
            )


def virtual_environments_are_used(facts: Facts) -> Iterator[Problem]:
    for name, settings in slurm_blocks(facts):
        if settings.virtual_environments and settings.runs_in != "virtual-environment":
            yield Problem(
                ("clusters", name, "slurm", "virtual_environments"),
                one_of(sorted(settings.virtual_environments)),
                f"none with runs_in: {settings.runs_in}",
                "jobs run in their container: nothing would read it",
                "remove it, or write runs_in: virtual-environment",
                at_key=True,
            )


def ami_is_where_slurm_looks(facts: Facts) -> Iterator[Problem]:
    schedulers = {cluster.scheduler for cluster in facts.environment.clusters.values()}
    on_ecs = any(fleet.runs_on == "ec2" for fleet in facts.environment.fleets.values())
    if facts.environment.software.ami != "auto" and "batch" not in schedulers and not on_ecs:
        yield Problem(
            ("software", "ami"),
            repr(facts.environment.software.ami),
            "auto",
            "nothing reads it: Slurm nodes have their own, and AWS chooses that of Managed Instances",
            "for Slurm write it as clusters.NAME.slurm.ami",
        )


def parent_of_a_ready_ami(facts: Facts) -> Iterator[Problem]:
    for name, settings in slurm_blocks(facts):
        if settings.ami != "built" and settings.parent_ami != "auto":
            yield Problem(
                ("clusters", name, "slurm", "parent_ami"),
                repr(settings.parent_ami),
                "auto with an AMI of yours",
                f"nothing is built: nodes start from {settings.ami}",
                "remove it, or write ami: built",
            )


def agent_of_a_ready_ami(facts: Facts) -> Iterator[Problem]:
    for name, settings in slurm_blocks(facts):
        if settings.ami != "built":
            least = pcs_packages(facts.environment.region, settings.version).agent_least
            yield Problem(
                ("clusters", name, "slurm", "ami"),
                repr(settings.ami),
                f"one whose PCS agent is {least} or newer",
                "nothing tells which agent it has, and an older one runs no lifecycle action: nodes take jobs without their file "
                "system, settings and the wait for their devices",
                "read /opt/aws/pcs/version on a machine from it; then accept this under suppress",
            )


RULES = (
    Rule("NK637", Severity.WARNING, "containers under Slurm are untried", "not tried is not fine", "awslabs/awsome-distributed-ai@95b939c architectures/aws-pcs docs/OPERATIONS.md (GPU only)", containers_are_untried),
    Rule("NK638", Severity.ERROR, "virtual environments that nothing reads", "a setting that nothing reads hides a mistake", SCHEMA_SOURCE, virtual_environments_are_used),
    Rule("NK639", Severity.ERROR, "AMI that no cluster reads", "nodes start from another than the file seems to say", SCHEMA_SOURCE, ami_is_where_slurm_looks),
    Rule("NK640", Severity.ERROR, "parent of an image that is not built", "nodes start from another than the file seems to say", SCHEMA_SOURCE, parent_of_a_ready_ami),
    Rule("NK659", Severity.WARNING, "AMI whose PCS agent is unknown", "no mount, no wait for devices", "AWS PCS user guide, cng-node-lifecycle-actions-configure: agent version requirement", agent_of_a_ready_ami),
)  # fmt: skip
