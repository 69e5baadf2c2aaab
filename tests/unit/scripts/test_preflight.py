"""What a deploy refuses before it changes anything, and what it clears away first."""

from __future__ import annotations

from typing import Any

import pytest

from scripts import capacity, preflight
from scripts.aws.cloudformation import Stack
from scripts.aws.ec2 import CapacityReservation, Zone
from scripts.console import Console
from scripts.preflight import check_account, make_way, refuse_unresolved
from stacks.domain.errors import InputError, WorldError
from stacks.domain.lock import Lock, LockedAmi, LockedImage
from stacks.domain.names import ENVIRONMENT_TAG
from tests.environments import plan_of
from tests.unit.scripts.fakes import a_cloud, a_stack

RESERVATION_ID = "cr-0123456789abcdef0"
RESERVED = plan_of({"capacity.hourly": {"kind": "reservation", "id": RESERVATION_ID}})
UNLOCKED = plan_of()
AMI, IMAGE = UNLOCKED.clusters[0].ami, UNLOCKED.jobs[0].image
assert AMI is not None
assert IMAGE is not None
LOCK = Lock(
    resolved_by="aws",
    region="us-east-2",
    amis={AMI.reference: LockedAmi(id="ami-0123456789abcdef0", root_device_name="/dev/xvda")},
    images={IMAGE.uri: LockedImage(digest="sha256:" + "a" * 64)},
)
PLAN = plan_of(lock=LOCK)


def locked(**more: Any) -> Lock:
    return LOCK.model_copy(update=more)


# --- pinned ---


def test_what_is_pinned_passes() -> None:
    refuse_unresolved(PLAN, LOCK, "pilot.yaml", is_local=False)


UNRESOLVED = [
    (UNLOCKED, None, "the AMI of cluster train, the image of job smoke"),
    (plan_of(lock=locked(images={})), locked(images={}), "the image of job smoke"),
    (PLAN, locked(region="us-west-2"), "lock is of region us-west-2"),
    (PLAN, locked(resolved_by="local cloud"), "resolved by the local cloud"),
]


