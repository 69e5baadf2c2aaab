"""What `plan` says of fleets: sizes, times, starts from their parts, and nothing that nobody knows."""

from __future__ import annotations

from typing import Any

import pytest

from stacks.domain.catalog import load_catalog
from stacks.domain.cost import Cost, estimate
from stacks.domain.fleet_report import fleet_document, fleet_text
from stacks.domain.live import LiveFacts
from stacks.domain.plan import Plan
from stacks.domain.plan_report import DEFINITIONS_STAY, TASK_DEFINITIONS_STAY, kept_after_destroy, plan_text
from stacks.domain.quotas import needed_vcpus
from stacks.domain.timeline import timeline
from tests.environments import plan_of
from tests.unit.domain.fleet_cases import ALONE, BLOCK, GPU, RESERVED, encoder, fleet, inf1, large, trn2

INF, TRN, GPUS = "L-1945791B", "L-2C3B7624", "L-DB2E81BA"


def alone(changes: dict[str, Any], **more: Any) -> Plan:
    return plan_of({**ALONE, **changes, **more})


def document(changes: dict[str, Any]) -> dict[str, Any]:
    return fleet_document(alone(changes).fleet("chat"))


def cost(changes: dict[str, Any], **more: Any) -> Cost:
    return estimate(alone(changes, **more), load_catalog())


def lines(found: Cost) -> dict[str, tuple[float | None, str]]:
    return {line.what: (line.quantity, line.paid.value) for line in found.lines}


def events(changes: dict[str, Any], **more: Any) -> dict[str, str]:
    return {event["at"]: event["what"] for event in timeline(alone(changes, **more), LiveFacts())}


def test_replicas_are_said_as_asked_and_as_whole_nodes_hold() -> None:
    found = document(large(replicas={"minimum": 1, "maximum": 4}))
    assert (found["replicas_minimum"], found["replicas_maximum"]) == (1, 4)
    assert (found["replicas_minimum_rounded"], found["replicas_maximum_rounded"]) == (3, 6)
    assert (found["nodes_minimum"], found["nodes_maximum"], found["replicas_per_node"]) == (1, 2, 3)
    text = "\n".join(fleet_text(alone(large(replicas={"minimum": 1, "maximum": 4})).fleet("chat")))
    assert "1 to 4 replicas, rounded up to 3 to 6" in text
    assert "devices 0-3 on port 8080; devices 4-7 on port 8081; devices 8-11 on port 8082" in text


def test_idle_chips_are_said() -> None:
    found = document(fleet(instance_type="inf2.24xlarge", tensor_parallel=8))
    assert found["chips_idle_per_node"] == 2
    assert "2 chips of each node idle" in plan_text_of(
        fleet(instance_type="inf2.24xlarge", tensor_parallel=8)
    )


def plan_text_of(changes: dict[str, Any]) -> str:
    plan = alone(changes)
    return plan_text(plan, estimate(plan, load_catalog()), load_catalog())


def test_the_pair_of_image_and_driver_is_inf2s_undisputed_one() -> None:
    found = document(fleet())
    assert found["sdk"] == "2.28.0"
    assert found["ami"]["driver"] == "2.26"


def test_inf1_gets_the_driver_that_its_ami_installs_at_boot() -> None:
    found = document(inf1())
    assert (found["sdk"], found["ami"]["driver"]) == ("2.20.2", "2.21")


def test_managed_instances_have_no_ami_that_anybody_knows() -> None:
    assert document(fleet(runs_on="managed-instances"))["ami"] is None
    assert "not published" in plan_text_of(fleet(runs_on="managed-instances"))


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        (fleet(), {"pull and load"}),
        (fleet(compile_on="start"), {"pull and load", "compile"}),
        (fleet(artifacts="none"), {"pull and load", "compile"}),
    ],
)
def test_a_start_is_the_sum_of_its_parts_each_with_its_source(
    changes: dict[str, Any], parts: set[str]
) -> None:
    found = document(changes)
    assert {part["what"] for part in found["start"]} == {*parts, "instance boot and ECS registration"}
    assert all(part["source"] and part["as_of"] for part in found["start"])
    assert found["times"]["start_high"] == sum(part["high_seconds"] for part in found["start"])
    text = plan_text_of(changes)
    assert all(part["source"] in text for part in found["start"])


def test_dollars_per_million_tokens_are_unknown_and_said_so() -> None:
    found = document(fleet(fallback=GPU))
    assert found["usd_per_million_tokens"] is None
    assert found["fallback"]["usd_per_million_tokens"] is None
    assert "dollars per million tokens: unknown" in plan_text_of(fleet())


