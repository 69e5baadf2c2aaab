"""Who reaches a fleet, over what, and in which zones its load balancer lies."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from stacks.domain.environment import Fleet
from stacks.domain.findings import Severity
from stacks.domain.rules.network import cidr_is_valid
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.rules.secrets import PARTITION
from stacks.domain.sizing import PUBLIC_BALANCER_PREFIX_MAX

BALANCER_ZONES = 2
SCHEMA_SOURCE = "`neuronkit schema`"
JWT_SOURCE = "botocore 1.44.8 elbv2; Elastic Load Balancing user guide, listener-verify-jwt"
ZONES_SOURCE = "Elastic Load Balancing user guide, application-load-balancers: subnets"


def tokens_travel_encrypted(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.listener.jwt is not None and fleet.listener.certificate is None:
            yield Problem(
                ("fleets", name, "listener", "jwt"),
                "without a certificate",
                "a listener with a certificate",
                "tokens are validated by HTTPS listeners only",
                f"add certificate: arn:aws:acm:{facts.environment.region}:…",
                at_key=True,
            )


def certificate_is_near(facts: Facts) -> Iterator[Problem]:
    region, account = facts.environment.region, facts.environment.account
    for name, fleet in facts.environment.fleets.items():
        if fleet.listener.certificate is None:
            continue
        _, partition, _, its_region, its_account, _ = fleet.listener.certificate.split(":")
        path = ("fleets", name, "listener", "certificate")
        if partition != PARTITION:
            yield Problem(
                path,
                f"a certificate of the partition {partition}",
                f"an ARN that begins with arn:{PARTITION}:",
                f"{region} is not in that partition, and none reaches into another",
                "ask ACM for one in this account and region",
            )
        elif its_region != region:
            yield Problem(
                path,
                f"a certificate of {its_region}",
                f"one of {region}",
                "a load balancer takes certificates of its own region",
                "ask ACM for one there",
            )
        elif account is not None and its_account != account:
            yield Problem(
                path,
                f"a certificate of account {its_account}",
                f"one of account {account}",
                "a load balancer takes certificates of its own account",
                "ask ACM for one there",
            )


def public_listeners_authenticate(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if _is_open(fleet) and fleet.listener.open_without_authentication is None:
            yield Problem(
                ("fleets", name, "listener", "public"),
                "true, without jwt",
                "false, or a listener with certificate and jwt",
                "anybody on the internet could use the chips, and read what the model says",
                "add certificate and jwt; or say why not in open_without_authentication",
            )


def reasons_excuse_something(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.listener.open_without_authentication is not None and not _is_open(fleet):
            why = "tokens are asked for" if fleet.listener.jwt else "it is inside the VPC only"
            yield Problem(
                ("fleets", name, "listener", "open_without_authentication"),
                "a reason",
                "null",
                f"the listener is not open: {why}",
                "remove it",
                at_key=True,
            )


def open_listeners_are_said(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        reason = fleet.listener.open_without_authentication
        if _is_open(fleet) and reason is not None:
            yield Problem(
                ("fleets", name, "listener", "public"),
                "true",
                message=f"open to the internet without authentication, because: {reason}",
                fix="add certificate and jwt when the reason is gone",
            )


def public_listeners_are_encrypted(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.listener.public and fleet.listener.certificate is None:
            yield Problem(
                ("fleets", name, "listener"),
                "public, without a certificate",
                "a certificate",
                "prompts and answers cross the internet in plain text",
                f"add certificate: arn:aws:acm:{facts.environment.region}:…",
                at_key=True,
            )


def load_balancers_have_zones(facts: Facts) -> Iterator[Problem]:
    network, fleets = facts.environment.network, facts.environment.fleets
    given = network.load_balancer_subnet_ids
    path = ("network", "load_balancer_subnet_ids")
    if given and (network.vpc == "new" or not fleets):
        why = "with vpc: new the kit makes its own" if fleets else "there is no fleet"
        yield Problem(path, f"{len(given)} subnets", "none", f"{why}: nothing would read it", "remove it")
    elif fleets and network.vpc != "new" and len(set(given)) < BALANCER_ZONES:
        yield Problem(
            path if given else ("network", "vpc"),
            f"{len(set(given))} subnets for load balancers",
            f"{BALANCER_ZONES} or more, each in another zone",
            f"{network.vpc} is yours, and the load balancer of a fleet lies in two zones at least",
            "add load_balancer_subnet_ids: [subnet-…, subnet-…]; public ones for a public listener",
        )
    elif fleets and network.vpc == "new":
        yield from _room_for_public_ones(facts)


def _room_for_public_ones(facts: Facts) -> Iterator[Problem]:
    cidr = facts.environment.network.cidr
    public = any(fleet.listener.public for fleet in facts.environment.fleets.values())
    if not public or any(cidr_is_valid(facts)):
        return
    if ipaddress.IPv4Network(cidr).prefixlen > PUBLIC_BALANCER_PREFIX_MAX:
        yield Problem(
            ("network", "cidr"),
            repr(cidr),
            f"a range of /16 to /{PUBLIC_BALANCER_PREFIX_MAX}",
            "no room for public load balancers in two zones",
            "write 10.42.0.0/16",
        )


def _is_open(fleet: Fleet) -> bool:
    return fleet.listener.public and fleet.listener.jwt is None


RULES = (
    Rule("NK731", Severity.ERROR, "tokens without a certificate", "the listener could not be made", JWT_SOURCE, tokens_travel_encrypted),
    Rule("NK732", Severity.ERROR, "certificate of another place", "the listener could not be made", "AWS Certificate Manager user guide, acm-regions", certificate_is_near),
    Rule("NK733", Severity.ERROR, "public without authentication", "accelerators on the internet are found, and used, within hours", "this kit: design (no public ingress by default)", public_listeners_authenticate),
    Rule("NK734", Severity.ERROR, "reason that excuses nothing", "it would hide the day on which the listener is opened", SCHEMA_SOURCE, reasons_excuse_something),
    Rule("NK735", Severity.INFO, "open by a reason of the file", "who reads the findings should know it", "this kit: design (no public ingress by default)", open_listeners_are_said),
    Rule("NK736", Severity.WARNING, "public in plain text", "everyone on the way reads and changes it", JWT_SOURCE, public_listeners_are_encrypted),
    Rule("NK737", Severity.ERROR, "load balancer without zones", "it could not be made", ZONES_SOURCE, load_balancers_have_zones),
)  # fmt: skip
