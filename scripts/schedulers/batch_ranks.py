"""Which rank a node of a job on AWS Batch has, for logs: with UltraServers another number than Batch's index of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scripts.aws import s3
from scripts.aws.cloud import Cloud
from stacks.domain.names import run_prefix
from stacks.domain.plan import Plan
from stacks.domain.render.node_programs import is_in_ultraservers


@dataclass
class Ranks:
    """Each attempt's order as node 0 has written it into the bucket. Without one, ranks are Batch's indices."""

    places: tuple[tuple[Cloud, str, str], ...] = ()
    """Where it may be: bucket and prefix of the run, for each job that the run may be of."""
    _known: dict[int, Mapping[int, int]] = field(default_factory=dict, init=False)

    def of_attempt(self, attempt: int) -> Mapping[int, int]:
        """By index. Empty while there is no order, or where there will be none."""
        if attempt not in self._known and (found := self._read(attempt)):
            self._known[attempt] = found
        return self._known.get(attempt, {})

    def _read(self, attempt: int) -> Mapping[int, int]:
        """Lines of an order: RANK INDEX NAME ADDRESS ..."""
        for cloud, bucket, prefix in self.places:
            content = s3.read_bytes(cloud, bucket, f"{prefix}/places/attempt-{attempt}.order") or b""
            lines = [line.split() for line in content.decode(errors="replace").splitlines()]
            found = {int(line[1]): int(line[0]) for line in lines if len(line) > 2 and line[0].isdecimal()}
            if found:
                return found
        return {}


def ranks_of(cloud: Cloud, plan: Plan, bucket: str, run: str) -> Ranks:
    ordered = (job for job in plan.jobs if is_in_ultraservers(job) and job.nodes > 1)
    return Ranks(tuple((cloud, bucket, run_prefix(job.name, run)) for job in ordered))
