"""What a fleet's replicas run in and what their nodes start from: each fleet has an AMI of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stacks.domain.compatibility import nearest_amis
from stacks.domain.environment import Path
from stacks.domain.findings import Severity
from stacks.domain.rules.node_blocks import fleet_type
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.serving import engine_on
from stacks.domain.software import EcsNeuronAmi, Image, driver_verdict, ecs_neuron_amis

AMI_PARAMETERS = "/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron/"
DATED_AMI = re.compile(
    re.escape(AMI_PARAMETERS) + r"al2023-ami-ecs-neuron-hvm-2023\.0\.([0-9]{8})-kernel-6\.1-x86_64/image_id"
)
RECOMMENDED_AMI = f"{AMI_PARAMETERS}recommended/image_id"
IMAGES_SOURCE = "aws-neuron/deep-learning-containers@2be9ed1 README.md"
DRIVER_SOURCE = "aws-neuron-sdk@81ce03ae release-notes/components/runtime.rst; amazon-ecs-ami@a2532d3 (a date is a driver: derived)"
PARAMETERS_SOURCE = "SSM parameters /aws/service/ecs/optimized-ami, captured about 2026-09-24 (moto 5.2.5)"


def an_image_is_known(facts: Facts) -> Iterator[Problem]:
    """An engine that does not run on the type at all is another rule's."""
    for name, fleet in facts.environment.fleets.items():
        instance_type = fleet_type(facts, name)
        if instance_type is None or name in facts.selection.fleet_images:
            continue
        if fleet.engine == "custom":
            message, fix = "engine custom is an image of yours", "add image: registry/repository:tag"
        elif engine_on(fleet.engine, instance_type.family) is not None:
            message, fix = f"the kit has no image of it for {instance_type.family}", "name an image of yours"
        else:
            continue
        yield Problem(
            ("fleets", name, "engine"), fleet.engine, "an engine with an image for the type", message, fix
        )


