"""neuronkit cdk ARGUMENTS…"""

from __future__ import annotations

import click


@click.command(
    context_settings={
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
        "help_option_names": [],
    }
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> int:
    """Run the pinned CDK CLI with the kit's own Node; the exit code is the CLI's."""
    from scripts.cdk_cli import run_cdk

    return run_cdk(arguments)
