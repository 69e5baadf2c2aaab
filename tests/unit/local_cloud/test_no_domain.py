"""The local cloud knows nothing of the kit's plan: it would prove nothing if it did. Facts of hardware are no plan."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCES = sorted(Path(__file__).parents[3].glob("scripts/local_cloud/**/*.py"))


def imported_modules(source: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_only_facts_and_errors_of_the_domain_are_imported() -> None:
    assert len(SOURCES) > 50
    ours = {
        module
        for source in SOURCES
        for module in imported_modules(source)
        if module.split(".")[0] in ("stacks", "scripts", "templates")
        and not module.startswith("scripts.local_cloud")
    }
    assert ours == {"stacks.domain.catalog", "stacks.domain.errors"}
