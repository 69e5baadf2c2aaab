"""Buying capacity blocks: listed again, refused when anything differs, each paid once, their ids written into the file.

EC2 has no client token for this purchase. What makes it happen once is ours: the block carries the environment's tags
from its first moment, and every run on this machine, one at a time, looks for such a block before it buys. A run that was killed after the purchase is
so continued by the next one, which buys only what is missing and writes the ids. The place in the file is tried before
any money is spent.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from decimal import Decimal
from pathlib import Path

from scripts.aws import capacity_blocks
from scripts.aws.cloud import Cloud
from scripts.aws.translation import UnreachableError
from scripts.capacity_search import ask
from scripts.machine_lock import machine_lock
from stacks.domain.capacity_market.id_insertion import with_ids
from stacks.domain.capacity_market.moment_text import money
from stacks.domain.capacity_market.offers import USD, Offer
from stacks.domain.capacity_market.purchase import (
    FINAL_WORDS,
    INSTANCE_PLATFORM,
    budget_refusals,
    cautions,
    misfits,
    overlap_refusals,
    purchase_tags,
    refusals,
    require_offering_id,
    together_cautions,
    total_refusals,
)
from stacks.domain.capacity_market.search_report import offer_text
from stacks.domain.capacity_market.wanted import Wanted
from stacks.domain.environment import Environment
from stacks.domain.errors import InputError, KitError, WorldError
from stacks.domain.names import CAPACITY_TAG, ENVIRONMENT_TAG, OFFERING_TAG
from stacks.domain.reservations import Reservation

Ask = Callable[[str], None]
"""Returns when the answer is yes, raises KitError otherwise."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the user said. `another`: buy although there are blocks for this entry that are not over."""

    file: Path
    offering_ids: tuple[str, ...]
    fee_max_usd: Decimal
    """For all blocks of the entry together."""
    another: bool = False
    overlap_ok: bool = False
    """Blocks of the entry may run at the same time for less than what was asked for."""


@dataclass(frozen=True, slots=True)
class Bought:
    ids: tuple[str, ...]
    """Of all blocks of the entry that are there now."""
    offers: tuple[Offer, ...]
    """What this run has bought; an earlier one has bought the rest."""
    missing: int = 0
    """Blocks that are not bought yet: the file stays as it is until they are."""


