"""What CreateCapacityProvider and UpdateCapacityProvider refuse."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from moto.autoscaling.models import FakeAutoScalingGroup, autoscaling_backends

from scripts.local_cloud.ecs.errors import ClientException, InvalidParameterException
from scripts.local_cloud.ecs.resources import Provider

_NAME = re.compile(r"(?!aws|ecs|fargate)[A-Za-z0-9_-]{1,255}", re.IGNORECASE)
_RANGES = {
    "targetCapacity": (1, 100),
    "minimumScalingStepSize": (1, 10000),
    "maximumScalingStepSize": (1, 10000),
    "instanceWarmupPeriod": (0, 10000),
}
_SCALE_IN_SECONDS_MAX = 3600


def check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidParameterException(
            "The specified capacity provider name is invalid. Up to 255 characters are allowed, including letters "
            "(upper and lowercase), numbers, underscores, and hyphens. The name cannot be prefixed with 'aws', 'ecs', "
            "or 'fargate'. Specify a valid name and try again."
        )


def check_request(request: Mapping[str, Any]) -> None:
    kinds = [name for name in ("autoScalingGroupProvider", "managedInstancesProvider") if request.get(name)]
    if len(kinds) != 1:
        raise InvalidParameterException(
            "A capacity provider has either an autoScalingGroupProvider or a managedInstancesProvider."
        )
    if kinds == ["managedInstancesProvider"]:
        _check_managed_instances(request)


def associable(names: Iterable[str], providers: Mapping[str, Provider]) -> list[str]:
    """What PutClusterCapacityProviders takes."""
    found = list(names)
    if any(name in providers and providers[name].cluster_arn for name in found):
        raise InvalidParameterException(
            "Cannot associate Managed Instances capacity provider to clusters using this API. Managed Instances capacity "
            "providers are already associated with the cluster that they were created for."
        )
    return found


def _check_managed_instances(request: Mapping[str, Any]) -> None:
    if not request.get("cluster"):
        raise InvalidParameterException("A Managed Instances capacity provider needs a cluster.")
    template = request["managedInstancesProvider"]["instanceLaunchTemplate"]
    if not (template.get("instanceRequirements") or {}).get("allowedInstanceTypes"):
        raise InvalidParameterException(
            "The local cloud chooses no instance type: name one in allowedInstanceTypes"
        )
    network = template.get("networkConfiguration") or {}
    if not network.get("subnets"):
        raise InvalidParameterException("A Managed Instances capacity provider needs subnets.")
    optimization = request["managedInstancesProvider"].get("infrastructureOptimization") or {}
    if not -1 <= optimization.get("scaleInAfter", -1) <= _SCALE_IN_SECONDS_MAX:
        raise InvalidParameterException("scaleInAfter must be between -1 and 3600 seconds.")


def check_group(
    account: str, region: str, provider: Mapping[str, Any], others: Iterable[Provider]
) -> FakeAutoScalingGroup:
    """The Auto Scaling group behind the provider; a name works in place of its ARN."""
    name = provider["autoScalingGroupArn"].rsplit("/", 1)[-1]
    group = autoscaling_backends[account][region].autoscaling_groups.get(name)
    if group is None:
        raise ClientException(
            f"The specified Auto Scaling group ARN or name '{name}' was not found. Specify a valid one and try again."
        )
    user = next((other for other in others if other.group_name == name), None)
    if user is not None:
        raise ClientException(
            "The specified Auto Scaling group ARN is already being used by another capacity provider. Specify a unique "
            "Auto Scaling group ARN and try again."
        )
    if not group.max_size:
        raise ClientException(f"The Auto Scaling group {name} must have a maximum size above 0.")
    check_scaling(provider, group)
    return group


def check_scaling(provider: Mapping[str, Any], group: FakeAutoScalingGroup) -> None:
    scaling = provider.get("managedScaling") or {}
    for name, (least, most) in _RANGES.items():
        if name in scaling and not least <= scaling[name] <= most:
            raise InvalidParameterException(
                f"{name} must be between {least} and {most}, not {scaling[name]}."
            )
    if provider.get("managedTerminationProtection") != "ENABLED":
        return
    if scaling.get("status") != "ENABLED":
        raise InvalidParameterException(
            "The managed termination protection setting for the capacity provider is invalid. To enable managed "
            "termination protection for a capacity provider, managed scaling must be enabled."
        )
    if not group.new_instances_protected_from_scale_in:
        raise InvalidParameterException(
            "The managed termination protection setting for the capacity provider is invalid. To enable managed "
            "termination protection for a capacity provider, the Auto Scaling group must have instance protection "
            "from scale in enabled."
        )
