"""The next steps of a shift. Pure: two sides as AWS shows them now and a goal in, actions and words out.

To serve: close training (no new starts), remember and stop what runs, wait until its nodes are gone, raise the fleet.
To train: lower the fleet to its floor, wait until its nodes are gone, open training, start remembered jobs again.

Every action may be repeated, and every decision begins with what is. What may never happen:
- the floor is not in question: no action puts a service below it;
- a job that was asked to stop is remembered before, and forgotten only when it ended by itself or runs again;
- a stop that was begun is finished, whatever the goal is by then: Batch does not tell whether a job was asked.
Serving does not wait for ever for training: after `SERVE_WAIT` it is raised, and gets nodes as they become free.
Training waits for serving as long as it takes, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from shift.sides import ACTIVE, ENDED, STOPPED, Goal, Job, Remembered, Service, Serving, Training, Unread
from shift.windows import DRAIN_TRAINING, SERVE, TRAIN

SERVE_WAIT = timedelta(minutes=20)
"""On top of the drain before the window."""
TRAIN_WAIT = timedelta(minutes=60)
"""A drain, the 15 minutes after which ECS takes a node away, and its end: longer is worth an alarm."""
CLAIM_SECONDS = 900.0
"""Longer than an invocation lives, and than a submitted job stays out of ListJobs."""


@dataclass(frozen=True, slots=True)
class SetNodes:
    """Of one service: the range for its autoscaling, and with it the count where that lies outside."""

    service: str
    minimum: int
    maximum: int
    desired: int


@dataclass(frozen=True, slots=True)
class Open:
    """Batch starts jobs again."""


@dataclass(frozen=True, slots=True)
class Close:
    """Batch starts no job; those that wait keep waiting. By the compute environment: a disabled queue takes no new jobs,
    but goes on starting those in it (botocore 1.44.8, batch UpdateJobQueue and UpdateComputeEnvironment)."""


@dataclass(frozen=True, slots=True)
class Remember:
    job: Job


@dataclass(frozen=True, slots=True)
class Stop:
    job_id: str


@dataclass(frozen=True, slots=True)
class Submit:
    job_id: str
    """Of the stopped job, under whose name a new one starts."""


@dataclass(frozen=True, slots=True)
class Forget:
    job_id: str


Action = SetNodes | Open | Close | Remember | Stop | Submit | Forget


def job_of(action: Action) -> str:
    """The job's id; of an action about no job, a word that is none."""
    if isinstance(action, Remember):
        return action.job.id
    return action.job_id if isinstance(action, Stop | Submit | Forget) else "-"


@dataclass(frozen=True, slots=True)
class Decision:
    """Two lists that do not depend on each other: what fails in one does not keep the other back."""

    serving: tuple[Action, ...]
    training: tuple[Action, ...]
    waits: tuple[str, ...]
    is_late: bool


def decide(
    goal: Goal,
    serving: Serving | Unread | None,
    training: Training | Unread | None,
    remembered: tuple[Remembered, ...],
    now: datetime,
) -> Decision:
    """A side that is None is not deployed; nobody has to wait for it."""
    if goal.state in (DRAIN_TRAINING, SERVE):
        return _to_serve(goal, serving, training, remembered, now)
    return _to_train(goal, serving, training, remembered, now)


def _to_serve(
    goal: Goal,
    serving: Serving | Unread | None,
    training: Training | Unread | None,
    remembered: tuple[Remembered, ...],
    now: datetime,
) -> Decision:
    waits = list(_training_in_words(training))
    is_overdue = goal.state == SERVE and now - goal.since > SERVE_WAIT
    has_nodes = isinstance(serving, Serving) and any(
        one.maximum > goal.floor_nodes for one in serving.services
    )
    may_raise = goal.state == SERVE and (not waits or is_overdue or has_nodes)
    floor = goal.floor_nodes
    # A fleet that sleeps at times is woken, and sent to sleep, by its waker alone: autoscaling keeps one node.
    actions = _range(serving, max(1, floor), goal.nodes, floor) if may_raise else _floor(serving, floor)
    if may_raise and isinstance(serving, Serving) and not actions:
        waits += _starting_in_words(serving)
    return Decision(
        actions,
        (*_closing(training), *_stops(training, remembered), *_tidying(remembered)),
        tuple(waits),
        is_overdue and bool(waits),
    )