@dataclass(frozen=True, slots=True)
class Buyer:
    """`say` tells progress, `confirm` asks, `now` is the clock."""

    cloud: Cloud
    environment: Environment
    timezone: tzinfo
    say: Callable[[str], None]
    confirm: Ask
    now: Callable[[], datetime]

    def buy(self, order: Order, wanted: Wanted) -> Bought:
        """Raises KitError; after a purchase its message holds the ids."""
        _check_words(order)
        with machine_lock(
            f"capacity {self.cloud.account} {self.environment.name}", "the purchase of capacity"
        ):
            before = order.file.read_bytes()
            _try_to_write(order.file, before, wanted)
            held = self._held(order, wanted)
            offers, new_ids = self._buy_missing(order, wanted, held)
            ids = (*(block.id for block in held), *new_ids)
            if len(ids) == wanted.blocks:
                _write_ids(order.file, before, wanted.capacity, ids)
        return Bought(ids, offers, wanted.blocks - len(ids))

    def _held(self, order: Order, wanted: Wanted) -> list[Reservation]:
        """What earlier runs have bought for this entry, in the order in which the file will have it."""
        found = self._own_blocks(wanted)
        same = [block for block in found if block.tag(OFFERING_TAG) in order.offering_ids]
        held = same if order.another or len(same) >= wanted.blocks else found
        if len(held) > wanted.blocks:
            raise WorldError(
                f"there are {len(held)} blocks for capacity {wanted.capacity} already: "
                f"{', '.join(block.id for block in held)}",
                f"write the {_ids_word(wanted.blocks)} that you mean into the file; nothing was bought",
            )
        for number, block in enumerate(held, start=1):
            self._check_held(block, wanted)
            self.say(_held_words(block, wanted, number))
        return held

    def _check_held(self, block: Reservation, wanted: Wanted) -> None:
        differences = misfits(block, wanted)
        if differences:
            raise WorldError(
                f"{block.id} was bought for capacity {wanted.capacity} before, but is of {'; '.join(differences)}",
                "change the file back, or buy one more with --another; nothing was bought",
            )

    def _own_blocks(self, wanted: Wanted) -> list[Reservation]:
        tags = {ENVIRONMENT_TAG: self.environment.name, CAPACITY_TAG: wanted.capacity}
        found = capacity_blocks.reservations_with_tags(self.cloud, tags)
        return sorted((block for block in found if not block.is_over), key=lambda block: block.id)

    def _buy_missing(
        self, order: Order, wanted: Wanted, held: list[Reservation]
    ) -> tuple[tuple[Offer, ...], tuple[str, ...]]:
        """What was bought, and the ids."""
        missing = wanted.blocks - len(held)
        bought = {block.tag(OFFERING_TAG) for block in held}
        open_ids = [id_ for id_ in order.offering_ids if id_ not in bought]
        if missing == 0 or not open_ids:
            return (), ()
        if len(open_ids) > missing:
            raise InputError(
                f"{len(open_ids)} offerings are named, and capacity {wanted.capacity} lacks {missing} of "
                f"{wanted.blocks} blocks",
                f"name {missing}; nothing was bought",
            )
        offers = self._listed(order, wanted, open_ids, held)
        together = together_cautions(offers, held, self._earlier())
        for caution in (*_cautions_of_each(offers, self.now()), *together):
            self.say(f"note: {caution}")
        self.confirm(f"Buy {self._what(offers)}? {FINAL_WORDS}.")
        again = self._listed(order, wanted, open_ids, held)
        for offer, now in zip(offers, again, strict=True):
            if now.fee != offer.fee:
                raise WorldError(
                    f"the fee of {offer.id} has changed from {offer.fee} to {now.fee} while you were asked",
                    "give the command again if you accept it; nothing was bought",
                )
        return again, self._pay_for_all(order, wanted, again)

    def _what(self, offers: tuple[Offer, ...]) -> str:
        texts = [offer_text(offer, self.timezone) for offer in offers]
        if len(texts) == 1:
            return texts[0]
        total = sum((offer.fee or Decimal(0) for offer in offers), Decimal(0))
        return f"{len(texts)} blocks for {money(total, USD)} together:\n  " + "\n  ".join(texts) + "\n"

    def _listed(
        self, order: Order, wanted: Wanted, offering_ids: list[str], held: list[Reservation]
    ) -> tuple[Offer, ...]:
        listed = {offer.id: offer for offer in ask(self.cloud, wanted)}
        gone = [id_ for id_ in offering_ids if id_ not in listed]
        if gone:
            raise WorldError(
                f"the offering {', '.join(gone)} is gone, or was found with other options: "
                f"EC2 was asked for {wanted.text()}",
                "`neuronkit capacity search FILE`; give `buy` the options that you searched with. "
                "Nothing was bought",
            )
        offers = tuple(listed[id_] for id_ in offering_ids)
        for offer in offers:
            _refuse(offer.id, refusals(offer, wanted, order.fee_max_usd, self.now()))
        together = (
            *total_refusals(offers, held, order.fee_max_usd),
            *budget_refusals(offers, self._earlier(), wanted.budget_usd),
            *overlap_refusals(offers, held, wanted.hours, is_overlap_ok=order.overlap_ok),
        )
        _refuse(", ".join(offering_ids), together)
        return offers

    def _earlier(self) -> tuple[Reservation, ...]:
        """All that was bought for the environment, over or not, as long as EC2 shows it."""
        return capacity_blocks.reservations_with_tags(self.cloud, {ENVIRONMENT_TAG: self.environment.name})

    def _pay_for_all(self, order: Order, wanted: Wanted, offers: tuple[Offer, ...]) -> tuple[str, ...]:
        """One after the other: each is paid for by itself, and what is paid stays."""
        ids: list[str] = []
        for offer in offers:
            try:
                ids.append(self._pay(order, wanted, offer))
            except KitError as error:
                if not ids:
                    raise
                raise WorldError(
                    f"{_are_yours(ids)}, the next one is not: {error.message}",
                    f"give the same command again: only what is missing is bought. {error.hint}".rstrip(),
                ) from error
            if len(offers) > 1:
                self.say(f"bought {ids[-1]} ({offer.id})")
        return tuple(ids)

    def _pay(self, order: Order, wanted: Wanted, offer: Offer) -> str:
        tags = purchase_tags(self.environment.name, self.environment.owner, wanted.capacity, offer)
        try:
            ids = capacity_blocks.purchase(self.cloud, offer.id, INSTANCE_PLATFORM, tags)
        except UnreachableError as error:
            raise WorldError(
                f"no answer came to the purchase of {offer.id}: it may have been bought ({error.message})",
                "wait a few minutes, as EC2 shows new blocks late, and give the same command again: it looks for the "
                "block before it buys",
            ) from error
        if len(ids) != 1:
            raise WorldError(
                f"bought, with {len(ids)} reservations ({', '.join(ids) or 'EC2 names none'}): a block should have one",
                f"`neuronkit capacity status FILE` lists them; write the one you mean into "
                f"capacity.{wanted.capacity}.{_ids_word(wanted.blocks)}",
            )
        return ids[0]


