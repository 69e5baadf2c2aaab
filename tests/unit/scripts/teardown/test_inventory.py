"""What is taken for ours, and what happens when AWS does not answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from scripts.aws.cloudformation import Stack, StackResource
from scripts.aws.translation import AccessDeniedError, CredentialsError, ThrottledError, UnreachableError
from scripts.teardown import inventory
from scripts.teardown.finders import QUESTIONS
from scripts.teardown.found import Found
from scripts.teardown.inventory import take_inventory
from scripts.teardown.model import Inventory, Item, Target
from scripts.teardown.scope import Scope, SlurmScope
from stacks.domain.names import ENVIRONMENT_TAG, stack_names

TARGET = Target("pilot", stack_names("pilot", ("train",)), "CDKToolkit", ())
OURS = {ENVIRONMENT_TAG: "pilot"}


def stack(name: str, tags: dict[str, str], status: str = "CREATE_COMPLETE") -> Stack:
    return Stack(name, f"id-{name}", status, "", tags, {}, False)


class Account:
    """The answers of one account; a test changes what it needs."""

    def __init__(self) -> None:
        self.stacks: list[Stack] = []
        self.change_sets: dict[str, dict[str, str]] = {}
        self.deleted: dict[str, Stack] = {}
        self.members: dict[str, tuple[StackResource, ...]] = {}
        self.scopes: list[Scope] = []

    def all_stacks(self, cloud: Any) -> tuple[Stack, ...]:
        return tuple(self.stacks)

    def change_set_tags(self, cloud: Any, name: str) -> dict[str, str]:
        return self.change_sets.get(name, {})

    def deleted_stack_ids(self, cloud: Any, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.deleted)

    def find_stack(self, cloud: Any, id_: str) -> Stack | None:
        return self.deleted.get(id_)

    def resources(self, cloud: Any, id_: str) -> tuple[StackResource, ...]:
        return self.members.get(id_, ())


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Account:
    made = Account()

    def remember(cloud: Any, scope: Scope) -> Found:
        made.scopes.append(scope)
        return Found()

    for name in ("all_stacks", "change_set_tags", "deleted_stack_ids", "find_stack", "resources"):
        monkeypatch.setattr(inventory.cloudformation, name, getattr(made, name))
    monkeypatch.setattr(inventory.tagging, "arns_with_tag", lambda cloud, key, value: ())
    monkeypatch.setattr(inventory.ec2, "reservations_with_tag", lambda cloud, key, value: ())
    monkeypatch.setattr(inventory, "QUESTIONS", (("things", remember),))
    return made


def take() -> Inventory:
    cloud: Any = None
    return take_inventory(cloud, TARGET)


def test_stacks_are_ours_by_tag_whatever_their_name(account: Account) -> None:
    account.stacks = [
        stack("pilot-network", OURS),
        stack("made-by-an-older-file", OURS),
        stack("pilot-2-network", {ENVIRONMENT_TAG: "pilot-2"}),
        stack("pilot-notes", {}),
        stack("CDKToolkit", {}),
        stack("other", {}),
    ]
    found = take()
    assert [item.name for item in found.stacks] == ["pilot-network", "made-by-an-older-file"]
    assert [item.id for item in found.suspects] == ["pilot-notes"]
    assert [item.id for item in found.kept] == ["CDKToolkit"]


@pytest.mark.parametrize(
    ("tags", "is_ours"), [(OURS, True), ({}, False), ({ENVIRONMENT_TAG: "pilot-2"}, False)]
)
def test_a_stack_that_was_never_created_is_ours_if_its_change_set_says_so(
    account: Account, tags: dict[str, str], is_ours: bool
) -> None:
    account.stacks = [stack("pilot-network", {}, "REVIEW_IN_PROGRESS")]
    account.change_sets = {"pilot-network": tags}
    found = take()
    assert bool(found.stacks) is is_ours


def test_members_of_living_stacks_are_known_and_so_is_what_deleted_ones_left(account: Account) -> None:
    account.stacks = [stack("pilot-network", OURS)]
    account.deleted = {
        "old-ours": stack("pilot-storage", OURS, "DELETE_COMPLETE"),
        "old-foreign": stack("pilot-storage", {}, "DELETE_COMPLETE"),
    }
    account.members = {
        "id-pilot-network": (StackResource("Vpc", "vpc-1", "AWS::EC2::VPC", "CREATE_COMPLETE", ""),),
        "old-ours": (
            StackResource("Bucket", "b-1", "AWS::S3::Bucket", "DELETE_SKIPPED", ""),
            StackResource("Role", "r-1", "AWS::IAM::Role", "DELETE_COMPLETE", ""),
        ),
        "old-foreign": (StackResource("Bucket", "b-2", "AWS::S3::Bucket", "DELETE_SKIPPED", ""),),
    }
    take()
    (scope,) = account.scopes
    assert scope.members == {"vpc-1"}
    assert scope.stack_ids == {"id-pilot-network"}
    assert scope.retained == {"b-1"}


@pytest.mark.parametrize(
    "error",
    [
        AccessDeniedError("not allowed: ec2:DescribeVolumes", "add it"),
        ThrottledError("throttled"),
        UnreachableError("no connection to ec2 in us-west-1"),
    ],
)
def test_a_question_without_an_answer_is_part_of_the_answer(
    account: Account, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refused(cloud: Any, scope: Scope) -> Found:
        raise error

    def answered(cloud: Any, scope: Scope) -> Found:
        return Found(loose=(Item("volume", "vol-1"),))

    monkeypatch.setattr(inventory, "QUESTIONS", (("volumes", refused), ("others", answered)))
    found = take()
    assert [(gap.what, str(error) in gap.why) for gap in found.unanswered] == [("volumes", True)]
    assert found.loose == (Item("volume", "vol-1"),)


def test_the_tagging_api_may_be_refused_without_stopping_the_rest(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(cloud: Any, key: str, value: str) -> tuple[str, ...]:
        raise AccessDeniedError("not allowed: tag:GetResources", "add it")

    monkeypatch.setattr(inventory.tagging, "arns_with_tag", refused)
    assert [gap.what for gap in take().unanswered] == ["the tagging API"]


@pytest.mark.parametrize(
    "error",
    [AccessDeniedError("not allowed: cloudformation:DescribeStacks"), UnreachableError("no connection")],
)
def test_without_the_list_of_stacks_there_is_no_inventory(
    account: Account, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Members of a living stack could not be told from leftovers, and would be deleted one by one."""

    def refused(cloud: Any) -> tuple[Stack, ...]:
        raise error

    monkeypatch.setattr(inventory.cloudformation, "all_stacks", refused)
    with pytest.raises(type(error)):
        take()


