"""`neuronkit image build`: stacks, start or join, follow, lock.

Nothing is remembered here between runs: the pipeline knows its builds, and an AMI's tags say which recipe it is of. A
build that runs is joined; of a recipe that has an AMI nothing is built again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scripts.aws import cloudformation, ec2_offerings, imagebuilder
from scripts.aws.cloud import Cloud
from scripts.aws.imagebuilder import Image
from scripts.aws.session import open_cloud
from scripts.confirmation import confirm
from scripts.console import Console
from scripts.deployment import make_stacks
from scripts.loading import LoadedPlan, load_plan
from scripts.locking import lock_file
from scripts.node_image_search import BUILD_IT, newest_ami
from stacks.domain.buildable import refuse_unbuildable
from stacks.domain.errors import InputError, WorldError
from stacks.domain.names import ENVIRONMENT_TAG, NODE_IMAGE_TAG, OUTPUT_IMAGE_PIPELINE_ARN
from stacks.domain.node_image_plan import NodeImagePlan
from stacks.domain.plan import Plan
from stacks.domain.render.node_image import recipe_version

WAIT_MINUTES_MAX = 240
_SAY_AGAIN_SECONDS = 300.0
EMULATED = "local cloud: the AMI is emulated; nothing was installed or tested in it"


@dataclass(frozen=True, slots=True)
class Built:
    """What became of one version's image; `image` is None where its AMI was there already."""

    plan: NodeImagePlan
    recipe_version: str
    image: Image | None
    ami_id: str | None
    was_joined: bool = False

    @property
    def state(self) -> str:
        return self.image.state if self.image else "AVAILABLE"

    @property
    def has_failed(self) -> bool:
        return self.image is not None and not self.image.is_active and self.ami_id is None

    def as_dict(self) -> dict[str, Any]:
        return {
            "slurm_version": self.plan.slurm_version,
            "recipe_version": self.recipe_version,
            "state": self.state,
            "image": self.image.arn if self.image else None,
            "ami": self.ami_id,
            "joined": self.was_joined,
            "reason": self.image.reason if self.image else "",
        }

    def text(self) -> str:
        words = f"node image of Slurm {self.plan.slurm_version}, recipe {self.recipe_version}: {self.state}"
        return f"{words}, {self.ami_id}" if self.ami_id else words


def build(console: Console, file: Path, *, yes: bool, follow: bool) -> tuple[Built, ...]:
    loaded = load_plan(file, local=console.local)
    refuse_unbuildable(loaded.plan)
    _refuse_without_images(loaded.plan, file)
    cloud = open_cloud(console, loaded.plan.region, loaded.plan.account)
    console.findings(loaded.findings)
    loaded = _with_parents(console, cloud, loaded)
    plan = replace(loaded.plan, account=cloud.account)
    _refuse_small_roots(cloud, plan)
    _make_stacks(console, cloud, plan, yes=yes)
    started = tuple(_start_or_join(console, cloud, plan, image) for image in plan.built_images)
    built = _followed(console, cloud, started) if follow else started
    done = {one.plan.reference for one in built if one.ami_id}
    if done:
        _lock(console, cloud, loaded, done)
    return built


def failure(built: tuple[Built, ...]) -> WorldError | None:
    failed = [one for one in built if one.has_failed and one.image is not None]
    if not failed:
        return None
    reasons = [
        f"the node image of Slurm {one.plan.slurm_version} was not built ({one.state}): "
        f"{one.image.reason if one.image else ''}"
        for one in failed
    ]
    return WorldError("\n".join(reasons), f"when the cause is gone, {BUILD_IT} again")


def _refuse_without_images(plan: Plan, file: Path) -> None:
    if not plan.built_images:
        raise InputError(
            f"{file} needs no node image",
            "only clusters with `scheduler: slurm` and `slurm.ami: built` have one that the kit builds",
        )


def _with_parents(console: Console, cloud: Cloud, loaded: LoadedPlan) -> LoadedPlan:
    """What images start from is pinned before they are built."""
    locked = lock_file(cloud, loaded.loaded.environment, loaded.path, update=False)
    for line in locked.changes:
        console.progress(f"lock: {line}")
    return load_plan(loaded.path, local=console.local)


def _refuse_small_roots(cloud: Cloud, plan: Plan) -> None:
    for image in plan.built_images:
        parent = ec2_offerings.find_ami(cloud, image.parent.id)
        if parent is None:
            raise InputError(
                f"AMI {image.parent.id}, from which the node image of Slurm {image.slurm_version} starts, is gone",
                "run `neuronkit lock --update`, or name another under slurm.parent_ami",
            )
        least = parent.root_snapshot_gib
        if least is not None and least > image.root_volume_gib:
            raise InputError(
                f"the root volume of {image.parent.id} has {least} GiB, a cluster of Slurm {image.slurm_version} has "
                f"root_volume_gib {image.root_volume_gib}",
                f"write {least} or more, or leave the key out",
            )


