"""One strict Jinja environment."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import jinja2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stacks.domain.render import engine

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)


@dataclass(frozen=True, slots=True)
class Greeting:
    template: ClassVar[str] = "greeting.txt.j2"

    name: str
    polite: bool


@pytest.fixture
def greeting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A template file that stands alone in the templates directory."""
    monkeypatch.setattr(engine, "TEMPLATES_DIRECTORY", tmp_path)
    engine.templates.cache_clear()
    yield tmp_path / Greeting.template
    engine.templates.cache_clear()


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("Hello {{ name }}\n", "Hello <b>&'\"\n"),
        ("Hello", "Hello"),
        ("Hello\n\n", "Hello\n\n"),
        ("  {% if polite %}\n  Dear {{ name }}\n  {% endif %}\nbye\n", "  Dear <b>&'\"\nbye\n"),
    ],
    ids=["nothing is escaped", "no newline is added", "no newline is lost", "blocks leave no blanks"],
)
def test_text_comes_out_as_the_template_has_it(greeting: Path, template: str, text: str) -> None:
    greeting.write_text(template)
    assert engine.render(Greeting("<b>&'\"", polite=True)) == text


@pytest.mark.parametrize("template", ["{{ nam }}", "{% if nam %}{% endif %}", "{{ name.title_ }}"])
def test_a_name_that_the_context_does_not_have_is_an_error(greeting: Path, template: str) -> None:
    greeting.write_text(template)
    with pytest.raises(jinja2.UndefinedError):
        engine.render(Greeting("x", polite=True))


@given(TEXT)
@settings(max_examples=60, deadline=None)
def test_shell_quote_gives_bash_the_very_text(text: str) -> None:
    quoted = engine.templates().filters["shell_quote"](text)
    shown = subprocess.run(["bash", "-c", f"printf %s {quoted}"], capture_output=True, check=True)
    assert shown.stdout.decode() == text


@given(TEXT)
def test_json_gives_the_very_text(text: str) -> None:
    assert json.loads(engine.to_json(text)) == text
