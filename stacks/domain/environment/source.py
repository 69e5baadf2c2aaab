"""An environment file as text: its values as plain data, and the place of every key and value.

YAML 1.2 through ruamel.yaml's composer, which keeps marks; the tree is walked here, so that duplicate keys, aliases that
multiply, and documents that are no mapping become findings and never half-read data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from stacks.domain.findings import Finding, FindingsError, Severity

Path = tuple[str | int, ...]
"""Keys and list indexes from the top: ("jobs", "smoke", "command", 0)."""

NODES_MAX = 50_000
DEPTH_MAX = 40
BYTES_MAX = 1_000_000
FORMAT_SOURCE = "https://yaml.org/spec/1.2.2/"


@dataclass(frozen=True, slots=True)
class Position:
    """Both start at 1, as editors count."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Source:
    """`values` and `keys` give the place of a value and of its key; `raw` the scalar as it was typed."""

    file: str
    data: dict[str, Any]
    values: dict[Path, Position] = field(repr=False)
    keys: dict[Path, Position] = field(repr=False)
    raw: dict[Path, str] = field(repr=False)

    def position(self, path: Path) -> Position | None:
        """Of the value; of the nearest parent where the value itself is absent."""
        while path:
            if path in self.values:
                return self.values[path]
            path = path[:-1]
        return self.values.get(())

    def key_position(self, path: Path) -> Position | None:
        return self.keys.get(path) or self.position(path)


def format_path(path: Path) -> str:
    """("jobs", "a", "command", 0) -> "jobs.a.command[0]"."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def parse(text: str, file: str) -> Source:
    """Raises FindingsError when the text is no mapping that can be read whole."""
    root = _compose(text, file)
    reader = _TreeReader(file)
    data = reader.read(root, ())
    if reader.findings:
        raise FindingsError(reader.findings)
    if not isinstance(data, dict):
        raise FindingsError(
            [
                _finding(
                    file,
                    root,
                    (),
                    "NK011",
                    _kind(root),
                    "a mapping of keys to values",
                    "start from `neuronkit init`",
                )
            ]
        )
    return Source(file, data, reader.values, reader.keys, reader.raw)


def read_text(path: FilePath, file: str) -> str:
    """The file as text; every reason why that cannot be is a finding."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise _unreadable(
            file, "NK001", "no such file", "check the path, or write one with `neuronkit init`"
        ) from None
    except IsADirectoryError:
        raise _unreadable(file, "NK002", "a directory", "name the environment file in it") from None
    except OSError as error:
        raise _unreadable(file, "NK003", f"cannot be read: {error.strerror}", "make it readable") from None
    if len(content) > BYTES_MAX:
        fix = "an environment file is a page or two: is this the right file?"
        raise _unreadable(file, "NK004", f"{len(content):,} bytes; at most {BYTES_MAX:,} are read", fix)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _unreadable(file, "NK005", "not UTF-8 text", "save it as UTF-8") from None
    if "\x00" in text:
        raise _unreadable(file, "NK005", "binary, not text", "name a YAML file")
    if not text.strip():
        raise _unreadable(file, "NK006", "empty", "write a starter with `neuronkit init`")
    return text


def _compose(text: str, file: str) -> Node:
    yaml = YAML(typ="safe", pure=True)
    try:
        documents = list(_compose_all(yaml, text))
    except MarkedYAMLError as error:
        raise FindingsError([_syntax_finding(error, text, file)]) from None
    except ReaderError as error:
        raise _unreadable(
            file, "NK005", f"a character that YAML does not allow (U+{error.character:04X})", "remove it"
        ) from None
    except RecursionError:
        raise _unreadable(file, "NK007", "nested too deeply", "start from `neuronkit init`") from None
    except YAMLError as error:
        raise _unreadable(file, "NK007", f"not YAML: {error}", "start from `neuronkit init`") from None
    if not documents:
        raise _unreadable(file, "NK006", "empty: only comments", "write a starter with `neuronkit init`")
    if len(documents) > 1:
        fix = "keep one environment a file"
        raise FindingsError(
            [_finding(file, documents[1], (), "NK012", f"{len(documents)} documents", "one document", fix)]
        )
    return documents[0]


