"""The requests to AWS Batch: valid by botocore's model, within Batch's limits, and not what went wrong elsewhere."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator

from stacks.domain.catalog import load_catalog
from stacks.domain.errors import InputError
from stacks.domain.lock import Lock, LockedImage
from stacks.domain.names import CONTENT_TAG, ENVIRONMENT_TAG
from stacks.domain.plan import Plan
from stacks.domain.render.batch import ClusterOutputs, Request, Run, job_definition, submit_request
from stacks.domain.render.node_bootstrap import ECS_STOP_SECONDS
from stacks.domain.render.node_user_data import AGENT_SETTINGS
from tests.environments import plan_of

SHA256 = "ab" * 32
DIGEST = "sha256:" + "cd" * 32
OUTPUTS = ClusterOutputs(
    bucket="pilot-bucket",
    job_queue_arn="arn:aws:batch:us-east-2:111122223333:job-queue/pilot",
    job_role_arn="arn:aws:iam::111122223333:role/job",
    execution_role_arn="arn:aws:iam::111122223333:role/execution",
    log_group="/neuronkit/pilot/train",
)
SECRET = "arn:aws:secretsmanager:us-east-2:111122223333:secret:token-AbCdEf"
SIZES = [("trn1.2xlarge", 1), ("trn1.32xlarge", 4), ("trn2.48xlarge", 4)]
FRAMEWORKS = ["jax", "torch-neuronx"]
everything = pytest.mark.parametrize(
    ("instance_type", "nodes", "framework"),
    [(*size, framework) for size in SIZES for framework in FRAMEWORKS],
)


def plan_for(instance_type: str, nodes: int, framework: str = "jax", **job: Any) -> Plan:
    changes = {f"jobs.smoke.{name}": value for name, value in job.items()}
    return plan_of(
        {
            "clusters.train.instance_type": instance_type,
            "clusters.train.nodes": nodes,
            "jobs.smoke.framework": framework,
            **changes,
        }
    )


def definition_of(plan: Plan, sha256: str = SHA256, outputs: ClusterOutputs = OUTPUTS) -> Request:
    return job_definition(plan, plan.job("smoke"), sha256, outputs)


def container_of(definition: Request) -> Request:
    container: Request = definition["nodeProperties"]["nodeRangeProperties"][0]["container"]
    return container


def problems(operation: str, request: Request) -> str:
    model = botocore.session.get_session().get_service_model("batch")
    report: str = (
        ParamValidator().validate(request, model.operation_model(operation).input_shape).generate_report()
    )
    return report


@everything
def test_botocore_accepts_both_requests(instance_type: str, nodes: int, framework: str) -> None:
    plan = plan_for(instance_type, nodes, framework, secrets={"TOKEN": SECRET})
    run = Run("smoke-20261130-1", "s3://b/runs/smoke/x/checkpoints", 20)
    assert problems("RegisterJobDefinition", definition_of(plan)) == ""
    assert problems("SubmitJob", submit_request(plan, plan.job("smoke"), run, "arn", OUTPUTS)) == ""


def test_the_validator_is_strict_enough_to_see_a_mistake() -> None:
    definition = definition_of(plan_of())
    container_of(definition)["sharedMemory"] = 1
    assert "sharedMemory" in problems("RegisterJobDefinition", definition)


@everything
def test_one_range_covers_all_nodes(instance_type: str, nodes: int, framework: str) -> None:
    properties = definition_of(plan_for(instance_type, nodes, framework))["nodeProperties"]
    assert [r["targetNodes"] for r in properties["nodeRangeProperties"]] == [f"0:{nodes - 1}"]
    assert (properties["numNodes"], properties["mainNode"]) == (nodes, 0)


def test_a_job_smaller_than_its_cluster() -> None:
    properties = definition_of(plan_of({"jobs.smoke.nodes": 2}))["nodeProperties"]
    assert (properties["numNodes"], properties["nodeRangeProperties"][0]["targetNodes"]) == (2, "0:1")


@pytest.mark.parametrize(
    ("instance_type", "nodes", "chips", "efa"),
    [
        ("trn1.2xlarge", 1, 1, 0),
        ("trn1.32xlarge", 4, 16, 8),
        ("trn1n.32xlarge", 4, 16, 16),
        ("trn2.48xlarge", 4, 16, 16),
    ],
)
def test_every_chip_and_every_efa_device_is_mapped(
    instance_type: str, nodes: int, chips: int, efa: int
) -> None:
    """Field lesson P-48: with EFA on, the Neuron devices vanished; or only uverbs0 was mapped; no memlock, no shm."""
    container = container_of(definition_of(plan_for(instance_type, nodes)))
    devices = container["linuxParameters"]["devices"]
    expected = [f"/dev/neuron{i}" for i in range(chips)] + [f"/dev/infiniband/uverbs{i}" for i in range(efa)]
    assert [device["hostPath"] for device in devices] == expected
    assert all(device["containerPath"] == device["hostPath"] for device in devices)
    assert all(device["permissions"] == ["READ", "WRITE", "MKNOD"] for device in devices)
    assert container["linuxParameters"]["sharedMemorySize"] > 0
    assert {"name": "memlock", "softLimit": -1, "hardLimit": -1} in container["ulimits"]
    assert container["privileged"] is False


@everything
def test_memory_is_less_than_the_host_can_give(instance_type: str, nodes: int, framework: str) -> None:
    """Field lesson P-49: 508,416 MiB of a 512 GiB host stayed RUNNABLE for ever; 507,821 were there."""
    container = container_of(definition_of(plan_for(instance_type, nodes, framework)))
    wanted = {r["type"]: int(r["value"]) for r in container["resourceRequirements"]}
    host = load_catalog().instance_types[instance_type]
    assert wanted["VCPU"] == host.vcpus
    assert host.memory_gib * 1024 * 0.5 < wanted["MEMORY"] <= host.memory_gib * 1024 * 0.96
    assert container["linuxParameters"]["sharedMemorySize"] < wanted["MEMORY"]


@pytest.mark.parametrize("nodes", [1, 5, 6, 64])
def test_the_number_of_nodes_is_said_once(nodes: int) -> None:
    """Field lessons P-49 (more than 5 nodes refused) and P-53 (NUM_NODES exported and ignored)."""
    plan = plan_for("trn1.32xlarge", nodes)
    definition = definition_of(plan)
    assert definition["nodeProperties"]["numNodes"] == nodes
    assert len(definition["nodeProperties"]["nodeRangeProperties"]) == 1
    override = submit_request(plan, plan.job("smoke"), Run("r"), "arn", OUTPUTS)["nodeOverrides"]
    assert "numNodes" not in override
    ranges = [r["targetNodes"] for r in definition["nodeProperties"]["nodeRangeProperties"]]
    assert [o["targetNodes"] for o in override["nodePropertyOverrides"]] == ranges


def test_the_image_is_named_by_its_digest() -> None:
    uri = plan_of().job("smoke").image.uri  # type: ignore[union-attr]
    lock = Lock(resolved_by="aws", region="us-east-2", images={uri: LockedImage(digest=DIGEST)})
    plan = plan_of(lock=lock)
    image = container_of(definition_of(plan))["image"]
    assert image == f"{uri.rpartition(':')[0]}@{DIGEST}"


def test_secrets_go_by_reference() -> None:
    """Field lesson P-53: a token in plain text."""
    plan = plan_of({"jobs.smoke.secrets": {"HF_TOKEN": SECRET}, "jobs.smoke.environment": {"MODE": "fast"}})
    container = container_of(definition_of(plan))
    assert container["secrets"] == [{"name": "HF_TOKEN", "valueFrom": SECRET}]
    assert "HF_TOKEN" not in {variable["name"] for variable in container["environment"]}


def test_variables_of_the_definition_are_sorted_and_not_batchs_own() -> None:
    names = [variable["name"] for variable in container_of(definition_of(plan_of()))["environment"]]
    assert names == sorted(names)
    assert not [name for name in names if name.startswith("AWS_BATCH")]
    assert {"AWS_REGION", "AWS_DEFAULT_REGION", "NEURONKIT_PACKAGE_KEY", "NEURONKIT_PACKAGE_SHA256"} == set(
        names
    )


def test_attempts_time_limit_logs_and_roles() -> None:
    definition = definition_of(plan_of({"jobs.smoke.attempts": 3, "jobs.smoke.time_limit_minutes": 1}))
    container = container_of(definition)
    assert definition["retryStrategy"] == {"attempts": 3}
    assert definition["timeout"] == {"attemptDurationSeconds": 60}  # Batch's minimum
    assert definition["propagateTags"] is True
    assert (container["jobRoleArn"], container["executionRoleArn"]) == (
        OUTPUTS.job_role_arn,
        OUTPUTS.execution_role_arn,
    )
    assert container["logConfiguration"] == {
        "logDriver": "awslogs",
        "options": {
            "awslogs-group": OUTPUTS.log_group,
            "awslogs-region": "us-east-2",
            "awslogs-stream-prefix": "smoke",
        },
    }


@pytest.mark.parametrize(
    "other",
    [
        {"jobs.smoke.attempts": 2},
        {"jobs.smoke.nodes": 2},
        {"tags": {"team": "a"}},
        {"clusters.train.instance_type": "trn1n.32xlarge"},
    ],
)
def test_the_content_tag_tells_definitions_apart(other: dict[str, Any]) -> None:
    first, again, different = (
        definition_of(plan_of()),
        definition_of(plan_of()),
        definition_of(plan_of(other)),
    )
    assert first == again
    assert first["tags"][CONTENT_TAG] != different["tags"][CONTENT_TAG]
    assert re.fullmatch("[0-9a-f]{64}", first["tags"][CONTENT_TAG])


def test_the_content_tag_covers_package_and_outputs() -> None:
    plan = plan_of()
    tags = {
        definition_of(plan)["tags"][CONTENT_TAG],
        definition_of(plan, sha256="cd" * 32)["tags"][CONTENT_TAG],
        definition_of(plan, outputs=dataclasses.replace(OUTPUTS, log_group="other"))["tags"][CONTENT_TAG],
    }
    assert len(tags) == 3


def test_awkward_text_arrives_as_it_is() -> None:
    tags = {"note": 'a "quoted" \\ <b>', "ort": "Zürich 'Süd'"}
    assert definition_of(plan_of({"tags": tags}))["tags"].items() >= tags.items()


def test_a_run_is_found_again_by_its_name() -> None:
    plan = plan_of()
    request = submit_request(plan, plan.job("smoke"), Run("smoke-1"), "arn:definition", OUTPUTS)
    environment = request["nodeOverrides"]["nodePropertyOverrides"][0]["containerOverrides"]["environment"]
    assert request["jobName"] == "smoke-1"
    assert (request["jobQueue"], request["jobDefinition"]) == (OUTPUTS.job_queue_arn, "arn:definition")
    assert request["tags"] == {ENVIRONMENT_TAG: "pilot", "neuronkit:job": "smoke", "neuronkit:run": "smoke-1"}
    assert {v["name"]: v["value"] for v in environment} == {
        "NEURONKIT_BUCKET": "pilot-bucket",
        "NEURONKIT_RUN_ID": "smoke-1",
        "NEURONKIT_RUN_PREFIX": "runs/smoke/smoke-1",
    }


def test_a_run_that_resumes() -> None:
    plan = plan_of()
    run = Run("smoke-2", "s3://pilot-bucket/runs/smoke/smoke-1/checkpoints", 0)
    request = submit_request(plan, plan.job("smoke"), run, "arn", OUTPUTS)
    environment = request["nodeOverrides"]["nodePropertyOverrides"][0]["containerOverrides"]["environment"]
    found = {v["name"]: v["value"] for v in environment}
    assert found["NEURONKIT_RESUME_FROM"] == "s3://pilot-bucket/runs/smoke/smoke-1/checkpoints"
    assert found["NEURONKIT_RESUME_STEP"] == "0"


@everything
def test_the_requests_are_far_below_batchs_limits(instance_type: str, nodes: int, framework: str) -> None:
    definition = definition_of(plan_for(instance_type, nodes, framework))
    assert len(json.dumps(definition)) < 12 * 1024


def test_a_definition_that_batch_would_refuse_for_its_size_is_an_error_of_ours() -> None:
    plan = plan_of({"tags": {f"tag-{i}": "x" * 256 for i in range(40)}, "jobs.smoke.secrets": secrets(60)})
    with pytest.raises(InputError, match=r"the job definition of smoke has \d+ bytes; AWS Batch takes 24576"):
        definition_of(plan)


def secrets(count: int) -> dict[str, str]:
    return {f"SECRET_{i}": f"{SECRET}{'x' * 120}{i}" for i in range(count)}


def test_a_job_without_an_image_is_an_error() -> None:
    plan = plan_of()
    job = dataclasses.replace(plan.job("smoke"), image=None)
    with pytest.raises(InputError, match="no container image"):
        job_definition(plan, job, SHA256, OUTPUTS)


def test_nodes_give_a_stopped_job_the_time_that_its_bootstrap_counts_on() -> None:
    assert dict(AGENT_SETTINGS)["ECS_CONTAINER_STOP_TIMEOUT"] == f"{ECS_STOP_SECONDS // 60}m"
