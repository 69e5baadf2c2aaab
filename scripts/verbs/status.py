"""neuronkit status FILE"""

from __future__ import annotations

from pathlib import Path

import click

from scripts.console import Console


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--cancel", metavar="RUN", help="Stop this run, waiting or running; what it has saved stays.")
@click.pass_obj
def command(console: Console, file: Path, cancel: str | None) -> None:
    """Say what there is of FILE, what runs and how far it is, and why something does not start."""
    from scripts.aws import batch
    from scripts.aws.session import open_cloud
    from scripts.loading import load_plan
    from scripts.run_lookup import find_run
    from scripts.run_status import take_status

    plan = load_plan(file, local=console.local).plan
    cloud = open_cloud(console, plan.region, plan.account)
    if cancel is not None:
        job = find_run(cloud, plan, cancel).job
        if job.is_active:
            batch.terminate_job(cloud, job.id, "neuronkit status --cancel")
            console.progress(f"{cancel} was {job.state}; it is being stopped")
        else:
            console.progress(f"{cancel} has already ended: {job.state}")
    status = take_status(cloud, plan)
    console.result(status.as_dict(), status.text())
