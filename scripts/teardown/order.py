"""Inventory -> the steps that remove it, in the order of who depends on whom. Pure.

Jobs and serving replicas first (they use the clusters), and a fleet's nodes before its stack. Then what AWS PCS has that no stack deletes any more: queues (their nodes end with
them, those of static groups, too), node groups, controllers. Cluster stacks next (they use network and bucket), then what
lies loose in the network and would keep it alive, then the storage and network stacks, and last what outlives stacks on
purpose.
"""

from __future__ import annotations

from scripts.aws import ecs, efs, fsx, log_deliveries, pcs
from scripts.teardown import fleet_kinds
from scripts.teardown.model import Action, Inventory, Item, StackItem, Stage, Step
from stacks.domain.names import StackNames

STACK = "stack"
JOB = "job"
BUCKET = "bucket"
LOG_GROUP = "log group"
JOB_DEFINITION = "job definition"
EFS_FILE_SYSTEM = "EFS file system"
EFS_MOUNT_TARGET = "EFS mount target"
FSX_FILE_SYSTEM = "FSx file system"
FSX_BACKUP = "FSx backup"
AMI = "image"
IMAGE_BUILD = "node image build"
NODE_IMAGE = "node image"

_STAGE_OF_KIND = {
    fleet_kinds.REPLICAS: Stage.JOBS,
    ecs.TASK: Stage.JOBS,
    ecs.SERVICE: Stage.QUEUES,
    fleet_kinds.AUTO_SCALING_GROUP: Stage.NODE_GROUPS,
    # While ECS still has the capacity providers.
    fleet_kinds.NODES: Stage.NODE_GROUPS,
    fleet_kinds.REGISTERED: Stage.REGISTRATIONS,
    # ECS deletes no cluster that still has one, and keeps an Auto Scaling group's while a cluster has it.
    ecs.MANAGED_PROVIDER: Stage.PROVIDERS,
    ecs.CLUSTER: Stage.CONTROLLERS,
    ecs.CAPACITY_PROVIDER: Stage.LOOSE_INSTANCES,
    # Its interfaces would keep the network alive.
    fleet_kinds.LOAD_BALANCER: Stage.LOOSE_NETWORK,
    fleet_kinds.TARGET_GROUP: Stage.LOOSE_GROUPS,
    fleet_kinds.FUNCTION: Stage.REMAINS,
    fleet_kinds.ALARM: Stage.REMAINS,
    fleet_kinds.PARAMETER: Stage.REMAINS,
    ecs.TASK_DEFINITION: Stage.REMAINS,
    # Before the stack with the recipes that they are of.
    IMAGE_BUILD: Stage.QUEUES,
    NODE_IMAGE: Stage.QUEUES,
    pcs.QUEUE: Stage.QUEUES,
    pcs.NODE_GROUP: Stage.NODE_GROUPS,
    pcs.CLUSTER: Stage.CONTROLLERS,
    # Their interfaces would keep the network alive.
    EFS_MOUNT_TARGET: Stage.LOOSE_NETWORK,
    FSX_FILE_SYSTEM: Stage.LOOSE_NETWORK,
    "instance": Stage.LOOSE_INSTANCES,
    "network interface": Stage.LOOSE_NETWORK,
    "NAT gateway": Stage.LOOSE_NETWORK,
    "VPC endpoint": Stage.LOOSE_NETWORK,
    "elastic IP": Stage.LOOSE_GROUPS,
    "security group": Stage.LOOSE_GROUPS,
    "volume": Stage.REMAINS,
    "launch template": Stage.REMAINS,
    "placement group": Stage.REMAINS,
    LOG_GROUP: Stage.REMAINS,
    JOB_DEFINITION: Stage.REMAINS,
    BUCKET: Stage.REMAINS,
    EFS_FILE_SYSTEM: Stage.REMAINS,
    FSX_BACKUP: Stage.REMAINS,
    AMI: Stage.REMAINS,
    "snapshot": Stage.LAST,
    log_deliveries.DELIVERY: Stage.REMAINS,
    log_deliveries.SOURCE: Stage.LAST,
    log_deliveries.DESTINATION: Stage.LAST,
}
# Somebody uses it, or AWS is busy with it: it becomes deletable, or goes away, by itself.
_TRANSIENT_STATES = {
    "instance": ("shutting-down",),
    "NAT gateway": ("deleting",),
    "VPC endpoint": ("deleting",),
    "placement group": ("deleting",),
    "network interface": ("detaching",),
    AMI: ("pending",),
    "snapshot": ("pending",),
    **dict.fromkeys(pcs.KINDS, pcs.BUSY_STATES),
    EFS_FILE_SYSTEM: efs.BUSY_STATES,
    EFS_MOUNT_TARGET: efs.BUSY_STATES,
    FSX_FILE_SYSTEM: fsx.BUSY_STATES,
    FSX_BACKUP: fsx.BUSY_STATES,
}
_IN_USE_STATES = {
    "network interface": ("in-use", "associated", "attaching"),
    "volume": ("in-use", "creating"),
}


def steps(inventory: Inventory, names: StackNames) -> tuple[Step, ...]:
    """What the kit can do about everything of ours. What is in use or protected, or of a kind that the kit cannot
    delete, has no step.
    """
    found = [
        *(Step(Stage.JOBS, Action.STOP_JOB, JOB, job.id, job.name) for job in inventory.jobs),
        *(_stack_step(stack, names) for stack in inventory.stacks if not stack.is_protected),
        *(step for item in inventory.loose if (step := _loose_step(item))),
    ]
    makers = [stack for stack in inventory.stacks if stack.name not in (names.storage, names.network)]
    if makers:
        # The stack that made it still has its mount target: AWS would answer "in use" for as long.
        found = [step for step in found if step.kind != EFS_FILE_SYSTEM]
    return tuple(sorted(found, key=lambda step: (step.stage, step.kind, step.name, step.id)))


def stack_action(status: str) -> Action:
    """CloudFormation deletes a stack in any state but a busy one. REVIEW_IN_PROGRESS is not busy: nothing runs in it."""
    if status.endswith("_IN_PROGRESS") and status != "REVIEW_IN_PROGRESS":
        return Action.WAIT_FOR_STACK
    return Action.DELETE_STACK


def can_delete(kind: str) -> bool:
    return kind in _STAGE_OF_KIND


def is_in_use(item: Item) -> bool:
    return item.state in _IN_USE_STATES.get(item.kind, ())


def _stack_step(stack: StackItem, names: StackNames) -> Step:
    stage = {names.storage: Stage.STORAGE, names.network: Stage.NETWORK}.get(stack.name, Stage.CLUSTERS)
    if stack.name in dict(names.shifts).values():
        # It acts on a fleet and on a cluster.
        stage = Stage.CONTROLLERS
    return Step(stage, stack_action(stack.status), STACK, stack.id, stack.name)


def _loose_step(item: Item) -> Step | None:
    if not can_delete(item.kind) or is_in_use(item):
        return None
    action = Action.WAIT if item.state in _TRANSIENT_STATES.get(item.kind, ()) else Action.DELETE
    return Step(_STAGE_OF_KIND[item.kind], action, item.kind, item.id, item.name)
