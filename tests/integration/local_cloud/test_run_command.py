"""SSM's Run Command on the emulated login node of a PCS cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from scripts.local_cloud import process
from tests.integration.local_cloud.conftest import session_for
from tests.integration.local_cloud.pcs_world import PcsWorld, template
from tests.slurm import needs_slurm

pytestmark = [pytest.mark.local_cloud, pytest.mark.xdist_group("local_cloud"), *needs_slurm]
Admin = Callable[..., Any]


@pytest.fixture(scope="module")
def deployed(cloud: process.LocalCloud) -> Iterator[PcsWorld]:
    world = PcsWorld(session_for(cloud, "400000000003"))
    assert world.deploy(template()) == "CREATE_COMPLETE", world.failures()
    yield world
    world.delete()


def test_commands_run_in_turn_in_one_shell_where_they_are_told_to(deployed: PcsWorld) -> None:
    instance_id = deployed.login_instance()
    sent = deployed.ssm.send_command(
        DocumentName="AWS-RunShellScript",
        InstanceIds=[instance_id],
        Parameters={"commands": ["word=$(pwd)", 'echo "$word" "$0"'], "workingDirectory": ["/shared"]},
    )["Command"]
    assert sent["Status"] == "Pending"
    answer = deployed.invocation((sent["CommandId"], instance_id))
    place, script = answer["StandardOutputContent"].split()
    assert (answer["Status"], answer["ResponseCode"], place) == ("Success", 0, "/shared")
    assert script.endswith("/_script.sh")


def test_a_command_that_fails_says_how(deployed: PcsWorld) -> None:
    answer = deployed.invocation(deployed.send("echo words >&2", "exit 73"))
    assert (answer["Status"], answer["ResponseCode"]) == ("Failed", 73)
    assert answer["StandardErrorContent"] == "words\n"


def test_output_is_cut_where_ssm_cuts_it(deployed: PcsWorld) -> None:
    answer = deployed.invocation(deployed.send("head -c 30000 /dev/zero | tr '\\0' x"))
    assert answer["StandardOutputContent"] == "x" * 24_000


def test_a_user_cannot_be_changed_and_that_is_said(deployed: PcsWorld) -> None:
    answer = deployed.invocation(deployed.send("runuser -u ubuntu -- sh -c 'id -un; echo $1' sh word"))
    assert answer["StandardOutputContent"] == "root\nword\n"
    assert "not changed to the user ubuntu" in answer["StandardErrorContent"]


def test_a_command_beyond_its_time_is_ended(deployed: PcsWorld) -> None:
    sent = deployed.send("sleep 600 & echo $! >/shared/sleeper", "wait", seconds=1)
    answer = deployed.invocation(sent)
    assert (answer["Status"], answer["StatusDetails"]) == ("TimedOut", "Execution Timed Out")
    # A process that has ended may still have an entry for a moment.
    ended = "while kill -0 $(cat /shared/sleeper) 2>/dev/null; do sleep 0.1; done; echo ended"
    assert deployed.on_login_node(ended) == "ended\n"


def test_a_command_is_in_progress_until_it_ends(deployed: PcsWorld) -> None:
    sent = deployed.send("until [ -e /shared/go ]; do sleep 0.1; done")
    deadline = time.monotonic() + 20
    while (
        deployed.ssm.get_command_invocation(CommandId=sent[0], InstanceId=sent[1])["Status"] != "InProgress"
    ):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    deployed.on_login_node("touch /shared/go")
    assert deployed.invocation(sent)["Status"] == "Success"


def test_a_job_outlives_the_command_that_submitted_it(deployed: PcsWorld) -> None:
    deployed.on_login_node(
        "cd /shared", "sbatch --output=job.out --wrap 'until [ -e ended ]; do sleep 0.1; done; echo done'"
    )
    deployed.on_login_node("touch /shared/ended")
    wait = 'until [ "$(cat /shared/job.out 2>/dev/null)" = done ]; do sleep 0.1; done'
    assert deployed.invocation(deployed.send(wait))["Status"] == "Success"


def test_a_login_node_that_does_not_answer_times_the_delivery_out(deployed: PcsWorld, admin: Admin) -> None:
    instance_id = deployed.login_instance()
    admin("POST", "faults", {"service": "login-node", "times": None})
    admin("POST", "settings", {"time_scale": 30})
    known = deployed.ssm.describe_instance_information()["InstanceInformationList"]
    assert [(item["InstanceId"], item["PingStatus"]) for item in known] == [(instance_id, "ConnectionLost")]
    answer = deployed.invocation(deployed.send("true"))
    assert (answer["Status"], answer["StatusDetails"]) == ("TimedOut", "Delivery Timed Out")
    admin("DELETE", "faults")
    assert deployed.on_login_node("echo back") == "back\n"


def test_ssm_can_be_made_to_throttle(deployed: PcsWorld, admin: Admin) -> None:
    admin("POST", "faults", {"service": "ssm", "action": "SendCommand", "error_code": "ThrottlingException"})
    once = Config(retries={"total_max_attempts": 1})
    client = deployed.session.client("ssm", config=once)
    with pytest.raises(ClientError, match="ThrottlingException"):
        client.send_command(DocumentName="AWS-RunShellScript", InstanceIds=["i-00000000000000000"])


def test_instances_without_an_agent_are_no_place_for_commands(deployed: PcsWorld) -> None:
    static = deployed.instances(deployed.output("StaticGroupId"))[0]["InstanceId"]
    for instance_id in (static, "i-00000000000000000"):
        with pytest.raises(ClientError) as refusal:
            deployed.ssm.send_command(
                DocumentName="AWS-RunShellScript",
                InstanceIds=[instance_id],
                Parameters={"commands": ["true"]},
            )
        assert refusal.value.response["Error"]["Code"] == "InvalidInstanceId"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"DocumentName": "AWS-RunPowerShellScript"}, "InvalidDocument"),
        ({"Parameters": {"commands": ["true"], "user": ["ubuntu"]}}, "InvalidParameters"),
        ({"Parameters": {}}, "InvalidParameters"),
    ],
)
def test_what_ssm_would_not_take_is_refused(deployed: PcsWorld, changes: dict[str, Any], code: str) -> None:
    request = {
        "DocumentName": "AWS-RunShellScript",
        "InstanceIds": [deployed.login_instance()],
        "Parameters": {"commands": ["true"]},
        **changes,
    }
    with pytest.raises(ClientError) as refusal:
        deployed.ssm.send_command(**request)
    assert refusal.value.response["Error"]["Code"] == code


def test_parameters_are_still_there(deployed: PcsWorld) -> None:
    deployed.ssm.put_parameter(Name="/kit/word", Value="x", Type="String")
    assert deployed.ssm.get_parameter(Name="/kit/word")["Parameter"]["Value"] == "x"
