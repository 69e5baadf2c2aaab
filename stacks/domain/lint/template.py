"""A CloudFormation template with its intrinsic functions worked out as far as the file alone decides them.

A parameter counts with its Default; what stays open is unknown, and never guessed. Of `Fn::If` only the branch that
the defaults choose is looked at.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from stacks.domain.lint.report import Report
from stacks.domain.lint.shell import UNKNOWN_VALUE
from stacks.domain.lint.tree import Absence, Node, Value

SUBSTITUTION = re.compile(r"\$\{([^!}][^}]*)\}")
SSM_TYPE = "AWS::SSM::Parameter::Value"
INTRINSIC_DEPTH_MAX = 30
FUNCTIONS = (
    "Ref",
    "Fn::GetAtt",
    "Fn::If",
    "Fn::Sub",
    "Fn::Join",
    "Fn::Base64",
    "Fn::FindInMap",
    "Fn::Select",
    "Fn::Split",
)


@dataclass(frozen=True, slots=True)
class Resource:
    logical_id: str
    type: str
    properties: Node
    raw: Node
    """The properties as they are written."""


class Template:
    def __init__(self, root: Node, report: Report) -> None:
        self._root = root
        self._report = report
        self._open: list[str] = []
        self._truths: dict[str, bool | None] = {}
        self._by_type: dict[str, list[Resource]] = defaultdict(list)
        for resource in self._resources():
            self._by_type[resource.type].append(resource)

    def of_type(self, type_: str) -> Sequence[Resource]:
        return self._by_type.get(type_, ())

    def value_of(self, name: str) -> str:
        """For user data: a parameter's Default."""
        value = self._ref(name, self._root)
        return value.text if value.known else UNKNOWN_VALUE

    def _resources(self) -> Iterator[Resource]:
        for logical_id, body in self._root.get("Resources").items():
            raw = body.get("Properties")
            yield Resource(logical_id, body.get("Type").text, self.resolve(raw), raw)

    def resolve(self, node: Node) -> Node:
        if node.is_list:
            return node.with_value(tuple(r for item in node.value if not (r := self.resolve(item)).missing))
        if not node.is_mapping:
            return node
        if len(node.value) == 1:
            (name, argument) = next(node.items())
            if name in FUNCTIONS:
                return self._function(name, argument, node)
            if name.startswith("Fn::"):
                return _unknown(node)
        resolved = {key: self.resolve(value) for key, value in node.items()}
        return node.with_value({key: value for key, value in resolved.items() if not value.missing})

    def _function(self, name: str, argument: Node, node: Node) -> Node:
        if len(self._open) > INTRINSIC_DEPTH_MAX:
            return _unknown(node)
        self._open.append(name)
        try:
            if name == "Ref":
                return self._ref(argument.text, node)
            if name == "Fn::GetAtt":
                first = (
                    argument.elements()[0].text if argument.elements() else argument.text.partition(".")[0]
                )
                return _unknown(node, reference=first)
            if name == "Fn::If":
                return self._if(argument, node)
            if name == "Fn::Sub":
                return self._sub(argument, node)
            if name == "Fn::Base64":
                return self.resolve(argument)
            return self._other(name, self.resolve(argument), node)
        finally:
            self._open.pop()

    def _ref(self, name: str, node: Node) -> Node:
        if name == "AWS::NoValue":
            return node.with_value(Absence.MISSING)
        parameter = (
            self._root.get("Parameters").get(name)
            if name in dict(self._root.get("Parameters").items())
            else None
        )
        if parameter is None:
            return _unknown(node, reference=name)
        default, kind = parameter.get("Default"), parameter.get("Type").text
        if kind.startswith(SSM_TYPE):
            return _unknown(node, reference=name, partial=default.text)
        if default.missing or default.is_mapping or default.is_list:
            return _unknown(node, reference=name)
        value: Value = default.value
        if kind.startswith("List<") or kind == "CommaDelimitedList":
            value = tuple(node.with_value(part.strip()) for part in default.text.split(","))
        return replace(node, value=value, reference=name)

    def _if(self, argument: Node, node: Node) -> Node:
        parts = argument.elements()
        if len(parts) != 3:
            return _unknown(node)
        chosen = self._condition(parts[0].text)
        if chosen is None:
            self._report.skip(
                "NK402", node.place, f"the condition {parts[0].text!r} depends on what the file does not say"
            )
            return _unknown(node)
        other = parts[2] if chosen else parts[1]
        if other.is_mapping and "Ref" not in other.value:
            self._report.skip(
                "NK402",
                other.place,
                f"the branch that the condition {parts[0].text!r} does not choose by default",
            )
        return self.resolve(parts[1] if chosen else parts[2])

    def _condition(self, name: str) -> bool | None:
        conditions = dict(self._root.get("Conditions").items())
        if name not in conditions or len(self._open) > INTRINSIC_DEPTH_MAX:
            return None
        if name not in self._truths:
            self._truths[name] = None  # what refers to itself is not decided
            self._open.append(name)
            try:
                self._truths[name] = self._truth(conditions[name])
            finally:
                self._open.pop()
        return self._truths[name]

    def _truth(self, node: Node) -> bool | None:
        if not node.is_mapping or len(node.value) != 1:
            return None
        (name, argument) = next(node.items())
        if name == "Condition":
            return self._condition(argument.text)
        if name == "Fn::Equals" and len(argument.elements()) == 2:
            left, right = (self.resolve(part) for part in argument.elements())
            return left.text == right.text if left.known and right.known else None
        values = [self._truth(part) for part in argument.elements()]
        if name == "Fn::Not" and len(values) == 1:
            return None if values[0] is None else not values[0]
        if name in ("Fn::And", "Fn::Or") and values:
            decisive = name == "Fn::Or"
            return decisive if decisive in values else None if None in values else not decisive
        return None

    def _sub(self, argument: Node, node: Node) -> Node:
        template, *names = argument.elements() or (argument,)
        own = dict(names[0].items()) if names else {}
        text, open_ = template.text, False
        for match in SUBSTITUTION.finditer(template.text):
            name = match[1]
            value = self.resolve(own[name]) if name in own else self._ref(name.partition(".")[0], node)
            if value.known and "." not in name:
                text = text.replace(match[0], value.text)
            else:
                open_ = True
        return _unknown(node, partial=text) if open_ else node.with_value(text)

    def _other(self, name: str, argument: Node, node: Node) -> Node:
        parts = argument.elements()
        if name == "Fn::Join" and len(parts) == 2 and parts[1].is_list:
            words = parts[1].elements()
            text = parts[0].text.join(word.text or word.partial for word in words)
            return (
                node.with_value(text) if all(word.known for word in words) else _unknown(node, partial=text)
            )
        if name == "Fn::Select" and len(parts) == 2 and parts[1].is_list:
            index, items = parts[0].number, parts[1].elements()
            return items[index] if index is not None and 0 <= index < len(items) else _unknown(node)
        if name == "Fn::Split" and len(parts) == 2 and parts[0].text and parts[1].known:
            return node.with_value(
                tuple(node.with_value(word) for word in parts[1].text.split(parts[0].text))
            )
        if name == "Fn::FindInMap" and len(parts) == 3 and all(part.known for part in parts):
            found = self._root.get("Mappings").get(*(part.text for part in parts))
            return _unknown(node) if found.missing else found
        return _unknown(node)


def _unknown(node: Node, *, reference: str | None = None, partial: str = "") -> Node:
    return replace(node, value=Absence.UNKNOWN, reference=reference, partial=partial)
