"""`neuronkit override`: a person's word against the controllers'. They read it from a parameter of Systems Manager."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from scripts.aws import ssm
from scripts.aws.cloud import Cloud
from stacks.domain import shift_override
from stacks.domain.errors import InputError, WorldError
from stacks.domain.findings import closest, one_of
from stacks.domain.names import fallback_parameter, shift_parameter
from stacks.domain.plan import Plan

FALLBACK_MODES: Final = ("auto", "neuron", "gpu")


@dataclass(frozen=True, slots=True)
class Controlled:
    """What has a controller: a fleet with a fallback, or a shift."""

    path: str
    """As findings write it: fleets.NAME or shifts.NAME."""
    parameter: str
    modes: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.partition(".")[2]


@dataclass(frozen=True, slots=True)
class Overridden:
    controlled: Controlled
    before: Mapping[str, Any] | None
    """None: what was there is not JSON."""
    now: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        of = self.controlled
        return {"name": of.path, "parameter": of.parameter, "before": self.before, "now": dict(self.now)}

    def text(self) -> str:
        was = "unreadable" if self.before is None else _in_words(self.before)
        return (
            f"{self.controlled.path} was {was}; now {_in_words(self.now)}\n"
            f"written to {self.controlled.parameter}; its controller acts at its next call"
        )


def controlled_of(plan: Plan) -> tuple[Controlled, ...]:
    fleets = [fleet.name for fleet in plan.fleets if fleet.fallback is not None]
    return (
        *(Controlled(f"fleets.{n}", fallback_parameter(plan.name, n), FALLBACK_MODES) for n in fleets),
        *(
            Controlled(f"shifts.{s.name}", shift_parameter(plan.name, s.name), shift_override.MODES)
            for s in plan.shifts
        ),
    )


def find_controlled(plan: Plan, name: str, mode: str) -> Controlled:
    """By its name, or by fleets.NAME or shifts.NAME. Raises InputError."""
    known = controlled_of(plan)
    named = [one for one in known if name in (one.name, one.path)]
    if not named:
        words = [one.path for one in known]
        near = closest(name, [one.name for one in known])
        if not words:
            raise InputError(
                "the file has neither a fleet with a fallback nor a shift", "there is nothing to override"
            )
        raise InputError(
            f"{name!r} is neither a fleet with a fallback nor a shift",
            f"did you mean {near}?" if near else f"they are {one_of(words)}",
        )
    fitting = [one for one in named if mode in one.modes]
    if not fitting:
        raise InputError(f"{mode!r} is no mode of {named[0].path}", f"its modes: {one_of(named[0].modes)}")
    if len(fitting) > 1:
        raise InputError(f"{name!r} is a fleet and a shift", f"write {one_of(one.path for one in fitting)}")
    return fitting[0]


def parse_until(text: str | None, now: datetime) -> str | None:
    """With its zone. Raises InputError."""
    if text is None:
        return None
    hint = "write a time with its zone such as 2026-12-01T18:00:00Z or 2026-12-01T18:00+01:00"
    try:
        given = datetime.fromisoformat(text)
        until = given.astimezone(UTC)
    except (ValueError, OverflowError):  # the latter at the ends of the calendar
        raise InputError(f"--until {text!r} is no time", hint) from None
    if given.tzinfo is None:
        raise InputError(f"--until {text!r} says no time zone", hint)
    if until <= now:
        raise InputError(f"--until {text} is over", "an override needs an end in the future, or none")
    return until.isoformat(timespec="seconds")


def override(cloud: Cloud, controlled: Controlled, mode: str, until: str | None, reason: str) -> Overridden:
    """Raises WorldError where the controller's stack is not deployed: a parameter without it would do nothing."""
    text = ssm.find_parameter(cloud, controlled.parameter)
    if text is None:
        raise WorldError(
            f"{controlled.path} is not deployed: there is no parameter {controlled.parameter}",
            "run `neuronkit deploy FILE` first",
        )
    now = {"mode": mode, "until": until, "reason": reason}
    ssm.write_parameter(cloud, controlled.parameter, json.dumps(now))
    return Overridden(controlled, _document(text), now)


def _document(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _in_words(document: Mapping[str, Any]) -> str:
    until, reason = document.get("until"), document.get("reason")
    return f"{document.get('mode')}{f' until {until}' if until else ''}{f' ({reason})' if reason else ''}"
