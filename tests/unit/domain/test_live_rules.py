"""One table: every rule over AWS's answers, with answers it must find fault with, and answers it must let pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from stacks.domain.catalog import load_catalog
from stacks.domain.findings import Finding, NotChecked, Severity, in_words
from stacks.domain.live import (
    BlockHealth,
    CouldNotAsk,
    LambdaConcurrency,
    LiveFacts,
    LiveStack,
    LiveZone,
    QuotaLimit,
    RunningNodes,
    VpcDns,
    unanswered,
)
from stacks.domain.plan import Plan, make_plan
from stacks.domain.rules import LIVE_RULES, not_checked, run_live_rules
from tests.environments import changed, loaded, plan_of
from tests.live_answers import (
    AS_OF,
    BLOCK,
    BROUGHT,
    BROUGHT_FOR_FLEETS,
    RESERVATION_ID,
    RESERVED,
    ami,
    as_assumed,
    block,
    entry,
    in_order,
    reservation,
)
from tests.unit.domain import fleet_cases, network_cases, node_image_cases, shift_cases, slurm_cases

TRN = "L-2C3B7624"
INF = "L-1945791B"
TYPE = "clusters.train.instance_type"
NODES = "clusters.train.nodes"
ID = "capacity.hourly.id"
ONE_TRN2 = {TYPE: "trn2.48xlarge", NODES: 1}
INF2 = {
    "scheduler": "batch",
    "instance_type": "inf2.xlarge",
    "nodes": 1,
    "capacity": "hourly",
}

Answers = dict[str, Any]
Case = tuple[dict[str, Any], Answers]
"""Changes to the file, and changes to the answers of an account in order. AMI answers are for every AMI of the plan."""


def limit(vcpus: int, code: str = TRN) -> Answers:
    return {"quota_limits": {code: QuotaLimit(vcpus, False)}}


def running(instance_type: str, count: int, *, ours: bool = False, vcpus: int | None = None) -> Answers:
    return {"running": (RunningNodes(instance_type, count, ours, vcpus),)}


def found(answer: Any) -> Answers:
    return {"reservations": {RESERVATION_ID: answer}}


def health(interconnect: str, unavailable: int | None = None) -> Answers:
    return {"blocks": {RESERVATION_ID: BlockHealth(interconnect, unavailable)}}


def stack(environment: str | None, status: str = "CREATE_COMPLETE") -> Answers:
    return {"stacks": (LiveStack("pilot-storage", status, environment),)}


TRN3 = {TYPE: "trn3.48xlarge", "clusters.train.shape": "trn3-gen1", "clusters.train.logical_core_size": 2}


def ec2_says(**more: Any) -> Answers:
    """Of the file's own type; the rest is as its shape gives it."""
    (cluster,) = plan_of(TRN3).clusters
    return {"instance_types": {"trn3.48xlarge": as_assumed(cluster, **more)}}


def zone_offers(*zone_ids: str) -> Answers:
    return {"offered_zone_ids": {"trn1.32xlarge": frozenset(zone_ids)}}


def concurrency(limit: int, unreserved: int) -> Answers:
    return {"lambda_concurrency": LambdaConcurrency(limit, unreserved)}


FALLBACK = fleet_cases.fleet(fallback=fleet_cases.GPU)
SHIFT = shift_cases.day()
TWO_CONTROLLERS = {**SHIFT, "fleets.chat": {**SHIFT["fleets.chat"], "fallback": fleet_cases.GPU}}

