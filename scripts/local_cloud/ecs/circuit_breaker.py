"""The deployment circuit breaker: after so many failed tasks a deployment fails, and the last good one comes back."""

from __future__ import annotations

import math

from scripts.local_cloud.ecs.resources import Deployment, Service

_BOUNDED_LEAST, _BOUNDED_MOST = 3, 200
_DEFAULT_PERCENT = 50


def threshold(service: Service) -> int | None:
    """None without a circuit breaker. By default half of the desired count, from 3 to 200 (serving facts §2.3)."""
    breaker = service.deployment_configuration.get("deploymentCircuitBreaker") or {}
    if not breaker.get("enable"):
        return None
    configured = breaker.get("thresholdConfiguration") or {}
    kind, value = configured.get("type", "BOUNDED_PERCENT"), int(configured.get("value", _DEFAULT_PERCENT))
    if kind == "COUNT":
        return value
    share = math.ceil(service.desired * value / 100)
    return max(share, 1) if kind == "UNBOUNDED_PERCENT" else min(max(share, _BOUNDED_LEAST), _BOUNDED_MOST)


def consider(service: Service, deployment: Deployment) -> None:
    """To be called after a task of the deployment failed."""
    most = threshold(service)
    if most is None or deployment.rollout != "IN_PROGRESS" or deployment.failed_tasks < most:
        return
    deployment.rollout = "FAILED"
    deployment.reason = "ECS deployment circuit breaker: tasks failed to start."
    service.say(
        f"(service {service.name}) (deployment {deployment.id}) deployment failed: tasks failed to start."
    )
    breaker = service.deployment_configuration["deploymentCircuitBreaker"]
    if breaker.get("rollback") and service.last_good and service.last_good != deployment.definition_arn:
        failed = deployment.reason
        service.deploy(service.last_good)
        service.primary.reason = f"{failed} Rolling back to {service.last_good}."
        service.say(f"(service {service.name}) rolling back to {service.last_good}.")
