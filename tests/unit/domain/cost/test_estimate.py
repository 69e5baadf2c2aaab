"""The arithmetic of a cost, against numbers worked out by hand from the price lists."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.domain.catalog import Catalog, load_catalog
from stacks.domain.catalog.prices import earliest_date
from stacks.domain.cost import (
    Basis,
    Cost,
    Inventory,
    NodeGroup,
    Paid,
    cost_of,
    estimate,
    inventory_of,
    price_keys,
)
from stacks.domain.plan import Plan
from stacks.domain.plan_report import plan_document, plan_text
from stacks.domain.prices import PriceKey, Prices, UnitPrice, service_key
from stacks.domain.render.starters import STARTERS
from tests.environments import plan_of, starter_plan
from tests.unit.domain.ultraserver_cases import BROUGHT, trainium4, trn3, ultraservers

BLOCK_FEE = UnitPrice(20_000.0, "block", "the offering", "2026-11-01", hours=200)
DASHBOARD = 3 / 730
TODAY = date(2026, 11, 30)


def cost(starter: str, **basis: Any) -> Cost:
    return estimate(starter_plan(starter), load_catalog(), Basis(**basis))


# starter -> $/hour while nodes run, $/hour always, lifetime in hours: none of them computed by the kit
STARTER_TABLE = {
    "trn1-first-hour": (1.34375 + 128 * 0.08 / 730, 0.045 + 0.005 + DASHBOARD, 24),
    "trn1-pilot": (4 * 21.5 + 2048 * 0.08 / 730, 0.045 + 0.005 + DASHBOARD, 7 * 24),
    "trn2-pilot": (2048 * 0.08 / 730, 0.045 + 0.005 + DASHBOARD, 7 * 24),
    # Slurm: no dashboard; a login node with a volume as large as a node's; nodes of a bought block are always there.
    "trn1-slurm": (4 * 21.5 + 2048 * 0.08 / 730, 0.045 + 0.005 + 512 * 0.08 / 730, 7 * 24),
    "trn2-slurm": (0, 0.045 + 0.005 + (2048 + 512) * 0.08 / 730, 7 * 24),
    # Hyderabad: no price of anything is in the data.
    "trn2-ultraserver": (0, 0, 7 * 24),
    "trn3-ultraserver": (0, 0.045 + 0.005 + (2048 + 512) * 0.08 / 730, 7 * 24),
    # Fleets: their least nodes always; the load balancer has no price in these regions.
    "inf2-serving": (1.96786 + 1.861 + 400 * 0.08 / 730, 0.05 + 1.96786 + 200 * 0.08 / 730, 14 * 24),
    "trn2-serving": (0, 0.05 + 200 * 0.08 / 730, 7 * 24),
    "encoder-serving": (2 * 0.7582 + 400 * 0.08 / 730, 0.05, 14 * 24),
    # A shift: of five nodes one always serves, and four serve or train, never both.
    "day-night": (4 * 21.5 + 2048 * 0.08 / 730, 0.05 + DASHBOARD + 21.5 + 200 * 0.08 / 730, 14 * 24),
    "inf1-serving": (0.362 + 200 * 0.08 / 730, 0.05 + 0.362 + 200 * 0.08 / 730, 14 * 24),
}


@pytest.mark.parametrize("starter", STARTERS)
def test_the_starters_by_hand(starter: str) -> None:
    running, idle, hours = STARTER_TABLE[starter]
    found = cost(starter)
    assert found.running_usd_per_hour == pytest.approx(running)
    assert found.idle_usd_per_hour == pytest.approx(idle)
    assert found.known_usd_per_hour == pytest.approx(running + idle)
    assert found.known_usd_lifetime == pytest.approx((running + idle) * hours)


def test_time_is_known_where_use_is_not() -> None:
    found = cost("trn1-first-hour")
    assert found.usd_per_hour == pytest.approx(found.known_usd_per_hour)
    assert found.unknown_prices == ()
    assert found.usd_lifetime is None
    assert found.unknown == (
        "data through the NAT gateway",
        "data in the bucket (S3 Standard)",
        "logs of jobs (CloudWatch Logs, ingestion)",
        "detailed monitoring of nodes (CloudWatch metrics)",
    )


def test_what_the_user_assumes_of_use_counts_once() -> None:
    """100 GB through NAT, 500 GB kept for 7 of 730 / 24 days, 10 GB of logs."""
    found = cost("trn1-pilot", assumed={"nat-gateway-data": 100, "s3-standard": 500, "logs-ingestion": 10})
    used = 100 * 0.045 + 500 * 0.023 * 168 / 730 + 10 * 0.5
    assert found.known_usd_lifetime == pytest.approx(cost("trn1-pilot").known_usd_lifetime + used)
    assert found.usd_per_hour == cost("trn1-pilot").usd_per_hour
    assert found.unknown == ("detailed monitoring of nodes (CloudWatch metrics)",)


def test_with_every_quantity_and_price_the_lifetime_is_known() -> None:
    plan = plan_of({"region": "us-west-2", "network.zone_id": "usw2-az4"})
    assumed = {"nat-gateway-data": 0, "s3-standard": 0, "logs-ingestion": 0, "custom-metric": 28}
    own = {
        service_key(item): UnitPrice(0.05, "GB", "ours", "2026-11-01")
        for item in ("nat-gateway-data", "s3-standard")
    }
    found = estimate(plan, load_catalog(), Basis(Prices(own={"us-west-2": own}), assumed=assumed))
    hourly = 4 * 21.5 + 2048 * 0.08 / 730 + 0.05 + DASHBOARD
    assert found.unknown == ()
    assert found.usd_lifetime == pytest.approx(168 * (hourly + 28 * 0.3 / 730))


def test_an_unknown_price_is_never_zero() -> None:
    """A block's fee comes from its offering; the price list says $0.00 for its hours."""
    plan = starter_plan("trn2-pilot")
    found = estimate(plan, load_catalog())
    document = plan_document(plan, found, (), load_catalog())["cost"]
    assert document["usd_per_hour"] is None
    assert document["usd_lifetime"] is None
    assert document["usd_upfront"] is None
    assert "capacity block: the fee of a block for 4 x trn2.48xlarge" in document["unknown"]
    line = next(line for line in document["lines"] if line["paid"] == "up front")
    assert line["unit_usd"] is None
    assert line["usd_per_hour"] is None
    assert "unknown" in plan_text(plan, found, load_catalog())


