"""neuronkit capacity search | buy | status FILE"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from datetime import tzinfo

    from scripts.capacity_purchase import Bought
    from scripts.console import Console
    from stacks.domain.capacity_market.wanted import Options, Unit

_NUMBER_MAX = 10**12
_EMULATED = "local cloud: offers, fees and ids are its own inventions, and nothing was bought"


@click.group(name="capacity")
def command() -> None:
    """Capacity blocks: search what EC2 sells, buy, see how they stand."""


def _asking(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say what is asked for: `buy` needs the same as `search` had."""
    for option in (
        click.option("--timezone", metavar="NAME", help="For dates, an IANA name; default: this machine's."),
        click.option("--until", metavar="DATE", help="The latest end: a day, or a moment such as 2026-12-01T09:00Z."),
        click.option("--from", "start_from", metavar="DATE", help="The earliest start."),
        click.option("--hours", metavar="N", help="The duration in hours, rounded up to what EC2 sells."),
        click.option("--days", metavar="N", help="The duration in days; default: the file's lifetime_days."),
        click.option("--ultraserver-type", metavar="TYPE", help="Ask for UltraServers of this type."),
        click.option("--by", type=click.Choice(["auto", "instances", "ultraservers"]), default="auto",
                     help="What to ask for; auto: UltraServers where the type is a member of one."),
        click.option("--cluster", metavar="NAME", help="Only for this cluster."),
    ):  # fmt: skip
        function = option(function)
    return function


@command.command()
@click.argument("file", type=click.Path(path_type=Path))
@_asking
@click.option("--type", "instance_type", metavar="TYPE", help="Another instance type than the file's.")
@click.option("--nodes", type=click.IntRange(1), help="Another number of nodes than the file's.")
@click.option("--ultraservers", type=click.IntRange(1), help="How many UltraServers.")
@click.option("--everywhere", is_flag=True, help="Every region that is known to offer the type.")
@click.pass_obj
def search(console: Console, /, file: Path, everywhere: bool, **asked: Any) -> int | None:
    """List offers for FILE's capacity blocks, by price per useful chip-hour. Buys nothing; exit 3: no offers."""
    from scripts.aws.session import open_cloud
    from scripts.capacity_moments import now, timezone_of
    from scripts.capacity_search import no_offers, regions
    from scripts.capacity_search import search as ask_everywhere
    from scripts.complaint import complain
    from stacks.domain.capacity_market.named_hardware import with_named_hardware
    from stacks.domain.capacity_market.next_purchase import next_words
    from stacks.domain.capacity_market.search_report import search_document, search_text
    from stacks.domain.capacity_market.wanted import wanted_as_filed, wanted_of
    from stacks.domain.catalog import load_catalog
    from stacks.domain.environment import read, read_source

    again = _again(**asked)
    as_of, timezone = now(), timezone_of(asked.pop("timezone"))
    environment, options = read(read_source(file)), _options(timezone, **asked)
    catalog = with_named_hardware(environment, load_catalog(), options)
    every_wanted = wanted_of(environment, catalog, options, as_of)
    cloud = open_cloud(console, environment.region, environment.account, account_required=False)
    found = [
        ask_everywhere(
            cloud,
            one,
            wanted_as_filed(environment, catalog, options, one, as_of),
            regions(one, catalog, everywhere=everywhere),
            catalog,
            as_of,
        )
        for one in every_wanted
    ]
    texts = []
    for one in found:
        cluster = ("--cluster", one.wanted.clusters[0]) if len(found) > 1 else ()
        step = next_words(one, environment.capacity[one.wanted.capacity], (*again, *cluster))
        texts.append("\n".join(filter(None, (search_text(one, timezone), step))))
    document = {
        "as_of": as_of.isoformat(timespec="seconds"),
        "is_emulated": cloud.is_local,
        "searches": [search_document(one, timezone) for one in found],
    }
    console.result(document, "\n\n".join(texts))
    if cloud.is_local:
        console.progress(_EMULATED)
    missing = [one for one in found if not one.offers]
    return complain(console, no_offers(missing[0])) if missing else None


@command.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("offerings", metavar="OFFERING...", nargs=-1, required=True)
@click.option(
    "--max-fee", metavar="USD", required=True, help="The most that you pay, for all together, in US dollars."
)
@click.option("--yes", is_flag=True, help="Buy without asking.")
@click.option(
    "--another", is_flag=True, help="Buy although a block for this entry, not over, is yours already."
)
@click.option(
    "--overlap-ok", is_flag=True,
    help="Several blocks: buy although they run at the same time for less than the duration asked for.",
)  # fmt: skip
@_asking
@click.pass_obj
def buy(
    console: Console,
    /,
    file: Path,
    offerings: tuple[str, ...],
    max_fee: str,
    yes: bool,
    another: bool,
    overlap_ok: bool,
    **asked: Any,
) -> None:
    """Buy OFFERING for FILE and write its id there. It is paid at once and cannot be cancelled.

    Refused when its fee, with what was bought for the environment before, is more than FILE's budget_usd.

    Several only for several UltraServers under Slurm: a block for each, and all ids in FILE once all are bought.
    Give the options that you searched with: the offerings are listed again first. After an interruption the same
    command buys only what is missing.
    """
    from scripts.aws.session import open_cloud
    from scripts.capacity_moments import now, timezone_of
    from scripts.capacity_purchase import Buyer, Order
    from scripts.confirmation import confirm
    from scripts.loading import check
    from stacks.domain.capacity_market.named_hardware import with_named_hardware
    from stacks.domain.capacity_market.wanted import wanted_of, wanted_to_buy
    from stacks.domain.catalog import load_catalog
    from stacks.domain.findings import FindingsError, has_errors

    timezone = timezone_of(asked.pop("timezone"))
    order = Order(file, offerings, _dollars(max_fee), another, overlap_ok)
    checked = check(file)
    if has_errors(checked.findings):
        raise FindingsError(checked.findings)
    environment = checked.loaded.environment
    options = _options(timezone, **asked)
    catalog = with_named_hardware(environment, load_catalog(), options)
    wanted = wanted_to_buy(environment, wanted_of(environment, catalog, options, now()))
    for note in wanted.notes:
        console.progress(f"note: {note}")
    cloud = open_cloud(console, environment.region, environment.account)
    buyer = Buyer(
        cloud,
        environment,
        timezone,
        say=console.progress,
        confirm=lambda question: confirm(console, question, yes=yes),
        now=now,
    )
    _show_bought(console, file, wanted.capacity, buyer.buy(order, wanted), timezone, is_local=cloud.is_local)


