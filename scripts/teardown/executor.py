"""Does the steps, stage by stage, and takes the inventory again in between: what AWS says counts, not what we did.

Goes on after an error. Every thing gets a few attempts; what then remains is reported with its reason.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from scripts.aws import batch, cloudformation, ec2, ec2_images, log_deliveries, logs, s3
from scripts.aws.cloud import Cloud
from scripts.aws.translation import AccessDeniedError, AwsError, CredentialsError, UnreachableError
from scripts.teardown import order
from scripts.teardown.fleet_removals import AT_ONCE
from scripts.teardown.inventory import take_inventory
from scripts.teardown.leftovers import explain_stack
from scripts.teardown.model import Action, Inventory, Item, Stage, Step, Target
from scripts.teardown.removal import Standing
from scripts.teardown.slow_removals import SLOW, is_not_yet
from stacks.domain.names import ENVIRONMENT_TAG

ATTEMPTS_MAX = 3
WAIT_MINUTES_MAX = 120
CONFLICT_MINUTES_MAX = 10
_SAY_AGAIN_SECONDS = 60.0
_JOB_REASON = "neuronkit destroy"
_ACTING = (Action.DELETE, Action.DELETE_STACK, Action.STOP_JOB)

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`failures`: the last reason, by kind and id."""

    deleted: tuple[Item, ...]
    failures: dict[Key, str]
    inventory: Inventory


