"""A job's life, in a thread of its own: dependencies, waiting for a place, attempts, the end.

Of a multi-node job the main node decides. "If the main node exits, the job is considered finished, and all of the
child nodes are stopped. If a child node dies, AWS Batch doesn't take any action on the other nodes in the job."
"If you specify job retries, a main node failure causes another attempt to occur. Child node failures don't."
(AWS Batch user guide, multi-node-parallel-jobs and job-lifecycle.)
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Protocol

from scripts.local_cloud import runtime
from scripts.local_cloud.batch.container_environment import InitializationError
from scripts.local_cloud.batch.environments import JobQueue
from scripts.local_cloud.batch.job import ESSENTIAL_EXITED, FINAL, Job, Node, now_ms
from scripts.local_cloud.batch.node_process import NodeProcess, job_directory
from scripts.local_cloud.batch.placement import Placement
from scripts.local_cloud.batch.retries import another_attempt

# Long enough for a client that polls to see the state, short enough not to be noticed.
_STATE_SECONDS = 0.1
_PLACE_POLL_SECONDS = 0.1
# Batch's containers have no stopTimeout, so the ECS agent's default counts (ECS_CONTAINER_STOP_TIMEOUT).
_GRACE_SECONDS = 30.0
_TIMED_OUT = "Job attempt duration exceeded timeout"


class Scheduler(Protocol):
    """What a run needs from the account's Batch."""

    def take_place(self, job: Job) -> Placement: ...

    def give_back(self, job: Job) -> None: ...

    def find_job(self, job_id: str) -> Job | None: ...


