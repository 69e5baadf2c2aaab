"""The task that compiles a fleet's model once, before anything serves. What it makes lies on the shared file system.

A note in the bucket says which task definition was compiled for; a running task is joined, never started twice. A token that
follows from what ECS knows of earlier tasks keeps two commands at the same time from starting two: it ends with their memory,
an hour after a task (ECS API reference, idempotency of RunTask).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scripts.aws import ecs, s3
from scripts.aws.cloud import Cloud
from scripts.aws.ecs import Task, TaskPlace
from scripts.serving_fleets.node_refusal import node_refusal
from stacks.domain.errors import WorldError
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.serving import start_parts

STARTED_BY = "neuronkit-compile"
MINUTES_MAX = 240
_SAY_AGAIN_SECONDS = 60.0


def compiled_key(fleet: str) -> str:
    """In the environment's bucket."""
    return f"fleets/{fleet}/compiled.json"


@dataclass
class CompileTask:
    cloud: Cloud
    fleet: FleetPlan
    bucket: str
    place: TaskPlace
    definition: str
    log_group: str
    auto_scaling_group: str | None
    """Whose refusals explain a task that finds no node."""
    has_room: bool
    """Replicas leave a node for a new task."""
    say: Callable[[str], None]
    pause: Callable[[float], None] = time.sleep

    def ensure(self) -> None:
        """Returns when the model is compiled, or nothing has room to compile it. Raises WorldError when that failed, or is not
        over within MINUTES_MAX."""
        if self._is_done():
            return
        known = [task for task in ecs.tasks(self.cloud, self.place.cluster) if task.started_by == STARTED_BY]
        self._stop_others(known)
        task = self._worked(known) or self._running(known)
        if task is None and not self.has_room:
            self.say(
                f"  fleet {self.fleet.name}: replicas hold all {self.fleet.nodes_maximum} nodes: nothing is compiled beforehand, "
                "they compile at their own start (a node more under replicas.maximum changes that)"
            )
            return
        ended = self._wait(task or self._start(known))
        if not ended.has_worked:
            raise WorldError(
                f"the compile task {ended.id} of fleet {self.fleet.name} failed: {self._why(ended)}",
                f"its log is in log group {self.log_group}; when the cause is gone, the same command compiles again",
            )
        s3.put(self.cloud, self.bucket, compiled_key(self.fleet.name), self.definition.encode())
        self.say(f"  fleet {self.fleet.name}: {self._success()}")

    def _success(self) -> str:
        if self.cloud.is_local:
            return "the compile task ended well; the local cloud runs no containers: nothing is compiled"
        return "compiled"

    def _is_done(self) -> bool:
        return (
            s3.read_bytes(self.cloud, self.bucket, compiled_key(self.fleet.name)) == self.definition.encode()
        )

    def _stop_others(self, known: Sequence[Task]) -> None:
        """What an older deploy compiles for is no longer asked for, and would hold the node."""
        for task in known:
            if not task.has_ended and task.definition_arn != self.definition:
                ecs.stop_task(
                    self.cloud, self.place.cluster, task.arn, "neuronkit deploy: the fleet has changed"
                )
                self.say(f"  fleet {self.fleet.name}: compile task {task.id} of an older deploy is stopped")

    def _worked(self, known: Sequence[Task]) -> Task | None:
        """One that came to its end while no command waited for it."""
        return next(
            (task for task in known if task.has_worked and task.definition_arn == self.definition), None
        )

    def _running(self, known: Sequence[Task]) -> Task | None:
        ours = [task for task in known if not task.has_ended and task.definition_arn == self.definition]
        if ours:
            self.say(f"  fleet {self.fleet.name}: joined compile task {ours[0].id}")
        return ours[0] if ours else None

    def _start(self, known: Sequence[Task]) -> Task:
        low, high = self._minutes()
        estimate = f", {low} to {high} minutes in what others report" if high else ""
        earlier = sorted(task.arn for task in known)
        token = hashlib.sha256(" ".join((self.definition, *earlier)).encode()).hexdigest()
        task = ecs.run_task(self.cloud, self.place, self.definition, STARTED_BY, token)
        self.say(f"  fleet {self.fleet.name}: compile task {task.id} started{estimate}")
        return task

    def _minutes(self) -> tuple[int, int]:
        parts = [part for part in start_parts(self.fleet.settings.engine) if part.what == "compile"]
        return sum(p.low_seconds for p in parts) // 60, sum(p.high_seconds for p in parts) // 60

    def _wait(self, task: Task) -> Task:
        waited = said = 0.0
        status = task.status
        while not task.has_ended:
            if waited > MINUTES_MAX * 60:
                raise WorldError(
                    f"the compile task {task.id} of fleet {self.fleet.name} is still {task.status} after {MINUTES_MAX} minutes"
                    f"{self._no_node(task)}",
                    f"look into log group {self.log_group}; the same command goes on waiting",
                )
            self.pause(self.cloud.poll_seconds)
            waited += self.cloud.poll_seconds
            found = ecs.describe_tasks(self.cloud, self.place.cluster, [task.arn])
            if not found:
                raise WorldError(
                    f"ECS no longer knows the compile task {task.id} of fleet {self.fleet.name}",
                    "give the same command again",
                )
            task = found[0]
            if task.status != status or waited - said >= _SAY_AGAIN_SECONDS:
                status, said = task.status, waited
                minutes = f"{waited / 60:.0f} min"
                self.say(
                    f"  fleet {self.fleet.name}: compile task {task.status} ({minutes}){self._no_node(task)}"
                )
        return task

    def _why(self, task: Task) -> str:
        codes = ", ".join("none" if code is None else str(code) for code in task.exit_codes)
        words = "; ".join(filter(None, (task.stop_code, task.reason)))
        return f"exit codes {codes or 'none'}" + (f"; {words}" if words else "") + self._no_node(task)

    def _no_node(self, task: Task) -> str:
        """What EC2 says, while the task waits for a node or after it has got none."""
        waits = task.status == "PROVISIONING" or task.stop_code == "TaskFailedToStart"
        refused = node_refusal(self.cloud, self.auto_scaling_group) if waits else ""
        return f"; {refused}" if refused else ""
