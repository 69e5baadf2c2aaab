"""Job sources that come with the kit, named `neuronkit:NAME` in a file."""

from __future__ import annotations

from pathlib import Path

SHIPPED_PREFIX = "neuronkit:"
_DIRECTORY = Path(__file__).parent.parent / "payload"
_SHIPPED = ("smoke",)


def is_shipped(source: str) -> bool:
    return source.startswith(SHIPPED_PREFIX)


def shipped_jobs() -> tuple[str, ...]:
    return _SHIPPED


def shipped_directory(source: str) -> Path:
    """Of `neuronkit:NAME`; a rule has said so if there is no such job."""
    return _DIRECTORY / source.removeprefix(SHIPPED_PREFIX)