def test_a_known_fee_is_spread_over_the_blocks_hours_and_paid_once() -> None:
    found = cost("trn2-pilot", prices=Prices(own={"us-east-2": {PriceKey("capacity", "block"): BLOCK_FEE}}))
    running, idle, hours = STARTER_TABLE["trn2-pilot"]
    assert found.usd_upfront == 20_000
    assert found.usd_per_hour == pytest.approx(100 + running + idle)
    assert found.known_usd_lifetime == pytest.approx(20_000 + (running + idle) * hours)
    assert found.known_usd_committed == pytest.approx(20_000 + idle * hours)


def test_two_clusters_on_one_block_pay_its_fee_once() -> None:
    shared = {"capacity.hourly": {"kind": "capacity-block", "id": None}}
    more = {"scheduler": "batch", "instance_type": "trn2.48xlarge", "nodes": 2, "capacity": "hourly"}
    plan = plan_of({**shared, "clusters.train": {**more, "nodes": 4}, "clusters.more": more})
    own = {PriceKey("capacity", "hourly"): BLOCK_FEE}
    found = estimate(plan, load_catalog(), Basis(Prices(own={"us-east-2": own})))
    assert found.usd_upfront == 20_000
    assert sum(line.paid is Paid.UP_FRONT for line in found.lines) == 1


