"""A private Slurm for tests, where Slurm is installed. Each use is marked `slurm`."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from scripts.local_cloud.slurm import requirements
from scripts.local_cloud.slurm.private_slurm import PrivateSlurm
from scripts.local_cloud.slurm.virtual_group import VirtualGroup

needs_slurm = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(requirements.missing_programs()), reason="Slurm is not installed"),
]
"""`pytestmark = needs_slurm`"""


@contextmanager
def private_slurm(
    groups: Sequence[VirtualGroup], partition: str = "train", **options: object
) -> Iterator[PrivateSlurm]:
    directory = Path(tempfile.mkdtemp(prefix="neuronkit-slurm-"))
    try:
        with PrivateSlurm(directory, groups, partition, **options) as slurm:  # type: ignore[arg-type]
            yield slurm
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def wait_for(what: str, happened: Callable[[], bool], seconds: float = 150.0) -> None:
    """Polls; fails, rather than hangs, with the words of what did not happen."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"within {seconds:.0f} s: {what}"
        time.sleep(0.05)


def job_fields(slurm: PrivateSlurm, job_id: str) -> dict[str, str]:
    """What `scontrol -o show job` says, by field."""
    answer = slurm.run(["scontrol", "-o", "show", "job", job_id])
    return dict(word.split("=", 1) for word in answer.stdout.split() if "=" in word)


def submit(slurm: PrivateSlurm, *options: str, wrap: str) -> str:
    """The job's id."""
    output = slurm.shared_directory / "%j.out"
    mount = f"{slurm.shared_mount}/{output.name}"
    answer = slurm.run(["sbatch", "--parsable", f"--output={mount}", *options, f"--wrap={wrap}"])
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


def processes_of(directory: Path) -> list[str]:
    """Daemons name their files on the command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if any(
                word.startswith(str(directory).encode()) or f"={directory}/".encode() in word
                for word in words
            ):
                found.append(b" ".join(words).decode())
    return found