class JobRun:
    def __init__(self, job: Job, scheduler: Scheduler) -> None:
        self.job = job
        self._scheduler = scheduler
        self._processes: dict[int, NodeProcess] = {}
        self._lock = threading.Lock()
        self._killed = False
        self._thread = threading.Thread(target=self._run, name=f"job {job.id}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def kill(self) -> None:
        """The server ends: every process of the job ends now."""
        with self._lock:
            self._killed = True
        self.job.stop.set()
        for process in list(self._processes.values()):
            process.kill()

    def _run(self) -> None:
        job = self.job
        try:
            self._live()
        except Exception as error:
            logging.getLogger(__name__).exception("job %s", job.id)
            self._end("FAILED", f"Internal failure of the local cloud: {type(error).__name__}: {error}")
        finally:
            for process in self._processes.values():
                process.kill()
                process.remove_directory()
            self._scheduler.give_back(job)
            job.finished.set()

    def _live(self) -> None:
        job = self.job
        failure = self._wait_for_dependencies()
        if failure is not None:
            self._end("FAILED", failure)
            return
        while True:
            if not self._wait_for_place():
                self._end("FAILED", job.stop_reason)
                return
            job.attempt += 1
            status_reason = self._attempt()
            self._scheduler.give_back(job)
            main = job.nodes[job.main_node]
            self._record_attempt(status_reason)
            if main.status == "SUCCEEDED":
                self._end("SUCCEEDED", status_reason)
                return
            final = job.stop.is_set() or status_reason == _TIMED_OUT
            if final or not another_attempt(
                job.retry, job.attempt, main.exit_code, main.reason, status_reason
            ):
                self._end("FAILED", status_reason)
                return
            job.nodes = [node.fresh() for node in job.nodes]

    # ---- before the start

    def _wait_for_dependencies(self) -> str | None:
        """None when all have succeeded, else why the job fails."""
        job = self.job
        if not job.depends_on:
            self._pause()
        job.set_status("PENDING")
        for dependency in job.depends_on:
            other = self._scheduler.find_job(dependency["jobId"])
            while other is not None and other.status not in FINAL:
                if job.stop.wait(_PLACE_POLL_SECONDS):
                    return job.stop_reason
            if other is None or other.status == "FAILED":
                return "Dependent Job failed"
        return job.stop_reason if job.stop.is_set() else None

    def _wait_for_place(self) -> bool:
        """False when the job was stopped, by a person or by the queue's limits, before it could start."""
        job = self.job
        job.set_status("RUNNABLE")
        job.runnable_since = time.monotonic()
        self._pause()
        while not job.stop.is_set():
            placement = self._scheduler.take_place(job)
            if placement.environment is not None:
                job.environment_name = placement.environment.name
                job.status_reason = None
                return True
            job.status_reason = placement.reason
            if _over_limit(job, job.queue):
                return False
            job.stop.wait(_PLACE_POLL_SECONDS)
        return False

    # ---- one attempt

    def _attempt(self) -> str | None:
        """Runs the nodes to their end; returns the status reason, in Batch's words."""
        job = self.job
        job.set_status("STARTING")
        deadline = self._deadline()
        main = job.nodes[job.main_node]
        self._processes = {}
        self._start_node(main)
        if main.status == "RUNNING":
            self._pause()
            job.set_status("RUNNING")
            job.started = main.started
            for node in job.nodes:
                if node is not main and not job.stop.is_set():
                    self._start_node(node)
        reason = self._watch(main, deadline) if main.status == "RUNNING" else main.status_reason
        self._stop_nodes([process for index, process in self._processes.items() if index != main.index])
        for node in job.nodes:
            self._settle(node, reason if node is main else None)
        for process in self._processes.values():
            process.remove_directory()
        return reason

    def _start_node(self, node: Node) -> None:
        node.status = "STARTING"
        process = NodeProcess(self.job, node, job_directory(self.job) / f"node-{node.index}")
        try:
            with self._lock:
                if self._killed:
                    return
                self._processes[node.index] = process
                process.start()
            node.status = "RUNNING"
        except InitializationError as error:
            del self._processes[node.index]
            process.remove_directory()
            node.status, node.reason = "FAILED", str(error)
            node.status_reason = "Task failed to start"
            node.stopped = now_ms()

    def _watch(self, main: Node, deadline: float | None) -> str:
        """Until the main node has ended, or has been ended."""
        job = self.job
        process = self._processes[main.index]
        while not process.ended.wait(0.02):
            for node in job.nodes:
                if node is not main:
                    self._settle_if_ended(node)
            if job.stop.is_set():
                self._stop_nodes(list(self._processes.values()))
                return job.stop_reason or "Terminated"
            if deadline is not None and time.monotonic() >= deadline:
                self._stop_nodes(list(self._processes.values()))
                return _TIMED_OUT
        return ESSENTIAL_EXITED

    def _stop_nodes(self, processes: list[NodeProcess]) -> None:
        grace = _GRACE_SECONDS / runtime.current().settings.time_scale
        for process in processes:
            process.stop(grace)
        for process in processes:
            if not process.ended.wait(grace + 5):
                process.kill()

    def _settle_if_ended(self, node: Node) -> None:
        process = self._processes.get(node.index)
        if process is not None and process.ended.is_set() and node.status == "RUNNING":
            self._settle(node, None)

    def _settle(self, node: Node, status_reason: str | None) -> None:
        if node.status not in FINAL:
            node.status = (
                "SUCCEEDED" if node.exit_code == 0 and status_reason in (None, ESSENTIAL_EXITED) else "FAILED"
            )
            node.status_reason = status_reason or ESSENTIAL_EXITED

    def _record_attempt(self, status_reason: str | None) -> None:
        job = self.job
        for node in job.nodes:
            node.attempts = [*node.attempts, node.attempt()]
        main = job.nodes[job.main_node].attempt()
        job.attempts = [*job.attempts, {**main, "statusReason": status_reason}]

    def _deadline(self) -> float | None:
        seconds = (self.job.timeout or {}).get("attemptDurationSeconds")
        if seconds is None:
            return None
        return time.monotonic() + float(seconds) / runtime.current().settings.time_scale

    # ---- the end

    def _end(self, status: str, reason: str | None) -> None:
        job = self.job
        job.stopped = now_ms()
        for node in job.nodes:
            if node.status not in FINAL:
                node.status = status
                node.status_reason = reason
        job.status_reason = reason
        job.status = status

    def _pause(self) -> None:
        self.job.stop.wait(_STATE_SECONDS)


def _over_limit(job: Job, queue: JobQueue) -> bool:
    """Applies the queue's `jobStateTimeLimitActions` to a job that waits in RUNNABLE for a named reason."""
    waited = (time.monotonic() - job.runnable_since) * runtime.current().settings.time_scale
    for action in queue.time_limit_actions:
        named = str(action["reason"])
        concerned = action["state"] == "RUNNABLE" and (job.status_reason or "").startswith(named)
        if concerned and waited >= float(action["maxTimeSeconds"]):
            word = "Terminated" if action["action"] == "TERMINATE" else "Canceled"
            job.cancelled = word == "Canceled"
            job.terminated = not job.cancelled
            job.stop_reason = f"{word} by JobStateTimeLimit action due to reason: {named}"
            return True
    return False
