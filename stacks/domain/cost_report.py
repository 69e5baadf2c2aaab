"""A cost in words: the table of `plan`, and the two sentences that other commands need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from stacks.domain.cost import STALE_AFTER_DAYS, Cost, CostLine
from stacks.domain.findings import printable

COLUMNS = ("quantity", "unit", "$/unit", "$/hour", "paid", "what", "price as of, from")
_RIGHT = frozenset({"quantity", "$/unit", "$/hour"})


def cost_table(cost: Cost) -> Iterator[str]:
    rows = [COLUMNS, *(_cells(line) for line in cost.lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS) - 1)]
    for row in rows:
        cells = (
            cell.rjust(width) if name in _RIGHT else cell.ljust(width)
            for name, cell, width in zip(COLUMNS, row, widths, strict=False)
        )
        yield "  ".join((*cells, row[-1]))


def totals(cost: Cost, *, lifetime_days: int, budget_usd: float) -> Iterator[str]:
    yield f"with every node running: {per_hour_words(cost)}; between jobs: ${cost.idle_usd_per_hour:,.2f}/hour"
    if cost.usd_upfront is None or cost.usd_upfront:
        fee = "unknown" if cost.usd_upfront is None else f"${cost.usd_upfront:,.2f}"
        yield f"up front, not to be had back: {fee}"
    yield f"all {lifetime_days} days, every node running: {lifetime_words(cost)}; budget ${budget_usd:,.2f}"
    yield "not in it: data between zones and to the internet, requests to S3 and CloudWatch, tax"
    for reason in dict.fromkeys(line.not_asked for line in cost.lines if line.not_asked):
        number = sum(line.not_asked == reason for line in cost.lines)
        yield f"{number} prices are the bundled ones: AWS could not be asked: {printable(reason)}"
    if cost.stale:
        yield f"prices older than {STALE_AFTER_DAYS} days on {cost.as_of}: {_names(line.what for line in cost.stale)}"


def per_hour_words(cost: Cost) -> str:
    if cost.usd_per_hour is not None:
        return f"${cost.usd_per_hour:,.2f}/hour"
    return f"unknown (no price of: {_names(cost.unknown_prices)}); ${cost.known_usd_per_hour:,.2f}/hour are known"


def lifetime_words(cost: Cost) -> str:
    if cost.usd_lifetime is not None:
        return f"${cost.usd_lifetime:,.2f}"
    return f"${cost.known_usd_lifetime:,.2f} and what is not known: {_names(cost.unknown)}"


def _cells(line: CostLine) -> Sequence[str]:
    source = f"{line.as_of}, {line.source}" if line.as_of else line.source
    note = f" ({line.note})" if line.note else ""
    old = "OLD: " if line.is_stale else ""
    return (
        "unknown"
        if line.quantity is None
        else f"{line.quantity:,g}"
        if line.quantity < 1e6
        else f"{line.quantity:,.0f}",
        line.unit,
        _usd(line.unit_usd),
        "by use" if line.paid == "by use" else _usd(line.usd_per_hour),
        line.paid,
        printable(line.what),
        printable(f"{old}{source}{note}"),
    )


def _usd(amount: float | None) -> str:
    return "unknown" if amount is None else f"{amount:,.4f}"


def _names(names: Iterable[str]) -> str:
    return ", ".join(names)
