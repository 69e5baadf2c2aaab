"""neuronkit plan FILE"""

from __future__ import annotations

from pathlib import Path

import click

from scripts.console import Console


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--live", is_flag=True, help="Ask AWS as well: quotas and their use, and all that `check` asks."
)
@click.pass_obj
def command(console: Console, file: Path, live: bool) -> int:
    """Say what FILE would make: nodes, chips, cores, images, cost with its sources, quota needs, timeline.

    With --live the exit code is 3 when AWS says no, or could not be asked at all; the plan is printed all the same.
    """
    from scripts.loading import judge, load_plan
    from stacks.domain.catalog import load_catalog
    from stacks.domain.findings import has_errors, in_words
    from stacks.domain.live import LiveFacts
    from stacks.domain.plan_report import plan_document, plan_text

    loaded, catalog = load_plan(file, local=console.local), load_catalog()
    facts, error = LiveFacts(), None
    if live:
        from scripts.live_facts import ask

        asked = ask(console, loaded.loaded.environment, loaded.plan)
        facts, error = asked.facts, asked.error
    judged = judge(loaded, facts)
    findings = (*loaded.findings, *judged.findings)
    if not console.json:
        console.findings(findings)
        for line in in_words(judged.not_checked) if live else ():
            console.progress(line)
    document = plan_document(loaded.plan, loaded.cost, findings, catalog, facts, judged.not_checked)
    console.result(document, plan_text(loaded.plan, loaded.cost, catalog, facts))
    return error.exit_code if error else 3 if has_errors(judged.findings) else 0
