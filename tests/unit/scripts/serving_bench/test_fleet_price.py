"""What answers costs what its nodes cost; what is not known stays unknown."""

from __future__ import annotations

import pytest

from scripts.launching import find_job
from scripts.serving_bench.fleet_price import find_fleet, fleet_price
from stacks.domain.errors import InputError
from tests.environments import plan_of
from tests.unit.scripts.serving_fleets.world import FLEET, fleet_plan

PLAN = fleet_plan()


def test_whole_nodes_are_paid() -> None:
    plan = plan_of({"region": "us-east-1", "network.zone_id": "use1-az6", "fleets.chat": FLEET})
    one, two, three = (fleet_price(plan, plan.fleet("chat"), replicas).usd_per_hour for replicas in (1, 2, 3))
    assert one is not None
    assert one == two
    assert three == pytest.approx(2 * one)


def test_without_a_price_the_cost_is_unknown() -> None:
    block = {"capacity.week": {"kind": "capacity-block", "id": "cr-0123456789abcdef0"}}
    plan = plan_of({**block, "fleets.chat": {**FLEET, "capacity": "week"}})
    found = fleet_price(plan, plan.fleet("chat"), 1)
    assert found.usd_per_hour is None
    assert "no price is known" in found.source


@pytest.mark.parametrize(("name", "words"), [("chatt", "did you mean chat"), ("other-thing", "--fleet")])
def test_a_fleet_that_is_not_there(name: str, words: str) -> None:
    assert find_fleet(PLAN, None).name == "chat"
    with pytest.raises(InputError) as caught:
        find_fleet(PLAN, name)
    assert words in caught.value.hint


def test_a_file_without_fleets() -> None:
    with pytest.raises(InputError, match="has no fleets"):
        find_fleet(plan_of(), None)


def test_launch_on_a_file_with_fleets_only_says_so() -> None:
    plan = plan_of({"clusters": {}, "jobs": {}, "fleets.chat": FLEET})
    with pytest.raises(InputError, match=r"has no jobs, only fleets \(chat\)"):
        find_job(plan, "smoke")
