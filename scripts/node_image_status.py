"""`neuronkit image status`: what there is of node images, and whether the lock and the recipe have moved apart."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from scripts.aws import cloudformation, imagebuilder
from scripts.aws.cloud import Cloud
from scripts.aws.ec2_images import OwnAmi
from scripts.aws.imagebuilder import Image
from scripts.node_image_search import BUILD_IT, all_amis
from stacks.domain.lock import Lock
from stacks.domain.names import NODE_IMAGE_TAG, OUTPUT_IMAGE_PIPELINE_ARN
from stacks.domain.node_image_plan import NodeImagePlan
from stacks.domain.plan import Plan
from stacks.domain.render.node_image import recipe_version


@dataclass(frozen=True, slots=True)
class Row:
    """A build, an AMI, or both: an AMI may outlive its build, and a failed build has none."""

    recipe_version: str
    state: str
    ami_id: str | None
    created: datetime | None
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {
            "recipe_version": self.recipe_version,
            "state": self.state,
            "ami": self.ami_id,
            "created": self.created.isoformat(timespec="seconds") if self.created else None,
            "reason": self.reason,
        }

    def text(self, as_of: datetime) -> str:
        age = f", {_age(as_of - self.created)} old" if self.created else ""
        reason = f": {self.reason}" if self.reason else ""
        return f"  {self.recipe_version}  {self.state}  {self.ami_id or 'no AMI'}{age}{reason}"


@dataclass(frozen=True, slots=True)
class Standing:
    """Of one Slurm version."""

    slurm_version: str
    recipe_version: str
    """As the file and the kit give it now."""
    rows: tuple[Row, ...]
    """Newest first."""
    locked_ami: str | None

    @property
    def newest_ami(self) -> str | None:
        return next((row.ami_id for row in self.rows if row.state == "AVAILABLE"), None)

    @property
    def lock_has_the_newest(self) -> bool:
        return self.locked_ami is not None and self.locked_ami == self.newest_ami

    @property
    def locked_is_gone(self) -> bool:
        """`destroy` deletes images, and leaves the lock."""
        return self.locked_ami is not None and self._locked_row is None

    @property
    def recipe_has_changed(self) -> bool:
        """Since the image in the lock was built; of one that is gone nobody can say it."""
        return self._locked_row is not None and self._locked_row.recipe_version != self.recipe_version

    @property
    def _locked_row(self) -> Row | None:
        return next((row for row in self.rows if row.ami_id and row.ami_id == self.locked_ami), None)

    def as_dict(self) -> dict[str, Any]:
        return {
            "slurm_version": self.slurm_version,
            "recipe_version": self.recipe_version,
            "locked_ami": self.locked_ami,
            "locked_is_gone": self.locked_is_gone,
            "lock_has_the_newest": self.lock_has_the_newest,
            "recipe_has_changed": self.recipe_has_changed,
            "images": [row.as_dict() for row in self.rows],
        }

    def text(self, as_of: datetime) -> str:
        lines = [f"Slurm {self.slurm_version}, recipe {self.recipe_version}:"]
        nothing = "no image is left" if self.locked_is_gone else "not built yet"
        lines += [row.text(as_of) for row in self.rows] or [f"  {nothing}: {BUILD_IT}"]
        return "\n".join((*lines, f"  lock: {self._lock_words()}"))

    def _lock_words(self) -> str:
        if self.locked_ami is None:
            return "no image"
        if self.locked_is_gone:
            return f"{self.locked_ami}, which is gone: {BUILD_IT}"
        if self.recipe_has_changed:
            return f"{self.locked_ami}; the recipe has changed since: {BUILD_IT}"
        if not self.lock_has_the_newest:
            return f"{self.locked_ami}, not the newest: run `neuronkit lock FILE --update`"
        return f"{self.locked_ami}, the newest"


def standings(cloud: Cloud, plan: Plan, lock: Lock | None) -> tuple[Standing, ...]:
    return tuple(_standing(cloud, plan, image, lock) for image in plan.built_images)


def _standing(cloud: Cloud, plan: Plan, image: NodeImagePlan, lock: Lock | None) -> Standing:
    amis = all_amis(cloud, plan.name, image.reference)
    known = {ami.id for ami in amis}
    builds = [build for build in _builds(cloud, plan, image) if build.ami_id not in known]
    rows = [*(_row_of_ami(ami) for ami in amis), *(_row_of_build(build) for build in builds)]
    oldest = datetime.min.replace(tzinfo=UTC)
    locked = lock.amis.get(image.reference) if lock else None
    return Standing(
        slurm_version=image.slurm_version,
        recipe_version=recipe_version(image, cloud.region),
        rows=tuple(sorted(rows, key=lambda row: row.created or oldest, reverse=True)),
        locked_ami=locked.id if locked else None,
    )


def _builds(cloud: Cloud, plan: Plan, image: NodeImagePlan) -> tuple[Image, ...]:
    stack = cloudformation.find_stack(cloud, plan.stacks.image or "")
    output = f"{OUTPUT_IMAGE_PIPELINE_ARN}{image.slurm_version.replace('.', '')}"
    pipeline = stack.outputs.get(output) if stack else None
    return imagebuilder.pipeline_images(cloud, pipeline) if pipeline else ()


def _row_of_ami(ami: OwnAmi) -> Row:
    return Row(ami.tags.get(NODE_IMAGE_TAG, ""), ami.state.upper(), ami.id, _moment(ami.created))


def _row_of_build(build: Image) -> Row:
    """Of an image that was made, and whose AMI is gone, the state is not what counts."""
    state = "AMI IS GONE" if build.state == "AVAILABLE" else build.state
    return Row(build.recipe_version, state, None, _moment(build.created), build.reason)


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _age(elapsed: timedelta) -> str:
    hours = elapsed.total_seconds() / 3600
    return f"{hours / 24:.0f} days" if hours >= 48 else f"{hours:.1f} hours"
