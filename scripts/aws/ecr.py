"""Digests of images in private ECR registries."""

from __future__ import annotations

import re

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError

_NO_SUCH_TAG = ("ImageNotFound", "InvalidImageTag")
_URI = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(\.cn)?/(?P<repository>[^:@]+):(?P<tag>[^@]+)$"
)


def is_private(uri: str) -> bool:
    return _URI.match(uri) is not None


def region_of(uri: str) -> str:
    return _parts(uri)["region"]


def find_digest(cloud: Cloud, uri: str) -> str | None:
    """None when the repository has no such tag. Needs what a pull needs, nothing more.

    The call itself succeeds even where it got no image: then its answer says why.
    """
    parts = _parts(uri)
    try:
        answer = cloud.call(
            "ecr",
            "batch_get_image",
            registryId=parts["account"],
            repositoryName=parts["repository"],
            imageIds=[{"imageTag": parts["tag"]}],
        )
    except AwsError as error:
        if error.code == "RepositoryNotFoundException":
            return None
        raise
    for failure in answer.get("failures") or ():
        code, reason = failure.get("failureCode", ""), failure.get("failureReason", "")
        if code not in _NO_SUCH_TAG:
            raise AwsError(
                f"ECR gives no image {uri}: {code}: {reason}".rstrip(": "), code=code, reason=reason
            )
    return next((image["imageId"]["imageDigest"] for image in answer["images"]), None)


def _parts(uri: str) -> dict[str, str]:
    match = _URI.match(uri)
    if match is None:
        raise ValueError(f"not an image in a private ECR registry: {uri!r}")
    return match.groupdict()
