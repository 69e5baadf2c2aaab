"""Inventory -> steps, in tables: states of stacks, kinds and states of loose things."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.aws import ec2, ecs, log_deliveries, pcs
from scripts.teardown import fleet_kinds, order
from scripts.teardown.fleet_removals import AT_ONCE
from scripts.teardown.model import Action, Inventory, Item, JobItem, StackItem, Stage, Step
from scripts.teardown.slow_removals import SLOW
from stacks.domain.names import stack_names

NAMES = stack_names("pilot", ("train", "serve"))
CLUSTER, STORAGE, NETWORK = "pilot-cluster-train", "pilot-storage", "pilot-network"


def stack(name: str, status: str = "CREATE_COMPLETE") -> StackItem:
    return StackItem(name, f"id-{name}", status)


def planned(inventory: Inventory) -> list[tuple[Stage, Action, str]]:
    return [(step.stage, step.action, step.name or step.id) for step in order.steps(inventory, NAMES)]


# Every state that CloudFormation's API reference lists for a stack, DELETE_COMPLETE apart.
STATES = {
    "CREATE_COMPLETE": Action.DELETE_STACK,
    "CREATE_FAILED": Action.DELETE_STACK,
    "CREATE_IN_PROGRESS": Action.WAIT_FOR_STACK,
    "DELETE_FAILED": Action.DELETE_STACK,
    "DELETE_IN_PROGRESS": Action.WAIT_FOR_STACK,
    "IMPORT_COMPLETE": Action.DELETE_STACK,
    "IMPORT_IN_PROGRESS": Action.WAIT_FOR_STACK,
    "IMPORT_ROLLBACK_COMPLETE": Action.DELETE_STACK,
    "IMPORT_ROLLBACK_FAILED": Action.DELETE_STACK,
    "IMPORT_ROLLBACK_IN_PROGRESS": Action.WAIT_FOR_STACK,
    "REVIEW_IN_PROGRESS": Action.DELETE_STACK,
    "ROLLBACK_COMPLETE": Action.DELETE_STACK,
    "ROLLBACK_FAILED": Action.DELETE_STACK,
    "ROLLBACK_IN_PROGRESS": Action.WAIT_FOR_STACK,
    "UPDATE_COMPLETE": Action.DELETE_STACK,
    "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS": Action.WAIT_FOR_STACK,
    "UPDATE_FAILED": Action.DELETE_STACK,
    "UPDATE_IN_PROGRESS": Action.WAIT_FOR_STACK,
    "UPDATE_ROLLBACK_COMPLETE": Action.DELETE_STACK,
    "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS": Action.WAIT_FOR_STACK,
    "UPDATE_ROLLBACK_FAILED": Action.DELETE_STACK,
    "UPDATE_ROLLBACK_IN_PROGRESS": Action.WAIT_FOR_STACK,
}


@pytest.mark.parametrize(("status", "action"), STATES.items())
def test_each_state_of_a_stack_has_its_action(status: str, action: Action) -> None:
    assert planned(Inventory(stacks=(stack(CLUSTER, status),))) == [(Stage.CLUSTERS, action, CLUSTER)]


def test_the_table_knows_every_state_that_botocore_knows() -> None:
    import botocore.session

    service = botocore.session.get_session().get_service_model("cloudformation")
    assert set(service.shape_for("StackStatus").enum) - {"DELETE_COMPLETE"} == set(STATES)


def test_who_uses_others_goes_first() -> None:
    inventory = Inventory(
        stacks=(stack(NETWORK), stack(STORAGE), stack(CLUSTER), stack("pilot-cluster-removed-from-the-file")),
        jobs=(JobItem("smoke-1", "1", "RUNNING"),),
        loose=(
            Item("bucket", "b"),
            Item("security group", "sg-1"),
            Item("network interface", "eni-1", state="available"),
            Item("instance", "i-1", state="running"),
            Item("volume", "vol-1", state="available"),
        ),
    )
    assert planned(inventory) == [
        (Stage.JOBS, Action.STOP_JOB, "smoke-1"),
        (Stage.CLUSTERS, Action.DELETE_STACK, "pilot-cluster-removed-from-the-file"),
        (Stage.CLUSTERS, Action.DELETE_STACK, CLUSTER),
        (Stage.LOOSE_INSTANCES, Action.DELETE, "i-1"),
        (Stage.LOOSE_NETWORK, Action.DELETE, "eni-1"),
        (Stage.LOOSE_GROUPS, Action.DELETE, "sg-1"),
        (Stage.STORAGE, Action.DELETE_STACK, STORAGE),
        (Stage.NETWORK, Action.DELETE_STACK, NETWORK),
        (Stage.REMAINS, Action.DELETE, "b"),
        (Stage.REMAINS, Action.DELETE, "vol-1"),
    ]


LOOSE = [
    (Item("network interface", "eni-1", state="available"), Action.DELETE),
    (Item("network interface", "eni-1", state="in-use"), None),
    (Item("network interface", "eni-1", state="detaching"), Action.WAIT),
    (Item("volume", "vol-1", state="available"), Action.DELETE),
    (Item("volume", "vol-1", state="error"), Action.DELETE),
    (Item("volume", "vol-1", state="in-use"), None),
    (Item("instance", "i-1", state="stopped"), Action.DELETE),
    (Item("instance", "i-1", state="shutting-down"), Action.WAIT),
    (Item("NAT gateway", "nat-1", state="available"), Action.DELETE),
    (Item("NAT gateway", "nat-1", state="deleting"), Action.WAIT),
    (Item("elastic IP", "eipalloc-1"), Action.DELETE),
    (Item("launch template", "lt-1"), Action.DELETE),
    (Item("placement group", "pg", state="available"), Action.DELETE),
    (Item("log group", "lg"), Action.DELETE),
    (Item("job definition", "arn"), Action.DELETE),
    (Item("bucket", "b"), Action.DELETE),
    (Item("image", "ami-1", state="available"), Action.DELETE),
    (Item("image", "ami-1", state="pending"), Action.WAIT),
    (Item("snapshot", "snap-1", state="completed"), Action.DELETE),
    (Item("EFS file system", "fs-1", state="available"), Action.DELETE),
    (Item("EFS file system", "fs-1", state="error"), Action.DELETE),
    (Item("EFS file system", "fs-1", state="deleting"), Action.WAIT),
    (Item("EFS mount target", "fsmt-1", state="creating"), Action.WAIT),
    (Item("FSx file system", "fs-1", state="AVAILABLE"), Action.DELETE),
    (Item("FSx file system", "fs-1", state="MISCONFIGURED"), Action.DELETE),
    (Item("FSx file system", "fs-1", state="CREATING"), Action.WAIT),
    (Item("FSx backup", "backup-1", state="AVAILABLE"), Action.DELETE),
    (Item("log delivery", "d-1"), Action.DELETE),
    (Item("VPC", "vpc-1"), None),
    (Item("job queue", "arn"), None),
    (Item("tagged resource", "arn"), None),
]


@pytest.mark.parametrize(("item", "action"), LOOSE)
def test_each_loose_thing_is_deleted_waited_for_or_left(item: Item, action: Action | None) -> None:
    steps = order.steps(Inventory(loose=(item,)), NAMES)
    assert [step.action for step in steps] == ([action] if action else [])


def test_whatever_the_order_can_delete_the_executor_knows_how_to() -> None:
    special = {order.BUCKET, order.LOG_GROUP, order.JOB_DEFINITION}
    assert set(order._STAGE_OF_KIND) == special | set(ec2.DELETIONS) | set(SLOW) | set(AT_ONCE) | set(
        log_deliveries.KINDS
    )


# Every status that the API's model has for a cluster, a node group or a queue, DELETED apart.
PCS_STATES = {
    "CREATING": Action.WAIT,
    "ACTIVE": Action.DELETE,
    "UPDATING": Action.WAIT,
    "DELETING": Action.WAIT,
    "CREATE_FAILED": Action.DELETE,
    "DELETE_FAILED": Action.DELETE,
    "UPDATE_FAILED": Action.DELETE,
    "SUSPENDING": Action.WAIT,
    "SUSPENDED": Action.DELETE,
    "RESUMING": Action.WAIT,
}


@pytest.mark.parametrize("kind", pcs.KINDS)
@pytest.mark.parametrize(("status", "action"), PCS_STATES.items())
def test_each_state_of_a_slurm_part_has_its_action(kind: str, status: str, action: Action) -> None:
    (step,) = order.steps(Inventory(loose=(Item(kind, "c/1", state=status),)), NAMES)
    assert step.action is action


def test_the_table_knows_every_status_of_pcs() -> None:
    import botocore.session

    service = botocore.session.get_session().get_service_model("pcs")
    shapes = ("ClusterStatus", "ComputeNodeGroupStatus", "QueueStatus")
    known = {status for shape in shapes for status in service.shape_for(shape).enum}
    assert known - {"DELETED"} == set(PCS_STATES)


def test_a_slurm_cluster_goes_queue_first_and_before_the_stack_that_got_stuck_on_it() -> None:
    inventory = Inventory(
        stacks=(stack(CLUSTER, "DELETE_FAILED"), stack(NETWORK)),
        loose=(
            Item("PCS cluster", "c/c", "pilot-train", "ACTIVE"),
            Item("PCS node group", "c/login", "login", "ACTIVE"),
            Item("PCS node group", "c/g", "trn2-us0", "ACTIVE"),
            Item("PCS queue", "c/q", "train", "ACTIVE"),
            Item("instance", "i-1", state="running"),
            Item("FSx file system", "fs-1", state="AVAILABLE"),
            Item("EFS file system", "fs-2", state="available"),
            Item("EFS mount target", "fsmt-1", state="available"),
            Item("log delivery source", "s"),
            Item("log delivery", "d"),
            Item("snapshot", "snap-1"),
            Item("image", "ami-1"),
        ),
    )
    assert [name for _, _, name in planned(inventory)] == [
        "train",
        "login",
        "trn2-us0",
        "pilot-train",
        CLUSTER,
        "i-1",
        "fsmt-1",
        "fs-1",
        NETWORK,
        "ami-1",
        "d",
        "s",
        "snap-1",
    ]
    # EFS refuses while the stack still has its mount target; once the stack is gone, it is next after the network.
    alone = replace(inventory, stacks=(stack(NETWORK),))
    names = [name for _, _, name in planned(alone)]
    assert names.index("fs-2") == names.index(NETWORK) + 1


def test_managed_instances_go_before_their_provider_and_that_before_its_cluster() -> None:
    """An Auto Scaling group's provider is the other way round: ECS keeps it while a cluster has it."""
    kinds = (
        ecs.CAPACITY_PROVIDER,
        ecs.CLUSTER,
        ecs.MANAGED_PROVIDER,
        fleet_kinds.REGISTERED,
        fleet_kinds.NODES,
        ecs.SERVICE,
        ecs.TASK,
    )
    steps = order.steps(Inventory(loose=tuple(Item(kind, kind) for kind in kinds)), NAMES)
    assert [step.kind for step in steps] == list(reversed(kinds))
    assert len({step.stage for step in steps}) == len(kinds)


