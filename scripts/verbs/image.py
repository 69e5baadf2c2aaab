"""neuronkit image build | status FILE"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from scripts.console import Console


@click.group(name="image")
def command() -> None:
    """Node images of Slurm clusters: build them, see how they stand."""


@command.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--follow/--no-follow", default=True, show_default=True, help="Wait for the end, and write FILE.lock."
)
@click.pass_obj
def build(console: Console, /, file: Path, yes: bool, follow: bool) -> int | None:
    """Build the node images that FILE's Slurm clusters need, or join the build that runs.

    It makes the stacks that it needs (network, image) and takes about an hour. Exit 3: a build failed.
    """
    from scripts.complaint import complain
    from scripts.node_image_building import EMULATED, failure
    from scripts.node_image_building import build as build_images

    built = build_images(console, file, yes=yes, follow=follow)
    document = {"is_emulated": console.local, "images": [one.as_dict() for one in built]}
    console.result(document, "\n".join(one.text() for one in built))
    if console.local:
        console.progress(EMULATED)
    error = failure(built)
    return complain(console, error) if error else None


@command.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.pass_obj
def status(console: Console, /, file: Path) -> None:
    """List FILE's node images, whether FILE.lock has the newest, and whether their recipe has changed since."""
    from scripts.aws.session import open_cloud
    from scripts.capacity_moments import now
    from scripts.loading import load_plan
    from scripts.node_image_status import standings

    loaded = load_plan(file, local=console.local)
    cloud = open_cloud(console, loaded.plan.region, loaded.plan.account)
    found, as_of = standings(cloud, loaded.plan, loaded.lock), now()
    document = {
        "as_of": as_of.isoformat(timespec="seconds"),
        "is_emulated": cloud.is_local,
        "versions": [one.as_dict() for one in found],
    }
    nothing = f"{file} needs no node image"
    console.result(document, "\n".join(one.text(as_of) for one in found) or nothing)
