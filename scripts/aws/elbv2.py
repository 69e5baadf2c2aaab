"""Application Load Balancers: which targets answer, and how a rule divides requests."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError


@dataclass(frozen=True, slots=True)
class TargetHealth:
    """Targets by state: healthy, unhealthy, initial, draining, unused, unavailable."""

    states: dict[str, int]
    reasons: tuple[str, ...]
    """Of those that are not healthy, each once."""

    @property
    def healthy(self) -> int:
        return self.states.get("healthy", 0)


def target_health(cloud: Cloud, group_arn: str) -> TargetHealth | None:
    """None where there is no such group."""
    try:
        answer = cloud.call("elbv2", "describe_target_health", TargetGroupArn=group_arn)
    except AwsError as error:
        if error.code == "TargetGroupNotFound":
            return None
        raise
    found = [one.get("TargetHealth", {}) for one in answer["TargetHealthDescriptions"]]
    reasons = (
        one.get("Description") or one.get("Reason", "") for one in found if one.get("State") != "healthy"
    )
    return TargetHealth(
        dict(Counter(one.get("State", "unknown") for one in found)),
        tuple(dict.fromkeys(reason for reason in reasons if reason)),
    )


def rule_weights(cloud: Cloud, rule_arn: str) -> dict[str, int] | None:
    """By target group, as the rule's forward action has them. None where there is no such rule."""
    try:
        answer = cloud.call("elbv2", "describe_rules", RuleArns=[rule_arn])
    except AwsError as error:
        if error.code == "RuleNotFound":
            return None
        raise
    for rule in answer["Rules"]:
        for action in rule["Actions"]:
            groups = action.get("ForwardConfig", {}).get("TargetGroups", ())
            if action["Type"] == "forward" and groups:
                return {group["TargetGroupArn"]: int(group.get("Weight", 1)) for group in groups}
    return {}


def load_balancer_exists(cloud: Cloud, arn: str) -> bool:
    return _exists(cloud, "describe_load_balancers", "LoadBalancerNotFound", LoadBalancerArns=[arn])


def target_group_exists(cloud: Cloud, arn: str) -> bool:
    return _exists(cloud, "describe_target_groups", "TargetGroupNotFound", TargetGroupArns=[arn])


def listener_exists(cloud: Cloud, arn: str) -> bool:
    return _exists(cloud, "describe_listeners", "ListenerNotFound", ListenerArns=[arn])


def rule_exists(cloud: Cloud, arn: str) -> bool:
    return _exists(cloud, "describe_rules", "RuleNotFound", RuleArns=[arn])


def delete_load_balancer(cloud: Cloud, arn: str) -> None:
    """With its listeners and their rules. No error if it is gone."""
    cloud.call("elbv2", "delete_load_balancer", LoadBalancerArn=arn)


def delete_target_group(cloud: Cloud, arn: str) -> None:
    """No error if it is gone; AWS refuses while a listener uses it."""
    cloud.call("elbv2", "delete_target_group", TargetGroupArn=arn)


def _exists(cloud: Cloud, operation: str, gone: str, **which: list[str]) -> bool:
    try:
        cloud.call("elbv2", operation, **which)
    except AwsError as error:
        if error.code == gone:
            return False
        raise
    return True
