"""Asking everything at once: each refusal stays with its question, and the slowest answer is the wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from scripts import live_facts
from scripts.aws.cloudformation import Stack, StackResource
from scripts.aws.translation import AccessDeniedError, AwsError, ThrottledError, UnreachableError
from scripts.console import Console
from scripts.live_facts import ask, collect
from stacks.domain.catalog import load_catalog
from stacks.domain.errors import KitError, WorldError
from stacks.domain.live import (
    NOT_ASKED,
    BlockHealth,
    CouldNotAsk,
    LambdaConcurrency,
    LiveFacts,
    LiveStack,
    LiveZone,
    QuotaLimit,
    VpcDns,
)
from stacks.domain.lock import Lock, LockedAmi
from stacks.domain.plan import make_plan
from tests.environments import changed, loaded
from tests.live_answers import (
    AS_OF,
    BALANCER_SUBNETS,
    BLOCK,
    BROUGHT,
    BROUGHT_FOR_FLEETS,
    GROUP,
    RESERVATION_ID,
    SUBNET,
    VPC,
    acl,
    ami,
    block,
    default_group,
    gateway,
    group,
    subnet,
)
from tests.unit.domain import fleet_cases
from tests.unit.scripts.fakes import a_cloud, a_stack

TRN = "L-2C3B7624"
EVERYTHING = {**BROUGHT, **BLOCK, "capacity.spare": {"kind": "on-demand"}, "clusters.more": {"scheduler": "batch", "instance_type": "trn1.2xlarge", "nodes": 1, "capacity": "spare"}}  # fmt: skip
Fakes = dict[str, Callable[..., Any]]


def stacks(cloud: Any) -> tuple[Stack, ...]:
    return (a_stack("pilot-storage"), a_stack("pilot-network", tags={}), a_stack("pilot-2-network"))


ANSWERS: Fakes = {
    "ec2_offerings.zones": lambda cloud: (LiveZone("use2-az3", "available"),),
    "ec2_offerings.offered_zone_ids": lambda cloud, types: {name: frozenset() for name in types},
    "ec2_offerings.running_on_demand": lambda cloud, families, environment: (),
    "ec2_offerings.unused_reservations": lambda cloud, families: (),
    "ec2_offerings.find_ami": lambda cloud, id_: ami(id=id_),
    "ec2_networks.find_subnet": lambda cloud, id_, environment: subnet(id=id_),
    "ec2_networks.find_acl": lambda cloud, id_: acl(),
    "ec2_networks.find_group": lambda cloud, id_: group(),
    "ec2_networks.find_default_group": lambda cloud, vpc: default_group(),
    "ec2_networks.find_endpoints": lambda cloud, vpc: (gateway(),),
    "ec2_networks.dns_of_vpc": lambda cloud, vpc: VpcDns(support=True, hostnames=True),
    "service_quotas.ec2_limit": lambda cloud, code: QuotaLimit(128, False),
    "cloudformation.all_stacks": stacks,
    "capacity_blocks.find_reservation": lambda cloud, id_: block(),
    "capacity_blocks.with_block": lambda cloud, found: block(interconnect="impaired", unavailable=2),
    "iam.role_exists": lambda cloud, role: True,
    "ssm.find_parameter": lambda cloud, name: "ami-00000000000000009",
    "bootstrap_version": lambda cloud, qualifier: 30,
}


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[[Fakes], None]:
    def replace(fakes: Fakes) -> None:
        for name, fake in fakes.items():
            module, _, function = name.rpartition(".")
            owner = getattr(live_facts, module) if module else live_facts
            monkeypatch.setattr(owner, function, fake)

    replace(ANSWERS)
    return replace


def collected(changes: dict[str, Any] | None = None, lock: Lock | None = None) -> LiveFacts:
    environment = loaded(changed(changes or {})).environment
    plan = make_plan(environment, lock, load_catalog())
    return collect(a_cloud(), environment, plan, load_catalog(), AS_OF)


def test_everything_that_the_plan_needs_is_asked_and_nothing_else(answers: Any) -> None:
    facts = collected(EVERYTHING)
    assert facts.as_of == AS_OF
    assert facts.quota_limits == {TRN: QuotaLimit(128, False)}
    assert facts.reservations == {RESERVATION_ID: block()}
    assert facts.blocks == {RESERVATION_ID: BlockHealth("impaired", 2)}
    assert set(facts.subnets) == {SUBNET}
    assert facts.acls == {SUBNET: acl()}
    assert set(facts.security_groups) == {GROUP, VPC}
    assert facts.endpoints == (gateway(),)
    assert facts.vpc_dns == VpcDns(support=True, hostnames=True)
    assert facts.service_roles == {"AWSServiceRoleForBatch": True}
    small = collected()
    assert (small.reservations, small.blocks, small.subnets, small.security_groups) == ({}, {}, {}, {})
    assert small.endpoints is small.vpc_dns is NOT_ASKED


def test_the_load_balancers_subnets_are_asked_for_where_there_are_fleets(answers: Any) -> None:
    assert set(collected({**BROUGHT_FOR_FLEETS, **fleet_cases.fleet()}).subnets) == {
        SUBNET,
        *BALANCER_SUBNETS,
    }
    assert set(collected(BROUGHT_FOR_FLEETS).subnets) == {SUBNET}


def test_an_endpoint_that_is_not_reached_is_not_tried_for_minutes(answers: Any) -> None:
    seen: list[int] = []
    answers({"ec2_offerings.zones": lambda cloud: seen.append(cloud.attempts) or ()})
    collected()
    assert seen == [4]
    assert a_cloud().attempts == 8


def test_only_stacks_of_our_names_are_looked_at(answers: Any) -> None:
    assert collected().stacks == (
        LiveStack("pilot-storage", "CREATE_COMPLETE", "pilot"),
        LiveStack("pilot-network", "CREATE_COMPLETE", None),
    )


def test_the_locked_ami_is_asked_for_and_without_a_lock_the_parameter_s(answers: Any) -> None:
    ((reference, found),) = collected().amis.items()
    assert found == ami(id="ami-00000000000000009")
    lock = Lock(
        resolved_by="aws",
        region="us-east-2",
        amis={reference: LockedAmi(id="ami-00000000000000001", root_device_name="/dev/xvda")},
    )
    assert collected(lock=lock).amis == {reference: ami(id="ami-00000000000000001")}
    answers({"ssm.find_parameter": lambda cloud, name: None})
    assert collected().amis == {reference: None}


def refuse_with(error: KitError) -> Callable[..., Any]:
    def refuse(*arguments: object, **more: object) -> Any:
        raise error

    return refuse


REFUSALS = [
    AccessDeniedError("not allowed: ec2:DescribeThings in us-east-2", "add it"),
    ThrottledError("AWS throttled ec2:DescribeThings"),
    UnreachableError("no connection to ec2 in us-east-2"),
    AwsError("region us-east-2 is not enabled in this account"),
    WorldError("Service Quotas has no value"),
]


@pytest.mark.parametrize("error", REFUSALS)
@pytest.mark.parametrize("name", [name for name in ANSWERS if name != "ssm.find_parameter"])
def test_a_refusal_stays_with_its_question(answers: Any, name: str, error: KitError) -> None:
    before = collected(EVERYTHING)
    answers({name: refuse_with(error)})
    after = collected(EVERYTHING)
    differing = [f for f in LiveFacts.__dataclass_fields__ if getattr(before, f) != getattr(after, f)]
    assert len(differing) in (1, 2)
    for field in differing:
        answer = getattr(after, field)
        found = list(answer.values()) if isinstance(answer, dict) else [answer]
        assert CouldNotAsk(error.message) in found


CONTROLLERS = {**fleet_cases.ALONE, **fleet_cases.fleet(fallback=fleet_cases.GPU)}
FLEET_STACK = "pilot-fleet-chat"


def function_in(*statuses: str) -> Callable[..., Any]:
    """Of the fleet's controller; of its waker it is another one's."""

    def resources(cloud: Any, stack: str) -> tuple[StackResource, ...]:
        assert stack == FLEET_STACK
        kind = "AWS::Lambda::Function"
        waker = StackResource("WakerFunction", "w", kind, "CREATE_COMPLETE", "")
        return (waker, *(StackResource("FallbackFunction", "f", kind, status, "") for status in statuses))

    return resources


@pytest.mark.parametrize(
    ("statuses", "is_there"),
    [
        ((), False),
        (("CREATE_COMPLETE",), True),
        (("UPDATE_COMPLETE",), True),
        (("DELETE_FAILED",), True),
        (("CREATE_FAILED",), False),
        (("DELETE_COMPLETE",), False),
    ],
)
def test_lambdas_limit_is_asked_for_where_a_controller_reserves_of_it(
    answers: Any, statuses: tuple[str, ...], is_there: bool
) -> None:
    limit = LambdaConcurrency(1_000, 999)
    answers(
        {
            "lambda_functions.concurrency": lambda cloud: limit,
            "cloudformation.resources": function_in(*statuses),
        }
    )
    facts = collected(CONTROLLERS)
    assert (facts.lambda_concurrency, facts.controllers) == (limit, {FLEET_STACK: is_there})
    without = collected()
    assert (without.lambda_concurrency, without.controllers) == (NOT_ASKED, {})


@pytest.mark.parametrize("error", REFUSALS)
def test_a_refusal_of_lambda_stays_with_its_question(answers: Any, error: KitError) -> None:
    answers({"lambda_functions.concurrency": refuse_with(error), "cloudformation.resources": function_in()})
    facts = collected(CONTROLLERS)
    assert facts.lambda_concurrency == CouldNotAsk(error.message)
    assert facts.controllers == {FLEET_STACK: False}


def test_a_bug_of_ours_is_not_taken_for_a_refusal(answers: Any) -> None:
    answers({"iam.role_exists": lambda cloud, role: 1 / 0})
    with pytest.raises(ZeroDivisionError):
        collected()


def test_questions_do_not_wait_for_each_other(answers: Any) -> None:
    """Every one of them is open at the same time: each waits until all have been asked."""
    open_now = threading.Barrier(9, timeout=20)

    def waiting(name: str) -> Callable[..., Any]:
        def fake(*arguments: object) -> Any:
            open_now.wait()
            return ANSWERS[name](*arguments)

        return fake

    asked = [
        "ec2_offerings.zones", "ec2_offerings.offered_zone_ids", "ec2_offerings.running_on_demand", "ec2_offerings.unused_reservations",
        "ec2_offerings.find_ami", "service_quotas.ec2_limit", "cloudformation.all_stacks", "iam.role_exists", "bootstrap_version",
    ]  # fmt: skip
    answers({name: waiting(name) for name in asked})
    started = time.monotonic()
    facts = collected()
    assert time.monotonic() - started < 15
    assert facts.bootstrap_version == 30


def test_without_credentials_every_answer_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    error = WorldError("no AWS credentials were found", "run aws configure")
    monkeypatch.setattr(live_facts, "open_cloud", refuse_with(error))
    environment = loaded(changed({})).environment
    asked = ask(Console(), environment, make_plan(environment, None, load_catalog()))
    assert asked.error is error
    assert asked.facts.zones == asked.facts.otherwise == CouldNotAsk("no AWS credentials were found")
