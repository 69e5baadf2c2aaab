"""Slurm's jobs, and what their directories still say of forgotten ones, as runs. Pure."""

from __future__ import annotations

from typing import Final

from scripts.schedulers.scheduler import ScheduledRun
from scripts.schedulers.slurm_answers import ACTIVE_STATES, Ended, SlurmJob
from scripts.schedulers.slurm_words import ended_words

FORGOTTEN: Final = "ENDED (Slurm has forgotten how)"
_GOOD: Final = "COMPLETED"


def of_job(job: SlurmJob, ended: Ended | None) -> ScheduledRun:
    """`ended` is what its script has written down, if it has."""
    is_active = job.state in ACTIVE_STATES
    has_failed = not is_active and job.state != _GOOD
    exit_code = ended.exit_code if ended else None
    reason = ended_words(job.state, job.reason, exit_code) if has_failed else job.reason
    return ScheduledRun(job.name, job.id, job.state, is_active, has_failed, int(job.id), job.nodes, reason)


def of_directory(run: str, job_id: str, ended: Ended | None) -> ScheduledRun:
    """Of a run that Slurm has forgotten."""
    has_failed = ended is not None and ended.state != _GOOD
    return ScheduledRun(
        name=run,
        id=job_id,
        state=ended.state if ended else FORGOTTEN,
        is_active=False,
        has_failed=has_failed,
        order=int(job_id),
        reason=ended_words(ended.state, "", ended.exit_code) if ended and has_failed else "",
        end_is_known=ended is not None,
    )
