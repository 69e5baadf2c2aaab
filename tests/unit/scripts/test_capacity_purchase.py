"""A block is bought once, whatever happens; its id is never lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError, UnreachableError
from scripts.capacity_purchase import Bought, Buyer, Order
from stacks.domain.capacity_market.offers import Offer
from stacks.domain.errors import InputError, KitError, WorldError
from stacks.domain.reservations import Reservation
from tests.environments import changed, loaded
from tests.unit.domain.capacity_offers import NOW, an_offer, wanted
from tests.unit.scripts.fakes import a_cloud

ID = "cr-0123456789abcdef0"
TEXT = "# ours\r\ncapacity:\r\n  block: {kind: capacity-block, id: null}  # soon\r\n"
AFTER = TEXT.replace("null", ID)


@dataclass
class Market:
    """EC2 as far as a purchase sees it. `meanwhile` runs while the purchase is made."""

    offers: list[Offer] = field(default_factory=lambda: [an_offer()])
    blocks: list[tuple[Reservation, dict[str, str]]] = field(default_factory=list)
    purchases: list[str] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None
    answer_lost: bool = False
    ids: tuple[str, ...] | None = (ID,)
    """Of every purchase; None: another one for each."""

    def list(self, _: Cloud, __: object) -> tuple[Offer, ...]:
        return tuple(self.offers)

    def purchase(self, _: Cloud, offering: str, platform: str, tags: dict[str, str]) -> tuple[str, ...]:
        assert platform == "Linux/UNIX"
        self.purchases.append(offering)
        self.offers = [offer for offer in self.offers if offer.id != offering]
        ids = (f"cr-{len(self.purchases):017x}",) if self.ids is None else self.ids
        self.blocks += [(a_block(id_), tags) for id_ in ids]
        self.meanwhile()
        if self.answer_lost:
            raise UnreachableError("no connection to ec2")
        return ids

    def tagged(self, _: Cloud, tags: dict[str, str]) -> tuple[Reservation, ...]:
        return tuple(
            replace(block, tags=tuple(own.items()))
            for block, own in self.blocks
            if tags.items() <= own.items()
        )


def a_block(id_: str = ID, state: str = "payment-pending") -> Reservation:
    return Reservation(id_, "capacity-block", "trn2.48xlarge", "use2-az3", 4, 4, state)


def tags(offering: str = "cb-1", capacity: str = "block", environment: str = "pilot") -> dict[str, str]:
    return {
        "neuronkit:environment": environment,
        "neuronkit:capacity": capacity,
        "neuronkit:offering": offering,
    }


@pytest.fixture
def market(monkeypatch: pytest.MonkeyPatch) -> Market:
    market = Market()
    monkeypatch.setattr("scripts.aws.capacity_blocks.offers", market.list)
    monkeypatch.setattr("scripts.aws.capacity_blocks.purchase", market.purchase)
    monkeypatch.setattr("scripts.aws.capacity_blocks.reservations_with_tags", market.tagged)
    return market


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pilot.yaml"
    path.write_bytes(TEXT.encode())
    return path


def buy(
    file: Path, *, offering: str = "cb-1", fee_max: int = 30_000, another: bool = False, **more: Any
) -> Bought:
    said: list[str] = more.pop("said", [])
    buyer = Buyer(
        a_cloud(),
        loaded(changed({})).environment,
        UTC,
        say=said.append,
        confirm=more.pop("confirm", lambda _: None),
        now=lambda: NOW,
    )
    return buyer.buy(
        Order(
            file, more.pop("offerings", (offering,)), Decimal(fee_max), another, more.pop("overlap_ok", False)
        ),
        more.pop("want", wanted()),
    )


def content(file: Path) -> str:
    return file.read_bytes().decode()


def test_a_purchase_writes_the_id_and_changes_nothing_else(market: Market, file: Path) -> None:
    file.chmod(0o640)
    bought = buy(file)
    assert (bought.ids, market.purchases) == ((ID,), ["cb-1"])
    assert content(file) == AFTER
    assert file.stat().st_mode & 0o777 == 0o640
    assert list(file.parent.iterdir()) == [file]
    assert market.blocks[0][1] == {**tags(), "neuronkit:owner": "team", "neuronkit:fee-usd": "24031.10"}


def test_through_a_symbolic_link_the_file_behind_it_is_written(market: Market, file: Path) -> None:
    link = file.parent / "link.yaml"
    link.symlink_to(file)
    buy(link)
    assert link.is_symlink()
    assert content(file) == AFTER


class KilledError(BaseException):
    pass


def test_a_client_killed_between_purchase_and_writing_finds_its_block(market: Market, file: Path) -> None:
    def die() -> None:
        raise KilledError

    market.meanwhile = die
    with pytest.raises(KilledError):
        buy(file)
    assert content(file) == TEXT
    said: list[str] = []
    assert buy(file, said=said) == Bought((ID,), ())
    assert (market.purchases, content(file)) == (["cb-1"], AFTER)
    assert "nothing is bought" in said[0]


def test_also_when_the_next_run_asks_for_another_offering(market: Market, file: Path) -> None:
    """The first one is sold, so a search cannot list it any more."""
    market.blocks = [(a_block(), tags())]
    market.offers = [an_offer(id="cb-2")]
    assert buy(file, offering="cb-2").ids == (ID,)
    assert market.purchases == []


def test_another_block_is_bought_only_on_the_explicit_word(market: Market, file: Path) -> None:
    market.blocks = [(a_block("cr-00000000000000001"), tags("cb-0"))]
    assert buy(file, another=True).ids == (ID,)
    assert market.purchases == ["cb-1"]


def test_another_does_not_buy_the_same_offering_twice(market: Market, file: Path) -> None:
    market.blocks = [(a_block(), tags()), (a_block("cr-00000000000000001"), tags("cb-0"))]
    assert buy(file, another=True).ids == (ID,)
    assert market.purchases == []


def test_an_answer_that_is_lost_is_no_licence_to_buy_again(market: Market, file: Path) -> None:
    market.answer_lost = True
    with pytest.raises(WorldError, match="it may have been bought") as caught:
        buy(file)
    assert "wait a few minutes" in caught.value.hint
    assert buy(file).ids == (ID,)
    assert market.purchases == ["cb-1"]


@pytest.mark.parametrize(
    "other", [tags(capacity="second"), tags(environment="pilot-2"), {"neuronkit:offering": "cb-1"}]
)
def test_blocks_of_others_are_not_ours(other: dict[str, str], market: Market, file: Path) -> None:
    market.blocks = [(a_block("cr-00000000000000001"), other)]
    assert buy(file).ids == (ID,)
    assert market.purchases == ["cb-1"]


@pytest.mark.parametrize("state", ["expired", "cancelled", "failed", "payment-failed"])
def test_a_block_that_is_over_is_not_used(state: str, market: Market, file: Path) -> None:
    market.blocks = [(a_block("cr-00000000000000001", state), tags("cb-0"))]
    assert buy(file).ids == (ID,)
    assert market.purchases == ["cb-1"]


def test_several_blocks_are_left_to_the_user(market: Market, file: Path) -> None:
    market.blocks = [(a_block(f"cr-0000000000000000{n}"), tags(f"cb-x{n}")) for n in (1, 2)]
    with pytest.raises(WorldError, match="there are 2 blocks for capacity block already"):
        buy(file)
    assert (market.purchases, content(file)) == ([], TEXT)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"instance_type": "trn1.32xlarge"}, "is of trn1.32xlarge, the file wants trn2.48xlarge"),
        ({"zone_id": "use2-az1"}, "use2-az1, the file wants use2-az3"),
    ],
)
def test_a_block_that_does_not_fit_the_file_any_more_is_not_written(
    change: dict[str, str], words: str, market: Market, file: Path
) -> None:
    market.blocks = [(replace(a_block(), **change), tags())]  # type: ignore[arg-type]
    with pytest.raises(WorldError, match="was bought for capacity block before") as caught:
        buy(file)
    assert words in caught.value.message
    assert (market.purchases, content(file)) == ([], TEXT)


@pytest.mark.parametrize("offering", ["", "cb 1", "cb-1\x1b[31m", "cb-1\n", "x" * 256, "ü"])
def test_what_cannot_be_an_offering_is_not_asked_for(offering: str, market: Market, file: Path) -> None:
    with pytest.raises(InputError, match="cannot be the id of an offering") as caught:
        buy(file, offering=offering)
    assert caught.value.message.isprintable()


def unwritable(file: Path) -> None:
    file.write_text("capacity:\n  block: {kind: capacity-block, id: &x null}\n")


def bought_already(file: Path) -> None:
    file.write_text(AFTER)


def not_utf8(file: Path) -> None:
    file.write_bytes(TEXT.encode("utf-16"))


@pytest.mark.parametrize("spoil", [unwritable, bought_already, not_utf8])
def test_a_file_that_cannot_take_the_id_is_refused_before_the_purchase(
    spoil: Callable[[Path], None], market: Market, file: Path
) -> None:
    spoil(file)
    before = file.read_bytes()
    with pytest.raises(InputError):
        buy(file)
    assert (market.purchases, file.read_bytes()) == ([], before)


def test_a_directory_that_takes_no_file_is_refused_before_the_purchase(
    market: Market, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(InputError, match="could not be replaced after the purchase: Permission denied"):
        buy(file)
    assert market.purchases == []


def test_a_file_that_was_changed_meanwhile_is_left_alone_and_the_id_is_said(
    market: Market, file: Path
) -> None:
    changed_text = TEXT + "# an editor was here\n"

    def edit() -> None:
        file.write_bytes(changed_text.encode())

    market.meanwhile = edit
    with pytest.raises(WorldError, match=f"{ID} is yours, but .* was changed meanwhile") as caught:
        buy(file)
    assert f"write {ID} into capacity.block.id" in caught.value.hint
    assert content(file) == changed_text


def test_a_write_that_fails_says_the_id_and_leaves_the_file(
    market: Market, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.mkstemp", full)
    with pytest.raises(WorldError, match=f"{ID} is yours, but .* No space left on device"):
        buy(file)
    assert content(file) == TEXT


@pytest.mark.parametrize(
    ("offers", "fee_max", "words"),
    [
        ([], 30_000, "the offering cb-1 is gone"),
        ([an_offer(id="cb-2")], 30_000, "the offering cb-1 is gone"),
        ([an_offer()], 24_031, "the fee is 24031.10 USD, --max-fee allows 24031"),
        ([an_offer(currency="EUR")], 30_000, "nothing is converted"),
        ([an_offer(zone_id="use2-az1")], 30_000, "it is in use2-az1"),
    ],
)
def test_what_is_refused_buys_nothing(
    offers: list[Offer], fee_max: int, words: str, market: Market, file: Path
) -> None:
    market.offers = offers
    with pytest.raises(WorldError, match=r".*") as caught:
        buy(file, fee_max=fee_max)
    assert words in caught.value.message
    assert "othing was bought" in caught.value.hint
    assert (market.purchases, content(file)) == ([], TEXT)


def test_the_question_says_that_it_is_paid_and_final(market: Market, file: Path) -> None:
    def say_no(question: str) -> None:
        assert "24,031.10 USD" in question
        assert "paid now, in full, and cannot be cancelled" in question
        raise InputError("nothing was changed")

    with pytest.raises(InputError):
        buy(file, confirm=say_no)
    assert market.purchases == []


@pytest.mark.parametrize(
    ("later", "words"),
    [
        ([], "is gone"),
        ([an_offer(fee=Decimal(24_032))], "has changed from 24031.10 to 24032 while you were asked"),
    ],
)
def test_what_changes_during_the_question_is_not_bought(
    later: list[Offer], words: str, market: Market, file: Path
) -> None:
    def think(_: str) -> None:
        market.offers = later

    with pytest.raises(WorldError, match=words):
        buy(file, confirm=think)
    assert market.purchases == []


@pytest.mark.parametrize("ids", [(), (ID, "cr-00000000000000001")])
def test_a_purchase_with_not_exactly_one_reservation_is_told_and_not_guessed(
    ids: tuple[str, ...], market: Market, file: Path
) -> None:
    market.ids = ids
    with pytest.raises(WorldError, match=f"bought, with {len(ids)} reservations") as caught:
        buy(file)
    assert all(id_ in caught.value.message for id_ in ids)
    assert content(file) == TEXT


def test_a_refused_purchase_is_an_error_and_no_mystery(market: Market, file: Path) -> None:
    def refuse() -> None:
        raise AwsError("not allowed: ec2:PurchaseCapacityBlock")

    market.meanwhile = refuse
    with pytest.raises(KitError, match="PurchaseCapacityBlock"):
        buy(file)


def test_a_fee_above_the_budget_is_not_paid_whatever_the_user_allows(market: Market, file: Path) -> None:
    small = wanted(budget_usd=Decimal(1_000))
    with pytest.raises(WorldError, match=r"budget_usd of the file is 1,000\.00 USD") as caught:
        buy(file, want=small)
    assert caught.value.exit_code == 3
    assert "write at least 24031.10 there" in caught.value.message
    assert (market.purchases, content(file)) == ([], TEXT)


@pytest.mark.parametrize(("capacity", "state"), [("second", "active"), ("block", "expired")])
def test_what_earlier_blocks_of_the_environment_cost_counts(
    capacity: str, state: str, market: Market, file: Path
) -> None:
    market.blocks = [
        (
            a_block("cr-00000000000000001", state),
            {**tags("cb-0", capacity=capacity), "neuronkit:fee-usd": "500"},
        ),
        (
            a_block("cr-00000000000000002"),
            {**tags("cb-0", environment="another"), "neuronkit:fee-usd": "9000"},
        ),
    ]
    with pytest.raises(WorldError, match=r"500\.00 USD are paid for cr-00000000000000001: "):
        buy(file, want=wanted(budget_usd=Decimal("24531.09")))
    assert buy(file, want=wanted(budget_usd=Decimal("24531.10"))).ids == (ID,)


TWO = wanted(blocks=2)
OFFERINGS = ("cb-1", "cb-2")
IDS = ("cr-00000000000000001", "cr-00000000000000002")
AFTER_TWO = TEXT.replace("id: null", f"ids: [{', '.join(IDS)}]")
FEES = 48_063


@pytest.fixture
def two(market: Market) -> Market:
    """A market with a block for each of two UltraServers."""
    market.ids = None
    market.offers = [an_offer(id=id_) for id_ in (*OFFERINGS, "cb-3")]
    return market


def buy_two(file: Path, *offerings: str, fee_max: int = FEES, **more: Any) -> Bought:
    return buy(file, offerings=offerings or OFFERINGS, want=TWO, fee_max=fee_max, **more)


def test_two_blocks_are_asked_for_once_paid_for_each_and_written_as_a_list(two: Market, file: Path) -> None:
    questions: list[str] = []
    bought = buy_two(file, confirm=questions.append)
    assert (bought.ids, bought.missing, two.purchases) == (IDS, 0, ["cb-1", "cb-2"])
    assert content(file) == AFTER_TWO
    (question,) = questions
    assert "Buy 2 blocks for 48,062.20 USD together" in question
    assert all(id_ in question for id_ in OFFERINGS)
    assert [own["neuronkit:offering"] for _, own in two.blocks] == list(OFFERINGS)


def test_blocks_of_different_times_are_bought_only_on_the_explicit_word(two: Market, file: Path) -> None:
    later = an_offer(id="cb-2")
    assert later.start is not None
    assert later.end is not None
    two.offers[1] = replace(later, start=later.start + timedelta(days=1), end=later.end + timedelta(days=1))
    with pytest.raises(WorldError, match="6 days 0 h of 7 days 0 h; name offerings of the same time"):
        buy_two(file)
    assert two.purchases == []
    assert buy_two(file, overlap_ok=True).ids == IDS


@pytest.mark.parametrize("killed_after", [1, 2])
def test_killed_after_any_purchase_the_same_command_buys_only_what_is_missing(
    killed_after: int, two: Market, file: Path
) -> None:
    def die() -> None:
        if len(two.purchases) == killed_after:
            raise KilledError

    two.meanwhile = die
    with pytest.raises(KilledError):
        buy_two(file)
    assert content(file) == TEXT
    two.meanwhile = lambda: None
    questions: list[str] = []
    assert buy_two(file, confirm=questions.append).ids == IDS
    assert (two.purchases, content(file)) == (["cb-1", "cb-2"], AFTER_TWO)
    assert len(questions) == 2 - killed_after
    assert not any("cb-1" in question for question in questions)


def test_one_at_a_time_is_possible_and_the_file_waits_for_all(two: Market, file: Path) -> None:
    first = buy_two(file, "cb-1")
    assert (first.ids, first.missing, content(file)) == (IDS[:1], 1, TEXT)
    again = buy_two(file, "cb-1")
    assert (again, two.purchases) == (Bought(IDS[:1], (), 1), ["cb-1"])
    second = buy_two(file, "cb-3")
    assert (second.ids, second.missing, content(file)) == (IDS, 0, AFTER_TWO)


def test_a_second_purchase_that_is_refused_says_what_is_yours_and_is_made_up_for(
    two: Market, file: Path
) -> None:
    def refuse() -> None:
        if len(two.purchases) == 2:
            two.blocks.pop()
            raise AwsError("no capacity")

    two.meanwhile = refuse
    with pytest.raises(WorldError, match=f"{IDS[0]} is yours, the next one is not: no capacity") as caught:
        buy_two(file)
    assert "only what is missing is bought" in caught.value.hint
    two.meanwhile = lambda: None
    assert len(buy_two(file, "cb-3").ids) == 2
    assert two.purchases == ["cb-1", "cb-2", "cb-3"]
    assert "id: null" not in content(file)


def test_the_most_that_is_paid_is_for_all_blocks_also_over_several_runs(two: Market, file: Path) -> None:
    with pytest.raises(WorldError, match=r"the fees are 48062\.20 USD together"):
        buy_two(file, fee_max=48_062)
    assert two.purchases == []
    buy_two(file, "cb-1", fee_max=30_000)
    with pytest.raises(WorldError, match=r"24031\.10 of them paid before; --max-fee allows 30000"):
        buy_two(file, "cb-2", fee_max=30_000)
    assert two.purchases == ["cb-1"]


@pytest.mark.parametrize(
    ("offerings", "words"),
    [
        (("cb-1", "cb-1"), "named twice"),
        (("cb-1", "cb-2", "cb-3"), "3 offerings are named, and capacity block lacks 2 of 2 blocks"),
        (("cb-1", "cb 2"), "cannot be the id of an offering"),
        (("cb-1", "cb-9"), "the offering cb-9 is gone"),
    ],
)
def test_words_for_two_blocks_that_buy_nothing(
    offerings: tuple[str, ...], words: str, two: Market, file: Path
) -> None:
    with pytest.raises(KitError, match=words):
        buy_two(file, *offerings)
    assert (two.purchases, content(file)) == ([], TEXT)


def test_no_word_of_the_user_no_second_block(two: Market, file: Path) -> None:
    def say_no(_: str) -> None:
        raise InputError("nothing was changed")

    two.blocks = [(a_block(IDS[0]), tags())]
    with pytest.raises(InputError):
        buy_two(file, confirm=say_no)
    assert two.purchases == []


def test_more_blocks_than_are_wanted_are_left_to_the_user(two: Market, file: Path) -> None:
    two.blocks = [(a_block(f"cr-0000000000000000{n}"), tags(f"cb-x{n}")) for n in (1, 2, 3)]
    with pytest.raises(WorldError, match="there are 3 blocks for capacity block already") as caught:
        buy_two(file)
    assert "write the ids that you mean" in caught.value.hint
    assert two.purchases == []
