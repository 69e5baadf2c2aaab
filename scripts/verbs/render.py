"""neuronkit render FILE"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.console import Console
from stacks.domain.errors import InputError

if TYPE_CHECKING:
    from stacks.domain.rendered_files import RenderedFile


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--job", metavar="NAME", help="Only this job's files; all jobs' if left out.")
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    required=True,
    help="Where to write them.",
)
@click.pass_obj
def command(console: Console, file: Path, job: str | None, output: Path) -> None:
    """Write the runtime and job files that FILE leads to; prints their paths.

    What only a deploy decides (bucket, roles, queue) is a placeholder in <>.
    """
    from scripts.loading import load_plan
    from stacks.domain.jobs import resolve_source
    from stacks.domain.rendered_files import rendered_files

    loaded = load_plan(file, local=console.local)
    files = rendered_files(loaded.plan, job, lambda job: resolve_source(job.source, loaded.path.parent))
    paths = [str(path) for path in _write(files, output)]
    if not console.json:
        console.findings(loaded.findings)
    console.result({"files": paths}, "\n".join(paths))


def _write(files: Iterable[RenderedFile], directory: Path) -> list[Path]:
    written = []
    for file in files:
        path = directory / file.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text, encoding="utf-8")
            path.chmod(0o755 if file.is_executable else 0o644)
        except OSError as error:
            raise InputError(
                f"{path}: cannot be written: {error.strerror}", "name another directory with -o"
            ) from error
        written.append(path)
    return written
