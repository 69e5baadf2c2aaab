"""Hardware is data: no code and no template names an EC2 instance type; only the catalog's data and starters do."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INSTANCE_TYPE = re.compile(
    r"(?<![\w.])[a-z]{1,4}\d[a-z0-9-]*\.(?:nano|micro|small|medium|large|\d*xlarge|metal)\b"
)
# What people get as their own file to edit names the type they asked for.
STARTERS = ROOT / "templates" / "environments"
CATALOG_DATA = ROOT / "stacks" / "domain" / "catalog" / "data"


def sources() -> Iterator[Path]:
    for folder in ("stacks", "scripts", "templates"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc":
                yield path


def named_types(text: str) -> list[str]:
    return [
        f"{line}: {name}"
        for line, words in enumerate(text.splitlines(), 1)
        for name in INSTANCE_TYPE.findall(words)
    ]


def test_only_the_catalog_data_and_the_starters_name_instance_types() -> None:
    found = {
        str(path.relative_to(ROOT)): names
        for path in sources()
        if not path.is_relative_to(STARTERS) and not path.is_relative_to(CATALOG_DATA)
        if (names := named_types(path.read_text(encoding="utf-8", errors="replace")))
    }
    assert found == {}


def test_the_search_reads_the_code() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in sources()}
    assert {"stacks/domain/plan.py", "scripts/cli.py"} <= names


@pytest.mark.parametrize(
    "name", ["trn2u.48xlarge", "inf2.xlarge", "p6-b300.48xlarge", "m5.large", "t3.micro"]
)
def test_the_search_knows_an_instance_type(name: str) -> None:
    assert named_types(f'x = "{name}"') == [f"1: {name}"]


@pytest.mark.parametrize(
    "text", ["self.large", "click.style", "a1b2.example", "numbers.medium", "v1.2.large"]
)
def test_the_search_lets_other_words_be(text: str) -> None:
    assert named_types(text) == []
