"""Writing reservations' ids into an environment file: one value changes, every other character stays.

The file's own reader says where the value stands, and afterwards whether only that value changed: what cannot be
changed so exactly (an anchor, an alias, a missing key) is refused, before anything is bought.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any

from stacks.domain.environment.source import Path, Position, Source, format_path, parse
from stacks.domain.errors import InputError

_BYTE_ORDER_MARK = "\ufeff"
_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""What YAML 1.1 and ruamel.yaml count as one."""
_NULL = re.compile(r"null|Null|NULL|~")
_EMPTY_LIST = re.compile(r"\[[ \t]*\]")
_KEY = re.compile(r"""(?:id|"id"|'id')[ \t]*:""")
_KEY_WORD = re.compile(r"""["']?id(?=["']?[ \t]*:)""")


def with_ids(text: str, file: str, capacity: str, ids: Sequence[str]) -> str:
    """`text` with the ids of one entry in their place. Raises InputError where it has none.

    One takes that of the null at capacity.NAME.id. Several take that of the empty list at capacity.NAME.ids, or make
    `ids: […]` of `id: null`.
    """
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    text = text.removeprefix(mark)
    source = parse(text, file)
    path: Path = ("capacity", capacity, "id")
    expected = copy.deepcopy(source.data)
    if len(ids) == 1:
        _require_null(source, path)
        changed = _spliced(text, _splice(text, source, path, ids[0]))
        expected["capacity"][capacity]["id"] = ids[0]
    else:
        changed = _with_list(text, source, path, f"[{', '.join(ids)}]")
        if "ids" not in source.data["capacity"][capacity]:
            del expected["capacity"][capacity]["id"]
        expected["capacity"][capacity]["ids"] = tuple(ids)
    if parse(changed, file).data != expected:
        raise _no_place(file, path)
    return mark + changed


def _with_list(text: str, source: Source, path: Path, written: str) -> str:
    """`path` is of the entry's `id`."""
    list_path = (*path[:-1], "ids")
    if list_path in source.values:
        found = _EMPTY_LIST.match(text, _offset(text, source.values[list_path]))
        if found is None:
            raise InputError(
                f"{source.file}: {format_path(list_path)} is no plain empty list",
                "write it as `ids: []` if others shall take their place",
            )
        return _spliced(text, (found.start(), found.end(), written))
    _require_null(source, path)
    key = _KEY_WORD.match(text, _offset(text, source.keys[path]))
    if key is None:
        raise _no_place(source.file, path)
    # The value stands behind its key: what is changed there moves nothing before it.
    return _spliced(_spliced(text, _splice(text, source, path, written)), (key.end(), key.end(), "s"))


def _spliced(text: str, splice: tuple[int, int, str]) -> str:
    start, end, written = splice
    return text[:start] + written + text[end:]


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


def _no_place(file: str, path: Path) -> InputError:
    return InputError(
        f"{file}: {format_path(path)} is null in a way that cannot be replaced exactly",
        "write it plainly: `id: null`, without anchor or alias",
    )