def _to_train(
    goal: Goal,
    serving: Serving | Unread | None,
    training: Training | Unread | None,
    remembered: tuple[Remembered, ...],
    now: datetime,
) -> Decision:
    lowering = _range(serving, goal.floor_nodes, goal.floor_nodes, goal.floor_nodes)
    if goal.state != TRAIN or not isinstance(training, Training):
        return Decision(lowering, _tidying(remembered), (), is_late=False)
    waits = list(_serving_in_words(serving, goal.floor_nodes))
    is_late = bool(waits) and now - goal.since > TRAIN_WAIT
    if waits and not training.is_open:
        return Decision(lowering, _tidying(remembered), tuple(waits), is_late)
    if not training.is_open:
        opening: tuple[Action, ...] = () if training.is_changing else (Open(),)
        words = ("the compute environment is being updated",) if training.is_changing else ()
        return Decision(lowering, (*opening, *_tidying(remembered)), words, is_late)
    starts, pending = _starts(remembered)
    return Decision(lowering, (*_tidying(remembered), *starts), pending, is_late)


def _closing(training: Training | Unread | None) -> tuple[Action, ...]:
    return (
        (Close(),) if isinstance(training, Training) and training.is_open and not training.is_changing else ()
    )


def _stops(training: Training | Unread | None, remembered: tuple[Remembered, ...]) -> tuple[Action, ...]:
    """What is remembered is asked again: the request may not have reached Batch."""
    if not isinstance(training, Training):
        return ()
    known = {one.id for one in remembered}
    actions: list[Action] = []
    for job in training.running:
        actions += [Stop(job.id)] if job.id in known else [Remember(job), Stop(job.id)]
    return tuple(actions)


def _tidying(remembered: tuple[Remembered, ...]) -> tuple[Action, ...]:
    return tuple(Forget(one.id) for one in remembered if one.is_again or one.state == ENDED)


def _starts(remembered: tuple[Remembered, ...]) -> tuple[tuple[Action, ...], tuple[str, ...]]:
    actions: list[Action] = []
    waits: list[str] = []
    for one in remembered:
        if one.is_again or one.state == ENDED:
            continue
        if one.state == ACTIVE:
            actions.append(Stop(one.id))
            waits.append(f"{one.name} has not stopped yet; it starts again when it has")
        elif one.claim_seconds is not None and one.claim_seconds < CLAIM_SECONDS:
            waits.append(f"{one.name} was submitted, and Batch does not list it yet")
        elif one.state == STOPPED:
            actions.append(Submit(one.id))
    return tuple(actions), tuple(waits)


def _floor(serving: Serving | Unread | None, floor: int) -> tuple[Action, ...]:
    """Before the window: the floor must hold; what is above it for another reason is left alone."""
    if not isinstance(serving, Serving):
        return ()
    wanted = (_service_range(one, floor, max(floor, one.maximum), floor) for one in serving.services)
    return tuple(action for action in wanted if action)


def _range(serving: Serving | Unread | None, minimum: int, maximum: int, floor: int) -> tuple[Action, ...]:
    if not isinstance(serving, Serving):
        return ()
    wanted = (_service_range(one, minimum, maximum, floor) for one in serving.services)
    return tuple(action for action in wanted if action)


def _service_range(service: Service, minimum: int, maximum: int, floor: int) -> SetNodes | None:
    """None where it is so already. What may sleep, and does, is not woken by a count; a new range may wake it once, as
    registering one brings the count into it (botocore 1.44.8, RegisterScalableTarget)."""
    sleeps = service.desired == floor == 0
    desired = 0 if sleeps else min(max(service.desired, minimum), maximum)
    if (service.minimum, service.maximum, service.desired) == (minimum, maximum, desired):
        return None
    return SetNodes(service.name, minimum, maximum, desired)


def _training_in_words(training: Training | Unread | None) -> tuple[str, ...]:
    if isinstance(training, Unread):
        return (f"training could not be read: {training.why}",)
    if training is None:
        return ()
    words = []
    if training.running:
        words.append(
            f"{len(training.running)} jobs are stopping: {', '.join(job.name for job in training.running[:5])}"
        )
    if training.instances:
        words.append(f"{training.instances} nodes of training are not gone yet")
    if training.is_open and training.is_changing:
        words.append("the compute environment is being updated")
    return tuple(words)


def _serving_in_words(serving: Serving | Unread | None, floor: int) -> tuple[str, ...]:
    if isinstance(serving, Unread):
        return (f"the fleet could not be read: {serving.why}",)
    if serving is None or serving.instances <= floor:
        return ()
    return (
        f"the fleet has {serving.instances} nodes, and {floor} are its floor: training waits for the others to go",
    )


def _starting_in_words(serving: Serving) -> list[str]:
    return [
        f"{one.running} of {one.desired} nodes of {one.name} serve"
        for one in serving.services
        if one.running < one.desired
    ]
