"""What to ask EC2 for, what offers are worth, and which are refused."""

from __future__ import annotations

import copy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.domain.capacity_market.durations import sold_hours
from stacks.domain.capacity_market.named_hardware import with_named_hardware
from stacks.domain.capacity_market.offers import Offer, Segment, ranked, valued
from stacks.domain.capacity_market.purchase import (
    budget_refusals,
    cautions,
    overlap_refusals,
    paid,
    purchase_tags,
    refusals,
    together_cautions,
    total_refusals,
)
from stacks.domain.capacity_market.wanted import (
    Options,
    Wanted,
    regions_that_offer,
    wanted_of,
    wanted_to_buy,
)
from stacks.domain.catalog import load_catalog
from stacks.domain.environment import Environment
from stacks.domain.errors import InputError
from stacks.domain.reservations import Reservation
from tests.environments import changed, loaded
from tests.unit.domain.capacity_offers import DAYS, NOW, START, ULTRASERVER, an_offer, wanted

BLOCK: dict[str, Any] = {
    "capacity.block": {"kind": "capacity-block", "id": None},
    "clusters.train.capacity": "block",
    "clusters.train.instance_type": "trn2.48xlarge",
}
FEE_MAX = Decimal(30_000)


def environment_with(*changes: dict[str, Any]) -> Environment:
    """The file with a capacity block, and changes to it."""
    merged = {path: value for one in (BLOCK, *changes) for path, value in one.items()}
    return loaded(changed(copy.deepcopy(merged))).environment


def wanted_by(changes: dict[str, Any] | None = None, **options: Any) -> Wanted:
    environment = environment_with(changes or {})
    (found,) = wanted_of(environment, load_catalog(), Options(**options), NOW)
    return found


@pytest.mark.parametrize(
    ("hours", "sold"),
    [("1", 24), ("1e-999999", 24), ("24", 24), ("24.5", 48), ("30", 48), ("336", 336), ("337", 21 * 24), ("504", 504), ("505", 28 * 24), ("4368", 4368)],
)  # fmt: skip
def test_a_duration_is_rounded_up_to_what_is_sold_and_says_so(hours: str, sold: int) -> None:
    found, note = sold_hours(Decimal(hours))
    assert found == sold
    assert bool(note) == (Decimal(hours) != sold)


@pytest.mark.parametrize("hours", ["0", "-24", "4369", "NaN", "Infinity", "1e30", "1e999999"])
def test_a_duration_that_no_block_has(hours: str) -> None:
    with pytest.raises(InputError):
        sold_hours(Decimal(hours))


@given(st.decimals("0.01", 4368))
def test_a_sold_duration_is_one_of_the_steps_and_never_too_short(hours: Decimal) -> None:
    sold, _ = sold_hours(hours)
    assert sold >= hours
    assert sold % 24 == 0
    assert sold <= 14 * 24 or sold % (7 * 24) == 0
    assert sold_hours(Decimal(sold)) == (sold, "")


DATE = datetime(2026, 12, 3, tzinfo=UTC)
FOUR = {"InstanceType": "trn2.48xlarge", "InstanceCount": 4}
MEMBERS = {"clusters.train.instance_type": "trn2u.48xlarge"}


@pytest.mark.parametrize(
    ("changes", "options", "parameters"),
    [
        ({}, {}, {**FOUR, "CapacityDurationHours": 168}),
        ({"lifetime_days": 15}, {}, {**FOUR, "CapacityDurationHours": 21 * 24}),
        ({}, {"hours": Decimal(30)}, {**FOUR, "CapacityDurationHours": 48}),
        ({}, {"nodes": 2}, {**FOUR, "InstanceCount": 2, "CapacityDurationHours": 168}),
        ({}, {"instance_type": "trn1.32xlarge"}, {**FOUR, "InstanceType": "trn1.32xlarge", "CapacityDurationHours": 168}),
        (
            {},
            {"start_from": DATE, "until": DATE + timedelta(days=9)},
            {**FOUR, "CapacityDurationHours": 168, "StartDateRange": DATE, "EndDateRange": DATE + timedelta(days=9)},
        ),
        (MEMBERS, {}, {"UltraserverType": "u-trn2x64", "UltraserverCount": 1, "CapacityDurationHours": 168}),
        (MEMBERS, {"nodes": 5}, {"UltraserverType": "u-trn2x64", "UltraserverCount": 2, "CapacityDurationHours": 168}),
        (MEMBERS, {"ultraservers": 3}, {"UltraserverType": "u-trn2x64", "UltraserverCount": 3, "CapacityDurationHours": 168}),
        (MEMBERS, {"unit": "instances"}, {"InstanceType": "trn2u.48xlarge", "InstanceCount": 4, "CapacityDurationHours": 168}),
        ({}, {"ultraserver_type": "u-trn3x144", "ultraservers": 1}, {"UltraserverType": "u-trn3x144", "UltraserverCount": 1, "CapacityDurationHours": 168}),
    ],
)  # fmt: skip
def test_the_two_shapes_of_a_request(
    changes: dict[str, Any], options: dict[str, Any], parameters: dict[str, Any]
) -> None:
    assert wanted_by(changes, **options).parameters() == parameters


