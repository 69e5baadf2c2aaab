"""Two templates of one stack, resource by resource: what is added and removed, what changes in place, what is replaced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from scripts.update_behaviour import CREATE_ONLY, CREATE_ONLY_AT_TIMES, IN_PLACE_WITH


class Change(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    IN_PLACE = "changed in place"
    MAYBE_REPLACED = "changed, perhaps replaced"
    REPLACED = "replaced"
    UNKNOWN = "changed; whether in place is not known"


@dataclass(frozen=True, slots=True)
class ResourceChange:
    logical_id: str
    type: str
    change: Change
    properties: tuple[str, ...] = ()
    """What differs, as paths below Properties; none where something beside them does."""
    because_of: str = ""
    """The replaced resource of the same stack that draws this one along."""

    @property
    def name(self) -> str:
        return f"{self.logical_id} ({self.type})"


Resources = Mapping[str, Mapping[str, Any]]


def resource_changes(
    old: Mapping[str, Any] | None, new: Mapping[str, Any] | None
) -> tuple[ResourceChange, ...]:
    """In the order of the logical ids. None: there is no such stack, or it is not in the plan."""
    before: Resources = (old or {}).get("Resources", {})
    after: Resources = (new or {}).get("Resources", {})
    changes = {
        id_: _change(id_, before.get(id_), after.get(id_))
        for id_ in sorted({*before, *after})
        if before.get(id_) != after.get(id_)
    }
    _draw_along(changes, after, before)
    return tuple(changes[id_] for id_ in sorted(changes))


def _change(id_: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> ResourceChange:
    type_name = str((new or old or {}).get("Type", "unknown type"))
    if old is None:
        return ResourceChange(id_, type_name, Change.ADDED)
    if new is None:
        return ResourceChange(id_, type_name, Change.REMOVED)
    if old.get("Type") != new.get("Type"):
        return ResourceChange(id_, type_name, Change.REPLACED)
    properties = new.get("Properties", {})
    differing = tuple(_differing(old.get("Properties", {}), properties))
    in_place = properties.get(IN_PLACE_WITH.get(type_name)) is False
    return ResourceChange(id_, type_name, _kind(type_name, differing, in_place=in_place), differing)


def _kind(type_name: str, properties: tuple[str, ...], *, in_place: bool) -> Change:
    if type_name not in CREATE_ONLY:
        return Change.UNKNOWN
    if any(_is_in(path, CREATE_ONLY[type_name]) for path in properties):
        return Change.REPLACED
    at_times = frozenset() if in_place else CREATE_ONLY_AT_TIMES.get(type_name, frozenset())
    if any(_is_in(path, at_times) for path in properties):
        return Change.MAYBE_REPLACED
    return Change.IN_PLACE


def _is_in(path: str, properties: frozenset[str]) -> bool:
    """Also below one of them, or above: a whole object that came or went."""
    return any(f"{path}/".startswith(f"{p}/") or f"{p}/".startswith(f"{path}/") for p in properties)


def _differing(old: Any, new: Any, path: str = "") -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}):
            yield from _differing(old.get(key), new.get(key), f"{path}/{key}" if path else key)
    elif old != new:
        yield path


def _draw_along(changes: dict[str, ResourceChange], after: Resources, before: Resources) -> None:
    """A create-only property that names a replaced resource gets another value, though its text is the same."""
    replaced = [id_ for id_, change in changes.items() if change.change is Change.REPLACED]
    while replaced:
        source = replaced.pop()
        for id_ in sorted(after.keys() & before.keys()):
            known = changes.get(id_)
            if known is not None and known.change is Change.REPLACED:
                continue
            type_name = str(after[id_].get("Type", ""))
            named = _naming(after[id_].get("Properties", {}), source)
            if any(_is_in(path, CREATE_ONLY.get(type_name, frozenset())) for path in named):
                changes[id_] = ResourceChange(
                    id_, type_name, Change.REPLACED, known.properties if known else (), because_of=source
                )
                replaced.append(id_)


def _naming(value: Any, logical_id: str, path: str = "") -> Iterator[str]:
    """The properties that refer to a resource. Texts of Fn::Sub are not looked into: the kit's stacks have none."""
    if isinstance(value, Mapping):
        target = value.get("Ref") or value.get("Fn::GetAtt")
        if target == logical_id or (isinstance(target, list) and target[:1] == [logical_id]):
            yield path
            return
        for key, inner in value.items():
            is_intrinsic = key.startswith("Fn::")
            yield from _naming(inner, logical_id, path if is_intrinsic else f"{path}/{key}" if path else key)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _naming(inner, logical_id, path)
