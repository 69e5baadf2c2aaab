"""Writing a reservation's id into an environment file: one value changes, every other character stays.

The file's own reader says where the value stands, and afterwards whether only that value changed: what cannot be
changed so exactly (an anchor, an alias, a missing key) is refused, before anything is bought.
"""

from __future__ import annotations

import copy
import re
from typing import Any

from stacks.domain.environment.source import Path, Position, Source, format_path, parse
from stacks.domain.errors import InputError

_BYTE_ORDER_MARK = "\ufeff"
_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""What YAML 1.1 and ruamel.yaml count as one."""
_NULL = re.compile(r"null|Null|NULL|~")
_KEY = re.compile(r"""(?:id|"id"|'id')[ \t]*:""")


def with_id(text: str, file: str, capacity: str, id_: str) -> str:
    """`text` with `id_` in place of the null at capacity.NAME.id. Raises InputError where there is no such null."""
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    text = text.removeprefix(mark)
    path: Path = ("capacity", capacity, "id")
    source = parse(text, file)
    _require_null(source, path)
    start, end, written = _splice(text, source, path, id_)
    changed = text[:start] + written + text[end:]
    if not _only_differs_at(source.data, parse(changed, file).data, path, id_):
        raise _no_place(file, path)
    return mark + changed


def _require_null(source: Source, path: Path) -> None:
    if path not in source.values:
        raise InputError(f"{source.file} has no {format_path(path)}", "write the key, with null as its value")
    entry: Any = source.data
    for part in path:
        entry = entry[part]
    if entry is not None:
        raise InputError(
            f"{source.file} has an id already: {format_path(path)} is {entry}",
            "set it to null if another block shall take its place",
        )


def _splice(text: str, source: Source, path: Path, id_: str) -> tuple[int, int, str]:
    """From where to where the text is replaced, and by what."""
    is_empty = source.raw[path] == ""
    place = source.keys[path] if is_empty else source.values[path]
    start = _offset(text, place)
    found = (_KEY if is_empty else _NULL).match(text, start)
    if found is None:
        raise _no_place(source.file, path)
    return (found.end(), found.end(), f" {id_}") if is_empty else (start, found.end(), id_)


def _offset(text: str, place: Position) -> int:
    starts = [0, *(found.end() for found in _LINE_BREAK.finditer(text))]
    return starts[place.line - 1] + place.column - 1


def _only_differs_at(before: dict[str, Any], after: dict[str, Any], path: Path, value: str) -> bool:
    expected = copy.deepcopy(before)
    entry: Any = expected
    for part in path[:-1]:
        entry = entry[part]
    entry[path[-1]] = value
    return expected == after


def _no_place(file: str, path: Path) -> InputError:
    return InputError(
        f"{file}: {format_path(path)} is null in a way that cannot be replaced exactly",
        "write it plainly: `id: null`, without anchor or alias",
    )
