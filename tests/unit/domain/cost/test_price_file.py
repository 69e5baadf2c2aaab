"""The user's own prices: what counts, and everything that is refused with its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stacks.domain.catalog import load_catalog
from stacks.domain.cost import Basis, estimate
from stacks.domain.findings import Finding, FindingsError
from stacks.domain.price_file import DISCOUNT_KEYS, PRICE_KEYS, PriceFile, read_price_file
from stacks.domain.prices import PriceKey, Prices, service_key
from tests.environments import plan_of

ROW = "{instance_type: trn1.32xlarge, region: us-east-2, usd: 17.2, unit: hour, as_of: 2026-11-01, source: contract}"
GOOD = f"""\
prices:
  - {ROW}
  - {{what: nat-gateway, region: us-east-2, usd: 0.04, unit: hour, as_of: 2026-11, source: contract}}
  - {{what: s3-standard, region: us-east-1, usd: 0.02, unit: GB-month, as_of: 2026-11, source: contract}}
  - {{capacity: block, region: us-east-2, usd: 20597, unit: block, hours: 24, as_of: 2026-11-30, source: the offering}}
discounts:
  - {{service: AmazonEC2, percent: 10, as_of: 2026-11-01, source: contract}}
"""


def read(text: str, directory: Path) -> PriceFile:
    path = directory / "prices.yaml"
    path.write_text(text, encoding="utf-8")
    return read_price_file(path, load_catalog())


def findings(text: str, directory: Path) -> tuple[Finding, ...]:
    with pytest.raises(FindingsError) as raised:
        read(text, directory)
    return raised.value.findings


def with_row(**changes: str | None) -> str:
    """A file of one price, with keys changed; None takes one out."""
    keys: dict[str, str | None] = {
        "instance_type": "trn1.32xlarge", "region": "us-east-2", "usd": "17.2", "unit": "hour", "as_of": "2026-11-01",
        "source": "contract",
    }  # fmt: skip
    keys |= changes
    lines = [f"    {key}: {value}" for key, value in keys.items() if value is not None]
    return "prices:\n  -\n" + "\n".join(lines) + "\n"


def test_prices_by_region_and_what_they_say_of_themselves(tmp_path: Path) -> None:
    found = read(GOOD, tmp_path)
    ohio = found.prices["us-east-2"]
    assert set(ohio) == {
        PriceKey("on-demand", "trn1.32xlarge"),
        service_key("nat-gateway"),
        PriceKey("capacity", "block"),
    }
    assert set(found.prices["us-east-1"]) == {service_key("s3-standard")}
    price = ohio[PriceKey("on-demand", "trn1.32xlarge")]
    assert (price.usd, price.as_of) == (17.2, "2026-11-01")
    assert price.source == f"your price file {tmp_path / 'prices.yaml'}: contract"
    assert ohio[PriceKey("capacity", "block")].hours == 24


def test_they_win_over_bundled_ones_and_discounts_only_touch_the_others(tmp_path: Path) -> None:
    found = read(GOOD, tmp_path)
    prices = Prices(own=found.prices, discounts=found.discounts)
    lines = {line.what: line for line in estimate(plan_of(), load_catalog(), Basis(prices)).lines}
    nodes, nat = lines["train: 4 x trn1.32xlarge, on-demand"], lines["NAT gateway"]
    assert nodes.usd_per_hour == pytest.approx(4 * 17.2)
    assert nodes.source.startswith("your price file")
    assert nat.unit_usd == 0.04
    volumes = lines["train: 2,048 GiB root volumes (gp3)"]
    assert volumes.unit_usd == pytest.approx(0.08 * 0.9)
    assert "10% less (your price file" in volumes.source
    address = lines["public IPv4 address of the NAT gateway"]
    assert address.unit_usd == 0.005, "AmazonVPC has no discount"


def test_a_discount_makes_no_price_of_none(tmp_path: Path) -> None:
    prices = Prices(discounts=read(GOOD, tmp_path).discounts)
    assert prices.find(PriceKey("on-demand", "trn2.48xlarge"), load_catalog(), "us-east-2").usd is None


# text, id, path, line, a word of it
REFUSED = [
    (with_row(as_of=None), "NK276", "prices[0]", 3, "as_of"),
    (with_row(source=None), "NK276", "prices[0]", 3, "source"),
    (with_row(region=None), "NK276", "prices[0]", 3, "region"),
    (with_row(usd=None), "NK276", "prices[0]", 3, "usd"),
    (with_row(unit=None), "NK276", "prices[0]", 3, "unit"),
    (with_row(instance_type=None), "NK276", "prices[0]", 3, "whose price?"),
    (with_row(what="nat-gateway"), "NK276", "prices[0]", 3, "exactly one of"),
    (with_row(as_of="2026"), "NK277", "prices[0].as_of", 7, "YYYY-MM"),
    (with_row(as_of="2026-13-01"), "NK277", "prices[0].as_of", 7, "YYYY-MM"),
    (with_row(as_of="2026-02-30"), "NK277", "prices[0].as_of", 7, "YYYY-MM"),
    (with_row(as_of="yesterday"), "NK277", "prices[0].as_of", 7, "yesterday"),
    (with_row(usd="-1"), "NK277", "prices[0].usd", 5, "above 0"),
    (with_row(usd="0"), "NK277", "prices[0].usd", 5, "above 0"),
    (with_row(usd=".nan"), "NK277", "prices[0].usd", 5, "above 0"),
    (with_row(usd=".inf"), "NK277", "prices[0].usd", 5, "above 0"),
    (with_row(usd="true"), "NK277", "prices[0].usd", 5, "not converted"),
    (with_row(usd='"17.2"'), "NK277", "prices[0].usd", 5, "without currency, quotes"),
    (with_row(usd="17.2 EUR"), "NK277", "prices[0].usd", 5, "not converted"),
    (with_row(eur="17.2"), "NK275", "prices[0].eur", 9, "no other currency is converted"),
    (with_row(currency="CNY"), "NK275", "prices[0].currency", 9, "no other currency is converted"),
    (with_row(sorce="x"), "NK275", "prices[0].sorce", 9, "did you mean 'source'?"),
    (with_row(instance_type="trn1.16xlarge"), "NK277", "prices[0].instance_type", 3, "did you mean 'trn1."),
    (with_row(region="us-esat-2"), "NK277", "prices[0].region", 4, "an AWS region"),
    (with_row(unit="month"), "NK277", "prices[0].unit", 6, "allowed: hour"),
    (with_row(kind="reserved"), "NK277", "prices[0].kind", 9, "on-demand or spot"),
    (with_row(hours="24"), "NK277", "prices[0].hours", 9, "`unit: block` only"),
    (with_row(instance_type=None, what="nat-gatway"), "NK277", "prices[0].what", 8, "did you mean 'nat-gateway'?"),
    (with_row(instance_type=None, capacity="block", unit="block"), "NK276", "prices[0]", 3, "hours"),
    (f"prices:\n  - {ROW}\n  - {ROW}\n", "NK279", "prices[1]", 3, "twice"),
    ("prices: 3\n", "NK277", "prices", 1, "a list of mappings"),
    ("prices:\n  - 3\n", "NK277", "prices[0]", 2, "a mapping of"),
    ("price: []\n", "NK275", "price", 1, "did you mean 'prices'?"),
    ("{}\n", "NK276", "", 1, "`prices:` or `discounts:`"),
    ("discounts:\n  - {service: EC2, percent: 10, as_of: 2026-11, source: x}\n", "NK277", "discounts[0].service", 2, "AmazonEC2"),
    ("discounts:\n  - {service: AmazonEC2, percent: 100, as_of: 2026-11, source: x}\n", "NK277", "discounts[0].percent", 2, "below 100"),
    ("discounts:\n  - {service: AmazonEC2, percent: 5, source: x}\n", "NK276", "discounts[0]", 2, "as_of"),
    ("prices:\n  - {usd: 1, usd: 2}\n", "NK009", "prices[0].usd", 2, "twice"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "id_", "path", "line", "word"), REFUSED)
def test_what_is_refused(text: str, id_: str, path: str, line: int, word: str, tmp_path: Path) -> None:
    found = [f for f in findings(text, tmp_path) if (f.id, f.path) == (id_, path)]
    assert found, [f.text() for f in findings(text, tmp_path)]
    assert found[0].line == line
    assert word in found[0].text()
    assert str(tmp_path / "prices.yaml") in found[0].text()


def test_everything_is_said_at_once(tmp_path: Path) -> None:
    text = with_row(as_of=None, usd="-1", region="mars-1")
    assert {f.id for f in findings(text, tmp_path)} == {"NK276", "NK277"}
    assert len(findings(text, tmp_path)) == 3


def test_a_fee_of_a_capacity_that_is_not_there_is_refused(tmp_path: Path) -> None:
    found = read(GOOD, tmp_path)
    found.refuse_other_capacities(["block", "hourly"])
    with pytest.raises(FindingsError) as raised:
        found.refuse_other_capacities(["blok", "hourly"])
    (finding,) = raised.value.findings
    assert (finding.id, finding.line, finding.path) == ("NK278", 5, "prices[3].capacity")
    assert "blok or hourly" in finding.text()


@pytest.mark.parametrize("name", ["nothing.yaml", "."])
def test_no_file_is_a_finding(name: str, tmp_path: Path) -> None:
    with pytest.raises(FindingsError):
        read_price_file(tmp_path / name, load_catalog())


def test_line_ends_and_a_byte_order_mark_make_no_difference(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    odd = read_price_file(path, load_catalog())
    assert set(odd.prices) == set(read(GOOD, tmp_path).prices)


@pytest.mark.parametrize(
    ("content", "id_"),
    [(GOOD.encode("utf-16"), "NK005"), (b"#" * 50_000_000, "NK004"), (b"", "NK006"), (b"- 1\n", "NK011")],
)
def test_no_text_no_mapping_or_far_too_long(content: bytes, id_: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_bytes(content)
    with pytest.raises(FindingsError) as raised:
        read_price_file(path, load_catalog())
    assert [finding.id for finding in raised.value.findings] == [id_]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10)
    | st.sampled_from(["trn1.32xlarge", "us-east-2", "hour", "2026-11-01", "nat-gateway", "AmazonEC2", "block", "spot"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=6), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip
ROWS = st.lists(
    st.dictionaries(st.sampled_from([*PRICE_KEYS, *DISCOUNT_KEYS, "eur", "x"]), VALUES, max_size=8),
    max_size=3,
)


@settings(deadline=None)
@given(
    content=st.fixed_dictionaries(
        {}, optional={"prices": ROWS | VALUES, "discounts": ROWS | VALUES, "more": VALUES}
    )
)
def test_whatever_stands_in_it_it_is_read_or_refused(
    content: dict[str, object], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("prices") / "prices.yaml"
    path.write_text(json.dumps(content), encoding="utf-8")
    found, refused = None, ()
    try:
        found = read_price_file(path, load_catalog())
    except FindingsError as error:
        refused = error.findings
    assert (found is None) == bool(refused)
    assert all(f.severity == "error" and f.text().isprintable() for f in refused)
    for prices in found.prices.values() if found else ():
        assert all(price.usd and price.usd > 0 and price.as_of for price in prices.values())
