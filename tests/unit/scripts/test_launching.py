"""A launch never starts a run twice: repeated, interrupted anywhere, or on two machines at once.

S3 is moto's, with its real conditional writes; AWS Batch is a queue in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from scripts import launching, run_store
from scripts.aws import s3
from scripts.aws.batch import ACTIVE_STATES, JobDefinition, JobSummary
from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError
from scripts.console import Console
from scripts.launching import Launched, Launcher, find_job, require_image
from scripts.run_choice import Resume, parse_resume
from scripts.run_store import RunRecord, RunStore
from scripts.schedulers import batch_scheduler
from scripts.schedulers.batch_scheduler import BatchScheduler
from stacks.domain.errors import InputError, WorldError
from stacks.domain.lock import Lock, LockedImage
from stacks.domain.names import CONTENT_TAG, package_key
from stacks.domain.render.batch import ClusterOutputs
from tests.environments import plan_of

BUCKET = "pilot-storage-1"
IMAGE = plan_of().jobs[0].image
assert IMAGE is not None
LOCK = Lock(
    resolved_by="aws", region="us-east-2", images={IMAGE.uri: LockedImage(digest="sha256:" + "a" * 64)}
)
PLAN = plan_of(lock=LOCK)
JOB = PLAN.jobs[0]
OUTPUTS = ClusterOutputs(BUCKET, "arn:queue", "arn:aws:iam::1:role/j", "arn:aws:iam::1:role/e", "group")


class Killed(BaseException):
    """As a SIGKILL."""


@dataclass
class Queue:
    """Batch, as far as a launch uses it. Before and after each change the client may be killed."""

    ACTIVE_STATES = ACTIVE_STATES
    submissions: list[dict[str, Any]] = field(default_factory=list)
    states: dict[str, str] = field(default_factory=dict)
    definitions: list[JobDefinition] = field(default_factory=list)
    on_call: Callable[[str], None] = lambda call: None

    def jobs(self) -> list[JobSummary]:
        return [
            JobSummary(
                request["jobName"], f"id-{index}", self.states.get(request["jobName"], "RUNNING"), index
            )
            for index, request in enumerate(self.submissions)
        ]

    def active_jobs(self, cloud: Cloud, queue: str) -> tuple[JobSummary, ...]:
        return tuple(job for job in self.jobs() if job.is_active)

    def jobs_named(self, cloud: Cloud, queue: str, name: str) -> tuple[JobSummary, ...]:
        found = [
            j for j in self.jobs() if j.name == name or (name.endswith("*") and j.name.startswith(name[:-1]))
        ]
        return tuple(reversed(found))

    def active_job_definitions(self, cloud: Cloud, name: str) -> tuple[JobDefinition, ...]:
        return tuple(d for d in self.definitions if d.name == name)

    def register_job_definition(self, cloud: Cloud, request: dict[str, Any]) -> str:
        self.on_call("before register")
        revision = len(self.definitions) + 1
        name = request["jobDefinitionName"]
        self.definitions.append(JobDefinition(name, f"arn:{name}:{revision}", revision, request["tags"]))
        self.on_call("after register")
        return self.definitions[-1].arn

    def submit(self, cloud: Cloud, request: dict[str, Any]) -> str:
        self.on_call("before submit")
        self.submissions.append(request)
        self.on_call("after submit")
        return f"id-{len(self.submissions) - 1}"


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Queue:
    made = Queue()
    monkeypatch.setattr(batch_scheduler, "batch", made)
    return made


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with mock_aws():
        session = boto3.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-2")
        made = Cloud("us-east-2", "1" * 12, is_local=True, session=session)
        made.client("s3").create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "us-east-2"}
        )
        yield made


@pytest.fixture
def source(tmp_path: Path) -> Path:
    directory = tmp_path / "source"
    directory.mkdir()
    (directory / "train.py").write_text("print('hello')\n")
    return directory


@dataclass
class Machine:
    """One of the machines that launch the job."""

    cloud: Cloud
    source: Path
    owner: str = "me@here"
    on_pause: Callable[[float], None] = lambda seconds: None

    def launch(self, resume: str | None = None, run: str | None = None) -> Launched:
        scheduler = BatchScheduler(self.cloud, PLAN, OUTPUTS, pause=lambda s: self.on_pause(s))
        launcher = Launcher(
            Console(),
            self.cloud,
            PLAN,
            JOB,
            scheduler,
            self.source,
            pause=lambda s: self.on_pause(s),
            owner=self.owner,
        )
        return launcher.launch(parse_resume(resume) if resume else None, run)


@pytest.fixture
def machine(cloud: Cloud, source: Path, queue: Queue) -> Machine:
    return Machine(cloud, source)


def store(cloud: Cloud) -> RunStore:
    return RunStore(cloud, BUCKET, "smoke")


def add_checkpoint(cloud: Cloud, run: str, step: int, *, complete: bool = True) -> None:
    prefix = f"runs/smoke/{run}/checkpoints/step-{step:06d}"
    s3.put(cloud, BUCKET, f"{prefix}/rank-0.npz", b"x")
    if complete:
        s3.put(cloud, BUCKET, f"{prefix}/checkpoint.json", b"{}")


def names(queue: Queue) -> list[str]:
    return [request["jobName"] for request in queue.submissions]


# --- one machine ---


def test_a_launch_uploads_registers_and_submits(machine: Machine, queue: Queue, cloud: Cloud) -> None:
    launched = machine.launch()
    assert launched.as_dict() == {
        "run": "smoke-1",
        "state": "SUBMITTED",
        "scheduler_id": "id-0",
        "nodes": 4,
        "metrics": f"s3://{BUCKET}/runs/smoke/smoke-1/metrics.jsonl",
        "logs": "group",
    }
    assert not launched.joined
    (request,) = queue.submissions
    assert (request["jobQueue"], request["jobDefinition"]) == ("arn:queue", "arn:pilot-smoke:1")
    stored = store(cloud).read("smoke-1")
    assert stored is not None
    assert stored.record == RunRecord("smoke-1", "smoke", "me@here", "id-0", None, None)


def test_a_repeated_launch_joins_the_active_run(machine: Machine, queue: Queue) -> None:
    first = machine.launch()
    again = machine.launch()
    assert again.joined
    assert (again.run, again.scheduler_id, again.state) == ("smoke-1", first.scheduler_id, "RUNNING")
    assert names(queue) == ["smoke-1"]


def test_after_its_end_the_next_run_has_the_next_number(machine: Machine, queue: Queue) -> None:
    machine.launch()
    queue.states["smoke-1"] = "SUCCEEDED"
    assert machine.launch().run == "smoke-2"
    queue.states["smoke-2"] = "FAILED"
    assert machine.launch().run == "smoke-3"


def test_numbers_go_on_after_batch_has_forgotten_the_runs(machine: Machine, queue: Queue) -> None:
    machine.launch()
    queue.submissions.clear()
    assert machine.launch().run == "smoke-2"


def test_package_and_definition_are_made_once_for_the_same_content(machine: Machine, queue: Queue) -> None:
    machine.launch()
    queue.states["smoke-1"] = "SUCCEEDED"
    machine.launch()
    assert len(queue.definitions) == 1
    queue.states["smoke-2"] = "SUCCEEDED"
    (machine.source / "train.py").write_text("print('changed')\n")
    machine.launch()
    assert len(queue.definitions) == 2
    assert queue.submissions[2]["jobDefinition"] == "arn:pilot-smoke:2"


def test_the_package_lies_where_the_definition_looks_for_it(
    machine: Machine, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    put: list[str] = []
    monkeypatch.setattr(launching.s3, "put", lambda cloud, bucket, key, content: put.append(key))
    machine.launch()
    (key,) = put
    assert key == package_key(key.removeprefix("packages/").removesuffix(".tar.gz"))


def test_a_wrong_source_leaves_no_claim(machine: Machine, cloud: Cloud) -> None:
    (machine.source / "train.py").unlink()
    with pytest.raises(InputError):
        machine.launch()
    assert store(cloud).names() == ()


# --- killed anywhere ---

KILLS = ["claim", "put", "before register", "after register", "before submit", "after submit", "record"]


@pytest.mark.parametrize("moment", KILLS)
def test_killed_anywhere_the_same_command_starts_exactly_one_run(
    machine: Machine, queue: Queue, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    kill_at(moment, queue, monkeypatch)
    with pytest.raises(Killed):
        machine.launch()
    monkeypatch.undo()
    monkeypatch.setattr(batch_scheduler, "batch", queue)
    queue.on_call = lambda call: None
    launched = machine.launch()
    assert names(queue) == ["smoke-1"]
    assert launched.run == "smoke-1"
    assert launched.joined is (moment in ("after submit", "record"))


def kill_at(moment: str, queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*arguments: Any, **more: Any) -> None:
        raise Killed

    def die_at(call: str) -> None:
        if call == moment:
            raise Killed

    if moment == "claim":
        original = run_store.RunStore.claim

        def claim_and_die(self: RunStore, record: RunRecord) -> None:
            original(self, record)
            raise Killed

        monkeypatch.setattr(run_store.RunStore, "claim", claim_and_die)
    elif moment == "put":
        monkeypatch.setattr(launching.s3, "put", die)
    elif moment == "record":
        monkeypatch.setattr(run_store.RunStore, "submitted", die)
    else:
        queue.on_call = die_at


def test_a_run_that_ended_before_its_record_was_written_is_not_started_again(
    machine: Machine, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_at("after submit", queue, monkeypatch)
    with pytest.raises(Killed):
        machine.launch()
    queue.on_call = lambda call: None
    queue.states["smoke-1"] = "SUCCEEDED"
    assert machine.launch().run == "smoke-2"
    assert names(queue) == ["smoke-1", "smoke-2"]


def test_a_lost_answer_to_the_submission_is_looked_up(machine: Machine, queue: Queue) -> None:
    def lose_it(call: str) -> None:
        if call == "after submit":
            raise AwsError("no answer", code="ReadTimeoutError")

    queue.on_call = lose_it
    assert machine.launch().scheduler_id == "id-0"
    assert names(queue) == ["smoke-1"]


def test_a_refused_submission_is_said_and_its_claim_is_taken_up_later(machine: Machine, queue: Queue) -> None:
    def refuse(call: str) -> None:
        if call == "before submit":
            raise AwsError("the queue is disabled", code="ClientException")

    queue.on_call = refuse
    with pytest.raises(AwsError, match="disabled"):
        machine.launch()
    queue.on_call = lambda call: None
    assert machine.launch().run == "smoke-1"


# --- two machines ---


def test_a_fresh_claim_of_another_machine_is_waited_for_and_its_run_joined(
    machine: Machine, queue: Queue, cloud: Cloud
) -> None:
    store(cloud).claim(RunRecord("smoke-1", "smoke", "you@there"))

    def the_other_submits(seconds: float) -> None:
        queue.submissions.append({"jobName": "smoke-1"})

    machine.on_pause = the_other_submits
    launched = machine.launch()
    assert (launched.run, launched.joined) == ("smoke-1", True)
    assert names(queue) == ["smoke-1"]


def test_an_old_claim_of_another_machine_is_taken_over(
    machine: Machine, queue: Queue, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(cloud).claim(RunRecord("smoke-1", "smoke", "you@there"))
    monkeypatch.setattr(launching, "CLAIM_SECONDS", -1.0)
    launched = machine.launch()
    assert (launched.run, launched.joined) == ("smoke-1", False)
    stored = store(cloud).read("smoke-1")
    assert stored is not None
    assert stored.record.owner == "me@here"


def test_whoever_loses_its_claim_does_not_submit(machine: Machine, queue: Queue, cloud: Cloud) -> None:
    """We stalled; another machine took our claim over and submitted while we registered the definition."""

    def the_other_takes_over(call: str) -> None:
        if call == "before register":
            stored = store(cloud).read("smoke-1")
            assert stored is not None
            store(cloud).replace(stored, RunRecord("smoke-1", "smoke", "you@there", "id-0"))
            queue.submissions.append({"jobName": "smoke-1"})

    queue.on_call = the_other_takes_over
    launched = machine.launch()
    assert (launched.run, launched.joined) == ("smoke-1", True)
    assert names(queue) == ["smoke-1"]


def test_a_run_that_another_machine_starts_after_our_look_is_joined(
    machine: Machine, queue: Queue, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look for active runs and the claim, the other machine is faster in everything."""
    original = Queue.active_jobs
    looks = iter(range(9))

    def active_jobs(cloud: Cloud, queue_arn: str) -> tuple[JobSummary, ...]:
        found = original(queue, cloud, queue_arn)
        if next(looks) == 0:
            store(cloud).claim(RunRecord("smoke-1", "smoke", "you@there", "id-0"))
            queue.submissions.append({"jobName": "smoke-1"})
        return found

    monkeypatch.setattr(queue, "active_jobs", active_jobs)
    launched = machine.launch()
    assert (launched.run, launched.joined) == ("smoke-1", True)
    assert names(queue) == ["smoke-1"]


