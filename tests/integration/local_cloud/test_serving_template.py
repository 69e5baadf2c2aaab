"""A serving fleet on the local cloud: really created, described with the template's properties, updated, gone."""

from __future__ import annotations

import boto3
import pytest

from scripts.local_cloud.cloudformation.template import parse
from tests.integration.local_cloud.describe import differences, remains, stack_resources
from tests.integration.local_cloud.describe_serving import SERVING_READERS
from tests.integration.local_cloud.serving_world import BODY, ServingWorld

pytestmark = [pytest.mark.local_cloud, pytest.mark.xdist_group("local_cloud")]


@pytest.fixture
def fleet(session: boto3.Session) -> ServingWorld:
    return ServingWorld(session)


def test_a_fleet_is_created_updated_in_place_and_gone_after_the_delete(
    fleet: ServingWorld, session: boto3.Session
) -> None:
    template = parse(BODY)
    assert fleet.create() == "CREATE_COMPLETE", fleet.failures()
    assert {one["Type"] for one in template["Resources"].values()} >= set(SERVING_READERS)
    # Parameters of conditions are not resolved by the comparison: the first deploy starts nothing.
    template["Resources"]["Svc"]["Properties"]["DesiredCount"] = 0
    found = differences(template, "fleet", session)
    assert not found, "\n".join(found)
    changed = (
        BODY.replace(
            "Weight: 0}\n              - {TargetGroupArn: !Ref WakerTg",
            "Weight: 9}\n              - {TargetGroupArn: !Ref WakerTg",
        )
        .replace('MaxSize: "4"', 'MaxSize: "6"')
        .replace("MaxCapacity: 4\n", "MaxCapacity: 6\n")
        .replace('Value: "300"}', 'Value: "900"}')
        .replace("Timeout: 30", "Timeout: 20")
        .replace("cron(0 7 ? * MON-FRI *)", "cron(30 6 ? * MON-FRI *)")
        .replace("TargetCapacity: 100", "TargetCapacity: 90")
        .replace("HealthCheckIntervalSeconds: 10", "HealthCheckIntervalSeconds: 15")
        .replace("MinimumHealthyPercent: 0", "MinimumHealthyPercent: 50")
        .replace("StopTimeout: 600", "StopTimeout: 700")
    )
    before = {one.logical_id: one.physical_id for one in stack_resources("fleet", session)}
    assert fleet.update(changed, FirstDeploy="false") == "UPDATE_COMPLETE", fleet.failures()
    template = parse(changed)
    template["Resources"]["Svc"]["Properties"].pop("DesiredCount")
    found = differences(template, "fleet", session)
    assert not found, "\n".join(found)
    after = stack_resources("fleet", session)
    # Only a task definition is never changed.
    assert {one.logical_id for one in after if before[one.logical_id] != one.physical_id} == {"Task"}
    assert fleet.service()["desiredCount"] == 0, "what is not in the template is left alone"
    assert fleet.delete() == "DELETE_COMPLETE", fleet.failures()
    assert remains(after, session) == []
