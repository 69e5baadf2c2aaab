"""neuronkit leftovers FILE"""

from __future__ import annotations

from pathlib import Path

import click

from scripts.console import Console


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.pass_obj
def command(console: Console, file: Path) -> int | None:
    """List what there is of FILE's environment, by tag and by membership; and what only looks like it. Reads only."""
    from scripts.aws.session import open_cloud
    from scripts.complaint import complain
    from scripts.teardown.run import complaint, find_leftovers
    from scripts.teardown.target import read_target

    named = read_target(file)
    target = named.target
    if named.warning:
        console.progress(named.warning)
    cloud = open_cloud(console, named.region, named.account)
    found = find_leftovers(cloud, target)
    nothing_left = f"nothing of {target.environment} is there"
    console.result(
        found.as_dict(), "\n".join(filter(None, (found.text(), nothing_left if found.is_clean else "")))
    )
    return None if found.is_clean else complain(console, complaint(target, found))
