"""neuronkit status FILE"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.console import Console
from scripts.transport_option import TRANSPORT

if TYPE_CHECKING:
    from scripts.schedulers.login_node import TransportKind


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--cancel", metavar="RUN", help="Stop this run, waiting or running; what it has saved stays.")
@TRANSPORT
@click.pass_obj
def command(console: Console, file: Path, cancel: str | None, transport: TransportKind) -> None:
    """Say what there is of FILE, what runs and how far it is, and why something does not start."""
    from scripts.aws.session import open_cloud
    from scripts.loading import load_plan
    from scripts.run_lookup import find_run
    from scripts.run_status import take_status

    plan = load_plan(file, local=console.local).plan
    cloud = open_cloud(console, plan.region, plan.account)
    if cancel is not None:
        found = find_run(cloud, plan, cancel, transport)
        if found.run.is_active:
            found.scheduler.cancel(found.run, found.logs)
            console.progress(f"{cancel} was {found.run.state}; it is being stopped")
        else:
            console.progress(f"{cancel} has already ended: {found.run.state}")
    status = take_status(cloud, plan, transport, now=datetime.now(UTC))
    console.result(status.as_dict(), status.text())
