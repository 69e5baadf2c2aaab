"""The controller over a week, and as a model: cut off at any call, refused, with jobs that do not stop and nodes that do not come."""

from __future__ import annotations

import base64
import contextlib
import json
import zlib
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from shift import records
from shift.decisions import CLAIM_SECONDS, Decision, Forget, SetNodes, Stop, Submit, decide
from shift.handler import Controller, StepError
from shift.override import Override
from shift.settings import Settings, read_settings
from shift.sides import Goal, Remembered, Service, Serving, Training
from shift.state import last, report, state_document
from shift.windows import WeeklyWindow

from stacks.domain import names
from stacks.domain.zones import zone_file
from tests.unit.payload.shift.fake_cloud import STATE_PARAMETER, CutOffError, FakeCloud, utc

FLOOR, IN_WINDOW = 1, 3
NIGHT, DRAIN, DAY, EVENING = "2026-12-07T02:00", "2026-12-07T05:35", "2026-12-07T08:00", "2026-12-07T18:40"
"""Monday, UTC; the window is 07:00 to 20:00 in Berlin, the drain 30 minutes."""


def variables() -> dict[str, str]:
    values = {
        "ENVIRONMENT": "pilot", "SHIFT": "day", "FLEET_STACK": "pilot-fleet-chat", "CLUSTER_STACK": "pilot-cluster-train",
        "CLUSTER": "train", "BUCKET": "bucket", "PREFIX": "shifts/day", "PARAMETER": "/neuronkit/pilot/shifts/day",
        "STATE_PARAMETER": STATE_PARAMETER,
        "ZONE": "Europe/Berlin", "ZONE_RULES": base64.b64encode(zlib.compress(zone_file("Europe/Berlin"))).decode(),
        "WINDOWS": json.dumps([[day, 420, 780, 12] for day in range(5)]), "DRAIN_MINUTES": "30", "REPLICAS_PER_NODE": "4",
        "FLOOR_NODES": "1",
    }  # fmt: skip
    return {f"NEURONKIT_{name}": value for name, value in values.items()}


SETTINGS: Settings = read_settings(variables())


def tick(cloud: FakeCloud) -> dict[str, Any]:
    return Controller(cloud.clients(), SETTINGS, lambda: cloud.now).run()


def quiet_tick(cloud: FakeCloud) -> None:
    with contextlib.suppress(StepError, CutOffError):
        tick(cloud)


def override(cloud: FakeCloud, mode: str, until: datetime | None = None) -> None:
    cloud.override = json.dumps(
        {"mode": mode, "until": until.isoformat() if until else None, "reason": "test"}
    )
    cloud.override_at = cloud.now


def ticks(cloud: FakeCloud, number: int) -> None:
    for _ in range(number):
        tick(cloud)
        cloud.later(10)


def at_night(*runs: str) -> FakeCloud:
    """Nodes that run the runs."""
    cloud = FakeCloud(utc(NIGHT))
    for run in runs:
        cloud.launch(run)
    ticks(cloud, 3)
    assert all(cloud.active(run)[0].status == "RUNNING" for run in runs)
    return cloud


