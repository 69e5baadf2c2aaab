"""Live facts: what AWS answered about a plan at one moment, as one frozen value that comes in like a file.

Every answer stands for itself: the value, or why it could not be had. An answer that is missing is never "fine".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias, TypeVar

from stacks.domain.reservations import Reservation


@dataclass(frozen=True, slots=True)
class CouldNotAsk:
    """`why` names the missing permission, the region that is not enabled, the endpoint that was not reached."""

    why: str


NOT_ASKED = CouldNotAsk("AWS was not asked; --live asks")
T = TypeVar("T")
Answer: TypeAlias = T | CouldNotAsk


@dataclass(frozen=True, slots=True)
class LiveZone:
    id: str
    state: str
    """available, or information, impaired, unavailable, constrained, or a word that AWS adds later."""


@dataclass(frozen=True, slots=True)
class QuotaLimit:
    vcpus: int
    is_default: bool
    """The account has no value of its own: AWS's default for every account."""


@dataclass(frozen=True, slots=True)
class RunningNodes:
    """On-demand instances that run now, of one type."""

    instance_type: str
    count: int
    is_ours: bool
    """They carry this environment's tag: the plan counts them already."""
    vcpus_each: int | None
    """As EC2 says it, where it does."""


@dataclass(frozen=True, slots=True)
class LiveAmi:
    """What EC2 left out of its answer is None, or "" for a word."""

    id: str
    name: str = ""
    state: str = ""
    architecture: str = ""
    root_device_name: str = ""
    root_snapshot_gib: int | None = None
    deprecated_at: datetime | None = None
    slurm_version: str | None = None
    """What our tag on it says; None without the tag."""


@dataclass(frozen=True, slots=True)
class BlockHealth:
    """What EC2 says of a capacity block beyond its reservation."""

    interconnect: str
    """EC2's InterconnectStatus: ok, impaired, insufficient-data; "" where it says nothing."""
    unavailable: int | None
    """Instances that EC2 itself cannot give now."""


@dataclass(frozen=True, slots=True)
class LiveStack:
    name: str
    status: str
    environment: str | None
    """The value of our tag on it; None without the tag."""


@dataclass(frozen=True, slots=True)
class LiveSubnet:
    id: str
    zone_id: str
    vpc_id: str
    cidr: str
    free_addresses: int
    own_addresses: int
    """Held by interfaces that carry this environment's tag: nodes that the plan counts already."""
    gives_public_addresses: bool
    """To the first interface of an instance that says nothing of it."""
    route_table_id: str
    """Its own one, else the VPC's main one."""
    default_route_target: str
    """Where 0.0.0.0/0 goes: nat-…, igw-…, …; "" where there is no such route."""


@dataclass(frozen=True, slots=True)
class AclEntry:
    """Of IPv4. `protocol` "-1" is all; ports are None where the protocol has none."""

    is_egress: bool
    allows: bool
    protocol: str
    from_port: int | None
    to_port: int | None
    cidr: str


@dataclass(frozen=True, slots=True)
class LiveAcl:
    id: str
    entries: tuple[AclEntry, ...]
    """In EC2's order: of those that fit, the first one decides. What none fits is stopped."""


@dataclass(frozen=True, slots=True)
class LiveEndpoint:
    """A way to one service of AWS that needs no internet."""

    service: str
    """Without com.amazonaws.REGION: s3, ecr.dkr, …"""
    is_gateway: bool
    route_table_ids: frozenset[str]
    """Of a gateway: whose subnets use it."""
    has_private_dns: bool
    """Of an interface: the service's usual name leads to it."""


@dataclass(frozen=True, slots=True)
class VpcDns:
    support: bool
    """AWS's own resolver answers in the VPC."""
    hostnames: bool


@dataclass(frozen=True, slots=True)
class GroupRule:
    """One peer of one rule of a security group. `protocol` "-1" is all; ports are None where the protocol has none."""

    is_egress: bool
    protocol: str
    from_port: int | None
    to_port: int | None
    peer: str
    """A group's id, an IPv4 or IPv6 range, or a prefix list's id."""


@dataclass(frozen=True, slots=True)
class LiveSecurityGroup:
    id: str
    name: str
    vpc_id: str
    rules: tuple[GroupRule, ...]