@dataclass
class Executor:
    cloud: Cloud
    target: Target
    say: Callable[[str], None]
    pause: Callable[[float], None] = time.sleep
    _attempts: Counter[Key] = field(default_factory=Counter)
    _failures: dict[Key, str] = field(default_factory=dict)
    _done: dict[Key, Item] = field(default_factory=dict)
    _waited_seconds: float = 0.0

    def run(self, inventory: Inventory) -> Outcome:
        while batch_of_steps := self._next(inventory):
            self._do(batch_of_steps)
            inventory = take_inventory(self.cloud, self.target)
        remaining = {(item.kind, item.id) for item in inventory.loose}
        remaining |= {(order.STACK, stack.id) for stack in inventory.stacks}
        remaining |= {(order.JOB, job.id) for job in inventory.jobs}
        deleted = tuple(item for key, item in self._done.items() if key not in remaining)
        return Outcome(deleted, {k: why for k, why in self._failures.items() if k in remaining}, inventory)

    def _next(self, inventory: Inventory) -> list[Step]:
        """The steps of the first stage among those that were tried least. So blockers go before a second attempt."""
        open_steps = [
            step
            for step in order.steps(inventory, self.target.stacks)
            if self._attempts[step.key] < ATTEMPTS_MAX
        ]
        turn = min(((self._attempts[step.key], step.stage) for step in open_steps), default=None)
        return [step for step in open_steps if (self._attempts[step.key], step.stage) == turn]

    def _do(self, steps: Sequence[Step]) -> None:
        waiting = []
        for step in steps:
            if step.action in _ACTING:
                self._attempts[step.key] += 1
                self.say(f"{step.action.split()[0]} {step.label}")
            if self._tried(step, self._begin):
                why = "stopped" if step.action is Action.STOP_JOB else ""
                self._done[step.key] = Item(step.kind, step.id, step.name, why=why)
                waiting.append(step)
        for step in waiting:
            self._tried(step, self._wait)

    def _tried(self, step: Step, act: Callable[[Step], None]) -> bool:
        """False when AWS refused: the reason is kept, and a missing permission is not asked for again."""
        try:
            act(step)
        except (CredentialsError, UnreachableError):
            raise
        except AwsError as error:
            self._fail(step, f"{error.message}; {error.hint}".rstrip("; "))
            if isinstance(error, AccessDeniedError):
                self._attempts[step.key] = ATTEMPTS_MAX
            elif step.action not in _ACTING:
                self._attempts[step.key] += 1
            return False
        return True

    def _begin(self, step: Step) -> None:
        if step.action is Action.STOP_JOB:
            batch.terminate_job(self.cloud, step.id, _JOB_REASON)
        elif step.action is Action.DELETE_STACK:
            cloudformation.delete_stack(self.cloud, step.id)
        elif step.action is Action.DELETE:
            self._delete(step)

    def _delete(self, step: Step) -> None:
        if step.kind == order.BUCKET:
            s3.empty_and_delete(self.cloud, step.id, self._emptying(step))
        elif step.kind == order.LOG_GROUP:
            logs.delete_group(self.cloud, step.id)
        elif step.kind == order.JOB_DEFINITION:
            batch.deregister_job_definition(self.cloud, step.id)
        elif step.kind in log_deliveries.KINDS:
            log_deliveries.delete(self.cloud, step.kind, step.id)
        elif step.kind in SLOW:
            self._begin_slow(step)
        elif step.kind in AT_ONCE:
            AT_ONCE[step.kind](self.cloud, step.id)
        elif step.kind == order.AMI:
            ec2_images.deregister(self.cloud, step.id, {ENVIRONMENT_TAG: self.target.environment})
        else:
            ec2.delete(self.cloud, step.kind, step.id)

    def _begin_slow(self, step: Step) -> None:
        """A conflict may only mean that AWS still works on a neighbour."""
        waited = 0.0
        while True:
            try:
                return SLOW[step.kind].begin(self.cloud, step.id)
            except AwsError as error:
                if not is_not_yet(error) or waited >= CONFLICT_MINUTES_MAX * 60:
                    raise
            waited += self._sleep()

    def _emptying(self, step: Step) -> Callable[[int], None]:
        return lambda count: self.say(f"  {step.label}: {count} object versions deleted")

    def _wait(self, step: Step) -> None:
        if step.kind == order.STACK:
            self._wait_for_stack(step)
        elif step.kind in SLOW:
            self._wait_for_slow(step)
        elif step.stage is Stage.JOBS:
            self._wait_for_job(step)
        elif step.action is Action.WAIT:
            self._wait_for_item(step)

    def _wait_for_item(self, step: Step) -> None:
        """One pause: the next inventory tells whether it is gone."""
        self._attempts[step.key] += self._waited_seconds > WAIT_MINUTES_MAX * 60
        self._sleep()

    def _wait_for_slow(self, step: Step) -> None:
        """Until it is gone; of what AWS was busy with otherwise, until it can be deleted."""
        last: list[Standing | None] = [None]

        def is_over() -> bool:
            last[0] = SLOW[step.kind].look(self.cloud, step.id)
            if last[0] is None or last[0].has_failed:
                return True
            return step.action is Action.WAIT and not last[0].is_busy

        if not self._wait_until(step.label, is_over, lambda: last[0].state if last[0] else ""):
            self._give_up_waiting(step)
        elif last[0] is not None and step.action is Action.DELETE:
            self._fail(step, f"{last[0].state} {last[0].why}".rstrip())

    def _wait_for_job(self, step: Step) -> None:
        if not self._wait_until(f"job {step.name} to end", lambda: self._job_has_ended(step.id)):
            self._give_up_waiting(step)

    def _job_has_ended(self, job_id: str) -> bool:
        job = batch.find_job(self.cloud, job_id)
        return job is None or not job.is_active

    def _wait_for_stack(self, step: Step) -> None:
        """Until nothing runs in it, whatever ran."""
        last: list[cloudformation.Stack | None] = [None]

        def is_idle() -> bool:
            last[0] = cloudformation.find_stack(self.cloud, step.id)
            return last[0] is None or not last[0].is_busy

        if not self._wait_until(f"stack {step.name}", is_idle, lambda: self._worked_on(step.id)):
            self._attempts[step.key] = ATTEMPTS_MAX
            self._fail(
                step, f"still busy after {WAIT_MINUTES_MAX} minutes; give the same command again later"
            )
        elif last[0] is not None and last[0].status == "DELETE_FAILED":
            self._fail(step, explain_stack(self.cloud, last[0]))

    def _give_up_waiting(self, step: Step) -> None:
        self._attempts[step.key] = ATTEMPTS_MAX
        self._fail(step, f"still busy after {WAIT_MINUTES_MAX} minutes; give the same command again later")

    def _worked_on(self, stack_id: str) -> str:
        """Said, not needed: a refused question is no reason to stop."""
        try:
            resources = cloudformation.resources(self.cloud, stack_id)
        except AwsError:
            return ""
        return ", ".join(f"{r.type} {r.logical_id}" for r in resources if r.status.endswith("_IN_PROGRESS"))

    def _wait_until(
        self, what: str, is_over: Callable[[], bool], doing: Callable[[], str] = lambda: ""
    ) -> bool:
        waited = said = 0.0
        while not is_over():
            if waited >= WAIT_MINUTES_MAX * 60:
                return False
            if waited - said >= _SAY_AGAIN_SECONDS:
                said = waited
                words = doing()
                self.say(f"  waiting for {what} ({waited / 60:.0f} min){f': {words}' if words else ''}")
            waited += self._sleep()
        return True

    def _sleep(self) -> float:
        self.pause(self.cloud.poll_seconds)
        self._waited_seconds += self.cloud.poll_seconds
        return self.cloud.poll_seconds

    def _fail(self, step: Step, why: str) -> None:
        told_before = self._failures.get(step.key) == why
        self._failures[step.key] = why
        self._done.pop(step.key, None)
        self.say(f"  not deleted: {step.label}: {'the same reason again' if told_before else why}")
