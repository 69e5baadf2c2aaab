"""Image, AMI and chip: do they fit each other?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stacks.domain.compatibility import nearest_amis, nearest_images, nearest_shared_images
from stacks.domain.environment import Job
from stacks.domain.findings import Severity, one_of
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.slurm_plan import slurm_settings_of
from stacks.domain.software import Image, driver_verdict, removed_variables

IMAGES_SOURCE = "aws-neuron/deep-learning-containers@2be9ed1 README.md"
DRIVER_SOURCE = "aws-neuron-sdk@81ce03ae release-notes/components/runtime.rst"
AMI_KIND_SOURCE = (
    "AWS Batch user guide, batch-ami-spec (ECS agent; multi-node jobs on Amazon Linux with ecs-init only); botocore 1.44.8 "
    "batch Ec2Configuration; terraform-aws-eks issue 2060"
)
WRONG_AMIS = (
    (r"^/aws/service/eks/", "made for Kubernetes nodes, not for AWS Batch and ECS: it has no ECS agent"),
    (r"/ubuntu", "has no ECS agent; AWS Batch runs multi-node jobs on Amazon Linux with ecs-init only"),
    (
        r"/amazon-linux-2/",
        "AWS Batch makes no environments of Amazon Linux 2 since 2026-06-30; its Neuron drivers stay old",
    ),
    (
        r"^/aws/service/ecs/optimized-ami/(?!.*/neuron/)",
        "has no Neuron driver: a node would have no /dev/neuron0",
    ),
)
LIFECYCLE_SOURCE = "aws-neuron-sdk@81ce03ae about-neuron/announcements/neuron2.x"


def an_image_exists(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        instance_type = facts.instance_type(job.cluster)
        if instance_type is None or not instance_type.is_neuron or name in facts.selection.images:
            continue
        if not runs_in_image(facts, job):
            continue
        sdk = facts.environment.software.sdk
        which = "" if sdk == "auto" else f" with SDK {sdk}"
        yield Problem(
            ("jobs", name, "framework"),
            repr(job.framework),
            message=f"no {job.framework} training image{which} for {instance_type.family} is known",
            fix=f"{_nearest_image_words(job.framework, instance_type.family)}; or name an image of your own under "
            "software.images",
        )


def an_ami_fits_all_images(facts: Facts) -> Iterator[Problem]:
    for name in facts.environment.clusters:
        if name in facts.selection.amis:
            continue
        jobs = [job for job, found in facts.environment.jobs.items() if found.cluster == name]
        shared = _shared_pair_words(facts, name)
        yield Problem(
            ("clusters", name),
            message=f"no known AMI's driver fits the images of all its jobs ({', '.join(jobs)})",
            fix=f"{shared}give jobs of different frameworks clusters of their own",
            at_key=True,
        )


def driver_accepts_image(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        image, ami = facts.selection.images.get(name), facts.selection.amis.get(job.cluster)
        if image is None or ami is None or image.known is None or ami.known is None:
            continue
        verdict = driver_verdict(ami.known.driver, image.known.runtime)
        if verdict.accepted is False:
            yield Problem(
                ("software", "ami"),
                repr(ami.reference),
                message=f"its driver {ami.known.driver} does not start the runtime {image.known.runtime} "
                f"of job {name}'s image: {verdict.why}",
                fix=f"write auto, or {_nearest_ami_words(image.known, ami.known.date)}",
            )


def pairs_no_source_judges(facts: Facts) -> Iterator[str]:
    for name, job in facts.environment.jobs.items():
        image, ami = facts.selection.images.get(name), facts.selection.amis.get(job.cluster)
        if image is None or ami is None or not runs_in_image(facts, job):
            continue
        driver = ami.known.driver if ami.known else None
        verdict = driver_verdict(driver, image.known.runtime if image.known else None)
        if verdict.accepted is None:
            yield f"whether the AMI's driver starts the image of job {name}: {verdict.why}"


def image_fits_family(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        image, instance_type = facts.selection.images.get(name), facts.instance_type(job.cluster)
        if image is None or image.known is None or instance_type is None:
            continue
        if instance_type.family not in image.known.families:
            yield Problem(
                ("software", "images", job.framework),
                repr(image.uri),
                f"an image for {instance_type.family}",
                f"made for {', '.join(sorted(image.known.families))}",
                f"leave the key out; {_nearest_image_words(job.framework, instance_type.family)}",
            )


def image_is_pinned(facts: Facts) -> Iterator[Problem]:
    for framework, uri in facts.environment.software.images.items():
        if uri.rpartition(":")[2] == "latest":
            yield Problem(
                ("software", "images", framework),
                repr(uri),
                "a version's tag or a digest",
                "`latest` changes under a plan",
                "name the version",
            )


def unknown_pair_is_said(facts: Facts) -> Iterator[Problem]:
    for framework, uri in facts.environment.software.images.items():
        known = any(i.uri == uri and i.known for i in facts.selection.images.values())
        used = any(i.uri == uri for i in facts.selection.images.values())
        if used and not known:
            yield Problem(
                ("software", "images", framework),
                repr(uri),
                message="not in the bundled data: whether the AMI's driver starts it was not checked",
                fix="run a one-node job first",
            )


def framework_is_maintained(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        image = facts.selection.images.get(name)
        if image is not None and image.known is not None and image.known.state != "current":
            yield Problem(
                ("jobs", name, "framework"),
                repr(job.framework),
                message=f"its newest image (SDK {image.known.sdk}) is {_state_words(image.known.state)}",
                fix="plan for JAX, or for the old SDK to stay pinned",
            )


def variables_exist(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        image = facts.selection.images.get(name)
        if image is None or image.known is None:
            continue
        removed = {variable.name: variable for variable in removed_variables(image.known.sdk)}
        for key in job.environment:
            if key in removed:
                yield Problem(
                    ("jobs", name, "environment", key),
                    key,
                    message=f"removed in SDK {removed[key].removed_in_sdk}; the image has {image.known.sdk}",
                    fix="remove it",
                    at_key=True,
                )


def unknown_ami_is_said(facts: Facts) -> Iterator[Problem]:
    given = facts.environment.software.ami
    on_batch = [name for name, c in facts.environment.clusters.items() if c.scheduler == "batch"]
    amis = [facts.selection.amis[name] for name in on_batch if name in facts.selection.amis]
    amis += facts.selection.fleet_amis.values()
    if given != "auto" and any(ami.known is None for ami in amis):
        yield Problem(
            ("software", "ami"),
            repr(given),
            message="not in the bundled data: whether its driver starts the images was not checked",
            fix="write auto, a parameter that `neuronkit catalog --software` lists, or run a one-node job first",
        )


def ami_is_of_the_schedulers_kind(facts: Facts) -> Iterator[Problem]:
    """By the SSM parameter's path, which says what the AMI is made for; an AMI id says nothing."""
    given = facts.environment.software.ami
    on_batch = any(cluster.scheduler == "batch" for cluster in facts.environment.clusters.values())
    on_ecs = any(fleet.runs_on == "ec2" for fleet in facts.environment.fleets.values())
    why = next((why for part, why in WRONG_AMIS if re.search(part, given)), None)
    if (on_batch or on_ecs) and why is not None:
        yield Problem(
            ("software", "ami"),
            repr(given),
            "a parameter of the ECS Neuron AMI, Amazon Linux 2023",
            why,
            "write auto, or a parameter that `neuronkit catalog --software` lists",
        )


