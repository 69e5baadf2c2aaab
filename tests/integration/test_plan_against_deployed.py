"""`plan --against deployed` beside a real deploy on the local cloud: nothing there, the same, and a changed file."""

from __future__ import annotations

import pytest

from tests.integration.conftest import PilotFactory

pytestmark = [pytest.mark.local_cloud, pytest.mark.node, pytest.mark.xdist_group("plan_against_deployed")]


def test_a_plan_against_what_is_deployed(new_pilot: PilotFactory) -> None:
    pilot = new_pilot("trn1-first-hour")
    pilot.run("lock")
    before = pilot.json("plan", "--against", "deployed")["against_deployed"]
    assert (before["deployed_stacks"], before["cost_deployed"]) == ([], None)

    pilot.run("deploy", "--yes")
    same = pilot.json("plan", "--against", "deployed")
    assert same["against_deployed"]["changes"] == []
    assert same["against_deployed"]["deployed_stacks"] == pilot.stacks
    assert same["against_deployed"]["cost_deployed"]["usd_per_hour"] == same["cost"]["usd_per_hour"]

    text = pilot.file.read_text()
    pilot.file.write_text(
        text.replace("root_volume_gib: 128", "root_volume_gib: 256").replace("10.42.0.0", "10.43.0.0")
    )
    changed = pilot.json("plan", "--against", "deployed")
    changes = {c["logical_id"]: c["change"] for c in changed["against_deployed"]["changes"]}
    assert (changes["Vpc"], changes["NatGateway"]) == ("replaced", "replaced")
    assert changes["LaunchTemplate"] == "changed in place"
    assert "Bucket" not in changes
    deployed, planned = changed["against_deployed"]["cost_deployed"], changed["cost"]
    more_usd_per_hour = planned["usd_per_hour"] - deployed["usd_per_hour"]
    assert more_usd_per_hour == pytest.approx(128 * 0.08 / 730, abs=2e-4)
    pilot.run("destroy", "--yes")
