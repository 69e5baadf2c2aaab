"""Which row of AWS's Price List is the price: recorded answers, and rows one attribute away from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.domain.cost import inventory_of, price_keys
from stacks.domain.price_list import Question, question, read_answer
from stacks.domain.prices import PriceKey, service_key
from tests.environments import plan_of, starter_plan

ANSWERS = Path(__file__).resolve().parents[3] / "data" / "pricing"
TODAY = "2026-11-30"


def rows(name: str) -> list[str]:
    answer: list[str] = json.loads((ANSWERS / f"{name}.json").read_text(encoding="utf-8"))["PriceList"]
    return answer


def asked(key: PriceKey, region: str) -> Question:
    found = question(key, region)
    assert found is not None
    return found


TRN1 = asked(PriceKey("on-demand", "trn1.32xlarge"), "us-west-2")
GP3 = service_key("ebs-gp3")


@pytest.mark.parametrize(
    ("answer", "what", "usd", "unit", "sku", "as_of", "note"),
    [
        ("trn1_32xlarge_us_west_2", TRN1, 21.5, "instance-hour", "7AKU67FQVWG865YR", "2026-09-10", ""),
        ("ebs_gp3_us_east_2", asked(GP3, "us-east-2"), 0.08, "GB-month", "M6UGCCQ3CDJQAA37", "2023-03-22", ""),
        ("nat_eu_west_1", asked(service_key("nat-gateway"), "eu-west-1"), 0.048, "hour", "MADEUP00000NATHR", "2026-09-10", ""),
        ("nat_eu_west_1", asked(service_key("nat-gateway-data"), "eu-west-1"), 0.048, "GB", "MADEUP00000NATGB", "2026-09-10", ""),
        (
            "s3_tiers", asked(service_key("s3-standard"), "us-east-1"), 0.023, "GB-month", "MADEUP0000S3TIER", "2026-09-10",
            "the first of several tiers",
        ),
        ("dashboard", asked(service_key("dashboard"), "sa-east-1"), 3.0, "month", "MADEUP0000DASHBD", "2026-09-10", ""),
        ("undated", TRN1, 21.5, "instance-hour", "7AKU67FQVWG865YR", TODAY, ""),
    ],
)  # fmt: skip
def test_the_one_row_that_is_meant(
    answer: str, what: Question, usd: float, unit: str, sku: str, as_of: str, note: str
) -> None:
    price = read_answer(what, rows(answer), TODAY)
    assert (price.usd, price.unit, price.as_of, price.note) == (usd, unit, as_of, note)
    assert price.source == f"AWS price list, {what.service_code}, SKU {sku}"


@pytest.mark.parametrize(
    ("answer", "what", "why"),
    [
        ("none", TRN1, "no row fits"),
        (
            "trn2_48xlarge_us_east_2",
            asked(PriceKey("on-demand", "trn2.48xlarge"), "us-east-2"),
            "no row fits",
        ),
        ("two_rows", TRN1, "2 rows fit, and which is billed is not known"),
        ("cny", asked(GP3, "cn-northwest-1"), "priced in CNY, which is not converted"),
        ("reserved_only", TRN1, "no on-demand term fits"),
        ("no_terms", TRN1, "no on-demand term fits"),
        ("two_terms", TRN1, "2 on-demand terms fit"),
        ("zero", TRN1, "it says $0.00"),
        ("other_unit", TRN1, "priced by Quantity, not by instance-hour"),
        ("nan", TRN1, "no amount of money"),
        ("words", TRN1, "no number"),
        ("no_json", TRN1, "a row that is no JSON"),
    ],
)
def test_anything_else_is_unknown_with_its_reason(answer: str, what: Question, why: str) -> None:
    price = read_answer(what, rows(answer), TODAY)
    assert price.usd is None
    assert price.as_of is None
    assert why in price.source


@pytest.mark.parametrize("attribute", [name for name, _ in TRN1.attributes])
def test_every_attribute_of_the_question_is_looked_at_in_the_answer(attribute: str) -> None:
    """An endpoint that ignores a filter answers with more rows, which must not become a price."""
    row = json.loads(rows("undated")[0])
    del row["product"]["attributes"][attribute]
    assert read_answer(TRN1, [json.dumps(row)], TODAY).usd is None


def test_a_blocks_hours_are_never_taken_from_the_price_list() -> None:
    """It says $0.00 for them; the fee is the offering's (vantage-sh/ec2instances.info#903)."""
    assert question(PriceKey("capacity", "block"), "us-east-2") is None
    assert question(PriceKey("capacity-block", "trn2.48xlarge"), "us-east-2") is None
    assert question(PriceKey("spot", "trn1.32xlarge"), "us-east-2") is None


@pytest.mark.parametrize("starter", ["trn1-first-hour", "trn1-pilot", "trn2-pilot"])
def test_everything_that_a_plan_pays_can_be_asked_but_a_blocks_fee(starter: str) -> None:
    plan = starter_plan(starter)
    unasked = [key for key in price_keys(inventory_of(plan)) if question(key, plan.region) is None]
    assert unasked == ([PriceKey("capacity", "block")] if starter == "trn2-pilot" else [])
    assert len(price_keys(inventory_of(plan_of()))) == 9


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
PLACES = st.sampled_from(
    [
        ("product",),
        ("product", "attributes"),
        ("product", "sku"),
        ("terms",),
        ("terms", "OnDemand"),
        ("publicationDate",),
    ]
)


@given(place=PLACES, value=JSON)
def test_a_row_of_any_shape_gives_a_price_or_a_reason(place: tuple[str, ...], value: object) -> None:
    row = json.loads(rows("undated")[0])
    parent = row
    for part in place[:-1]:
        parent = parent[part]
    parent[place[-1]] = value
    price = read_answer(TRN1, [json.dumps(row)], TODAY)
    assert price.usd in (None, 21.5)
    assert price.source
