"""neuronkit bootstrap FILE"""

from __future__ import annotations

from pathlib import Path

import click

from scripts.console import Console


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.pass_obj
def command(console: Console, file: Path) -> None:
    """Prepare FILE's account and region for the CDK, once. Again does no harm."""
    from scripts.aws.session import open_cloud
    from scripts.bootstrapping import bootstrap, bootstrap_stack_name, next_command
    from stacks.domain.environment import read, read_source

    environment = read(read_source(file))
    cloud = open_cloud(console, environment.region, environment.account)
    version = bootstrap(console, cloud, environment.cdk)
    stack = bootstrap_stack_name(environment.cdk.qualifier)
    body = {"account": cloud.account, "region": cloud.region, "stack": stack, "version": version}
    console.result(
        body, f"{stack} is there, version {version}; next: `{next_command(file, local=console.local)}`"
    )