def test_a_reservation_is_paid_at_the_on_demand_price_used_or_not() -> None:
    plan = plan_of({"capacity.hourly": {"kind": "reservation", "id": "cr-0aaaabbbbccccdddd"}})
    found = estimate(plan, load_catalog())
    assert found.idle_usd_per_hour == pytest.approx(4 * 21.5 + 0.05 + DASHBOARD)


def test_no_line_for_what_is_not_there() -> None:
    bare = replace(
        inventory_of(plan_of()), nat_gateways=0, public_addresses=0, dashboards=0, log_groups=0, buckets=0
    )
    lines = cost_of(bare, 7, load_catalog()).lines
    assert [line.what.partition(":")[0] for line in lines] == [
        "train",
        "train",
        "detailed monitoring of nodes (CloudWatch metrics)",
    ]
    assert {key.name for key in price_keys(bare)} == {"trn1.32xlarge", "ebs-gp3", "custom-metric"}


@pytest.mark.parametrize("starter", STARTERS)
def test_every_line_says_where_when_and_what_for(starter: str) -> None:
    for line in cost(starter).lines:
        assert line.region == starter_plan(starter).region
        assert line.source
        assert line.unit_usd is None or earliest_date(line.as_of or "")
        keys = {"what", "quantity", "unit", "unit_usd", "usd_per_hour", "region", "source", "as_of", "paid"}
        assert set(line.as_dict()) >= keys


@pytest.mark.parametrize(
    ("as_of", "today", "stale"),
    [
        ("2026-07-20", date(2027, 1, 16), False),
        ("2026-07-20", date(2027, 1, 17), True),
        ("2026-07", date(2026, 12, 28), False),
        ("2026-07", date(2026, 12, 29), True),
        ("2026", date(2026, 6, 30), False),
        ("2026", date(2026, 7, 1), True),
        ("2026-07-20", date(2026, 7, 19), False),
        ("2026-07-20", None, False),
    ],
)
def test_a_price_is_old_after_180_days_from_the_first_day_it_may_be_of(
    as_of: str, today: date | None, stale: bool
) -> None:
    own = {PriceKey("on-demand", "trn1.2xlarge"): UnitPrice(1.0, "instance-hour", "ours", as_of)}
    line = cost("trn1-first-hour", prices=Prices(own={"us-east-1": own}), as_of=today).lines[0]
    assert line.is_stale is stale


def test_old_prices_are_named_in_the_text() -> None:
    plan = starter_plan("trn2-pilot")
    text = plan_text(plan, estimate(plan, load_catalog(), Basis(as_of=TODAY)), load_catalog())
    assert "OLD: 2023-03-01" in text
    assert "prices older than 180 days on 2026-11-30: train: 2,048 GiB root volumes (gp3)" in text
    assert "OLD" not in plan_text(plan, estimate(plan, load_catalog()), load_catalog())


def test_units_stand_in_the_header() -> None:
    plan = starter_plan("trn1-first-hour")
    header = next(
        line
        for line in plan_text(plan, estimate(plan, load_catalog()), load_catalog()).splitlines()
        if "$/unit" in line
    )
    assert header.split()[:6] == ["cost", "quantity", "unit", "$/unit", "$/hour", "paid"]


GROUPS = st.lists(
    st.builds(
        NodeGroup,
        name=st.sampled_from(["a", "b", "c"]),
        instance_type=st.sampled_from(["trn1.2xlarge", "trn1.32xlarge", "trn2.48xlarge", "inf2.48xlarge"]),
        nodes=st.integers(1, 40_000),
        root_volume_gib=st.integers(64, 16_384),
        capacity_name=st.sampled_from(["x", "y"]),
        capacity_kind=st.sampled_from(["on-demand", "reservation", "capacity-block"]),
    ),
    min_size=1,
    max_size=3,
)


def inventory(groups: list[NodeGroup], region: str) -> Inventory:
    return Inventory(region, tuple(groups), 1, 1, len(groups), len(groups), 1)


