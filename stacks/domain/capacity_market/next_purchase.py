"""The command after a search: what to buy for the file, or why nothing."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from decimal import Decimal

from stacks.domain.capacity_market.moment_text import span
from stacks.domain.capacity_market.same_time import is_same, overlap, together
from stacks.domain.capacity_market.search_report import Found
from stacks.domain.environment import Capacity
from stacks.domain.reservations import CAPACITY_BLOCK


def next_words(found: Found, capacity: Capacity, options: Sequence[str]) -> str:
    """`options`: those of the search, which the purchase needs again. "" where nothing was found."""
    wanted = found.wanted
    if not found.offers:
        return ""
    if capacity.kind != CAPACITY_BLOCK:
        return f"to buy one, write `kind: {CAPACITY_BLOCK}` under capacity.{wanted.capacity} first"
    if capacity.id is not None or capacity.ids:
        return f"capacity.{wanted.capacity} of the file names its block already"
    takeable = [one.offer for one in found.offers if not found.obstacles(one.offer)]
    if not takeable:
        return "the file can take none of these: the last column says what is in the way"
    chosen = together(takeable, found.blocks) if found.blocks > 1 else (takeable[0],)
    if not chosen:
        return f"no {found.blocks} of these run at the same time: ask again later, or with --from and --until"
    fees = sum((offer.fee or Decimal(0) for offer in chosen), Decimal(0))
    words = [
        "neuronkit capacity buy FILE",
        *(offer.id for offer in chosen),
        f"--max-fee {fees}",
        *map(shlex.quote, options),
    ]
    if is_same(chosen):
        return f"next: {' '.join(words)}"
    return (
        f"no {found.blocks} of these have the same start and end; the longest overlap is {span(overlap(chosen))}, "
        f"and if that will do,\nnext: {' '.join([*words, '--overlap-ok'])}"
    )