def test_the_least_nodes_are_paid_always_and_the_others_while_they_run() -> None:
    found = lines(cost(fleet(replicas={"minimum": 2, "maximum": 5})))
    assert found["fleet chat: 2 x inf2.8xlarge, on-demand"] == (2, "always")
    assert found["fleet chat, above its minimum: 3 x inf2.8xlarge, on-demand"] == (3, "while nodes run")


def test_a_fleet_at_zero_costs_no_nodes() -> None:
    found = cost(fleet(replicas={"minimum": 0, "maximum": 2}, scale_to_zero={}))
    assert "fleet chat: 2 x inf2.8xlarge, on-demand" in lines(found)
    assert not [line for line in found.lines if line.paid.value == "always" and "inf2" in line.what]


def test_a_reservation_is_paid_whether_replicas_run_or_not() -> None:
    found = lines(cost(fleet(replicas={"minimum": 1, "maximum": 3}), **RESERVED))
    assert found["fleet chat: 3 x inf2.8xlarge, reservation"] == (3, "always")


def test_a_block_is_one_fee() -> None:
    found = lines(cost(trn2(), **BLOCK))
    assert [what for what in found if "trn2.48xlarge" in what] == [
        "capacity hourly: the fee of a block for 1 x trn2.48xlarge"
    ]


def test_both_sides_and_what_lies_around_them_have_lines() -> None:
    found = lines(cost(fleet(fallback={**GPU, "replicas_minimum": 1, "replicas_maximum": 2})))
    assert found["fleet chat, GPU fallback: 1 x g6e.xlarge, on-demand"] == (1, "always")
    assert found["fleet chat, GPU fallback, above its minimum: 1 x g6e.xlarge, on-demand"][0] == 1
    assert found["fleet chat: load balancer, without its use"] == (1, "always")
    assert found["fleet chat: the kit's own metrics (CloudWatch), while replicas run"] == (8, "by use")
    for what in (
        "use of the load balancers (capacity units)",
        "wakers and controllers (Lambda)",
        "data in the shared file system (EFS)",
    ):
        assert found[what] == (None, "by use")


def test_a_fleet_without_functions_and_files_has_no_lines_of_them() -> None:
    found = lines(cost(fleet(artifacts="none")))
    assert not [what for what in found if "Lambda" in what or "EFS" in what]


def test_a_public_load_balancer_has_an_address_in_two_zones() -> None:
    found = lines(cost(fleet(listener={"public": True, "open_without_authentication": "a demonstration"})))
    assert found["fleet chat: public IPv4 addresses of the load balancer"] == (2, "always")


def test_quotas_count_the_most_of_every_family() -> None:
    plan = plan_of(fleet(replicas={"maximum": 3}, fallback={**GPU, "replicas_maximum": 2}))
    assert needed_vcpus(plan, load_catalog()) == {INF: 3 * 32, TRN: 4 * 128, GPUS: 2 * 4}


def test_spot_has_a_quota_of_its_own() -> None:
    plan = alone(fleet(capacity="cheap"), **{"capacity.cheap": {"kind": "spot"}})
    assert needed_vcpus(plan, load_catalog()) == {"L-B5D1601B": 32}


def test_a_block_is_charged_to_no_quota() -> None:
    assert needed_vcpus(alone(trn2(), **BLOCK), load_catalog()) == {}


def test_the_timeline_has_the_compile_before_the_first_start() -> None:
    found = events(fleet())
    assert "on a paid node of the fleet, about 15 to 60 min" in found["first start of chat"]
    assert "answers after about 4 to 20 min" in found["then"]
    assert "without chips" in events(trn2(compile_on="cpu"))["first start of chat"]
    assert "then" not in events(fleet(compile_on="start"))


def test_the_timeline_has_wakes_and_their_price_in_time() -> None:
    found = events(
        encoder(replicas={"minimum": 0, "maximum": 2}, scale_to_zero={"idle_minutes": 45}), budget_usd=5000
    )
    assert "15 min more" in found["chat: 45 min without a request"]
    assert "answers in about" in found["chat: first request after that"]
    assert found["deploy"] == "stacks are made; nodes start only with a request"


def test_an_update_of_one_node_is_a_gap() -> None:
    assert "nobody answers on Neuron" in events(fleet())["update of chat"]
    assert "update of chat" not in events(fleet(replicas={"minimum": 2, "maximum": 2}))


def test_what_destroy_leaves_depends_on_what_there_is() -> None:
    assert TASK_DEFINITIONS_STAY in kept_after_destroy(alone(fleet()))
    assert DEFINITIONS_STAY not in kept_after_destroy(alone(fleet()))
    assert TASK_DEFINITIONS_STAY not in kept_after_destroy(plan_of())
    assert DEFINITIONS_STAY in kept_after_destroy(plan_of(fleet()))
