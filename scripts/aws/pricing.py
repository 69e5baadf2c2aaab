"""AWS's Price List. It is asked in three regions only, about all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from scripts.aws.cloud import Cloud

# botocore's endpoints of the service; the nearest one answers soonest.
_ENDPOINTS = {"eu": "eu-central-1", "ap": "ap-south-1"}
_DEFAULT_ENDPOINT = "us-east-1"


def price_list_cloud(cloud: Cloud) -> Cloud:
    """The same account at the endpoint of the price list."""
    return replace(cloud, region=_ENDPOINTS.get(cloud.region.partition("-")[0], _DEFAULT_ENDPOINT))


def products(
    cloud: Cloud, service_code: str, equal: Iterable[tuple[str, str]], *, usage_part: str
) -> tuple[str, ...]:
    """Rows as JSON texts, from all pages. `cloud` is one of `price_list_cloud`."""
    filters = [{"Type": "TERM_MATCH", "Field": name, "Value": value} for name, value in equal]
    filters.append({"Type": "CONTAINS", "Field": "usagetype", "Value": usage_part})
    rows = cloud.pages(
        "pricing",
        "get_products",
        "PriceList",
        ServiceCode=service_code,
        Filters=filters,
        FormatVersion="aws_v1",
    )
    return tuple(str(row) for row in rows)
