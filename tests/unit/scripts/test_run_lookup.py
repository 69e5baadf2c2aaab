"""Where a run is, and what is said of what has none."""

from __future__ import annotations

import pytest

from scripts import run_lookup
from scripts.run_lookup import find_run
from stacks.domain.errors import InputError
from tests import synthesized
from tests.unit.scripts.fakes import a_cloud, a_stack

PLAN = next(plan for plan in synthesized.plans().values() if plan.fleets and not plan.clusters)
FLEET = PLAN.fleets[0].name


@pytest.mark.parametrize("name", [FLEET, "smoke-1"])
@pytest.mark.parametrize("is_local", [False, True])
def test_the_log_of_a_fleet_is_named(name: str, is_local: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = a_stack(PLAN.stacks.of_fleet(FLEET), outputs={"LogGroupName": "/neuronkit/pilot/chat"})
    monkeypatch.setattr(run_lookup.cloudformation, "find_stack", lambda cloud, name: stack)
    cloud = a_cloud(local=is_local)
    with pytest.raises(InputError) as caught:
        find_run(cloud, PLAN, name, "ssm")
    assert caught.value.message == f"{FLEET} has no runs: fleets serve, and log to CloudWatch"
    assert f"`aws logs tail /neuronkit/pilot/chat --follow --region {cloud.region}`" in caught.value.hint
    assert ("the local cloud runs no containers" in caught.value.hint) == is_local


def test_a_fleet_that_is_not_deployed_has_no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_lookup.cloudformation, "find_stack", lambda cloud, name: None)
    with pytest.raises(InputError) as caught:
        find_run(a_cloud(), PLAN, FLEET, "ssm")
    assert caught.value.hint == f"fleet {FLEET} is not deployed: `neuronkit deploy FILE`"
