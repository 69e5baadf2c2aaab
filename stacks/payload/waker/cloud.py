"""The fleet as AWS tells it, and what changes it. Clients come from outside; nothing here imports their library."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from waker.activity import Activity, Minute
from waker.decisions import (
    Action,
    Phase,
    RecordWake,
    SetNodes,
    SetServices,
    SetState,
    Settings,
    SetWeights,
    State,
    View,
    Wake,
    Weights,
)

NAMESPACE = "neuronkit/serving"
SERVICES_IN_ONE_CALL = 10
METRICS_WINDOW_SECONDS = 1500
ALB_LAG_SECONDS = 180
UNLIMITED = 10_000


@dataclass(frozen=True, slots=True)
class Clients:
    ssm: Any
    ecs: Any
    elbv2: Any
    autoscaling: Any
    application_autoscaling: Any
    cloudwatch: Any


@dataclass(frozen=True, slots=True)
class Names:
    """Of Systems Manager's parameters."""

    settings: str
    state: str
    wake: str
    override: str | None


@dataclass(frozen=True, slots=True)
class Places:
    """Of AWS's resources, from the parameter with the settings."""

    cluster: str
    services: tuple[str, ...]
    auto_scaling_group: str | None
    listener_rule: str
    load_balancer: str
    neuron_target_group: str
    gpu_target_group: str | None
    waker_target_group: str


@dataclass(frozen=True, slots=True)
class Read:
    view: View
    settings: Settings
    notes: tuple[str, ...]
    """What was missing or garbled, and counts as absent."""


