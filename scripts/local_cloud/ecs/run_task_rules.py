"""What RunTask and ListTasks refuse, besides what a service needs as well."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.ecs.errors import InvalidParameterException
from scripts.local_cloud.ecs.resources import Cluster
from scripts.local_cloud.ecs.service_rules import launch_type

_COUNT_MAX = 10
_STARTED_BY = re.compile(r"[A-Za-z0-9_/-]{1,128}")
_TOKEN = re.compile(r"[!-~]{1,64}")
_FILTERS = ("containerInstance", "family", "serviceName", "desiredStatus", "launchType")


def check_words(request: Mapping[str, Any]) -> None:
    if not 1 <= request.get("count", 1) <= _COUNT_MAX:
        raise InvalidParameterException(f"A call starts 1 to {_COUNT_MAX} tasks, not {request['count']}.")
    if "startedBy" in request and not _STARTED_BY.fullmatch(request["startedBy"]):
        raise InvalidParameterException(
            "startedBy: up to 128 letters, numbers, hyphens, forward slashes and underscores are allowed."
        )
    if "clientToken" in request and not _TOKEN.fullmatch(request["clientToken"]):
        raise InvalidParameterException(
            "clientToken: up to 64 characters in the range of 33-126 are allowed."
        )
    if request.get("propagateTags") == "SERVICE":
        raise InvalidParameterException("Tags of a service cannot be propagated to a task without a service.")


def check_overrides(request: Mapping[str, Any], definition: Mapping[str, Any]) -> None:
    names = {container["name"] for container in definition["containerDefinitions"]}
    for override in (request.get("overrides") or {}).get("containerOverrides") or ():
        if override.get("name") not in names:
            raise InvalidParameterException(
                f"Override for container named {override.get('name')} is not a container in the TaskDefinition."
            )


def check_instances(cluster: Cluster, request: Mapping[str, Any]) -> None:
    """Without a capacity provider nothing would ever start one."""
    provided = request.get("capacityProviderStrategy")
    if not provided and launch_type(request) == "EC2" and not cluster.instances:
        raise InvalidParameterException("No Container Instances were found in your cluster.")


def check_filters(request: Mapping[str, Any]) -> None:
    """As the API's reference says: a filter by startedBy is the only one."""
    others = [name for name in _FILTERS if request.get(name)]
    if request.get("startedBy") and others:
        raise InvalidParameterException(f"startedBy must be the only filter, not beside {', '.join(others)}.")
