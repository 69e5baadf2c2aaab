"""Buying a capacity block: listed again, refused when anything differs, paid once, its id written into the file.

EC2 has no client token for this purchase. What makes it happen once is ours: the block carries the environment's tags
from its first moment, and every run on this machine, one at a time, looks for such a block before it buys. A run that was killed after the purchase is
so continued by the next one, which writes the id. The place in the file is tried before any money is spent.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from decimal import Decimal
from pathlib import Path
from typing import Final

from scripts.aws import capacity_blocks
from scripts.aws.cloud import Cloud
from scripts.aws.translation import UnreachableError
from scripts.capacity_search import ask
from scripts.machine_lock import machine_lock
from stacks.domain.capacity_market.id_insertion import with_id
from stacks.domain.capacity_market.offers import Offer
from stacks.domain.capacity_market.purchase import (
    FINAL_WORDS,
    INSTANCE_PLATFORM,
    cautions,
    misfits,
    purchase_tags,
    refusals,
    require_offering_id,
)
from stacks.domain.capacity_market.search_report import offer_text
from stacks.domain.capacity_market.wanted import Wanted
from stacks.domain.environment import Environment
from stacks.domain.errors import InputError, WorldError
from stacks.domain.names import CAPACITY_TAG, ENVIRONMENT_TAG, OFFERING_TAG
from stacks.domain.reservations import Reservation

_TRIAL_ID: Final = "cr-00000000000000000"
Ask = Callable[[str], None]
"""Returns when the answer is yes, raises KitError otherwise."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the user said. `another`: buy although there is a block for this entry that is not over."""

    file: Path
    offering_id: str
    fee_max_usd: Decimal
    another: bool = False


@dataclass(frozen=True, slots=True)
class Bought:
    id: str
    offer: Offer | None
    """None: an earlier run has bought it."""


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
        """Raises KitError; after the purchase its message holds the id."""
        require_offering_id(order.offering_id)
        with machine_lock(
            f"capacity {self.cloud.account} {self.environment.name}", "the purchase of capacity"
        ):
            before = order.file.read_bytes()
            _try_to_write(order.file, before, wanted.capacity)
            bought = self._bought_earlier(order, wanted) or self._buy_now(order, wanted)
            _write_id(order.file, before, wanted.capacity, bought.id)
        return bought

    def _bought_earlier(self, order: Order, wanted: Wanted) -> Bought | None:
        found = self._own_blocks(wanted)
        same = [block for block in found if self._is_of_offering(block, order.offering_id)]
        candidates = same or ([] if order.another else found)
        if len(candidates) > 1:
            raise WorldError(
                f"there are {len(candidates)} blocks for capacity {wanted.capacity} already: "
                f"{', '.join(block.id for block in candidates)}",
                "write the id of the one you mean into the file; nothing was bought",
            )
        if not candidates:
            return None
        differences = misfits(candidates[0], wanted)
        if differences:
            raise WorldError(
                f"{candidates[0].id} was bought for capacity {wanted.capacity} before, but is of {'; '.join(differences)}",
                "change the file back, or buy one more with --another; nothing was bought",
            )
        self.say(
            f"{candidates[0].id} ({candidates[0].state}) was bought for capacity {wanted.capacity} before: "
            "its id is written, nothing is bought (--another buys one more)"
        )
        return Bought(candidates[0].id, None)

    def _own_blocks(self, wanted: Wanted) -> list[Reservation]:
        tags = {ENVIRONMENT_TAG: self.environment.name, CAPACITY_TAG: wanted.capacity}
        found = capacity_blocks.reservations_with_tags(self.cloud, tags)
        return [block for block in found if not block.is_over]

    def _is_of_offering(self, block: Reservation, offering_id: str) -> bool:
        tags = {ENVIRONMENT_TAG: self.environment.name, OFFERING_TAG: offering_id}
        found = capacity_blocks.reservations_with_tags(self.cloud, tags)
        return block.id in {one.id for one in found}

    def _buy_now(self, order: Order, wanted: Wanted) -> Bought:
        offer = self._listed(order, wanted)
        for caution in cautions(offer, self.now()):
            self.say(f"note: {caution}")
        self.confirm(f"Buy {offer_text(offer, self.timezone)}? {FINAL_WORDS}.")
        again = self._listed(order, wanted)
        if again.fee != offer.fee:
            raise WorldError(
                f"the fee of {offer.id} has changed from {offer.fee} to {again.fee} while you were asked",
                "give the command again if you accept it; nothing was bought",
            )
        ids = self._pay(order, wanted)
        if len(ids) != 1:
            raise WorldError(
                f"bought, with {len(ids)} reservations ({', '.join(ids) or 'EC2 names none'}): the file can hold one",
                f"`neuronkit capacity status {order.file}` lists them; write the one you mean into "
                f"capacity.{wanted.capacity}.id",
            )
        return Bought(ids[0], again)

    def _listed(self, order: Order, wanted: Wanted) -> Offer:
        offers = ask(self.cloud, wanted)
        offer = next((one for one in offers if one.id == order.offering_id), None)
        if offer is None:
            raise WorldError(
                f"the offering {order.offering_id} is gone, or was found with other options: "
                f"EC2 was asked for {wanted.text()}",
                f"`neuronkit capacity search {order.file}`; give `buy` the options that you searched with. "
                "Nothing was bought",
            )
        reasons = refusals(offer, wanted, order.fee_max_usd, self.now())
        if reasons:
            raise WorldError(
                f"{offer.id} is not bought:\n" + "\n".join(f"  {reason}" for reason in reasons),
                "nothing was bought",
            )
        return offer

    def _pay(self, order: Order, wanted: Wanted) -> tuple[str, ...]:
        tags = purchase_tags(
            self.environment.name, self.environment.owner, wanted.capacity, order.offering_id
        )
        try:
            return capacity_blocks.purchase(self.cloud, order.offering_id, INSTANCE_PLATFORM, tags)
        except UnreachableError as error:
            raise WorldError(
                f"no answer came to the purchase of {order.offering_id}: it may have been bought ({error.message})",
                "wait a few minutes, as EC2 shows new blocks late, and give the same command again: it looks for the "
                "block before it buys",
            ) from error


def _try_to_write(file: Path, content: bytes, capacity: str) -> None:
    """Everything that could fail after the purchase is tried before it. Raises InputError."""
    with_id(_text(content, file), str(file), capacity, _TRIAL_ID)
    try:
        with tempfile.TemporaryFile(dir=file.resolve().parent):
            pass
    except OSError as error:
        raise InputError(
            f"{file} could not be replaced after the purchase: {error.strerror}",
            "make its directory writable",
        ) from error


def _write_id(file: Path, before: bytes, capacity: str, id_: str) -> None:
    """Raises WorldError, with the id in its words."""
    try:
        if file.read_bytes() != before:
            raise WorldError(
                f"{id_} is yours, but {file} was changed meanwhile: it was left alone",
                f"write {id_} into capacity.{capacity}.id",
            )
        _replace(file.resolve(), with_id(_text(before, file), str(file), capacity, id_).encode("utf-8"))
    except OSError as error:
        raise WorldError(
            f"{id_} is yours, but {file} cannot be written: {error.strerror}",
            f"write {id_} into capacity.{capacity}.id",
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
