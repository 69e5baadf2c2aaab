"""The Price List: asked where it answers, all pages, and a refusal stays with the price that it was about."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from botocore.stub import Stubber

from scripts import live_prices
from scripts.aws.cloud import Cloud
from scripts.aws.pricing import price_list_cloud, products
from scripts.console import Console
from stacks.domain.errors import WorldError
from stacks.domain.price_list import question
from stacks.domain.prices import PriceKey, service_key
from tests.environments import plan_of

Stubbed = tuple[Cloud, Callable[[str], Stubber]]
ANSWERS = Path(__file__).resolve().parents[2] / "data" / "pricing"
TODAY = date(2026, 11, 30)
TRN1 = PriceKey("on-demand", "trn1.32xlarge")
FILTERS = [
    {"Type": "TERM_MATCH", "Field": field, "Value": value}
    for field, value in (
        ("regionCode", "us-west-2"),
        ("instanceType", "trn1.32xlarge"),
        ("operatingSystem", "Linux"),
        ("tenancy", "Shared"),
        ("preInstalledSw", "NA"),
        ("capacitystatus", "Used"),
        ("marketoption", "OnDemand"),
        ("licenseModel", "No License required"),
    )
]
USAGE = {"Type": "CONTAINS", "Field": "usagetype", "Value": "BoxUsage:trn1.32xlarge"}
ASKED = {"ServiceCode": "AmazonEC2", "Filters": [*FILTERS, USAGE], "FormatVersion": "aws_v1"}


def rows(name: str) -> list[str]:
    answer: list[str] = json.loads((ANSWERS / f"{name}.json").read_text(encoding="utf-8"))["PriceList"]
    return answer


def ask(cloud: Cloud, *keys: PriceKey) -> live_prices.LivePrices:
    return live_prices.ask_each(
        cloud, [(key, found) for key in keys if (found := question(key, "us-west-2"))], TODAY
    )


@pytest.mark.parametrize(
    ("region", "endpoint"),
    [
        ("us-east-2", "us-east-1"),
        ("sa-east-1", "us-east-1"),
        ("eu-north-1", "eu-central-1"),
        ("ap-southeast-4", "ap-south-1"),
    ],
)
def test_the_price_list_is_asked_where_it_has_an_endpoint(region: str, endpoint: str, cloud: Cloud) -> None:
    there = price_list_cloud(Cloud(region, cloud.account, is_local=False, session=cloud.session))
    assert (there.region, there.account) == (endpoint, cloud.account)
    assert endpoint in cloud.session.get_available_regions("pricing")


def test_rows_come_from_all_pages(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    first, *others = rows("trn1_32xlarge_us_west_2")
    pricing = stub("pricing")
    pricing.add_response("get_products", {"PriceList": [first], "NextToken": "more"}, ASKED)
    pricing.add_response("get_products", {"PriceList": others}, {**ASKED, "NextToken": "more"})
    found = question(TRN1, "us-west-2")
    assert found is not None
    assert products(cloud, "AmazonEC2", found.attributes, usage_part=found.usage) == (first, *others)


def test_a_price_of_the_recorded_answer(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("pricing").add_response("get_products", {"PriceList": rows("trn1_32xlarge_us_west_2")}, ASKED)
    assert ask(cloud, TRN1).prices[TRN1].usd == 21.5


def test_an_answer_without_rows_is_unknown_and_not_unasked(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("pricing").add_response("get_products", {}, ASKED)
    live = ask(cloud, TRN1)
    assert live.prices[TRN1].usd is None
    assert live.not_asked == {}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("AccessDeniedException", "pricing:GetProducts"),
        ("ThrottlingException", "throttled"),
        ("InternalErrorException", "InternalErrorException"),
    ],
)
def test_what_cannot_be_asked_is_said(code: str, words: str, stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("pricing").add_client_error("get_products", code, "no", http_status_code=400)
    live = ask(cloud, TRN1)
    assert live.prices == {}
    assert words in live.not_asked[TRN1]


def test_the_local_cloud_is_not_asked() -> None:
    live = live_prices.ask_prices(Console(local=True), plan_of(), TODAY)
    assert set(live.not_asked.values()) == {live_prices.LOCAL}
    assert service_key("nat-gateway") in live.not_asked


def test_without_credentials_every_price_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> Cloud:
        raise WorldError("no AWS credentials were found")

    monkeypatch.setattr(live_prices, "open_cloud", refused)
    live = live_prices.ask_prices(Console(), plan_of(), TODAY)
    assert live.prices == {}
    assert set(live.not_asked.values()) == {"no AWS credentials were found"}
