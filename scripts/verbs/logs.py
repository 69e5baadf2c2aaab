"""neuronkit logs FILE RUN"""

from __future__ import annotations

from pathlib import Path

import click

from scripts.console import Console


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("run")
@click.option("--node", type=click.IntRange(min=0), help="Only this node, counted from 0.")
@click.option("--follow", is_flag=True, help="Go on until the run ends.")
@click.pass_obj
def command(console: Console, file: Path, run: str, node: int | None, follow: bool) -> None:
    """Print the log of RUN, all nodes by time. With --json, one document with the lines."""
    from scripts.aws.session import open_cloud
    from scripts.following import Follower
    from scripts.loading import load_plan
    from scripts.run_lookup import find_run
    from stacks.domain.errors import InputError

    plan = load_plan(file, local=console.local).plan
    cloud = open_cloud(console, plan.region, plan.account)
    found = find_run(cloud, plan, run)
    if node is not None and node >= found.job.nodes:
        raise InputError(f"run {run} has no node {node}", f"its nodes: 0 to {found.job.nodes - 1}")
    lines: list[str] = []
    on_line = lines.append if console.json else click.echo
    follower = Follower(cloud, found.outputs.log_group, console.progress, on_line, node)
    job = found.job
    if follow:
        job = follower.follow(job.id)
    else:
        follower.print_once(job)
    if console.json:
        console.result({"run": run, "state": job.state, "lines": lines}, "")
