"""What the container of an engine needs, in ECS's words; nothing here knows the CDK."""

from __future__ import annotations

from dataclasses import dataclass

ARTIFACTS_VOLUME = "artifacts"
"""The file system that the replicas of a fleet share: models and compiled graphs."""
ARTIFACTS_PATH = "/neuronkit/artifacts"
BUCKET_VARIABLE = "NEURONKIT_BUCKET"
COMMAND_SHELL = ("sh", "-c")
COMMAND_BYTES_MAX = 48 * 1024
"""The kit's share of a task definition, which takes 64 KiB in all (Amazon ECS service quotas)."""


@dataclass(frozen=True, slots=True)
class Ulimit:
    name: str
    soft: int
    hard: int
    """-1: none."""


@dataclass(frozen=True, slots=True)
class Mount:
    volume: str
    path: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class EngineContainer:
    """There is no hard memory limit on purpose: it would kill a compiler."""

    image: str
    entry_point: tuple[str, ...]
    """Set always: those of the images swallow SIGTERM."""
    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    secrets: tuple[tuple[str, str], ...]
    """Variable and ARN."""
    devices: tuple[str, ...]
    """Paths, in the container as on the host; none: no chips, it may run on a machine without."""
    gpus: int
    capabilities: tuple[str, ...]
    ulimits: tuple[Ulimit, ...]
    shared_memory_mib: int | None
    memory_reservation_mib: int
    port: int
    stop_timeout_seconds: int
    health_path: str
    """Answers 200 when the engine takes requests."""
    metrics_path: str | None
    mounts: tuple[Mount, ...]
    needs_bucket: bool
    """Then the stack adds BUCKET_VARIABLE with the name of the environment's bucket."""
    security_note: str
    """Why the capabilities are an exception; empty where there is none."""
