"""neuronkit init NAME"""

from __future__ import annotations

import json
import re
from pathlib import Path

import click

from scripts.console import Console
from stacks.domain.errors import InputError

SCHEMA_FILE = Path(".neuronkit") / "environment.schema.json"


@click.command()
@click.argument("name", required=False)
@click.option(
    "--from", "starter", metavar="STARTER", default="trn1-first-hour", show_default=True, help="See --list."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The file to write; NAME.yaml if absent."
)
@click.option("--list", "list_starters", is_flag=True, help="List the starters.")
@click.pass_obj
def command(
    console: Console, name: str | None, starter: str, output: Path | None, list_starters: bool
) -> None:
    """Write a commented environment file that passes `check` as it is, and its JSON Schema for editors."""
    from stacks.domain.findings import closest, one_of
    from stacks.domain.render.starters import STARTERS

    if list_starters:
        titles = {key: kind.title for key, kind in STARTERS.items()}
        console.result({"starters": titles}, "\n".join(f"{key:<16} {title}" for key, title in titles.items()))
        return
    if name is None:
        raise InputError("init needs a NAME for the environment", "for example: neuronkit init my-pilot")
    if starter not in STARTERS:
        near = closest(starter, STARTERS)
        raise InputError(
            f"no starter {starter!r}; there are {one_of(STARTERS)}", f"did you mean {near!r}?" if near else ""
        )
    written = _write(name, starter, output or Path(f"{name}.yaml"))
    console.result({"file": str(written), "starter": starter}, str(written))
    console.progress(f"next: neuronkit check {written}; neuronkit plan {written}")


def _write(name: str, starter: str, output: Path) -> Path:
    from stacks.domain.environment.model import ENVIRONMENT_NAME_PATTERN, Environment
    from stacks.domain.render.starters import starter_text

    if not re.fullmatch(ENVIRONMENT_NAME_PATTERN, name):
        raise InputError(f"{name!r} cannot name an environment", "3 to 30 of a-z, 0-9 and -, a letter first")
    if output.exists():
        raise InputError(f"{output} exists and is left as it is", "choose another file with -o")
    schema = output.parent / SCHEMA_FILE
    text = starter_text(starter, name=name, file=str(output), schema=SCHEMA_FILE.as_posix())
    try:
        schema.parent.mkdir(parents=True, exist_ok=True)
        schema.write_text(json.dumps(Environment.model_json_schema(), indent=2) + "\n", encoding="utf-8")
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{output} cannot be written: {error.strerror}", "choose another file with -o"
        ) from error
    return output
