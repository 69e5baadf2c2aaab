"""neuronkit lint PATH…"""

from __future__ import annotations

from pathlib import Path

import click

from scripts.console import Console

SKIPPED_SHOWN_MAX = 10


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path))
@click.pass_obj
def command(console: Console, paths: tuple[Path, ...]) -> int:
    """Find what goes wrong on Neuron nodes in files that you have already; touches no network.

    CloudFormation templates, launch template data, Kubernetes manifests, AWS Batch job definitions, sbatch scripts and
    user data, recognised by what they say. Directories are walked. Exit code 2 when there is an error.
    """
    from scripts.lint_inputs import read_inputs
    from stacks.domain.catalog import load_catalog
    from stacks.domain.findings import Severity, count_of, has_errors
    from stacks.domain.lint import lint

    linted = lint(read_inputs(paths), load_catalog())
    document = {
        "findings": [f.as_dict() for f in linted.findings],
        "not_checked": [n.as_dict() for n in linted.not_checked],
        "skipped": [{"file": s.file, "why": s.why} for s in linted.skipped],
    }
    if not console.json:
        console.findings(linted.findings)
        for note in linted.not_checked:
            console.progress(f"not checked: {note.why} [{note.id}]")
        for skipped in linted.skipped[:SKIPPED_SHOWN_MAX]:
            console.progress(f"skipped: {skipped.file}: {skipped.why}")
        if len(linted.skipped) > SKIPPED_SHOWN_MAX:
            console.progress(f"skipped: {len(linted.skipped) - SKIPPED_SHOWN_MAX} more; --json lists them")
    counts = [sum(f.severity is s for f in linted.findings) for s in Severity]
    words = ", ".join(count_of(n, word) for n, word in zip(counts, ("error", "warning", "note"), strict=True))
    console.result(document, f"{count_of(linted.files, 'file')}: {words}")
    return 2 if has_errors(linted.findings) else 0
