"""Capacity that is not bought: refused for real, supplied by the local cloud."""

from __future__ import annotations

from typing import Any

import pytest

from scripts import capacity
from scripts.capacity import with_bought_capacity, without_stand_ins
from scripts.console import Console
from stacks.domain.errors import WorldError
from stacks.domain.reservations import Reservation
from stacks.domain.rules.live_reservations import Named
from tests.environments import plan_of
from tests.live_answers import block
from tests.unit.domain.fleet_cases import ALONE, GPU, fleet, trn2
from tests.unit.scripts.fakes import a_cloud

BLOCK = {"capacity.block": {"kind": "capacity-block", "id": None}, "clusters.train.capacity": "block"}
TRN2 = {**BLOCK, "clusters.train.instance_type": "trn2.48xlarge"}
TWO_ULTRASERVERS = {
    **BLOCK,
    "region": "ap-south-2",
    "network": {"zone_id": "aps2-az1"},
    "clusters.train.scheduler": "slurm",
    "clusters.train.instance_type": "trn2u.48xlarge",
    "clusters.train.nodes": 8,
}
BLOCK_FLEET = {
    **ALONE,
    "capacity.hourly": {"kind": "capacity-block", "id": None},
    **trn2(replicas={"maximum": 16, "per_node": 8}),
}
RESERVATION = {"capacity.hourly": {"kind": "reservation", "id": None}}


def a_block(**more: Any) -> Reservation:
    return block(**{"instance_type": "trn2.48xlarge", **more})


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
        (
            TWO_ULTRASERVERS,
            "capacity buy FILE OFFERING… --max-fee USD` buys 2, one for each UltraServer, in zone aps2-az1 and write "
            "their cr-… ids into capacity.block.ids",
        ),
        (
            {**TWO_ULTRASERVERS, "capacity.block": {"kind": "reservation"}},
            "--instance-count 4 --availability-zone-id aps2-az1 --instance-platform Linux/UNIX`, once for each "
            "UltraServer (4, 4 nodes), and write their cr-… ids",
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
    monkeypatch.setattr(capacity.capacity_blocks, "reservations_with_tags", lambda cloud, tags: ())
    asked: list[tuple[str, int]] = []

    def supply(cloud: Any, plan: Any, named: Named) -> str:
        asked.append((named.kind, named.nodes))
        return "cr-0123456789abcdef0"

    monkeypatch.setattr(capacity, "_supply", supply)
    plan = with_bought_capacity(Console(), a_cloud(local=True), plan_of(TRN2))
    assert plan.clusters[0].capacity.id == "cr-0123456789abcdef0"
    assert asked == [("capacity-block", 4)]
    assert "local cloud: supplies capacity block cr-0123456789abcdef0" in capsys.readouterr().err


KNOWN = [
    (a_block(), True),
    (a_block(state="expired"), False),
    (a_block(total=3), False),
    (a_block(kind="default"), False),
    (a_block(tenancy="dedicated"), False),
    (a_block(zone_id="use2-az1"), False),
    (a_block(instance_type="trn1.32xlarge"), False),
]


@pytest.mark.parametrize(("block", "is_used"), KNOWN)
def test_a_block_that_was_supplied_before_is_used_again_if_it_fits(
    monkeypatch: pytest.MonkeyPatch, block: Reservation, is_used: bool
) -> None:
    monkeypatch.setattr(capacity.capacity_blocks, "reservations_with_tags", lambda cloud, tags: (block,))
    monkeypatch.setattr(capacity, "_supply", lambda *arguments: "cr-00000000000000001")
    plan = with_bought_capacity(Console(), a_cloud(local=True), plan_of(TRN2))
    assert (plan.clusters[0].capacity.id == block.id) is is_used


def test_a_dry_run_supplies_nothing_and_asks_nothing_about_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(capacity.capacity_blocks, "reservations_with_tags", lambda cloud, tags: ())
    plan = with_bought_capacity(Console(), a_cloud(local=True), plan_of(TRN2), dry_run=True)
    assert plan.clusters[0].capacity.is_bought
    assert "would supply capacity block" in capsys.readouterr().err
    assert without_stand_ins(plan).clusters[0].capacity.id is None


def test_each_ultraserver_under_slurm_is_supplied_with_a_block_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(capacity.capacity_blocks, "reservations_with_tags", lambda cloud, tags: ())
    asked: list[int] = []

    def supply(cloud: Any, plan: Any, named: Named) -> str:
        asked.append(named.nodes)
        return f"cr-0123456789abcdef{len(asked)}"

    monkeypatch.setattr(capacity, "_supply", supply)
    plan = with_bought_capacity(Console(), a_cloud(local=True), plan_of(TWO_ULTRASERVERS))
    assert asked == [4, 4]
    ids = ("cr-0123456789abcdef1", "cr-0123456789abcdef2")
    assert plan.clusters[0].capacity.ids == ids
    assert plan.clusters[0].slurm is not None
    assert tuple(group.capacity_id for group in plan.clusters[0].slurm.node_groups) == ids


def test_a_reservation_that_is_not_bought_is_supplied_as_a_reservation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(capacity.capacity_blocks, "reservations_with_tags", lambda cloud, tags: (a_block(),))
    kinds: list[str] = []
    monkeypatch.setattr(capacity, "_supply", lambda cloud, plan, named: kinds.append(named.kind) or "cr-1")
    with_bought_capacity(Console(), a_cloud(local=True), plan_of(RESERVATION))
    assert kinds == ["reservation"]


def test_a_fleets_block_is_bought_like_a_clusters() -> None:
    plan = plan_of(BLOCK_FLEET)
    with pytest.raises(WorldError, match="not bought yet") as caught:
        with_bought_capacity(Console(), a_cloud(), plan)
    assert "2 x trn2.48xlarge" in caught.value.hint


def test_the_local_cloud_supplies_a_fleets_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity.capacity_blocks, "reservations_with_tags", lambda cloud, tags: ())
    monkeypatch.setattr(capacity, "_supply", lambda cloud, plan, named: "cr-0123456789abcdef0")
    plan = with_bought_capacity(Console(), a_cloud(local=True), plan_of(BLOCK_FLEET))
    assert plan.fleet("chat").capacity.id == "cr-0123456789abcdef0"


def test_a_gpu_groups_reservation_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity.capacity_blocks, "reservations_with_tags", lambda cloud, tags: ())
    monkeypatch.setattr(capacity, "_supply", lambda cloud, plan, named: "cr-0123456789abcdef0")
    gpu = {"capacity.gpu": {"kind": "reservation", "id": None}}
    changes = {**ALONE, **gpu, **fleet(fallback={**GPU, "capacity": "gpu"})}
    found = with_bought_capacity(Console(), a_cloud(local=True), plan_of(changes)).fleet("chat")
    assert found.capacity.id is None
    assert found.fallback is not None
    assert found.fallback.capacity.id == "cr-0123456789abcdef0"


def test_spot_needs_nothing() -> None:
    plan = plan_of({**ALONE, **fleet(capacity="cheap"), "capacity.cheap": {"kind": "spot"}})
    assert with_bought_capacity(Console(), a_cloud(), plan) is plan