def runs_in_image(facts: Facts, job: Job) -> bool:
    """Not in a virtual environment of the node's own."""
    cluster = facts.environment.clusters.get(job.cluster)
    if cluster is None or cluster.scheduler != "slurm":
        return True
    return slurm_settings_of(cluster).runs_in != "virtual-environment"


def _nearest_image_words(framework: str, family: str) -> str:
    """What can be had instead: the same framework with another SDK, or another framework."""
    same = nearest_images(framework, family)
    if same:
        return f"nearest: {framework} with SDK {one_of(dict.fromkeys(image.sdk for image in same))}"
    others = [image for image in nearest_images("jax", family) if framework != "jax"]
    if others:
        return f"nearest: jax with SDK {others[0].sdk}"
    return f"no training image of the bundled data is made for {family}: `neuronkit catalog --software`"


def _nearest_ami_words(image: Image, date: str) -> str:
    fitting = nearest_amis(image, date)
    if not fitting:
        return "another image: no AMI of the bundled data is known to start it"
    return f"the nearest that starts it, of {fitting[0].date} with driver {fitting[0].driver}: {fitting[0].ssm_parameter}"


def _shared_pair_words(facts: Facts, cluster: str) -> str:
    """ "" where no SDK has images of all frameworks that one AMI starts."""
    instance_type = facts.instance_type(cluster)
    frameworks = {job.framework for job in facts.environment.jobs.values() if job.cluster == cluster}
    shared = nearest_shared_images(frameworks, instance_type.family) if instance_type else ()
    if not shared:
        return ""
    return f"nearest that fits them all: software.sdk {shared[0].sdk}; or "


def _state_words(state: str) -> str:
    return {
        "last": "the last: nothing newer will come",
        "maintenance": "in maintenance: fixes only",
        "ended": "no longer supported",
    }[state]


RULES = (
    Rule("NK240", Severity.ERROR, "no image", "the job could not start", IMAGES_SOURCE, an_image_exists),
    Rule("NK241", Severity.ERROR, "no AMI fits", "driver and runtime must fit, or nrt_init fails", DRIVER_SOURCE, an_ami_fits_all_images),
    Rule("NK242", Severity.ERROR, "driver refuses the image's runtime", "nrt_init fails on every node, on paid time", DRIVER_SOURCE, driver_accepts_image, unknown=pairs_no_source_judges),
    Rule("NK243", Severity.ERROR, "image not made for the type", "it would not find its chips", IMAGES_SOURCE, image_fits_family),
    Rule("NK244", Severity.ERROR, "image tag `latest`", "what was tested is not what runs", "field lesson: unpinned images broke Inf2 fleets (deep-learning-containers README)", image_is_pinned, can_be_forced=True),
    Rule("NK245", Severity.WARNING, "unknown image", "not checked is not fine", DRIVER_SOURCE, unknown_pair_is_said),
    Rule("NK246", Severity.WARNING, "framework at its end", "the pilot's answer must outlive the framework", LIFECYCLE_SOURCE, framework_is_maintained),
    Rule("NK247", Severity.WARNING, "variable that no longer exists", "samples still set it", "aws-neuron-sdk@81ce03ae release-notes/components/runtime.rst:55", variables_exist),
    Rule("NK248", Severity.WARNING, "unknown AMI", "not checked is not fine", DRIVER_SOURCE, unknown_ami_is_said),
    Rule("NK249", Severity.ERROR, "AMI made for something else", "the node never joins, or has no Neuron devices", AMI_KIND_SOURCE, ami_is_of_the_schedulers_kind),
)  # fmt: skip
