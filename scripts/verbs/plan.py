"""neuronkit plan FILE"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from scripts.console import Console


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--live", is_flag=True, help="Ask AWS as well: prices, quotas and their use, and all that `check` asks."
)
@click.option(
    "--price-file",
    type=click.Path(path_type=Path),
    help="YAML with prices of your own, each dated and with its source; they win over all others.",
)
@click.option(
    "--as-of",
    type=click.DateTime(["%Y-%m-%d"]),
    help="The day at which prices older than 180 days are called old; today if not given.",
)
@click.option(
    "--assume",
    multiple=True,
    metavar="ITEM=NUMBER",
    help="Use that no plan can know: nat-gateway-data, logs-ingestion (GB over the lifetime), s3-standard (GB kept), "
    "custom-metric (metrics of nodes).",
)
@click.option(
    "--against",
    type=click.Choice(["deployed"]),
    help="Compare with what is deployed: resources added, removed, changed in place or replaced, and the cost of both.",
)
@click.option(
    "--timetable",
    metavar="WEEK",
    help="An ISO week such as 2026-W50: every switch of the shifts in it, with local and UTC times, in place of the plan. A dry run.",
)
@click.pass_obj
def command(
    console: Console,
    file: Path,
    live: bool,
    price_file: Path | None,
    as_of: datetime | None,
    assume: tuple[str, ...],
    against: str | None,
    timetable: str | None,
) -> int:
    """Say what FILE would make: nodes, chips, cores, images, cost with its sources, quota needs, timeline.

    With --live the exit code is 3 when AWS says no, or could not be asked at all; the plan is printed all the same.
    """
    from scripts.loading import judge
    from scripts.plan_prices import load_priced_plan, with_live_prices, with_paid_fees
    from stacks.domain.catalog import load_catalog
    from stacks.domain.findings import has_errors, in_words
    from stacks.domain.live import LiveFacts
    from stacks.domain.plan_report import plan_document, plan_text
    from stacks.domain.timetable import parse_week, timetables_of

    week = None if timetable is None else parse_week(timetable)
    today = (as_of or datetime.now(UTC)).date()
    loaded = load_priced_plan(console, file, price_file=price_file, as_of=today, assume=assume)
    catalog, facts, error = load_catalog(), LiveFacts(), None
    if live:
        from scripts.live_facts import ask

        asked = ask(console, loaded.loaded.environment, loaded.plan)
        facts, error = asked.facts, asked.error
        loaded = with_paid_fees(with_live_prices(console, loaded, today), facts)
    judged = judge(loaded, facts)
    findings = (*loaded.findings, *judged.findings)
    if not console.json:
        console.findings(findings)
        for line in in_words(judged.not_checked) if live else ():
            console.progress(line)
    document = plan_document(loaded.plan, loaded.cost, findings, catalog, facts, judged.not_checked)
    text = plan_text(loaded.plan, loaded.cost, catalog, facts)
    if week is not None:
        tables = timetables_of(loaded.plan, week)
        document["timetable"] = [table.as_dict() for table in tables]
        text = "\n\n".join(table.text() for table in tables)
    if against is not None:
        from scripts.deployed_comparison import compare_with_deployed

        comparison = compare_with_deployed(console, loaded)
        document["against_deployed"] = comparison.as_dict()
        text = f"{text}\n\n{comparison.text()}"
    console.result(document, text)
    return error.exit_code if error else 3 if has_errors(findings) else 0