def _check_words(order: Order) -> None:
    for id_ in order.offering_ids:
        require_offering_id(id_)
    if len(set(order.offering_ids)) < len(order.offering_ids):
        raise InputError("an offering is named twice", "one offering is one block: name each once")


def _held_words(block: Reservation, wanted: Wanted, number: int) -> str:
    words = f"{block.id} ({block.state}) was bought for capacity {wanted.capacity} before: "
    if wanted.blocks > 1:
        return f"{words}it is {number} of {wanted.blocks}"
    return f"{words}its id is written, nothing is bought (--another buys one more)"


def _cautions_of_each(offers: tuple[Offer, ...], as_of: datetime) -> tuple[str, ...]:
    return tuple(dict.fromkeys(caution for offer in offers for caution in cautions(offer, as_of)))


def _refuse(what: str, reasons: Sequence[str]) -> None:
    if reasons:
        raise WorldError(
            f"{what} is not bought:\n" + "\n".join(f"  {reason}" for reason in reasons), "nothing was bought"
        )


def _ids_word(count: int) -> str:
    return "id" if count == 1 else "ids"


def _are_yours(ids: Sequence[str]) -> str:
    return f"{', '.join(ids)} {'is' if len(ids) == 1 else 'are'} yours"


def _try_to_write(file: Path, content: bytes, wanted: Wanted) -> None:
    """Everything that could fail after the purchase is tried before it. Raises InputError."""
    trial = [f"cr-{number:017x}" for number in range(wanted.blocks)]
    with_ids(_text(content, file), str(file), wanted.capacity, trial)
    try:
        with tempfile.TemporaryFile(dir=file.resolve().parent):
            pass
    except OSError as error:
        raise InputError(
            f"{file} could not be replaced after the purchase: {error.strerror}",
            "make its directory writable",
        ) from error


def _write_ids(file: Path, before: bytes, capacity: str, ids: tuple[str, ...]) -> None:
    """Raises WorldError, with the ids in its words."""
    hint = f"write {', '.join(ids)} into capacity.{capacity}.{_ids_word(len(ids))}"
    try:
        if file.read_bytes() != before:
            raise WorldError(f"{_are_yours(ids)}, but {file} was changed meanwhile: it was left alone", hint)
        _replace(file.resolve(), with_ids(_text(before, file), str(file), capacity, ids).encode("utf-8"))
    except OSError as error:
        raise WorldError(
            f"{_are_yours(ids)}, but {file} cannot be written: {error.strerror}", hint
        ) from error


def _replace(path: Path, content: bytes) -> None:
    """The old file or the new one, whatever happens; with the old one's mode."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(path.stat().st_mode & 0o7777)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _text(content: bytes, file: Path) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8 text", "save it as UTF-8") from None
