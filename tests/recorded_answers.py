"""AWS's answers in files (`{"service", "operation", "answer"}`), and whether one has the shape that botocore's model says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import botocore.session
from botocore.model import ServiceModel, Shape

DATA = Path(__file__).resolve().parent / "data"
_PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "long": int,
    "double": (int, float),
    "float": (int, float),
}


@dataclass(frozen=True)
class Recorded:
    name: str
    service: str
    operation: str
    answer: dict[str, Any]
    """With moments as botocore gives them."""

    @property
    def has_unknown_words(self) -> bool:
        return self.name.endswith("-unknown-words")

    @property
    def method(self) -> str:
        """boto3's spelling of the operation."""
        return botocore.xform_name(self.operation)

    def faults(self) -> list[str]:
        """What in the answer is not as the model says; words that no enumeration lists only where the name says so."""
        shape = _model(self.service).operation_model(self.operation).output_shape
        assert shape is not None
        return list(_faults(self.answer, shape, "answer", words=not self.has_unknown_words))


def names(directory: str) -> list[str]:
    return sorted(path.stem for path in (DATA / directory).glob("*.json"))


def recorded(directory: str, name: str) -> Recorded:
    document = json.loads((DATA / directory / f"{name}.json").read_text(encoding="utf-8"))
    shape = _model(document["service"]).operation_model(document["operation"]).output_shape
    assert shape is not None
    answer = _with_moments(document["answer"], shape)
    return Recorded(name, document["service"], document["operation"], answer)


@cache
def _model(service: str) -> ServiceModel:
    return botocore.session.get_session().get_service_model(service)


def _with_moments(value: Any, shape: Shape | None) -> Any:
    if shape is None:
        return value
    if shape.type_name == "timestamp":
        return datetime.fromisoformat(value)
    if shape.type_name == "list":
        return [_with_moments(item, shape.member) for item in value]
    if shape.type_name == "structure":
        return {key: _with_moments(item, shape.members.get(key)) for key, item in value.items()}
    return value


def _faults(value: Any, shape: Shape, where: str, *, words: bool) -> Iterator[str]:
    if shape.type_name == "structure":
        for key, item in value.items():
            if key not in shape.members:
                yield f"{where}.{key}: no such field"
            else:
                yield from _faults(item, shape.members[key], f"{where}.{key}", words=words)
    elif shape.type_name == "list":
        for index, item in enumerate(value):
            yield from _faults(item, shape.member, f"{where}[{index}]", words=words)
    elif shape.type_name == "timestamp":
        if not isinstance(value, datetime):
            yield f"{where}: no moment"
    elif not isinstance(value, _PYTHON_TYPES[shape.type_name]):
        yield f"{where}: {value!r} is no {shape.type_name}"
    elif words and getattr(shape, "enum", None) and value not in shape.enum:
        yield f"{where}: {value!r} is none of {shape.enum}"
