"""neuronkit plan FILE"""

from __future__ import annotations

from pathlib import Path

import click

from scripts.console import Console


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.pass_obj
def command(console: Console, file: Path) -> None:
    """Say what FILE would make: nodes, chips, cores, images, cost with its sources, quota needs, timeline."""
    from scripts.loading import load_plan
    from stacks.domain.catalog import load_catalog
    from stacks.domain.plan_report import plan_document, plan_text

    loaded, catalog = load_plan(file, local=console.local), load_catalog()
    if not console.json:
        console.findings(loaded.findings)
    document = plan_document(loaded.plan, loaded.cost, loaded.findings, catalog)
    console.result(document, plan_text(loaded.plan, loaded.cost, catalog))
