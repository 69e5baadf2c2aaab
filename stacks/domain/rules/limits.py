"""Limits of AWS Batch and CloudFormation, worked out from the plan before anything is sent there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stacks.domain.errors import InputError
from stacks.domain.findings import Severity
from stacks.domain.plan import JobPlan, Plan
from stacks.domain.render.batch import (
    DEFINITION_BYTES_MAX,
    ClusterOutputs,
    Run,
    job_definition,
    submit_request,
)
from stacks.domain.rules.rule import Facts, Problem, Rule

BATCH_SOURCE = "AWS Batch user guide, service quotas; botocore 1.44.8 batch"
STACKS_MAX = 2_000
CLOUDFORMATION_SOURCE = (
    "AWS CloudFormation user guide, cloudformation-limits: 2,000 stacks an account and region"
)
SHA256 = "0" * 64
ACCOUNT = "0" * 12


def definitions_are_small_enough(facts: Facts) -> Iterator[Problem]:
    if facts.plan is None:
        return
    for job in facts.plan.jobs:
        for build in (_definition, _submission):
            problem = _refusal(build, facts.plan, job) if job.image else None
            if problem is not None:
                yield Problem(("jobs", job.name), message=problem.message, fix=problem.hint, at_key=True)


def _refusal(build: Callable[[Plan, JobPlan], object], plan: Plan, job: JobPlan) -> InputError | None:
    try:
        build(plan, job)
    except InputError as error:
        return error
    return None


def _definition(plan: Plan, job: JobPlan) -> object:
    return job_definition(plan, job, SHA256, _longest_outputs(plan, job))


def _submission(plan: Plan, job: JobPlan) -> object:
    arn = f"arn:aws:batch:{plan.region}:{ACCOUNT}:job-definition/{plan.name}-{job.name}:10000"
    return submit_request(
        plan,
        job,
        Run(f"{job.name}-10000", "s3://" + "b" * 63 + "/" + "k" * 200),
        arn,
        _longest_outputs(plan, job),
    )


def _longest_outputs(plan: Plan, job: JobPlan) -> ClusterOutputs:
    """As long as AWS's names can get, so that the estimate is never below the real size."""
    stack = plan.stacks.all[-1]
    return ClusterOutputs(
        bucket="b" * 63,
        job_queue_arn=f"arn:aws:batch:{plan.region}:{ACCOUNT}:job-queue/{'q' * 128}",
        job_role_arn=f"arn:aws:iam::{ACCOUNT}:role/{'r' * 64}",
        execution_role_arn=f"arn:aws:iam::{ACCOUNT}:role/{'r' * 64}",
        log_group=f"/{stack}/{job.cluster}/{'l' * 128}",
    )


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


RULES = (
    Rule("NK290", Severity.ERROR, "job too large for AWS Batch", f"a definition takes {DEFINITION_BYTES_MAX // 1024} KiB", BATCH_SOURCE, definitions_are_small_enough),
    Rule("NK291", Severity.WARNING, "more stacks than an account has by default", "the deploy stops half-way", CLOUDFORMATION_SOURCE, stacks_are_few_enough),
)  # fmt: skip
