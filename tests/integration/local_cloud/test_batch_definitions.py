"""Job definitions: refused as Batch refuses them, and described as they were registered."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.local_cloud.batch_world import BatchWorld

pytestmark = [pytest.mark.local_cloud, pytest.mark.xdist_group("local_cloud")]


def node_properties(
    world: BatchWorld, ranges: list[str], num_nodes: int = 4, main_node: int = 0
) -> dict[str, Any]:
    container = world.container("true")
    properties = [{"targetNodes": item, "container": container} for item in ranges]
    return {"numNodes": num_nodes, "mainNode": main_node, "nodeRangeProperties": properties}


@pytest.mark.parametrize("ranges", [["0:3"], ["0:"], [":3"], ["0", "1:3"], ["0:1", "2:"], ["2:3", "0:1"]])
def test_ranges_that_cover_every_node_once_are_taken(world: BatchWorld, ranges: list[str]) -> None:
    properties = node_properties(world, ranges)
    answer = world.batch.register_job_definition(
        jobDefinitionName="d", type="multinode", nodeProperties=properties
    )
    found = world.batch.describe_job_definitions(jobDefinitions=[answer["jobDefinitionArn"]])[
        "jobDefinitions"
    ]
    assert found[0]["nodeProperties"] == properties


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        (["0:1"], "do not cover node 2"),
        (["1:3"], "do not cover node 0"),
        (["0:2", "2:3"], "overlap at node 2"),
        (["0:3", "0:3"], "overlap"),
        (["0:4"], "exceeds the number of nodes"),
        (["3:0"], "ends before it begins"),
        (["all"], "is not valid"),
        ([":"], "is not valid"),
        (["0-3"], "is not valid"),
        (["0", "1", "2", "3", "3:", "0:"], "between 1 and 5"),
    ],
)
def test_ranges_that_do_not_are_refused(world: BatchWorld, ranges: list[str], message: str) -> None:
    with pytest.raises(world.batch.exceptions.ClientException, match=message):
        world.batch.register_job_definition(
            jobDefinitionName="d", type="multinode", nodeProperties=node_properties(world, ranges)
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mainNode": 4}, "mainNode must be between 0 and 3"),
        ({"numNodes": 0}, "numNodes"),
    ],
)
def test_node_counts_are_checked(world: BatchWorld, change: dict[str, int], message: str) -> None:
    properties = node_properties(world, ["0:3"]) | change
    with pytest.raises(world.batch.exceptions.ClientException, match=message):
        world.batch.register_job_definition(
            jobDefinitionName="d", type="multinode", nodeProperties=properties
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image": ""}, "image cannot be null or empty"),
        ({"resourceRequirements": [{"type": "VCPU", "value": "1"}]}, "MEMORY"),
        ({"environment": [{"name": "AWS_BATCH_JOB_ID", "value": "x"}]}, "cannot start with AWS_BATCH"),
        ({"linuxParameters": {"devices": [{"hostPath": "neuron0"}]}}, "must be absolute"),
    ],
)
def test_containers_are_checked(world: BatchWorld, change: dict[str, Any], message: str) -> None:
    with pytest.raises(world.batch.exceptions.ClientException, match=message):
        world.register("d", world.container("true") | change)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout": {"attemptDurationSeconds": 59}}, "at least 60"),
        ({"retryStrategy": {"attempts": 11}}, "between 1 and 10"),
    ],
)
def test_limits_are_checked_at_registration_and_submission(
    world: BatchWorld, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(world.batch.exceptions.ClientException, match=message):
        world.register("d", world.container("true"), **options)
    definition = world.register("d", world.container("true"))
    with pytest.raises(world.batch.exceptions.ClientException, match=message):
        world.submit(definition, **options)


def test_revisions_are_counted_and_an_inactive_one_takes_no_jobs(world: BatchWorld) -> None:
    first = world.register("twice", world.container("true"), tags={"part": "one"})
    second = world.register("twice", world.container("true"))
    assert (first[-2:], second[-2:]) == (":1", ":2")
    world.batch.deregister_job_definition(jobDefinition=second)
    with pytest.raises(world.batch.exceptions.ClientException, match="not ACTIVE"):
        world.submit(second)
    active = world.batch.describe_job_definitions(jobDefinitionName="twice", status="ACTIVE")[
        "jobDefinitions"
    ]
    assert [(item["revision"], item["tags"]) for item in active] == [(1, {"part": "one"})]
    inactive = world.batch.describe_job_definitions(status="INACTIVE")["jobDefinitions"]
    assert [item["jobDefinitionArn"] for item in inactive] == [second]
    assert world.run("twice")["jobDefinition"] == first


def test_submission_is_refused_for_what_does_not_exist_or_does_not_fit(world: BatchWorld) -> None:
    refused = world.batch.exceptions.ClientException
    definition = world.register_nodes("d", 2, world.container("true"))
    with pytest.raises(refused, match="does not exist"):
        world.submit("nothing")
    with pytest.raises(refused, match="does not exist"):
        world.submit(definition, "no-queue")
    with pytest.raises(refused, match="no node range"):
        world.submit(definition, nodeOverrides={"nodePropertyOverrides": [{"targetNodes": "0:0"}]})
    with pytest.raises(refused, match="containerOverrides"):
        world.submit(definition, containerOverrides={"command": ["true"]})
    closed = world.make_queue("closed", world.environment, state="DISABLED")
    with pytest.raises(refused, match="not in ENABLED state"):
        world.submit(definition, closed)


def test_the_number_of_nodes_can_be_overridden_only_for_open_ranges(world: BatchWorld) -> None:
    open_ended = world.batch.register_job_definition(
        jobDefinitionName="open", type="multinode", nodeProperties=node_properties(world, ["0:"])
    )["jobDefinitionArn"]
    job = world.run(open_ended, nodeOverrides={"numNodes": 2})
    assert job["nodeProperties"]["numNodes"] == 2
    closed = world.register_nodes("closed", 2, world.container("true"))
    with pytest.raises(world.batch.exceptions.ClientException, match="cover"):
        world.submit(closed, nodeOverrides={"numNodes": 3})


def test_jobs_are_listed_by_state_and_by_name(world: BatchWorld) -> None:
    queue = world.make_queue("listed", world.environment)
    definition = world.register("d", world.container("true"))
    for name in ("train-a", "train-b", "other"):
        world.run(definition, queue=queue, jobName=name)
    listed = world.batch.list_jobs(jobQueue=queue, jobStatus="SUCCEEDED")["jobSummaryList"]
    assert {item["jobName"] for item in listed} == {"train-a", "train-b", "other"}
    assert world.batch.list_jobs(jobQueue=queue)["jobSummaryList"] == []
    by_name = [{"name": "JOB_NAME", "values": ["train-*"]}]
    listed = world.batch.list_jobs(jobQueue=queue, filters=by_name)["jobSummaryList"]
    assert {item["jobName"] for item in listed} == {"train-a", "train-b"}


def test_tags_are_kept_and_found_by_the_tagging_api(world: BatchWorld) -> None:
    definition = world.register("d", world.container("true"), tags={"kit": "pilot"})
    world.batch.tag_resource(resourceArn=world.queue, tags={"kit": "pilot", "more": "x"})
    world.batch.untag_resource(resourceArn=world.queue, tagKeys=["more"])
    assert world.batch.list_tags_for_resource(resourceArn=world.queue)["tags"] == {"kit": "pilot"}
    by_tag = [{"Key": "kit", "Values": ["pilot"]}]
    found = world.session.client("resourcegroupstaggingapi").get_resources(TagFilters=by_tag)
    assert {item["ResourceARN"] for item in found["ResourceTagMappingList"]} == {definition, world.queue}