def test_a_day() -> None:
    cloud = at_night("smoke-1", "smoke-2")
    stopped = {run: cloud.active(run)[0].id for run in ("smoke-1", "smoke-2")}
    cloud.now = utc(DRAIN)
    report = tick(cloud)
    assert [word.partition("(")[0] for word in report["done"]] == [
        "Close",
        "Remember",
        "Stop",
        "Remember",
        "Stop",
    ]
    assert sorted(cloud.remembered_names()) == ["smoke-1", "smoke-2"]
    assert cloud.ranges["slice-0"] == (FLOOR, FLOOR), "not before the window"
    cloud.now = utc(DAY)
    ticks(cloud, 6)
    assert set(cloud.ranges.values()) == {(FLOOR, IN_WINDOW)}
    assert not cloud.is_open
    assert cloud.metrics == {"ShiftState": 2, "ShiftLate": 0}
    cloud.desired = dict.fromkeys(cloud.desired, IN_WINDOW)  # autoscaling
    for _ in range(4):
        cloud.later(10)
    assert cloud.instances == IN_WINDOW
    cloud.now = utc(EVENING)
    tick(cloud)
    assert set(cloud.ranges.values()) == {(FLOOR, FLOOR)}
    assert set(cloud.desired.values()) == {FLOOR}
    assert not cloud.is_open, "training waits for the end of the window, and for nodes"
    cloud.now = utc("2026-12-07T19:00")
    report = tick(cloud)
    assert not cloud.is_open
    assert report["waits"] == [
        "the fleet has 3 nodes, and 1 are its floor: training waits for the others to go"
    ]
    ticks(cloud, 5)
    assert cloud.is_open
    assert cloud.remembered_names() == []
    for run in ("smoke-1", "smoke-2"):
        (again,) = cloud.active(run)
        assert again.status == "RUNNING"
        assert again.request["jobDefinition"] == "definition:1"
        assert again.request["tags"] == {"neuronkit:job": "smoke", "neuronkit:run": run}
        (overridden,) = again.request["nodeOverrides"]["nodePropertyOverrides"]
        assert overridden["targetNodes"] == "0:1"
        assert {v["name"]: v["value"] for v in overridden["containerOverrides"]["environment"]} == {
            "NEURONKIT_BUCKET": "bucket", "NEURONKIT_RUN_ID": run, "NEURONKIT_RUN_PREFIX": f"runs/smoke/{run}",
            "NEURONKIT_AGAIN_OF": stopped[run],
        }  # fmt: skip


def test_jobs_of_one_name_that_the_kit_has_not_launched_are_all_started_again() -> None:
    cloud = FakeCloud(utc(NIGHT))
    for _ in range(2):
        cloud.launch("theirs")
    ticks(cloud, 3)
    before = {job.id for job in cloud.active("theirs")}
    cloud.now = utc(DRAIN)
    ticks(cloud, 2)
    assert cloud.remembered_names() == ["theirs", "theirs"]
    cloud.now = utc("2026-12-07T19:00")
    ticks(cloud, 8)
    assert len({job.id for job in cloud.active("theirs")} - before) == 2
    assert cloud.remembered_names() == []


def test_a_run_that_began_from_anothers_checkpoint_still_does() -> None:
    cloud = at_night("smoke-2")
    record = {"run": "smoke-2", "job": "smoke", "resume_from": "smoke-1", "resume_step": 40}
    cloud.objects["runs/smoke/smoke-2/run.json"] = (json.dumps(record).encode(), "e")
    cloud.now = utc(DRAIN)
    tick(cloud)
    (key,) = [key for key in cloud.objects if key.startswith("shifts/")]
    request = json.loads(cloud.objects[key][0])["request"]
    (overridden,) = request["nodeOverrides"]["nodePropertyOverrides"]
    assert {"name": "NEURONKIT_RESUME_STEP", "value": "40"} in overridden["containerOverrides"]["environment"]
    assert {
        "name": "NEURONKIT_RESUME_FROM", "value": "s3://bucket/runs/smoke/smoke-1/checkpoints",
    } in overridden["containerOverrides"]["environment"]  # fmt: skip


def test_a_job_that_ends_by_itself_in_the_drain_is_not_started_again() -> None:
    cloud = at_night("done", "cancelled", "failed")
    cloud.now = utc(DRAIN)
    tick(cloud)
    for job, (status, reason) in zip(
        cloud.jobs,
        [("SUCCEEDED", ""), ("FAILED", "neuronkit status --cancel"), ("FAILED", "exit 1")],
        strict=True,
    ):
        job.status, job.reason, job.is_asked = status, reason, False
    cloud.now = utc("2026-12-07T21:00")
    ticks(cloud, 6)
    assert len(cloud.jobs) == 3
    assert cloud.remembered_names() == []


