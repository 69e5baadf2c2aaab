"""search, buy and status on the local cloud's market; the purchase under faults."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.integration.killing import killed_at
from tests.integration.pilots import Pilot

pytestmark = [pytest.mark.local_cloud, pytest.mark.timeout(300), pytest.mark.xdist_group("capacity_market")]
PURCHASE = {"service": "ec2", "action": "PurchaseCapacityBlock"}
SEARCH = {"service": "ec2", "action": "DescribeCapacityBlockOfferings"}


@pytest.fixture
def market(new_pilot: Callable[..., Pilot]) -> Iterator[Pilot]:
    """A file that needs a block, in an account of its own that nothing was done to."""
    made = new_pilot(bootstrapped=False)
    yield made
    made.admin("DELETE", "faults")


def offers(market: Pilot, *options: str) -> list[dict[str, Any]]:
    (search,) = market.json("capacity search", *options)["searches"]
    found: list[dict[str, Any]] = search["offers"]
    return found


def offering(market: Pilot, *options: str) -> str:
    return next(str(offer["id"]) for offer in offers(market, *options) if offer["is_in_the_files_zone"])


def bought(market: Pilot) -> list[str]:
    found = market.client("ec2").describe_capacity_reservations()["CapacityReservations"]
    return [block["CapacityReservationId"] for block in found]


@pytest.mark.node
def test_from_search_to_deploy(new_pilot: Callable[..., Pilot]) -> None:
    market = new_pilot()
    before = market.file.read_bytes()
    listed = offers(market)
    prices = [float(offer["fee_per_useful_chip_hour"]) for offer in listed]
    assert prices == sorted(prices)
    assert {offer["nodes"] for offer in listed} == {4}
    chosen = offering(market)
    done = market.json("capacity buy", chosen, "--max-fee", "30000", "--yes")
    assert done["is_emulated"] is True
    assert bought(market) == [done["id"]]
    assert market.file.read_bytes() == before.replace(b"id: null", b"id: " + done["id"].encode(), 1)
    assert "not bought yet" not in market.run("check").stderr
    (standing,) = market.json("capacity status", "--timezone", "Asia/Kolkata")["capacities"]
    reservation = standing["reservation"]
    assert (reservation["state"], reservation["interconnect"], reservation["total"]) == ("scheduled", "ok", 4)
    assert standing["moments"]["reclaim_utc"][11:16] == "11:00"
    assert standing["moments"]["reclaim_local"][11:16] == "16:30"
    assert len(standing["extensions"]) == 1
    market.run("deploy", "--yes")
    templates = market.client("ec2").describe_launch_template_versions(Versions=["$Latest"])
    data = templates["LaunchTemplateVersions"][0]["LaunchTemplateData"]
    target = data["CapacityReservationSpecification"]["CapacityReservationTarget"]
    assert target["CapacityReservationId"] == done["id"]


def test_a_client_killed_at_the_purchase_buys_no_second_block(market: Pilot) -> None:
    """The fault holds the call in the server; the client dies; then the purchase goes through."""
    before, chosen = market.file.read_bytes(), offering(market)
    killed_at(market, PURCHASE, "capacity buy", chosen, "--max-fee", "30000", "--yes")
    assert market.file.read_bytes() == before
    (block,) = _eventually(lambda: bought(market))
    done = market.json("capacity buy", chosen, "--max-fee", "30000", "--yes")
    assert (done["id"], done["is_new"]) == (block, False)
    assert bought(market) == [block]
    assert f"id: {block}".encode() in market.file.read_bytes()


def _eventually(found: Callable[[], list[str]]) -> list[str]:
    """The server goes on with a call after its client has died; asking it again is waiting enough."""
    for _ in range(50):
        if ids := found():
            return ids
    raise AssertionError("the purchase never went through")


def test_a_refused_or_throttled_purchase_is_sent_once_and_changes_nothing(market: Pilot) -> None:
    before, chosen = market.file.read_bytes(), offering(market)
    for code, words in (
        ("UnauthorizedOperation", "ec2:PurchaseCapacityBlock"),
        ("RequestLimitExceeded", "throttled"),
    ):
        market.admin("POST", "faults", {**PURCHASE, "error_code": code, "times": 1, "status_code": 403})
        refused = market.run("capacity buy", chosen, "--max-fee", "30000", "--yes", code=3)
        assert words in refused.stderr
        assert market.admin("GET", "faults")["faults"] == []
    assert (bought(market), market.file.read_bytes()) == ([], before)


def test_a_search_outlasts_throttling_and_names_a_missing_permission(market: Pilot) -> None:
    market.admin(
        "POST", "faults", {**SEARCH, "error_code": "RequestLimitExceeded", "status_code": 503, "times": 2}
    )
    assert offers(market)
    market.admin("POST", "faults", {**SEARCH, "error_code": "UnauthorizedOperation", "times": None})
    refused = market.run("capacity search", code=3)
    assert "not allowed: ec2:DescribeCapacityBlockOfferings in us-east-2" in refused.stderr


def test_an_offering_that_somebody_else_bought_is_gone(market: Pilot) -> None:
    chosen = offering(market)
    client = market.client("ec2")
    client.purchase_capacity_block(CapacityBlockOfferingId=chosen, InstancePlatform="Linux/UNIX")
    gone = market.run("capacity buy", chosen, "--max-fee", "30000", "--yes", code=3)
    assert f"the offering {chosen} is gone" in gone.stderr
    assert chosen not in {offer["id"] for offer in offers(market)}


def test_buy_needs_the_options_of_the_search(market: Pilot) -> None:
    chosen = offering(market, "--days", "2")
    assert (
        "is gone, or was found with other options"
        in market.run("capacity buy", chosen, "--max-fee", "30000", "--yes", code=3).stderr
    )
    market.run("capacity buy", chosen, "--days", "2", "--max-fee", "30000", "--yes")
    assert len(bought(market)) == 1


def test_the_budget_is_the_users_word_and_what_was_paid_counts_in_the_plan(market: Pilot) -> None:
    text = market.file.read_text()
    market.file.write_text(re.sub(r"budget_usd: \d+", "budget_usd: 20000", text))
    assert {offer["obstacles"][0][:34] for offer in offers(market) if offer["is_in_the_files_zone"]} == {
        "budget_usd of the file is 20,000.0"
    }
    chosen = offering(market)
    refused = market.run("capacity buy", chosen, "--max-fee", "30000", "--yes", code=3)
    assert "budget_usd of the file is 20,000.00 USD" in refused.stderr
    assert bought(market) == []
    market.file.write_text(text)
    command = re.search(
        r"capacity buy \S+ (\S+) --max-fee (\S+)$", market.run("capacity search").stdout, re.MULTILINE
    )
    assert command is not None
    market.run("capacity buy", command[1], "--max-fee", command[2], "--yes")
    cost = market.json("plan", "--live", code=3)["cost"]
    assert cost["usd_upfront"] == float(command[2])


WRONG_WORDS: dict[str, list[str]] = {
    "write digits only": ["--max-fee", "lots"],
    "'NaN': write digits only": ["--max-fee", "NaN"],
    "above 0": ["--max-fee", "0"],
    "Missing option '--max-fee'": [],
    "give one": ["--max-fee", "30000", "--days", "2", "--hours", "48"],
    "no time zone": ["--max-fee", "30000", "--timezone", "Mars/Olympus"],
    "There is nobody to answer": ["--max-fee", "30000"],
}


def test_words_that_are_wrong_buy_nothing(market: Pilot) -> None:
    chosen = offering(market)
    for words, options in WRONG_WORDS.items():
        assert words in market.run("capacity buy", chosen, *options, code=2).stderr
    assert bought(market) == []


def test_zones_durations_and_regions(market: Pilot) -> None:
    elsewhere = next(offer for offer in offers(market) if not offer["is_in_the_files_zone"])
    refused = market.run("capacity buy", elsewhere["id"], "--max-fee", "30000", "--yes", code=3)
    assert f"it is in {elsewhere['zone_id']}, the file's network in use2-az3" in refused.stderr
    (search,) = market.json("capacity search", "--hours", "30", "--everywhere")["searches"]
    assert search["asked"]["duration_hours"] == 48
    assert any("30 hours become 48" in note for note in search["notes"])
    assert {offer["region"] for offer in search["offers"]} == {"us-east-2", "ap-south-2"}


def test_no_offers_is_exit_3_with_one_document_on_stdout(market: Pilot) -> None:
    done = market.run("capacity search", "--type", "trn2.3xlarge", "--json", code=3)
    (search,) = json.loads(done.stdout)["searches"]
    assert search["offers"] == []
    assert "no offers for block: 4 x trn2.3xlarge for 7 days in us-east-2" in done.stderr


def test_an_ultraserver_is_asked_for_and_sold_as_one(market: Pilot) -> None:
    text = market.file.read_text().replace("us-east-2", "ap-south-2").replace("use2-az3", "aps2-az1")
    market.file.write_text(text.replace("instance_type: trn2.48xlarge", "instance_type: trn2u.48xlarge"))
    listed = offers(market)
    assert {(offer["ultraserver_type"], offer["ultraservers"], offer["chips"]) for offer in listed} == {
        ("u-trn2x64", 1, 64)
    }
    refused = market.run("capacity search", "--ultraserver-type", "u-other", "--ultraservers", "1", code=3)
    assert "this account may not buy UltraServers in ap-south-2" in refused.stderr
    market.run("capacity buy", offering(market), "--max-fee", "30000", "--yes")
    (standing,) = market.json("capacity status")["capacities"]
    assert standing["reservation"]["ultraserver_type"] == "u-trn2x64"
    assert standing["moments"]["reclaim_utc"][11:16] == "10:30"


@pytest.fixture
def two_ultraservers(market: Pilot) -> Pilot:
    """Under Slurm: a block for each."""
    text = market.file.read_text().replace("us-east-2", "ap-south-2").replace("use2-az3", "aps2-az1")
    text = text.replace("instance_type: trn2.48xlarge", "instance_type: trn2u.48xlarge")
    slurm = "scheduler: slurm\n    slurm: {shared_storage: {kind: efs}}"
    text = re.sub(r"scheduler: batch", slurm, text)
    text = re.sub(r"budget_usd: \d+", "budget_usd: 100000", text)
    market.file.write_text(re.sub(r"\bnodes: 4\b", "nodes: 8", text, count=1))
    return replace(market, region="ap-south-2")


def test_a_client_killed_between_two_blocks_buys_the_second_only(two_ultraservers: Pilot) -> None:
    market = two_ultraservers
    before = market.file.read_bytes()
    (search,) = market.json("capacity search")["searches"]
    assert (search["asked"]["blocks"], search["asked"]["ultraservers"]) == (2, 1)
    chosen = [offer["id"] for offer in search["offers"] if offer["is_in_the_files_zone"]][:2]
    killed_at(market, PURCHASE, "capacity buy", *chosen, "--max-fee", "900000", "--yes")
    assert market.file.read_bytes() == before
    held = _eventually(lambda: bought(market))
    done = market.json("capacity buy", *chosen, "--max-fee", "900000", "--yes")
    assert (done["missing"], set(held) <= set(done["ids"]), len(done["ids"])) == (0, True, 2)
    assert sorted(bought(market)) == sorted(done["ids"])
    written = f"ids: [{', '.join(done['ids'])}]".encode()
    assert market.file.read_bytes() == before.replace(b"id: null", written, 1)
    assert "not bought yet" not in market.run("check").stderr
    standings = market.json("capacity status")["capacities"]
    assert [one["id"] for one in standings] == done["ids"]
    assert not any(one["found_by_tag"] for one in standings)


def test_two_blocks_a_day_apart_need_the_explicit_word(two_ultraservers: Pilot) -> None:
    market = two_ultraservers
    listed = [offer for offer in offers(market) if not offer["obstacles"]]
    first, same, later = listed[:3]
    assert first["start_utc"] == same["start_utc"] < later["start_utc"]
    assert (
        f"capacity buy {market.file} {first['id']} {same['id']} --max-fee"
        in market.run("capacity search").stdout
    )
    buy = ("capacity buy", first["id"], later["id"], "--max-fee", "90000", "--yes")
    assert "6 days 0 h of 7 days 0 h" in market.run(*buy, code=3).stderr
    assert bought(market) == []
    market.run(*buy, "--overlap-ok")
    assert len(bought(market)) == 2


def test_status_of_a_block_that_is_not_there_is_exit_3(market: Pilot) -> None:
    assert market.json("capacity status")["capacities"][0]["reservation"] is None
    text = market.file.read_text()
    market.file.write_text(text.replace("id: null", "id: cr-00000000000000001"))
    gone = market.run("capacity status", code=3)
    assert "EC2 knows no such reservation" in gone.stdout
    assert "no node can start in block (cr-00000000000000001)" in gone.stderr


def test_what_status_could_not_ask_is_said(market: Pilot) -> None:
    market.run("capacity buy", offering(market), "--max-fee", "30000", "--yes")
    fault = {"service": "ec2", "action": "DescribeCapacityBlockStatus", "error_code": "UnauthorizedOperation"}
    market.admin("POST", "faults", {**fault, "times": None})
    said = market.run("capacity status").stdout
    assert "could not ask: the health of its links: not allowed: ec2:DescribeCapacityBlockStatus" in said
    assert "links      not answered" in said