def _make_stacks(console: Console, cloud: Cloud, plan: Plan, *, yes: bool) -> None:
    names = [name for name in (plan.stacks.network, plan.stacks.image) if name is not None]
    for name in names:
        stack = cloudformation.find_stack(cloud, name)
        if stack is not None and stack.tags.get(ENVIRONMENT_TAG) != plan.name:
            raise WorldError(
                f"there is a stack {name} that is not of environment {plan.name}",
                "give the file another `name`",
            )
    machine = plan.built_images[0].builder_instance_type
    versions = ", ".join(image.slurm_version for image in plan.built_images)
    console.progress(
        f"{plan.name} in {cloud.name}, account {cloud.account}, {cloud.region}: stacks {', '.join(names)}; node "
        f"images for Slurm {versions}, built on {machine} in about an hour, and kept as AMIs with snapshots"
        + (
            f"; the NAT gateway of {plan.stacks.network} costs money by the hour until `neuronkit destroy`"
            if plan.stacks.network
            else ""
        )
    )
    confirm(console, f"Make this in account {cloud.account}, {cloud.region}?", yes=yes)
    again = f"when the cause is gone, {BUILD_IT} again"
    make_stacks(console, cloud, plan, again, names)


def _start_or_join(console: Console, cloud: Cloud, plan: Plan, image: NodeImagePlan) -> Built:
    version = recipe_version(image, cloud.region)
    there = newest_ami(cloud, plan.name, image)
    if there is not None:
        console.progress(f"Slurm {image.slurm_version}: recipe {version} is built already: {there.id}")
        return Built(image, version, None, there.id)
    stack_id, pipeline = _pipeline(cloud, plan, image)
    earlier = [i for i in imagebuilder.pipeline_images(cloud, pipeline) if i.recipe_version == version]
    running = next((found for found in earlier if found.is_active), None)
    if running is not None:
        console.progress(f"Slurm {image.slurm_version}: joining the build that runs: {running.state}")
        return Built(image, version, running, None, was_joined=True)
    # The same for two commands at once, and for a command whose answer was lost; another after a build that failed.
    token = f"{stack_id} {pipeline} {version} {earlier[0].arn if earlier else ''}"
    tags = {**plan.lasting_tags, NODE_IMAGE_TAG: version}
    started = imagebuilder.find_image(cloud, imagebuilder.start(cloud, pipeline, token, tags))
    if started is None:
        raise WorldError(f"the build of Slurm {image.slurm_version} is gone", "give the same command again")
    console.progress(f"Slurm {image.slurm_version}: build of recipe {version} started")
    return Built(image, version, started, None)


def _pipeline(cloud: Cloud, plan: Plan, image: NodeImagePlan) -> tuple[str, str]:
    """The stack's id and the pipeline's ARN."""
    assert plan.stacks.image is not None, "there are images to build"
    stack = cloudformation.find_stack(cloud, plan.stacks.image)
    output = f"{OUTPUT_IMAGE_PIPELINE_ARN}{image.slurm_version.replace('.', '')}"
    if stack is None or output not in stack.outputs:
        raise WorldError(f"stack {plan.stacks.image} has no output {output}", "give the same command again")
    return stack.id, stack.outputs[output]


def _followed(
    console: Console, cloud: Cloud, started: tuple[Built, ...], pause: Callable[[float], None] = time.sleep
) -> tuple[Built, ...]:
    """Until nothing builds any more."""
    waited, said = 0.0, -_SAY_AGAIN_SECONDS
    current = started
    while any(one.image is not None and one.image.is_active for one in current):
        if waited > WAIT_MINUTES_MAX * 60:
            raise WorldError(
                f"still building after {WAIT_MINUTES_MAX} minutes",
                "give the same command again: it joins the build",
            )
        pause(cloud.poll_seconds)
        waited += cloud.poll_seconds
        new = tuple(_looked_at_again(cloud, one) for one in current)
        if new != current or waited - said >= _SAY_AGAIN_SECONDS:
            said = waited
            for one in new:
                console.progress(f"Slurm {one.plan.slurm_version}: {one.state} ({waited / 60:.0f} min)")
        current = new
    return current


def _looked_at_again(cloud: Cloud, one: Built) -> Built:
    if one.image is None or not one.image.is_active:
        return one
    image = imagebuilder.find_image(cloud, one.image.arn)
    if image is None:
        return replace(one, image=replace(one.image, state="DELETED", reason="somebody deleted the image"))
    if image.state == "FAILED":
        steps = imagebuilder.failed_steps(cloud, image.arn)
        image = replace(image, reason="; ".join((image.reason, *steps)))
    return replace(one, image=image, ami_id=image.ami_id if image.state == "AVAILABLE" else None)


def _lock(console: Console, cloud: Cloud, loaded: LoadedPlan, references: set[str]) -> None:
    locked = lock_file(cloud, loaded.loaded.environment, loaded.path, update=False, anew=references)
    for line in (*locked.changes, *locked.notes):
        console.progress(f"lock: {line}")
    if locked.changes:
        console.progress(f"lock: {locked.path} written" + ("" if cloud.is_local else "; commit it"))