def test_a_run_that_a_person_started_again_is_not_started_twice() -> None:
    cloud = at_night("smoke-1")
    cloud.now = utc(DAY)
    ticks(cloud, 3)
    cloud.launch("smoke-1")
    cloud.now = utc("2026-12-07T21:00")
    ticks(cloud, 6)
    assert len(cloud.jobs) == 2
    assert len(cloud.active("smoke-1")) == 1


def test_jobs_that_wait_are_left_waiting() -> None:
    cloud = FakeCloud(utc(DAY))
    ticks(cloud, 2)
    job = cloud.launch("smoke-1")
    ticks(cloud, 3)
    assert (job.status, cloud.remembered_names()) == ("RUNNABLE", [])


def test_serving_does_not_wait_for_ever_for_a_job_that_does_not_stop() -> None:
    cloud = at_night("smoke-1")
    cloud.stubborn = True
    cloud.now = utc(DAY)  # two hours after the window began
    report = tick(cloud)
    assert set(cloud.ranges.values()) == {(FLOOR, IN_WINDOW)}
    assert report["late"]
    assert cloud.metrics["ShiftLate"] == 1
    assert "smoke-1" in cloud.remembered_names()


def test_serving_is_raised_when_batch_cannot_be_read() -> None:
    cloud = at_night("smoke-1")
    cloud.fault = lambda operation: "refused" if "job" in operation or "compute" in operation else None
    cloud.now = utc(DAY)
    with pytest.raises(StepError):
        tick(cloud)
    assert set(cloud.ranges.values()) == {(FLOOR, IN_WINDOW)}


def test_training_is_not_opened_when_the_fleet_cannot_be_read() -> None:
    cloud = FakeCloud(utc(DAY))
    ticks(cloud, 2)
    assert not cloud.is_open
    cloud.fault = lambda operation: "refused" if operation == "describe_auto_scaling_groups" else None
    cloud.now = utc("2026-12-07T21:00")
    with pytest.raises(StepError):
        tick(cloud)
    assert not cloud.is_open


def test_training_waits_as_long_as_it_takes_and_says_so() -> None:
    cloud = FakeCloud(utc(DAY))
    ticks(cloud, 2)
    cloud.instances = 3
    cloud.now = utc("2026-12-07T21:00")
    report = tick(cloud)
    assert not cloud.is_open
    assert report["late"]


@pytest.mark.parametrize("gone", ["pilot-fleet-chat", "pilot-cluster-train"])
def test_a_side_that_is_not_deployed_holds_nothing_up(gone: str) -> None:
    cloud = FakeCloud(utc(DAY))
    cloud.stacks.remove(gone)
    tick(cloud)
    cloud.now = utc("2026-12-07T21:00")
    tick(cloud)
    assert cloud.is_open


def test_a_job_that_was_not_remembered_is_not_stopped() -> None:
    cloud = at_night("smoke-1")
    cloud.now = utc(DRAIN)
    cloud.fault = lambda operation: "refused" if operation == "put_object" else None
    with pytest.raises(StepError):
        tick(cloud)
    assert not cloud.jobs[0].is_asked


def test_a_job_that_may_not_be_stopped_keeps_no_other_running() -> None:
    """One that somebody submitted without the environment's tags."""
    cloud = at_night("foreign", "smoke-1")
    cloud.forbidden = {cloud.jobs[0].id}
    cloud.now = utc(DRAIN)
    with pytest.raises(StepError):
        tick(cloud)
    assert [job.is_asked for job in cloud.jobs] == [False, True]


def test_nothing_is_stopped_while_other_jobs_could_start() -> None:
    cloud = at_night("smoke-1")
    cloud.fault = lambda operation: "refused" if operation == "update_compute_environment" else None
    cloud.now = utc(DRAIN)
    with pytest.raises(StepError):
        tick(cloud)
    assert not cloud.jobs[0].is_asked


