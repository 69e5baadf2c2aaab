"""The catalog as a whole: looking up what exists, and the nearest to what does not."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from stacks.domain.catalog.hardware import Chip, Gpu, InstanceType, UltraServer, UnverifiedType
from stacks.domain.catalog.prices import ServiceItem, ServicePrice


@dataclass(frozen=True, slots=True)
class Region:
    """An AWS commercial region and its availability zone ids (the same in every account)."""

    name: str
    zone_ids: tuple[str, ...]
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class Quota:
    """An EC2 quota in vCPUs; a new account has 0 of most of these."""

    code: str
    name: str
    source: str
    as_of: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Catalog:
    instance_types: Mapping[str, InstanceType]
    chips: Mapping[str, Chip]
    gpus: Mapping[str, Gpu]
    ultraservers: tuple[UltraServer, ...]
    unverified: Mapping[str, UnverifiedType]
    quotas: Mapping[str, Quota]
    """By quota code."""
    regions: Mapping[str, tuple[str, ...]]
    """Zone ids by region."""
    region_rows: tuple[Region, ...]
    service_prices: tuple[ServicePrice, ...]

    def get(self, name: str) -> InstanceType | None:
        return self.instance_types.get(name)

    def closest(self, name: str) -> str | None:
        """For a message about a type that does not exist: the family's nearest size, else the nearest spelling."""
        family, _, size = name.lower().partition(".")
        same_family = [t for t in self.instance_types.values() if t.family == family]
        wanted = _size_factor(size)
        if same_family and wanted:
            return min(same_family, key=lambda t: abs(math.log(_size_of(t) / wanted))).name
        matches = difflib.get_close_matches(name.lower(), list(self.instance_types), n=1)
        return matches[0] if matches else None

    def ultraserver(self, ultraserver_type: str) -> UltraServer | None:
        """By the type name that EC2 sells it under."""
        if not ultraserver_type:
            return None
        return next((u for u in self.ultraservers if u.ultraserver_type == ultraserver_type), None)

    def ultraserver_of_member(self, instance_type: str) -> UltraServer | None:
        """The UltraServer that instances of the type are members of."""
        return next((u for u in self.ultraservers if u.member_type == instance_type), None)

    def ultraserver_of_shape(self, shape: str | None) -> UltraServer | None:
        return next((u for u in self.ultraservers if shape and u.shape == shape), None)

    def service_price(self, what: ServiceItem, region: str) -> ServicePrice | None:
        """None: unknown."""
        return next((p for p in self.service_prices if p.what == what and p.region in (region, None)), None)


def _size_of(instance_type: InstanceType) -> int:
    return _size_factor(instance_type.name.partition(".")[2]) or 1


def _size_factor(size: str) -> int | None:
    """1 for "xlarge", 48 for "48xlarge", None for any other word."""
    match = re.fullmatch(r"(\d*)xlarge", size)
    return int(match.group(1) or 1) or None if match else None
