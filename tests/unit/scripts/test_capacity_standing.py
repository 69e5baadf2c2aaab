"""What is asked of EC2 for a file's reservations, and what is said when it does not answer."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AccessDeniedError, CredentialsError
from scripts.capacity_standing import standings
from stacks.domain.capacity_market.standing import ExtensionOffer, Standing
from stacks.domain.reservations import Reservation
from tests.environments import changed, loaded
from tests.unit.scripts.fakes import a_cloud

ID = "cr-0123456789abcdef0"
END = datetime(2026, 12, 8, 11, 30, tzinfo=UTC)
BLOCK = Reservation(ID, "capacity-block", "trn2.48xlarge", "use2-az3", 4, 4, "active", end=END)
OFFER = ExtensionOffer("cbe-1", END, None, 24, Decimal(1), "USD")


@pytest.fixture
def ec2(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What EC2 answers; an error is raised."""
    answers: dict[str, Any] = {
        "find_reservation": BLOCK,
        "reservations_with_tags": (),
        "with_block": replace(BLOCK, interconnect="ok"),
        "extension_offers": (OFFER,),
    }

    def answer(name: str) -> Any:
        def called(cloud: Cloud, *_: object) -> Any:
            if isinstance(answers[name], Exception):
                raise answers[name]
            return answers[name]

        return called

    for name in answers:
        monkeypatch.setattr(f"scripts.aws.capacity_blocks.{name}", answer(name))
    return answers


def ask(**changes: Any) -> tuple[Standing, ...]:
    values = {
        "capacity.block": {"kind": "capacity-block", "id": changes.pop("id", ID)},
        "clusters.train.capacity": "block",
        **{path.replace("__", "."): value for path, value in changes.items()},
    }
    return standings(a_cloud(), loaded(changed(values)).environment, 24)


def test_a_block(ec2: dict[str, Any]) -> None:
    (standing,) = ask(jobs__smoke__checkpoint_minutes=10)
    assert standing.reservation == ec2["with_block"]
    assert standing.extensions == (OFFER,)
    assert (standing.checkpoint_seconds, standing.jobs_without_checkpoint) == (600, ())
    assert standing.not_asked == ()


def test_a_job_that_does_not_say_how_often_it_saves(ec2: dict[str, Any]) -> None:
    (standing,) = ask()
    assert (standing.checkpoint_seconds, standing.jobs_without_checkpoint) == (0, ("smoke",))


@pytest.mark.parametrize(
    ("call", "words"), [("with_block", "the health of its links"), ("extension_offers", "extensions")]
)
def test_a_refused_question_is_said_and_the_others_are_answered(
    call: str, words: str, ec2: dict[str, Any]
) -> None:
    ec2[call] = AccessDeniedError("not allowed: ec2:Describe")
    (standing,) = ask()
    assert standing.not_asked == (f"{words}: not allowed: ec2:Describe",)
    assert standing.reservation is not None
    assert standing.reservation.state == "active"


def test_without_credentials_there_is_no_standing(ec2: dict[str, Any]) -> None:
    ec2["with_block"] = CredentialsError("expired")
    with pytest.raises(CredentialsError):
        ask()


def test_a_block_that_is_over_is_offered_no_extension(ec2: dict[str, Any]) -> None:
    ec2["with_block"] = replace(BLOCK, state="expired")
    (standing,) = ask()
    assert standing.extensions == ()
    assert standing.is_gone


def test_an_on_demand_reservation_is_asked_nothing_about_blocks(ec2: dict[str, Any]) -> None:
    ec2["find_reservation"] = replace(BLOCK, kind="default")
    ec2["with_block"] = AssertionError("no block")
    (standing,) = ask()
    assert standing.extensions == ()


def test_an_id_that_ec2_does_not_know(ec2: dict[str, Any]) -> None:
    ec2["find_reservation"] = None
    (standing,) = ask()
    assert standing.is_gone


def test_without_an_id_what_was_bought_is_found_by_its_tags(ec2: dict[str, Any]) -> None:
    over = replace(BLOCK, id="cr-00000000000000001", state="expired")
    ec2["reservations_with_tags"] = (BLOCK, over)
    (standing,) = ask(id=None)
    assert standing.found_by_tag
    assert standing.reservation is not None
    assert standing.reservation.id == ID


def test_what_was_never_bought(ec2: dict[str, Any]) -> None:
    (standing,) = ask(id=None)
    assert (standing.reservation, standing.is_gone, standing.found_by_tag) == (None, False, False)


def test_on_demand_capacity_has_no_standing(ec2: dict[str, Any]) -> None:
    assert standings(a_cloud(), loaded(changed({})).environment, 24) == ()


def test_each_of_several_ids_has_its_standing(ec2: dict[str, Any]) -> None:
    ids = [ID, "cr-0123456789abcdef1"]
    found = ask(capacity__block={"kind": "capacity-block", "ids": ids})
    assert [(one.id, one.found_by_tag, one.is_gone) for one in found] == [(id_, False, False) for id_ in ids]
