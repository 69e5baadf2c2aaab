"""Limits of AWS Batch, Lambda and CloudFormation, worked out from the plan before anything is sent there.

What a limit holds by the kit's own making is a test: resources, outputs and size of a template, user data, names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from stacks.domain.findings import Severity
from stacks.domain.plan import JobPlan, Plan
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.zones import packed_zone_rules

DEFINITION_BYTES_MAX = 24 * 1024
BATCH_SOURCE = "AWS Batch user guide, service quotas (24 KiB a job definition); botocore 1.44.8 batch"
FIXED_BYTES = 3_200
"""Of a job definition without devices, tags and secrets, with the longest names that AWS gives (a test holds it)."""
DEVICE_BYTES = 122
TAG_BYTES = 8
SECRET_BYTES = 28
VARIABLES_BYTES_MAX = 4_096
LAMBDA_SOURCE = "AWS Lambda developer guide, gettingstarted-limits: 4 KB of environment variables"
OTHER_VARIABLES_BYTES = 1_200
"""Of a shift's function, all but windows and zone, with the longest names (a test holds it)."""
STACKS_MAX = 2_000
CLOUDFORMATION_SOURCE = (
    "AWS CloudFormation user guide, cloudformation-limits: 2,000 stacks an account and region"
)


def definitions_are_small_enough(facts: Facts) -> Iterator[Problem]:
    if facts.plan is None:
        return
    for job in facts.plan.jobs:
        if facts.plan.cluster(job.cluster).scheduler != "batch":
            continue
        size = definition_bytes(facts.plan, job)
        if size > DEFINITION_BYTES_MAX:
            yield Problem(
                ("jobs", job.name),
                f"a job definition of about {size:,} bytes",
                f"at most {DEFINITION_BYTES_MAX:,}",
                "every tag and every secret of the file stands in it",
                "shorten the tags, or give long values to the job in a file of its source",
                at_key=True,
            )


def definition_bytes(plan: Plan, job: JobPlan) -> int:
    """An estimate that is not below the real size, and hardly above it."""
    devices = job.chips_per_node + job.efa_devices_per_node
    return (
        FIXED_BYTES
        + devices * DEVICE_BYTES
        + sum(_json_bytes(key) + _json_bytes(value) + TAG_BYTES for key, value in plan.tags)
        + sum(_json_bytes(name) + _json_bytes(arn) + SECRET_BYTES for name, arn in job.secrets)
    )


def _json_bytes(text: str) -> int:
    return len(json.dumps(text))


def stacks_are_few_enough(facts: Facts) -> Iterator[Problem]:
    if facts.plan is None:
        return
    names = facts.plan.stacks
    of_one_cell = len(names.all) - len(names.clusters) + 1
    further_cells = sum(cluster.cells - 1 for cluster in facts.environment.clusters.values())
    stacks = len(names.all) + further_cells * of_one_cell
    if stacks > STACKS_MAX:
        yield Problem(
            ("clusters",),
            f"{stacks:,} stacks",
            f"{STACKS_MAX:,} an account and region",
            f"each cell is deployed by itself, as {of_one_cell} stacks",
            "ask for a higher quota, use several accounts, or larger cells",
            at_key=True,
        )


def windows_are_few_enough(facts: Facts) -> Iterator[Problem]:
    for shift in facts.plan.shifts if facts.plan is not None else ():
        rows = [(w.weekday, w.start_minute, w.minutes, w.replicas) for w in shift.windows]
        size = len(json.dumps(rows, separators=(",", ":")))
        most = VARIABLES_BYTES_MAX - OTHER_VARIABLES_BYTES - len(packed_zone_rules(shift.timezone))
        if size > most:
            yield Problem(
                ("shifts", shift.name, "windows"),
                f"{len(rows):,} windows, each counted for each of its days",
                f"about {most * len(rows) // size}",
                "they are variables of the shift's function, for which Lambda has 4 KB",
                "join windows, or leave some out",
            )


RULES = (
    Rule("NK290", Severity.ERROR, "job too large for AWS Batch", "registering it fails at launch, when nodes may be paid already", BATCH_SOURCE, definitions_are_small_enough),
    Rule("NK291", Severity.WARNING, "more stacks than an account has by default", "the deploy stops half-way", CLOUDFORMATION_SOURCE, stacks_are_few_enough),
    Rule("NK292", Severity.ERROR, "more windows than a function's variables hold", "the deploy fails half-way", LAMBDA_SOURCE, windows_are_few_enough),
)  # fmt: skip
