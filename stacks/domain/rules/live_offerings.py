"""What EC2 offers today in the plan's zone. The catalog's capture says what was offered once."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.findings import Severity, one_of
from stacks.domain.live import LiveZone, known
from stacks.domain.rules.node_blocks import NodeBlock, node_blocks, type_of
from stacks.domain.rules.rule import Facts, Need, Problem, Rule

OFFERINGS_SOURCE = "EC2 API, DescribeInstanceTypeOfferings and DescribeAvailabilityZones"
GOOD_ZONE_STATES = ("available", "information")


def zone_is_the_accounts(facts: Facts) -> Iterator[Problem]:
    zones = _zones(facts)
    if zones and facts.environment.network.zone_id not in {zone.id for zone in zones}:
        yield Problem(
            ("network", "zone_id"),
            repr(facts.environment.network.zone_id),
            one_of(sorted(zone.id for zone in zones)),
            f"this account has no such zone in {facts.environment.region}",
        )


def zone_is_well(facts: Facts) -> Iterator[Problem]:
    for zone in _zones(facts):
        if zone.id == facts.environment.network.zone_id and zone.state not in GOOD_ZONE_STATES:
            yield Problem(
                ("network", "zone_id"),
                repr(zone.id),
                message=f"EC2 says that the zone is {zone.state}: nodes may not start in it",
                fix="see the AWS Health Dashboard, and wait or take another zone",
            )


def type_is_offered_in_zone(facts: Facts) -> Iterator[Problem]:
    offered = known(facts.live.offered_zone_ids, {})
    for block in node_blocks(facts.environment):
        zones = offered.get(block.type_name)
        if zones is None or facts.environment.network.zone_id in zones:
            continue
        where = (
            f"{facts.environment.region} offers it in {one_of(sorted(zones))}"
            if zones
            else _elsewhere(facts, block)
        )
        yield Problem(
            (*block.path, "instance_type"),
            repr(block.type_name),
            message=f"EC2 does not offer it in {facts.environment.network.zone_id} to this account; {where}",
            fix="change the zone" if zones else "change the region, or the type",
        )


def _elsewhere(facts: Facts, block: NodeBlock) -> str:
    instance_type = type_of(facts, block)
    region = facts.environment.region
    others = [r for r in instance_type.regions if r != region] if instance_type else []
    if not others:
        return f"nor anywhere in {region}"
    return f"nor anywhere in {region}; when the catalog was captured, it was offered in {one_of(others)}"


def _zones(facts: Facts) -> tuple[LiveZone, ...]:
    return known(facts.live.zones, ())


def _zone_answers(facts: Facts) -> Iterator[object]:
    yield facts.live.zones


def _offering_answers(facts: Facts) -> Iterator[object]:
    yield facts.live.offered_zone_ids


ZONES = Need("the account's zones", _zone_answers)
OFFERINGS = Need("what EC2 offers in the zone today", _offering_answers)

RULES = (
    Rule("NK301", Severity.ERROR, "no zone of the account", "zones differ by account", OFFERINGS_SOURCE, zone_is_the_accounts, ZONES),
    Rule("NK302", Severity.ERROR, "type not offered in the zone", "instances never start, whatever is retried", OFFERINGS_SOURCE, type_is_offered_in_zone, OFFERINGS),
    Rule("NK303", Severity.WARNING, "zone not well", "nodes may not start", OFFERINGS_SOURCE, zone_is_well, ZONES),
)  # fmt: skip
