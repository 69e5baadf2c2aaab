"""The main job, with the real CDK CLI: deploy, every resource as its template says, launch, resume, destroy, nothing left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.environments import starters_under
from tests.integration.conftest import PilotFactory
from tests.integration.local_cloud.describe import differences, remains, stack_resources
from tests.integration.pilots import Pilot

pytestmark = [pytest.mark.local_cloud, pytest.mark.node, pytest.mark.xdist_group("main_job")]


def losses(pilot: Pilot, run: str) -> dict[int, float]:
    bucket = next(
        b["Name"]
        for b in pilot.client("s3").list_buckets()["Buckets"]
        if b["Name"].startswith(f"{pilot.name}-storage")
    )
    body = pilot.client("s3").get_object(Bucket=bucket, Key=f"runs/smoke/{run}/metrics.jsonl")["Body"].read()
    return {row["step"]: row["loss"] for row in map(json.loads, body.splitlines())}


@pytest.mark.parametrize("starter", starters_under("batch"))
def test_every_resource_is_what_its_template_says_and_is_gone_after_destroy(
    starter: str, new_pilot: PilotFactory
) -> None:
    pilot = new_pilot(starter)
    pilot.run("deploy", "--yes")
    session, resources = pilot.session, []
    for stack in pilot.stacks:
        template = json.loads(
            (pilot.directory / "cdk.out" / "pilot.local" / f"{stack}.template.json").read_text()
        )
        assert differences(template, stack, session) == []
        resources += stack_resources(stack, session)
    pilot.run("destroy", "--yes")
    assert remains(resources, session) == []
    assert set(pilot.stack_states()) == {"CDKToolkit"}
    assert pilot.json("leftovers")["leftovers"] == []


def test_a_run_resumes_exactly_and_a_repeated_launch_joins(pilot: Pilot) -> None:
    text = pilot.file.read_text()
    # A run that can be joined has to last as long as a few commands on a loaded machine.
    slowly = text.replace('"20"]', '"20", --step-seconds, "0.4"]')
    assert slowly != text
    pilot.file.write_text(slowly)
    pilot.run("deploy", "--yes")
    first = pilot.run("launch", "smoke", "--follow")
    assert "step 60/60" in first.stdout + first.stderr
    second = pilot.json("launch", "smoke", "--resume", "smoke-1:20")
    joined = pilot.json("launch", "smoke")
    assert (second["run"], joined["run"]) == ("smoke-2", "smoke-2")
    assert second["scheduler_id"] == joined["scheduler_id"]
    assert second["nodes"] == 4
    followed = pilot.run("launch", "smoke", "--follow")
    assert "smoke-2" in followed.stdout + followed.stderr
    uninterrupted, resumed = losses(pilot, "smoke-1"), losses(pilot, "smoke-2")
    assert sorted(uninterrupted) == list(range(1, 61))
    assert resumed == {step: loss for step, loss in uninterrupted.items() if step > 20}
    assert "smoke-2" in pilot.run("status").stdout
    assert "step 60/60" in pilot.run("logs", "smoke-2").stdout
    pilot.run("destroy", "--yes")


def test_a_failing_node_fails_the_run_and_is_named(pilot: Pilot) -> None:
    text = pilot.file.read_text()
    pilot.file.write_text(text.replace('"20"]', '"20", --fail-at-step, "5", --fail-rank, "2"]'))
    pilot.run("deploy", "--yes")
    done = pilot.run("launch", "smoke", "--follow", code=4)
    words = done.stdout + done.stderr
    assert "FAILED" in words
    assert "node 2" in words
    assert "17" in words
    pilot.run("destroy", "--yes")


def test_deploy_again_changes_nothing(pilot: Pilot) -> None:
    pilot.run("deploy", "--yes")
    again = pilot.run("deploy", "--yes")
    assert "no changes" in again.stderr
    pilot.run("destroy", "--yes")
    pilot.run("destroy", "--yes")


def test_a_neighbour_with_the_same_beginning_is_untouched(new_pilot: PilotFactory) -> None:
    pilot = new_pilot(name="pilot")
    neighbour = new_pilot(name="pilot-2", account=pilot.account, bootstrapped=False)
    pilot.run("deploy", "--yes")
    neighbour.run("deploy", "--yes")
    neighbour.run("launch", "smoke", "--follow")
    resources = [r for stack in neighbour.stacks for r in stack_resources(stack, neighbour.session)]
    answer = pilot.json("destroy", "--yes")
    assert answer["leftovers"] == []
    assert not any("pilot-2" in json.dumps(item) for item in answer["deleted"])
    assert len(remains(resources, neighbour.session)) == len(resources)
    assert {neighbour.stack_states()[stack] for stack in neighbour.stacks} == {"CREATE_COMPLETE"}
    neighbour.run("destroy", "--yes")


def test_an_environment_that_was_never_deployed(new_pilot: PilotFactory, tmp_path: Path) -> None:
    pilot = new_pilot(bootstrapped=False)
    assert pilot.json("destroy", "--yes")["deleted"] == []
    assert pilot.json("leftovers")["leftovers"] == []
    assert "bootstrap" in pilot.run("deploy", "--yes", code=3).stderr


def test_bootstrap_works_beside_a_cdk_json(new_pilot: PilotFactory) -> None:
    """As in the clone itself, whose cdk.json wants to be told an environment file."""
    pilot = new_pilot(bootstrapped=False)
    (pilot.directory / "cdk.json").write_text('{"app": "exit 1"}')
    pilot.run("bootstrap")
    assert "CDKToolkit" in pilot.stack_states()
