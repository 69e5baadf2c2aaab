"""The AMIs of node images, found by their tags: which one belongs to a recipe as it is now."""

from __future__ import annotations

from scripts.aws import ec2_images
from scripts.aws.cloud import Cloud
from scripts.aws.ec2_images import OwnAmi
from stacks.domain.names import ENVIRONMENT_TAG, NODE_IMAGE_REFERENCE_TAG, NODE_IMAGE_TAG
from stacks.domain.node_image_plan import NodeImagePlan
from stacks.domain.render.node_image import recipe_version

BUILD_IT = "run `neuronkit image build FILE`"


def all_amis(cloud: Cloud, environment: str, reference: str) -> tuple[OwnAmi, ...]:
    """Of any version of the recipe, newest first."""
    return ec2_images.with_tags(cloud, {ENVIRONMENT_TAG: environment, NODE_IMAGE_REFERENCE_TAG: reference})


def newest_ami(cloud: Cloud, environment: str, image: NodeImagePlan) -> OwnAmi | None:
    """Of the recipe as it is now."""
    version = recipe_version(image, cloud.region)
    found = (
        ami
        for ami in all_amis(cloud, environment, image.reference)
        if ami.state == "available" and ami.tags.get(NODE_IMAGE_TAG) == version
    )
    return next(found, None)
