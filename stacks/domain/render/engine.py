"""The one Jinja environment: a context in, text out. A name that the context does not have is an error, never empty text."""

from __future__ import annotations

import dataclasses
import functools
import json
import shlex
from pathlib import Path
from typing import Any, ClassVar, Protocol

import jinja2

TEMPLATES_DIRECTORY = Path(__file__).resolve().parents[3] / "templates"


class Context(Protocol):
    """A frozen dataclass whose fields are exactly what its template prints.

    Templates print, loop and test booleans; choices, defaults, arithmetic and quoting happen in the context.
    """

    template: ClassVar[str]
    """The file's path under `templates/`."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]


def render(context: Context) -> str:
    values = {field.name: getattr(context, field.name) for field in dataclasses.fields(context)}
    return templates().get_template(context.template).render(values)


@functools.cache
def templates() -> jinja2.Environment:
    """Autoescape is off on purpose: nothing here becomes HTML; each value is quoted for its own language by a filter."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES_DIRECTORY),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701
    )
    environment.filters["shell_quote"] = shlex.quote
    environment.filters["json"] = to_json
    return environment


def to_json(value: object) -> str:
    """Unlike Jinja's own `tojson` it does not escape for HTML, so that the files stay readable."""
    return json.dumps(value, ensure_ascii=False)
