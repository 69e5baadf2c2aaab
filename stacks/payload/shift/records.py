"""What is kept of a stopped job, and the request that starts it again. Pure.

DescribeJobs does not say which overrides a job was submitted with. Jobs of the kit carry their names in tags, and from
these and the run's own record follows what `launch` gave them; other jobs start again with their definition alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

JOB_TAG = "neuronkit:job"
RUN_TAG = "neuronkit:run"
REASON = "neuronkit shift: serving takes over; the job starts again from its newest checkpoint"
SKEW_SECONDS = 60
"""By which Batch's clock may be behind the function's."""
_KEPT = ("parameters", "retryStrategy", "timeout")

Document = dict[str, Any]


def run_record_key(tags: Mapping[str, str]) -> str | None:
    """Of the run's record in the bucket. None: no job of the kit."""
    job, run = tags.get(JOB_TAG), tags.get(RUN_TAG)
    return f"runs/{job}/{run}/run.json" if job and run else None


def stopped_job(detail: Mapping[str, Any], bucket: str, run_record: Mapping[str, Any] | None) -> Document:
    """`detail` is of DescribeJobs."""
    return {
        "id": detail["jobId"],
        "name": detail["jobName"],
        "created_at": detail.get("createdAt", 0),
        "request": _request(detail, bucket, run_record or {}),
        "claimed_at": None,
    }


def again_since_ms(document: Mapping[str, Any]) -> float:
    """A job of its name that was created since then is this job again. A run of the kit has its name alone, and may have
    been started again by hand; other jobs share names, and only a claim says that one was submitted."""
    if RUN_TAG in document["request"]["tags"]:
        return float(document["created_at"])
    claimed = document["claimed_at"]
    return (datetime.fromisoformat(claimed).timestamp() - SKEW_SECONDS) * 1000 if claimed else math.inf


def _request(detail: Mapping[str, Any], bucket: str, run_record: Mapping[str, Any]) -> Document:
    request: Document = {
        "jobName": detail["jobName"],
        "jobQueue": detail["jobQueue"],
        "jobDefinition": detail["jobDefinition"],
        "tags": {
            key: value for key, value in (detail.get("tags") or {}).items() if not key.startswith("aws:")
        },
        "propagateTags": bool(detail.get("propagateTags", False)),
    }
    # Without dependsOn: what it waited for is over, as it ran.
    request |= {key: detail[key] for key in _KEPT if detail.get(key)}
    environment = _environment(detail["jobId"], detail.get("tags") or {}, bucket, run_record)
    ranges = (detail.get("nodeProperties") or {}).get("nodeRangeProperties") or ()
    if environment and ranges:
        overrides = [
            {"targetNodes": one["targetNodes"], "containerOverrides": {"environment": environment}}
            for one in ranges
        ]
        request["nodeOverrides"] = {"nodePropertyOverrides": overrides}
    elif environment:
        request["containerOverrides"] = {"environment": environment}
    return request


def _environment(
    job_id: str, tags: Mapping[str, str], bucket: str, run_record: Mapping[str, Any]
) -> list[dict[str, str]]:
    """As `launch` gives it. A run that began from another's checkpoint names it; its own checkpoints win on the node."""
    job, run = tags.get(JOB_TAG), tags.get(RUN_TAG)
    if not job or not run:
        return []
    variables = {
        "NEURONKIT_BUCKET": bucket,
        "NEURONKIT_RUN_ID": run,
        "NEURONKIT_RUN_PREFIX": f"runs/{job}/{run}",
        # Batch counts its attempts from 1 again: what nodes of the stopped job told each other is not for these.
        "NEURONKIT_AGAIN_OF": job_id,
    }
    other, step = run_record.get("resume_from"), run_record.get("resume_step")
    if other is not None and step is not None:
        variables["NEURONKIT_RESUME_FROM"] = f"s3://{bucket}/runs/{job}/{other}/checkpoints"
        variables["NEURONKIT_RESUME_STEP"] = str(step)
    return [{"name": name, "value": value} for name, value in sorted(variables.items())]
