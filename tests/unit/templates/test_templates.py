"""Every file under templates/: who fills it, with what, and that it decides nothing itself."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections import Counter
from typing import Any

import pytest
from jinja2 import meta

import stacks.domain.render
from stacks.domain.render.engine import TEMPLATES_DIRECTORY, templates

FILES = sorted(
    str(path.relative_to(TEMPLATES_DIRECTORY)) for path in TEMPLATES_DIRECTORY.rglob("*") if path.is_file()
)
WITHOUT_COMMENTS = {".json"}
DECISIONS = {"is", "default", "set", "none", "defined", "and", "or", "macro", "import"}
"""Names that mean a choice or a value made up in a template."""
ARITHMETIC = {"+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", ">", "<=", ">="}


def context_classes() -> list[Any]:
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.iter_modules(stacks.domain.render.__path__, "stacks.domain.render.")
    ]
    found = {
        value for module in modules for value in vars(module).values() if dataclasses.is_dataclass(value)
    }
    return sorted(
        (c for c in found if isinstance(getattr(c, "template", None), str)), key=lambda c: c.__name__
    )


def syntax(name: str) -> Any:
    return templates().parse(source(name))


def source(name: str) -> str:
    return (TEMPLATES_DIRECTORY / name).read_text(encoding="utf-8")


def with_included(name: str) -> set[str]:
    names = {name}
    for included in meta.find_referenced_templates(syntax(name)):
        assert included is not None, f"{name} includes a file whose name is computed"
        names |= with_included(included)
    return names


CONTEXTS = context_classes()


@pytest.mark.parametrize("context", CONTEXTS, ids=lambda c: c.__name__)
def test_a_context_has_exactly_what_its_template_uses(context: Any) -> None:
    used = {
        name
        for file in with_included(context.template)
        for name in meta.find_undeclared_variables(syntax(file))
    }
    assert used == {field.name for field in dataclasses.fields(context)}


@pytest.mark.parametrize("context", CONTEXTS, ids=lambda c: c.__name__)
def test_contexts_are_frozen(context: Any) -> None:
    assert context.__dataclass_params__.frozen


def test_each_file_is_the_template_of_one_context_or_a_part_of_others() -> None:
    own = Counter(context.template for context in CONTEXTS)
    parts = {part for file in own for part in with_included(file)} - own.keys()
    assert set(own.values()) == {1}
    assert sorted((*own, *parts)) == FILES


@pytest.mark.parametrize("name", FILES)
def test_a_template_prints_loops_and_tests_booleans_only(name: str) -> None:
    tokens = list(templates().lex(source(name)))
    words = {value for _, kind, value in tokens if kind == "name"}
    operators = {value for _, kind, value in tokens if kind == "operator"}
    assert (words & DECISIONS, operators & ARITHMETIC) == (set(), set())


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_named_for_what_it_becomes(name: str) -> None:
    stem, _, end = name.rpartition(".")
    assert end == "j2"
    assert stem.rpartition(".")[2] in {"env", "json", "mime", "sbatch", "sh", "yaml"}


@pytest.mark.parametrize("name", [name for name in FILES if not name.startswith("environments/")])
def test_the_output_says_where_it_comes_from(name: str) -> None:
    """Starters are the user's own; a part of another file needs no origin of its own."""
    included = {part for context in CONTEXTS for part in with_included(context.template) - {context.template}}
    if name in included or any(name.endswith(f"{suffix}.j2") for suffix in WITHOUT_COMMENTS):
        return
    head = source(name).splitlines()[:10]
    assert any("enerated by neuronkit" in line or "ritten by neuronkit" in line for line in head)
