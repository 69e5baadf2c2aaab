"""Starts the smoke job as a node bootstrap would: one process a rank, told by variables, on loopback addresses."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

TRAIN = Path(__file__).resolve().parents[3] / "stacks" / "payload" / "smoke" / "train.py"
MAIN_ADDRESS = "127.0.0.2"
ESTABLISHED, LISTENING = "01", "0A"
SHORT = (
    "--backend",
    "numpy",
    "--steps",
    "12",
    "--checkpoint-every",
    "4",
    "--batch-size",
    "96",
    "--seed",
    "3",
)


def free_port() -> int:
    with socket.create_server((MAIN_ADDRESS, 0)) as server:
        return server.getsockname()[1]


@dataclass
class Attempt:
    """The processes of one start, by rank."""

    directory: Path
    port: int
    """Where rank 0 waits for the others."""
    processes: list[subprocess.Popen] = field(default_factory=list)

    def output(self, rank: int = 0) -> str:
        return (self.directory / f"{rank}.out").read_text()

    def errors(self, rank: int = 0) -> str:
        return (self.directory / f"{rank}.err").read_text()

    def wait(self, seconds: float = 120) -> list[int]:
        """Exit codes; a signal that ended a process is its negative number."""
        deadline = time.monotonic() + seconds
        return [process.wait(max(0.0, deadline - time.monotonic())) for process in self.processes]

    def wait_for(self, text: str, rank: int = 0, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while text not in self.output(rank):
            assert time.monotonic() < deadline, f"rank {rank} never said {text!r}: {self.output(rank)}"
            time.sleep(0.02)

    def wait_for_meeting(self, others: int = 0, seconds: float = 60) -> None:
        """Until rank 0 listens and so many others have reached it."""
        deadline = time.monotonic() + seconds
        while (states := self._states()).count(LISTENING) < 1 or states.count(ESTABLISHED) < others:
            assert time.monotonic() < deadline, states
            time.sleep(0.02)

    def _states(self) -> list[str]:
        """Of the sockets at rank 0's end, as Linux numbers them."""
        lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return [fields[3] for fields in lines if fields[1].endswith(f":{self.port:04X}")]

    def signal(self, number: int, *ranks: int) -> None:
        for rank in ranks:
            self.processes[rank].send_signal(number)


@dataclass
class SmokeJob:
    """One run in one directory; each start of it is an attempt."""

    directory: Path
    run_id: str = "smoke-test"
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def checkpoint_dir(self) -> Path:
        return self.directory / "checkpoints"

    def start(self, processes: int, *options: str, ranks: range | None = None, **variables: str) -> Attempt:
        """`variables` are NEURONKIT_* ones, given without the prefix; an empty one counts as not set."""
        port = int(variables.get("RENDEZVOUS_PORT", 0)) or free_port()
        attempt = Attempt(self.directory / f"attempt-{len(self.attempts)}", port)
        attempt.directory.mkdir(parents=True)
        self.attempts.append(attempt)
        for rank in ranks or range(processes):
            given = {
                "NODES": str(processes),
                "NODE_RANK": str(rank),
                "MAIN_ADDRESS": MAIN_ADDRESS,
                "RENDEZVOUS_PORT": str(port),
                "RUN_ID": self.run_id,
                "METRICS_FILE": str(self.directory / "metrics.jsonl"),
                "CHECKPOINT_DIR": str(self.checkpoint_dir),
                **variables,
            }
            attempt.processes.append(self._start_rank(attempt.directory, rank, options, given))
        return attempt

    def _start_rank(self, directory: Path, rank: int, options, given: dict[str, str]) -> subprocess.Popen:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("NEURONKIT_")}
        with (directory / f"{rank}.out").open("w") as out, (directory / f"{rank}.err").open("w") as err:
            return subprocess.Popen(
                [sys.executable, str(TRAIN), *options],
                stdout=out,
                stderr=err,
                cwd=directory,
                env={**inherited, **{f"NEURONKIT_{name}": value for name, value in given.items()}},
            )

    def finish(self, processes: int, *options: str, **variables: str) -> Attempt:
        """An attempt that must come to its end."""
        attempt = self.start(processes, *options, **variables)
        codes = attempt.wait()
        assert codes == [0] * processes, [attempt.errors(rank) for rank in range(processes)]
        return attempt

    def metrics(self) -> list[dict]:
        path = self.directory / "metrics.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def losses(self) -> dict[int, float]:
        records = self.metrics()
        losses = {record["step"]: record["loss"] for record in records}
        assert len(losses) == len(records), "a step was written twice"
        return losses

    def checkpoints(self) -> list[str]:
        return sorted(path.name for path in self.checkpoint_dir.iterdir())

    def stop_everything(self) -> None:
        for attempt in self.attempts:
            for process in attempt.processes:
                if process.poll() is None:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
