"""YAML or JSON as a tree in which every value knows its place, and absent and unknowable values are values, too.

JSON is read as YAML, which it is. CloudFormation's short forms (`!Ref x`) become the long ones (`{"Ref": x}`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.nodes import Node as YamlNode
from ruamel.yaml.reader import ReaderError

from stacks.domain.environment.source import Path, compose_documents, format_path, syntax_finding
from stacks.domain.findings import Finding
from stacks.domain.lint.report import Place, Report

NODES_MAX = 100_000
DEPTH_MAX = 60
BRACKETS_DEPTH_MAX = 120
SCANNING_COST_MAX = 6_000_000
"""Brackets and commas times their depth, to which the scanner's time is proportional; real files of 1 MB have a third."""
YAML_TAGS = "tag:yaml.org,2002:"
SHORT_FORMS_WITHOUT_PREFIX = ("Ref", "Condition")
TRUE_WORDS, FALSE_WORDS = ("true", "yes", "on"), ("false", "no", "off")


class Absence(Enum):
    MISSING = "not there"
    UNKNOWN = "depends on what the file does not say"


Value = Any
"""A scalar, a mapping of Nodes, a tuple of Nodes, or an Absence."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """`get` never fails: of a missing value every part is missing, of an unknown one unknown.

    `text_line` is the line where a scalar's text begins, `spans_lines` whether its lines are lines of the file, which
    are indented by `indent`.
    `reference` is the logical id that an unresolved value comes from; `partial` what is known of its text.
    """

    value: Value
    line: int
    column: int
    path: Path
    text_line: int = 0
    spans_lines: bool = False
    indent: int = 0
    reference: str | None = None
    partial: str = ""

    @property
    def place(self) -> Place:
        return Place(self.line, self.column, format_path(self.path))

    @property
    def missing(self) -> bool:
        return self.value is Absence.MISSING

    @property
    def unknown(self) -> bool:
        return self.value is Absence.UNKNOWN

    @property
    def known(self) -> bool:
        return not isinstance(self.value, Absence)

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.value, Mapping)

    @property
    def is_list(self) -> bool:
        return isinstance(self.value, tuple)

    def get(self, *keys: str) -> Node:
        """Down the keys; a key matches with its first letter in either case (AWS's APIs and CloudFormation differ)."""
        node = self
        for key in keys:
            node = node._part(key)
        return node

    def _part(self, key: str) -> Node:
        if self.unknown:
            return self
        if isinstance(self.value, Mapping):
            for name in (key, key[:1].swapcase() + key[1:]):
                if name in self.value:
                    found: Node = self.value[name]
                    return found
        return self.with_value(Absence.MISSING, (*self.path, key))

    def with_value(self, value: Value, path: Path | None = None) -> Node:
        where = self.path if path is None else path
        return Node(
            value,
            self.line,
            self.column,
            where,
            self.text_line,
            self.spans_lines,
            self.indent,
            self.reference,
            self.partial,
        )

    def items(self) -> Iterator[tuple[str, Node]]:
        if isinstance(self.value, Mapping):
            yield from self.value.items()

    def elements(self) -> tuple[Node, ...]:
        return self.value if isinstance(self.value, tuple) else ()

    def parts(self) -> Iterator[Node]:
        """Itself and everything below."""
        yield self
        children = self.elements() or (child for _, child in self.items())
        for child in children:
            yield from child.parts()

    @property
    def text(self) -> str:
        """Of a scalar; "" of everything else."""
        if not self.known or self.is_mapping or self.is_list or self.value is None:
            return ""
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)

    @property
    def number(self) -> int | None:
        """CloudFormation and Kubernetes take numbers as text, too."""
        if isinstance(self.value, bool):
            return None
        text = self.text.strip()
        return int(text) if len(text) < 19 and text.removeprefix("-").isdecimal() and text.isascii() else None

    @property
    def flag(self) -> bool | None:
        word = self.text.lower()
        return True if word in TRUE_WORDS else False if word in FALSE_WORDS else None


