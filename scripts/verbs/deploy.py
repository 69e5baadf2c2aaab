"""neuronkit deploy FILE"""

from __future__ import annotations

from pathlib import Path

import click

from scripts.console import Console


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Everything but the change itself; list what would change.")
@click.pass_obj
def command(console: Console, file: Path, yes: bool, dry_run: bool) -> None:
    """Make FILE's environment, or bring it up to date. Give the same command again after an interruption."""
    from scripts.deployment import deploy, next_words

    deployed = deploy(console, file, yes=yes, dry_run=dry_run)
    console.result(deployed.as_dict(), next_words(deployed, local=console.local))