def test_an_answer_of_submit_that_is_lost_starts_nothing_twice() -> None:
    cloud = at_night("smoke-1")
    cloud.now = utc(DAY)
    ticks(cloud, 3)
    cloud.now = utc("2026-12-07T21:00")
    cloud.fault = lambda operation: "lost" if operation == "submit_job" else None
    for _ in range(3):
        quiet_tick(cloud)
    cloud.fault = lambda _operation: None
    ticks(cloud, 3)
    assert len(cloud.active("smoke-1")) == 1
    assert len(cloud.jobs) == 2


def test_overrides_hold_until_their_end() -> None:
    cloud = FakeCloud(utc(NIGHT))
    override(cloud, "serve", until=utc("2026-12-07T04:00"))
    ticks(cloud, 2)
    assert set(cloud.ranges.values()) == {(FLOOR, IN_WINDOW)}
    cloud.now = utc("2026-12-07T04:05")
    ticks(cloud, 3)
    assert set(cloud.ranges.values()) == {(FLOOR, FLOOR)}
    assert cloud.is_open


@pytest.mark.parametrize("text", ["", "[]", '{"mode": "neuron"}', '{"mode": "serve", "until": "tomorrow"}'])
def test_an_override_that_cannot_be_read_is_the_timetable(text: str) -> None:
    cloud = FakeCloud(utc(DAY))
    cloud.override = text
    assert tick(cloud)["goal"] == "serve"
    assert "override" in tick(cloud)["why"]


def test_words_are_those_of_the_kit() -> None:
    assert (records.JOB_TAG, records.RUN_TAG) == (names.JOB_TAG, names.RUN_TAG)
    from shift import handler

    assert (handler.ENVIRONMENT_TAG, handler.CLUSTER_TAG) == (names.ENVIRONMENT_TAG, names.CLUSTER_TAG)
    assert names.run_prefix("a", "b") in str(records.run_record_key({names.JOB_TAG: "a", names.RUN_TAG: "b"}))


def test_windows_and_overrides_are_the_very_text_of_the_domain() -> None:
    import shift.override
    import shift.windows

    import stacks.domain.shift_override
    import stacks.domain.windows

    for packed, planned in (
        (shift.windows, stacks.domain.windows),
        (shift.override, stacks.domain.shift_override),
    ):
        assert Path(str(packed.__file__)).read_bytes() == Path(str(planned.__file__)).read_bytes()
    assert shift.override.MODES[1:] == (stacks.domain.windows.SERVE, stacks.domain.windows.TRAIN)


def state_of(cloud: FakeCloud) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cloud.state)
    return found


def test_each_call_leaves_its_state_and_what_was_done_last() -> None:
    cloud = at_night("smoke-1")
    cloud.now = utc(DRAIN)
    tick(cloud)
    state = state_of(cloud)
    assert (state["state"], state["checked_at"], state["override"]) == (
        "drain-training",
        "2026-12-07T05:35:00+00:00",
        None,
    )
    assert state["since"] == "2026-12-07T05:30:00+00:00"
    assert state["last"] == {
        "at": "2026-12-07T05:35:00+00:00",
        "done": [
            "training starts no more jobs",
            "job smoke-1 is to start again later",
            "job job-0 was asked to stop",
        ],
    }
    assert state["waits"] == ["1 jobs are stopping: smoke-1", "1 nodes of training are not gone yet"]
    assert state["failed"] == []
    cloud.later(1)
    cloud.later(1)
    tick(cloud)
    assert state_of(cloud)["last"] == state["last"], "a call that had nothing to do keeps it"
    assert state_of(cloud)["checked_at"] == "2026-12-07T05:37:00+00:00"


