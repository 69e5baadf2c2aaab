"""A run on Slurm as it goes: one round trip a look, for its state and what is new in the logs of its nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from scripts.schedulers import slurm_scripts
from scripts.schedulers.remote_answer import Answer
from scripts.schedulers.scheduler import RunLine, ScheduledRun, Sight
from scripts.schedulers.slurm_answers import WAITING_STATES, parse_ended, parse_frames, parse_jobs
from scripts.schedulers.slurm_runs import of_directory, of_job
from scripts.schedulers.slurm_words import waiting_words
from stacks.domain.errors import JobFailedError

Frame = tuple[tuple[str, ...], bytes]
_LAST_LINES: Final = 20
_FAILURE = re.compile(r"[0-9]+ (\S+) ([0-9]+) ([0-9]+)")
"""What is noted of a node that failed by itself: NANOSECONDS NAME NODE EXIT_CODE."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What is new in one log."""

    path: str
    node: int | None
    """None: the job script's own."""
    content: bytes


@dataclass
class SlurmWatch:
    """Bytes of a log are consumed up to the last whole line; what follows it waits for its end, or the run's."""

    run_text: Callable[[str, str], Answer]
    directory: str
    run: ScheduledRun
    only_node: int | None = None
    _offsets: dict[str, int] = field(default_factory=dict)
    _last: dict[int | None, list[str]] = field(default_factory=dict)
    """The newest lines of each log, for the words of a failure."""
    _failures: str = field(default="", init=False)
    """A line each, the first failure first."""

    def look(self) -> Sight:
        """Reads on while there is more in the logs than one answer takes."""
        lines: list[RunLine] = []
        while True:
            text = slurm_scripts.watch_script(self.directory, self.run.id, self._offsets, self.only_node)
            frames = list(parse_frames(self.run_text(text, f"follow run {self.run.name}").stdout))
            self.run, words = self._state(frames)
            new = _logs(frames)
            is_full = sum(len(part.content) for part in new) >= slurm_scripts.LOG_BYTES_MAX
            for part in new:
                lines += self._consume(part, is_full=is_full)
            if not is_full:
                return Sight(self.run, words, self.run.nodes, tuple(lines))

    def failure(self, run: ScheduledRun) -> JobFailedError:
        """With the nodes that failed by themselves, and the last words of the first of them, or of the job script."""
        lines = [f"run {run.name} failed: {run.reason or run.state}"]
        found = [match for line in self._failures.splitlines() if (match := _FAILURE.fullmatch(line))]
        lines += [
            f"  node {match.group(2)} ({match.group(1)}): exit code {match.group(3)}" for match in found
        ]
        node = int(found[0].group(2)) if found else None
        words = next((text for text in reversed(self._last.get(node, [])) if text.strip()), "")
        if words:
            lines.append(f"  {'job script' if node is None else f'node {node}'}: {words}")
        return JobFailedError("\n".join(lines), f"its log: `neuronkit logs FILE {run.name}`")

    def _state(self, frames: list[Frame]) -> tuple[ScheduledRun, str]:
        texts = {
            header[0]: content.decode(errors="replace") for header, content in frames if header[0] != "log"
        }
        self._failures = texts.get("failures", "")
        ended = parse_ended(texts.get("ended", ""))
        job = next((job for job in parse_jobs(texts.get("job", "")) if job.id == self.run.id), None)
        run = of_job(job, ended) if job else of_directory(self.run.name, self.run.id, ended)
        run = replace(run, name=self.run.name, nodes=self.run.nodes or run.nodes)
        words = waiting_words(run.reason, run.id) if run.state in WAITING_STATES else run.reason
        return run, run.state + (f": {words}" if words else "")

    def _consume(self, part: _Part, *, is_full: bool) -> Iterator[RunLine]:
        path, node, content = part.path, part.node, part.content
        whole = content[: max(content.rfind(b"\n"), content.rfind(b"\r")) + 1]
        # A line longer than an answer would never be whole; nor would the last one of a run that has ended.
        no_more_comes = not whole if is_full else not self.run.is_active
        if no_more_comes:
            whole = content
        self._offsets[path] = self._offsets.get(path, 0) + len(whole)
        for text in _split(whole):
            self._last[node] = [*self._last.get(node, [])[-_LAST_LINES:], text]
            yield RunLine(node, text)


def _split(content: bytes) -> list[str]:
    """Progress bars end their lines with a carriage return."""
    text = content.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    return text.removesuffix("\n").split("\n") if text else []


def _logs(frames: list[Frame]) -> list[_Part]:
    """The job's own first, then by attempt and node."""
    found = [
        _Part(header[3], int(header[4]) if header[4].isdecimal() else None, content)
        for header, content in frames
        if header[0] == "log" and len(header) == 5
    ]
    return sorted(found, key=lambda part: (_attempt(part.path), -1 if part.node is None else part.node))


def _attempt(path: str) -> int:
    match = re.match(r"attempt-([0-9]+)/", path)
    return int(match.group(1)) if match else 0