# id -> (answers that it finds fault with, and where; answers that it lets pass)
TABLE: dict[str, tuple[list[tuple[Case, str]], list[Case]]] = {
    "NK301": (
        [(({}, {"zones": (LiveZone("use2-az1", "available"),)}), "network.zone_id")],
        [({}, {})],
    ),
    "NK302": (
        [
            (({}, zone_offers("use2-az1", "use2-az2")), TYPE),
            (({}, zone_offers()), TYPE),
        ],
        [({}, {}), ({}, zone_offers("use2-az1", "use2-az3")), ({}, {"offered_zone_ids": {}})],
    ),
    "NK303": (
        [(({}, {"zones": (LiveZone("use2-az3", state),)}), "network.zone_id") for state in ("impaired", "unavailable", "constrained", "melting")],
        [({}, {"zones": (LiveZone("use2-az3", "information"), LiveZone("use2-az1", "impaired"))})],
    ),
    "NK304": ([((TRN3, {"instance_types": {"trn3.48xlarge": None}}), TYPE)], [({}, {}), (TRN3, {})]),
    "NK305": (
        [((TRN3, ec2_says(**said)), "clusters.train.shape") for said in ({"vcpus": 128}, {"memory_gib": 1024.0}, {"network_cards": 8}, {"efa_interfaces": 8})],
        [({}, {}), (TRN3, {}), (TRN3, ec2_says(vcpus=None, memory_gib=None, network_cards=None, efa_interfaces=None)), (TRN3, {"instance_types": {"trn3.48xlarge": None}})],
    ),
    "NK310": (
        [
            (({}, limit(0)), NODES),
            (({}, limit(511)), NODES),
            ((ONE_TRN2, limit(12)), NODES),
            (({}, {**limit(640), **running("trn1.32xlarge", 2)}), NODES),
            (({}, {**limit(512), "unused_reservations": (RunningNodes("trn2.3xlarge", 1, False, None),)}), NODES),
            (({}, {**limit(519), **running("trn9.huge", 1, vcpus=8), "running": (RunningNodes("trn1.2xlarge", 1, False, None),)}), NODES),
            (({}, {**limit(511), "running": CouldNotAsk("no")}), NODES),
        ],
        [
            ({}, limit(512)),
            ({}, {**limit(640), **running("trn1.32xlarge", 1)}),
            ({}, {**limit(512), **running("trn1.32xlarge", 4, ours=True)}),
            ({}, {**limit(512), **running("inf2.48xlarge", 100)}),
            ({}, {**limit(512), **running("t3.large", 100, vcpus=2)}),
            (BLOCK, limit(0)),
            (RESERVED, limit(0)),
            ({}, {"quota_limits": {TRN: QuotaLimit(512, True)}}),
        ],
    ),
    "NK320": ([((RESERVED, found(None)), ID)], [(RESERVED, {}), (BLOCK, {}), ({}, {"reservations": {}})]),
    "NK321": (
        [
            ((RESERVED, found(reservation(state=state))), ID)
            for state in ("expired", "cancelled", "cancelling", "failed", "payment-failed", "unsupported", "unavailable")
        ]
        + [((BLOCK, found(block(launch_status="unlaunchable"))), ID)],
        [
            (RESERVED, {}),
            (BLOCK, found(block(state="scheduled"))),
            (BLOCK, found(block(state="payment-pending"))),
            (BLOCK, found(block(launch_status="launchable"))),
        ],
    ),
    "NK322": (
        [
            ((BLOCK, found(block(state=state, start=AS_OF + timedelta(days=2), end=AS_OF + timedelta(days=3)))), ID)
            for state in ("scheduled", "payment-pending", "pending", "assessing", "delayed")
        ]
        + [((BLOCK, found(block(state="payment-pending", start=None, end=None))), ID)],
        [(BLOCK, {}), (RESERVED, {})],
    ),
    "NK323": (
        [((RESERVED, found(reservation(zone_id="use2-az1"))), ID), ((BLOCK, found(block(zone_id="use2-az2"))), ID)],
        [(RESERVED, {}), (RESERVED, found(reservation(zone_id="")))],
    ),
    "NK324": (
        [((RESERVED, found(reservation(instance_type="trn1.2xlarge"))), ID)],
        [(RESERVED, {}), (RESERVED, found(reservation(instance_type="")))],
    ),
    "NK325": (
        [((BLOCK, found(block(total=2, available=2))), ID), ((RESERVED, found(reservation(total=3, available=3))), ID)],
        [(BLOCK, found(block(total=8))), (BLOCK, {})],
    ),
    "NK326": (
        [((BLOCK, found(reservation())), ID), ((RESERVED, found(block())), ID)],
        [(BLOCK, {}), (RESERVED, {}), (RESERVED, found(reservation(kind="")))],
    ),
    "NK327": (
        [
            ((RESERVED, found(reservation(tenancy="dedicated"))), ID),
            ((RESERVED, found(reservation(platform="Windows"))), ID),
            ((BLOCK, found(block(platform="Red Hat Enterprise Linux"))), ID),
        ],
        [(RESERVED, {}), (RESERVED, found(reservation(tenancy="", platform="")))],
    ),
    "NK328": ([((BLOCK, health("impaired")), ID)], [(BLOCK, health("ok")), (BLOCK, health("insufficient-data")), (BLOCK, health(""))]),
    "NK329": ([((RESERVED, found(reservation(state="hibernating"))), ID)], [(RESERVED, {}), (BLOCK, found(block(state="scheduled")))]),
    "NK330": (
        [
            ((BLOCK, found(block(end=AS_OF + timedelta(minutes=59)))), ID),
            ((BLOCK, found(block(end=AS_OF + timedelta(minutes=89), ultraserver_type="u-x"))), ID),
            ((BLOCK, found(block(end=AS_OF - timedelta(minutes=1)))), ID),
            ((RESERVED, found(reservation(end=AS_OF + timedelta(minutes=29)))), ID),
        ],
        [
            (BLOCK, found(block(end=AS_OF + timedelta(minutes=60)))),
            (BLOCK, found(block(end=AS_OF + timedelta(minutes=90), ultraserver_type="u-x"))),
            (RESERVED, found(reservation(end=AS_OF + timedelta(minutes=30)))),
            (BLOCK, found(block(state="scheduled", start=AS_OF + timedelta(days=1), end=AS_OF + timedelta(days=2)))),
            (RESERVED, {}),
        ],
    ),
    "NK331": ([((RESERVED, found(reservation(available=3))), ID)], [(RESERVED, {}), (BLOCK, found(block(state="scheduled", available=0)))]),
    "NK332": ([((BLOCK, health("ok", 1)), ID)], [(BLOCK, health("ok", 0)), (BLOCK, health("ok")), (BLOCK, {**health("ok", 1), **found(block(total=5))})]),
    "NK340": ([(({}, {"ami": None}), "clusters.train"), (({"software.ami": "ami-0123456789abcdef0"}, {"ami": None}), "software.ami")], [({}, {})]),
    "NK341": (
        [(({}, {"ami": ami(state=state)}), "clusters.train") for state in ("pending", "invalid", "deregistered", "failed", "disabled", "gone")],
        [({}, {}), ({}, {"ami": ami(state="")})],
    ),
    "NK342": ([(({}, {"ami": ami(architecture="arm64")}), "clusters.train")], [({}, {}), ({}, {"ami": ami(architecture="")})]),
    "NK343": (
        [(({"clusters.train.root_volume_gib": 64}, {"ami": ami(root_snapshot_gib=65)}), "clusters.train.root_volume_gib")],
        [({"clusters.train.root_volume_gib": 64}, {"ami": ami(root_snapshot_gib=64)}), ({}, {"ami": ami(root_snapshot_gib=None)})],
    ),
    "NK344": ([(({}, {"ami": ami(root_device_name="/dev/sda1")}), "clusters.train")], [({}, {}), ({}, {"ami": ami(root_device_name="")})]),
    "NK345": (
        [
            (({}, {"ami": ami(deprecated_at=AS_OF - timedelta(days=1))}), "clusters.train"),
            (({}, {"ami": ami(deprecated_at=AS_OF + timedelta(days=7))}), "clusters.train"),
        ],
        [({}, {"ami": ami(deprecated_at=AS_OF + timedelta(days=8))}), ({}, {})],
    ),
    "NK360": (
        [(({}, stack(None)), "name"), (({}, stack("pilot-2")), "name")],
        [({}, {}), ({}, stack("pilot")), ({}, stack(None, "REVIEW_IN_PROGRESS"))],
    ),
    "NK361": (
        [(({}, {"bootstrap_version": None}), "region"), (({}, {"bootstrap_version": 5}), "region")],
        [({}, {"bootstrap_version": 6})],
    ),
    "NK362": ([(({}, {"service_roles": {"AWSServiceRoleForBatch": False}}), "clusters.train.scheduler")], [({}, {})]),
    "NK792": (
        [
            ((FALLBACK, concurrency(10, 10)), "fleets.chat.fallback"),
            ((FALLBACK, concurrency(100, 100)), "fleets.chat.fallback"),
            ((SHIFT, concurrency(1_000, 100)), "shifts.day"),
            ((TWO_CONTROLLERS, concurrency(101, 101)), "fleets.chat.fallback"),
            ((TWO_CONTROLLERS, {**concurrency(101, 100), "controllers": {"pilot-fleet-chat": True, "pilot-shift-day": False}}), "shifts.day"),
        ],
        [
            ({}, concurrency(10, 10)),
            (FALLBACK, concurrency(101, 101)),
            (TWO_CONTROLLERS, concurrency(102, 102)),
            (TWO_CONTROLLERS, {**concurrency(102, 101), "controllers": {"pilot-fleet-chat": True, "pilot-shift-day": False}}),
            (TWO_CONTROLLERS, {**concurrency(12, 10), "controllers": {"pilot-fleet-chat": True, "pilot-shift-day": True}}),
            (FALLBACK, {"lambda_concurrency": CouldNotAsk("no")}),
            (FALLBACK, {**concurrency(10, 10), "controllers": {"pilot-fleet-chat": CouldNotAsk("no")}}),
        ],
    ),
    **network_cases.LIVE_CASES,
    **slurm_cases.LIVE_CASES,
    **node_image_cases.LIVE_CASES,
}  # fmt: skip
FLEET, FLEET_ID = {**fleet_cases.ALONE, **fleet_cases.fleet()}, "capacity.hourly.id"
RESERVED_FLEET = {**FLEET, **RESERVED}
GPU_FLEET = {**fleet_cases.ALONE, **fleet_cases.fallback()}
FURTHER: dict[str, tuple[list[tuple[Case, str]], list[Case]]] = {
    "NK302": (
        [
            ((FLEET, {"offered_zone_ids": {"inf2.8xlarge": frozenset({"use2-az1"})}}), "fleets.chat.instance_type"),
            ((GPU_FLEET, {"offered_zone_ids": {"g6e.xlarge": frozenset({"use2-az1"})}}), "fleets.chat.fallback.instance_type"),
        ],
        [(FLEET, {}), (GPU_FLEET, {})],
    ),
    "NK310": (
        [((FLEET, limit(31, INF)), "fleets.chat.replicas")],
        [(FLEET, limit(32, INF)), (RESERVED_FLEET, limit(0, INF))],
    ),
    "NK320": ([((RESERVED_FLEET, found(None)), FLEET_ID)], [(RESERVED_FLEET, found(reservation(instance_type="inf2.8xlarge")))]),
    "NK324": ([((RESERVED_FLEET, found(reservation(instance_type="inf2.48xlarge"))), FLEET_ID)], [(RESERVED_FLEET, found(reservation(instance_type="inf2.8xlarge")))]),
    "NK325": ([((RESERVED_FLEET, found(reservation(total=0))), FLEET_ID)], [(RESERVED_FLEET, found(reservation(total=1)))]),
    "NK340": ([((FLEET, {"ami": None}), "fleets.chat")], [(FLEET, {})]),
    "NK343": ([((FLEET, {"ami": ami(root_snapshot_gib=201)}), "fleets.chat.root_volume_gib")], [(FLEET, {"ami": ami(root_snapshot_gib=200)})]),
}  # fmt: skip
"""Of fleets, in the rows that clusters have."""
for rule_id, (bad, good) in FURTHER.items():
    TABLE[rule_id] = ([*TABLE[rule_id][0], *bad], [*TABLE[rule_id][1], *good])


