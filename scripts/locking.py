"""`neuronkit lock`: AMI ids and image digests, asked for once and written down in FILE.lock.

What is written already stays as it is, unless --update asks again; so a second run gives the same bytes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scripts.aws import ec2, ecr, ecr_public, ssm
from scripts.aws.cloud import Cloud
from stacks.domain.catalog import load_catalog
from stacks.domain.environment import Environment
from stacks.domain.errors import InputError
from stacks.domain.lock import Lock, LockedAmi, LockedImage, lock_path, read_lock
from stacks.domain.selection import SelectedAmi, SelectedImage, Selection, select

BY_AWS: Final = "aws"
BY_LOCAL_CLOUD: Final = "local cloud"


@dataclass(frozen=True, slots=True)
class Locked:
    path: Path
    lock: Lock
    changes: tuple[str, ...]
    """In words; empty when the file was right already and was not written."""


def lock_file(cloud: Cloud, environment: Environment, file: Path, *, update: bool) -> Locked:
    path = lock_path(file, local=cloud.is_local)
    old = read_lock(path)
    new = resolve(cloud, environment, None if update else old)
    if old is None or new != old:
        _write(path, new.text())
    return Locked(path, new, changes(old, new))


def resolve(cloud: Cloud, environment: Environment, old: Lock | None) -> Lock:
    """What `old` knows is not asked for again, if it is of the same region and the same world."""
    selection = select(environment, load_catalog())
    resolved_by = BY_LOCAL_CLOUD if cloud.is_local else BY_AWS
    known = old if old and (old.region, old.resolved_by) == (cloud.region, resolved_by) else None
    amis = known.amis if known else {}
    images = known.images if known else {}
    return Lock(
        resolved_by=resolved_by,
        region=cloud.region,
        amis={ref: amis.get(ref) or _ami(cloud, ami) for ref, ami in _amis(selection).items()},
        images={uri: images.get(uri) or _image(cloud, uri) for uri in _images_without_digest(selection)},
    )


def changes(old: Lock | None, new: Lock) -> tuple[str, ...]:
    """One line for each entry that is new, gone or different."""
    return (
        *_changes_of("AMI", _described_amis(old), _described_amis(new)),
        *_changes_of("image", _described_images(old), _described_images(new)),
    )


def _amis(selection: Selection) -> dict[str, SelectedAmi]:
    return {ami.reference: ami for ami in selection.amis.values()}


def _images_without_digest(selection: Selection) -> list[str]:
    images: list[SelectedImage] = [image for image in selection.images.values() if image.digest is None]
    return sorted({image.uri for image in images})


def _ami(cloud: Cloud, selected: SelectedAmi) -> LockedAmi:
    image_id = selected.reference if selected.is_id else ssm.find_parameter(cloud, selected.reference)
    if image_id is None:
        raise InputError(
            f"{cloud.name} has no parameter {selected.reference} in {cloud.region}",
            "name another AMI under software.ami: an id, or a dated parameter of the ECS Neuron AMI",
        )
    image = ec2.find_image(cloud, image_id)
    if image is None:
        raise InputError(
            f"AMI {image_id} is not in {cloud.region}, or not shared with this account",
            "AMI ids differ from region to region: correct software.ami",
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
