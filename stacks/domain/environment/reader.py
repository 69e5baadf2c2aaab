"""Environment file -> Environment, or every finding about its shape at once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError

from stacks.domain.environment.model import Environment
from stacks.domain.environment.shape import is_required, place_of
from stacks.domain.environment.source import Path, Source, format_path, parse, read_text
from stacks.domain.findings import Finding, FindingsError, Severity, closest, one_of
from stacks.domain.secret_words import words_with_secrets

SHAPE_SOURCE = "`neuronkit schema`"
PART_NAME_WORDS = "a name of 2 to 30 of a-z, 0-9 and -, a letter first, no - last"
VARIABLE_NAME_WORDS = "a variable's name of letters, digits and _, no digit first"

# An amount with or without a unit: 512 GB, $50, 2.5 hours; no date, no clock time, no range.
_AMOUNT = re.compile(r"[\s$€]*([0-9]+(?:\.[0-9]+)?)\s*[A-Za-z%]*\s*")
# Codes of pydantic's error types; what is not listed is a value outside its limits.
_IDS = {
    "extra_forbidden": "NK101",
    "missing": "NK102",
    "literal_error": "NK104",
    "string_pattern_mismatch": "NK105",
}
_TYPE_ID = "NK103"
_LIMIT_ID = "NK106"
_NUMBER_TYPES = ("int_type", "int_parsing", "int_from_float")
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
    """Raises FindingsError with all findings about the text and the shape."""
    findings = list(source.findings)
    unread = {finding.path for finding in findings}
    try:
        environment = Environment.model_validate(source.data)
    except ValidationError as error:
        shape = [_finding(source, details) for details in error.errors() if not _is_echo(details)]
        findings += [finding for finding in shape if finding.path not in unread]
    if findings:
        raise FindingsError(sorted(findings, key=lambda f: (f.line or 0, f.column or 0)))
    return environment


def _is_echo(details: Any) -> bool:
    """A list whose items are wrong is called too short as well."""
    return bool(details["type"] == "too_short" and len(details["input"]) >= details["ctx"]["min_length"])


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
        fix=_fix_of_unknown_key(str(path[-1]), near),
        source=SHAPE_SOURCE,
    )


def _fix_of_unknown_key(key: str, near: str | None) -> str:
    if key == "<<":
        return "YAML 1.2 merges no mappings: write the keys out"
    return f"did you mean {near!r}?" if near else "remove it"


def _missing_key(source: Source, path: Path) -> Finding:
    position = source.key_position(path[:-1])
    allowed = _allowed(path, {"type": "missing"}, is_key=False)
    return Finding(
        id="NK102",
        severity=Severity.ERROR,
        file=source.file,
        line=position.line if position else None,
        column=position.column if position else None,
        path=format_path(path),
        given="",
        allowed=f"allowed: {allowed}",
        message="missing",
        fix=f"add `{path[-1]}:`",
        source=SHAPE_SOURCE,
    )


def _given(source: Source, path: Path, value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    raw = source.raw.get(path, "")
    if value is None:
        return raw or "nothing"
    if _may_hold_secrets(path, value):
        return "a plain value"
    return repr(raw) if isinstance(value, str) else raw


def _may_hold_secrets(path: Path, value: Any) -> bool:
    """Values of variables are not shown: what is wrong with one is said in other words."""
    is_of_variables = path[2:3] in (("environment",), ("secrets",))
    return (
        is_of_variables or _is_secret_reference(path) or bool(words_with_secrets(tuple(str(value).split())))
    )


def _is_secret_reference(path: Path) -> bool:
    """Where the ARN of a secret is asked for: people put the secret itself there."""
    return path[2:3] == ("secrets",) or path[2:] == ("model", "token")


def _allowed(path: Path, details: Any, *, is_key: bool) -> str:
    if is_key and details["type"] == "literal_error":
        return str(details["ctx"]["expected"]).replace("'", "")
    if is_key:
        return VARIABLE_NAME_WORDS if path[-2] in ("environment", "secrets") else PART_NAME_WORDS
    place = place_of(path)
    if place.model is not None:
        return f"a mapping with the keys {one_of(place.model.model_fields)}"
    if isinstance(path[-1], int):
        return _allowed_item(details, place.field.description if place.field else None)
    if place.field is not None and place.field.description:
        return place.field.description
    if details["type"] == "string_type":
        return "text"
    return "a mapping of names to entries"


def _allowed_item(details: Any, of_the_list: str | None) -> str:
    """Of an item that is no mapping: its kind, where the description of the whole list says more than is asked."""
    kind = details["type"]
    if kind == "literal_error":
        return one_of(_choices(details["ctx"]["expected"]))
    if kind in _NUMBER_TYPES:
        return "a whole number"
    return of_the_list if kind == "string_pattern_mismatch" and of_the_list else "text"


def _fix(path: Path, details: Any) -> str:
    value = details.get("input")
    if value is None:
        return "write a value" if is_required(path) else "write a value, or leave the key out"
    if _is_secret_reference(path) and isinstance(value, str):
        return (
            "store the value in Secrets Manager and give its ARN here: a plain secret never belongs in a file"
        )
    if details["type"] in ("string_type", "string_sub_type") and isinstance(value, int | float):
        return "put it in quotes"
    if details["type"] in ("int_type", "int_parsing", "float_type", "float_parsing") and isinstance(
        value, str
    ):
        number = _AMOUNT.fullmatch(value)
        is_whole = number and (details["type"].startswith("float") or "." not in number[1])
        return (
            f"write {number[1]} without quotes or units"
            if number and is_whole
            else "write a number in digits"
        )
    if details["type"] in ("int_type", "int_from_float") and isinstance(value, float):
        return "write a whole number"
    return _fix_of_choice(value, details["ctx"]["expected"]) if details["type"] == "literal_error" else ""


def _fix_of_choice(value: Any, expected: str) -> str:
    """YAML 1.2 knows yes, no, on and off as words; true and false were perhaps meant as one of them."""
    choices = _choices(expected)
    words = {True: ("yes", "on"), False: ("no", "off")}[value] if isinstance(value, bool) else ()
    meant = [word for word in words if word in choices]
    near = meant[0] if meant else (closest(value, choices) if isinstance(value, str) else None)
    return f"did you mean {near!r}?" if near else ""


def _choices(expected: str) -> list[str]:
    """Of pydantic's words: 'a', 'b' or 'c'."""
    return expected.replace("'", "").replace(" or ", ", ").split(", ")