# --- names and checkpoints ---


def test_a_named_run_is_started_beside_an_active_one_and_joined_by_its_name(
    machine: Machine, queue: Queue
) -> None:
    machine.launch()
    assert machine.launch(run="lr-sweep").run == "lr-sweep"
    assert machine.launch(run="lr-sweep").joined
    assert names(queue) == ["smoke-1", "lr-sweep"]


def test_an_active_named_run_is_joined_without_its_name_too(machine: Machine, queue: Queue) -> None:
    machine.launch(run="lr-sweep")
    launched = machine.launch()
    assert (launched.run, launched.joined) == ("lr-sweep", True)


def test_a_name_that_was_used_is_refused(machine: Machine, queue: Queue) -> None:
    machine.launch(run="lr-sweep")
    queue.states["lr-sweep"] = "FAILED"
    with pytest.raises(InputError, match=r"lr-sweep already \(FAILED\)"):
        machine.launch(run="lr-sweep")
    queue.submissions.clear()
    with pytest.raises(InputError, match="forgotten"):
        machine.launch(run="lr-sweep")


def test_a_resumed_run_gets_the_checkpoint(machine: Machine, queue: Queue, cloud: Cloud) -> None:
    for step in (20, 40):
        add_checkpoint(cloud, "smoke-1", step)
    add_checkpoint(cloud, "smoke-1", 60, complete=False)
    launched = machine.launch(resume="smoke-1")
    assert launched.resumes == Resume("smoke-1", 40)
    override = queue.submissions[0]["nodeOverrides"]["nodePropertyOverrides"][0]["containerOverrides"]
    variables = {item["name"]: item["value"] for item in override["environment"]}
    assert variables["NEURONKIT_RESUME_FROM"] == f"s3://{BUCKET}/runs/smoke/smoke-1/checkpoints"
    assert variables["NEURONKIT_RESUME_STEP"] == "40"


