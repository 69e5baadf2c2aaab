"""CloudFormation's intrinsic functions, conditions and dynamic references."""

from __future__ import annotations

import base64
import ipaddress
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from scripts.local_cloud.cloudformation.template import TemplateError

NO_VALUE = object()
_SUB = re.compile(r"\$\{(!?)([^}]+)\}")
_DYNAMIC = re.compile(r"\{\{resolve:([^}]+)\}\}")


class Resolver:
    """Turns template values into plain values.

    `attribute(logical_id, name)` answers Ref (name None) and GetAtt; it raises LookupError for a resource that does
    not exist yet. `dynamic(text)` answers the inside of a `{{resolve:…}}`.
    """

    def __init__(
        self,
        template: Mapping[str, Any],
        values: Mapping[str, Any],
        attribute: Callable[[str, str | None], Any],
        imported: Callable[[str], str],
        zones: Callable[[str], list[str]],
        dynamic: Callable[[str], str],
    ) -> None:
        self._template = template
        self._values = values
        self._attribute = attribute
        self._imported = imported
        self._zones = zones
        self._dynamic = dynamic
        self._conditions: dict[str, bool] = {}
        self._functions: dict[str, Callable[[Any], Any]] = {
            "Ref": self._ref,
            "Fn::Base64": self._base64,
            "Fn::Cidr": self._cidr,
            "Fn::FindInMap": self._find_in_map,
            "Fn::GetAtt": self._get_att,
            "Fn::GetAZs": self._get_azs,
            "Fn::If": self._if,
            "Fn::ImportValue": self._import_value,
            "Fn::Join": self._join,
            "Fn::Length": self._length,
            "Fn::Select": self._select,
            "Fn::Split": self._split,
            "Fn::Sub": self._sub,
            "Fn::ToJsonString": self._to_json_string,
        }

    def resolve(self, node: Any) -> Any:
        """The plain value; NO_VALUE for AWS::NoValue, which containers leave out."""
        if isinstance(node, str):
            return _DYNAMIC.sub(lambda match: self._dynamic(match.group(1)), node)
        if isinstance(node, list):
            items = [self.resolve(item) for item in node]
            return [item for item in items if item is not NO_VALUE]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            key, argument = next(iter(node.items()))
            function = self._function(key)
            if function is not None:
                return function(argument)
        resolved = {key: self.resolve(value) for key, value in node.items()}
        return {key: value for key, value in resolved.items() if value is not NO_VALUE}

    def condition(self, name: str) -> bool:
        if name not in self._conditions:
            conditions = self._template.get("Conditions") or {}
            if name not in conditions:
                raise TemplateError(f"Template format error: Unresolved condition dependency {name}")
            self._conditions[name] = bool(self.test(conditions[name]))
        return self._conditions[name]

    def test(self, node: Any) -> bool:
        """A condition's expression, or a rule's assertion."""
        key, argument = next(iter(node.items()))
        if key == "Condition":
            return self.condition(argument)
        if key == "Fn::Equals":
            left, right = (self.resolve(side) for side in argument)
            return _text(left) == _text(right)
        if key == "Fn::Not":
            return not self.test(argument[0])
        if key == "Fn::And":
            return all(self.test(part) for part in argument)
        if key == "Fn::Or":
            return any(self.test(part) for part in argument)
        if key == "Fn::Contains":
            return self.resolve(argument[1]) in self.resolve(argument[0])
        raise TemplateError(f"Template error: {key} is not emulated by the local cloud in a condition")

    def _function(self, key: str) -> Callable[[Any], Any] | None:
        if key != "Ref" and not key.startswith("Fn::"):
            return None
        if key not in self._functions:
            raise TemplateError(f"Template error: {key} is not emulated by the local cloud")
        return self._functions[key]

    def _ref(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return NO_VALUE
        if name in self._values:
            return self._values[name]
        return self._attribute(name, None)

    def _get_att(self, argument: Any) -> Any:
        name, attribute = argument.split(".", 1) if isinstance(argument, str) else argument
        return self._attribute(name, self.resolve(attribute))

    def _if(self, argument: list[Any]) -> Any:
        return self.resolve(argument[1] if self.condition(argument[0]) else argument[2])

    def _join(self, argument: list[Any]) -> str:
        return str(argument[0]).join(_text(item) for item in self.resolve(argument[1]))

    def _split(self, argument: list[Any]) -> list[str]:
        return str(self.resolve(argument[1])).split(argument[0])

    def _select(self, argument: list[Any]) -> Any:
        items = self.resolve(argument[1])
        index = int(self.resolve(argument[0]))
        if not 0 <= index < len(items):
            raise TemplateError(
                "Template error: Fn::Select cannot select nonexistent value at index " + str(index)
            )
        return items[index]

    def _sub(self, argument: Any) -> str:
        text, variables = (argument, {}) if isinstance(argument, str) else argument

        def replace(match: re.Match[str]) -> str:
            literal, name = match.groups()
            if literal:
                return "${" + name + "}"
            if name in variables:
                return _text(self.resolve(variables[name]))
            return _text(self._get_att(name) if "." in name else self._ref(name))

        return str(self.resolve(_SUB.sub(replace, text)))

    def _find_in_map(self, argument: list[Any]) -> Any:
        keys = [self.resolve(key) for key in argument[:3]]
        node: Any = self._template.get("Mappings") or {}
        for key in keys:
            if not isinstance(node, dict) or str(key) not in node:
                raise TemplateError(
                    f"Template error: Unable to get mapping for {'::'.join(str(key) for key in keys)}"
                )
            node = node[str(key)]
        return node

    def _import_value(self, argument: Any) -> str:
        return self._imported(str(self.resolve(argument)))

    def _get_azs(self, argument: Any) -> list[str]:
        return self._zones(str(self.resolve(argument)) or str(self._values["AWS::Region"]))

    def _base64(self, argument: Any) -> str:
        return base64.b64encode(str(self.resolve(argument)).encode()).decode()

    def _cidr(self, argument: list[Any]) -> list[str]:
        block, count, bits = (self.resolve(part) for part in (*argument, 8)[:3])
        network = ipaddress.ip_network(block)
        subnets = network.subnets(new_prefix=network.max_prefixlen - int(bits))
        return [str(subnet) for subnet, _ in zip(subnets, range(int(count)), strict=False)]

    def _to_json_string(self, argument: Any) -> str:
        return json.dumps(self.resolve(argument), separators=(",", ":"))

    def _length(self, argument: Any) -> int:
        return len(self.resolve(argument))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
