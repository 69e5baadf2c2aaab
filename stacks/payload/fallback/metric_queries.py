"""What the controller reads from CloudWatch, and what it puts there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fallback.decisions import Decision
from fallback.settings import Places
from fallback.signals import Answer, SideMetrics

NAMESPACE = "neuronkit/serving"
PERIOD_SECONDS = 60
WINDOW_SECONDS = 180
SIDES = ("neuron", "gpu")


def queries(places: Places) -> list[dict[str, Any]]:
    groups = {"neuron": places.neuron_group, "gpu": places.gpu_group}
    found = []
    for side in SIDES:
        own = [*_dimensions(places), {"Name": "Side", "Value": side}]
        balancer = [
            {"Name": "LoadBalancer", "Value": places.load_balancer},
            {"Name": "TargetGroup", "Value": groups[side].split(":")[-1]},
        ]
        found += [
            _query(f"{side}_waiting", NAMESPACE, "RequestsWaiting", own, "Average"),
            _query(f"{side}_progress", NAMESPACE, "EngineProgress", own, "Average"),
            _query(f"{side}_requests", "AWS/ApplicationELB", "RequestCount", balancer, "Sum"),
            _query(f"{side}_errors", "AWS/ApplicationELB", "HTTPCode_Target_5XX_Count", balancer, "Sum"),
        ]
    return found


def side_metrics(results: Sequence[Answer], side: str) -> SideMetrics:
    """Results newest value first: the last minute of a gauge, the whole window of a count."""
    values = {result["Id"]: result["Values"] for result in results}

    def last(name: str) -> float | None:
        found = values.get(f"{side}_{name}")
        return float(found[0]) if found else None

    def total(name: str) -> float | None:
        found = values.get(f"{side}_{name}")
        return float(sum(found)) if found else None

    return SideMetrics(last("waiting"), last("progress"), total("requests"), total("errors"))


def metric_data(places: Places, decision: Decision) -> list[dict[str, Any]]:
    values = {
        "FallbackActive": float(decision.active),
        "GpuShare": float(decision.share or 0),
        "NobodyServes": float(decision.nobody_serves),
        "GpuMissing": float(decision.gpu_missing),
    }
    own = _dimensions(places)
    by_reason = [*own, {"Name": "Reason", "Value": decision.reason}]
    return [
        *({"MetricName": name, "Dimensions": own, "Value": value} for name, value in values.items()),
        {"MetricName": "FallbackActive", "Dimensions": by_reason, "Value": float(decision.active)},
    ]


def _dimensions(places: Places) -> list[dict[str, str]]:
    return [{"Name": "Environment", "Value": places.environment}, {"Name": "Fleet", "Value": places.fleet}]


def _query(
    identifier: str, namespace: str, name: str, dimensions: list[dict[str, str]], statistic: str
) -> dict[str, Any]:
    metric = {"Namespace": namespace, "MetricName": name, "Dimensions": dimensions}
    return {
        "Id": identifier,
        "MetricStat": {"Metric": metric, "Period": PERIOD_SECONDS, "Stat": statistic},
    }
