"""What a Slurm cluster costs besides its nodes: nothing of it is known without a price, and nothing of it is 0."""

from __future__ import annotations

from typing import Any

import pytest

from stacks.domain.catalog import load_catalog
from stacks.domain.cost import Basis, Cost, estimate, inventory_of, price_keys
from stacks.domain.prices import PriceKey, Prices, UnitPrice, service_key
from tests.environments import plan_of
from tests.unit.domain.slurm_cases import TRAIN, bought, lustre, slurm, ultraservers

IDS = [f"cr-0123456789abcdef{n}" for n in range(2)]


def cost(changes: dict[str, Any], **basis: Any) -> Cost:
    return estimate(plan_of(changes), load_catalog(), Basis(**basis))


def lines(changes: dict[str, Any]) -> dict[str, Any]:
    return {line.what: line for line in cost(changes).lines}


def test_every_part_is_named_as_unknown() -> None:
    assert {
        "train: AWS PCS controller, SMALL",
        "train: login node, c6i.xlarge",
        "train: AWS PCS's fee for the login node",
        "train: AWS PCS's fee for 4 nodes",
        "data in the shared file system (EFS)",
        "instances that build node images (EC2 Image Builder)",
        "snapshots of node images (EBS)",
    } <= set(cost(slurm()).unknown)


@pytest.mark.parametrize(
    ("changes", "absent"),
    [
        (slurm(), "FSx"),
        (slurm(), "accounting"),
        (lustre(1200), "EFS"),
        (slurm(ami="ami-0123456789abcdef0"), "node images"),
        ({}, "PCS"),
    ],
)
def test_a_line_exists_only_for_what_there_is(changes: dict[str, Any], absent: str) -> None:
    assert [what for what in lines(changes) if absent in what] == []


def test_accounting_and_lustre_are_paid_always() -> None:
    found = lines({**lustre(2400), f"{TRAIN}.slurm.accounting": True})
    assert found["train: Slurm accounting"].paid == "always"
    assert found["train: 2,400 GiB of FSx for Lustre"].quantity == 2400


@pytest.mark.parametrize(("minimum", "paid"), [(0, "while nodes run"), (4, "always")])
def test_nodes_that_are_kept_are_paid_always(minimum: int, paid: str) -> None:
    found = lines(slurm(minimum_nodes=minimum))
    kept = [
        line
        for what, line in found.items()
        if "on-demand" in what or "fee for 4 nodes" in what or "2,048 GiB" in what
    ]
    assert [line.paid for line in kept] == [paid] * 3


def test_ones_own_prices_make_the_cost_known() -> None:
    own = {key: UnitPrice(1.0, "hour", "mine", "2026-11-30") for key in (
        service_key("pcs-controller-small"), service_key("pcs-node"), PriceKey("on-demand", "c6i.xlarge")
    )}  # fmt: skip
    found = cost(slurm(), prices=Prices(own={"us-east-2": own}))
    unpriced = cost(slurm())
    assert found.idle_usd_per_hour == pytest.approx(unpriced.idle_usd_per_hour + 3)
    assert found.running_usd_per_hour == pytest.approx(unpriced.running_usd_per_hour + 4)


def test_all_groups_of_ultraservers_are_one_line() -> None:
    found = lines(ultraservers(8, **bought(*IDS)))
    assert "train: AWS PCS's fee for 8 nodes" in found


def test_the_price_list_is_asked_for_what_it_holds() -> None:
    keys = price_keys(inventory_of(plan_of(slurm())))
    assert PriceKey("on-demand", "c6i.xlarge") in keys
    assert service_key("pcs-controller-small") in keys
    assert service_key("pcs-controller-small").service_code == ""
