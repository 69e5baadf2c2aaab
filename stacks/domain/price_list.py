"""AWS's Price List: what to ask it for a price, and which row of its answer is meant.

An answer holds rows that look alike (other tenancies, licences, reserved capacity that lies idle, capacity blocks at $0.00): every
attribute that was asked for is looked at again here, and anything but exactly one fitting row leaves the price unknown.
Sources: botocore's model of GetProducts; AWS's offer files of 2026-09 as public projects quote them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stacks.domain.catalog.prices import ServiceItem
from stacks.domain.prices import SERVICE_CODES, SERVICE_UNITS, PriceKey, Unit, UnitPrice

CURRENCY = "USD"
# AWS's words for units, by ours.
_AWS_UNITS: Mapping[Unit, frozenset[str]] = {
    "instance-hour": frozenset({"Hrs", "Hours"}),
    "hour": frozenset({"Hrs", "Hours"}),
    "GB": frozenset({"GB"}),
    "GB-month": frozenset({"GB-Mo"}),
    "month": frozenset({"Dashboards", "Metrics"}),
}
_REGION_PREFIX = r"(?:[A-Z0-9]+-)?"
# The usage type without its region's prefix, which does not follow from the region's name (us-east-1 has none, eu-west-1 "EU-").
_USAGE: Mapping[ServiceItem, str] = {
    "nat-gateway": "NatGateway-Hours",
    "nat-gateway-data": "NatGateway-Bytes",
    "ebs-gp3": "EBS:VolumeUsage.gp3",
    "public-ipv4": "PublicIPv4:InUseAddress",
    "logs-ingestion": "DataProcessing-Bytes",
    "custom-metric": "CW:MetricMonitorUsage",
    "s3-standard": "TimedStorage-ByteHrs",
    "dashboard": "DashboardsUsageHour-Basic",
}
_WITHOUT_REGION = frozenset({"dashboard"})


@dataclass(frozen=True, slots=True)
class Question:
    """Of one price. `attributes` must be equal, in the question and in the answer."""

    service_code: str
    attributes: tuple[tuple[str, str], ...]
    usage: str
    """The end of the usage type, all of it but the region's prefix."""
    unit: Unit


def question(key: PriceKey, region: str) -> Question | None:
    """None for what the price list does not hold: a block's fee is its offering's, and spot prices change by the hour."""
    if key.kind == "on-demand":
        return Question(
            "AmazonEC2", _instance_attributes(key.name, region), f"BoxUsage:{key.name}", "instance-hour"
        )
    item = next((item for item in _USAGE if key.kind == "service" and item == key.name), None)
    if item is None:
        return None
    attributes = () if item in _WITHOUT_REGION else (("regionCode", region),)
    return Question(SERVICE_CODES[item], attributes, _USAGE[item], SERVICE_UNITS[item])


def _instance_attributes(instance_type: str, region: str) -> tuple[tuple[str, str], ...]:
    return (
        ("regionCode", region),
        ("instanceType", instance_type),
        ("operatingSystem", "Linux"),
        ("tenancy", "Shared"),
        ("preInstalledSw", "NA"),
        ("capacitystatus", "Used"),
        ("marketoption", "OnDemand"),
        ("licenseModel", "No License required"),
    )


def read_answer(asked: Question, items: Iterable[str], today: str) -> UnitPrice:
    """`items` are JSON texts as GetProducts gives them. `today` dates a row that has no date of its own."""
    try:
        row = _only(_fitting(asked, items), "row")
        term = _only(_mapping(_mapping(row.get("terms")).get("OnDemand")).values(), "on-demand term")
        dimension = _only(_first_tier(_mapping(term).get("priceDimensions")), "price")
        usd = _usd(asked, _mapping(dimension))
    except _UnusableError as error:
        return UnitPrice(None, asked.unit, f"AWS price list, {asked.service_code}: {error}", None)
    sku = _mapping(row.get("product")).get("sku", "unknown")
    dated = str(row.get("publicationDate") or _mapping(term).get("effectiveDate") or today)
    tiers = len(_mapping(_mapping(term).get("priceDimensions")))
    note = "the first of several tiers" if tiers > 1 else ""
    return UnitPrice(usd, asked.unit, f"AWS price list, {asked.service_code}, SKU {sku}", dated[:10], note)


class _UnusableError(Exception):
    """Why an answer gives no price."""


def _fitting(asked: Question, items: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    usage = re.compile(_REGION_PREFIX + re.escape(asked.usage))
    for item in items:
        try:
            row = _mapping(json.loads(item))
        except (ValueError, RecursionError):
            raise _UnusableError("a row that is no JSON") from None
        attributes = _mapping(_mapping(row.get("product")).get("attributes"))
        fits = all(attributes.get(name) == value for name, value in asked.attributes)
        if fits and usage.fullmatch(str(attributes.get("usagetype", ""))):
            yield row


def _first_tier(dimensions: object) -> list[object]:
    return [d for d in _mapping(dimensions).values() if _mapping(d).get("beginRange", "0") == "0"]


def _only(found: Iterable[Any], what: str) -> Any:
    candidates = list(found)
    if not candidates:
        raise _UnusableError(f"no {what} fits")
    if len(candidates) > 1:
        raise _UnusableError(f"{len(candidates)} {what}s fit, and which is billed is not known")
    return candidates[0]


def _usd(asked: Question, dimension: Mapping[str, Any]) -> float:
    unit, prices = dimension.get("unit"), _mapping(dimension.get("pricePerUnit"))
    if unit not in _AWS_UNITS[asked.unit]:
        raise _UnusableError(f"priced by {unit}, not by {asked.unit}")
    if CURRENCY not in prices:
        raise _UnusableError(f"priced in {', '.join(prices) or 'no currency'}, which is not converted")
    try:
        usd = float(prices[CURRENCY])
    except (TypeError, ValueError):
        raise _UnusableError("its price is no number") from None
    if not math.isfinite(usd) or usd < 0:
        raise _UnusableError("its price is no amount of money")
    if usd == 0:
        raise _UnusableError("it says $0.00, which nothing that is sold costs")
    return usd


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