def world(case: Case, directory: Path) -> tuple[Any, Plan, LiveFacts]:
    changes, answers = case
    file = loaded(changed(changes), directory)
    plan = make_plan(file.environment, None, load_catalog())
    answers = dict(answers)
    if "ami" in answers:
        answer = answers.pop("ami")
        answers["amis"] = {
            cluster.ami.reference: answer for cluster in (*plan.clusters, *plan.fleets) if cluster.ami
        }
    return file, plan, in_order(plan, **answers)


def findings(case: Case, directory: Path) -> tuple[Finding, ...]:
    file, plan, live = world(case, directory)
    return run_live_rules(file, plan, load_catalog(), live)


def open_questions(case: Case, directory: Path) -> tuple[NotChecked, ...]:
    file, plan, live = world(case, directory)
    return not_checked(file, plan, load_catalog(), live)


def bad_cases() -> Iterator[Any]:
    for rule_id, (bad, _) in TABLE.items():
        for number, (case, path) in enumerate(bad):
            yield pytest.param(rule_id, case, path, id=f"{rule_id}-{number}")


def good_cases() -> Iterator[Any]:
    for rule_id, (_, good) in TABLE.items():
        for number, case in enumerate(good):
            yield pytest.param(rule_id, case, id=f"{rule_id}-{number}")