def test_what_was_refused_is_in_the_state() -> None:
    cloud = at_night("smoke-1")
    cloud.now = utc(DRAIN)
    cloud.fault = lambda operation: "refused" if operation == "update_compute_environment" else None
    quiet_tick(cloud)
    (words,) = state_of(cloud)["failed"]
    assert words.startswith("Close: ")
    assert "Rate exceeded" in words
    cloud.fault = lambda _operation: None
    tick(cloud)
    assert state_of(cloud)["failed"] == []


def test_an_override_is_in_the_state_while_it_holds() -> None:
    cloud = FakeCloud(utc(DAY))
    override(cloud, "train", until=utc("2026-12-07T10:00"))
    tick(cloud)
    assert (state_of(cloud)["state"], state_of(cloud)["override"]) == (
        "train",
        {"mode": "train", "until": "2026-12-07T10:00:00+00:00", "reason": "test"},
    )
    cloud.now = utc("2026-12-07T10:01")
    tick(cloud)
    assert (state_of(cloud)["state"], state_of(cloud)["override"]) == ("serve", None)


def test_the_state_of_many_long_words_fits_a_parameter() -> None:
    windows = tuple(WeeklyWindow(day, hour * 60, 60, 1000) for day in range(7) for hour in range(0, 24, 6))
    settings = replace(SETTINGS, windows=windows)
    long = [str(number) + "x" * 500 for number in range(20)]
    since, reason = utc(DAY), "\N{GRINNING FACE}" * 500
    goal = Goal("drain-training", since, nodes=1000, floor_nodes=1, words=f"override serve: {reason}")
    said = report(goal, Decision((), (), tuple(long), is_late=True), [], long)
    document = state_document(
        settings, goal, Override("serve", since + timedelta(1), since, reason), said, since
    )
    document["last"] = last([Stop(one) for one in long], since)
    assert document["failed"][-1] == document["last"]["done"][-1] == "and 16 more"
    assert len(json.dumps(document, ensure_ascii=False).encode()) <= 4096


@pytest.mark.parametrize(
    ("state", "desired", "expected"),
    [("serve", 0, (1, 3, 0)), ("serve", 2, (1, 3, 2)), ("train", 0, (0, 0, 0)), ("train", 2, (0, 0, 0))],
)
def test_a_fleet_that_may_sleep_is_not_woken(
    state: str, desired: int, expected: tuple[int, int, int]
) -> None:
    since = utc("2026-12-07T06:00")
    goal = Goal(state, since, nodes=3 if state == "serve" else 0, floor_nodes=0, words="")
    serving = Serving((Service("slice-0", 9, 9, desired, desired),), instances=desired)
    (action,) = decide(goal, serving, None, (), since).serving
    assert isinstance(action, SetNodes)
    assert (action.minimum, action.maximum, action.desired) == expected


@pytest.mark.parametrize(
    ("state", "is_again", "claim_seconds", "expected"),
    [
        ("stopped", False, None, [Submit("job-1")]),
        ("stopped", False, CLAIM_SECONDS - 1, []),
        ("stopped", False, CLAIM_SECONDS, [Submit("job-1")]),
        ("stopped", True, None, [Forget("job-1")]),
        ("ended", False, None, [Forget("job-1")]),
        ("active", False, None, [Stop("job-1")]),
    ],
)
def test_what_becomes_of_a_remembered_job(
    state: str, is_again: bool, claim_seconds: float | None, expected: list[Any]
) -> None:
    since = utc("2026-12-07T20:00")
    training = Training(is_open=True, is_changing=False, running=(), instances=0)
    one = Remembered("job-1", "smoke-1", state, is_again, claim_seconds)
    goal = Goal("train", since, nodes=1, floor_nodes=1, words="")
    assert list(decide(goal, None, training, (one,), since).training) == expected


