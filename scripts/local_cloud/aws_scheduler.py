"""EventBridge Scheduler as moto keeps it, with AWS's refusals. Nothing fires by itself: POST /neuronkit/schedules/fire.

Two kinds of target can be fired: a Lambda function, and an API call (`arn:aws:scheduler:::aws-sdk:ecs:updateService`).
"""

from __future__ import annotations

import json
import re
from typing import Any
from zoneinfo import available_timezones

import botocore.session
from botocore import xform_name
from moto.scheduler.exceptions import ValidationException
from moto.scheduler.models import Schedule, scheduler_backends
from moto.scheduler.responses import EventBridgeSchedulerResponse

from scripts.local_cloud import runtime
from scripts.local_cloud.cloudformation.types.coerce import api_parameters

_AT = re.compile(r"at\(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\)")
_RATE = re.compile(r"rate\(([1-9]\d*) (minute|minutes|hour|hours|day|days)\)")
_CRON = re.compile(r"cron\((.+)\)")
_CRON_FIELDS = 6
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

    def delete_schedule_group(self) -> str:
        if self.uri.split("?")[0].endswith("/schedule-groups/default"):
            raise ValidationException(message="The default schedule group cannot be deleted.")
        return super().delete_schedule_group()

    def _check(self) -> None:
        given = json.loads(self.body)
        check_expression(given["ScheduleExpression"])
        zone = given.get("ScheduleExpressionTimezone")
        if zone is not None and zone not in available_timezones():
            raise ValidationException(message=f"Invalid ScheduleExpressionTimezone '{zone}'.")
        group = given.get("GroupName")
        if group and group not in self.scheduler_backend.schedule_groups:
            self.scheduler_backend.get_schedule_group(group)
        if not _LAMBDA.fullmatch(given["Target"]["Arn"]) and _SDK.fullmatch(given["Target"]["Arn"]):
            _known_call(given["Target"]["Arn"])


def check_expression(expression: str) -> None:
    cron = _CRON.fullmatch(expression)
    if cron is not None and len(cron.group(1).split()) == _CRON_FIELDS and "?" in cron.group(1).split():
        return
    if _AT.fullmatch(expression) or _RATE.fullmatch(expression):
        return
    raise ValidationException(message=f"Invalid Schedule Expression {expression}.")


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