@pytest.mark.parametrize(
    ("changes", "options", "words"),
    [
        ({}, {"hours": Decimal(30)}, "30 hours become 48"),
        (MEMBERS, {}, "u-trn2x64 is unverified"),
        (MEMBERS, {"nodes": 5}, "5 nodes: 2 UltraServers of 4 hold 8"),
        ({}, {"instance_type": "trn9.48xlarge"}, "trn9.48xlarge is not in the catalog"),
        ({}, {"instance_type": "trn1n.32xlarge"}, "EC2 did not list trn1n.32xlarge as sold in capacity blocks"),
        ({}, {"ultraserver_type": "u-trn3x144", "ultraservers": 1}, "u-trn3x144: your word for it"),
    ],
)  # fmt: skip
def test_what_is_uncertain_or_rounded_is_said(
    changes: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    assert any(words in note for note in wanted_by(changes, **options).notes)


TRN3 = {"clusters.train.instance_type": "trn3x.48xlarge", "clusters.train.shape": "trn3-gen2"}


def test_a_type_that_only_the_file_names_counts_as_its_shape_says() -> None:
    """36 members of 4 chips each: what EC2 calls such an UltraServer is the user's word."""
    environment = environment_with(TRN3, {"clusters.train.nodes": 72})
    options = Options(ultraserver_type="u-trn3x144")
    catalog = with_named_hardware(environment, load_catalog(), options)
    (found,) = wanted_of(environment, catalog, options, NOW)
    asked = {"UltraserverType": "u-trn3x144", "UltraserverCount": 2, "CapacityDurationHours": 168}
    assert found.parameters() == asked
    offer = an_offer(instance_type="", instances=None, ultraserver_type="u-trn3x144", ultraservers=2)
    one = valued(offer, catalog)
    assert (one.nodes, one.chips, one.useful_chip_hours) == (72, 288, Decimal(288 * 167))


def test_without_a_name_for_its_ultraserver_that_is_said() -> None:
    environment = environment_with(TRN3)
    catalog = with_named_hardware(environment, load_catalog(), Options())
    (found,) = wanted_of(environment, catalog, Options(), NOW)
    assert found.parameters()["InstanceType"] == "trn3x.48xlarge"
    assert any("--ultraserver-type asks for them" in note for note in found.notes)


def test_the_nodes_of_all_cells_are_wanted() -> None:
    assert wanted_by({"clusters.train.cells": 3}).nodes == 12


def test_an_exact_request_has_no_notes() -> None:
    assert wanted_by().notes == ()


SECOND = {
    "capacity.second": {"kind": "capacity-block", "id": None},
    "clusters.other": {
        "scheduler": "batch",
        "instance_type": "trn2.48xlarge",
        "nodes": 2,
        "capacity": "second",
    },
}


@pytest.mark.parametrize(
    ("changes", "options", "words"),
    [
        ({"clusters.train.capacity": "hourly"}, {}, "no cluster of the file is on capacity of kind capacity-block"),
        ({}, {"cluster": "trian"}, "no cluster 'trian'"),
        ({}, {"nodes": 65}, "at most 64"),
        (SECOND, {"nodes": 2}, "2 capacity blocks"),
        ({**SECOND, "clusters.other.capacity": "block", "clusters.other.instance_type": "trn1.32xlarge"}, {}, "a block has one type"),
        ({}, {"unit": "ultraservers"}, "no UltraServer type is known that is made of trn2.48xlarge"),
        ({}, {"ultraserver_type": "u-x"}, "how many nodes u-x has is not known"),
        ({}, {"until": NOW - timedelta(days=1)}, "no block of 168 hours fits"),
        ({}, {"until": NOW + timedelta(days=6)}, "no block of 168 hours fits"),
        ({}, {"start_from": NOW + timedelta(weeks=9)}, "within 8 weeks"),
        ({}, {"hours": Decimal(5000)}, "at most 182 days"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked(changes: dict[str, Any], options: dict[str, Any], words: str) -> None:
    environment = environment_with(changes)
    with pytest.raises(InputError) as caught:
        wanted_of(environment, load_catalog(), Options(**options), NOW)
    assert words in caught.value.message


def test_each_block_is_wanted_for_itself_and_clusters_of_one_block_together() -> None:
    environment = environment_with(SECOND)
    found = wanted_of(environment, load_catalog(), Options(), NOW)
    assert [(one.capacity, one.nodes) for one in found] == [("block", 4), ("second", 2)]
    shared = environment_with(SECOND, {"clusters.other.capacity": "block"})
    (both,) = wanted_of(shared, load_catalog(), Options(), NOW)
    assert (both.nodes, both.clusters) == (6, ("train", "other"))


def test_the_block_to_buy_is_the_one_that_is_lacking() -> None:
    environment = environment_with(SECOND, {"capacity.block.id": "cr-0123456789abcdef0"})
    found = wanted_of(environment, load_catalog(), Options(), NOW)
    assert wanted_to_buy(environment, found).capacity == "second"
    two = environment_with(SECOND)
    with pytest.raises(InputError, match="several blocks to buy: block, second"):
        wanted_to_buy(two, wanted_of(two, load_catalog(), Options(), NOW))


def test_only_a_capacity_block_is_bought() -> None:
    environment = environment_with({"clusters.train.capacity": "hourly"})
    found = wanted_of(environment, load_catalog(), Options(cluster="train"), NOW)
    with pytest.raises(InputError, match="capacity hourly is of kind on-demand"):
        wanted_to_buy(environment, found)


def test_everywhere_begins_with_the_files_region() -> None:
    assert regions_that_offer("trn2.48xlarge", load_catalog(), "us-east-2") == ("us-east-2", "ap-south-2")
    assert regions_that_offer("trn2.48xlarge", load_catalog(), "us-west-2") == (
        "us-west-2",
        "ap-south-2",
        "us-east-2",
    )
    assert regions_that_offer("trn9.48xlarge", load_catalog(), "us-west-2") == ("us-west-2",)


def test_the_price_of_a_chip_hour_is_that_of_the_hours_before_the_reclaim() -> None:
    one = valued(an_offer(fee=Decimal(1000)), load_catalog())
    assert (one.nodes, one.chips) == (4, 64)
    assert one.node_hours == 4 * 168
    assert one.useful_chip_hours == 64 * Decimal("167.5")
    assert one.fee_per_node_hour == Decimal(1000) / (4 * 168)
    assert one.fee_per_useful_chip_hour == Decimal(1000) / (64 * Decimal("167.5"))


def test_an_ultraserver_loses_a_whole_hour_and_counts_its_members() -> None:
    one = valued(an_offer(**ULTRASERVER, instances=None), load_catalog())
    assert (one.nodes, one.chips) == (4, 64)
    assert one.useful_chip_hours == 64 * 167


def test_each_segment_loses_its_own_end() -> None:
    parts = tuple(
        Segment("trn2.48xlarge", "use2-az3", count, START, START, hours * 60)
        for count, hours in ((2, 72), (4, 96))
    )
    one = valued(an_offer(segments=parts), load_catalog())
    assert one.useful_chip_hours == 2 * 16 * Decimal("71.5") + 4 * 16 * Decimal("95.5")


@pytest.mark.parametrize(
    "unknown",
    [
        {"fee": None},
        {"minutes": None},
        {"instances": None},
        {"instance_type": "trn9.48xlarge"},
        {"minutes": 20},
    ],
)
def test_what_is_unknown_makes_the_price_unknown_never_zero(unknown: dict[str, Any]) -> None:
    assert valued(an_offer(**unknown), load_catalog()).fee_per_useful_chip_hour is None


offers = st.builds(
    an_offer,
    id=st.text("abc0123", min_size=1, max_size=6),
    fee=st.none() | st.decimals(0, 100_000, places=2),
    currency=st.sampled_from(["USD", "USD", "CNY", ""]),
    minutes=st.none() | st.integers(1, 20_000),
    instances=st.none() | st.integers(1, 64),
    instance_type=st.sampled_from(["trn2.48xlarge", "trn1.32xlarge", "trn9.48xlarge", ""]),
    start=st.none() | st.datetimes(timezones=st.just(UTC)),
)


@given(st.lists(offers, max_size=8), st.randoms())
def test_the_order_of_offers(listed: list[Offer], random: Any) -> None:
    """Dollars by price, then other currencies by price, then what has none; whatever the order of the answer."""
    found = ranked(listed, load_catalog())
    groups = [(one.fee_per_useful_chip_hour is None, one.offer.currency != "USD") for one in found]
    assert groups == sorted(groups)
    for first, second in pairwise(found):
        if first.offer.currency == second.offer.currency and second.fee_per_useful_chip_hour is not None:
            assert first.fee_per_useful_chip_hour is not None
            assert first.fee_per_useful_chip_hour <= second.fee_per_useful_chip_hour
    shuffled = list(listed)
    random.shuffle(shuffled)
    key = [
        (one.offer.id, one.fee_per_useful_chip_hour, one.offer.start)
        for one in ranked(shuffled, load_catalog())
    ]
    assert sorted(map(str, key)) == sorted(
        str((one.offer.id, one.fee_per_useful_chip_hour, one.offer.start)) for one in found
    )


def test_money_is_exact() -> None:
    one = valued(an_offer(fee=Decimal("0.30"), instances=1, minutes=60 * 24), load_catalog())
    assert one.fee_per_node_hour == Decimal("0.0125")


def test_an_offer_that_fits_is_not_refused() -> None:
    assert refusals(an_offer(), wanted(), FEE_MAX, NOW) == ()
    exactly = Decimal("24031.10")
    assert refusals(an_offer(), wanted(), exactly, NOW) == ()


MEMBER = wanted(instance_type="trn2u.48xlarge", ultraserver_type="u-trn2x64", ultraservers=1)


def test_an_ultraserver_whose_member_is_not_named_fits() -> None:
    offer = an_offer(**{**ULTRASERVER, "instance_type": ""}, instances=None)
    assert refusals(offer, MEMBER, FEE_MAX, NOW) == ()


PARTS = (Segment("trn2.48xlarge", "use2-az3", 2, START, START, 60),) * 2


@pytest.mark.parametrize(
    ("offer", "want", "words"),
    [
        ({"fee": Decimal("30000.01")}, {}, "the fee is 30000.01 USD, --max-fee allows 30000"),
        ({"fee": None}, {}, "no fee that can be read"),
        ({"currency": "CNY", "fee": Decimal(1)}, {}, "nothing is converted"),
        ({"currency": "", "fee": Decimal(1)}, {}, "a currency that EC2 does not name"),
        ({"zone_id": "use2-az1"}, {}, "it is in use2-az1, the file's network in use2-az3"),
        ({"zone_id": "", "zone": "us-east-2c"}, {}, "it is in us-east-2c, the file's network"),
        ({"zone_id": "", "zone": ""}, {}, "a zone that EC2 does not name"),
        ({"region": "ap-south-2"}, {}, "it is in ap-south-2, the file in us-east-2"),
        ({"instance_type": "trn1.32xlarge"}, {}, "it is of trn1.32xlarge, the file wants trn2.48xlarge"),
        ({"instance_type": ""}, {}, "an unnamed type"),
        ({"instances": 2}, {}, "it has 2 instances, the file wants 4"),
        ({"instances": None}, {}, "an unknown number of instances"),
        ({"tenancy": "dedicated"}, {}, "its tenancy is dedicated"),
        ({"tenancy": "communal"}, {}, "its tenancy is communal"),
        ({"segments": PARTS}, {}, "it is made of 2 blocks, the file can name one"),
        (ULTRASERVER, {}, "it is of UltraServers u-trn2x64, the file wants plain instances"),
        ({**ULTRASERVER, "ultraservers": 2}, {"instance_type": "trn2u.48xlarge", "ultraserver_type": "u-trn2x64", "ultraservers": 1}, "it has 2 UltraServers, the file wants 1"),
        ({"end": NOW, "start": NOW - timedelta(days=DAYS)}, {}, "no time is left in it"),
        ({"end": NOW + timedelta(minutes=30), "start": NOW - timedelta(days=DAYS)}, {}, "no time is left in it"),
        ({"start": None}, {}, "does not say when it begins and ends"),
        ({"end": None}, {}, "does not say when it begins and ends"),
    ],
)  # fmt: skip
def test_every_refusal(offer: dict[str, Any], want: dict[str, Any], words: str) -> None:
    found = refusals(an_offer(**offer), wanted(**want), FEE_MAX, NOW)
    assert any(words in reason for reason in found), found


def test_all_reasons_are_given_at_once() -> None:
    offer = an_offer(fee=Decimal(99_999), zone_id="use2-az1", instances=1)
    assert len(refusals(offer, wanted(), FEE_MAX, NOW)) == 3


@pytest.mark.parametrize(
    ("begins_in_minutes", "words"), [(30, "in less than an hour"), (-30, "it has begun at"), (120, None)]
)
def test_a_start_that_is_near_or_over_is_said(begins_in_minutes: int, words: str | None) -> None:
    found = cautions(an_offer(start=NOW + timedelta(minutes=begins_in_minutes)), NOW)
    assert [words in caution for caution in found if words] == ([True] if words else [])
    assert bool(found) == bool(words)


def test_a_block_is_found_again_by_its_tags() -> None:
    assert purchase_tags("pilot", "team", "block", an_offer()) == {
        "neuronkit:environment": "pilot",
        "neuronkit:capacity": "block",
        "neuronkit:offering": "cb-1",
        "neuronkit:fee-usd": "24031.10",
        "neuronkit:owner": "team",
    }


def a_held_block(fee: str | None = "20000", **more: Any) -> Reservation:
    values = {"start": START, "end": START + timedelta(days=DAYS), **more}
    block = Reservation("cr-1", "capacity-block", "trn2u.48xlarge", "use2-az3", 4, 4, "scheduled", **values)
    return block if fee is None else replace(block, tags=(("neuronkit:fee-usd", fee),))


TOO_MUCH = "the fees are 48062.20 USD together; --max-fee allows 48062"
LATER = {"start": START + timedelta(days=DAYS), "end": START + timedelta(days=2 * DAYS)}


@pytest.mark.parametrize(
    ("offers", "held", "fee_max", "reasons"),
    [
        ([an_offer()], [], "1", []),
        ([an_offer(), an_offer()], [], "48062.20", []),
        ([an_offer(), an_offer()], [], "48062", [TOO_MUCH]),
        ([an_offer()], [a_held_block()], "44031.10", []),
        ([an_offer()], [a_held_block()], "44031", ["the fees are 44031.10 USD together, 20000 of them paid before; --max-fee allows 44031"]),
        ([an_offer()], [a_held_block(None)], "24031.10", []),
        ([an_offer()], [a_held_block("a lot")], "24031.10", []),
    ],
)  # fmt: skip
def test_blocks_that_are_refused_together(
    offers: list[Offer], held: list[Reservation], fee_max: str, reasons: list[str]
) -> None:
    assert list(total_refusals(offers, held, Decimal(fee_max))) == reasons


NEVER = "they never run at the same time, and the cluster needs all of them"
ONLY = "all of them run only from 2026-12-02 11:30 UTC to 2026-12-08 11:30 UTC"
SHORT = f"{ONLY}: 6 days 0 h of 7 days 0 h; name offerings of the same time, or say --overlap-ok"
NEXT_DAY = {"start": START + timedelta(days=1), "end": START + timedelta(days=DAYS + 1)}


@pytest.mark.parametrize(
    ("offers", "held", "hours", "is_overlap_ok", "reasons"),
    [
        ([an_offer()], [], 168, False, []),
        ([an_offer(), an_offer()], [], 168, False, []),
        ([an_offer(), an_offer()], [], 192, False, []),
        ([an_offer(), an_offer(**LATER)], [], 168, True, [NEVER]),
        ([an_offer()], [a_held_block(**LATER)], 168, True, [NEVER]),
        ([an_offer(), an_offer(**NEXT_DAY)], [], 168, False, [SHORT]),
        ([an_offer()], [a_held_block(**NEXT_DAY)], 168, False, [SHORT]),
        ([an_offer(), an_offer(**NEXT_DAY)], [], 168, True, []),
        ([an_offer(), an_offer(**NEXT_DAY)], [], 144, False, []),
        ([an_offer()], [a_held_block(end=None)], 168, False, []),
    ],
)  # fmt: skip
def test_blocks_of_one_cluster_have_to_run_at_the_same_time(
    offers: list[Offer], held: list[Reservation], hours: int, is_overlap_ok: bool, reasons: list[str]
) -> None:
    assert list(overlap_refusals(offers, held, hours, is_overlap_ok=is_overlap_ok)) == reasons


OVER = "budget_usd of the file is 30,000.00 USD; if you mean to pay it, write at least"


@pytest.mark.parametrize(
    ("offers", "earlier", "reasons"),
    [
        ([an_offer(fee=Decimal(30_000))], [], []),
        ([an_offer(fee=Decimal("30000.01"))], [], [f"the fee is 30,000.01 USD: {OVER} 30000.01 there"]),
        ([an_offer(), an_offer()], [], [f"the fees are 48,062.20 USD: {OVER} 48062.20 there"]),
        ([an_offer()], [a_held_block()], [f"the fee is 24,031.10 USD, and 20,000.00 USD are paid for cr-1: {OVER} 44031.10 there"]),
        ([an_offer()], [replace(a_held_block(), state="expired")], [f"the fee is 24,031.10 USD, and 20,000.00 USD are paid for cr-1: {OVER} 44031.10 there"]),
        ([an_offer()], [replace(a_held_block(), state="payment-failed"), a_held_block(None), replace(a_held_block(), kind="default")], []),
    ],
)  # fmt: skip
def test_the_budget_counts_whatever_was_paid_for_the_environment(
    offers: list[Offer], earlier: list[Reservation], reasons: list[str]
) -> None:
    assert list(budget_refusals(offers, earlier, Decimal("30000.0"))) == reasons


@pytest.mark.parametrize("text", [None, "", "a lot", "NaN", "Infinity", "-5"])
def test_a_tag_that_is_no_amount_is_no_fee(text: str | None) -> None:
    assert paid(a_held_block(text)) is None


def test_what_to_know_of_blocks_together() -> None:
    assert list(together_cautions([an_offer(), an_offer()], [a_held_block()], [a_held_block()])) == []
    later = an_offer(start=START + timedelta(days=1))
    assert list(together_cautions([later], [a_held_block(None)], [a_held_block(None)])) == [
        ONLY,
        "what cr-1 cost is not noted: --max-fee and budget_usd are compared without it",
    ]


ULTRASERVERS_UNDER_SLURM: dict[str, Any] = {
    "region": "ap-south-2",
    "network.zone_id": "aps2-az1",
    "clusters.train.instance_type": "trn2u.48xlarge",
    "clusters.train.scheduler": "slurm",
    "clusters.train.slurm": {"shared_storage": {"kind": "efs"}},
}


@pytest.mark.parametrize(
    ("nodes", "options", "blocks", "asked"),
    [
        (4, {}, 1, {"UltraserverType": "u-trn2x64", "UltraserverCount": 1}),
        (8, {}, 2, {"UltraserverType": "u-trn2x64", "UltraserverCount": 1}),
        (10, {}, 3, {"UltraserverType": "u-trn2x64", "UltraserverCount": 1}),
        (8, {"unit": "instances"}, 2, {"InstanceType": "trn2u.48xlarge", "InstanceCount": 4}),
    ],
)
def test_under_slurm_each_ultraserver_is_a_block(
    nodes: int, options: dict[str, Any], blocks: int, asked: dict[str, Any]
) -> None:
    found = wanted_by({**ULTRASERVERS_UNDER_SLURM, "clusters.train.nodes": nodes}, **options)
    assert (found.blocks, found.nodes) == (blocks, 4)
    assert found.parameters() == {**asked, "CapacityDurationHours": DAYS * 24}
    assert any("one reservation for each UltraServer" in note for note in found.notes) == (blocks > 1)
    assert found.text().startswith(f"{blocks} blocks of " if blocks > 1 else "1 x u-trn2x64")


def test_under_batch_ultraservers_are_one_block() -> None:
    changes = {**ULTRASERVERS_UNDER_SLURM, "clusters.train.scheduler": "batch", "clusters.train.nodes": 8}
    found = wanted_by({**changes, "clusters.train.slurm": None})
    assert (found.blocks, found.ultraservers, found.nodes) == (1, 2, 8)


def test_what_names_all_its_ids_lacks_nothing() -> None:
    ids = ["cr-00000000000000001", "cr-00000000000000002"]
    named = {
        **ULTRASERVERS_UNDER_SLURM,
        "clusters.train.nodes": 8,
        "capacity.block": {"kind": "capacity-block", "ids": ids},
    }
    other = {
        "capacity.second": {"kind": "capacity-block"},
        "clusters.other": {**SECOND["clusters.other"], "instance_type": "trn2u.48xlarge"},
    }
    environment = environment_with(named, other)
    found = wanted_of(environment, load_catalog(), Options(), NOW)
    assert wanted_to_buy(environment, found).capacity == "second"