@dataclass(frozen=True, slots=True)
class LambdaConcurrency:
    """Executions at the same time of all functions of the account in the region."""

    limit: int
    unreserved: int
    """What functions with a reservation of their own leave of it: those that are deployed already are subtracted."""


@dataclass(frozen=True, slots=True)
class LiveInstanceType:
    """What EC2 left out of its answer is None."""

    name: str
    vcpus: int | None
    memory_gib: float | None
    network_cards: int | None
    efa_interfaces: int | None


@dataclass(frozen=True, slots=True)
class LiveFacts:
    """Only what the plan needs was asked. Whatever is absent is `otherwise`: not asked, or not to be asked at all."""

    as_of: datetime | None = None
    """When it was asked; an input, with a time zone."""
    otherwise: CouldNotAsk = NOT_ASKED
    zones: Answer[tuple[LiveZone, ...]] = NOT_ASKED
    offered_zone_ids: Answer[Mapping[str, frozenset[str]]] = NOT_ASKED
    """By instance type: the zones of the region that offer it; empty where none does."""
    instance_types: Mapping[str, Answer[LiveInstanceType | None]] = field(default_factory=dict)
    """Of the types that only the file names. None: EC2 knows no such type."""
    quota_limits: Mapping[str, Answer[QuotaLimit]] = field(default_factory=dict)
    """By quota code."""
    running: Answer[tuple[RunningNodes, ...]] = NOT_ASKED
    """Of the families that the quotas count."""
    unused_reservations: Answer[tuple[RunningNodes, ...]] = NOT_ASKED
    """Unused instances of active on-demand reservations: EC2 counts them like running ones."""
    amis: Mapping[str, Answer[LiveAmi | None]] = field(default_factory=dict)
    """By what the file or the lock asks for: an AMI id or an SSM parameter. None: the region has no such thing."""
    reservations: Mapping[str, Answer[Reservation | None]] = field(default_factory=dict)
    """By id. None: there is no such reservation in the region."""
    blocks: Mapping[str, Answer[BlockHealth]] = field(default_factory=dict)
    """By the id of a capacity block's reservation."""
    stacks: Answer[tuple[LiveStack, ...]] = NOT_ASKED
    """Those that have a name of ours, whoever's they are."""
    bootstrap_version: Answer[int | None] = NOT_ASKED
    """None: the account and region are not bootstrapped with the file's qualifier."""
    service_roles: Mapping[str, Answer[bool]] = field(default_factory=dict)
    """Whether a service-linked role is there, by its name."""
    lambda_concurrency: Answer[LambdaConcurrency] = NOT_ASKED
    """Asked where the plan has controllers that reserve a part of it."""
    controllers: Mapping[str, Answer[bool]] = field(default_factory=dict)
    """Whether such a controller is deployed, by its stack's name."""
    subnets: Mapping[str, Answer[LiveSubnet | None]] = field(default_factory=dict)
    acls: Mapping[str, Answer[LiveAcl | None]] = field(default_factory=dict)
    """Network ACLs, by the id of their subnet."""
    security_groups: Mapping[str, Answer[LiveSecurityGroup | None]] = field(default_factory=dict)
    """By id; by the VPC's id its default group."""
    endpoints: Answer[tuple[LiveEndpoint, ...]] = NOT_ASKED
    """Of the VPC that the file names."""
    vpc_dns: Answer[VpcDns] = NOT_ASKED
    """Of the VPC that the file names."""

    def of(self, answers: Mapping[str, Answer[T]], key: str) -> Answer[T]:
        return answers.get(key, self.otherwise)


def unanswered(why: str) -> LiveFacts:
    """Nothing could be asked: no credentials, another account, no network."""
    no = CouldNotAsk(why)
    return LiveFacts(
        otherwise=no,
        zones=no,
        offered_zone_ids=no,
        running=no,
        unused_reservations=no,
        stacks=no,
        bootstrap_version=no,
        lambda_concurrency=no,
        endpoints=no,
        vpc_dns=no,
    )


def known(answer: Answer[T], otherwise: T) -> T:
    """The answer, or `otherwise` where there is none: for rules, which say apart from their checks what is missing."""
    return otherwise if isinstance(answer, CouldNotAsk) else answer
