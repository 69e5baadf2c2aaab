"""A template's parameters: given, previous or default values, checked and turned into what Ref answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from scripts.local_cloud.cloudformation.template import TemplateError

_SSM = re.compile(r"AWS::SSM::Parameter::Value<(.+)>$")


def given_values(entries: list[dict[str, Any]], previous: Mapping[str, Any]) -> dict[str, Any]:
    """The API's parameter list as name → value."""
    values = {}
    for entry in entries:
        name = entry["ParameterKey"]
        if entry.get("UsePreviousValue"):
            if name not in previous:
                raise TemplateError(
                    f"Invalid input for parameter key {name}. Cannot specify usePreviousValue as true"
                )
            values[name] = previous[name]
        else:
            values[name] = entry.get("ParameterValue", "")
    return values


def with_defaults(template: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Every parameter's value as text; complains about unknown, missing and forbidden ones."""
    declared = template.get("Parameters") or {}
    unknown = sorted(set(given) - set(declared))
    if unknown:
        raise TemplateError(f"Parameters: [{', '.join(unknown)}] do not exist in the template")
    values = {name: given.get(name, spec.get("Default")) for name, spec in declared.items()}
    missing = sorted(name for name, value in values.items() if value is None)
    if missing:
        raise TemplateError(f"Parameters: [{', '.join(missing)}] must have values")
    for name, value in values.items():
        _check(name, str(value), declared[name])
    return values


def _check(name: str, value: str, spec: Mapping[str, Any]) -> None:
    allowed = spec.get("AllowedValues")
    if allowed is not None and value not in [str(item) for item in allowed]:
        raise TemplateError(f"Parameter '{name}' must be one of AllowedValues")
    pattern = spec.get("AllowedPattern")
    if pattern and not re.fullmatch(pattern, value):
        raise TemplateError(f"Parameter '{name}' must match pattern {pattern}")
    if not int(spec.get("MinLength", 0)) <= len(value) <= int(spec.get("MaxLength", 1 << 20)):
        raise TemplateError(f"Parameter '{name}' must contain between MinLength and MaxLength characters")


def ref_values(
    template: Mapping[str, Any], values: Mapping[str, Any], ssm_parameter: Callable[[str], str]
) -> dict[str, Any]:
    """What Ref answers for each parameter: SSM names looked up, comma-delimited lists split."""
    return {
        name: _ref_value(str(spec["Type"]), values[name], ssm_parameter)
        for name, spec in (template.get("Parameters") or {}).items()
    }


def _ref_value(kind: str, value: Any, ssm_parameter: Callable[[str], str]) -> Any:
    match = _SSM.match(kind)
    if match:
        return _ref_value(match.group(1), ssm_parameter(str(value)), ssm_parameter)
    if kind == "CommaDelimitedList" or kind.startswith("List<"):
        return [item.strip() for item in str(value).split(",")] if str(value) else [""]
    return str(value)
