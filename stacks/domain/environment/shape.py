"""Where a path of an environment file leads in the model."""

from __future__ import annotations

from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from stacks.domain.environment.model import Environment
from stacks.domain.environment.source import Path


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads in the model: the nearest described field, and the model whose keys may stand there."""

    field: FieldInfo | None
    model: type[BaseModel] | None


def place_of(path: Path) -> Place:
    field: FieldInfo | None = None
    annotation: Any = Environment
    for part in path:
        if _is_model(annotation):
            field = annotation.model_fields.get(str(part))
            if field is None:
                return Place(None, None)
            annotation = _without_none(field.annotation)
        elif get_origin(annotation) is dict:
            # A name that the user chose (a cluster, a variable): below it every name looks the same.
            annotation = _bare(get_args(annotation)[1])
            field = field if not _is_model(annotation) else None
        elif get_origin(annotation) is tuple:
            annotation = _bare(get_args(annotation)[0])
        else:
            annotation = None
    return Place(field, annotation if _is_model(annotation) else None)


def is_required(path: Path) -> bool:
    """Whether its key has to stand in the file; an entry that the user named may always be left out."""
    model = place_of(path[:-1]).model
    field = model.model_fields.get(str(path[-1])) if model else None
    return field is not None and field.is_required()


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _bare(annotation: Any) -> Any:
    """What `Annotated[X, …]` annotates."""
    return get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation


def _without_none(annotation: Any) -> Any:
    bare = _bare(annotation)
    if get_origin(bare) in (Union, UnionType):
        return next(_bare(choice) for choice in get_args(bare) if choice is not NoneType)
    return bare
