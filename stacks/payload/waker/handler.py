"""AWS's entry: `waker.handler.handle`; README.md beside it says what it expects. Requests of the load balancer wake the
fleet, events of the schedule (`{"event": "check"}`) hand over, and put it to sleep."""

from __future__ import annotations

import os
import time
from functools import cache
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from waker.cloud import Clients, Cloud, Names
from waker.work import Tools, check, respond

_CONFIG = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 3})


@cache
def _tools() -> Tools:
    def client(name: str) -> Any:
        return boto3.client(name, config=_CONFIG)

    clients = Clients(
        ssm=client("ssm"),
        ecs=client("ecs"),
        elbv2=client("elbv2"),
        autoscaling=client("autoscaling"),
        application_autoscaling=client("application-autoscaling"),
        cloudwatch=client("cloudwatch"),
    )
    names = Names(
        settings=os.environ["NEURONKIT_SETTINGS_PARAMETER"],
        state=os.environ["NEURONKIT_STATE_PARAMETER"],
        wake=os.environ["NEURONKIT_WAKE_PARAMETER"],
        override=os.environ.get("NEURONKIT_OVERRIDE_PARAMETER") or None,
    )
    return Tools(Cloud(clients, names), time.time, time.sleep, print, (ClientError, BotoCoreError))


def handle(event: dict[str, Any], _context: object) -> dict[str, Any]:
    if "elb" in (event.get("requestContext") or {}):
        return respond(event, _tools())
    if event.get("event") == "check":
        return check(_tools())
    raise ValueError(f"neither a request of a load balancer nor a check: {sorted(event)}")
