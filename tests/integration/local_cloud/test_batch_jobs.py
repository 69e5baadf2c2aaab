"""Jobs run as processes with exactly what their definition gives."""

from __future__ import annotations

import json
import sys
import time

import pytest

from tests.integration.local_cloud.batch_world import BatchWorld

pytestmark = [pytest.mark.local_cloud, pytest.mark.xdist_group("local_cloud")]

SHOW_ENVIRONMENT = "import json, os; print(json.dumps(dict(os.environ)), flush=True)"
BATCH_VARIABLES = {"AWS_BATCH_JOB_ID", "AWS_BATCH_JOB_ATTEMPT", "AWS_BATCH_JQ_NAME", "AWS_BATCH_CE_NAME"}
NODE_VARIABLES = {"AWS_BATCH_JOB_NODE_INDEX", "AWS_BATCH_JOB_NUM_NODES", "AWS_BATCH_JOB_MAIN_NODE_INDEX"}


def test_each_node_has_the_variables_that_batch_documents(world: BatchWorld) -> None:
    definition = world.register_nodes(
        "shows",
        3,
        world.container(
            "python3",
            "-c",
            SHOW_ENVIRONMENT + "; import time; time.sleep(1)",
            environment=[{"name": "A", "value": "1"}],
        ),
    )
    job = world.run(definition)
    assert (job["status"], job["statusReason"]) == ("SUCCEEDED", "Essential container in task exited")
    nodes = [world.job(f"{job['jobId']}#{index}") for index in range(3)]
    seen = [json.loads(world.log(node)[0]) for node in nodes]
    for index, environment in enumerate(seen):
        batch = {name for name in environment if name.startswith("AWS_BATCH_")}
        expected = BATCH_VARIABLES | NODE_VARIABLES
        if index:
            expected |= {"AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"}
        assert batch == expected
        assert environment["AWS_BATCH_JOB_ID"] == f"{job['jobId']}#{index}"
        assert environment["AWS_BATCH_JOB_NODE_INDEX"] == str(index)
        assert environment["AWS_BATCH_JOB_NUM_NODES"] == "3"
        assert environment["AWS_BATCH_JQ_NAME"] == "kit-queue"
        assert environment["AWS_BATCH_CE_NAME"] == "kit-env"
        assert environment["A"] == "1"
        assert not {"USER", "LOGNAME", "VIRTUAL_ENV", "PYTEST_CURRENT_TEST"} & set(environment)
    addresses = [node["container"]["networkInterfaces"][0]["privateIpv4Address"] for node in nodes]
    assert {environment.get("AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS") for environment in seen[1:]} == {
        addresses[0]
    }
    if sys.platform == "linux":
        assert len(set(addresses)) == 3


def test_children_of_a_multi_node_job_are_listed_and_described(world: BatchWorld) -> None:
    definition = world.register_nodes(
        "kids",
        2,
        world.container("sh", "-c", "[ $AWS_BATCH_JOB_NODE_INDEX = 1 ] || sleep 1"),
        tags={"part": "x"},
    )
    job = world.run(definition)
    summaries = world.batch.list_jobs(multiNodeJobId=job["jobId"])["jobSummaryList"]
    assert [item["jobId"] for item in summaries] == [f"{job['jobId']}#0", f"{job['jobId']}#1"]
    assert [item["nodeProperties"]["isMainNode"] for item in summaries] == [True, False]
    child = world.job(f"{job['jobId']}#1")
    assert child["nodeDetails"] == {"nodeIndex": 1, "isMainNode": False}
    assert child["container"]["exitCode"] == 0
    assert child["container"]["logStreamName"].startswith("kids/default/")
    assert child["startedAt"] <= child["stoppedAt"]
    assert job["nodeProperties"]["numNodes"] == 2
    assert job["startedAt"] <= job["stoppedAt"]


