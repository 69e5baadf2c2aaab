"""The size of a job definition as `check` estimates it, against the one that `launch` registers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stacks.domain.render import batch
from stacks.domain.render.batch import ClusterOutputs, job_definition
from stacks.domain.rules.limits import DEFINITION_BYTES_MAX, definition_bytes
from tests.environments import plan_of

LONGEST = ClusterOutputs(
    bucket="b" * 63,
    job_queue_arn="arn:aws:batch:ap-southeast-2:000000000000:job-queue/" + "q" * 128,
    job_role_arn="arn:aws:iam::000000000000:role/" + "r" * 64,
    execution_role_arn="arn:aws:iam::000000000000:role/" + "r" * 64,
    log_group="/" + "l" * 200,
)
SECRET = "arn:aws:secretsmanager:us-east-2:111122223333:secret:a-AbCdEf"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"clusters.train.instance_type": "trn2.48xlarge"},
        {"tags": {f"key-{n}": "é字" * 20 for n in range(40)}},
        {"jobs.smoke.secrets": {f"SECRET_{n}": SECRET for n in range(60)}},
    ],
)
def test_the_estimate_is_never_too_small_and_hardly_too_large(changes: dict[str, Any]) -> None:
    plan = plan_of(changes)
    (job,) = plan.jobs
    real = len(json.dumps(job_definition(plan, job, "0" * 64, LONGEST)).encode())
    assert real <= definition_bytes(plan, job) <= real + 1_200


def test_the_limit_is_the_one_that_launch_holds() -> None:
    assert DEFINITION_BYTES_MAX == batch.DEFINITION_BYTES_MAX