def test_a_protected_stack_is_left_to_the_person_who_protected_it() -> None:
    assert order.steps(Inventory(stacks=(StackItem(NETWORK, "id", "CREATE_COMPLETE", True),)), NAMES) == ()


def test_an_empty_inventory_needs_no_steps() -> None:
    assert order.steps(Inventory(), NAMES) == ()


kinds = st.sampled_from([*order._STAGE_OF_KIND, "VPC", "tagged resource"])
states = st.sampled_from(["", "available", "in-use", "deleting", "running"])
items = st.lists(st.builds(Item, kind=kinds, id=st.text("abc", min_size=1), state=states), max_size=8)
stacks = st.lists(
    st.builds(stack, st.sampled_from([CLUSTER, STORAGE, NETWORK, "pilot-x"]), st.sampled_from(list(STATES)))
)


@given(items, stacks)
def test_suspects_and_what_is_kept_never_get_a_step(found: list[Item], stacks: list[StackItem]) -> None:
    inventory = Inventory(stacks=tuple(stacks), suspects=tuple(found), kept=tuple(found))
    steps: tuple[Step, ...] = order.steps(inventory, NAMES)
    assert {step.kind for step in steps} <= {order.STACK}
    assert [step.stage for step in steps] == sorted(step.stage for step in steps)
