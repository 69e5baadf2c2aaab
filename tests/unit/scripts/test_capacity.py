"""Capacity that is not bought: refused for real, supplied by the local cloud."""

from __future__ import annotations

from typing import Any

import pytest

from scripts import capacity
from scripts.aws.ec2 import CapacityReservation
from scripts.capacity import reservation_problems, with_bought_capacity
from scripts.console import Console
from stacks.domain.errors import WorldError
from tests.environments import plan_of
from tests.unit.scripts.fakes import a_cloud

BLOCK = {"capacity.block": {"kind": "capacity-block", "id": None}, "clusters.train.capacity": "block"}
TRN2 = {**BLOCK, "clusters.train.instance_type": "trn2.48xlarge"}
RESERVATION = {"capacity.hourly": {"kind": "reservation", "id": None}}


def a_block(**more: Any) -> CapacityReservation:
    values: dict[str, Any] = {
        "id": "cr-0123456789abcdef0",
        "state": "active",
        "type": "capacity-block",
        "instance_type": "trn2.48xlarge",
        "zone_id": "use2-az3",
        "instances": 4,
        "available": 4,
        "starts": None,
        "ends": None,
    }
    return CapacityReservation(**{**values, **more})


def test_on_demand_needs_nothing() -> None:
    plan = plan_of()
    assert with_bought_capacity(Console(), a_cloud(), plan) is plan


@pytest.mark.parametrize(
    ("values", "command"),
    [
        (
            TRN2,
            "neuronkit capacity search FILE` lists what EC2 sells of 4 x trn2.48xlarge",
        ),
        (
            RESERVATION,
            "create-capacity-reservation --region us-east-2 --instance-type trn1.32xlarge --instance-count 4",
        ),
    ],
)
def test_a_real_deploy_refuses_it_and_says_how_to_buy_or_choose(values: dict[str, Any], command: str) -> None:
    with pytest.raises(WorldError, match="not bought yet") as caught:
        with_bought_capacity(Console(), a_cloud(), plan_of(values))
    assert caught.value.exit_code == 3
    assert command in caught.value.hint
    assert "kind: on-demand" in caught.value.hint


def test_the_local_cloud_supplies_a_block_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(capacity.ec2, "reservations_with_tag", lambda cloud, key, value: ())
    asked: list[tuple[str, int]] = []

    def supply(cloud: Any, plan: Any, instance_type: str, nodes: int) -> str:
        asked.append((instance_type, nodes))
        return "cr-0123456789abcdef0"

    monkeypatch.setattr(capacity, "_supply", supply)
    plan = with_bought_capacity(Console(), a_cloud(local=True), plan_of(TRN2))
    assert plan.clusters[0].capacity.id == "cr-0123456789abcdef0"
    assert asked == [("trn2.48xlarge", 4)]
    assert "local cloud: supplies capacity block cr-0123456789abcdef0" in capsys.readouterr().err


KNOWN = [
    (a_block(), True),
    (a_block(state="expired"), False),
    (a_block(instances=3), False),
    (a_block(zone_id="use2-az1"), False),
    (a_block(instance_type="trn1.32xlarge"), False),
]


@pytest.mark.parametrize(("block", "is_used"), KNOWN)
def test_a_block_that_was_supplied_before_is_used_again_if_it_fits(
    monkeypatch: pytest.MonkeyPatch, block: CapacityReservation, is_used: bool
) -> None:
    monkeypatch.setattr(capacity.ec2, "reservations_with_tag", lambda cloud, key, value: (block,))
    monkeypatch.setattr(capacity, "_supply", lambda *arguments: "cr-00000000000000001")
    plan = with_bought_capacity(Console(), a_cloud(local=True), plan_of(TRN2))
    assert (plan.clusters[0].capacity.id == block.id) is is_used


def test_a_dry_run_supplies_nothing_and_asks_nothing_about_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(capacity.ec2, "reservations_with_tag", lambda cloud, key, value: ())
    plan = with_bought_capacity(Console(), a_cloud(local=True), plan_of(TRN2), dry_run=True)
    assert plan.clusters[0].capacity.is_bought
    assert "would supply capacity block" in capsys.readouterr().err
    assert reservation_problems(a_cloud(local=True), plan) == []