def read_documents(text: str, file: str, report: Report) -> tuple[tuple[Node, ...], Finding | None]:
    """The documents, and why there are none of them where the text cannot be read."""
    reader = _TreeReader(report, text)
    if _is_too_deep(text):
        return (), report.finding("NK008", fix="split the file")
    try:
        yaml = YAML(typ="safe", pure=True)
        return tuple(reader.read(document, ()) for document in compose_documents(yaml, text)), None
    except MarkedYAMLError as error:
        return (), syntax_finding(error, text, file)
    except ReaderError as error:
        return (), report.finding("NK005", given=f"U+{error.character:04X}", message="YAML does not allow it")
    except (YAMLError, ValueError) as error:
        return (), report.finding("NK007", message=f"not YAML: {error}", fix="check the text")
    except (RecursionError, _TooLargeError):
        return (), report.finding("NK008", fix="split the file, remove aliases")


def _is_too_deep(text: str) -> bool:
    """Before it is scanned: the scanner looks at every open bracket for every token."""
    depth = deepest = count = 0
    for bracket in re.findall(r"[\[\]{},]", text):
        count += 1
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1) if bracket in "]}" else depth
        deepest = max(deepest, depth)
    return deepest > BRACKETS_DEPTH_MAX or deepest * count > SCANNING_COST_MAX


class _TooLargeError(Exception):
    pass


class _TreeReader:
    def __init__(self, report: Report, text: str) -> None:
        self._report = report
        self._lines = text.split("\n")
        self._constructor = SafeConstructor(loader=YAML(typ="safe", pure=True))
        self._count = 0

    def read(self, node: YamlNode, path: Path) -> Node:
        self._count += 1
        if len(path) > DEPTH_MAX or self._count > NODES_MAX:
            raise _TooLargeError
        tag = str(node.tag)
        if tag.startswith("!") and tag != "!":
            return self._short_form(node, tag[1:], path)
        return self._plain(node, path)

    def _short_form(self, node: YamlNode, name: str, path: Path) -> Node:
        key = name if name in SHORT_FORMS_WITHOUT_PREFIX else f"Fn::{name}"
        inner = self._plain(node, (*path, key))
        if name == "GetAtt" and isinstance(inner.value, str):
            inner = inner.with_value(tuple(inner.with_value(p) for p in inner.value.split(".", 1)))
        return _placed({key: inner}, node, path)

    def _plain(self, node: YamlNode, path: Path) -> Node:
        if isinstance(node, MappingNode):
            return _placed(self._mapping(node, path), node, path)
        if isinstance(node, SequenceNode):
            items = tuple(self.read(item, (*path, index)) for index, item in enumerate(node.value))
            return _placed(items, node, path)
        assert isinstance(node, ScalarNode), "the composer makes three kinds of node"
        is_block = node.style in ("|", ">")
        first_line = node.start_mark.line + (2 if is_block else 1)
        placed = _placed(self._scalar(node), node, path)
        if node.style != "|":
            return replace(placed, text_line=first_line)
        return replace(
            placed, text_line=first_line, spans_lines=True, indent=self._indent(first_line, node.value)
        )

    def _indent(self, first_line: int, text: str) -> int:
        """Of a block scalar: what its first line with words has in the file and not in the value."""
        for line, words in zip(self._lines[first_line - 1 :], text.split("\n"), strict=False):
            if words.strip():
                return max(0, line.find(words.rstrip()))
        return 0

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, Node]:
        result: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, ScalarNode) else ""
            value = self.read(value_node, (*path, key))
            if key == "<<":
                for part in value.elements() or (value,):
                    merged.update(part.items())
            elif key in result:
                first = result[key].line
                place = _placed(None, key_node, (*path, key)).place
                self._report.add(
                    "NK009", place, given=f"key {key!r} twice", fix=f"the first is in line {first}"
                )
            else:
                result[key] = value
        return {**merged, **result}

    def _scalar(self, node: ScalarNode) -> Value:
        tag = str(node.tag)
        if not tag.startswith(YAML_TAGS) or tag.endswith((":timestamp", ":binary")):
            return node.value
        try:
            return self._constructor.construct_object(node)
        except (MarkedYAMLError, ValueError, LookupError):
            return node.value


def _placed(value: Value, node: YamlNode, path: Path) -> Node:
    return Node(value, node.start_mark.line + 1, node.start_mark.column + 1, path)