@given(
    groups=GROUPS, region=st.sampled_from(["us-east-1", "us-east-2", "sa-east-1"]), days=st.integers(1, 365)
)
def test_totals_are_what_the_lines_add_up_to_and_unknown_never_counts_as_nothing(
    groups: list[NodeGroup], region: str, days: int
) -> None:
    found = cost_of(inventory(groups, region), days, load_catalog())
    assert found.known_usd_per_hour == pytest.approx(sum(line.usd_per_hour or 0 for line in found.lines))
    assert found.known_usd_lifetime == pytest.approx(
        sum(line.usd_over(days * 24) or 0 for line in found.lines)
    )
    for line in found.lines:
        is_unknown = line.quantity is None or line.unit_usd is None
        assert (line.usd is None) == is_unknown == (line.what in found.unknown)
        assert line.usd is None or line.usd > 0
    assert (found.usd_per_hour is None) == bool(found.unknown_prices)
    assert (found.usd_lifetime is None) == bool(found.unknown)
    assert found.known_usd_committed <= found.known_usd_lifetime + 1e-6


@given(nodes=st.integers(1, 20_000), factor=st.integers(2, 50))
def test_what_nodes_cost_grows_with_their_number_and_nothing_else_does(nodes: int, factor: int) -> None:
    def of(count: int) -> Cost:
        group = NodeGroup("train", "trn1.32xlarge", count, 512, "hourly", "on-demand")
        return cost_of(inventory([group], "us-east-1"), 7, load_catalog())

    assert of(nodes * factor).running_usd_per_hour == pytest.approx(factor * of(nodes).running_usd_per_hour)
    assert of(nodes * factor).idle_usd_per_hour == of(nodes).idle_usd_per_hour


def test_a_type_without_a_price_exists_all_the_same() -> None:
    """SkyPilot#8054 and others took a price table for the list of what exists."""
    catalog: Catalog = load_catalog()
    for name in ("trn2.48xlarge", "trn2u.48xlarge", "trn2.3xlarge"):
        assert catalog.get(name) is not None
        price = Prices().find(PriceKey("on-demand", name), catalog, "us-east-2")
        assert price.usd is None
        assert "no on-demand price in us-east-2" in price.source


def test_a_third_partys_price_is_a_hint_and_no_price() -> None:
    price = Prices().find(PriceKey("on-demand", "inf2.48xlarge"), load_catalog(), "us-east-2")
    assert price.usd is None
    assert price.source.startswith("only a third party quotes $12.98 an hour")


def test_a_network_of_the_users_has_no_nat_gateway_of_ours() -> None:
    found = estimate(plan_of(BROUGHT), load_catalog())
    assert not any("NAT" in line.what for line in found.lines)
    assert found.idle_usd_per_hour == pytest.approx(DASHBOARD)


def test_each_cell_is_an_environment_with_what_is_always_paid() -> None:
    whole = inventory_of(plan_of({"clusters.train.nodes": 8, "clusters.train.cells": 4}))
    assert (whole.nat_gateways, whole.public_addresses, whole.buckets, whole.dashboards) == (4, 4, 4, 4)
    assert [group.nodes for group in whole.node_groups] == [32]


@pytest.mark.parametrize("changes", [trn3(), trainium4()])
def test_what_only_the_file_names_has_no_price_and_says_so(changes: dict[str, Any]) -> None:
    found = estimate(plan_of(changes), load_catalog())
    assert found.usd_per_hour is None
    assert "no on-demand price in us-east-2 in any source" in found.lines[0].source


def test_half_a_million_chips_have_as_many_lines_as_sixteen_have() -> None:
    def plan(nodes: int) -> Plan:
        return plan_of({**ultraservers(nodes), "jobs": {}})

    small, large = plan(4), plan(31_252)
    assert large.clusters[0].chips == 500_032
    catalog = load_catalog()
    small_lines, large_lines = (len(estimate(one, catalog).lines) for one in (small, large))
    assert small_lines == large_lines
