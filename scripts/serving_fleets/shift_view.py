"""A shift as `status` shows it: who has the capacity, by its controller's own record, and what comes next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from scripts.aws.cloud import Cloud
from scripts.aws.cloudformation import Stack
from scripts.serving_fleets.questions import Questions
from stacks.domain.names import OUTPUT_SHIFT_FUNCTION, shift_parameter, shift_state_parameter
from stacks.domain.shift_override import Override, read_override
from stacks.domain.shift_plan import ShiftPlan
from stacks.domain.timetable import Event, event_at, next_event
from stacks.domain.windows import DRAIN_SERVING, DRAIN_TRAINING, SERVE, TRAIN, WeeklyWindow
from stacks.domain.zones import zone, zone_names

NOT_DEPLOYED, UNKNOWN = "not deployed", "unknown"
SILENT_MINUTES: Final = 25
"""Two of the calls that come every 10 minutes are missing."""
_KEYS = {"checked_at", "state", "since", "why", "last", "waits", "late", "failed", "timetable"}
_IN_WORDS = {
    SERVE: "capacity for fleet {fleet}",
    DRAIN_SERVING: "fleet {fleet} goes down to its floor, cluster {cluster} is next",
    TRAIN: "capacity for cluster {cluster}",
    DRAIN_TRAINING: "cluster {cluster} stops its jobs, fleet {fleet} is next",
}


@dataclass(frozen=True, slots=True)
class ShiftStatus:
    """None: there is no such thing, or it could not be asked (then `why` says so)."""

    name: str
    fleet: str
    cluster: str
    timezone: str
    state: str
    """Of its controller's last call; before its first one "unknown"."""
    since: str | None = None
    due: str | None = None
    """What override and timetable say now: the controller's next call acts on it."""
    override: dict[str, Any] | None = None
    next_change: Event | None = None
    controller: dict[str, Any] | None = None
    """Its whole record: what it did last, what it waits for, what was refused."""
    why: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        following = self.next_change.as_dict() if self.next_change else None
        return {**asdict(replace(self, next_change=None)), "next_change": following}

    def lines(self) -> list[str]:
        what = _IN_WORDS.get(self.state, "").format(fleet=self.fleet, cluster=self.cluster)
        head = ", ".join(
            [
                self.state,
                *([what] if what else []),
                *([f"since {self._local(self.since)}"] if self.since else []),
            ]
        )
        return [f"shift    {self.name}: {head}", *(f"         {words}" for words in self._words())]

    def _words(self) -> Iterator[str]:
        if self.due not in (None, self.state):
            yield f"due now: {self.due}; the controller acts at its next call, within 10 minutes"
        if self.override is not None:
            until, reason = self.override["until"], self.override["reason"]
            end = f" until {self._local(until)}" if until else ", without an end"
            yield f"override: {self.override['mode']}{end}" + (f" ({reason})" if reason else "")
        if self.next_change is not None:
            yield f"next: {self.next_change.when}  {self.next_change.state}: {self.next_change.what}"
            if self.next_change.note:
                yield f"  {self.next_change.note}"
        yield from self._controller_words()
        yield from self.why

    def _controller_words(self) -> Iterator[str]:
        said = self.controller or {}
        if not said:
            return
        yield f"controller, {self._local(said['checked_at'])}: {said['state']} ({said['why']})"
        done = said.get("last")
        if done:
            yield f"did last, {self._local(done['at'])}: {'; '.join(done['done'])}"
        late = "late: " if said["late"] else ""
        yield from (f"waits: {late}{words}" for words in said["waits"])
        yield from (f"failed: {words}" for words in said["failed"])

    def _local(self, moment: str) -> str:
        utc = datetime.fromisoformat(moment).astimezone(UTC)
        return f"{utc.astimezone(zone(self.timezone)):%a %Y-%m-%d %H:%M %z} = {utc:%a %H:%M} UTC"


def look_at_shift(
    cloud: Cloud, environment: str, shift: ShiftPlan, stack: Stack | None, now: datetime
) -> ShiftStatus:
    """Nothing in it raises because something is not there, or one question is refused."""
    if stack is None or not stack.outputs:
        return ShiftStatus(shift.name, shift.fleet, shift.cluster, shift.timezone, NOT_DEPLOYED)
    questions = Questions(cloud)
    text = questions.parameter(shift_parameter(environment, shift.name))
    override = Override() if text is None else read_override(text, None)
    said = _record(questions, shift_state_parameter(environment, shift.name))
    deployed = _as_deployed(shift, said)
    why = list(_complaints(shift, deployed, override, said, stack, now))
    return ShiftStatus(
        shift.name,
        shift.fleet,
        shift.cluster,
        deployed.timezone,
        state=said["state"] if said else UNKNOWN,
        since=said["since"] if said else None,
        due=override.mode if override.holds_at(now) else event_at(deployed, now).state,
        override=_document(override) if override.holds_at(now) else None,
        next_change=_next_change(deployed, override, now),
        controller=said,
        why=(*why, *questions.refused),
    )


def _record(questions: Questions, parameter: str) -> dict[str, Any] | None:
    """Empty until the first call."""
    found = questions.document(parameter)
    if found and not found.keys() >= _KEYS:
        questions.refused.append(
            f"parameter {parameter} is not a record that this version of the kit can read"
        )
        return None
    if found == {}:
        questions.refused.append("its controller has left no record yet; it is called every 10 minutes")
    return found or None


def _as_deployed(shift: ShiftPlan, said: Mapping[str, Any] | None) -> ShiftPlan:
    """With the controller's windows: the file may have changed since."""
    timetable = (said or {}).get("timetable")
    if timetable is None or timetable["zone"] not in zone_names():
        return shift
    return replace(
        shift,
        timezone=timetable["zone"],
        drain_minutes=timetable["drain_minutes"],
        windows=tuple(WeeklyWindow(*window) for window in timetable["windows"]),
    )


def _next_change(shift: ShiftPlan, override: Override, now: datetime) -> Event | None:
    if not override.holds_at(now):
        return next_event(shift, now)
    return event_at(shift, override.until) if override.until else None


def _complaints(
    shift: ShiftPlan,
    deployed: ShiftPlan,
    override: Override,
    said: Mapping[str, Any] | None,
    stack: Stack,
    now: datetime,
) -> Iterator[str]:
    if override.complaint:
        yield f"{override.complaint}: the timetable holds"
    if deployed != shift:
        yield "the timetable that is deployed is not the file's: `neuronkit deploy` brings the file's"
    if said is not None and now - datetime.fromisoformat(said["checked_at"]) > timedelta(
        minutes=SILENT_MINUTES
    ):
        function = stack.outputs.get(OUTPUT_SHIFT_FUNCTION, "")
        yield f"its controller is silent, though it is called every 10 minutes: look into the log of function {function}"


def _document(override: Override) -> dict[str, Any]:
    until = override.until.isoformat() if override.until else None
    return {"mode": override.mode, "until": until, "reason": override.reason}
