"""neuronkit destroy FILE"""

from __future__ import annotations

from pathlib import Path

import click

from scripts.console import Console


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def command(console: Console, file: Path, yes: bool) -> int | None:
    """Stop the jobs, delete the stacks, the bucket with its data and whatever else is FILE's, and look for leftovers.

    Give the same command again after an interruption: it continues.
    """
    from scripts.aws.session import open_cloud
    from scripts.complaint import complain
    from scripts.teardown.run import complaint, destroy
    from scripts.teardown.target import read_target

    named = read_target(file)
    target = named.target
    if named.warning:
        console.progress(named.warning)
    cloud = open_cloud(console, named.region, named.account)
    found = destroy(console, cloud, target, yes=yes)
    nothing_left = f"nothing of {target.environment} is left"
    console.result(
        found.as_dict(), "\n".join(filter(None, (found.text(), nothing_left if found.is_clean else "")))
    )
    return None if found.is_clean else complain(console, complaint(target, found))
