"""Times of a fleet that must agree. Those that follow from others are worked out in one place, `fleet_plan.times_of`."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.findings import Severity
from stacks.domain.fleet_plan import times_of
from stacks.domain.rules.rule import Facts, Problem, Rule

SCHEMA_SOURCE = "`neuronkit schema`"
START_SOURCE = "parts of a start, each with its source: `neuronkit plan`"
IDLE_SOURCE = "Elastic Load Balancing user guide, application-load-balancers: idle timeout"


def first_token_is_in_the_request(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.first_token_seconds > fleet.longest_request_seconds:
            yield Problem(
                ("fleets", name, "first_token_seconds"),
                str(fleet.first_token_seconds),
                f"1 to {fleet.longest_request_seconds}",
                "a first token may come after the longest request has ended",
                f"write longest_request_seconds: {fleet.first_token_seconds} or more",
            )


def steps_up_wait_for_a_start(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        wanted, start = fleet.scaling.scale_out_minutes, times_of(fleet).start_high
        if wanted is not None and wanted * 60 < start:
            yield Problem(
                ("fleets", name, "scaling", "scale_out_minutes"),
                str(wanted),
                f"{_minutes(start)} or more",
                f"a start takes up to {_minutes(start)} min: before it counts, further replicas would be added",
                "leave the key out: as long as a start takes",
            )


def idle_time_is_worth_a_start(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.scale_to_zero is None:
            continue
        idle, start = fleet.scale_to_zero.idle_minutes * 60, times_of(fleet).start_high
        if idle < start:
            yield Problem(
                ("fleets", name, "scale_to_zero", "idle_minutes"),
                str(fleet.scale_to_zero.idle_minutes),
                f"{_minutes(start)} or more",
                f"the fleet ends after a pause that is shorter than the start which follows it (up to {_minutes(start)} min)",
                f"write {_minutes(start)}",
            )


def requests_are_held_within_the_timeout(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        settings, limit = fleet.scale_to_zero, times_of(fleet).idle_timeout
        if settings is not None and settings.answer == "hold" and settings.hold_seconds >= limit:
            yield Problem(
                ("fleets", name, "scale_to_zero", "hold_seconds"),
                str(settings.hold_seconds),
                f"1 to {limit - 1}",
                f"the load balancer gives up after {limit} s without an answer",
                f"write {limit - 1} or less, or a larger longest_request_seconds",
            )


def hold_seconds_are_read(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        settings = fleet.scale_to_zero
        if settings is None or settings.answer == "hold":
            continue
        if "hold_seconds" in settings.model_fields_set:
            yield Problem(
                ("fleets", name, "scale_to_zero", "hold_seconds"),
                str(settings.hold_seconds),
                "no such key with answer: retry",
                "a 503 is answered at once: nothing would read it",
                "remove it, or write answer: hold",
                at_key=True,
            )


def holding_reaches_the_start(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        settings, times = fleet.scale_to_zero, times_of(fleet)
        if settings is not None and settings.answer == "hold" and settings.hold_seconds < times.start_low:
            yield Problem(
                ("fleets", name, "scale_to_zero", "hold_seconds"),
                str(settings.hold_seconds),
                message=f"a start from zero takes {_minutes(times.start_low)} to {_minutes(times.start_high)} min: a held request "
                "is answered 503 in the end all the same",
                fix="write answer: retry, or let clients try again",
            )


def _minutes(seconds: int) -> int:
    return -(-seconds // 60)


RULES = (
    Rule("NK725", Severity.ERROR, "first token after the end", "time-outs and drains follow from both", SCHEMA_SOURCE, first_token_is_in_the_request),
    Rule("NK726", Severity.WARNING, "cooldown shorter than a start", "each step adds replicas that are not ready at the next", "ECS developer guide, service-autoscaling; " + START_SOURCE, steps_up_wait_for_a_start),
    Rule("NK727", Severity.WARNING, "idle time shorter than a start", "the fleet would be starting for most of the time", START_SOURCE, idle_time_is_worth_a_start),
    Rule("NK728", Severity.ERROR, "request held beyond the load balancer's timeout", "the client gets 504 instead of an answer", IDLE_SOURCE, requests_are_held_within_the_timeout),
    Rule("NK729", Severity.ERROR, "hold that nothing reads", "a setting that nothing reads hides a mistake", SCHEMA_SOURCE, hold_seconds_are_read),
    Rule("NK730", Severity.INFO, "hold shorter than a start", "holding helps only while the fleet is nearly up", START_SOURCE, holding_reaches_the_start),
)  # fmt: skip
