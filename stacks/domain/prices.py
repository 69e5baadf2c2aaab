"""What one unit costs, and who says so: the user's own file before AWS's price list before the bundled data.

An unknown price has its reason in `source`. A price that AWS's list contradicts is unknown too; one that AWS could not be
asked for is the bundled one, with the reason beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from stacks.domain.catalog import Catalog, Price
from stacks.domain.catalog.prices import ServiceItem

Unit = Literal["instance-hour", "hour", "GB", "GB-month", "month", "block", "LCU-hour", "GB-second"]
KeyKind = Literal["on-demand", "spot", "capacity-block", "service", "capacity"]

# AWS's service code, which bills and discounts go by; none where no source names it.
SERVICE_CODES: Mapping[ServiceItem, str] = {
    "nat-gateway": "AmazonEC2",
    "nat-gateway-data": "AmazonEC2",
    "ebs-gp3": "AmazonEC2",
    "public-ipv4": "AmazonVPC",
    "interface-endpoint": "AmazonVPC",
    "logs-ingestion": "AmazonCloudWatch",
    "dashboard": "AmazonCloudWatch",
    "custom-metric": "AmazonCloudWatch",
    "s3-standard": "AmazonS3",
    "eks-control-plane": "AmazonEKS",
    "load-balancer": "AWSELB",
}
SERVICE_UNITS: Mapping[ServiceItem, Unit] = {
    "nat-gateway": "hour",
    "nat-gateway-data": "GB",
    "ebs-gp3": "GB-month",
    "public-ipv4": "hour",
    "interface-endpoint": "hour",
    "logs-ingestion": "GB",
    "dashboard": "month",
    "custom-metric": "month",
    "s3-standard": "GB-month",
    "eks-control-plane": "hour",
    "load-balancer": "hour",
    "pcs-controller-small": "hour",
    "pcs-controller-medium": "hour",
    "pcs-controller-large": "hour",
    "pcs-node": "hour",
    "pcs-accounting": "hour",
    "efs": "GB-month",
    "lustre": "GB-month",
    "ebs-snapshot": "GB-month",
    "image-build": "hour",
    "load-balancer-capacity": "LCU-hour",
    "lambda": "GB-second",
}


@dataclass(frozen=True, slots=True)
class PriceKey:
    """`name` is an instance type, a ServiceItem, or with kind "capacity" a capacity of the environment file."""

    kind: KeyKind
    name: str

    @property
    def service_code(self) -> str:
        if self.kind != "service":
            return "AmazonEC2"
        return next((code for item, code in SERVICE_CODES.items() if self == service_key(item)), "")


def service_key(item: ServiceItem) -> PriceKey:
    return PriceKey("service", item)


@dataclass(frozen=True, slots=True)
class UnitPrice:
    """`usd` is for one `unit`; None: unknown, and `source` says why."""

    usd: float | None
    unit: Unit
    source: str
    as_of: str | None
    note: str = ""
    hours: float | None = None
    """Of a block: what its fee is spread over."""
    not_asked: str = ""
    """Why AWS could not be asked, where it should have been."""


@dataclass(frozen=True, slots=True)
class Discount:
    """Of one service by its code, off AWS's own prices; the user's own prices have theirs inside."""

    percent: float
    source: str


@dataclass(frozen=True, slots=True)
class Prices:
    """What is known besides the bundled prices."""

    own: Mapping[str, Mapping[PriceKey, UnitPrice]] = field(default_factory=dict)
    """By region."""
    discounts: Mapping[str, Discount] = field(default_factory=dict)
    """By service code."""
    live: Mapping[PriceKey, UnitPrice] = field(default_factory=dict)
    """In the region of the plan."""
    not_asked: Mapping[PriceKey, str] = field(default_factory=dict)
    """Why AWS could not be asked."""

    def find(self, key: PriceKey, catalog: Catalog, region: str) -> UnitPrice:
        own = self.own.get(region, {})
        if key in own:
            return own[key]
        found = self.live.get(key) or _bundled(key, catalog, region)
        if key in self.not_asked:
            found = replace(found, not_asked=self.not_asked[key])
        return self._discounted(key, found)

    def _discounted(self, key: PriceKey, price: UnitPrice) -> UnitPrice:
        discount = self.discounts.get(key.service_code)
        # What a block has cost is paid already.
        if discount is None or price.usd is None or key.kind == "capacity":
            return price
        usd = price.usd * (1 - discount.percent / 100)
        return replace(
            price, usd=usd, source=f"{price.source}; {discount.percent:g}% less ({discount.source})"
        )


BUNDLED = Prices()


def _bundled(key: PriceKey, catalog: Catalog, region: str) -> UnitPrice:
    if key.kind == "capacity":
        return UnitPrice(
            None, "block", "unknown until an offering or a --price-file names the block's fee", None
        )
    if key.kind == "service":
        return _bundled_service(key, catalog, region)
    found = catalog.get(key.name)
    price = found.price(key.kind, region) if found else None
    if price is None:
        return UnitPrice(None, "instance-hour", f"no {key.kind} price in {region} in any source", None)
    if not price.primary:
        return UnitPrice(None, "instance-hour", _only_quoted(price), price.as_of)
    return UnitPrice(price.usd_per_hour, "instance-hour", price.source, price.as_of, price.note)


def _only_quoted(price: Price) -> str:
    return f"only a third party quotes ${price.usd_per_hour:g} an hour: ask with --live, or give --price-file"


def _bundled_service(key: PriceKey, catalog: Catalog, region: str) -> UnitPrice:
    item = next(item for item in SERVICE_UNITS if item == key.name)
    price = catalog.service_price(item, region)
    if price is None:
        return UnitPrice(None, SERVICE_UNITS[item], f"no price in {region} in any dated source", None)
    return UnitPrice(price.usd, SERVICE_UNITS[item], price.source, price.as_of, price.note)