def test_latest_is_the_newest_run_that_has_a_checkpoint(machine: Machine, cloud: Cloud) -> None:
    add_checkpoint(cloud, "smoke-2", 20)
    add_checkpoint(cloud, "smoke-10", 10)
    add_checkpoint(cloud, "smoke-11", 30, complete=False)
    assert machine.launch(resume="latest").resumes == Resume("smoke-10", 10)


def test_a_checkpoint_that_is_not_there_starts_nothing(machine: Machine, queue: Queue, cloud: Cloud) -> None:
    add_checkpoint(cloud, "smoke-1", 20)
    with pytest.raises(InputError, match="no checkpoint of step 30"):
        machine.launch(resume="smoke-1:30")
    with pytest.raises(InputError, match="no complete checkpoint"):
        machine.launch(resume="smoke-7")
    assert names(queue) == []


def test_without_any_checkpoint_latest_is_refused(machine: Machine, queue: Queue) -> None:
    with pytest.raises(InputError, match="no run of job smoke has a checkpoint"):
        machine.launch(resume="latest")
    assert names(queue) == []


def test_a_repeated_resume_joins_and_another_wish_is_refused(
    machine: Machine, queue: Queue, cloud: Cloud
) -> None:
    add_checkpoint(cloud, "smoke-1", 20)
    first = machine.launch(resume="smoke-1:20")
    assert first.run == "smoke-2"
    for again in ("smoke-1:20", "smoke-1", "latest", None):
        assert machine.launch(resume=again).scheduler_id == first.scheduler_id
    with pytest.raises(WorldError, match="asks for something else"):
        machine.launch(resume="smoke-2")
    assert names(queue) == ["smoke-2"]


def test_an_unknown_job_lists_those_that_there_are() -> None:
    with pytest.raises(InputError) as caught:
        find_job(PLAN, "smok")
    assert "smoke" in caught.value.hint


def test_an_image_without_digest_is_refused() -> None:
    with pytest.raises(InputError, match="not resolved"):
        require_image(plan_of().jobs[0])


def test_the_definition_carries_the_tag_by_which_it_is_found_again(machine: Machine, queue: Queue) -> None:
    machine.launch()
    assert queue.definitions[0].tags[CONTENT_TAG]
