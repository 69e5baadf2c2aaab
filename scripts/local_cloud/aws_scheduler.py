"""EventBridge Scheduler as moto keeps it, with AWS's refusals. Nothing fires by itself: POST /neuronkit/schedules/fire.

Two kinds of target can be fired: a Lambda function, and an API call (`arn:aws:scheduler:::aws-sdk:ecs:updateService`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import available_timezones

import botocore.session
from botocore import xform_name
from moto.core.exceptions import JsonRESTError
from moto.scheduler.exceptions import ValidationException
from moto.scheduler.models import Schedule, scheduler_backends
from moto.scheduler.responses import EventBridgeSchedulerResponse

from scripts.local_cloud import runtime
from scripts.local_cloud.cloudformation.types.coerce import api_parameters

_AT = re.compile(r"at\((\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\)")
_RATE = re.compile(r"rate\(([1-9]\d*) (minute|minutes|hour|hours|day|days)\)")
_CRON = re.compile(r"cron\((.+)\)")
# Least, most, names of the values, and what else stands for days.
_CRON_FIELDS = (
    (0, 59, "", ""),
    (0, 23, "", ""),
    (1, 31, "", "? L LW"),
    (1, 12, "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC", ""),
    (1, 7, "SUN MON TUE WED THU FRI SAT", "? L"),
    (1970, 2199, "", ""),
)
_SPECIAL_DAY = re.compile(r"(?:[1-9]|[12]\d|3[01])W|[1-7]L|[1-7]#[1-5]")
_NAME = re.compile(r"[0-9a-zA-Z_.-]{1,64}")
_WINDOW_MINUTES_MAX = 1440
_RETRIES = {"MaximumEventAgeInSeconds": (60, 86400), "MaximumRetryAttempts": (0, 185)}
_SDK = re.compile(r"arn:[^:]+:scheduler:::aws-sdk:([^:]+):(\w+)")
_LAMBDA = re.compile(r"arn:[^:]+:lambda:[^:]+:\d+:function:([\w-]+)")
# Scheduler's names of services that boto3 calls otherwise.
_SERVICES = {
    "elasticloadbalancingv2": "elbv2",
    "applicationautoscaling": "application-autoscaling",
    "sfn": "stepfunctions",
}


class Scheduler(EventBridgeSchedulerResponse):
    def create_schedule(self) -> str:
        self._check()
        return super().create_schedule()

    def update_schedule(self) -> str:
        self._check()
        return super().update_schedule()

    def create_schedule_group(self) -> str:
        name = self._get_param("Name")
        _check_name(name)
        if name in self.scheduler_backend.schedule_groups:
            raise JsonRESTError("ConflictException", f"Schedule group {name} already exists.")
        return super().create_schedule_group()

    def delete_schedule_group(self) -> str:
        name = self.uri.split("?")[0].rsplit("/", 1)[-1]
        if name == "default":
            raise ValidationException(message="The default schedule group cannot be deleted.")
        self.scheduler_backend.get_schedule_group(name)
        return super().delete_schedule_group()

    def _check(self) -> None:
        _check_name(self.uri.split("?")[0].rsplit("/", 1)[-1])
        given = json.loads(self.body)
        check_expression(given["ScheduleExpression"])
        zone = given.get("ScheduleExpressionTimezone")
        if zone is not None and zone not in available_timezones():
            raise ValidationException(message=f"Invalid ScheduleExpressionTimezone '{zone}'.")
        _check_window(given["FlexibleTimeWindow"])
        _check_retries(given["Target"].get("RetryPolicy") or {})
        self.scheduler_backend.get_schedule_group(given.get("GroupName"))
        if not _LAMBDA.fullmatch(given["Target"]["Arn"]) and _SDK.fullmatch(given["Target"]["Arn"]):
            _known_call(given["Target"]["Arn"])


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValidationException(
            message=f"Value '{name}' at 'name' failed to satisfy constraint: Member must satisfy regular expression "
            "pattern: [0-9a-zA-Z-_.]+, and have up to 64 characters"
        )


def _check_window(window: Mapping[str, Any]) -> None:
    minutes = window.get("MaximumWindowInMinutes")
    if window["Mode"] == "OFF" and minutes is not None:
        raise ValidationException(message="MaximumWindowInMinutes must not be set when the mode is OFF.")
    if window["Mode"] == "FLEXIBLE" and not 1 <= (minutes or 0) <= _WINDOW_MINUTES_MAX:
        raise ValidationException(message="MaximumWindowInMinutes must be between 1 and 1440.")


def _check_retries(policy: Mapping[str, Any]) -> None:
    for name, (least, most) in _RETRIES.items():
        if not least <= policy.get(name, least) <= most:
            raise ValidationException(message=f"{name} must be between {least} and {most}.")


def check_expression(expression: str) -> None:
    cron = _CRON.fullmatch(expression)
    if cron is not None and _is_cron(cron.group(1).split()):
        return
    if _RATE.fullmatch(expression) or _is_moment(expression):
        return
    raise ValidationException(message=f"Invalid Schedule Expression {expression}.")


def _is_moment(expression: str) -> bool:
    match = _AT.fullmatch(expression)
    try:
        return match is not None and bool(datetime.fromisoformat(match.group(1)))
    except ValueError:
        return False


def _is_cron(fields: list[str]) -> bool:
    """Six fields, each in its range, and "?" for exactly one of the two kinds of day."""
    if len(fields) != len(_CRON_FIELDS):
        return False
    day, weekday = fields[2], fields[4]
    if (day == "?") is (weekday == "?"):
        return False
    return all(_is_cron_field(field, *limits) for field, limits in zip(fields, _CRON_FIELDS, strict=True))


def _is_cron_field(field: str, least: int, most: int, names: str, specials: str) -> bool:
    words = names.split()
    for item in field.split(","):
        span, _, step = item.partition("/")
        if step and not step.isdecimal():
            return False
        if span in ("*", *specials.split()) or (specials and _SPECIAL_DAY.fullmatch(span)):
            continue
        ends = [str(words.index(end.upper()) + 1) if end.upper() in words else end for end in span.split("-")]
        if len(ends) > 2 or not all(end.isdecimal() and least <= int(end) <= most for end in ends):
            return False
    return True


def fire(*, account: str, region: str, name: str, group: str = "default") -> dict[str, Any]:
    """Does at once what the schedule would do at its time; a disabled schedule does nothing."""
    schedule: Schedule = scheduler_backends[account][region].get_schedule(group, name)
    if schedule.state != "ENABLED":
        return {"fired": False, "why": f"the schedule is {schedule.state}"}
    arn, given = schedule.target["Arn"], schedule.target.get("Input") or "{}"
    function = _LAMBDA.fullmatch(arn)
    clients = runtime.current().clients
    if function is not None:
        answer = clients.client("lambda", account, region).invoke(
            FunctionName=function.group(1), Payload=given
        )
        payload = answer["Payload"].read().decode()
        return {"fired": True, "error": answer.get("FunctionError"), "payload": json.loads(payload or "null")}
    if not _SDK.fullmatch(arn):
        raise ValueError(f"the local cloud cannot fire the target {arn}")
    service, operation = _known_call(arn)
    client = clients.client(service, account, region)
    parameters = api_parameters(client, operation, json.loads(given))
    return {"fired": True, "answer": getattr(client, xform_name(operation))(**parameters)}


def _known_call(arn: str) -> tuple[str, str]:
    match = _SDK.fullmatch(arn)
    assert match is not None, "callers looked"
    service, action = _SERVICES.get(match.group(1), match.group(1)), match.group(2)
    try:
        model = botocore.session.get_session().get_service_model(service)
    except Exception as error:
        raise ValidationException(message=f"The service of {arn} is not known.") from error
    operation = next((one for one in model.operation_names if one.lower() == action.lower()), None)
    if operation is None or not action[0].islower():
        raise ValidationException(
            message=f"The action of {arn} is not known: it is spelled like updateService."
        )
    return service, str(operation)
