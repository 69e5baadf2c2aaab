"""What a deploy refuses before it changes anything, and what it clears away first."""

from __future__ import annotations

from typing import Any

import pytest

from scripts import preflight
from scripts.aws.cloudformation import Stack
from scripts.console import Console
from scripts.loading import LoadedPlan
from scripts.preflight import check_account, make_way, refuse_unresolved
from stacks.domain.errors import InputError, WorldError
from stacks.domain.findings import WorldFindingsError
from stacks.domain.live import CouldNotAsk, LiveFacts, LiveInstanceType, LiveStack
from stacks.domain.lock import Lock, LockedAmi, LockedImage
from stacks.domain.plan import Plan
from tests.environments import changed, loaded, plan_of
from tests.live_answers import in_order
from tests.unit.scripts.fakes import a_cloud, a_stack

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
    refuse_unresolved(PLAN, LOCK, is_local=False)


UNRESOLVED = [
    (UNLOCKED, None, "the AMI of cluster train, the image of job smoke"),
    (plan_of(lock=locked(images={})), locked(images={}), "the image of job smoke"),
    (PLAN, locked(region="us-west-2"), "lock is of region us-west-2"),
    (PLAN, locked(resolved_by="local cloud"), "resolved by the local cloud"),
]


@pytest.mark.parametrize(("plan", "lock", "words"), UNRESOLVED)
def test_a_placeholder_or_a_foreign_lock_is_refused(plan: Any, lock: Lock | None, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        refuse_unresolved(plan, lock, is_local=False)
    assert "neuronkit lock FILE" in caught.value.hint


def test_the_local_cloud_takes_its_own_lock() -> None:
    refuse_unresolved(PLAN, locked(resolved_by="local cloud"), is_local=True)


# --- the account ---


def check(monkeypatch: pytest.MonkeyPatch, live: LiveFacts, plan: Plan = PLAN) -> None:
    monkeypatch.setattr(preflight, "collect", lambda *arguments: live)
    file = loaded(changed({}))
    check_account(Console(), a_cloud(), LoadedPlan(file, (), LOCK, plan))


def test_an_account_in_order_passes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check(monkeypatch, in_order(PLAN))
    assert capsys.readouterr().err == ""


def test_everything_that_aws_refuses_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clash = LiveStack("pilot-storage", "CREATE_COMPLETE", "pilot-2")
    refused = in_order(PLAN, zones=(), bootstrap_version=None, stacks=(clash,), offered_zone_ids={})
    with pytest.raises(WorldFindingsError) as caught:
        check(monkeypatch, refused)
    assert caught.value.exit_code == 3
    assert caught.value.hint == "nothing was changed"
    assert {finding.id for finding in caught.value.findings} == {"NK360", "NK361"}


def test_what_could_not_be_asked_is_said_and_does_not_stop_a_deploy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refusal = CouldNotAsk("not allowed: servicequotas:GetServiceQuota")
    check(monkeypatch, in_order(PLAN, quota_limits={"L-2C3B7624": refusal}))
    said = capsys.readouterr().err
    assert "not checked: " in said
    assert "servicequotas:GetServiceQuota [NK310]" in said


TRN3 = {
    "clusters.train.instance_type": "trn3.48xlarge",
    "clusters.train.shape": "trn3-gen1",
    "clusters.train.logical_core_size": 2,
}


def check_trn3(monkeypatch: pytest.MonkeyPatch, answer: object) -> None:
    plan = plan_of(TRN3, LOCK)
    live = in_order(plan, **({} if answer is AS_ASSUMED else {"instance_types": {"trn3.48xlarge": answer}}))
    monkeypatch.setattr(preflight, "collect", lambda *arguments: live)
    check_account(Console(), a_cloud(), LoadedPlan(loaded(changed(TRN3)), (), LOCK, plan))


AS_ASSUMED = object()


def test_a_type_that_ec2_knows_as_it_was_assumed_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    check_trn3(monkeypatch, AS_ASSUMED)


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (None, WorldFindingsError, "NK304"),
        (LiveInstanceType("trn3.48xlarge", 192, 2048, 8, 8), WorldFindingsError, "NK305"),
        (CouldNotAsk("not allowed: ec2:DescribeInstanceTypes"), WorldError, "ec2:DescribeInstanceTypes"),
    ],
)
def test_a_type_that_ec2_does_not_vouch_for_is_refused(
    answer: object, error: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(error) as caught:
        check_trn3(monkeypatch, answer)
    found = caught.value
    said = {f.id for f in found.findings} if isinstance(found, WorldFindingsError) else str(found)
    assert words in said


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
