"""A run as it goes: changes of state and the log lines of every node, until it ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from scripts.aws.cloud import Cloud
from scripts.schedulers.scheduler import ScheduledRun, Sight, Watch
from stacks.domain.errors import WorldError

# ECS sends the last lines of a container a moment after it has ended; a shared file system shows them a moment later.
_LAST_LINES_SECONDS = 5.0


@dataclass
class Follower:
    """`on_state` hears of changes, `on_line` prints log lines."""

    cloud: Cloud
    watch: Watch
    on_state: Callable[[str], None]
    on_line: Callable[[str], None]
    only_node: int | None = None
    pause: Callable[[float], None] = time.sleep

    def follow(self) -> ScheduledRun:
        """The run when it has ended. Raises WorldError when its scheduler has forgotten how, or all of it."""
        told = ""
        while True:
            sight = self.watch.look()
            if sight.words != told:
                self.on_state(f"{sight.run.name}: {sight.words}")
                told = sight.words
            self._print(sight)
            if not sight.run.is_active:
                self.pause(0.0 if self.cloud.is_local else _LAST_LINES_SECONDS)
                self._print(self.watch.look())
                return _known(sight.run)
            self.pause(self.cloud.poll_seconds)

    def print_once(self) -> ScheduledRun:
        sight = self.watch.look()
        self._print(sight)
        return sight.run

    def _print(self, sight: Sight) -> None:
        several = sight.nodes != 1 and self.only_node is None
        for line in sight.lines:
            label = "job" if line.node is None else str(line.node)
            self.on_line(f"[{label}] {line.text}" if several else line.text)


def _known(run: ScheduledRun) -> ScheduledRun:
    if not run.end_is_known:
        raise WorldError(
            f"nobody knows how run {run.name} ended: its scheduler has forgotten it",
            f"`neuronkit logs FILE {run.name}` shows its last words",
        )
    return run
