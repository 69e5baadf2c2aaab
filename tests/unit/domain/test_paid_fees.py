"""What blocks have cost is known from their tag, and the plan counts it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from stacks.domain.capacity_market.paid_fees import paid_fees
from stacks.domain.catalog import load_catalog
from stacks.domain.cost import Basis, estimate
from stacks.domain.live import CouldNotAsk, LiveFacts
from stacks.domain.plan import Plan, make_plan
from stacks.domain.prices import Discount, PriceKey, Prices, UnitPrice
from stacks.domain.reservations import Reservation
from tests.environments import changed, loaded

IDS = ("cr-00000000000000001", "cr-00000000000000002")
START = datetime(2026, 12, 1, 11, 30, tzinfo=UTC)
ONE: dict[str, Any] = {
    "capacity.block": {"kind": "capacity-block", "id": IDS[0]},
    "clusters.train.capacity": "block",
}
TWO: dict[str, Any] = {
    **ONE,
    "capacity.block": {"kind": "capacity-block", "ids": list(IDS)},
    "region": "ap-south-2",
    "network.zone_id": "aps2-az1",
    "clusters.train.instance_type": "trn2u.48xlarge",
    "clusters.train.scheduler": "slurm",
    "clusters.train.slurm": {"shared_storage": {"kind": "efs"}},
    "clusters.train.nodes": 8,
}
KEY = PriceKey("capacity", "block")


def plan(changes: dict[str, Any]) -> Plan:
    return make_plan(loaded(changed(changes)).environment, None, load_catalog())


def bought(id_: str = IDS[0], fee: str | None = "24031.10", days: int = 7) -> Reservation:
    tags = () if fee is None else (("neuronkit:fee-usd", fee),)
    end = START + timedelta(days=days)
    return Reservation(
        id_, "capacity-block", "trn2.48xlarge", "use2-az3", 4, 4, "scheduled", start=START, end=end, tags=tags
    )


def live(*blocks: Reservation) -> LiveFacts:
    return LiveFacts(reservations={block.id: block for block in blocks})


def test_the_fee_of_a_block_is_what_its_tag_says_spread_over_its_hours() -> None:
    price = paid_fees(plan(ONE), live(bought()))[KEY]
    assert (price.usd, price.unit, price.hours) == (24031.10, "block", 168)
    assert price.source == f"paid: tag neuronkit:fee-usd of {IDS[0]}"


def test_the_fees_of_several_blocks_are_one() -> None:
    price = paid_fees(plan(TWO), live(bought(), bought(IDS[1], "20000")))[KEY]
    assert price.usd == 44031.10
    assert all(id_ in price.source for id_ in IDS)


def test_one_without_the_tag_leaves_the_fee_unknown() -> None:
    price = paid_fees(plan(TWO), live(bought(), bought(IDS[1], None)))[KEY]
    assert price.usd is None
    assert f"{IDS[1]} without the tag" in price.source


@pytest.mark.parametrize(
    ("changes", "facts"),
    [
        (ONE, LiveFacts()),
        (ONE, LiveFacts(reservations={IDS[0]: CouldNotAsk("no permission")})),
        (ONE, LiveFacts(reservations={IDS[0]: None})),
        (TWO, live(bought())),
        ({}, live(bought())),
        ({**ONE, "capacity.block": {"kind": "capacity-block"}}, live(bought())),
    ],
)
def test_what_ec2_has_not_described_says_nothing(changes: dict[str, Any], facts: LiveFacts) -> None:
    assert paid_fees(plan(changes), facts) == {}


def test_a_discount_takes_nothing_off_what_is_paid_and_the_users_own_price_wins() -> None:
    made = plan(ONE)
    fees = paid_fees(made, live(bought()))
    discounts = {"AmazonEC2": Discount(50, "our contract")}
    cost = estimate(made, load_catalog(), Basis(Prices(live=fees, discounts=discounts)))
    assert cost.usd_upfront == 24031.10
    own = {made.region: {KEY: UnitPrice(1.0, "block", "ours", "2026-11-30")}}
    assert estimate(made, load_catalog(), Basis(Prices(own=own, live=fees))).usd_upfront == 1.0
