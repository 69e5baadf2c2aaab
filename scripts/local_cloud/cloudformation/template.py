"""Template text (JSON, or YAML with CloudFormation's short tags) to a dict, and what can be checked before resolving."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import yaml  # type: ignore[import-untyped]

_SECTIONS = frozenset(
    [
        "AWSTemplateFormatVersion",
        "Description",
        "Metadata",
        "Parameters",
        "Rules",
        "Mappings",
        "Conditions",
        "Transform",
        "Resources",
        "Outputs",
    ]
)
_IAM_TYPES = frozenset(
    f"AWS::IAM::{name}"
    for name in ("Role", "Policy", "ManagedPolicy", "InstanceProfile", "User", "Group", "AccessKey")
)


class TemplateError(Exception):
    """CloudFormation's ValidationError: the message is the service's wording where that is known."""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """YAML with `!Ref`, `!GetAtt`, `!Sub` … ; dates stay text, as in CloudFormation."""


def _short_tag(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        value: Any = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)
    if suffix in ("Ref", "Condition"):
        return {suffix: value}
    if suffix == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _short_tag)
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def parse(body: str) -> dict[str, Any]:
    try:
        # S506: _Loader is a SafeLoader.
        template = json.loads(body) if body.lstrip().startswith("{") else yaml.load(body, Loader=_Loader)  # noqa: S506
    except (ValueError, yaml.YAMLError) as error:
        raise TemplateError(f"Template format error: {error}") from error
    if not isinstance(template, dict):
        raise TemplateError("Template format error: unsupported structure.")
    _check_structure(template)
    return template


def _check_structure(template: dict[str, Any]) -> None:
    unknown = sorted(set(template) - _SECTIONS)
    if unknown:
        raise TemplateError(f"Invalid template property or properties [{', '.join(unknown)}]")
    if template.get("Transform"):
        raise TemplateError("Transform (macros, SAM) is not emulated by the local cloud")
    resources = template.get("Resources")
    if not isinstance(resources, dict) or not resources:
        raise TemplateError("Template format error: At least one Resources member must be defined.")
    for name, resource in resources.items():
        if not isinstance(resource, dict) or not isinstance(resource.get("Type"), str):
            raise TemplateError(
                f"Template format error: [/Resources/{name}] Every Resources object must contain a Type member."
            )
    _check_references(template)
    creation_order(dependencies(template))


def _check_references(template: dict[str, Any]) -> None:
    known = set(template["Resources"]) | set(template.get("Parameters") or {})
    for section in ("Resources", "Outputs"):
        wanted = set(references(template.get(section) or {}))
        for resource in template["Resources"].values():
            wanted |= set(depends_on(resource))
        missing = sorted(name for name in wanted if name not in known and not name.startswith("AWS::"))
        if missing:
            raise TemplateError(
                f"Template format error: Unresolved resource dependencies [{', '.join(missing)}] "
                f"in the {section} block of the template"
            )


def references(node: Any) -> Iterator[str]:
    """Every logical id that a Ref, GetAtt or Sub inside the node names."""
    if isinstance(node, list):
        for item in node:
            yield from references(item)
        return
    if not isinstance(node, dict):
        return
    for key, value in node.items():
        if key == "Ref" and isinstance(value, str):
            yield value
        elif key == "Fn::GetAtt":
            yield value.split(".")[0] if isinstance(value, str) else value[0]
        elif key == "Fn::Sub":
            yield from _sub_references(value)
        else:
            yield from references(value)


def _sub_references(value: Any) -> Iterator[str]:
    text, variables = (value, {}) if isinstance(value, str) else (value[0], value[1])
    yield from references(variables)
    for name in sub_names(text):
        if name not in variables:
            yield name.split(".")[0]


def sub_names(text: str) -> Iterator[str]:
    """The names inside `${…}`, not the literals `${!…}`."""
    for piece in text.split("${")[1:]:
        name = piece.split("}")[0].strip()
        if not name.startswith("!"):
            yield name


def depends_on(resource: dict[str, Any]) -> list[str]:
    value = resource.get("DependsOn") or []
    return [value] if isinstance(value, str) else list(value)


def dependencies(template: dict[str, Any]) -> dict[str, set[str]]:
    """Logical id → the logical ids that have to exist first."""
    names = set(template["Resources"])
    return {
        name: (set(references(resource.get("Properties") or {})) | set(depends_on(resource))) & names
        for name, resource in template["Resources"].items()
    }


def creation_order(graph: dict[str, set[str]]) -> list[str]:
    """Dependencies first, otherwise in template order."""
    ordered: list[str] = []
    remaining = dict(graph)
    while remaining:
        ready = [name for name, needed in remaining.items() if not needed & remaining.keys()]
        if not ready:
            raise TemplateError(f"Circular dependency between resources: [{', '.join(sorted(remaining))}]")
        ordered += ready
        for name in ready:
            del remaining[name]
    return ordered


def needed_capabilities(template: dict[str, Any]) -> str | None:
    """CAPABILITY_NAMED_IAM if an IAM resource is named, CAPABILITY_IAM if there is one at all."""
    iam = [resource for resource in template["Resources"].values() if resource["Type"] in _IAM_TYPES]
    if not iam:
        return None
    names = {"RoleName", "ManagedPolicyName", "InstanceProfileName", "UserName", "GroupName"}
    named = any(names & set(resource.get("Properties") or {}) for resource in iam)
    return "CAPABILITY_NAMED_IAM" if named else "CAPABILITY_IAM"
