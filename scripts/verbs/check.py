"""neuronkit check FILE"""

from __future__ import annotations

from pathlib import Path

import click

from scripts.console import Console


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.pass_obj
def command(console: Console, file: Path) -> int:
    """Find everything that is wrong in an environment FILE at once; touches no network.

    Exit code 2 when there is an error, 0 when there are only warnings.
    """
    from scripts.loading import check
    from stacks.domain.findings import FindingsError, Severity, has_errors

    try:
        checked = check(file)
        findings, skipped = checked.findings, checked.not_checked
    except FindingsError as error:
        findings, skipped = error.findings, ()
    document = {"findings": [f.as_dict() for f in findings], "not_checked": [n.as_dict() for n in skipped]}
    if not console.json:
        console.findings(findings)
    for item in skipped if not console.json else ():
        console.progress(f"not checked: {item.why} [{item.id}]")
    errors = sum(f.severity is Severity.ERROR for f in findings)
    warnings = len(findings) - errors
    console.result(document, f"{file}: {_count(errors, 'error')}, {_count(warnings, 'warning')}")
    return 2 if has_errors(findings) else 0


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
