"""--transport: how the verbs reach Slurm."""

from __future__ import annotations

import click

TRANSPORT = click.option(
    "--transport",
    type=click.Choice(["ssm", "local"]),
    default="ssm",
    show_default=True,
    help="Of a Slurm cluster: ssm reaches its login node; local uses the Slurm of this shell.",
)
