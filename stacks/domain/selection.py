"""Which image each job and which AMI each cluster takes: the file's word, or the newest pair that fits."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from stacks.domain.catalog import Catalog
from stacks.domain.environment import Cluster, Environment, Fleet, SlurmSettings
from stacks.domain.names import node_image_reference
from stacks.domain.serving import boot_driver, gpu_image, serving_image
from stacks.domain.software import EcsNeuronAmi, Image, choose_ami, choose_image, find_ami, find_image
from stacks.domain.unlisted_types import with_named_types


@dataclass(frozen=True, slots=True)
class SelectedImage:
    """`known` is None for an image of the user's own, about which the bundled data says nothing."""

    uri: str
    known: Image | None

    @property
    def digest(self) -> str | None:
        """The digest, if the file itself names one."""
        match = re.search(r"@(sha256:[0-9a-f]{64})$", self.uri)
        return match.group(1) if match else None


@dataclass(frozen=True, slots=True)
class SelectedAmi:
    """`reference` is an AMI id or an SSM parameter; `known` is None where the bundled data has no row for it."""

    reference: str
    known: EcsNeuronAmi | None

    @property
    def is_id(self) -> bool:
        return self.reference.startswith("ami-")


@dataclass(frozen=True, slots=True)
class Selection:
    """Absent keys mean that nothing in the bundled data fits; a rule says so."""

    images: dict[str, SelectedImage]
    """by job"""
    amis: dict[str, SelectedAmi]
    """by cluster"""
    fleet_images: dict[str, SelectedImage]
    """by fleet"""
    fleet_amis: dict[str, SelectedAmi]
    """by fleet; managed instances bring their own"""
    fallback_images: dict[str, SelectedImage]
    """by fleet that has a fallback"""
    fallback_amis: dict[str, SelectedAmi]
    """by fleet that has a fallback"""


def select(environment: Environment, catalog: Catalog) -> Selection:
    catalog = with_named_types(environment, catalog)
    images = {job: image for job in environment.jobs if (image := _image(environment, catalog, job))}
    amis = {cluster: ami for cluster in environment.clusters if (ami := _ami(environment, cluster, images))}
    fleet_images = {n: image for n, f in environment.fleets.items() if (image := _fleet_image(f, catalog))}
    with_fallback = {n: f.fallback for n, f in environment.fleets.items() if f.fallback}
    return Selection(
        images,
        amis,
        fleet_images=fleet_images,
        fleet_amis={
            name: ami
            for name, fleet in environment.fleets.items()
            if (ami := _fleet_ami(environment, fleet, fleet_images.get(name)))
        },
        fallback_images={
            n: SelectedImage(f.image or gpu_image().uri, None) for n, f in with_fallback.items()
        },
        fallback_amis={name: SelectedAmi(gpu_image().ami_reference, None) for name in with_fallback},
    )


def _image(environment: Environment, catalog: Catalog, job_name: str) -> SelectedImage | None:
    job = environment.jobs[job_name]
    given = environment.software.images.get(job.framework)
    if given is not None:
        return SelectedImage(given, find_image(given))
    cluster = environment.clusters.get(job.cluster)
    instance_type = catalog.get(cluster.instance_type) if cluster else None
    if instance_type is None:
        return None
    image = choose_image(job.framework, instance_type.family, environment.software.sdk)
    return SelectedImage(image.uri, image) if image else None


def _ami(environment: Environment, cluster: str, images: dict[str, SelectedImage]) -> SelectedAmi | None:
    if environment.clusters[cluster].scheduler == "slurm":
        return _node_image(environment.clusters[cluster])
    given = environment.software.ami
    if given != "auto":
        return SelectedAmi(given, find_ami(given))
    wanted = [
        image.known
        for job, image in images.items()
        if environment.jobs[job].cluster == cluster and image.known is not None
    ]
    ami = choose_ami(wanted)
    return SelectedAmi(ami.ssm_parameter, ami) if ami else None


def _node_image(cluster: Cluster) -> SelectedAmi:
    """Of a Slurm cluster: what `neuronkit image build` makes, or the user's own."""
    settings = cluster.slurm or SlurmSettings()
    given = settings.ami
    return SelectedAmi(node_image_reference(settings.version) if given == "built" else given, None)


def _fleet_image(fleet: Fleet, catalog: Catalog) -> SelectedImage | None:
    if fleet.image is not None:
        return SelectedImage(fleet.image, find_image(fleet.image))
    instance_type = catalog.get(fleet.instance_type)
    image = serving_image(fleet.engine, instance_type.family) if instance_type else None
    return SelectedImage(image.uri, image) if image else None


def _fleet_ami(environment: Environment, fleet: Fleet, image: SelectedImage | None) -> SelectedAmi | None:
    """Of each fleet its own: an LLM and an encoder on Inf2 may need different drivers."""
    if fleet.runs_on == "managed-instances":
        return None
    given = environment.software.ami
    if given != "auto":
        return SelectedAmi(given, _with_boot_driver(find_ami(given), fleet.instance_type))
    ami = _with_boot_driver(choose_ami(_with_runtime(image)), fleet.instance_type)
    return SelectedAmi(ami.ssm_parameter, ami) if ami else None


def _with_runtime(image: SelectedImage | None) -> list[Image]:
    """Of an image whose runtime nobody states, nothing can be said: then the newest AMI, and a rule says so."""
    return [image.known] if image and image.known and image.known.runtime else []


def _with_boot_driver(ami: EcsNeuronAmi | None, type_name: str) -> EcsNeuronAmi | None:
    """On Inf1 a service of the AMI installs another driver when the node boots."""
    found = boot_driver(type_name.partition(".")[0])
    if ami is None or found is None:
        return ami
    return replace(ami, driver=found.driver, source=found.source, as_of=found.as_of)
