"""The Lambda function: reads both sides, asks `decide`, writes what differs. README.md: variables, permissions, contract.

Every call may fail or be cut off at any point: a decision begins with what AWS says now, never with what was meant.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from fallback.decisions import Decision, decide
from fallback.memory import Memory
from fallback.metric_queries import NAMESPACE, WINDOW_SECONDS, metric_data, queries, side_metrics
from fallback.observed import Observation, Side, Weights
from fallback.override import read_override
from fallback.settings import Places, read_places, read_settings
from fallback.signals import Answer, actions_with, side, weights
from fallback.state import read_state_memory, state_document

REFUSED = (ClientError, BotoCoreError)
SERVICES_PER_CALL = 10
ACTIVITIES = 10
RETRIES = Config(retries={"mode": "standard", "max_attempts": 4}, connect_timeout=3, read_timeout=6)


class CheckError(Exception):
    """Something of this check was refused; the state says what, and the next check does it."""


@dataclass(frozen=True)
class Clients:
    elbv2: Any
    ecs: Any
    autoscaling: Any
    applicationautoscaling: Any
    cloudwatch: Any
    ssm: Any


def handle(_event: object, _context: object) -> dict[str, Any]:
    clients = Clients(
        elbv2=boto3.client("elbv2", config=RETRIES),
        ecs=boto3.client("ecs", config=RETRIES),
        autoscaling=boto3.client("autoscaling", config=RETRIES),
        applicationautoscaling=boto3.client("application-autoscaling", config=RETRIES),
        cloudwatch=boto3.client("cloudwatch", config=RETRIES),
        ssm=boto3.client("ssm", config=RETRIES),
    )
    return check(clients, os.environ, time.time())


def check(clients: Clients, variables: Any, now: float) -> dict[str, Any]:
    """One check. Returns the new state; raises CheckError, with the state written if that was possible."""
    places, settings = read_places(variables), read_settings(variables)
    seen, memory = observe(clients, places, now)
    decision = decide(settings, seen, memory, now)
    failed = act(clients, places, seen, decision)
    state = state_document(settings, seen, decision, failed, now)
    print(json.dumps({key: value for key, value in state.items() if key != "memory"}))
    failed += _tried("state", lambda: _save(clients, places, state))
    failed += _tried(
        "metrics",
        lambda: clients.cloudwatch.put_metric_data(
            Namespace=NAMESPACE, MetricData=metric_data(places, decision)
        ),
    )
    if failed:
        raise CheckError("; ".join(failed))
    return state


def observe(clients: Clients, places: Places, now: float) -> tuple[Observation, Memory]:
    """Without metrics and activities a decision is possible, without the rest it is not: then this raises."""
    parameters = _parameters(clients, places)
    services = _services(clients, places)
    results = _metrics(clients, places, now)

    def one_side(
        name: str, names: tuple[str, ...], group: str, scaling_group: str, scalable: Sequence[Answer] = ()
    ) -> Side:
        return side(
            [service for service in services if service["serviceName"] in names],
            clients.elbv2.describe_target_health(TargetGroupArn=group),
            _activities(clients, scaling_group),
            side_metrics(results, name),
            now,
            scalable,
        )

    seen = Observation(
        neuron=one_side(
            "neuron",
            places.neuron_services,
            places.neuron_group,
            places.neuron_scaling_group,
            _scalable_targets(clients, places),
        ),
        gpu=one_side("gpu", (places.gpu_service,), places.gpu_group, places.gpu_scaling_group),
        weights=_weights(_rule(clients, places), places),
        override=read_override(parameters.get(places.override_parameter)),
    )
    return seen, read_state_memory(parameters.get(places.state_parameter), now)


def act(clients: Clients, places: Places, seen: Observation, decision: Decision) -> list[str]:
    """GPU replicas first, then weights, and replicas end last and only when the weights are as they should be."""
    failed: list[str] = []
    wanted = decision.gpu_desired

    def scale() -> None:
        clients.ecs.update_service(cluster=places.cluster, service=places.gpu_service, desiredCount=wanted)

    if wanted is not None and wanted > seen.gpu.desired:
        failed += _tried("GPU replicas", scale)
    if (target := decision.weights) is not None:
        failed += _tried("weights", lambda: _write(clients, places, seen.weights, target))
    if wanted is not None and wanted < seen.gpu.desired and not failed:
        failed += _tried("GPU replicas", scale)
    return failed


def _write(clients: Clients, places: Places, seen: Weights, target: Weights) -> None:
    """Not when somebody else wrote since: then the next check decides anew."""
    rule = _rule(clients, places)
    if _weights(rule, places) == seen:
        groups = (places.neuron_group, places.gpu_group, places.waker_group)
        clients.elbv2.modify_rule(RuleArn=places.rule_arn, Actions=actions_with(rule, *groups, target))


def _tried(what: str, call: Callable[[], object]) -> list[str]:
    try:
        call()
    except REFUSED as error:
        return [f"{what}: {error}"]
    return []


def _save(clients: Clients, places: Places, state: dict[str, Any]) -> None:
    text = json.dumps(state, separators=(",", ":"))
    clients.ssm.put_parameter(Name=places.state_parameter, Value=text, Type="String", Overwrite=True)


def _parameters(clients: Clients, places: Places) -> dict[str, str]:
    answer = clients.ssm.get_parameters(Names=[places.override_parameter, places.state_parameter])
    return {parameter["Name"]: parameter["Value"] for parameter in answer["Parameters"]}


def _rule(clients: Clients, places: Places) -> Answer:
    rule: Answer = clients.elbv2.describe_rules(RuleArns=[places.rule_arn])["Rules"][0]
    return rule


def _weights(rule: Answer, places: Places) -> Weights:
    return weights(rule, places.neuron_group, places.gpu_group, places.waker_group)


def _services(clients: Clients, places: Places) -> list[Answer]:
    names = [*places.neuron_services, places.gpu_service]
    found: list[Answer] = []
    for first in range(0, len(names), SERVICES_PER_CALL):
        part = names[first : first + SERVICES_PER_CALL]
        found += clients.ecs.describe_services(cluster=places.cluster, services=part)["services"]
    return found


def _activities(clients: Clients, scaling_group: str) -> list[Answer]:
    if not scaling_group:
        return []
    try:
        answer = clients.autoscaling.describe_scaling_activities(
            AutoScalingGroupName=scaling_group, MaxRecords=ACTIVITIES
        )
    except REFUSED:
        return []
    return list(answer["Activities"])


def _scalable_targets(clients: Clients, places: Places) -> list[Answer]:
    cluster = places.cluster.rpartition("/")[2]
    try:
        answer = clients.applicationautoscaling.describe_scalable_targets(
            ServiceNamespace="ecs",
            ResourceIds=[f"service/{cluster}/{service}" for service in places.neuron_services],
        )
    except REFUSED:
        return []
    return list(answer["ScalableTargets"])


def _metrics(clients: Clients, places: Places, now: float) -> list[Answer]:
    end = datetime.fromtimestamp(now, UTC)
    try:
        answer = clients.cloudwatch.get_metric_data(
            MetricDataQueries=queries(places),
            StartTime=end - timedelta(seconds=WINDOW_SECONDS),
            EndTime=end,
            ScanBy="TimestampDescending",
        )
    except REFUSED:
        return []
    return list(answer["MetricDataResults"])
