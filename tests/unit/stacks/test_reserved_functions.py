"""The rule about Lambda's limit counts what the stacks really reserve."""

from __future__ import annotations

import pytest

from stacks.domain.rules.live_functions import controllers
from tests.fleet_plans import FLEET_PLANS
from tests.synthesized import plans, resources, template

pytestmark = [pytest.mark.node, pytest.mark.xdist_group("cdk")]


@pytest.mark.parametrize("plan_name", [name for name in FLEET_PLANS if name != "fleet-unresolved"])
def test_each_function_with_a_reservation_is_a_controller_of_the_plan(plan_name: str) -> None:
    plan = plans()[plan_name]
    reserved = {
        (stack, id_): body["Properties"]["ReservedConcurrentExecutions"]
        for stack in plan.stacks.all
        for id_, body in resources(template(plan_name, stack), "AWS::Lambda::Function").items()
        if "ReservedConcurrentExecutions" in body["Properties"]
    }
    assert reserved == {(one.stack, one.logical_id): 1 for one in controllers(plan)}