def image_is_made_for_the_type(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        image, instance_type = facts.selection.fleet_images.get(name), fleet_type(facts, name)
        if image is None or image.known is None or instance_type is None or fleet.image is None:
            continue
        if instance_type.family not in image.known.families:
            yield Problem(
                ("fleets", name, "image"),
                repr(fleet.image),
                f"an image for {instance_type.family}",
                f"made for {', '.join(sorted(image.known.families))}",
                "leave the key out, or name an image for the type",
            )


def images_are_pinned(facts: Facts) -> Iterator[Problem]:
    for path, uri in _named_images(facts):
        last = uri.rpartition("/")[2]
        if "@" in last or (":" in last and not last.endswith(":latest")):
            continue
        given = "the tag latest" if ":" in last else "no tag, which means latest"
        yield Problem(
            path,
            repr(uri),
            "a version's tag or a digest",
            f"{given}: it changes under a plan, and each new node may pull another one",
            "name the version",
        )


def unknown_images_are_said(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        image = facts.selection.fleet_images.get(name)
        if fleet.image is not None and image is not None and image.known is None:
            yield Problem(
                ("fleets", name, "image"),
                repr(fleet.image),
                message="not in the bundled data: whether the AMI's driver starts it was not checked",
                fix="start one replica before you rely on it",
            )


def driver_starts_the_image(facts: Facts) -> Iterator[Problem]:
    """A moving parameter has the driver of its day: not older than that of the newest AMI in the data."""
    given = facts.environment.software.ami
    for name in facts.environment.fleets:
        image, ami = facts.selection.fleet_images.get(name), facts.selection.fleet_amis.get(name)
        if given == "auto" or image is None or image.known is None or ami is None:
            continue
        driver, date = _driver_of(given, ami.known)
        verdict = driver_verdict(driver, image.known.runtime)
        if verdict.accepted is not False:
            continue
        yield Problem(
            ("software", "ami"),
            repr(given),
            message=f"driver {driver} does not start the runtime {image.known.runtime} of fleet {name}'s image: {verdict.why}",
            fix=_nearest_ami_words(image.known, date),
        )


def pairs_no_source_judges(facts: Facts) -> Iterator[str]:
    for name, image in facts.selection.fleet_images.items():
        ami = facts.selection.fleet_amis.get(name)
        driver, _ = _driver_of(ami.reference, ami.known) if ami else (None, None)
        verdict = driver_verdict(driver, image.known.runtime if image.known else None)
        if verdict.accepted is None:
            yield f"whether the driver starts the image of fleet {name}: {verdict.why}"


def ami_parameter_has_its_form(facts: Facts) -> Iterator[Problem]:
    given = facts.environment.software.ami
    reads = any(fleet.runs_on == "ec2" for fleet in facts.environment.fleets.values())
    is_parameter = given.startswith("/aws/service/")
    if reads and is_parameter and not DATED_AMI.fullmatch(given) and given != RECOMMENDED_AMI:
        yield Problem(
            ("software", "ami"),
            repr(given),
            f"{AMI_PARAMETERS}al2023-ami-ecs-neuron-hvm-2023.0.YYYYMMDD-kernel-6.1-x86_64/image_id",
            "no parameter of the ECS Neuron AMI has this form: a fleet's nodes need the ECS agent and the Neuron driver",
            "write auto, or a parameter that `neuronkit catalog --software` lists",
        )


def ami_stays_the_same(facts: Facts) -> Iterator[Problem]:
    reads = any(fleet.runs_on == "ec2" for fleet in facts.environment.fleets.values())
    if reads and facts.environment.software.ami == RECOMMENDED_AMI:
        yield Problem(
            ("software", "ami"),
            "recommended",
            "a dated parameter",
            "it differs from region to region and from day to day, and with it the driver",
            "write auto; `neuronkit lock` pins what it is today",
        )


def images_live(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        image = facts.selection.fleet_images.get(name)
        if image is not None and image.known is not None and image.known.state == "ended":
            yield Problem(
                ("fleets", name, "instance_type"),
                fleet.instance_type,
                message=f"its newest image (SDK {image.known.sdk}) is no longer supported: {'; '.join(image.known.notes)}",
                fix="plan for Inf2, whose images are still mended",
            )


def _driver_of(reference: str, known: EcsNeuronAmi | None) -> tuple[str | None, str | None]:
    """The driver, and the date of its AMI; None where nothing says."""
    if known is not None:
        return known.driver, known.date
    newest = next((ami for ami in reversed(ecs_neuron_amis()) if ami.driver), None)
    if reference == RECOMMENDED_AMI and newest is not None:
        return newest.driver, newest.date
    dated = DATED_AMI.fullmatch(reference)
    if dated is None:
        return None, None
    before = [ami for ami in ecs_neuron_amis() if ami.driver and ami.date <= dated[1]]
    return (before[-1].driver, dated[1]) if before else (None, dated[1])


def _nearest_ami_words(image: Image, date: str | None) -> str:
    fitting = nearest_amis(image, date)
    if not fitting:
        return "write auto; no AMI of the bundled data is known to start it: take another image"
    dates = [ami.date for ami in fitting]
    return (
        f"write auto, or an AMI dated {min(dates)} to {max(dates)}; the nearest, with driver {fitting[0].driver}: "
        f"{fitting[0].ssm_parameter}"
    )


def _named_images(facts: Facts) -> Iterator[tuple[Path, str]]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.image is not None:
            yield ("fleets", name, "image"), fleet.image
        if fleet.fallback is not None and fleet.fallback.image is not None:
            yield ("fleets", name, "fallback", "image"), fleet.fallback.image


RULES = (
    Rule("NK717", Severity.ERROR, "no image for a fleet", "the service could not start a task", IMAGES_SOURCE, an_image_is_known),
    Rule("NK718", Severity.ERROR, "image not made for the fleet's type", "it crashes at start, or finds no chips", "vllm-project/vllm#6640, #11189; " + IMAGES_SOURCE, image_is_made_for_the_type),
    Rule("NK719", Severity.ERROR, "fleet image without a version", "what was tested is not what runs", "field lesson: unpinned images broke Inf2 fleets (deep-learning-containers README)", images_are_pinned, can_be_forced=True),
    Rule("NK720", Severity.WARNING, "unknown image of a fleet", "not checked is not fine", DRIVER_SOURCE, unknown_images_are_said),
    Rule("NK721", Severity.ERROR, "driver refuses the runtime of a fleet's image", "nrt_init fails in every replica, on paid time", DRIVER_SOURCE, driver_starts_the_image, unknown=pairs_no_source_judges),
    Rule("NK722", Severity.ERROR, "not an AMI for fleets", "the node never joins the ECS cluster, or has no Neuron devices", PARAMETERS_SOURCE, ami_parameter_has_its_form),
    Rule("NK723", Severity.WARNING, "AMI that moves", "a plan must give the same nodes tomorrow", PARAMETERS_SOURCE, ami_stays_the_same),
    Rule("NK724", Severity.WARNING, "software of a fleet at its end", "nobody mends what breaks in it", "aws-neuron-sdk@81ce03ae about-neuron/announcements/neuron2.x; aws-neuron-sdk#1071", images_live),
)  # fmt: skip
