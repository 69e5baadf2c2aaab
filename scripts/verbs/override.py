"""neuronkit override FILE NAME MODE"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from scripts.console import Console


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("name")
@click.argument("mode", type=click.Choice(["auto", "neuron", "gpu", "serve", "train"]))
@click.option(
    "--until", metavar="TIME", help="When it ends, such as 2026-12-01T18:00:00Z; without, it stays."
)
@click.option("--reason", metavar="TEXT", default="", help="Why, for whoever finds it.")
@click.pass_obj
def command(console: Console, file: Path, name: str, mode: str, until: str | None, reason: str) -> None:
    """Overrule a controller by hand, or give it back its work with `auto`.

    NAME is a fleet with a GPU fallback (auto, neuron, gpu) or a shift (auto, serve, train).
    """
    from scripts.aws.session import open_cloud
    from scripts.loading import load_plan
    from scripts.overriding import find_controlled, override, parse_until
    from stacks.domain.errors import InputError

    plan = load_plan(file, local=console.local).plan
    controlled = find_controlled(plan, name, mode)
    ends = parse_until(until, datetime.now(UTC))
    if mode == "auto" and ends is not None:
        raise InputError("auto has no end", "leave --until out")
    cloud = open_cloud(console, plan.region, plan.account)
    done = override(cloud, controlled, mode, ends, reason)
    console.result(done.as_dict(), done.text())
