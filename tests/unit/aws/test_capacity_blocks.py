"""What EC2 answers about capacity blocks becomes our values, whatever it leaves out or calls by new names."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from botocore.stub import Stubber

from scripts.aws import capacity_blocks
from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError
from stacks.domain.capacity_market.offers import Offer
from stacks.domain.reservations import Reservation
from tests.unit.aws.capacity_answers import answer_of

Stubbed = tuple[Cloud, Callable[..., Stubber]]
ASKED = {"InstanceType": "trn2.48xlarge", "InstanceCount": 4, "CapacityDurationHours": 168}
ID = "cr-0123456789abcdef0"
BLOCK = "cb-11112222333344445"
ZONES = {
    "AvailabilityZones": [
        {"ZoneName": "us-east-2c", "ZoneId": "use2-az3"},
        {"ZoneName": "us-east-2a", "ZoneId": "use2-az1"},
    ]
}


def offers_of(stubbed: Stubbed, *names: str) -> tuple[Offer, ...]:
    """Each answer is a page."""
    cloud, stub = stubbed
    ec2 = stub("ec2")
    ec2.add_response("describe_availability_zones", ZONES)
    for page, name in enumerate(names):
        asked = {**ASKED, **({"NextToken": f"page-{page}"} if page else {})}
        rest = {"NextToken": f"page-{page + 1}"} if page + 1 < len(names) else {}
        ec2.add_response("describe_capacity_block_offerings", {**answer_of(name), **rest}, asked)
    return capacity_blocks.offers(cloud, ASKED)


def test_an_offer(stubbed: Stubbed) -> None:
    whole, short = offers_of(stubbed, "offerings")
    assert (whole.id, whole.zone, whole.zone_id, whole.instances) == ("cb-0a1", "us-east-2c", "use2-az3", 4)
    assert (whole.fee, whole.currency, whole.minutes) == (Decimal("24031.10"), "USD", 168 * 60)
    assert whole.start == datetime(2026, 12, 1, 11, 30, tzinfo=UTC)
    assert short.minutes == 164 * 60 + 35  # EC2's minutes are those beyond its hours
    assert short.fee == Decimal(23000)


def test_every_page_is_read(stubbed: Stubbed) -> None:
    found = offers_of(stubbed, "offerings", "offerings-other-currency", "offerings-ultraserver")
    assert [offer.id for offer in found] == ["cb-0a1", "cb-0b2", "cb-0c3", "cb-0a1", "cb-0aa"]


def test_what_is_missing_or_no_number_is_unknown_and_not_zero(stubbed: Stubbed) -> None:
    bare, unreadable, dated = offers_of(stubbed, "offerings-missing-fields")
    assert (bare.fee, bare.minutes, bare.instances, bare.start, bare.currency) == (None, None, None, None, "")
    assert unreadable.fee is None
    assert (dated.minutes, dated.tenancy, dated.currency) == (168 * 60, "", "")


@pytest.mark.parametrize("fee", ["NaN", "-1", "Infinity", "", "1,000", "1e999999"])
def test_a_fee_that_is_no_amount_is_unknown(fee: str, stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("ec2").add_response("describe_availability_zones", ZONES)
    offering = {"CapacityBlockOfferingId": "cb-1", "UpfrontFee": fee}
    stub("ec2").add_response("describe_capacity_block_offerings", {"CapacityBlockOfferings": [offering]})
    assert capacity_blocks.offers(cloud, ASKED)[0].fee is None


def test_segments_have_zones_of_their_own(stubbed: Stubbed) -> None:
    (offer,) = offers_of(stubbed, "offerings-segments")
    assert [(part.zone_id, part.instances, part.minutes) for part in offer.segments] == [
        ("use2-az3", 2, 72 * 60),
        ("use2-az1", 4, 96 * 60),
    ]


def test_words_that_nobody_knows_are_kept(stubbed: Stubbed) -> None:
    (offer,) = offers_of(stubbed, "offerings-unknown-words")
    assert (offer.tenancy, offer.currency) == ("communal", "XYZ")


def test_no_offers(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("ec2").add_response("describe_availability_zones", ZONES)
    stub("ec2").add_response("describe_capacity_block_offerings", {})
    assert capacity_blocks.offers(cloud, ASKED) == ()


@pytest.mark.parametrize(
    ("answer", "ids"),
    [("purchase", (ID,)), ("purchase-two-reservations", (ID, "cr-0123456789abcdef1"))],
)
def test_a_purchase_is_tagged_and_answers_ids(answer: str, ids: tuple[str, ...], stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    sent = {
        "CapacityBlockOfferingId": "cb-1",
        "InstancePlatform": "Linux/UNIX",
        "TagSpecifications": [{"ResourceType": "capacity-reservation", "Tags": [{"Key": "k", "Value": "v"}]}],
    }
    stub("ec2", attempts=1).add_response("purchase_capacity_block", answer_of(answer), sent)
    assert capacity_blocks.purchase(cloud, "cb-1", "Linux/UNIX", {"k": "v"}) == ids


def found(stubbed: Stubbed, answer: str) -> Reservation:
    cloud, stub = stubbed
    stub("ec2").add_response(
        "describe_capacity_reservations", answer_of(answer), {"CapacityReservationIds": [ID]}
    )
    reservation = capacity_blocks.find_reservation(cloud, ID)
    assert reservation is not None
    return reservation


def test_a_reservation(stubbed: Stubbed) -> None:
    reservation = found(stubbed, "reservation")
    assert (reservation.kind, reservation.state, reservation.zone_id) == (
        "capacity-block",
        "active",
        "use2-az3",
    )
    assert (reservation.total, reservation.available, reservation.used) == (4, 3, 1)
    assert (reservation.tenancy, reservation.platform) == ("default", "Linux/UNIX")


def test_a_reservation_of_which_hardly_anything_is_told(stubbed: Stubbed) -> None:
    reservation = found(stubbed, "reservation-missing-fields")
    assert (reservation.state, reservation.end, reservation.total) == ("unknown", None, 0)


def test_a_state_that_nobody_knows(stubbed: Stubbed) -> None:
    reservation = found(stubbed, "reservation-unknown-words")
    assert (reservation.state, reservation.is_known_state, reservation.is_over) == (
        "defrosting",
        False,
        False,
    )


def test_a_reservation_that_is_not_there(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("ec2").add_client_error(
        "describe_capacity_reservations", "InvalidCapacityReservationId.NotFound", "no such"
    )
    assert capacity_blocks.find_reservation(cloud, ID) is None


@pytest.mark.parametrize(
    ("blocks", "status", "ultraserver_type", "interconnect", "unavailable"),
    [
        ("blocks", "status-impaired", "", "impaired", 1),
        ("blocks-ultraserver", "status-impaired", "u-trn2x64", "impaired", 1),
        ("blocks", "status-unknown-words", "", "pondering", None),
    ],
)
@pytest.mark.parametrize("is_named", [True, False])
def test_a_block_tells_its_ultraserver_and_its_health(
    blocks: str,
    status: str,
    ultraserver_type: str,
    interconnect: str,
    unavailable: int | None,
    is_named: bool,
    stubbed: Stubbed,
) -> None:
    """Also when the reservation does not name its block: then the block names the reservation."""
    cloud, stub = stubbed
    named: dict[str, Any] = {"CapacityBlockIds": [BLOCK]} if is_named else {}
    stub("ec2").add_response("describe_capacity_blocks", answer_of(blocks), named)
    stub("ec2").add_response(
        "describe_capacity_block_status", answer_of(status), {"CapacityBlockIds": [BLOCK]}
    )
    reservation = Reservation(
        ID, "capacity-block", "t", "z", 4, 4, "active", block_id=BLOCK if is_named else ""
    )
    asked = capacity_blocks.with_block(cloud, reservation)
    assert (asked.block_id, asked.ultraserver_type) == (BLOCK, ultraserver_type)
    assert (asked.interconnect, asked.unavailable) == (interconnect, unavailable)


def test_a_block_that_is_not_listed_leaves_its_health_unknown(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("ec2").add_response("describe_capacity_blocks", {"CapacityBlocks": []})
    reservation = Reservation(ID, "capacity-block", "t", "z", 4, 4, "active")
    assert capacity_blocks.with_block(cloud, reservation) == reservation


def test_extensions(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    sent = {"CapacityReservationId": ID, "CapacityBlockExtensionDurationHours": 24}
    stub("ec2").add_response("describe_capacity_block_extension_offerings", answer_of("extensions"), sent)
    offer, bare = capacity_blocks.extension_offers(cloud, ID, 24)
    assert (offer.id, offer.fee, offer.hours) == ("cbe-1", Decimal("3433.01"), 24)
    assert (bare.fee, bare.end) == (None, None)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("UnauthorizedOperation", "not allowed: ec2:DescribeCapacityBlockOfferings in us-east-2"),
        ("RequestLimitExceeded", "AWS throttled ec2:DescribeCapacityBlockOfferings"),
    ],
)
def test_a_refusal_names_the_action(code: str, words: str, stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("ec2").add_response("describe_availability_zones", ZONES)
    stub("ec2").add_client_error("describe_capacity_block_offerings", code, "")
    with pytest.raises(AwsError) as caught:
        capacity_blocks.offers(cloud, ASKED)
    assert words in caught.value.message
