"""CloudFormation's properties as an API's parameters, by botocore's model of the operation.

CloudFormation capitalises names and takes "5" for 5 and "true" for true; a name that the API does not know fails the
resource instead of getting lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from botocore.model import ListShape, MapShape, Shape, StructureShape

from scripts.local_cloud.cloudformation.resource_type import ResourceError, as_bool


def api_parameters(client: Any, operation: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    shape = client.meta.service_model.operation_model(operation).input_shape
    return _structure(properties, shape, operation)


def json_text(document: Any) -> str:
    """A policy as text; CloudFormation takes objects and text."""
    return document if isinstance(document, str) else json.dumps(document)


def without(properties: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in properties.items() if name not in names}


def _convert(value: Any, shape: Shape, path: str) -> Any:
    if isinstance(shape, StructureShape):
        return _structure(value, shape, path)
    if isinstance(shape, ListShape):
        if not isinstance(value, list):
            raise ResourceError(f"Model validation failed (#/{path}: expected type: JSONArray)")
        return [_convert(item, shape.member, path) for item in value]
    if isinstance(shape, MapShape):
        return {str(key): _convert(item, shape.value, path) for key, item in value.items()}
    return _scalar(value, shape.type_name)


def _structure(value: Any, shape: StructureShape, path: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ResourceError(f"Model validation failed (#/{path}: expected type: JSONObject)")
    members = {name.lower(): name for name in shape.members}
    converted = {}
    for key, item in value.items():
        name = members.get(key.lower())
        if name is None:
            raise ResourceError(
                f"Model validation failed (#/{path}: extraneous key [{key}] is not permitted)"
            )
        converted[name] = _convert(item, shape.members[name], f"{path}/{key}")
    return converted


def _scalar(value: Any, kind: str) -> Any:
    if kind == "boolean":
        return as_bool(value)
    if kind in ("integer", "long"):
        return int(value)
    if kind in ("float", "double"):
        return float(value)
    if kind == "string":
        return json_text(value) if isinstance(value, (dict, list)) else _text(value)
    return value


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
