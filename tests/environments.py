"""Environment files for tests: a small valid one, and changes to it by path."""

from __future__ import annotations

import copy
import io
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from stacks.domain.catalog import load_catalog
from stacks.domain.environment import Loaded, read
from stacks.domain.environment.source import parse
from stacks.domain.lock import Lock
from stacks.domain.plan import Plan, make_plan
from stacks.domain.render.starters import STARTERS, starter_text

REMOVED = object()

BASE: dict[str, Any] = {
    "name": "pilot",
    "region": "us-east-2",
    "account": "111122223333",
    "owner": "team",
    "lifetime_days": 7,
    "budget_usd": 100000,
    "network": {"zone_id": "use2-az3"},
    "capacity": {"hourly": {"kind": "on-demand"}},
    "clusters": {
        "train": {"scheduler": "batch", "instance_type": "trn1.32xlarge", "nodes": 4, "capacity": "hourly"}
    },
    "jobs": {
        "smoke": {
            "cluster": "train",
            "framework": "jax",
            "source": "neuronkit:smoke",
            "command": ["python3", "train.py"],
            "time_limit_minutes": 30,
        }
    },
}


def changed(changes: dict[str, Any]) -> str:
    """The base file as YAML with values put at dotted paths; REMOVED takes one out."""
    data = copy.deepcopy(BASE)
    for path, value in changes.items():
        *parents, last = path.split(".")
        place = data
        for part in parents:
            place = place.setdefault(part, {})
        if value is REMOVED:
            del place[last]
        else:
            place[last] = value
    text = io.StringIO()
    YAML().dump(data, text)
    return text.getvalue()


def loaded(text: str, directory: Path = Path()) -> Loaded:
    source = parse(text, "pilot.yaml")
    return Loaded(read(source), source, directory / "pilot.yaml")


def plan_of(changes: dict[str, Any] | None = None, lock: Lock | None = None) -> Plan:
    return make_plan(loaded(changed(changes or {})).environment, lock, load_catalog())


def starters_under(scheduler: str) -> list[str]:
    return [
        name
        for name in STARTERS
        if f"scheduler: {scheduler}"
        in starter_text(name, name="pilot", file="pilot.yaml", schema="schema.json")
    ]


def starter_plan(starter: str, lock: Lock | None = None, **replacements: str) -> Plan:
    text = starter_text(starter, name="pilot", file="pilot.yaml", schema="schema.json")
    for old, new in replacements.items():
        text = text.replace(old, new)
    return make_plan(loaded(text).environment, lock, load_catalog())
