"""neuronkit synth FILE"""

from __future__ import annotations

from pathlib import Path

import click

from scripts.console import Console


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The assembly's directory; cdk.out/NAME if not given.",
)
@click.option("--validate", is_flag=True, help="Check the templates against CloudFormation's schemas, too.")
@click.pass_obj
def command(console: Console, file: Path, output: Path | None, validate: bool) -> None:
    """Write the CloudFormation templates of FILE as a cloud assembly, which `cdk --app DIR` takes.

    Needs no credentials: what is not in FILE.lock yet stays a visible placeholder.
    """
    from scripts.loading import load_plan
    from scripts.synthesis import default_directory, synthesize

    loaded = load_plan(file, local=console.local)
    if not console.json:
        console.findings(loaded.findings)
    directory = output or default_directory(loaded.plan, local=console.local)
    assembly = synthesize(loaded.plan, directory, validate=validate)
    templates = [str(template) for template in assembly.templates]
    if assembly.reused:
        console.progress(f"{assembly.directory}: unchanged")
    document = {"assembly": str(assembly.directory), "templates": templates, "reused": assembly.reused}
    console.result(document, "\n".join(templates))
