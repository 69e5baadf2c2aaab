"""`neuronkit lock`: AMI ids and image digests, asked for once and written down in FILE.lock.

What is written already stays as it is, unless --update asks again; so a second run gives the same bytes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scripts.aws import ec2, ecr, ecr_public, ssm
from scripts.aws.cloud import Cloud
from scripts.node_image_search import BUILD_IT, newest_ami
from stacks.domain.catalog import load_catalog
from stacks.domain.environment import Environment
from stacks.domain.errors import InputError
from stacks.domain.lock import Lock, LockedAmi, LockedImage, lock_path, read_lock
from stacks.domain.node_image_plan import NodeImagePlan, node_image_plans, parents
from stacks.domain.selection import SelectedAmi, SelectedImage, Selection, select

BY_AWS: Final = "aws"
BY_LOCAL_CLOUD: Final = "local cloud"


@dataclass(frozen=True, slots=True)
class Locked:
    path: Path
    lock: Lock
    changes: tuple[str, ...]
    """In words; empty when the file was right already and was not written."""
    notes: tuple[str, ...] = ()
    """What stays unresolved, and what to do about it."""


def lock_file(
    cloud: Cloud, environment: Environment, file: Path, *, update: bool, anew: Collection[str] = ()
) -> Locked:
    """`anew` are references of AMIs that are asked for again in any case."""
    path = lock_path(file, local=cloud.is_local)
    old = read_lock(path)
    new = resolve(cloud, environment, None if update else old, anew)
    if old is None or new != old:
        _write(path, new.text())
    return Locked(path, new, changes(old, new), _notes(environment, new))


def resolve(cloud: Cloud, environment: Environment, old: Lock | None, anew: Collection[str] = ()) -> Lock:
    """What `old` knows is not asked for again, if it is of the same region and the same world. A node image that is
    not built yet stays out.
    """
    selection = select(environment, load_catalog())
    resolved_by = BY_LOCAL_CLOUD if cloud.is_local else BY_AWS
    known = old if old and (old.region, old.resolved_by) == (cloud.region, resolved_by) else None
    amis = {ref: ami for ref, ami in known.amis.items() if ref not in anew} if known else {}
    images = known.images if known else {}
    lock = Lock(
        resolved_by=resolved_by,
        region=cloud.region,
        amis={ref: amis.get(ref) or _ami(cloud, ami) for ref, ami in _amis(selection, environment).items()},
        images={uri: images.get(uri) or _image(cloud, uri) for uri in _images_without_digest(selection)},
    )
    # Only with its parent locked a node image has the version under which it is looked for.
    built = {
        image.reference: amis.get(image.reference) or _node_image(cloud, environment.name, image)
        for image in node_image_plans(environment, lock)
    }
    found = {reference: ami for reference, ami in built.items() if ami is not None}
    return lock.model_copy(update={"amis": {**lock.amis, **found}})


def changes(old: Lock | None, new: Lock) -> tuple[str, ...]:
    """One line for each entry that is new, gone or different."""
    return (
        *_changes_of("AMI", _described_amis(old), _described_amis(new)),
        *_changes_of("image", _described_images(old), _described_images(new)),
    )


def _amis(selection: Selection, environment: Environment) -> dict[str, SelectedAmi]:
    """Without the node images, with what they start from."""
    built = {image.reference for image in node_image_plans(environment, None)}
    chosen = (
        *selection.amis.values(),
        *selection.fleet_amis.values(),
        *selection.fallback_amis.values(),
        *parents(environment).values(),
    )
    return {ami.reference: ami for ami in chosen if ami.reference not in built}


def _notes(environment: Environment, lock: Lock) -> tuple[str, ...]:
    return tuple(
        f"node image of Slurm {image.slurm_version}: not built yet: {BUILD_IT}"
        for image in node_image_plans(environment, lock)
        if image.reference not in lock.amis
    )


def _node_image(cloud: Cloud, environment: str, image: NodeImagePlan) -> LockedAmi | None:
    found = newest_ami(cloud, environment, image)
    if found is None:
        return None
    return LockedAmi(id=found.id, name=found.name or None, root_device_name=found.root_device_name)


def _images_without_digest(selection: Selection) -> list[str]:
    chosen: list[SelectedImage] = [
        *selection.images.values(),
        *selection.fleet_images.values(),
        *selection.fallback_images.values(),
    ]
    return sorted({image.uri for image in chosen if image.digest is None})


def _ami(cloud: Cloud, selected: SelectedAmi) -> LockedAmi:
    image_id = selected.reference if selected.is_id else ssm.find_parameter(cloud, selected.reference)
    if image_id is None:
        raise InputError(
            f"{cloud.name} has no parameter {selected.reference} in {cloud.region}",
            "name another AMI under software.ami (of a Slurm cluster: slurm.parent_ami): an id, or another parameter",
        )
    image = ec2.find_image(cloud, image_id)
    if image is None:
        raise InputError(
            f"AMI {image_id} is not in {cloud.region}, or not shared with this account",
            "AMI ids differ from region to region: correct software.ami (of a Slurm cluster: slurm.ami, slurm.parent_ami)",
        )
    known = selected.known
    return LockedAmi(
        id=image_id,
        name=image.name or None,
        root_device_name=image.root_device_name,
        driver=known.driver if known else None,
        driver_is_derived=known.driver_is_derived if known else True,
    )


def _image(cloud: Cloud, uri: str) -> LockedImage:
    if cloud.is_local:
        # The local cloud has no registry: a digest that is one of the name, not of any image.
        return LockedImage(digest=f"sha256:{hashlib.sha256(uri.encode()).hexdigest()}")
    if not ecr.is_private(uri):
        return LockedImage(digest=ecr_public.digest(uri))
    digest = ecr.find_digest(dataclasses.replace(cloud, region=ecr.region_of(uri)), uri)
    if digest is None:
        raise InputError(
            f"there is no image {uri}", "push it first, or correct its name under software.images"
        )
    return LockedImage(digest=digest)


def _described_amis(lock: Lock | None) -> dict[str, str]:
    amis: Mapping[str, LockedAmi] = lock.amis if lock else {}
    return {
        ref: f"{ami.id} ({ami.name or 'no name'}, driver {ami.driver or 'unknown'})"
        for ref, ami in amis.items()
    }


def _described_images(lock: Lock | None) -> dict[str, str]:
    return {uri: image.digest for uri, image in lock.images.items()} if lock else {}


def _changes_of(what: str, old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    return [
        f"{what} {key}: {old.get(key, 'not locked')} -> {new.get(key, 'no longer needed')}"
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key)
    ]


def _write(path: Path, text: str) -> None:
    """As a whole or not at all."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written: {error.strerror}", "make the directory writable"
        ) from error