def test_lost_credentials_are_no_gap_in_the_answer(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(cloud: Any, scope: Scope) -> Found:
        raise CredentialsError("expired")

    monkeypatch.setattr(inventory, "QUESTIONS", (("volumes", refused),))
    with pytest.raises(CredentialsError):
        take()


PCS = "arn:aws:pcs:us-east-2:1:cluster/pcs_1"
GROUP = f"{PCS}/computenodegroup/pcs_2"


def test_what_the_stacks_say_of_slurm(account: Account) -> None:
    account.stacks = [stack("pilot-cluster-train", OURS, "DELETE_FAILED")]
    account.deleted = {"old": stack("pilot-cluster-train", OURS, "DELETE_COMPLETE")}
    account.members = {
        "id-pilot-cluster-train": (
            StackResource("PcsCluster", PCS, "AWS::PCS::Cluster", "CREATE_COMPLETE", ""),
            StackResource("NodeGroup", GROUP, "AWS::PCS::ComputeNodeGroup", "DELETE_FAILED", ""),
            StackResource("Queue", f"{PCS}/queue/pcs_3", "AWS::PCS::Queue", "DELETE_COMPLETE", ""),
            StackResource("SharedStorage", "fs-1", "AWS::FSx::FileSystem", "DELETE_SKIPPED", ""),
        ),
        "old": (
            StackResource(
                "PcsCluster",
                "arn:aws:pcs:us-east-2:1:cluster/pcs_9",
                "AWS::PCS::Cluster",
                "DELETE_COMPLETE",
                "",
            ),
        ),
    }
    take()
    (scope,) = account.scopes
    assert scope.slurm == SlurmScope(
        is_used=True, living=frozenset({"pcs_1"}), gone=frozenset({"pcs_9"}), stuck=frozenset({GROUP})
    )
    assert scope.retained == {"fs-1"}
    assert not scope.is_member({"aws:cloudformation:stack-id": "id-pilot-cluster-train"}, "fs-1")
    assert scope.is_member({}, GROUP)


def test_a_resource_is_stuck_only_when_the_whole_deletion_has_ended(account: Account) -> None:
    account.stacks = [stack("pilot-cluster-train", OURS, "DELETE_IN_PROGRESS")]
    failed = StackResource("NodeGroup", GROUP, "AWS::PCS::ComputeNodeGroup", "DELETE_FAILED", "")
    account.members = {"id-pilot-cluster-train": (failed,)}
    take()
    assert account.scopes[0].slurm.stuck == frozenset()


@pytest.mark.parametrize(
    ("tagged", "in_file", "is_used"),
    [
        ((), False, False),
        ((), True, True),
        (("arn:aws:pcs:us-east-2:1:cluster/pcs_1",), False, True),
        (("arn:aws:fsx:us-east-2:1:file-system/fs-1",), False, True),
        (("arn:aws:logs:us-east-2:1:delivery:d",), False, True),
        (("arn:aws:logs:us-east-2:1:log-group:x",), False, False),
        (("arn:aws:elasticfilesystem:us-east-2:1:file-system/fs-1",), False, False),
        (("arn:aws:imagebuilder:us-east-2:1:component/c/1.0.0/1",), False, False),
        (("arn:aws:ec2:us-east-2:1:volume/vol-1",), False, False),
    ],
)
def test_slurm_is_asked_about_where_there_is_a_reason(
    account: Account, monkeypatch: pytest.MonkeyPatch, tagged: tuple[str, ...], in_file: bool, is_used: bool
) -> None:
    monkeypatch.setattr(inventory.tagging, "arns_with_tag", lambda cloud, key, value: tagged)
    cloud: Any = None
    take_inventory(cloud, replace(TARGET, uses_slurm=in_file))
    assert account.scopes[0].slurm.is_used is is_used


def test_what_two_questions_found_is_one_thing(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    def same(cloud: Any, scope: Scope) -> Found:
        return Found(loose=(Item("launch template", "lt-1", "pcs-x"),), notices=("a node runs",))

    monkeypatch.setattr(inventory, "QUESTIONS", (("templates", same), ("what PCS left", same)))
    assert take().loose == (Item("launch template", "lt-1", "pcs-x"),)


def services_asked(
    monkeypatch: pytest.MonkeyPatch, *, tagged: tuple[str, ...], uses_fleets: bool
) -> set[str]:
    """Of an account that has nothing, but for what the tagging API lists."""
    asked: set[str] = set()

    class Empty:
        region = "us-west-1"

        def call(self, service: str, operation: str, /, **parameters: Any) -> dict[str, Any]:
            asked.add(service)
            return defaultdict(list)

        def pages(self, service: str, operation: str, key: str, /, **parameters: Any) -> Iterator[Any]:
            asked.add(service)
            return iter(())

    monkeypatch.setattr(inventory, "QUESTIONS", QUESTIONS)
    monkeypatch.setattr(inventory.tagging, "arns_with_tag", lambda cloud, key, value: tagged)
    cloud: Any = Empty()
    found = take_inventory(cloud, replace(TARGET, uses_fleets=uses_fleets))
    assert found.unanswered == ()
    return asked


OF_SLURM = {"pcs", "fsx", "imagebuilder", "secretsmanager", "iam"}


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize("uses_fleets", [True, False])
def test_who_has_fleets_only_needs_neither_slurms_services_nor_permissions_for_them(
    monkeypatch: pytest.MonkeyPatch, uses_fleets: bool
) -> None:
    """PCS is not even there in every region that has Inferentia. `False`: the file has lost its fleet since."""
    tagged = ("arn:aws:elasticfilesystem:us-west-1:1:file-system/fs-1",)
    asked = services_asked(monkeypatch, tagged=tagged, uses_fleets=uses_fleets)
    assert "efs" in asked
    assert asked & OF_SLURM == set()


@pytest.mark.usefixtures("account")
def test_who_has_no_shared_file_system_is_not_asked_about_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert services_asked(monkeypatch, tagged=(), uses_fleets=False) & {*OF_SLURM, "efs"} == set()


@pytest.mark.usefixtures("account")
def test_a_tagged_slurm_cluster_makes_slurms_services_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = services_asked(monkeypatch, tagged=(PCS,), uses_fleets=False)
    assert asked >= {*OF_SLURM, "efs"}
