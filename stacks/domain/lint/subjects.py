"""Checks of what every kind of file can hold: instance types, images, environment variables, commands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from stacks.domain.catalog import Catalog, InstanceType
from stacks.domain.findings import one_of
from stacks.domain.lint.report import Place, Report
from stacks.domain.lint.tree import Node
from stacks.domain.secret_words import looks_secret, names_secret
from stacks.domain.software import Image, find_image, images, runtime_variables, sdks

SAGEMAKER_PREFIX = "ml."
GPU_VARIABLES = re.compile(r"PYTORCH_CUDA_ALLOC_CONF|CUDA_\w+|NCCL_\w+|NVIDIA_\w+|TORCH_NCCL_\w+")
TYPE_LIKE = re.compile(r"[a-z]{1,4}\d[a-z0-9-]*\.(?:nano|micro|small|medium|large|\d*xlarge|metal)")
NEURON_REPOSITORY = re.compile(r"(?:^|/)(?:[\w-]+-)?(?:training|inference|vllm)-neuronx?(?::|@|$)")
TENSOR_PARALLEL = re.compile(
    r"--(?:tensor[-_]parallel[-_]size|tp[-_]degree|tensor_model_parallel_size)[= ]+(\d+)"
)
PROCESSES = re.compile(r"--nproc[-_]per[-_]node[= ]+(\d+)")
NODES_OPTION = re.compile(r"--nnodes[= ]+(\d+)(?![\d:])")
EFA_OFF = {"FI_PROVIDER": ("tcp", "sockets", "tcp;ofi_rxm", "shm")}


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    value: str
    """"" where it is not known."""
    place: Place


def find_type(catalog: Catalog, name: str) -> InstanceType | None:
    return catalog.get(name.removeprefix(SAGEMAKER_PREFIX))


def check_type_name(name: str, place: Place, catalog: Catalog, report: Report) -> InstanceType | None:
    """Only names of families that the catalog has are judged: it holds accelerators, not all of EC2."""
    found = find_type(catalog, name)
    bare = name.removeprefix(SAGEMAKER_PREFIX)
    families = {t.family for t in catalog.instance_types.values()} | {
        u.partition(".")[0] for u in catalog.unverified
    }
    if found is not None or not TYPE_LIKE.fullmatch(bare) or bare.partition(".")[0] not in families:
        return found
    if _is_gpu_family(bare, catalog) and bare not in catalog.unverified:
        return None  # the catalog holds a choice of the GPU sizes
    near = catalog.closest(bare)
    unverified = catalog.unverified.get(bare)
    report.add(
        "NK204", place, given=repr(name), allowed="a type that `neuronkit catalog` lists",
        message=f"no such EC2 instance type{f' ({unverified.why})' if unverified else ''}",
        fix=f"did you mean {near!r}?" if near else "remove it",
    )  # fmt: skip
    return None


def _is_gpu_family(name: str, catalog: Catalog) -> bool:
    family = name.partition(".")[0]
    return any(t.family == family and not t.is_neuron for t in catalog.instance_types.values())


def check_zone(
    zone: str, types: Iterable[InstanceType], place: Place, catalog: Catalog, report: Report
) -> None:
    """A zone's or a region's name; letters differ from account to account, the region in front does not."""
    region = re.sub(r"(?<=\d)[a-z]$", "", zone)
    for instance_type in types:
        if region in catalog.regions and region not in instance_type.regions:
            report.add(
                "NK206", place, given=repr(zone), allowed=one_of(instance_type.regions),
                message=f"{instance_type.name} is not offered in {region}", fix="change the zone, or the type",
            )  # fmt: skip


def check_image(node: Node, types: Iterable[InstanceType], report: Report) -> Image | None:
    """What is known of the image; None where it is not in the bundled data."""
    uri = node.text
    if not uri or "$" in uri or "{{" in uri:
        return None
    repository, tag = _split(uri)
    if tag == "latest" or (not tag and "@" not in uri):
        fix = "name the version's tag, or the digest"
        report.add(
            "NK244",
            node.place,
            given=repr(uri),
            allowed="a version's tag or a digest",
            message="`latest` changes under a job",
            fix=fix,
        )
        return None
    if not NEURON_REPOSITORY.search(repository):
        return None
    known = find_image(uri) or _same_tag(repository, tag)
    for family in {t.family for t in types} if known else ():
        assert known is not None
        if family not in known.families:
            report.add(
                "NK243", node.place, given=repr(uri), allowed=f"an image for {family}",
                message=f"made for {', '.join(sorted(known.families))}", fix=_image_for(family, repository),
            )  # fmt: skip
    if known is None:
        _check_published(node, repository, tag, report)
    return known


def _split(uri: str) -> tuple[str, str]:
    repository, _, tag = uri.partition("@")[0].rpartition(":")
    return (repository, tag) if repository and "/" not in tag else (uri.partition("@")[0], "")


def _same_tag(repository: str, tag: str) -> Image | None:
    """The same image from a registry of one's own, or AWS's by region."""
    name = repository.rpartition("/")[2]
    return next((i for i in images() if i.tag == tag and _split(i.uri)[0].rpartition("/")[2] == name), None)


def _image_for(family: str, repository: str) -> str:
    name = repository.rpartition("/")[2]
    fitting = [i for i in images() if family in i.families and _split(i.uri)[0].endswith(f"/{name}")]
    return f"for {family}: {fitting[0].tag}" if fitting else "see `neuronkit catalog --software`"


def _check_published(node: Node, repository: str, tag: str, report: Report) -> None:
    """A tag of an SDK after the last one which that repository was published for."""
    name, sdk = repository.rpartition("/")[2], re.search(r"sdk(\d+(?:\.\d+)+)", tag)
    published = [i for i in images() if _split(i.uri)[0].endswith(f"/{name}")]
    if not sdk or not published:
        return
    last = max(published, key=lambda image: numbers(image.sdk))
    if last.state != "current" and numbers(sdk[1]) > numbers(last.sdk):
        report.add(
            "NK243", node.place, given=repr(node.text), allowed=f"at most SDK {last.sdk}",
            message=f"{name} is no longer published: its last SDK is {last.sdk}", fix=f"write {last.tag}",
        )  # fmt: skip


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def check_variables(
    variables: Iterable[Variable], report: Report, *, image: Image | None = None, several_nodes: bool = False
) -> None:
    sdk = image.sdk if image else sdks()[0].version
    ended = {v.name: v for v in runtime_variables() if v.state in ("removed", "deprecated")}
    for variable in variables:
        name = variable.name
        if name in ended and numbers(sdk) >= numbers(ended[name].removed_in_sdk or "0"):
            since = ended[name].removed_in_sdk
            report.add(
                "NK247",
                variable.place,
                given=name,
                message=f"removed in SDK {since}" if since else "deprecated",
                fix="remove it",
            )
        elif GPU_VARIABLES.fullmatch(name):
            report.add("NK443", variable.place, given=name, fix="remove it")
        if several_nodes and variable.value in EFA_OFF.get(name, ()):
            report.add(
                "NK222",
                variable.place,
                given=f"{name}={variable.value}",
                allowed="efa",
                message="several nodes talk without EFA",
                fix="write efa",
            )


def check_plain_secrets(variables: Iterable[Variable], report: Report) -> None:
    for variable in variables:
        value = variable.value
        if value and (looks_secret(value) or (names_secret(variable.name) and value[0] not in "$<{")):
            report.add(
                "NK250", variable.place, given=f"a plain value for {variable.name}", allowed="a reference to a secret",
                message="looks like a secret in plain text", fix="store it in Secrets Manager, and renew it",
            )  # fmt: skip


def check_processes(
    text: str, place: Place, instance_type: InstanceType, devices: int | None, report: Report
) -> None:
    """Processes a node, and tensor parallelism, against the cores of the devices that are asked for."""
    chip = instance_type.chip
    chips = devices or instance_type.chips
    of_all_chips = instance_type.logical_cores()
    if chip is None or of_all_chips is None:
        return
    logical = chips * of_all_chips // instance_type.chips
    given = PROCESSES.search(text)
    if given and int(given[1]) not in possible_processes(instance_type, chips):
        report.add(
            "NK233",
            place,
            given=given[0],
            allowed=str(logical),
            message=units(int(given[1]), instance_type, chips),
            fix=f"write {logical}",
        )
    tensor = TENSOR_PARALLEL.search(text)
    physical = chips * (chip.physical_cores or 0)
    if tensor and physical % max(int(tensor[1]), 1):
        legal = [n for n in range(1, physical + 1) if physical % n == 0 and n <= logical]
        nearest = min(legal, key=lambda n: abs(n - int(tensor[1])))
        report.add(
            "NK232",
            place,
            given=tensor[0],
            allowed=one_of(str(n) for n in legal),
            message=units(int(tensor[1]), instance_type, chips),
            fix=f"nearest: {nearest}",
        )


def possible_processes(instance_type: InstanceType, chips: int) -> set[int]:
    """torch-neuronx runs one a logical core, at any LNC that the chip has; JAX runs one a node."""
    sizes = instance_type.chip.logical_core_sizes if instance_type.chip else ()
    return {1, *(chips * (instance_type.logical_cores(size) or 0) // instance_type.chips for size in sizes)}


def units(given: int, instance_type: InstanceType, chips: int) -> str:
    """Says which unit was probably meant."""
    physical = chips * instance_type.physical_cores // instance_type.chips
    logical = chips * (instance_type.logical_cores() or 0) // instance_type.chips
    have = f"{chips} chips, {physical} physical cores, {logical} logical cores"
    if given == chips != logical:
        return f"{given} is the number of chips ({instance_type.name}: {have})"
    return f"{instance_type.name}: {have}"
