"""What search and status say, in words and as documents."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from stacks.domain.capacity_market.moment_text import span
from stacks.domain.capacity_market.next_purchase import next_words
from stacks.domain.capacity_market.offers import Offer, ranked
from stacks.domain.capacity_market.search_report import Found, offer_text, search_document, search_text
from stacks.domain.capacity_market.standing import (
    STATE_WORDS,
    ExtensionOffer,
    Standing,
    standing_document,
    standing_text,
)
from stacks.domain.catalog import load_catalog
from stacks.domain.environment import Capacity
from stacks.domain.reservations import Reservation
from tests.unit.domain.capacity_offers import NOW, START, ULTRASERVER, an_offer, wanted

BERLIN = ZoneInfo("Europe/Berlin")
END = datetime(2026, 12, 8, 11, 30, tzinfo=UTC)
BLOCK = Reservation(
    "cr-0123456789abcdef0",
    "capacity-block",
    "trn2.48xlarge",
    "use2-az3",
    total=4,
    available=1,
    state="active",
    start=START,
    end=END,
    interconnect="ok",
)
STANDING = Standing("block", "capacity-block", BLOCK.id, BLOCK, checkpoint_seconds=600)


def found(*offers: object, **more: object) -> Found:
    return Found(
        wanted(**more),
        wanted(**more),
        NOW,
        ("us-east-2",),
        ranked(offers, load_catalog()),  # type: ignore[arg-type]
    )


OBSTACLES: list[tuple[dict[str, object], str]] = [
    ({}, ""),
    ({"zone_id": "use2-az1"}, "other zone"),
    ({"zone_id": ""}, "other zone"),
    ({"region": "ap-south-2"}, "other region"),
    ({"tenancy": "dedicated"}, "other tenancy"),
    ({"instances": 2}, "other size"),
    ({"instance_type": "trn1.32xlarge", "zone_id": "use2-az1"}, "other zone, other type"),
    ({"end": NOW, "start": NOW - timedelta(days=1)}, "no time left"),
    ({"fee": Decimal(100_001)}, "over budget"),
]


def lines_with(text: str, words: str) -> list[str]:
    return [line for line in text.splitlines() if words in line]


def test_a_row_of_the_search() -> None:
    (row,) = lines_with(search_text(found(an_offer()), BERLIN), "cb-1")
    assert row.split("  ")[0] == "*"
    assert [cell.strip() for cell in row.split("  ") if cell.strip()] == [
        "*",
        "cb-1",
        "use2-az3",
        "2026-12-01 11:30 UTC",
        "Tue 2026-12-01 12:30 CET",
        "2026-12-08 11:30 UTC",
        "Tue 2026-12-08 12:30 CET",
        "4",
        "24,031.10 USD",
        "35.76 USD",
        "2.2417 USD",
    ]


def test_only_offers_that_the_file_can_take_have_the_star() -> None:
    text = search_text(found(*(an_offer(id=f"cb-{n}", **more) for n, (more, _) in enumerate(OBSTACLES))), UTC)
    rows = {row.removeprefix("*").split()[0]: row for row in lines_with(text, "cb-")}
    for number, (_, word) in enumerate(OBSTACLES):
        row = rows[f"cb-{number}"]
        assert row.startswith("*") == (word == "")
        assert row.endswith(f"  {word}" if word else " USD")
    assert len(lines_with(text, "* the file can take it; for the others the last column says")) == 1


def test_local_times_stand_beside_utc_only_where_they_differ() -> None:
    assert search_text(found(an_offer()), BERLIN).count("CET") == 2
    for zone in (UTC, ZoneInfo("Africa/Abidjan")):
        (row,) = lines_with(search_text(found(an_offer()), zone), "cb-1")
        assert (row.count("11:30"), row.count("UTC")) == (2, 2)
        assert offer_text(an_offer(), zone).count("11:30") == 2


def test_another_size_than_the_files_is_listed_and_not_taken() -> None:
    small = replace(found(an_offer(instances=2)), wanted=wanted(nodes=2))
    assert lines_with(search_text(small, UTC), "cb-1")[0].endswith("other size")
    none = replace(small, of_file=None)
    assert lines_with(search_text(none, UTC), "cb-1")[0].endswith("not as the file")
    (offer,) = search_document(small, UTC)["offers"]
    assert offer["obstacles"] == ["it has 2 instances, the file wants 4"]


def test_a_fee_above_the_budget_is_marked_also_of_several_blocks() -> None:
    cheap = {"budget_usd": Decimal("48062.20")}
    assert lines_with(search_text(found(an_offer(), blocks=2, **cheap), UTC), "cb-1")[0].startswith("*")
    assert lines_with(search_text(found(an_offer(), blocks=3, **cheap), UTC), "cb-1")[0].endswith(
        "over budget"
    )


LATER = {"start": START + timedelta(days=1), "end": END + timedelta(days=1)}
THIRD = {"start": START + timedelta(days=3), "end": END + timedelta(days=3)}


def test_offers_of_the_same_time_have_the_same_letter() -> None:
    offers = (
        an_offer(id="cb-1", **LATER), an_offer(id="cb-2"), an_offer(id="cb-3", **THIRD), an_offer(id="cb-4", **LATER),
        an_offer(id="cb-5"), an_offer(id="cb-6", zone_id="use2-az1", **THIRD),
    )  # fmt: skip
    text = search_text(found(*offers, blocks=2), UTC)
    letters = {}
    for row in lines_with(text, "use2-"):
        cells = row.removeprefix("*").split("UTC")
        letters[cells[0].split()[0]] = cells[2].split()[0]
    assert letters == {"cb-2": "A", "cb-5": "A", "cb-1": "B", "cb-4": "B", "cb-3": "4", "cb-6": "4"}
    assert "2 blocks have to run at the same time" in text
    assert "same time" not in search_text(found(*offers), UTC)


BLOCK_ENTRY = Capacity(kind="capacity-block")


@pytest.mark.parametrize(
    ("offers", "more", "options", "words"),
    [
        ([an_offer()], {}, [], "next: neuronkit capacity buy FILE cb-1 --max-fee 24031.10"),
        ([an_offer(fee=Decimal(1), zone_id="use2-az1", id="cb-0"), an_offer()], {}, ["--days", "7"], "next: neuronkit capacity buy FILE cb-1 --max-fee 24031.10 --days 7"),
        ([an_offer()], {}, ["--from", "2026-12-01 09:00"], "next: neuronkit capacity buy FILE cb-1 --max-fee 24031.10 --from '2026-12-01 09:00'"),
        ([an_offer(zone_id="use2-az1")], {}, [], "the file can take none of these: the last column says what is in the way"),
        ([], {}, [], ""),
        ([an_offer(id="cb-2"), an_offer(**LATER), an_offer(id="cb-3")], {"blocks": 2}, [], "next: neuronkit capacity buy FILE cb-2 cb-3 --max-fee 48062.20"),
        ([an_offer(**LATER), an_offer(id="cb-3", **THIRD), an_offer(id="cb-2", start=NOW, end=NOW + timedelta(days=1))], {"blocks": 2}, [], "no 2 of these have the same start and end; the longest overlap is 5 days 0 h, and if that will do,\nnext: neuronkit capacity buy FILE cb-1 cb-3 --max-fee 48062.20 --overlap-ok"),
        ([an_offer()], {"blocks": 2}, [], "no 2 of these run at the same time: ask again later, or with --from and --until"),
        ([an_offer(), an_offer(id="cb-2", start=END, end=END + timedelta(days=7))], {"blocks": 2}, [], "no 2 of these run at the same time: ask again later, or with --from and --until"),
    ],
)  # fmt: skip
def test_the_next_command(
    offers: list[Offer], more: dict[str, object], options: list[str], words: str
) -> None:
    assert next_words(found(*offers, **more), BLOCK_ENTRY, options) == words


@pytest.mark.parametrize(
    ("capacity", "words"),
    [
        (Capacity(kind="on-demand"), "to buy one, write `kind: capacity-block` under capacity.block first"),
        (Capacity(kind="capacity-block", id=BLOCK.id), "capacity.block of the file names its block already"),
    ],
)
def test_no_command_for_an_entry_that_takes_no_block(capacity: Capacity, words: str) -> None:
    assert next_words(found(an_offer()), capacity, []) == words


def test_what_is_unknown_is_called_so() -> None:
    text = search_text(found(an_offer(fee=None, end=None, instances=None, zone_id="", zone="")), BERLIN)
    (row,) = lines_with(text, "cb-1")
    assert row.count("unknown") == 7
    assert " 0.00" not in text


def test_another_currency_is_named_and_not_converted() -> None:
    text = search_text(found(an_offer(currency="CNY", fee=Decimal(170_000))), UTC)
    assert "170,000.00 CNY" in text
    assert "nothing is converted" in text


def test_ultraservers_have_their_own_reclaim() -> None:
    text = search_text(found(an_offer(**ULTRASERVER), ultraserver_type="u-trn2x64"), UTC)
    assert "4 in 1 x u-trn2x64" in text
    assert "ends 60 minutes before" in text


def test_no_offers_and_regions_that_did_not_answer() -> None:
    empty = replace(found(), not_asked=(("ap-south-2", "not enabled"),))
    assert lines_with(search_text(empty, UTC), "no offers")
    assert lines_with(search_text(empty, UTC), "ap-south-2 was not asked: not enabled")
    document = search_document(empty, UTC)
    assert document["offers"] == []
    assert document["not_asked"] == [{"region": "ap-south-2", "why": "not enabled"}]


def test_money_is_text_in_the_document() -> None:
    document = search_document(found(an_offer()), BERLIN)
    (offer,) = document["offers"]
    assert json.loads(json.dumps(document)) == document
    assert (offer["upfront_fee"], offer["currency"]) == ("24031.10", "USD")
    assert offer["fee_per_useful_chip_hour"] == "2.241707"
    assert offer["start_utc"] == "2026-12-01T11:30:00+00:00"
    assert offer["start_local"] == "2026-12-01T12:30:00+01:00"
    assert offer["reclaim_utc"] == "2026-12-08T11:00:00+00:00"
    assert offer["is_in_the_files_zone"] is True


def test_an_offer_in_a_sentence() -> None:
    assert offer_text(an_offer(), BERLIN) == (
        "cb-1: 4 x trn2.48xlarge in use2-az3, 2026-12-01 11:30 UTC (Tue 2026-12-01 12:30 CET) to "
        "2026-12-08 11:30 UTC (Tue 2026-12-08 12:30 CET), 24,031.10 USD"
    )


@pytest.mark.parametrize("state", sorted(STATE_WORDS))
def test_every_state_has_words(state: str) -> None:
    text = standing_text(replace(STANDING, reservation=replace(BLOCK, state=state)), NOW, UTC)
    assert f"{state}: {STATE_WORDS[state]}" in text


def test_a_state_that_nobody_knows_is_shown_as_it_is() -> None:
    text = standing_text(replace(STANDING, reservation=replace(BLOCK, state="defrosting")), NOW, UTC)
    assert "defrosting: a state that this version does not know" in text
    document = standing_document(replace(STANDING, reservation=replace(BLOCK, state="defrosting")), NOW, UTC)
    assert document["reservation"]["is_known_state"] is False


@pytest.mark.parametrize(
    ("interconnect", "words"),
    [
        ("ok", "links      ok"),
        ("impaired", "impaired: collectives between nodes will be slow or fail"),
        ("insufficient-data", "not known to EC2"),
        ("pondering", "links      pondering"),
        ("", "not answered"),
    ],
)
def test_the_health_of_the_links(interconnect: str, words: str) -> None:
    assert words in standing_text(
        replace(STANDING, reservation=replace(BLOCK, interconnect=interconnect)), NOW, UTC
    )


def test_the_three_moments_in_utc_and_local_time() -> None:
    text = standing_text(STANDING, NOW, BERLIN)
    assert "1. no new jobs from     2026-12-08 10:30 UTC (Tue 2026-12-08 11:30 CET)" in text
    assert "2. checkpoint and drain 2026-12-08 10:40 UTC (Tue 2026-12-08 11:40 CET)" in text
    assert "3. EC2 takes nodes from 2026-12-08 11:00 UTC (Tue 2026-12-08 12:00 CET)" in text
    assert "left: 7 days 22 h" in text
    moments = standing_document(STANDING, NOW, BERLIN)["moments"]
    assert moments["drain_utc"] == "2026-12-08T10:40:00+00:00"
    assert moments["drain_local"] == "2026-12-08T11:40:00+01:00"


def test_an_ultraserver_is_taken_back_an_hour_before_its_end() -> None:
    server = replace(BLOCK, ultraserver_type="u-trn2x64")
    text = standing_text(replace(STANDING, reservation=server), NOW, UTC)
    assert "3. EC2 takes nodes from 2026-12-08 10:30 UTC" in text
    assert "4 x trn2.48xlarge in UltraServer u-trn2x64" in text


def test_an_on_demand_reservation_has_no_such_moments() -> None:
    endless = replace(BLOCK, kind="default", end=None)
    text = standing_text(replace(STANDING, kind="reservation", reservation=endless), NOW, UTC)
    assert "when you cancel it" in text
    assert "no new jobs" not in text
    assert "links" not in text


def test_jobs_that_do_not_say_how_often_they_save_leave_two_moments_unknown() -> None:
    silent = replace(STANDING, jobs_without_checkpoint=("smoke",))
    text = standing_text(silent, NOW, UTC)
    unknown = "unknown: the file has no checkpoint_minutes for smoke"
    assert text.count(unknown) == 2
    assert "3. EC2 takes nodes from 2026-12-08 11:00 UTC" in text
    moments = standing_document(silent, NOW, UTC)["moments"]
    assert (moments["no_new_jobs_utc"], moments["drain_local"]) == (None, None)
    assert moments["reclaim_utc"] == "2026-12-08T11:00:00+00:00"


def test_extensions_and_what_could_not_be_asked() -> None:
    offer = ExtensionOffer("cbe-1", END, END + timedelta(days=1), 24, Decimal("3433.01"), "USD")
    asked = replace(STANDING, extensions=(offer,), not_asked=("the health of its links: no permission",))
    text = standing_text(asked, NOW, UTC)
    assert "extension  cbe-1: to 2026-12-09 11:30 UTC" in text
    assert "3,433.01 USD" in text
    assert "could not ask: the health of its links: no permission" in text
    (extension,) = standing_document(asked, NOW, UTC)["extensions"]
    assert extension["upfront_fee"] == "3433.01"


@pytest.mark.parametrize(
    ("standing", "words", "is_gone"),
    [
        (replace(STANDING, id=None, reservation=None), "not bought", False),
        (replace(STANDING, reservation=None), "EC2 knows no such reservation", True),
        (replace(STANDING, id=None, found_by_tag=True), "bought for this environment, but not in the file", False),
        (replace(STANDING, reservation=replace(BLOCK, state="expired")), "expired: over", True),
        (replace(STANDING, reservation=replace(BLOCK, state="payment-failed")), "buy again", True),
        (STANDING, "active", False),
    ],
)  # fmt: skip
def test_what_is_there_and_what_is_not(standing: Standing, words: str, is_gone: bool) -> None:
    assert words in standing_text(standing, NOW, UTC)
    assert standing.is_gone is is_gone
    json.dumps(standing_document(standing, NOW, UTC))


@pytest.mark.parametrize(
    ("duration", "words"),
    [
        (timedelta(0), "none"),
        (timedelta(days=-1), "none"),
        (timedelta(minutes=5), "5 min"),
        (timedelta(hours=2, minutes=5), "2 h 5 min"),
        (timedelta(days=1, hours=4, minutes=59), "1 day 4 h"),
    ],
)
def test_spans(duration: timedelta, words: str) -> None:
    assert span(duration) == words