class Cloud:
    def __init__(self, clients: Clients, names: Names) -> None:
        self._clients = clients
        self._names = names
        self._places: Places | None = None

    def read(self, now: float, *, with_activity: bool) -> Read:
        values = self._parameters()
        settings, self._places = _settings(values[self._names.settings])
        notes: list[str] = []
        state = _state(_json(values.get(self._names.state), "state", notes))
        wake = _wake(_json(values.get(self._names.wake), "wake", notes))
        override = _json(values.get(self._names.override or ""), "override", notes)
        services = self._services(self._places)
        desired = tuple(int(service["desiredCount"]) for service in services)
        running = tuple(int(service["runningCount"]) for service in services)
        view = View(
            now=now,
            state=state,
            wake=wake,
            desired=desired,
            running=running,
            deploying=any(map(_is_deploying, services)),
            healthy=self._healthy(self._places),
            weights=_weights(self._places, self._rule_actions(self._places)),
            override=_override(override, now, notes),
            nodes_limit=self._limit(self._places),
            group_desired=self._group_desired(self._places),
            refused=self._refused(self._places, wake.at) if max(desired) > 0 and not any(running) else None,
            activity=self._activity(self._places, settings, now) if with_activity else None,
        )
        return Read(view, settings, tuple(notes))

    def settings(self) -> Settings:
        return _settings(self._parameters()[self._names.settings])[0]

    def do(self, action: Action) -> None:
        """After `read`."""
        assert self._places is not None
        if isinstance(action, RecordWake):
            self._write(self._names.wake, asdict(action.wake))
        elif isinstance(action, SetState):
            self._write(self._names.state, {"version": 1, **asdict(action.state)})
        elif isinstance(action, SetNodes):
            self._clients.autoscaling.set_desired_capacity(
                AutoScalingGroupName=self._places.auto_scaling_group,
                DesiredCapacity=action.count,
                HonorCooldown=False,
            )
        elif isinstance(action, SetServices):
            self._set_services(self._places, action.count)
        else:
            self._set_weights(self._places, action)

    def _parameters(self) -> dict[str, str]:
        names = [self._names.settings, self._names.state, self._names.wake]
        asked = [*names, *([self._names.override] if self._names.override else [])]
        found = self._clients.ssm.get_parameters(Names=asked)["Parameters"]
        return {str(parameter["Name"]): str(parameter["Value"]) for parameter in found}

    def _write(self, name: str, value: object) -> None:
        self._clients.ssm.put_parameter(Name=name, Value=json.dumps(value), Overwrite=True)

    def _services(self, places: Places) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for start in range(0, len(places.services), SERVICES_IN_ONE_CALL):
            some = list(places.services[start : start + SERVICES_IN_ONE_CALL])
            found += self._clients.ecs.describe_services(cluster=places.cluster, services=some)["services"]
        active = [service for service in found if service["status"] == "ACTIVE"]
        if len(active) != len(places.services):
            names = {service["serviceName"] for service in active}
            raise LookupError(f"services that are not there: {sorted(set(places.services) - names)}")
        return active

    def _set_services(self, places: Places, count: int) -> None:
        for service in self._services(places):
            now = int(service["desiredCount"])
            if (count == 0 and now > 0) or now < count:
                name = service["serviceName"]
                self._clients.ecs.update_service(cluster=places.cluster, service=name, desiredCount=count)

    def _healthy(self, places: Places) -> int:
        answer = self._clients.elbv2.describe_target_health(TargetGroupArn=places.neuron_target_group)
        states = [target["TargetHealth"]["State"] for target in answer["TargetHealthDescriptions"]]
        return states.count("healthy")

    def _rule_actions(self, places: Places) -> list[dict[str, Any]]:
        rules = self._clients.elbv2.describe_rules(RuleArns=[places.listener_rule])["Rules"]
        return list(rules[0]["Actions"])

    def _set_weights(self, places: Places, change: SetWeights) -> None:
        """All other actions of the rule stay as they are: a check of tokens, for example."""
        found = self._rule_actions(places)
        if _weights(places, found) != change.seen:
            return  # somebody else has just decided; the next look decides anew
        actions = [
            _forward(places, change.weights, action) if action["Type"] == "forward" else action
            for action in found
        ]
        self._clients.elbv2.modify_rule(RuleArn=places.listener_rule, Actions=actions)

    def _limit(self, places: Places) -> int:
        ids = [f"service/{places.cluster.rpartition('/')[2]}/{name}" for name in places.services]
        answer = self._clients.application_autoscaling.describe_scalable_targets(
            ServiceNamespace="ecs", ResourceIds=ids, ScalableDimension="ecs:service:DesiredCount"
        )
        limits = [int(target["MaxCapacity"]) for target in answer["ScalableTargets"]]
        return min(limits, default=UNLIMITED)

    def _group_desired(self, places: Places) -> int | None:
        if places.auto_scaling_group is None:
            return None
        answer = self._clients.autoscaling.describe_auto_scaling_groups(
            AutoScalingGroupNames=[places.auto_scaling_group]
        )
        groups = answer["AutoScalingGroups"]
        return int(groups[0]["DesiredCapacity"]) if groups else None

    def _refused(self, places: Places, since: float) -> str | None:
        """The newest attempt to start an instance, if it failed since the wake."""
        if places.auto_scaling_group is None:
            return None
        answer = self._clients.autoscaling.describe_scaling_activities(
            AutoScalingGroupName=places.auto_scaling_group, MaxRecords=1
        )
        for activity in answer["Activities"]:
            if activity["StatusCode"] == "Failed" and activity["StartTime"].timestamp() >= since:
                return str(activity.get("StatusMessage") or "no reason given")
        return None

    def _activity(self, places: Places, settings: Settings, now: float) -> Activity:
        end = int(now) // 60 * 60 + 60
        requests_start = end - settings.idle_seconds - ALB_LAG_SECONDS
        metrics_start = end - METRICS_WINDOW_SECONDS
        queries = [*_request_queries(places), *_engine_queries(settings)]
        found: dict[str, dict[float, float]] = {query["Id"]: {} for query in queries}
        pages = self._clients.cloudwatch.get_paginator("get_metric_data").paginate(
            MetricDataQueries=queries,
            StartTime=datetime.fromtimestamp(min(requests_start, metrics_start), UTC),
            EndTime=datetime.fromtimestamp(end, UTC),
        )
        for result in (result for page in pages for result in page["MetricDataResults"]):
            times = [time.timestamp() for time in result["Timestamps"]]
            found[result["Id"]].update(zip(times, result["Values"], strict=True))
        requests = sum(
            value
            for name, values in found.items()
            if name.startswith("requests")
            for time, value in values.items()
            if time >= requests_start
        )
        return Activity(requests, tuple(_engine_minutes(found, metrics_start)))


def _engine_minutes(found: dict[str, dict[float, float]], start: float) -> Iterator[Minute]:
    running, waiting, scrapes = found["running"], found["waiting"], found["scrapes"]
    for time in sorted({*running, *waiting, *scrapes}):
        if time >= start:
            yield Minute(time, running.get(time, 0) + waiting.get(time, 0), scrapes.get(time, 0))


