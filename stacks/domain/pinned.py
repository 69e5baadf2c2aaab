"""What the lock pins: AMIs and container images, with what is known of them."""

from __future__ import annotations

from dataclasses import dataclass

from stacks.domain.lock import Lock
from stacks.domain.names import is_node_image
from stacks.domain.selection import SelectedAmi, SelectedImage
from stacks.domain.slurm import parent_image

UNRESOLVED_AMI = "ami-UNRESOLVED-run-neuronkit-lock"
DEFAULT_ROOT_DEVICE_NAME = "/dev/xvda"


@dataclass(frozen=True, slots=True)
class AmiPlan:
    reference: str
    """What is asked for: an AMI id or an SSM parameter."""
    id: str
    """The AMI id, or UNRESOLVED_AMI."""
    root_device_name: str
    driver: str | None

    @property
    def is_resolved(self) -> bool:
        return self.id != UNRESOLVED_AMI

    @property
    def is_node_image(self) -> bool:
        """Of the kit's own making: no parameter of AWS names it."""
        return is_node_image(self.reference)


@dataclass(frozen=True, slots=True)
class ImagePlan:
    uri: str
    """With the tag (or digest) that the file or the bundled data names."""
    digest: str | None
    sdk: str | None
    runtime: str | None

    @property
    def is_resolved(self) -> bool:
        return self.digest is not None

    @property
    def pinned_uri(self) -> str:
        """The uri by digest where it is known; else by tag, which a deploy refuses."""
        if self.digest is None or "@" in self.uri:
            return self.uri
        name, _, tag = self.uri.rpartition(":")
        repository = name if "/" not in tag else self.uri
        return f"{repository}@{self.digest}"


def ami_plan(selected: SelectedAmi | None, lock: Lock | None) -> AmiPlan | None:
    if selected is None:
        return None
    locked = lock.amis.get(selected.reference) if lock else None
    if locked is not None:
        return AmiPlan(selected.reference, locked.id, locked.root_device_name, locked.driver)
    known = selected.known
    return AmiPlan(
        reference=selected.reference,
        id=selected.reference if selected.is_id else UNRESOLVED_AMI,
        root_device_name=known.root_device_name if known else _usual_root_device_name(selected),
        driver=known.driver if known else None,
    )


def _usual_root_device_name(selected: SelectedAmi) -> str:
    if is_node_image(selected.reference):
        return parent_image().root_device_name
    return DEFAULT_ROOT_DEVICE_NAME


def image_plan(selected: SelectedImage | None, lock: Lock | None) -> ImagePlan | None:
    if selected is None:
        return None
    locked = lock.images.get(selected.uri) if lock else None
    return ImagePlan(
        uri=selected.uri,
        digest=selected.digest or (locked.digest if locked else None),
        sdk=selected.known.sdk if selected.known else None,
        runtime=selected.known.runtime if selected.known else None,
    )
