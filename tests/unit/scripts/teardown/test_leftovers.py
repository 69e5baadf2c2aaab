from __future__ import annotations

import pytest

from scripts.teardown.leftovers import Report, report
from scripts.teardown.model import Inventory, Item, JobItem, PaidUntil, StackItem, Unanswered

STACK = StackItem("pilot-network", "arn:aws:cloudformation:…:stack/pilot-network/1", "DELETE_FAILED")
PAID = PaidUntil("block", "cr-1", "2026-01-02T11:30:00+00:00", "active")


def test_nothing_found_and_everything_asked_is_clean() -> None:
    found = report(
        Inventory(kept=(Item("bootstrap stack", "CDKToolkit"),), suspects=(Item("bucket", "pilot-x"),))
    )
    assert found.is_clean


UNCLEAN = [
    Inventory(stacks=(STACK,)),
    Inventory(jobs=(JobItem("smoke-1", "1", "RUNNING"),)),
    Inventory(loose=(Item("volume", "vol-1"),)),
    Inventory(unanswered=(Unanswered("volumes", "not allowed: ec2:DescribeVolumes"),)),
]


@pytest.mark.parametrize("inventory", UNCLEAN)
def test_anything_left_and_anything_not_asked_is_not_clean(inventory: Inventory) -> None:
    assert not report(inventory).is_clean


def why(found: Report) -> str:
    return found.leftovers[0].why


WHY = [
    (
        Inventory(stacks=(STACK,)),
        {("stack", STACK.id): "VPC vpc-1: has dependencies"},
        "VPC vpc-1: has dependencies",
    ),
    (Inventory(stacks=(STACK,)), {}, "not deleted"),
    (
        Inventory(stacks=(StackItem("s", "id", "CREATE_COMPLETE", True),)),
        {},
        "--no-enable-termination-protection --stack-name s",
    ),
    (Inventory(loose=(Item("volume", "vol-1", state="in-use"),)), {}, "in use (in-use)"),
    (Inventory(loose=(Item("VPC", "vpc-1"),)), {}, "by hand"),
    (
        Inventory(loose=(Item("bucket", "b"),)),
        {("bucket", "b"): "not allowed: s3:DeleteBucket"},
        "not allowed",
    ),
]


@pytest.mark.parametrize(("inventory", "failures", "expected"), WHY)
def test_each_leftover_says_why_it_stays(
    inventory: Inventory, failures: dict[tuple[str, str], str], expected: str
) -> None:
    assert expected in why(report(inventory, (), failures))


def test_the_document_has_the_stable_shape() -> None:
    found = report(Inventory(paid=(PAID,), loose=(Item("volume", "vol-1"),)), [Item("bucket", "b")])
    body = found.as_dict()
    assert set(body) == {"deleted", "kept", "suspects", "leftovers", "paid_until", "not_checked"}
    assert body["deleted"] == [{"kind": "bucket", "id": "b", "name": "", "state": "", "why": ""}]
    assert body["paid_until"][0] == {
        "capacity": "block",
        "id": "cr-1",
        "until": "2026-01-02T11:30:00+00:00",
        "state": "active",
    }


def test_the_text_says_until_when_a_block_is_paid_and_what_was_not_asked() -> None:
    text = report(Inventory(paid=(PAID,), unanswered=(Unanswered("volumes", "throttled"),))).text()
    assert "paid until 2026-01-02T11:30:00+00:00: cr-1 (block), active" in text
    assert "NOT CHECKED volumes: throttled" in text
