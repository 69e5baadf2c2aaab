"""One question to AWS a function: what of a kind is there, and whose is it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from scripts.aws import batch, ec2, logs, s3
from scripts.aws.cloud import Cloud
from scripts.teardown.fleet_finders import FLEET_QUESTIONS
from scripts.teardown.found import Found, Question, sorted_out
from scripts.teardown.image_finders import IMAGE_QUESTIONS
from scripts.teardown.model import Item, JobItem, Ownership
from scripts.teardown.order import BUCKET, JOB_DEFINITION, LOG_GROUP
from scripts.teardown.scope import Scope
from scripts.teardown.slurm_finders import SLURM_QUESTIONS, is_of_living_cluster
from scripts.teardown.storage_finders import backups, file_systems
from scripts.teardown.tagged_finders import other_tagged
from stacks.domain.names import ENVIRONMENT_TAG

_ID_OF_ANOTHER_SERVICE = re.compile(r"[a-z]+-[0-9a-f]{8,17}")
_BY_NAME_TOO = (
    ec2.NETWORK_INTERFACE,
    ec2.VOLUME,
    ec2.SECURITY_GROUP,
    ec2.LAUNCH_TEMPLATE,
    ec2.PLACEMENT_GROUP,
)


def queues_and_jobs(cloud: Cloud, scope: Scope) -> Found:
    found = [("job queue", queue.arn, queue.name, queue.tags) for queue in batch.job_queues(cloud)]
    ours = [
        arn
        for _, arn, name, tags in found
        if scope.is_member(tags, arn) or scope.ownership(tags, name) is Ownership.OURS
    ]
    jobs = tuple(
        JobItem(job.name, job.id, job.state) for arn in ours for job in batch.active_jobs(cloud, arn)
    )
    return _with_jobs(sorted_out(scope, found), jobs)


def compute_environments(cloud: Cloud, scope: Scope) -> Found:
    return sorted_out(
        scope,
        [
            ("compute environment", environment.arn, environment.name, environment.tags)
            for environment in batch.compute_environments(cloud)
        ],
    )


def job_definitions(cloud: Cloud, scope: Scope) -> Found:
    found = sorted_out(
        scope,
        [
            (JOB_DEFINITION, definition.arn, f"{definition.name}:{definition.revision}", definition.tags)
            for definition in batch.active_job_definitions(cloud)
        ],
    )
    inactive = {
        definition.name
        for definition in batch.inactive_job_definitions(cloud)
        if definition.tags.get(ENVIRONMENT_TAG) == scope.environment
    }
    why = "deregistered; AWS Batch forgets it by itself, and it costs nothing"
    kept = tuple(Item("inactive job definition", name, why=why) for name in sorted(inactive))
    return Found(loose=found.loose, suspects=found.suspects, kept=kept)


def buckets(cloud: Cloud, scope: Scope) -> Found:
    names = {
        *s3.buckets_with_prefix(cloud, scope.prefix),
        *_tagged_ids(scope, ":s3:::"),
        *_retained_buckets(scope),
    }
    tags = {name: tags for name in sorted(names) if (tags := s3.bucket_tags(cloud, name)) is not None}
    found = sorted_out(scope, [(BUCKET, name, name, tags[name]) for name in tags])
    ours = tuple(
        name
        for name in tags
        if scope.is_member(tags[name], name) or scope.ownership(tags[name], name) is Ownership.OURS
    )
    return Found(loose=found.loose, suspects=found.suspects, buckets=ours)


def _retained_buckets(scope: Scope) -> Iterable[str]:
    """Those that may be one: a name of S3's, where other services have ids of AWS's making, ARNs or paths."""
    return (
        id_
        for id_ in scope.retained
        if not id_.startswith(("arn:", "/")) and not _ID_OF_ANOTHER_SERVICE.fullmatch(id_)
    )


def log_groups(cloud: Cloud, scope: Scope) -> Found:
    groups = {
        group.name: group
        for group in logs.groups_named_like(cloud, scope.environment)
        if scope.has_our_name(group.name)
    }
    tagged = (logs.find_group(cloud, name) for name in _tagged_ids(scope, ":log-group:"))
    groups |= {group.name: group for group in tagged if group is not None}
    return sorted_out(
        scope,
        [(LOG_GROUP, group.name, group.name, logs.group_tags(cloud, group.arn)) for group in groups.values()],
    )


def ec2_kind(kind: ec2.Ec2Kind) -> Question:
    def ask(cloud: Cloud, scope: Scope) -> Found:
        found = {item.id: item for item in ec2.with_tag(cloud, kind, ENVIRONMENT_TAG, scope.environment)}
        if kind in _BY_NAME_TOO:
            found |= {item.id: item for item in ec2.with_name_prefix(cloud, kind, scope.prefix)}
        mine = [item for item in found.values() if not is_of_living_cluster(scope, item.tags)]
        return sorted_out(
            scope,
            [(item.kind, item.id, item.name, item.tags) for item in mine],
            {item.id: item.state for item in mine},
        )

    return ask


def _tagged_ids(scope: Scope, marker: str) -> tuple[str, ...]:
    """What follows the marker in the ARNs that the tagging API listed."""
    ids = (arn.partition(marker)[2] for arn in scope.tagged_arns if marker in arn)
    return tuple(id_.removesuffix(":*") for id_ in ids)


def _with_jobs(found: Found, jobs: tuple[JobItem, ...]) -> Found:
    return Found(loose=found.loose, suspects=found.suspects, jobs=jobs)


QUESTIONS: tuple[tuple[str, Question], ...] = (
    ("job queues and jobs", queues_and_jobs),
    ("compute environments", compute_environments),
    ("job definitions", job_definitions),
    ("buckets", buckets),
    ("log groups", log_groups),
    *((f"{kind.name}s", ec2_kind(kind)) for kind in ec2.KINDS),
    ("shared file systems", file_systems),
    ("backups of file systems", backups),
    *SLURM_QUESTIONS,
    *IMAGE_QUESTIONS,
    *FLEET_QUESTIONS,
    ("other tagged resources", other_tagged),
)