@command.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--timezone", metavar="NAME", help="For dates, an IANA name; default: this machine's.")
@click.option("--extend-days", type=click.IntRange(1, 182), default=1, show_default=True,
              help="Extensions of how many days to list.")  # fmt: skip
@click.pass_obj
def status(console: Console, /, file: Path, timezone: str | None, extend_days: int) -> int | None:
    """Say how FILE's reservations and blocks stand: state, links, time left, extensions, and the moments that matter.

    Exit 3 when one that FILE names is over, or is not there.
    """
    from scripts.aws.session import open_cloud
    from scripts.capacity_moments import now, timezone_of
    from scripts.capacity_standing import standings
    from scripts.complaint import complain
    from stacks.domain.capacity_market.durations import sold_hours
    from stacks.domain.capacity_market.standing import standing_document, standing_text
    from stacks.domain.environment import read, read_source
    from stacks.domain.errors import WorldError

    zone, as_of = timezone_of(timezone), now()
    hours, _ = sold_hours(Decimal(extend_days * 24))
    environment = read(read_source(file))
    cloud = open_cloud(console, environment.region, environment.account)
    found = standings(cloud, environment, hours)
    document = {
        "as_of": as_of.isoformat(timespec="seconds"),
        "is_emulated": cloud.is_local,
        "capacities": [standing_document(one, as_of, zone) for one in found],
    }
    nothing = "the file names no reservation and no capacity block"
    console.result(document, "\n\n".join(standing_text(one, as_of, zone) for one in found) or nothing)
    gone = [one for one in found if one.is_gone]
    if not gone:
        return None
    names = ", ".join(f"{one.capacity} ({one.id})" for one in gone)
    return complain(
        console, WorldError(f"no node can start in {names}", "`neuronkit capacity search` finds another")
    )


def _options(
    timezone: tzinfo, *, by: Unit, days: str | None, hours: str | None, start_from: str | None, until: str | None,
    **rest: Any,
) -> Options:  # fmt: skip
    from scripts.capacity_moments import moment_of
    from stacks.domain.capacity_market.wanted import Options

    if days is not None and hours is not None:
        raise click.UsageError("--days and --hours say the same: give one")
    duration = _number(hours, "--hours") if hours is not None else None
    if days is not None:
        duration = _number(days, "--days") * 24
    return Options(
        unit=by,
        hours=duration,
        start_from=moment_of(start_from, "--from", timezone),
        until=moment_of(until, "--until", timezone),
        **rest,
    )


def _again(**asked: Any) -> tuple[str, ...]:
    """The options of a search that a purchase needs, too."""
    names = {
        "cluster": "--cluster", "by": "--by", "ultraserver_type": "--ultraserver-type", "days": "--days", "hours": "--hours",
        "start_from": "--from", "until": "--until", "timezone": "--timezone",
    }  # fmt: skip
    given = ((option, asked[name]) for name, option in names.items() if asked[name] not in (None, "auto"))
    return tuple(word for pair in given for word in pair)


def _dollars(text: str) -> Decimal:
    amount = _number(text, "--max-fee")
    if amount <= 0:
        raise click.UsageError(f"--max-fee {text}: an amount above 0, in US dollars")
    return amount


def _number(text: str, option: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if number.is_nan() or not -_NUMBER_MAX < number < _NUMBER_MAX:
        raise click.UsageError(f"{option} {text!r}: write digits only, such as 24031.10")
    return number


def _show_bought(
    console: Console, file: Path, capacity: str, bought: Bought, timezone: tzinfo, *, is_local: bool
) -> None:
    from stacks.domain.capacity_market.purchase import FINAL_WORDS
    from stacks.domain.capacity_market.search_report import offer_text

    ids = ", ".join(bought.ids)
    is_one = len(bought.ids) + bought.missing == 1
    if bought.missing:
        text = (
            f"{ids} is bought for capacity {capacity}; {bought.missing} more to buy: name their offerings, "
            f"then all ids are written to {file}"
        )
    else:
        where = f"capacity.{capacity}.{'id' if is_one else 'ids'} of {file}"
        text = f"{ids}: {'its id is' if is_one else 'their ids are'} written to {where}"
    text = "\n".join([text, *(offer_text(offer, timezone) for offer in bought.offers)])
    if is_local:
        text = f"{text}\n{_EMULATED}; AWS knows no {ids}"
    elif bought.offers:
        text = f"{text}\nbought: {FINAL_WORDS}"
    fees = [offer.fee for offer in bought.offers if offer.fee is not None]
    console.result(
        {
            "capacity": capacity,
            "id": bought.ids[0] if is_one and bought.ids else None,
            "ids": list(bought.ids),
            "missing": bought.missing,
            "file": str(file),
            "is_new": bool(bought.offers),
            "is_emulated": is_local,
            "upfront_fee": f"{sum(fees):f}" if fees else None,
            "currency": bought.offers[0].currency if fees else None,
        },
        text,
    )
