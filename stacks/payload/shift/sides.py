"""What the controller sees and wants: frozen values, nothing of AWS's spelling."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Service:
    """One for each slice of a node; their counts are nodes."""

    name: str
    minimum: int
    maximum: int
    desired: int
    running: int


@dataclass(frozen=True, slots=True)
class Serving:
    services: tuple[Service, ...]
    instances: int
    """Of the fleet's Auto Scaling group, those that are ending included: they still hold capacity."""


@dataclass(frozen=True, slots=True)
class Job:
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Training:
    is_open: bool
    """The compute environment is ENABLED: Batch starts jobs."""
    is_changing: bool
    """An update of it is under way; Batch refuses another."""
    running: tuple[Job, ...]
    """STARTING or RUNNING: those hold nodes. Jobs that wait may wait."""
    instances: int
    """Pending and ending ones included."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A side that AWS did not show this time."""

    why: str


ACTIVE = "active"
STOPPED = "stopped"
ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Remembered:
    """A job that this controller stopped, or is about to stop, and has to start again. It is kept in the bucket."""

    id: str
    name: str
    state: str
    """ACTIVE, STOPPED by this controller, or ENDED by itself or by somebody else."""
    is_again: bool
    """A newer job of this name exists: it was started again."""
    claim_seconds: float | None
    """Since a submission was begun of which no job is known. None: none was begun."""


@dataclass(frozen=True, slots=True)
class Goal:
    state: str
    """One of windows.STATES."""
    since: datetime
    nodes: int
    """Of the fleet at most: the window's, or the floor's."""
    floor_nodes: int
    words: str
    """Why: the timetable, or an override."""
