"""What EC2 Image Builder has of ours: builds belong to no stack, and neither does what came out of them.

Their AMIs and snapshots are found as any other of EC2's. Asked only where there is a reason to: who has no Slurm cluster
needs no permission for Image Builder.
"""

from __future__ import annotations

from typing import Final

from scripts.aws import imagebuilder
from scripts.aws.cloud import Cloud
from scripts.teardown.found import Found, Question, sorted_out
from scripts.teardown.order import IMAGE_BUILD, NODE_IMAGE
from scripts.teardown.scope import Scope


def node_images(cloud: Cloud, scope: Scope) -> Found:
    """A build that still runs is another kind of thing: it has to be stopped first."""
    if not scope.slurm.is_used and not scope.has_tagged("imagebuilder"):
        return Found()
    images = tuple(imagebuilder.own_images(cloud))
    return sorted_out(
        scope,
        [
            (IMAGE_BUILD if image.is_active else NODE_IMAGE, image.arn, _name(image.arn), image.tags)
            for image in images
        ],
        {image.arn: image.state for image in images},
    )


def _name(arn: str) -> str:
    """With the version: an ARN's end, `NAME/1.0.5/1`."""
    return arn.partition(":image/")[2]


IMAGE_QUESTIONS: Final[tuple[tuple[str, Question], ...]] = (("node images", node_images),)
