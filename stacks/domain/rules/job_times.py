"""Checkpoints against a job's time limit and against the end of a capacity block, as far as a file can know it."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.environment import Job
from stacks.domain.findings import Severity
from stacks.domain.reservations import (
    DRAIN_MARGIN_MINUTES,
    RECLAIM_MINUTES,
    RECLAIM_SOURCE,
    ULTRASERVER_RECLAIM_MINUTES,
)
from stacks.domain.rules.rule import Facts, Problem, Rule

SHORTEST_BLOCK_MINUTES = 24 * 60
TIME_SOURCE = "field lesson: a teardown at a block's EndDate lost the checkpoints (trainium-course-cluster@d25aaed, 2026-08)"


def a_checkpoint_comes_before_the_limit(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        if job.checkpoint_minutes is not None and job.checkpoint_minutes >= job.time_limit_minutes:
            yield Problem(
                ("jobs", name, "checkpoint_minutes"),
                str(job.checkpoint_minutes),
                f"less than the time limit of {job.time_limit_minutes} minutes",
                "an attempt that is stopped at its limit would have saved nothing",
                "save more often, or raise time_limit_minutes",
            )


def a_block_leaves_time_to_save(facts: Facts) -> Iterator[Problem]:
    for name, job, reclaim in _jobs_in_blocks(facts):
        if job.checkpoint_minutes is None:
            yield Problem(
                ("jobs", name),
                message=f"nothing says how often it saves: EC2 takes nodes back {reclaim} minutes before the block's "
                "end, and the moment to stop depends on the time between two checkpoints",
                fix="write checkpoint_minutes",
                at_key=True,
            )


def a_block_is_long_enough_to_save(facts: Facts) -> Iterator[Problem]:
    for name, job, reclaim in _jobs_in_blocks(facts):
        lead = lead_minutes(reclaim, job.checkpoint_minutes or 0)
        if lead >= SHORTEST_BLOCK_MINUTES:
            yield Problem(
                ("jobs", name, "checkpoint_minutes"),
                str(job.checkpoint_minutes),
                f"less than {SHORTEST_BLOCK_MINUTES - reclaim - DRAIN_MARGIN_MINUTES} minutes",
                f"{reclaim} minutes of reclaim, one checkpoint and {DRAIN_MARGIN_MINUTES} minutes of margin are more "
                "than a block of one day",
                "save more often",
            )


def lead_minutes(reclaim_minutes: int, checkpoint_minutes: int) -> int:
    """How long before a block's end a job has to be told to save and stop."""
    return reclaim_minutes + checkpoint_minutes + DRAIN_MARGIN_MINUTES


def ends_of_blocks(facts: Facts) -> Iterator[str]:
    """Of blocks that are not bought yet. Of the others NK330 asks EC2."""
    for name, job, _ in _jobs_in_blocks(facts):
        capacity = facts.environment.capacity[facts.environment.clusters[job.cluster].capacity]
        if capacity.id is None and not capacity.ids:
            yield (
                f"whether job {name} ({job.attempts} x {job.time_limit_minutes:,} minutes) ends before its block: "
                "the block is not bought yet"
            )


def _jobs_in_blocks(facts: Facts) -> Iterator[tuple[str, Job, int]]:
    """With the minutes before the end from which EC2 takes nodes back."""
    for name, job in facts.environment.jobs.items():
        is_known = job.cluster in facts.environment.clusters
        if is_known and facts.capacity_kind(job.cluster) == "capacity-block":
            is_ultraserver = facts.ultraserver(job.cluster) is not None
            yield name, job, ULTRASERVER_RECLAIM_MINUTES if is_ultraserver else RECLAIM_MINUTES


RULES = (
    Rule("NK284", Severity.WARNING, "no checkpoint before the time limit", "what a stopped attempt did is lost, and paid", TIME_SOURCE, a_checkpoint_comes_before_the_limit),
    Rule("NK285", Severity.WARNING, "checkpoint interval unknown in a block", "nodes are taken back before the block ends", f"{RECLAIM_SOURCE}; {TIME_SOURCE}", a_block_leaves_time_to_save),
    Rule("NK286", Severity.ERROR, "checkpoint interval longer than a block leaves", "nothing could be saved in time", f"{RECLAIM_SOURCE}; Karpenter ec2nodeclass_status.go@1d92708 against its docs", a_block_is_long_enough_to_save, unknown=ends_of_blocks),
)  # fmt: skip
