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
from ruamel.yaml.docinfo import DocInfo
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from stacks.domain.findings import Finding, FindingsError, Severity

Path = tuple[str | int, ...]
"""Keys and list indexes from the top: ("jobs", "smoke", "command", 0)."""

NODES_MAX = 50_000
DEPTH_MAX = 40
BYTES_MAX = 1_000_000
INTEGER_DIGITS_MAX = 4300
"""More than Python converts."""
COLLECTION_TAGS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
FORMAT_SOURCE = "https://yaml.org/spec/1.2.2/"


@dataclass(frozen=True, slots=True)
class Position:
    """Both start at 1, as editors count."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Source:
    """`values` and `keys` give the place of a value and of its key; `raw` the scalar as it was typed.

    `findings` are about parts that could not be read: what is left of the file is looked at nevertheless.
    """

    file: str
    data: dict[str, Any]
    values: dict[Path, Position] = field(repr=False)
    keys: dict[Path, Position] = field(repr=False)
    raw: dict[Path, str] = field(repr=False)
    findings: tuple[Finding, ...] = ()

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
    """Raises FindingsError when the text is no mapping at all."""
    root = _compose(text, file)
    reader = _TreeReader(file)
    data = reader.read(root, ())
    if not isinstance(data, dict):
        raise FindingsError(
            [
                *reader.findings,
                _finding(
                    file,
                    root,
                    (),
                    "NK011",
                    _kind(root),
                    "a mapping of keys to values",
                    "start from `neuronkit init`",
                ),
            ]
        )
    return Source(file, data, reader.values, reader.keys, reader.raw, tuple(reader.findings))


def read_text(path: FilePath, file: str) -> str:
    """The file as text; every reason why that cannot be is a finding."""
    try:
        with path.open("rb") as stream:
            content = stream.read(BYTES_MAX + 1)
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
        raise _unreadable(file, "NK004", f"too long: at most {BYTES_MAX:,} bytes are read", fix)
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
        documents = list(compose_documents(yaml, text))
    except MarkedYAMLError as error:
        raise FindingsError([syntax_finding(error, text, file)]) from None
    except ReaderError as error:
        raise _unreadable(
            file, "NK005", f"a character that YAML does not allow (U+{error.character:04X})", "remove it"
        ) from None
    except RecursionError:
        raise _unreadable(file, "NK007", "nested too deeply", "start from `neuronkit init`") from None
    except YAMLError as error:
        raise _unreadable(file, "NK007", f"not YAML: {error}", "start from `neuronkit init`") from None
    _require_yaml_1_2(yaml, file)
    if not documents:
        raise _unreadable(file, "NK006", "empty: only comments", "write a starter with `neuronkit init`")
    if len(documents) > 1:
        fix = "keep one environment a file"
        raise FindingsError(
            [_finding(file, documents[1], (), "NK012", f"{len(documents)} documents", "one document", fix)]
        )
    return documents[0]


def compose_documents(yaml: YAML, text: str) -> Iterator[Node]:
    """Raises ruamel.yaml's errors, and RecursionError."""
    yaml.doc_infos.append(DocInfo(requested_version=None))  # a %YAML directive is noted there
    yaml.get_constructor_parser(text)
    composer = yaml.composer
    while composer.check_node():
        yield composer.get_node()


def _require_yaml_1_2(yaml: YAML, file: str) -> None:
    """Under 1.1 the same words mean other values: `yes` is true, 010 is 8."""
    version = yaml.doc_infos[-1].doc_version
    if version is not None and (version.major, version.minor) != (1, 2):
        message = f"the directive %YAML {version.major}.{version.minor}; environment files are YAML 1.2"
        raise _unreadable(file, "NK007", message, "remove the directive, and look at its effect")


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
            given = "nested too deeply, or an alias that holds itself,"
            raise self._refused(node, "NK007", given, f"{DEPTH_MAX} levels", "flatten it")
        if self._count > NODES_MAX:
            given = f"more than {NODES_MAX:,} values (aliases count each time)"
            raise self._refused(node, "NK008", given, f"{NODES_MAX:,}", "remove aliases")
        self.values[path] = self._place(node, path)
        if not isinstance(node, ScalarNode) and str(node.tag) not in COLLECTION_TAGS:
            self._refuse_tag(node, path)
        if isinstance(node, MappingNode):
            return self._read_mapping(node, path)
        if isinstance(node, SequenceNode):
            return tuple(self.read(item, (*path, index)) for index, item in enumerate(node.value))
        assert isinstance(node, ScalarNode), "the composer makes three kinds of node"
        return self._read_scalar(node, path)

    def _refused(self, node: Node, id_: str, given: str, allowed: str, fix: str) -> FindingsError:
        return FindingsError([_finding(self.file, node, (), id_, given, allowed, fix)])

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
            if not self._is_usable(key, key_node, path):
                continue
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
        if not self._is_usable(node.value, node, path):
            return None
        if str(node.tag) == "tag:yaml.org,2002:timestamp":
            return node.value
        try:
            return self._constructor.construct_object(node)
        except (MarkedYAMLError, ValueError, LookupError):  # `!!int ""` and `!!bool maybe` are LookupErrors
            self._refuse_tag(node, path)
            return None

    def _place(self, node: Node, path: Path) -> Position:
        """Of an empty value, its key: the node itself begins where the next line's text does."""
        is_empty = isinstance(node, ScalarNode) and node.start_mark.index == node.end_mark.index
        return self.keys.get(path, _position(node)) if is_empty else _position(node)

    def _refuse_tag(self, node: Node, path: Path) -> None:
        if len(node.value) > INTEGER_DIGITS_MAX and str(node.tag).endswith(":int"):
            given, fix = f"a number of {len(node.value):,} digits", "write a number that can be meant"
        else:
            given, fix = f"tag {node.tag}", "remove the tag"
        self.findings.append(_finding(self.file, node, path, "NK010", given, "plain YAML values", fix))

    def _is_usable(self, text: str, node: Node, path: Path) -> bool:
        """NUL and lone surrogates can be written with escapes; no argument, variable, tag or file can hold them."""
        bad = next((c for c in text if c == "\0" or "\ud800" <= c <= "\udfff"), None)
        if bad is not None:
            given = f"the character U+{ord(bad):04X}"
            finding = _finding(self.file, node, path, "NK013", given, "text", "remove the escape")
            self.findings.append(finding)
        return bad is None


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


def _ran_to_the_end(error: MarkedYAMLError) -> bool:
    """Something was never closed: what has to be changed is where it began."""
    problem = error.problem or ""
    return "end of stream" in problem or "stream end" in problem or "could not find expected ':'" in problem


def syntax_finding(error: MarkedYAMLError, text: str, file: str) -> Finding:
    mark = error.context_mark if _ran_to_the_end(error) else None
    mark = mark or error.problem_mark or error.context_mark
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
