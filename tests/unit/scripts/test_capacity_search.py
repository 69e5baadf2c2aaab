"""Regions that answer and regions that do not; UltraServers that an account may not buy."""

from __future__ import annotations

import pytest

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AccessDeniedError, AwsError, CredentialsError, ThrottledError
from scripts.capacity_search import ask, no_offers, regions, search
from stacks.domain.capacity_market.offers import Offer
from stacks.domain.capacity_market.search_report import Found
from stacks.domain.catalog import load_catalog
from stacks.domain.errors import WorldError
from tests.unit.domain.capacity_offers import NOW, an_offer, wanted
from tests.unit.scripts.fakes import a_cloud

Answer = tuple[Offer, ...] | AwsError


def answering(monkeypatch: pytest.MonkeyPatch, answers: dict[str, Answer]) -> list[str]:
    """By region; returns the regions that were asked, in order."""
    asked: list[str] = []

    def offers(cloud: Cloud, parameters: object) -> tuple[Offer, ...]:
        assert parameters == wanted().parameters()
        asked.append(cloud.region)
        answer = answers[cloud.region]
        if isinstance(answer, AwsError):
            raise answer
        return answer

    monkeypatch.setattr("scripts.aws.capacity_blocks.offers", offers)
    return asked


def searched(*regions: str) -> Found:
    return search(a_cloud(), wanted(), wanted(), regions, load_catalog(), NOW)


def test_every_region_is_asked_and_all_offers_are_ranked_together(monkeypatch: pytest.MonkeyPatch) -> None:
    dear, cheap = an_offer(id="dear"), an_offer(id="cheap", region="ap-south-2", fee=1)
    asked = answering(monkeypatch, {"us-east-2": (dear,), "ap-south-2": (cheap,)})
    places = regions(wanted(), load_catalog(), everywhere=True)
    found = searched(*places)
    assert asked == ["us-east-2", "ap-south-2"]
    assert [one.offer.id for one in found.offers] == ["cheap", "dear"]


def test_without_everywhere_only_the_files_region_is_asked() -> None:
    assert regions(wanted(), load_catalog(), everywhere=False) == ("us-east-2",)


@pytest.mark.parametrize(
    "error",
    [
        AccessDeniedError("not allowed: ec2:DescribeCapacityBlockOfferings"),
        ThrottledError("AWS throttled"),
        CredentialsError("the region is not enabled"),
    ],
)
def test_a_region_that_gives_no_answer_is_named_and_the_others_count(
    error: AwsError, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, {"us-east-2": (an_offer(),), "ap-south-2": error})
    found = searched("us-east-2", "ap-south-2")
    assert found.not_asked == (("ap-south-2", error.message),)
    assert len(found.offers) == 1


@pytest.mark.parametrize("error", [AccessDeniedError("not allowed"), ThrottledError("AWS throttled")])
def test_no_answer_at_all_is_an_error(error: AwsError, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, {"us-east-2": error, "ap-south-2": error})
    with pytest.raises(type(error)):
        searched("us-east-2", "ap-south-2")


def test_credentials_that_are_wrong_at_home_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answering(monkeypatch, {"us-east-2": CredentialsError("expired"), "ap-south-2": ()})
    with pytest.raises(CredentialsError):
        searched("us-east-2", "ap-south-2")
    assert asked == ["us-east-2"]


@pytest.mark.parametrize(
    "reason",
    [
        "You are not authorized to use this operation when requesting an EC2 UltraServer",
        "The account is not eligible for UltraServers",
    ],
)
def test_an_account_without_ultraservers_is_told_so_in_words(
    reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> tuple[Offer, ...]:
        raise AccessDeniedError(
            "not allowed", "add ec2:Describe…", code="UnauthorizedOperation", reason=reason
        )

    monkeypatch.setattr("scripts.aws.capacity_blocks.offers", refuse)
    with pytest.raises(WorldError, match="may not buy UltraServers in us-east-2") as caught:
        ask(a_cloud(), wanted(ultraserver_type="u-trn2x64", ultraservers=1))
    assert "no policy of yours changes that" in caught.value.hint
    with pytest.raises(AccessDeniedError):
        ask(a_cloud(), wanted())


def test_no_offers_says_what_was_asked_and_what_else_to_try(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, {"us-east-2": ()})
    error = no_offers(searched("us-east-2"))
    assert error.exit_code == 3
    assert error.message == "no offers for block: 4 x trn2.48xlarge for 7 days in us-east-2"
    assert all(option in error.hint for option in ("--days", "--from", "--nodes", "--everywhere"))
