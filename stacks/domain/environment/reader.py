"""Environment file -> Environment, or every finding about its shape at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError

from stacks.domain.environment.model import Environment
from stacks.domain.environment.shape import place_of
from stacks.domain.environment.source import Path, Source, format_path, parse, read_text
from stacks.domain.findings import Finding, FindingsError, Severity, closest, one_of

SHAPE_SOURCE = "`neuronkit schema`"
PART_NAME_WORDS = "a name of a-z, 0-9 and -, a letter first"
VARIABLE_NAME_WORDS = "a variable's name of letters, digits and _, no digit first"

# Codes of pydantic's error types; what is not listed is a value outside its limits.
_IDS = {
    "extra_forbidden": "NK101",
    "missing": "NK102",
    "literal_error": "NK104",
    "string_pattern_mismatch": "NK105",
}
_TYPE_ID = "NK103"
_LIMIT_ID = "NK106"
_LIMIT_TYPES = (
    "greater_than", "greater_than_equal", "less_than", "less_than_equal", "too_short", "too_long", "string_too_short",
    "string_too_long", "finite_number",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Loaded:
    """An environment together with the text that it came from."""

    environment: Environment
    source: Source
    path: FilePath


def read_source(path: FilePath) -> Source:
    """Raises FindingsError when the file is no YAML mapping."""
    return parse(read_text(path, str(path)), str(path))


def read(source: Source) -> Environment:
    """Raises FindingsError with all findings about the shape."""
    try:
        return Environment.model_validate(source.data)
    except ValidationError as error:
        findings = [_finding(source, details) for details in error.errors()]
        raise FindingsError(sorted(findings, key=lambda f: (f.line or 0, f.column or 0))) from None


def _finding(source: Source, details: Any) -> Finding:
    location: tuple[str | int, ...] = details["loc"]
    is_key = location[-1] == "[key]"
    path: Path = tuple(part for part in location if part != "[key]")
    kind = details["type"]
    if kind == "extra_forbidden":
        return _unknown_key(source, path)
    if kind == "missing":
        return _missing_key(source, path)
    id_ = _IDS.get(kind) or (_LIMIT_ID if kind in _LIMIT_TYPES else _TYPE_ID)
    position = source.key_position(path) if is_key else source.position(path)
    given = repr(path[-1]) if is_key else _given(source, path, details.get("input"))
    return Finding(
        id=id_,
        severity=Severity.ERROR,
        file=source.file,
        line=position.line if position else None,
        column=position.column if position else None,
        path=format_path(path),
        given=given,
        allowed=f"allowed: {_allowed(path, details, is_key=is_key)}",
        message="",
        fix=_fix(path, details),
        source=SHAPE_SOURCE,
    )


def _unknown_key(source: Source, path: Path) -> Finding:
    model = place_of(path[:-1]).model
    siblings = list(model.model_fields) if model else []
    near = closest(str(path[-1]), siblings)
    position = source.key_position(path)
    return Finding(
        id="NK101",
        severity=Severity.ERROR,
        file=source.file,
        line=position.line if position else None,
        column=position.column if position else None,
        path=format_path(path),
        given=f"unknown key {path[-1]!r}",
        allowed=f"allowed: {one_of(siblings)}" if siblings else "",
        message="",
        fix=f"did you mean {near!r}?" if near else "remove it",
        source=SHAPE_SOURCE,
    )


def _missing_key(source: Source, path: Path) -> Finding:
    position = source.key_position(path[:-1])
    field = place_of(path).field
    return Finding(
        id="NK102",
        severity=Severity.ERROR,
        file=source.file,
        line=position.line if position else None,
        column=position.column if position else None,
        path=format_path(path),
        given="",
        allowed=f"allowed: {field.description}" if field and field.description else "",
        message="missing",
        fix=f"add `{path[-1]}:`",
        source=SHAPE_SOURCE,
    )


def _given(source: Source, path: Path, value: Any) -> str:
    if "secrets" in path:
        return "a plain value"
    if path in source.raw:
        raw = source.raw[path]
        return repr(raw) if isinstance(value, str) else (raw or "nothing")
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, list | tuple) else repr(value)


def _allowed(path: Path, details: Any, *, is_key: bool) -> str:
    if is_key and details["type"] == "literal_error":
        return str(details["ctx"]["expected"]).replace("'", "")
    if is_key:
        return VARIABLE_NAME_WORDS if path[-2] in ("environment", "secrets") else PART_NAME_WORDS
    place = place_of(path)
    if place.model is not None:
        return f"a mapping with the keys {one_of(place.model.model_fields)}"
    if place.field is not None and place.field.description:
        return place.field.description
    if details["type"] == "string_type":
        return "text"
    return "a mapping of names to entries" if details["type"] == "dict_type" else PART_NAME_WORDS


def _fix(path: Path, details: Any) -> str:
    value = details.get("input")
    if "secrets" in path:
        return (
            "store the value in Secrets Manager and give its ARN here: a plain secret never belongs in a file"
        )
    if details["type"] in ("string_type", "string_sub_type") and isinstance(value, int | float):
        return "put it in quotes"
    if details["type"] in ("int_type", "int_parsing", "float_type", "float_parsing") and isinstance(
        value, str
    ):
        digits = "".join(c for c in value if c.isdigit())
        return f"write {digits} without quotes or units" if digits else "write a number in digits"
    if details["type"] == "literal_error" and isinstance(value, str):
        near = closest(value, details["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", "))
        return f"did you mean {near!r}?" if near else ""
    return ""
