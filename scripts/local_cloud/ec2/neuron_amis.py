"""The ECS Neuron AMIs: moto's capture of AWS's public SSM parameters, and stand-ins where moto has no capture.

For a region without a capture the names (dates) are those of us-east-1 and the ids are made up from region and name,
so the same file resolves to the same lock every time.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

from moto.utilities.utils import load_resource

_TREE = "/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron"
_REFERENCE_REGION = "us-east-1"
_DLAMI_PARAMETER = "/aws/service/neuron/dlami/multi-framework/ubuntu-24.04/latest/image_id"
DLAMI_NAME = "Deep Learning AMI Neuron (Ubuntu 24.04)"
DLAMI_ROOT_DEVICE = "/dev/sda1"


@cache
def images(region: str) -> dict[str, str]:
    """Image id → image name, of every dated Neuron AMI of the region."""
    captured = _captured(region)
    if captured:
        return captured
    return {_stand_in_id(region, name): name for name in _captured(_REFERENCE_REGION).values()}


@cache
def supplied_parameters(region: str) -> dict[str, str]:
    """The SSM parameters that moto does not have: path → value. Empty where there is a capture."""
    if _captured(region):
        return {}
    parameters = {}
    for image_id, name in images(region).items():
        parameters[f"{_TREE}/{name}/image_id"] = image_id
        parameters[f"{_TREE}/{name}/image_name"] = name
    newest = max(images(region).items(), key=lambda item: item[1])
    parameters[f"{_TREE}/recommended/image_id"] = newest[0]
    parameters[f"{_TREE}/recommended/image_name"] = newest[1]
    return parameters


@cache
def dlami_id(region: str) -> str:
    """The Neuron DLAMI, of which moto has no capture: made up everywhere."""
    return _stand_in_id(region, DLAMI_NAME)


def dlami_parameters(region: str) -> dict[str, str]:
    return {_DLAMI_PARAMETER: dlami_id(region)}


@cache
def _captured(region: str) -> dict[str, str]:
    try:
        tree: Any = load_resource(f"ssm/resources/ecs/optimized_amis/{region}.json")
    except FileNotFoundError:
        return {}
    for key in _TREE.strip("/").split("/"):
        tree = tree.get(key, {})
    return {
        entry["image_id"]["Value"]: name
        for name, entry in tree.items()
        # The tree also has "recommended", and one entry for each image id.
        if name.startswith("al2023-ami-ecs-neuron-") and "image_id" in entry
    }


def _stand_in_id(region: str, name: str) -> str:
    return "ami-" + hashlib.sha256(f"{region}/{name}".encode()).hexdigest()[:17]
