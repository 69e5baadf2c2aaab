"""Disks of nodes: images and compile caches land on the root volume."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.environment import Cluster
from stacks.domain.findings import Severity
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.slurm import parent_image
from stacks.domain.slurm_plan import slurm_settings_of

IMAGE_ROOM_GIB = 100
"""Neuron images unpack to tens of GB each, and the package, the compile cache and checkpoints come on top: a judgement."""
DLAMI_ROOT_GIB_MIN = 512
DLAMI_PARAMETER = "/aws/service/neuron/dlami/"
ROOM_SOURCE = "amazon-ecs-ami@a2532d3 variables (30 GB by default); sizes of the Neuron images (2026-08)"
DLAMI_SOURCE = "aws-neuron-sdk@81ce03ae deploy/environments/dlami.rst (2026-08-21)"


def images_find_room(facts: Facts) -> Iterator[Problem]:
    for name, cluster in facts.environment.clusters.items():
        if not _is_on_dlami(facts, cluster) and cluster.root_volume_gib < IMAGE_ROOM_GIB:
            instance_type = facts.instance_type(name)
            unused_gb = instance_type.instance_storage_gb if instance_type else 0
            note = f"; the {unused_gb:,} GB of instance store are not mounted by the kit" if unused_gb else ""
            yield Problem(
                ("clusters", name, "root_volume_gib"),
                str(cluster.root_volume_gib),
                f"{IMAGE_ROOM_GIB} or more",
                f"images, packages, compile cache and checkpoints share the root volume{note}",
                "leave the key out: 512 GiB",
            )


def a_dlami_finds_room(facts: Facts) -> Iterator[Problem]:
    for name, cluster in facts.environment.clusters.items():
        if _is_on_dlami(facts, cluster) and cluster.root_volume_gib < DLAMI_ROOT_GIB_MIN:
            yield Problem(
                ("clusters", name, "root_volume_gib"),
                str(cluster.root_volume_gib),
                f"{DLAMI_ROOT_GIB_MIN} or more",
                "the Neuron DLAMI needs so much on a Trainium node",
                f"write {DLAMI_ROOT_GIB_MIN}",
            )


def _is_on_dlami(facts: Facts, cluster: Cluster) -> bool:
    """The node image that the kit builds starts from one, too, unless the file names another parent."""
    if cluster.scheduler != "slurm":
        return facts.environment.software.ami.startswith(DLAMI_PARAMETER)
    settings = slurm_settings_of(cluster)
    parent = parent_image().reference if settings.parent_ami == "auto" else settings.parent_ami
    return settings.ami == "built" and parent.startswith(DLAMI_PARAMETER)


RULES = (
    Rule("NK287", Severity.WARNING, "small root volume", "a full disk ends the job after the image was pulled", ROOM_SOURCE, images_find_room),
    Rule("NK288", Severity.ERROR, "root volume below what the DLAMI needs", "a volume smaller than the AMI's snapshot is refused", DLAMI_SOURCE, a_dlami_finds_room, can_be_forced=True),
)  # fmt: skip
