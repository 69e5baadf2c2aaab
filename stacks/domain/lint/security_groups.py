"""Security groups of a CloudFormation template: self-references that EFA needs, ports, SSH."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stacks.domain.lint.report import Report
from stacks.domain.lint.template import Resource, Template
from stacks.domain.lint.tree import Node

PORT_MAX = 65535
SSH_PORT = 22
EVERYWHERE = ("0.0.0.0/0", "::/0")
ALL_PROTOCOLS = "-1"
GROUP = "AWS::EC2::SecurityGroup"
DIRECTIONS = {"Ingress": "SourceSecurityGroupId", "Egress": "DestinationSecurityGroupId"}


def check(template: Template, used_by_efa: Iterable[str], report: Report) -> None:
    """`used_by_efa`: logical ids of the groups on EFA interfaces."""
    efa_groups = set(used_by_efa)
    for group in template.of_type(GROUP):
        for direction in DIRECTIONS:
            for rule in group.properties.get(f"SecurityGroup{direction}").elements():
                _check_rule(rule, direction, report)
        if group.logical_id in efa_groups or _is_for_efa(group):
            for direction in DIRECTIONS:
                _check_self_reference(template, group, direction, report)
    for direction in DIRECTIONS:
        for resource in template.of_type(f"{GROUP}{direction}"):
            _check_rule(resource.properties, direction, report)


def _is_for_efa(group: Resource) -> bool:
    words = (
        group.logical_id,
        group.properties.get("GroupName").text,
        group.properties.get("GroupDescription").text,
    )
    return any("efa" in word.lower().split() or "Efa" in word or "EFA" in word for word in words)


def _check_rule(rule: Node, direction: str, report: Report) -> None:
    first, last = rule.get("FromPort"), rule.get("ToPort")
    for port in (first, last):
        if port.number is not None and port.number > PORT_MAX:
            report.add(
                "NK421",
                port.place,
                given=str(port.number),
                allowed=f"at most {PORT_MAX}",
                fix=f"write {PORT_MAX}",
            )
    if direction != "Ingress":
        return
    cidr = next((c for c in (rule.get("CidrIp"), rule.get("CidrIpv6")) if c.text in EVERYWHERE), None)
    protocol = rule.get("IpProtocol").text
    everything = protocol == ALL_PROTOCOLS
    reaches = everything or (protocol in ("tcp", "6") and _covers(first, last))
    if cidr is not None and reaches:
        report.add(
            "NK422",
            cidr.place,
            given=cidr.text,
            allowed="your own range",
            fix="use Session Manager, or your own range",
        )


def _covers(first: Node, last: Node) -> bool:
    start, end = first.number, last.number
    return start is not None and end is not None and (start <= SSH_PORT <= end or start == -1)


def _check_self_reference(template: Template, group: Resource, direction: str, report: Report) -> None:
    rules = list(_rules_of(template, group, direction))
    if any(_is_self(rule, group, DIRECTIONS[direction]) for rule in rules):
        return
    place = group.properties.get(f"SecurityGroup{direction}")
    if place.unknown or any(rule.unknown for rule in rules):
        report.skip(
            "NK420", place.place, f"the {direction.lower()} rules depend on what the file does not say"
        )
        return
    report.add(
        "NK420", place.place, given=f"{direction.lower()} of {group.logical_id}", allowed="all protocols from and to the group itself",
        message="no rule lets its own members through" if rules else "no rule of this direction",
        fix=f"add an {GROUP}{direction} resource with IpProtocol -1 and the group itself as {DIRECTIONS[direction]}",
    )  # fmt: skip


def _rules_of(template: Template, group: Resource, direction: str) -> Iterator[Node]:
    yield from group.properties.get(f"SecurityGroup{direction}").elements()
    for resource in template.of_type(f"{GROUP}{direction}"):
        if resource.properties.get("GroupId").reference == group.logical_id:
            yield resource.properties


def _is_self(rule: Node, group: Resource, key: str) -> bool:
    return rule.get("IpProtocol").text == ALL_PROTOCOLS and rule.get(key).reference == group.logical_id
