"""What the bucket knows of a job's runs: who started which, their checkpoints and metrics.

A run begins with `runs/<job>/<run>/run.json`, made with a condition (If-None-Match), so that of several launches, on
one machine or on many, one gets the name. While it has no scheduler id it is only a claim.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from scripts.aws import s3
from scripts.aws.cloud import Cloud
from stacks.domain.names import checkpoints_prefix, metrics_key, run_prefix

_STEP = re.compile(r"step-(\d+)$")


@dataclass(frozen=True, slots=True)
class RunRecord:
    run: str
    job: str
    owner: str
    """Who claimed it: see `machine_lock.this_owner`."""
    scheduler_id: str | None = None
    resume_from: str | None = None
    """The run whose checkpoint this one begins with."""
    resume_step: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class StoredRecord:
    record: RunRecord
    etag: str
    age_seconds: float


@dataclass(frozen=True, slots=True)
class RunStore:
    """The runs of one job."""

    cloud: Cloud
    bucket: str
    job: str

    def names(self) -> tuple[str, ...]:
        return s3.folders(self.cloud, self.bucket, f"runs/{self.job}/")

    def read(self, run: str) -> StoredRecord | None:
        """None for a run that was not launched by the kit."""
        stored = s3.read_json(self.cloud, self.bucket, self._key(run))
        if stored is None:
            return None
        return StoredRecord(_record(run, self.job, stored.body), stored.etag, stored.age_seconds)

    def claim(self, record: RunRecord) -> StoredRecord | None:
        """None when somebody else was first."""
        etag = s3.create_json(self.cloud, self.bucket, self._key(record.run), record.as_dict())
        return StoredRecord(record, etag, 0.0) if etag else None

    def replace(self, old: StoredRecord, record: RunRecord) -> StoredRecord | None:
        """None when somebody else has changed it since `old` was read."""
        etag = s3.replace_json(self.cloud, self.bucket, self._key(record.run), record.as_dict(), old.etag)
        return StoredRecord(record, etag, 0.0) if etag else None

    def submitted(self, old: StoredRecord, scheduler_id: str) -> None:
        """For whoever looks later: the name in the scheduler's list has already made the run findable."""
        self.replace(old, replace(old.record, scheduler_id=scheduler_id))

    def checkpoint_steps(self, run: str) -> tuple[int, ...]:
        """Complete checkpoints only: rank 0's checkpoint.json follows when every node's part is there."""
        prefix = f"{checkpoints_prefix(self.job, run)}/"
        steps = {
            int(match.group(1)): folder
            for folder in s3.folders(self.cloud, self.bucket, prefix)
            if (match := _STEP.match(folder))
        }
        complete = (
            step
            for step, folder in steps.items()
            if s3.exists(self.cloud, self.bucket, f"{prefix}{folder}/checkpoint.json")
        )
        return tuple(sorted(complete))

    def checkpoints_uri(self, run: str) -> str:
        return f"s3://{self.bucket}/{checkpoints_prefix(self.job, run)}"

    def metrics_uri(self, run: str) -> str:
        return f"s3://{self.bucket}/{metrics_key(self.job, run)}"

    def newest_metrics(self, run: str) -> dict[str, Any] | None:
        """The last whole line. None before the first upload."""
        content = s3.read_bytes(self.cloud, self.bucket, metrics_key(self.job, run))
        for line in reversed((content or b"").splitlines()):
            try:
                parsed = json.loads(line)
            except ValueError:
                continue
            if isinstance(parsed, dict):
                return parsed
        return None

    def _key(self, run: str) -> str:
        return f"{run_prefix(self.job, run)}/run.json"


def _record(run: str, job: str, body: dict[str, Any]) -> RunRecord:
    return RunRecord(
        run=run,
        job=job,
        owner=str(body.get("owner", "somebody")),
        scheduler_id=body.get("scheduler_id"),
        resume_from=body.get("resume_from"),
        resume_step=body.get("resume_step"),
    )
