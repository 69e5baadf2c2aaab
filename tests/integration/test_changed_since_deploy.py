"""A file that has changed since its deploy: what is said goes by what is deployed."""

from __future__ import annotations

import pytest

from tests.integration.pilots import Pilot

pytestmark = [pytest.mark.local_cloud, pytest.mark.node, pytest.mark.xdist_group("changed_since_deploy")]


def test_launch_and_status_go_by_the_deployed_nodes_and_block(pilot: Pilot) -> None:
    undeployed = pilot.run("launch", "smoke", code=3).stderr
    assert "pilot is not deployed" in undeployed
    assert f"run `neuronkit --local deploy {pilot.file}` first" in undeployed
    pilot.run("deploy", "--yes")
    (small,) = pilot.client("ec2").describe_capacity_reservations()["CapacityReservations"]

    grown = pilot.file.read_text().replace("    nodes: 4\n", "    nodes: 8\n")
    assert grown.count("nodes: 8\n") == 1
    pilot.file.write_text(grown)
    refused = pilot.run("launch", "smoke", code=3).stderr
    assert "takes 4 nodes, the job asks for 8" in refused
    assert f"`neuronkit --local deploy {pilot.file}` first, the file has 8" in refused
    status = pilot.json("status")
    assert status["runs"] == []
    assert (
        f"{small['CapacityReservationId']} active, 4 of 4 instances free" in status["clusters"][0]["capacity"]
    )

    pilot.run("deploy", "--yes")
    (large,) = (
        found["CapacityReservationId"]
        for found in pilot.client("ec2").describe_capacity_reservations()["CapacityReservations"]
        if found["TotalInstanceCount"] == 8
    )
    (cluster,) = pilot.json("status")["clusters"]
    assert f"{large} active, 8 of 8 instances free" in cluster["capacity"]
    assert small["CapacityReservationId"] not in cluster["capacity"]
