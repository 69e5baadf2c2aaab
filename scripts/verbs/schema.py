"""neuronkit schema"""

from __future__ import annotations

import json

import click

from scripts.console import Console


@click.command()
@click.pass_obj
def command(console: Console) -> None:
    """Print the JSON Schema of the environment file, for editors and other programs."""
    from stacks.domain.environment.model import Environment

    schema = Environment.model_json_schema()
    console.result(schema, json.dumps(schema, indent=2))