FAULTS = st.sampled_from([None, None, None, None, "refused", "lost", "cut-before", "cut-after"])
CALLS = ("submit_job", "terminate_job", "put_object", "delete_object", "update_compute_environment", "update_service", "register_scalable_target", "list_jobs", "describe_jobs", "describe_services", "describe_stacks", "get_object", "put_metric_data", "get_parameter", "put_parameter")  # fmt: skip


@settings(max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck))
class ShiftModel(RuleBasedStateMachine):
    """The world does what it wants between ticks; whatever fails, what must hold holds, and in the end all is as wanted."""

    @initialize(hour=st.integers(0, 23))
    def begin(self, hour: int) -> None:
        self.cloud = FakeCloud(utc(f"2026-12-07T{hour:02d}:00"))
        self.runs: set[str] = set()
        self.launched = 0

    @rule()
    def launch(self) -> None:
        if len(self.runs) < 4:
            self.launched += 1
            name = f"smoke-{self.launched}"
            self.runs.add(name)
            self.cloud.launch(name)

    @rule()
    def tick(self) -> None:
        tick(self.cloud)

    @rule(operation=st.sampled_from(CALLS), nth=st.integers(1, 3), fault=FAULTS)
    def tick_with_a_fault(self, operation: str, nth: int, fault: str | None) -> None:
        seen: list[str] = []

        def befalls(called: str) -> str | None:
            seen.append(called)
            return fault if called == operation and seen.count(operation) == nth else None

        self.cloud.fault = befalls
        quiet_tick(self.cloud)
        self.cloud.fault = lambda _operation: None

    @rule(minutes=st.sampled_from([1, 10, 30, 90, 400]))
    def time_passes(self, minutes: int) -> None:
        self.cloud.later(minutes)

    @rule(mode=st.sampled_from(["auto", "serve", "train"]))
    def somebody_overrides(self, mode: str) -> None:
        override(self.cloud, mode)

    @rule(stubborn=st.booleans(), no_nodes=st.booleans())
    def luck(self, stubborn: bool, no_nodes: bool) -> None:
        self.cloud.stubborn, self.cloud.no_nodes = stubborn, no_nodes

    @rule()
    def a_job_succeeds(self) -> None:
        for job in self.cloud.jobs:
            if job.status == "RUNNING" and not job.is_asked:
                job.status = "SUCCEEDED"
                self.runs.discard(job.name)
                break

    @rule()
    def autoscaling(self) -> None:
        self.cloud.desired = {name: high for name, (_, high) in self.cloud.ranges.items()}

    @invariant()
    def the_floor_holds(self) -> None:
        if hasattr(self, "cloud"):
            assert all(low >= FLOOR for low, _ in self.cloud.ranges.values())
            assert all(count >= FLOOR for count in self.cloud.desired.values())
            assert self.cloud.instances >= FLOOR

    @invariant()
    def no_run_is_lost_nor_doubled(self) -> None:
        for run in getattr(self, "runs", ()):
            active = self.cloud.active(run)
            assert len(active) <= 1
            assert active or run in self.cloud.remembered_names()

    def teardown(self) -> None:
        if not hasattr(self, "cloud"):
            return
        cloud = self.cloud
        cloud.fault, cloud.stubborn, cloud.no_nodes = (lambda _operation: None), False, False
        cloud.later(int(CLAIM_SECONDS // 60) + 1)
        override(cloud, "serve")
        ticks(cloud, 10)
        assert set(cloud.ranges.values()) == {(FLOOR, IN_WINDOW)}
        assert not cloud.is_open
        assert cloud.training_instances == 0
        self.no_run_is_lost_nor_doubled()
        override(cloud, "train")
        ticks(cloud, 12)
        assert set(cloud.ranges.values()) == {(FLOOR, FLOOR)}
        assert cloud.is_open
        assert cloud.remembered_names() == []
        assert all(len(cloud.active(run)) == 1 for run in self.runs)


TestShiftModel = ShiftModel.TestCase