def _compose_all(yaml: YAML, text: str) -> Iterator[Node]:
    yaml.get_constructor_parser(text)
    composer = yaml.composer
    while composer.check_node():
        yield composer.get_node()


class _TreeReader:
    """Walks the composed tree once; collects data, places and findings."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.values: dict[Path, Position] = {}
        self.keys: dict[Path, Position] = {}
        self.raw: dict[Path, str] = {}
        self.findings: list[Finding] = []
        self._constructor = SafeConstructor(loader=YAML(typ="safe", pure=True))
        self._count = 0

    def read(self, node: Node, path: Path) -> Any:
        self._count += 1
        if len(path) > DEPTH_MAX:
            raise _unreadable(
                self.file, "NK007", "nested too deeply, or an alias that holds itself", "flatten it"
            )
        if self._count > NODES_MAX:
            raise _unreadable(
                self.file,
                "NK008",
                f"more than {NODES_MAX:,} values (aliases count each time)",
                "remove aliases",
            )
        self.values[path] = _position(node)
        if isinstance(node, MappingNode):
            return self._read_mapping(node, path)
        if isinstance(node, SequenceNode):
            return tuple(self.read(item, (*path, index)) for index, item in enumerate(node.value))
        assert isinstance(node, ScalarNode), "the composer makes three kinds of node"
        return self._read_scalar(node, path)

    def _read_mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                self.findings.append(
                    _finding(
                        self.file,
                        key_node,
                        path,
                        "NK010",
                        _kind(key_node),
                        "a plain word as key",
                        "name the key",
                    )
                )
                continue
            key = key_node.value
            child = (*path, key)
            if key in result:
                first = self.keys[child].line
                fix = f"remove one; the first is in line {first}"
                self.findings.append(
                    _finding(self.file, key_node, child, "NK009", f"key {key!r} twice", "each key once", fix)
                )
                continue
            self.keys[child] = _position(key_node)
            result[key] = self.read(value_node, child)
        return result

    def _read_scalar(self, node: ScalarNode, path: Path) -> Any:
        self.raw[path] = node.value
        tag = str(node.tag)
        if tag == "tag:yaml.org,2002:timestamp":
            return node.value
        try:
            return self._constructor.construct_object(node)
        except (MarkedYAMLError, ValueError):
            self.findings.append(
                _finding(self.file, node, path, "NK010", f"tag {tag}", "plain YAML values", "remove the tag")
            )
            return None


def _position(node: Node) -> Position:
    return Position(node.start_mark.line + 1, node.start_mark.column + 1)


def _kind(node: Node) -> str:
    if isinstance(node, SequenceNode):
        return "a list"
    return "a mapping" if isinstance(node, MappingNode) else "a single value"


def _finding(file: str, node: Node, path: Path, id_: str, given: str, allowed: str, fix: str) -> Finding:
    place = _position(node)
    return Finding(
        id_,
        Severity.ERROR,
        file,
        place.line,
        place.column,
        format_path(path),
        given,
        f"allowed: {allowed}",
        "",
        fix,
        FORMAT_SOURCE,
    )


def _unreadable(file: str, id_: str, message: str, fix: str) -> FindingsError:
    return FindingsError(
        [Finding(id_, Severity.ERROR, file, None, None, "", "", "", message, fix, FORMAT_SOURCE)]
    )


def _syntax_finding(error: MarkedYAMLError, text: str, file: str) -> Finding:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column) if mark else (0, 0)
    lines = text.splitlines()
    current = lines[line] if line < len(lines) else ""
    indent = current[: len(current) - len(current.lstrip())]
    if "\t" in indent or (column < len(current) and current[column] == "\t"):
        message, fix = "a tab", "YAML indents with spaces: replace the tab by spaces"
    else:
        message, fix = (
            f"not YAML: {error.problem or error.context}",
            "check the indentation, quotes and colons there",
        )
    return Finding(
        "NK007", Severity.ERROR, file, line + 1, column + 1, "", "", "", message, fix, FORMAT_SOURCE
    )
