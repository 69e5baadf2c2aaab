"""Which prices a plan is worked out with: bundled ones, the user's own file, and AWS's list as it is today."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from pathlib import Path

from scripts.console import Console
from scripts.loading import LoadedPlan, load_plan
from stacks.domain.capacity_market.paid_fees import paid_fees
from stacks.domain.catalog import load_catalog
from stacks.domain.catalog.prices import ServiceItem
from stacks.domain.cost import ASSUMABLE, Basis
from stacks.domain.errors import InputError
from stacks.domain.findings import closest
from stacks.domain.live import LiveFacts
from stacks.domain.price_file import read_price_file
from stacks.domain.prices import Prices


def load_priced_plan(
    console: Console, file: Path, *, price_file: Path | None, as_of: date, assume: Iterable[str]
) -> LoadedPlan:
    """Raises KitError. `assume` are texts like "nat-gateway-data=200"."""
    assumed = dict(_assumption(text) for text in assume)
    if price_file is None:
        return load_plan(file, local=console.local, basis=Basis(as_of=as_of, assumed=assumed))
    own = read_price_file(price_file, load_catalog())
    prices = Prices(own=own.prices, discounts=own.discounts)
    loaded = load_plan(file, local=console.local, basis=Basis(prices, as_of, assumed))
    own.refuse_other_capacities(loaded.loaded.environment.capacity)
    return loaded


def with_live_prices(console: Console, loaded: LoadedPlan, today: date) -> LoadedPlan:
    """What AWS cannot be asked for keeps its bundled price, and says so."""
    # boto3 takes its time to load, and a plan without --live needs none of it.
    from scripts.live_prices import ask_prices  # noqa: PLC0415

    live = ask_prices(console, loaded.plan, today)
    prices = replace(loaded.basis.prices, live=live.prices, not_asked=live.not_asked)
    return loaded.with_basis(replace(loaded.basis, prices=prices))


def with_paid_fees(loaded: LoadedPlan, live: LiveFacts) -> LoadedPlan:
    """With what the blocks that the file names have cost; the user's own prices win."""
    fees = paid_fees(loaded.plan, live)
    if not fees:
        return loaded
    prices = replace(loaded.basis.prices, live={**loaded.basis.prices.live, **fees})
    return loaded.with_basis(replace(loaded.basis, prices=prices))


def _assumption(text: str) -> tuple[ServiceItem, float]:
    name, _, number = text.partition("=")
    item = next((item for item in ASSUMABLE if item == name), None)
    if item is None:
        near = closest(name, ASSUMABLE)
        hint = f"did you mean {near}?" if near else ""
        raise InputError(f"--assume {text}: {name!r} is none of {', '.join(ASSUMABLE)}", hint)
    try:
        quantity = float(number)
    except ValueError:
        quantity = math.nan
    if not 0 <= quantity < math.inf:
        raise InputError(
            f"--assume {text}: {number!r} is no number of 0 or more", f"{item}: {ASSUMABLE[item]}"
        )
    return item, quantity
