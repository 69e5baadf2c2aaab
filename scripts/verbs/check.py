"""neuronkit check FILE"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.console import Console

if TYPE_CHECKING:
    from stacks.domain.findings import Finding, NotChecked


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--live",
    is_flag=True,
    help="Ask AWS as well: offerings, quotas, AMIs, reservations, your network, the account.",
)
@click.pass_obj
def command(console: Console, file: Path, live: bool) -> int:
    """Find everything that is wrong in an environment FILE at once; without --live it touches no network.

    Exit code 2 when the file has an error, 3 when the file is right and AWS says no, or could not be asked at all; 0
    when there are only warnings. What could not be asked is listed as not checked, which is never "fine".
    """
    from scripts.loading import check
    from stacks.domain.findings import FindingsError, has_errors

    try:
        checked = check(file)
    except FindingsError as error:
        return _report(console, file, error.findings, (), 2)
    if has_errors(checked.findings) or not live:
        code = 2 if has_errors(checked.findings) else 0
        return _report(console, file, checked.findings, checked.not_checked, code)
    from scripts.live_facts import ask
    from scripts.loading import judge, plan_of
    from scripts.plan_prices import with_paid_fees

    loaded = plan_of(checked, local=console.local)
    asked = ask(console, loaded.loaded.environment, loaded.plan)
    loaded = with_paid_fees(loaded, asked.facts)
    judged = judge(loaded, asked.facts)
    if asked.error and asked.error.hint and not console.json:
        console.progress(f"AWS was not asked: {asked.error.hint}")
    findings = (*loaded.findings, *judged.findings)
    code = asked.error.exit_code if asked.error else 3 if has_errors(findings) else 0
    return _report(console, file, findings, judged.not_checked, code)


def _report(
    console: Console, file: Path, findings: Sequence[Finding], skipped: Sequence[NotChecked], code: int
) -> int:
    from stacks.domain.findings import Severity, accepted, count_of, in_words, not_accepted

    suppressed, findings = accepted(findings), not_accepted(findings)
    document = {
        "findings": [f.as_dict() for f in findings],
        "suppressed": [f.suppression_dict() for f in suppressed],
        "not_checked": [n.as_dict() for n in skipped],
    }
    if not console.json:
        console.findings(findings)
        for line in in_words(skipped):
            console.progress(line)
    counts = ", ".join(
        count_of(sum(f.severity is severity for f in findings), severity.value)
        for severity in (Severity.ERROR, Severity.WARNING)
    )
    accepted_too = f", {len(suppressed)} suppressed" if suppressed else ""
    console.result(document, f"{file}: {counts}{accepted_too}")
    return code