def test_devices_secrets_and_overrides_come_from_the_definition_and_the_submission(world: BatchWorld) -> None:
    ssm = world.session.client("ssm")
    ssm.put_parameter(Name="/kit/token", Type="SecureString", Value="from-ssm")
    secrets = world.session.client("secretsmanager")
    arn = secrets.create_secret(Name="kit", SecretString='{"password": "from-asm"}')["ARN"]
    devices = [{"hostPath": "/dev/neuron0"}, {"hostPath": "/dev/infiniband/uverbs0", "permissions": ["READ"]}]
    container = world.container(
        "sh",
        "-c",
        'echo "$TOKEN $PASSWORD $A $B"; cd "$NEURONKIT_DEVICE_ROOT"; find . -type f | sort; pwd; echo "$0" "$1"',
        "Ref::first",
        "Ref::unknown",
        environment=[{"name": "A", "value": "definition"}, {"name": "B", "value": "definition"}],
        secrets=[
            {"name": "TOKEN", "valueFrom": "/kit/token"},
            {"name": "PASSWORD", "valueFrom": f"{arn}:password::"},
        ],
        linuxParameters={"devices": devices},
    )
    definition = world.register_nodes("gives", 1, container, parameters={"first": "default"})
    overrides = {"environment": [{"name": "B", "value": "submission"}]}
    job = world.run(
        definition,
        parameters={"first": "given"},
        nodeOverrides={"nodePropertyOverrides": [{"targetNodes": "0:0", "containerOverrides": overrides}]},
    )
    lines = world.log(world.job(f"{job['jobId']}#0"))
    assert lines[:3] == ["from-ssm from-asm definition submission", "./infiniband/uverbs0", "./neuron0"]
    assert lines[4] == "given Ref::unknown"


def test_output_reaches_the_log_while_the_job_runs(world: BatchWorld) -> None:
    world.session.client("logs").create_log_group(logGroupName="/kit/jobs")
    log = {
        "logDriver": "awslogs",
        "options": {"awslogs-group": "/kit/jobs", "awslogs-stream-prefix": "train"},
    }
    definition = world.register(
        "live", world.container("sh", "-c", "echo out; echo err >&2; sleep 20", logConfiguration=log)
    )
    job_id = world.submit(definition)
    job = world.wait(job_id, "RUNNING")
    deadline = time.monotonic() + 5
    while world.log(job, "/kit/jobs") != ["out", "err"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert job["container"]["logStreamName"].startswith("train/default/")
    world.batch.terminate_job(jobId=job_id, reason="seen enough")
    ended = world.wait(job_id)
    assert (ended["status"], ended["statusReason"], ended["isTerminated"]) == ("FAILED", "seen enough", True)
    assert ended["container"]["exitCode"] == 143


def test_a_node_finds_its_address_in_the_task_metadata_and_uses_aws_of_its_account(world: BatchWorld) -> None:
    account = world.session.client("sts").get_caller_identity()["Account"]
    script = (
        "import json, os, urllib.request, boto3;"
        "task = json.load(urllib.request.urlopen(os.environ['ECS_CONTAINER_METADATA_URI_V4'] + '/task'));"
        "print(task['Containers'][0]['Networks'][0]['IPv4Addresses'][0]);"
        "print(boto3.client('sts').get_caller_identity()['Account'], boto3.client('s3').meta.region_name)"
    )
    job = world.run(world.register_nodes("asks", 1, world.container("python3", "-c", script)))
    node = world.job(f"{job['jobId']}#0")
    address = node["container"]["networkInterfaces"][0]["privateIpv4Address"]
    assert world.log(node) == [address, f"{account} us-west-2"]


def test_dependencies_are_waited_for(world: BatchWorld) -> None:
    good, bad = (
        world.register("good", world.container("true")),
        world.register("bad", world.container("false")),
    )
    first = world.submit(good)
    second = world.submit(good, dependsOn=[{"jobId": first}])
    assert world.wait(second)["status"] == "SUCCEEDED"
    failing = world.submit(bad)
    third = world.wait(world.submit(good, dependsOn=[{"jobId": failing}]))
    assert (third["status"], third["statusReason"]) == ("FAILED", "Dependent Job failed")
