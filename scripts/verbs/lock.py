"""neuronkit lock FILE"""

from __future__ import annotations

from pathlib import Path

import click

from scripts.console import Console


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--update", is_flag=True, help="Ask for everything again, not only for what is missing.")
@click.pass_obj
def command(console: Console, file: Path, update: bool) -> None:
    """Resolve FILE's AMI ids and image digests and write them into FILE.lock, which you commit."""
    from scripts.aws.session import open_cloud
    from scripts.loading import load_plan
    from scripts.locking import lock_file
    from stacks.domain.buildable import refuse_projected

    loaded = load_plan(file, local=console.local)
    refuse_projected(loaded.plan)
    environment = loaded.loaded.environment
    cloud = open_cloud(console, environment.region, environment.account, account_required=False)
    locked = lock_file(cloud, environment, file, update=update)
    body = {
        "lock": str(locked.path),
        "changed": list(locked.changes),
        "notes": [console.spelled(note) for note in locked.notes],
        **locked.lock.model_dump(),
    }
    text = "\n".join(
        (
            *locked.changes,
            *locked.notes,
            f"{locked.path} written" if locked.changes else f"{locked.path} is up to date",
        )
    )
    console.result(body, text)