@pytest.mark.parametrize(("plan", "lock", "words"), UNRESOLVED)
def test_a_placeholder_or_a_foreign_lock_is_refused(plan: Any, lock: Lock | None, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        refuse_unresolved(plan, lock, "pilot.yaml", is_local=False)
    assert "neuronkit lock pilot.yaml" in caught.value.hint


def test_the_local_cloud_takes_its_own_lock() -> None:
    refuse_unresolved(PLAN, locked(resolved_by="local cloud"), "pilot.yaml", is_local=True)


# --- the account ---


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """In order; a test changes what it needs."""
    state: dict[str, Any] = {
        "zones": ["use2-az1", "use2-az3"],
        "version": 33,
        "stacks": {},
        "reservation": None,
    }
    monkeypatch.setattr(preflight.ec2, "zones", lambda cloud: tuple(Zone(id_, id_) for id_ in state["zones"]))
    monkeypatch.setattr(preflight, "bootstrap_version", lambda cloud, qualifier: state["version"])
    monkeypatch.setattr(preflight.cloudformation, "find_stack", lambda cloud, name: state["stacks"].get(name))
    monkeypatch.setattr(capacity.ec2, "find_reservation", lambda cloud, id_: state["reservation"])
    return state


def problems(plan: Any = PLAN, *, local: bool = False) -> str:
    with pytest.raises(WorldError) as caught:
        check_account(a_cloud(local=local), plan, "pilot.yaml")
    return caught.value.message


def test_an_account_in_order_passes(account: dict[str, Any]) -> None:
    account["stacks"] = {"pilot-network": a_stack("pilot-network")}
    check_account(a_cloud(), PLAN, "pilot.yaml")


def test_a_zone_that_the_account_does_not_have(account: dict[str, Any]) -> None:
    account["zones"] = ["use2-az2"]
    assert "zone use2-az3 is not in us-east-2 for this account; it has use2-az2" in problems()


def test_no_bootstrap_says_the_command(account: dict[str, Any]) -> None:
    account["version"] = None
    assert "run `neuronkit bootstrap pilot.yaml`" in problems()
    assert "run `neuronkit --local bootstrap pilot.yaml`" in problems(local=True)


def test_an_old_bootstrap_says_so(account: dict[str, Any]) -> None:
    account["version"] = 5
    assert "has version 5, 6 is needed" in problems()


CLASHES = [
    ({ENVIRONMENT_TAG: "pilot-2"}, "belongs to environment pilot-2"),
    ({}, f"does not carry the tag {ENVIRONMENT_TAG}=pilot"),
]


@pytest.mark.parametrize(("tags", "words"), CLASHES)
def test_a_stack_of_our_name_that_is_not_ours(
    account: dict[str, Any], tags: dict[str, str], words: str
) -> None:
    account["stacks"] = {"pilot-storage": a_stack("pilot-storage", tags=tags)}
    assert f"there is a stack pilot-storage that {words}" in problems()


def test_a_stack_that_was_only_reviewed_is_in_nobodys_way(account: dict[str, Any]) -> None:
    account["stacks"] = {"pilot-storage": a_stack("pilot-storage", "REVIEW_IN_PROGRESS", tags={})}
    check_account(a_cloud(), PLAN, "pilot.yaml")


def reservation(**more: Any) -> CapacityReservation:
    values: dict[str, Any] = {
        "id": RESERVATION_ID,
        "state": "active",
        "type": "default",
        "instance_type": "trn1.32xlarge",
        "zone_id": "use2-az3",
        "instances": 4,
        "available": 4,
        "starts": None,
        "ends": None,
    }
    return CapacityReservation(**{**values, **more})


MISFITS = [
    (None, "there is no such reservation in us-east-2"),
    (reservation(state="expired"), "it is expired"),
    (reservation(zone_id="use2-az1"), "it is in zone use2-az1, the file's network in use2-az3"),
    (reservation(instance_type="trn1.2xlarge"), "it is of trn1.2xlarge, cluster train of trn1.32xlarge"),
    (reservation(instances=3), "it has 3 instances, the clusters on it want 4"),
]


@pytest.mark.parametrize(("found", "words"), MISFITS)
def test_a_reservation_that_does_not_fit_the_file(
    account: dict[str, Any], found: CapacityReservation | None, words: str
) -> None:
    account["reservation"] = found
    assert f"capacity hourly ({RESERVATION_ID}): {words}" in problems(RESERVED)


def test_a_reservation_that_fits_passes(account: dict[str, Any]) -> None:
    account["reservation"] = reservation()
    check_account(a_cloud(), RESERVED, "pilot.yaml")


def test_all_problems_are_said_at_once(account: dict[str, Any]) -> None:
    account.update(
        zones=["use2-az2"], version=None, stacks={"pilot-network": a_stack("pilot-network", tags={})}
    )
    assert len(problems(RESERVED).splitlines()) == 4


# --- making way ---


class Stacks:
    """States that pass one look at a time; deleting one follows its own script."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, states: dict[str, list[str]], after_deletion: str | None = None
    ) -> None:
        self.states = states
        self.after_deletion = after_deletion
        self.deleted: list[str] = []
        monkeypatch.setattr(preflight.cloudformation, "find_stack", self.find)
        monkeypatch.setattr(preflight.cloudformation, "delete_stack", self.delete)

    def find(self, cloud: Any, name_or_id: str) -> Stack | None:
        states = self.states.get(name_or_id.removeprefix("id-"), [])
        if not states:
            return None
        return a_stack(name_or_id.removeprefix("id-"), states.pop(0) if len(states) > 1 else states[0])

    def delete(self, cloud: Any, stack_id: str) -> None:
        self.deleted.append(stack_id)
        self.states[stack_id.removeprefix("id-")] = [self.after_deletion] if self.after_deletion else []


def make(pauses: list[float] | None = None) -> None:
    make_way(Console(), a_cloud(), PLAN, (pauses if pauses is not None else []).append)


def test_what_runs_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    stacks = Stacks(
        monkeypatch, {"pilot-network": ["UPDATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"]}
    )
    pauses: list[float] = []
    make(pauses)
    assert (len(pauses), stacks.deleted) == (2, [])


@pytest.mark.parametrize("status", ["ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED", "DELETE_FAILED"])
def test_what_can_only_be_deleted_is_deleted_first(monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    stacks = Stacks(monkeypatch, {"pilot-storage": [status]})
    make()
    assert stacks.deleted == ["id-pilot-storage"]


def test_what_cannot_be_deleted_ends_the_deploy(monkeypatch: pytest.MonkeyPatch) -> None:
    Stacks(monkeypatch, {"pilot-storage": ["ROLLBACK_COMPLETE"]}, after_deletion="DELETE_FAILED")
    with pytest.raises(WorldError, match="could not be deleted") as caught:
        make()
    assert "neuronkit destroy" in caught.value.hint


@pytest.mark.parametrize(
    "status", ["CREATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "REVIEW_IN_PROGRESS", "UPDATE_FAILED"]
)
def test_what_can_be_updated_is_left_alone(monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    stacks = Stacks(monkeypatch, {"pilot-network": [status]})
    make()
    assert stacks.deleted == []


def test_a_rollback_that_failed_needs_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    Stacks(monkeypatch, {"pilot-network": ["UPDATE_ROLLBACK_FAILED"]})
    with pytest.raises(WorldError) as caught:
        make()
    assert "continue-update-rollback --stack-name pilot-network" in caught.value.hint


def test_a_stack_that_stays_busy_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    Stacks(monkeypatch, {"pilot-network": ["CREATE_IN_PROGRESS"]})
    with pytest.raises(WorldError, match="still in CREATE_IN_PROGRESS after 60 minutes"):
        make()
