"""What a teardown talks about. All frozen; nothing here asks AWS."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from stacks.domain.names import StackNames


@dataclass(frozen=True, slots=True)
class Target:
    """The environment to remove. Read from the file alone: no lock and no rule is needed for it."""

    environment: str
    stacks: StackNames
    bootstrap_stack: str
    capacities: tuple[tuple[str, str], ...]
    """Name and id of each reservation or block that the file names."""
    uses_slurm: bool = False
    """Whether the file has a Slurm cluster now."""
    uses_fleets: bool = False
    """Whether the file has a fleet now."""


class Ownership(StrEnum):
    OURS = "ours"
    SUSPECT = "suspect"
    """Named like ours, but not tagged: listed, never touched."""


@dataclass(frozen=True, slots=True, order=True)
class Item:
    """One thing outside CloudFormation's care. `id` is what its deletion takes."""

    kind: str
    id: str
    name: str = ""
    state: str = ""
    why: str = ""
    """For what is kept or suspected; for ours: what is known about why it is there."""

    @property
    def label(self) -> str:
        """With the id where people use it: of an ARN, the name says the same."""
        if self.name in ("", self.id) or self.id.startswith("arn:"):
            return f"{self.kind} {self.name or self.id}"
        return f"{self.kind} {self.id} ({self.name})"


@dataclass(frozen=True, slots=True)
class StackItem:
    name: str
    id: str
    status: str
    is_protected: bool = False


@dataclass(frozen=True, slots=True)
class JobItem:
    name: str
    id: str
    state: str


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A question that AWS did not answer: never to be read as "nothing there"."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class PaidUntil:
    capacity: str
    id: str
    until: str | None
    """ISO 8601, UTC; None where AWS does not say."""
    state: str


@dataclass(frozen=True, slots=True)
class Inventory:
    """`loose` is ours and belongs to no living stack."""

    stacks: tuple[StackItem, ...] = ()
    jobs: tuple[JobItem, ...] = ()
    """Those that have not ended, in our queues."""
    loose: tuple[Item, ...] = ()
    suspects: tuple[Item, ...] = ()
    kept: tuple[Item, ...] = ()
    paid: tuple[PaidUntil, ...] = ()
    unanswered: tuple[Unanswered, ...] = ()
    buckets: tuple[str, ...] = ()
    """All of ours, those of living stacks, too: their data goes with them."""
    notices: tuple[str, ...] = ()
    """What else ends or is lost, in words: nodes that run, data on shared file systems."""

    @property
    def is_empty(self) -> bool:
        """Nothing of ours was found. Not the same as nothing is there: see `unanswered`."""
        return not (self.stacks or self.jobs or self.loose)


class Stage(IntEnum):
    """In this order; within a stage, steps do not depend on each other."""

    JOBS = 1
    QUEUES = 2
    NODE_GROUPS = 3
    REGISTRATIONS = 4
    """What ECS still counts when the groups are empty, or runs without a group."""
    PROVIDERS = 5
    """Of Managed Instances: they go after their instances and before the cluster that they belong to."""
    CONTROLLERS = 6
    CLUSTERS = 7
    LOOSE_INSTANCES = 8
    LOOSE_NETWORK = 9
    LOOSE_GROUPS = 10
    STORAGE = 11
    NETWORK = 12
    REMAINS = 13
    LAST = 14
    """What something of REMAINS has to let go first."""


class Action(StrEnum):
    STOP_JOB = "stop"
    DELETE_STACK = "delete stack"
    WAIT_FOR_STACK = "wait for stack"
    DELETE = "delete"
    WAIT = "wait for"


@dataclass(frozen=True, slots=True)
class Step:
    stage: Stage
    action: Action
    kind: str
    id: str
    name: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """The thing, whatever is done to it."""
        return (self.kind, self.id)

    @property
    def label(self) -> str:
        return Item(self.kind, self.id, self.name).label
