"""Jobs on UltraServers under AWS Batch, on the local cloud, whose Batch numbers nodes in an order of its own."""

from __future__ import annotations

import re

import pytest

from tests.integration.conftest import PilotFactory
from tests.integration.pilots import Pilot
from tests.integration.test_main_job import losses

pytestmark = [pytest.mark.local_cloud, pytest.mark.node, pytest.mark.xdist_group("ultraserver_job")]

PLACE = re.compile(r"^\[(\d+)\] neuronkit\[\?\] UltraServer ([0-9a-f]{16}), node (\d) of 4, mode 1$")
RANK = re.compile(r"^\[(\d+)\] neuronkit\[\1\] node (\d+) of AWS Batch is rank \1$")
SHORT_AND_BY_THE_HOUR = {
    "    kind: capacity-block        # paid up front for a fixed time; it cannot be cancelled\n": "    kind: on-demand\n",
    '"60", --checkpoint-every, "20"': '"12", --checkpoint-every, "6"',
    "    id: null                    # cr-… once you bought it: `deploy` refuses until then\n": "",
}
TO_ULTRASERVERS = {
    "region: us-east-2": "region: ap-south-2",
    "zone_id: use2-az3": "zone_id: aps2-az1",
    "instance_type: trn2.48xlarge ": "instance_type: trn2u.48xlarge ",
}


def of_eight_nodes(make: PilotFactory, changes: dict[str, str], name: str, region: str) -> Pilot:
    pilot = make(name=name, bootstrapped=False)
    text = pilot.file.read_text()
    for old, new in {**SHORT_AND_BY_THE_HOUR, "    nodes: 4\n": "    nodes: 8\n", **changes}.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    pilot.file.write_text(text)
    made = Pilot(pilot.cloud, pilot.directory, name, pilot.account, region)
    made.run("bootstrap")
    return made


@pytest.fixture
def members(new_pilot: PilotFactory) -> Pilot:
    return of_eight_nodes(new_pilot, TO_ULTRASERVERS, "pilot", "ap-south-2")


def test_ranks_follow_two_ultraservers_and_the_losses_are_those_of_nodes_in_order(
    members: Pilot, new_pilot: PilotFactory
) -> None:
    members.run("deploy", "--yes")
    members.run("launch", "smoke", "--follow")
    lines = members.json("logs", "smoke-1")["lines"]
    places = {int(m[1]): (m[2], int(m[3])) for line in lines if (m := PLACE.match(line))}
    indices = {int(m[1]): int(m[2]) for line in lines if (m := RANK.match(line))}
    assert sorted(places, key=lambda rank: places[rank]) == list(range(8))
    assert sorted(indices) == sorted(indices.values()) == list(range(8))
    assert indices[0] != 0
    assert [len({places[rank][0] for rank in range(first, first + 4)}) for first in (0, 4)] == [1, 1]
    of_rank_0 = members.json("logs", "smoke-1", "--node", "0")["lines"]
    assert any("neuronkit[0] node 0 of 8, main node" in line for line in of_rank_0)
    assert any("step 12/12" in line for line in of_rank_0)

    plain = of_eight_nodes(new_pilot, {}, "plain", "us-east-2")
    plain.run("deploy", "--yes")
    plain.run("launch", "smoke", "--follow")
    assert losses(members, "smoke-1") == losses(plain, "smoke-1")
    assert sorted(losses(members, "smoke-1")) == list(range(1, 13))


def test_a_broken_ultraserver_is_refused_and_its_missing_node_named(members: Pilot) -> None:
    members.run("deploy", "--yes")
    members.admin("POST", "faults", {"service": "neuron-driver", "action": "PlaceNode"})
    done = members.run("launch", "smoke", "--follow", code=4)
    assert re.search(
        r"UltraServer [0-9a-f]{16} lacks node 3 of 4; there are 0: node-\d \(127\.", done.stdout + done.stderr
    )
    assert "node 0: exit code 78" in done.stdout + done.stderr
    members.admin("POST", "faults", {"service": "neuron-driver", "action": "FormUltraServer"})
    again = members.run("launch", "smoke", "--follow", code=4)
    assert (
        "the driver offers the UltraServer modes 4 (X1); groups of 4 nodes need 1 (X4)"
        in again.stdout + again.stderr
    )
    members.run("launch", "smoke", "--follow")