def _request_queries(places: Places) -> Iterator[dict[str, Any]]:
    groups = (places.neuron_target_group, places.gpu_target_group, places.waker_target_group)
    for number, group in enumerate(arn for arn in groups if arn):
        dimensions = {"LoadBalancer": places.load_balancer, "TargetGroup": group.rpartition(":")[2]}
        yield _query(f"requests{number}", "AWS/ApplicationELB", "RequestCount", "Sum", dimensions)


def _engine_queries(settings: Settings) -> Iterator[dict[str, Any]]:
    dimensions = {"Environment": settings.environment, "Fleet": settings.fleet, "Side": "neuron"}
    for name, metric, statistic in (
        ("running", "RequestsRunning", "Maximum"),
        ("waiting", "RequestsWaiting", "Maximum"),
        ("scrapes", "Replicas", "Sum"),
    ):
        yield _query(name, NAMESPACE, metric, statistic, dimensions)


def _query(
    name: str, namespace: str, metric: str, statistic: str, dimensions: dict[str, str]
) -> dict[str, Any]:
    named = [{"Name": key, "Value": value} for key, value in dimensions.items()]
    what = {"Namespace": namespace, "MetricName": metric, "Dimensions": named}
    return {"Id": name, "ReturnData": True, "MetricStat": {"Metric": what, "Period": 60, "Stat": statistic}}


def _weights(places: Places, actions: list[dict[str, Any]]) -> Weights:
    groups = {
        group["TargetGroupArn"]: int(group.get("Weight", 0))
        for action in actions
        for group in action.get("ForwardConfig", {}).get("TargetGroups", ())
    }
    return Weights(
        neuron=groups.get(places.neuron_target_group, 0),
        gpu=groups.get(places.gpu_target_group or "", 0),
        waker=groups.get(places.waker_target_group, 0),
    )


def _forward(places: Places, weights: Weights, action: dict[str, Any]) -> dict[str, Any]:
    shares = {
        places.neuron_target_group: weights.neuron,
        places.gpu_target_group: weights.gpu,
        places.waker_target_group: weights.waker,
    }
    groups = [{"TargetGroupArn": arn, "Weight": share} for arn, share in shares.items() if arn]
    config = {**action.get("ForwardConfig", {}), "TargetGroups": groups}
    # With several groups the API refuses an action that names one group beside them.
    return {**{k: v for k, v in action.items() if k != "TargetGroupArn"}, "ForwardConfig": config}


def _is_deploying(service: dict[str, Any]) -> bool:
    deployments = service.get("deployments", [])
    return len(deployments) > 1 or any(one.get("rolloutState") == "IN_PROGRESS" for one in deployments)


def _json(text: str | None, what: str, notes: list[str]) -> dict[str, Any]:
    try:
        value = json.loads(text or "{}")
    except ValueError:
        value = None
    if isinstance(value, dict):
        return value
    notes.append(f"the parameter with the {what} is garbled")
    return {}


def _settings(text: str) -> tuple[Settings, Places]:
    values = json.loads(text)
    fields = Settings.__dataclass_fields__
    settings = {name: values[name] for name in fields}
    places = {name: values.get(name) for name in Places.__dataclass_fields__}
    settings["wake_paths"] = tuple(settings["wake_paths"])
    places["services"] = tuple(places["services"])
    return Settings(**settings), Places(**places)


def _state(value: dict[str, Any]) -> State:
    """Without one: off, which the next check corrects by what runs."""
    try:
        return State(Phase(value["phase"]), int(value["fall"]), float(value["since"]))
    except (KeyError, TypeError, ValueError):
        return State(Phase.OFF, 0, 0.0)


def _wake(value: dict[str, Any]) -> Wake:
    try:
        return Wake(int(value["fall"]), float(value["at"]))
    except (KeyError, TypeError, ValueError):
        return Wake(-1, 0.0)


def _override(value: dict[str, Any], now: float, notes: list[str]) -> str:
    mode = value.get("mode", "auto")
    try:
        until = datetime.fromisoformat(value["until"]) if value.get("until") else None
    except (TypeError, ValueError):
        notes.append(f"the override's end {value['until']!r} is no time: it does not hold")
        return "auto"
    if until is not None and (until if until.tzinfo else until.replace(tzinfo=UTC)).timestamp() <= now:
        return "auto"
    return mode if mode in ("neuron", "gpu") else "auto"
