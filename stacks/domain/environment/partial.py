"""What is left of a misshapen environment once the misshapen parts are taken out.

So that one run shows the unknown key *and* the instance type that does not exist. What depends on a part that was taken
out goes with it: no finding may blame a user for what the kit removed.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from pydantic import ValidationError

from stacks.domain.environment.model import Environment
from stacks.domain.environment.shape import place_of
from stacks.domain.environment.source import Path, Source
from stacks.domain.findings import closest

ROUNDS_MAX = 10
_BROUGHT = ("vpc", "subnet_id", "security_group_id")
_ENTRIES = ("capacity", "clusters", "jobs", "fleets", "shifts")
_WHOLE = ("fleets", "shifts")
"""Their keys hang together (cores and memory, windows and times): what is left of one of these means something else."""
# Section, the key that names an entry of another section, and that section.
_REFERENCES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("clusters", ("capacity",), "capacity"),
    ("fleets", ("capacity",), "capacity"),
    ("fleets", ("fallback", "capacity"), "capacity"),
    ("jobs", ("cluster",), "clusters"),
    ("shifts", ("cluster",), "clusters"),
    ("shifts", ("fleet",), "fleets"),
)
# Values of which no rule asks more than whether they are there.
_STAND_INS: dict[str, Any] = {"name": "environment", "owner": "owner", "lifetime_days": 1, "budget_usd": 1e12}
# The shape wants one entry at least; these are taken out again before a rule could see them.
_STAND_IN_ENTRIES: dict[str, Any] = {
    "capacity": {"stand-in": {"kind": "on-demand"}},
    "clusters": {
        "stand-in": {"scheduler": "batch", "instance_type": "-", "nodes": 1, "capacity": "stand-in"}
    },
}


def well_shaped_part(source: Source) -> Environment | None:
    """None when too little is left: no region, or no network."""
    data: Any = deepcopy(source.data)
    for _ in range(ROUNDS_MAX):
        _take_out_dependents(data, source.data)
        emptied = [section for section in _STAND_IN_ENTRIES if not data.get(section)]
        filled = {**data, **{section: _STAND_IN_ENTRIES[section] for section in emptied}}
        try:
            return Environment.model_validate(filled).model_copy(update={section: {} for section in emptied})
        except ValidationError as error:
            for details in sorted(error.errors(), key=lambda d: d["type"] == "missing"):
                _take_out(data, tuple(part for part in details["loc"] if part != "[key]"), details["type"])
    return None


def _take_out(data: Any, path: Path, kind: str) -> None:
    if kind == "missing":
        if _is_there(data, path):
            return
        if path[0] in _ENTRIES and len(path) > 2:
            _delete(data, path[:2])
        elif len(path) == 1 and path[0] in _STAND_INS:
            data[path[0]] = _STAND_INS[str(path[0])]
        return
    if path[0] in _WHOLE and kind != "extra_forbidden":
        path = path[:2]
    value = _delete(data, path)
    if kind == "extra_forbidden" and _is_there(data, path[:-1]):
        _put_under_nearest_key(data, path, value)


def _put_under_nearest_key(data: Any, path: Path, value: Any) -> None:
    """A misspelt key's value is looked at, too, under the key that was probably meant."""
    parent = data
    for part in path[:-1]:
        parent = parent[part]
    model = place_of(path[:-1]).model
    near = closest(str(path[-1]), model.model_fields) if model else None
    if near is not None and near not in parent:
        parent[near] = value


def _is_there(data: Any, path: Path) -> bool:
    for part in path:
        if not isinstance(data, dict) or part not in data:
            return False
        data = data[part]
    return True


def _delete(data: Any, path: Path) -> Any:
    """What was there. A list is taken out whole: its items have no names that could be missed."""
    parent = data
    for index, part in enumerate(path[:-1]):
        if not isinstance(parent, dict) or part not in parent:
            return None
        if isinstance(parent[part], tuple):
            return _delete(data, path[: index + 1])
        parent = parent[part]
    return parent.pop(path[-1], None) if isinstance(parent, dict) else None


def _take_out_dependents(data: Any, original: Any) -> None:
    """Entries that name what was taken out, or a section in which nothing is left; not what was never there."""
    _take_out_what_is_half(data, original)
    for section, keys, on in _REFERENCES:
        entries, left = _mapping(data.get(section)), _mapping(data.get(on))
        gone = _mapping(original.get(on)).keys() - left.keys()
        for name, entry in list(entries.items()):
            if not left or str(_value(entry, keys)) in gone:
                del entries[name]


def _take_out_what_is_half(data: Any, original: Any) -> None:
    """A network without one of its ids or the fleets that some are for, and a cluster whose type's name a shape explained."""
    network, brought = _mapping(data.get("network")), _mapping(original.get("network"))
    if any(key in brought and key not in network for key in _BROUGHT):
        for key in _BROUGHT:
            network.pop(key, None)
    if _mapping(original.get("fleets")) and not _mapping(data.get("fleets")):
        network.pop("load_balancer_subnet_ids", None)
    clusters = _mapping(data.get("clusters"))
    for name, cluster in list(clusters.items()):
        was = _mapping(_mapping(original.get("clusters")).get(name))
        if "shape" in was and "shape" not in _mapping(cluster):
            del clusters[name]


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _value(entry: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        entry = _mapping(entry).get(key)
    return entry