@pytest.mark.parametrize(("rule_id", "case", "path"), list(bad_cases()))
def test_a_live_rule_finds_fault(rule_id: str, case: Case, path: str, tmp_path: Path) -> None:
    about_it = [f for f in findings(case, tmp_path) if f.id == rule_id]
    assert [f.path for f in about_it] == [path]
    assert about_it[0].line is not None
    assert about_it[0].message
    assert about_it[0].source


@pytest.mark.parametrize(("rule_id", "case"), list(good_cases()))
def test_a_live_rule_lets_pass(rule_id: str, case: Case, tmp_path: Path) -> None:
    assert [f.text() for f in findings(case, tmp_path) if f.id == rule_id] == []


def test_every_live_rule_has_good_and_bad_cases_and_needs_an_answer() -> None:
    assert sorted(TABLE) == sorted(rule.id for rule in LIVE_RULES)
    assert all(bad and good for bad, good in TABLE.values())
    assert all(rule.needs is not None for rule in LIVE_RULES)


@pytest.mark.parametrize("changes", [{}, BLOCK, RESERVED, BROUGHT, network_cases.PRIVATE_WITH_TOKENS])
def test_an_account_in_order_has_no_findings_and_no_open_questions(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    assert [f.text() for f in findings((changes, {}), tmp_path)] == []
    assert open_questions((changes, {}), tmp_path) == ()


EVERYTHING = {**BROUGHT_FOR_FLEETS, "capacity.block": BLOCK["capacity.hourly"], "clusters.more": {**INF2, "instance_type": "trn1.32xlarge", "capacity": "block"},
    "capacity.other": {"kind": "spot"}, "clusters.new": {**INF2, "instance_type": "trn3.48xlarge", "shape": "trn3-gen1", "capacity": "other"},
    "clusters.slurm": {**INF2, "scheduler": "slurm", "slurm": {"shared_storage": {"kind": "efs"}}},
    "fleets.chat": TWO_CONTROLLERS["fleets.chat"]}  # fmt: skip


@pytest.mark.parametrize("facts", [LiveFacts(), unanswered("no credentials were found")])
def test_without_answers_every_rule_says_that_it_did_not_check(facts: LiveFacts, tmp_path: Path) -> None:
    file = loaded(changed(EVERYTHING), tmp_path)
    plan = make_plan(file.environment, None, load_catalog())
    assert run_live_rules(file, plan, load_catalog(), facts) == ()
    skipped = [n for n in not_checked(file, plan, load_catalog(), facts) if n.id in TABLE]
    assert {n.id for n in skipped} == {rule.id for rule in LIVE_RULES}
    assert all(facts.otherwise.why in n.why for n in skipped)


def test_without_a_plan_every_rule_says_that_the_file_comes_first(tmp_path: Path) -> None:
    skipped = not_checked(loaded(changed({}), tmp_path), None, load_catalog(), LiveFacts())
    assert {n.id for n in skipped} == {rule.id for rule in LIVE_RULES}


def test_rules_about_what_the_file_does_not_name_are_not_open_questions(tmp_path: Path) -> None:
    file = loaded(changed({}), tmp_path)
    plan = make_plan(file.environment, None, load_catalog())
    skipped = {n.id for n in not_checked(file, plan, load_catalog(), LiveFacts())}
    assert not {i for i in skipped if i.startswith(("NK32", "NK33", "NK37"))}


ANSWERS = [field.name for field in fields(LiveFacts) if field.name not in ("as_of", "otherwise")]
UNFIT = CouldNotAsk("not allowed: ec2:DescribeThings in us-east-2")


@pytest.mark.parametrize("name", ANSWERS)
def test_one_refusal_stays_with_its_question(name: str, tmp_path: Path) -> None:
    """The rules that need the answer say why they did not check; the others check."""
    file, plan, live = world((EVERYTHING, {}), tmp_path)
    answer = getattr(live, name)
    is_mapping = isinstance(answer, dict) and name != "offered_zone_ids"
    refused = replace(live, **{name: dict.fromkeys(answer, UNFIT) if is_mapping else UNFIT})
    assert run_live_rules(file, plan, load_catalog(), refused) == ()
    standing = not_checked(file, plan, load_catalog(), live)
    found = not_checked(file, plan, load_catalog(), refused)
    skipped = [n for n in found if n.id in TABLE and n not in standing]
    assert skipped
    assert all(UNFIT.why in n.why for n in skipped)
    assert len({n.id for n in skipped}) < len(LIVE_RULES) / 2


def test_an_interconnect_without_data_is_an_open_question(tmp_path: Path) -> None:
    for word in ("insufficient-data", "", "puzzled"):
        skipped = open_questions((BLOCK, health(word)), tmp_path)
        assert [n.id for n in skipped] == ["NK328"]


def test_quotas_add_up_over_the_whole_plan_and_say_what_is_missing(tmp_path: Path) -> None:
    """Two clusters that each would fit alone; Inf has a quota of its own."""
    more = {
        "clusters.more": {"scheduler": "batch", "instance_type": "trn2.48xlarge", "nodes": 1, "capacity": "hourly"},
        "clusters.serve": {**INF2, "nodes": 2},
    }  # fmt: skip
    answers = {
        "quota_limits": {TRN: QuotaLimit(600, False), INF: QuotaLimit(8, False)},
        "running": (
            RunningNodes("trn1.2xlarge", 2, False, None),
            RunningNodes("inf2.xlarge", 0, False, None),
        ),
    }
    short = [f for f in findings((more, answers), tmp_path) if f.id == "NK310"]
    assert len(short) == 1
    assert "704 vCPUs for train and more" in short[0].given
    assert "short by 120 vCPUs" in short[0].message
    assert "allows 600, others use 16" in short[0].message
    assert "--desired-value 720" in short[0].fix


def only(rule_id: str, case: Case, directory: Path) -> Finding:
    (found_fault,) = (f for f in findings(case, directory) if f.id == rule_id)
    return found_fault


def test_each_wrong_subnet_of_a_load_balancer_is_found_on_its_own_line(tmp_path: Path) -> None:
    """The file's list has a line for each."""
    case = (network_cases.PUBLIC, network_cases.both(**network_cases.WITHOUT_OUT))
    first, second = (f for f in findings(case, tmp_path) if f.id == "NK378")
    assert first.line is not None
    assert second.line == first.line + 1
    assert (first.path, second.path) == (network_cases.FIRST, network_cases.SECOND)
    assert "without a route for 0.0.0.0/0" in first.given


def test_a_group_that_stops_slurm_is_told_the_ports_and_what_they_stop(tmp_path: Path) -> None:
    rules = network_cases.tcp((6817, 6817), (60001, 61000), (2049, 2049))
    case = (network_cases.SLURM, network_cases.closed_but(*rules))
    message = only("NK379", case, tmp_path).message
    assert "TCP 6818-6819, 61001-63000 from and 6818-6819, 61001-63000 to itself" in message
    assert "no node registers or mounts" in message


def test_prefix_lists_are_an_open_question_not_a_fault_and_not_fine(tmp_path: Path) -> None:
    """They may hold the nodes' addresses."""
    rules = network_cases.tcp((1, 65535), peer="pl-0123456789abcdef0")
    asked = open_questions((network_cases.SLURM, network_cases.closed_but(*rules)), tmp_path)
    (about_it,) = (n for n in asked if n.id == "NK379")
    assert "prefix lists" in about_it.why
    only_in = network_cases.closed_but(rules[0])
    assert "6817-6819" in only("NK379", (network_cases.SLURM, only_in), tmp_path).message


WAYS = [
    (network_cases.SLURM, "these are missing: s3, pcs, ssm, ssmmessages", "make these endpoints"),
    (network_cases.PRIVATE_IMAGE, "s3, ecs, ecs-agent, ecs-telemetry, ecr.api, ecr.dkr, logs", "make these endpoints"),
    (network_cases.FLEET, "no endpoint leads to public.ecr.aws (images)", "NAT gateway"),
    ({**network_cases.FLEET, **fleet_cases.fleet(model={**fleet_cases.LLAMA, "source": "hf:meta-llama/Llama-3.1-8B"})}, "huggingface.co (models)", "NAT gateway"),
    ({**network_cases.PRIVATE_IMAGE, **fleet_cases.custom(image=network_cases.OUR_REPOSITORY, secrets={"HF_TOKEN": fleet_cases.SECRET})}, "logs, secretsmanager", "make these endpoints"),
    ({**network_cases.FLEET, **fleet_cases.custom(image=network_cases.OUR_REPOSITORY.replace("us-east-2", "us-west-2"))}, "111122223333.dkr.ecr.us-west-2.amazonaws.com (images)", "NAT gateway"),
    (BROUGHT, "efa-installer.amazonaws.com (EFA's driver)", "NAT gateway"),
    ({**network_cases.SLURM, **slurm_cases.slurm()}, "what node images are built from", "NAT gateway"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "words", "fix"), WAYS)
def test_without_a_way_out_what_is_missing_is_named(
    changes: dict[str, Any], words: str, fix: str, tmp_path: Path
) -> None:
    found_fault = only("NK373", (changes, network_cases.at(default_route_target="")), tmp_path)
    assert words in found_fault.message
    assert fix in found_fault.fix


def test_an_acl_that_stops_answers_says_which(tmp_path: Path) -> None:
    entries = (*network_cases.OUTWARD, entry(egress=False, protocol="6", ports=(443, 40_000)))
    found_fault = only("NK381", (network_cases.FLEET, network_cases.acls(*entries)), tmp_path)
    assert "stops answers to nodes (TCP 40001-60999 from 0.0.0.0/0)" in found_fault.message
    assert "requests" not in found_fault.message


def test_dns_that_is_off_is_named_with_the_command_that_turns_it_on(tmp_path: Path) -> None:
    off = {"vpc_dns": VpcDns(support=True, hostnames=False)}
    found_fault = only("NK380", (network_cases.SLURM, off), tmp_path)
    assert found_fault.message.startswith("enableDnsHostnames is off")
    assert "--enable-dns-hostnames" in found_fault.fix


def test_a_short_limit_of_lambda_says_what_to_ask_for(tmp_path: Path) -> None:
    (new,) = (f for f in findings((FALLBACK, concurrency(10, 10)), tmp_path) if f.id == "NK792")
    assert "short by 91" in new.message
    assert "Lambda allows 10 executions" in new.message
    assert "ask for 101 or more" in new.fix
    assert "--service-code lambda --quota-code L-B99A9384 --desired-value 1000" in new.fix
    (full,) = (f for f in findings((FALLBACK, concurrency(3_000, 40)), tmp_path) if f.id == "NK792")
    assert "ask for 3,061 or more" in full.fix
    assert "--desired-value 3061" in full.fix


CODES = [
    ("trn1.2xlarge", "L-2C3B7624"),
    ("trn1n.32xlarge", "L-2C3B7624"),
    ("trn2.48xlarge", "L-2C3B7624"),
    ("trn2u.48xlarge", "L-2C3B7624"),
    ("inf1.xlarge", "L-1945791B"),
    ("inf2.48xlarge", "L-1945791B"),
    ("p5.48xlarge", "L-417A185B"),
    ("g6.xlarge", "L-DB2E81BA"),
]


@pytest.mark.parametrize(("name", "code"), CODES)
def test_a_type_is_charged_to_its_own_quota_never_to_standard_or_spot(name: str, code: str) -> None:
    """P-28, P-29: others match "T" types to "Trn", or ask for Standard spot."""
    assert load_catalog().instance_types[name].quota_code_on_demand == code


def test_an_unknown_running_type_makes_the_use_unknown_not_zero(tmp_path: Path) -> None:
    skipped = open_questions(({}, {**limit(10_000), **running("trn2.999xlarge", 1)}), tmp_path)
    assert [n.id for n in skipped] == ["NK310"]
    assert "how many vCPUs a running trn2.999xlarge has" in skipped[0].why


def test_a_type_in_no_zone_of_the_region_names_the_regions_that_had_it(tmp_path: Path) -> None:
    """P-25: people ask for quota in regions that have none of the type."""
    (found_fault,) = [f for f in findings(({}, zone_offers()), tmp_path) if f.id == "NK302"]
    assert "us-west-2" in found_fault.message
    (elsewhere,) = [f for f in findings(({}, zone_offers("use2-az1")), tmp_path) if f.id == "NK302"]
    assert "us-east-2 offers it in use2-az1" in elsewhere.message


def test_what_the_world_refuses_is_an_error_and_what_may_pass_is_none() -> None:
    lenient = {rule.id for rule in LIVE_RULES if rule.severity is not Severity.ERROR}
    assert lenient == {
        "NK303",
        "NK322",
        "NK329",
        "NK330",
        "NK331",
        "NK345",
        "NK362",
        "NK373",
        "NK380",
        "NK381",
        "NK649",
    }


def test_one_line_for_each_reason() -> None:
    skipped = [
        NotChecked("NK1", "a"),
        NotChecked("NK2", "b\n"),
        NotChecked("NK3", "a"),
        NotChecked("NK3", "a"),
    ]
    assert in_words(skipped) == ["not checked: a [NK1 NK3]", "not checked: b\\n [NK2]"]
