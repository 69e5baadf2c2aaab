"""neuronkit logs FILE RUN"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.console import Console
from scripts.transport_option import TRANSPORT

if TYPE_CHECKING:
    from scripts.schedulers.login_node import TransportKind


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("run")
@click.option("--node", type=click.IntRange(min=0), help="Only the node of this rank, counted from 0.")
@click.option("--follow", is_flag=True, help="Go on until the run ends.")
@TRANSPORT
@click.pass_obj
def command(
    console: Console, file: Path, run: str, node: int | None, follow: bool, transport: TransportKind
) -> None:
    """Print the log of RUN, all nodes by time. With --json, one document with the lines."""
    from scripts.aws.session import open_cloud
    from scripts.following import Follower
    from scripts.loading import load_plan
    from scripts.run_lookup import find_run
    from stacks.domain.errors import InputError

    plan = load_plan(file, local=console.local).plan
    cloud = open_cloud(console, plan.region, plan.account)
    found = find_run(cloud, plan, run, transport)
    if node is not None and found.run.nodes is not None and node >= found.run.nodes:
        raise InputError(f"run {run} has no node {node}", f"its nodes: 0 to {found.run.nodes - 1}")
    lines: list[str] = []
    on_line = lines.append if console.json else click.echo
    watch = found.scheduler.watch(found.run, found.logs, node)
    follower = Follower(cloud, watch, console.progress, on_line, node)
    ended = follower.follow() if follow else follower.print_once()
    if console.json:
        console.result({"run": run, "state": ended.state, "lines": lines}, "")
