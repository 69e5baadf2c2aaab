"""Asks AWS's Price List what a plan's parts cost. Each price by itself, in parallel; nothing is bought or changed."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from scripts.aws.cloud import Cloud
from scripts.aws.pricing import price_list_cloud, products
from scripts.aws.session import open_cloud
from scripts.console import Console
from stacks.domain.cost import inventory_of, price_keys
from stacks.domain.errors import KitError
from stacks.domain.plan import Plan
from stacks.domain.price_list import Question, question, read_answer
from stacks.domain.prices import PriceKey, UnitPrice

_AT_ONCE: Final = 8
LOCAL: Final = "the local cloud sells nothing and knows no prices"


@dataclass(frozen=True, slots=True)
class LivePrices:
    prices: dict[PriceKey, UnitPrice] = field(default_factory=dict)
    """Also those that AWS answered, but not with one usable price."""
    not_asked: dict[PriceKey, str] = field(default_factory=dict)
    """Why AWS could not be asked."""


def ask_prices(console: Console, plan: Plan, today: date) -> LivePrices:
    """Never raises a KitError: what could not be asked is said beside the price."""
    asked = {
        key: found
        for key in price_keys(inventory_of(plan))
        if (found := question(key, plan.region)) is not None
    }
    if console.local:
        return LivePrices(not_asked=dict.fromkeys(asked, LOCAL))
    try:
        cloud = price_list_cloud(open_cloud(console, plan.region, plan.account, account_required=False))
    except KitError as error:
        return LivePrices(not_asked=dict.fromkeys(asked, error.message))
    return ask_each(cloud, asked.items(), today)


def ask_each(cloud: Cloud, asked: Iterable[tuple[PriceKey, Question]], today: date) -> LivePrices:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = [(key, pool.submit(_ask, cloud, what, today)) for key, what in asked]
    live = LivePrices()
    for key, answer in answers:
        try:
            live.prices[key] = answer.result()
        except KitError as error:
            live.not_asked[key] = error.message
    return live


def _ask(cloud: Cloud, what: Question, today: date) -> UnitPrice:
    rows = products(cloud, what.service_code, what.attributes, usage_part=what.usage)
    return read_answer(what, rows, today.isoformat())
