"""What the node bootstrap tells a process, read from NEURONKIT_* variables in this one place.

With no variable set the job is one process that keeps its files under `smoke-run/`; as soon as a run has several
processes, everything that tells them apart or brings them together must be given.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from smokejob.errors import InputError

PREFIX = "NEURONKIT_"
DEFAULT_RENDEZVOUS_PORT = 41001
SHIPPED_TEXT = Path(__file__).resolve().parent.parent / "corpus.txt"


@dataclass(frozen=True, slots=True)
class JobEnvironment:
    rank: int
    processes: int
    main_address: str
    rendezvous_port: int
    run_id: str
    metrics_file: Path
    checkpoint_dir: Path
    data_file: Path
    resume_step: int | None
    """The checkpoint to continue from; 0 starts anew; None takes the newest complete one."""
    jax_coordinator: str | None
    """HOST:PORT where rank 0 serves JAX's coordinator: JAX's own JAX_COORDINATOR_ADDRESS. None is a free port."""


def read_environment(variables: Mapping[str, str]) -> JobEnvironment:
    """Raises InputError with everything that is wrong, in one line."""
    reader = _Reader(variables)
    nodes = reader.integer("NODES", lowest=1, default=1)
    processes = reader.integer("PROCESSES", lowest=1, default=nodes)
    together = processes > 1
    rank = reader.rank(together)
    environment = JobEnvironment(
        rank=rank,
        processes=processes,
        main_address=reader.text("MAIN_ADDRESS", default="127.0.0.1", required=together),
        rendezvous_port=reader.integer(
            "RENDEZVOUS_PORT", lowest=1, highest=65535, default=DEFAULT_RENDEZVOUS_PORT
        ),
        run_id=reader.text("RUN_ID", default="local", required=together),
        metrics_file=Path(reader.text("METRICS_FILE", default="smoke-run/metrics.jsonl", required=together)),
        checkpoint_dir=Path(
            reader.text("CHECKPOINT_DIR", default="smoke-run/checkpoints", required=together)
        ),
        data_file=Path(reader.text("DATA", default=str(SHIPPED_TEXT))),
        resume_step=reader.optional_integer("RESUME_STEP", lowest=0),
        jax_coordinator=variables.get("JAX_COORDINATOR_ADDRESS") or None,
    )
    if rank >= processes:
        reader.problems.append(f"rank {rank} must be below the number of processes, {processes}")
    if reader.problems:
        raise InputError("wrong environment: " + "; ".join(reader.problems))
    return environment


@dataclass(slots=True)
class _Reader:
    """An empty variable counts as one that is not set: shell scripts export what they could not find out."""

    variables: Mapping[str, str]
    problems: list[str] = field(default_factory=list)

    def text(self, name: str, default: str, *, required: bool = False) -> str:
        value = self.variables.get(PREFIX + name, "")
        if not value and required:
            self.problems.append(f"{PREFIX}{name} is missing (a run of several processes needs it)")
        return value or default

    def integer(
        self, name: str, *, lowest: int, default: int, highest: int | None = None, required: bool = False
    ) -> int:
        value = self.text(name, default=str(default), required=required)
        limit = f"from {lowest}" + (f" to {highest}" if highest is not None else "")
        try:
            number = int(value)
        except ValueError:
            self.problems.append(f"{PREFIX}{name} is {value!r}, not a whole number {limit}")
            return default
        if number < lowest or (highest is not None and number > highest):
            self.problems.append(f"{PREFIX}{name} is {number}, not {limit}")
            return default
        return number

    def optional_integer(self, name: str, *, lowest: int) -> int | None:
        return (
            self.integer(name, lowest=lowest, default=lowest) if self.variables.get(PREFIX + name) else None
        )

    def rank(self, required: bool) -> int:
        """The process's own rank where there are several on a node, else the node's."""
        if self.variables.get(PREFIX + "PROCESS_RANK"):
            return self.integer("PROCESS_RANK", lowest=0, default=0)
        return self.integer("NODE_RANK", lowest=0, default=0, required=required)
