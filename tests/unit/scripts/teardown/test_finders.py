"""The questions, against fakes of the AWS files: what is loose, what is a suspect, what is kept."""

from __future__ import annotations

from typing import Any

import pytest

from scripts.aws.batch import JobDefinition, JobQueue, JobSummary
from scripts.aws.logs import LogGroup
from scripts.teardown import finders
from scripts.teardown.model import Item, JobItem
from scripts.teardown.scope import Scope
from stacks.domain.names import ENVIRONMENT_TAG

OURS = {ENVIRONMENT_TAG: "pilot"}
NEIGHBOURS = {ENVIRONMENT_TAG: "pilot-2"}
SCOPE = Scope("pilot", members=frozenset({"arn:queue/member", "pilot-storage-live"}))
CLOUD: Any = None


def ids(items: tuple[Item, ...]) -> list[str]:
    return [item.id for item in items]


def queue(name: str, tags: dict[str, str]) -> JobQueue:
    return JobQueue(name, f"arn:queue/{name}", "ENABLED", "VALID", "", (), tags)


def test_jobs_of_our_queues_are_ours_and_of_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    queues = (
        queue("member", {}),
        queue("tagged", OURS),
        queue("pilot-2-q", NEIGHBOURS),
        queue("pilot-q", {}),
    )
    monkeypatch.setattr(finders.batch, "job_queues", lambda cloud: queues)
    monkeypatch.setattr(
        finders.batch, "active_jobs", lambda cloud, arn: (JobSummary(f"job of {arn}", arn, "RUNNING", 1),)
    )
    found = finders.queues_and_jobs(CLOUD, SCOPE)
    assert found.jobs == (
        JobItem("job of arn:queue/member", "arn:queue/member", "RUNNING"),
        JobItem("job of arn:queue/tagged", "arn:queue/tagged", "RUNNING"),
    )
    assert ids(found.loose) == ["arn:queue/tagged"]
    assert ids(found.suspects) == ["arn:queue/pilot-q"]


def test_active_definitions_go_and_inactive_ones_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def definition(name: str, revision: int, tags: dict[str, str]) -> JobDefinition:
        return JobDefinition(name, f"arn:{name}:{revision}", revision, tags)

    active = (
        definition("pilot-smoke", 2, OURS),
        definition("pilot-2-smoke", 1, NEIGHBOURS),
        definition("pilot-mine", 1, {}),
    )
    inactive = (definition("pilot-smoke", 1, OURS), definition("pilot-2-smoke", 9, NEIGHBOURS))
    monkeypatch.setattr(finders.batch, "active_job_definitions", lambda cloud: active)
    monkeypatch.setattr(finders.batch, "inactive_job_definitions", lambda cloud: inactive)
    found = finders.job_definitions(CLOUD, SCOPE)
    assert ids(found.loose) == ["arn:pilot-smoke:2"]
    assert ids(found.suspects) == ["arn:pilot-mine:1"]
    assert [(item.kind, item.id) for item in found.kept] == [("inactive job definition", "pilot-smoke")]


BUCKETS: dict[str, dict[str, str] | None] = {
    "pilot-storage-live": OURS,
    "pilot-storage-old": OURS,
    "pilot-2-storage": NEIGHBOURS,
    "pilot-notes": {},
    "odd-name": OURS,
    "untagged-but-retained": {},
    "deleted-meanwhile": None,
}


def test_buckets_are_found_by_name_tag_and_former_membership(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        finders.s3,
        "buckets_with_prefix",
        lambda cloud, prefix: tuple(b for b in BUCKETS if b.startswith(prefix)),
    )
    monkeypatch.setattr(finders.s3, "bucket_tags", lambda cloud, name: BUCKETS[name])
    scope = Scope(
        "pilot",
        members=frozenset({"pilot-storage-live"}),
        retained=frozenset({"untagged-but-retained"}),
        tagged_arns=(
            "arn:aws:s3:::odd-name",
            "arn:aws:s3:::deleted-meanwhile",
            "arn:aws:ec2:us-east-2:1:volume/vol-1",
        ),
    )
    found = finders.buckets(CLOUD, scope)
    assert ids(found.loose) == ["odd-name", "pilot-storage-old", "untagged-but-retained"]
    assert ids(found.suspects) == ["pilot-notes"]
    assert found.buckets == ("odd-name", "pilot-storage-live", "pilot-storage-old", "untagged-but-retained")


def test_log_groups_are_found_by_name_and_by_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    tags = {
        "/x/pilot/jobs": OURS,
        "pilot-2-jobs": NEIGHBOURS,
        "pilot-notes": {},
        "autopilot-x": {},
        "odd": OURS,
    }

    def named_like(cloud: Any, part: str) -> tuple[LogGroup, ...]:
        return tuple(LogGroup(name, name) for name in tags if part in name)

    monkeypatch.setattr(finders.logs, "groups_named_like", named_like)
    monkeypatch.setattr(
        finders.logs, "find_group", lambda cloud, name: LogGroup(name, name) if name in tags else None
    )
    monkeypatch.setattr(finders.logs, "group_tags", lambda cloud, arn: tags[arn])
    scope = Scope(
        "pilot",
        tagged_arns=("arn:aws:logs:us-east-2:1:log-group:odd:*", "arn:aws:logs:us-east-2:1:log-group:gone"),
    )
    found = finders.log_groups(CLOUD, scope)
    assert ids(found.loose) == ["/x/pilot/jobs", "odd"]
    assert ids(found.suspects) == ["pilot-notes"]
