"""What Elastic Load Balancing refuses and moto takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from moto.awslambda.utils import get_backend
from moto.elbv2.exceptions import ELBClientError, ValidationError
from moto.elbv2.models import FakeTargetGroup

GROUPS_OF_AN_ACTION_MAX = 5
WEIGHT_MAX = 999
_NEED_HTTPS = ("authenticate-oidc", "authenticate-cognito", "jwt-validation")
_LAST = ("forward", "fixed-response", "redirect")
_BODY_MAX = 1024
_PRIORITY_MAX = 50000
_CLAIMS_MAX = 10
_LOAD_BALANCER = {"idle_timeout.timeout_seconds": (1, 4000), "client_keep_alive.seconds": (60, 604800)}
_TARGET_GROUP = {
    "deregistration_delay.timeout_seconds": (0, 3600),
    "stickiness.lb_cookie.duration_seconds": (1, 604800),
    "stickiness.app_cookie.duration_seconds": (1, 604800),
}
_OTHER_KEYS = {
    "load_balancing.algorithm.anomaly_mitigation",
    "load_balancing.algorithm.type",
    "load_balancing.cross_zone.enabled",
    "slow_start.duration_seconds",
    "stickiness.app_cookie.cookie_name",
    "stickiness.enabled",
    "stickiness.type",
}
_KEY_PREFIXES = ("target_group_health.", "waf.", "routing.http2.")
_LAMBDA_KEYS = {"lambda.multi_value_headers.enabled"}
_CONDITION_VALUES_MAX = 5
_ZONES_MIN = 2
_NAME = re.compile(r"(?!-)[A-Za-z0-9-]{1,32}(?<!-)")
_HEALTH_CHECK = {
    "HealthCheckIntervalSeconds": (5, 300),
    "HealthCheckTimeoutSeconds": (2, 120),
    "HealthyThresholdCount": (2, 10),
    "UnhealthyThresholdCount": (2, 10),
}
_ALGORITHMS = ("round_robin", "least_outstanding_requests", "weighted_random")


def check_actions(actions: Sequence[Mapping[str, Any]], protocol: str) -> None:
    for action in actions:
        kind = action["Type"]
        if kind in _NEED_HTTPS and protocol != "HTTPS":
            raise _error(
                "InvalidLoadBalancerAction",
                f"Actions of type '{kind}' are supported only on HTTPS listeners",
            )
        if kind == "jwt-validation":
            _check_jwt(action)
        if kind == "forward":
            check_forward(action)
        if len((action.get("FixedResponseConfig") or {}).get("MessageBody") or "") > _BODY_MAX:
            raise ValidationError(f"The message body of a fixed response has up to {_BODY_MAX} characters")
    last = [action["Type"] for action in sorted(actions, key=lambda one: int(one.get("Order") or 0))][-1:]
    if last and last[0] not in _LAST:
        raise _error(
            "InvalidLoadBalancerAction", "The last action must be forward, redirect or fixed-response"
        )


def _check_jwt(action: Mapping[str, Any]) -> None:
    configuration = action.get("JwtValidationConfig") or {}
    if not str(configuration.get("JwksEndpoint", "")).startswith("https://"):
        raise ValidationError("The JWKS endpoint of a jwt-validation action must be an HTTPS URL")
    if not configuration.get("Issuer"):
        raise ValidationError("A jwt-validation action needs an issuer")
    if len(configuration.get("AdditionalClaims") or ()) > _CLAIMS_MAX:
        raise ValidationError(f"A jwt-validation action has up to {_CLAIMS_MAX} additional claims")


def check_forward(action: Mapping[str, Any]) -> None:
    groups = (action.get("ForwardConfig") or {}).get("TargetGroups") or ()
    if len(groups) > GROUPS_OF_AN_ACTION_MAX:
        raise _error("TooManyTargetGroups", f"An action has up to {GROUPS_OF_AN_ACTION_MAX} target groups")
    alone = action.get("TargetGroupArn")
    if not groups and not alone:
        raise ValidationError("A target group must be specified for an action of type 'forward'")
    if groups and alone and [group["TargetGroupArn"] for group in groups] != [alone]:
        raise ValidationError(
            "If both ForwardConfig and TargetGroupArn are specified, ForwardConfig has one target group, and it is the "
            "one of TargetGroupArn"
        )
    for group in groups:
        _check_weight(group, is_alone=len(groups) == 1)
    sticky = (action.get("ForwardConfig") or {}).get("TargetGroupStickinessConfig") or {}
    _check_ranges(sticky, {"DurationSeconds": (1, 604800)})


def _check_weight(group: Mapping[str, Any], *, is_alone: bool) -> None:
    if group.get("Weight") is None and not is_alone:
        raise ValidationError("A weight must be specified for each of several target groups")
    weight = int(group.get("Weight") or 0)
    if not 0 <= weight <= WEIGHT_MAX:
        raise ValidationError(f"Weight '{weight}' must be between 0 and {WEIGHT_MAX}")


def check_one_load_balancer(
    groups: Mapping[str, FakeTargetGroup], arns: Iterable[str], load_balancer_arn: str
) -> None:
    taken = [arn for arn in arns if set(_load_balancers(groups, arn)) - {load_balancer_arn}]
    if taken:
        raise _error(
            "TargetGroupAssociationLimit",
            f"The following target groups cannot be associated with more than one load balancer: {', '.join(taken)}",
        )


def _load_balancers(groups: Mapping[str, FakeTargetGroup], arn: str) -> list[str]:
    return list(groups[arn].load_balancer_arns) if arn in groups else []


def check_conditions(conditions: Sequence[Mapping[str, Any]]) -> None:
    """However a value is spelled: Values, or the list in the field's own configuration."""
    values = [value for condition in conditions for value in _values(condition)]
    if not values:
        raise ValidationError("A condition value must be specified")
    if len(values) > _CONDITION_VALUES_MAX:
        raise ValidationError(f"A rule can only have '{_CONDITION_VALUES_MAX}' condition values")


def _values(condition: Mapping[str, Any]) -> list[Any]:
    nested = [one for one in condition.values() if isinstance(one, Mapping)]
    return list(condition.get("Values") or ()) + [
        value for one in nested for value in one.get("Values") or ()
    ]


def check_subnets(zones: Sequence[str]) -> None:
    """The zones of an Application Load Balancer's subnets."""
    if len(set(zones)) < len(zones):
        raise _error(
            "InvalidConfigurationRequest",
            "A load balancer cannot be attached to multiple subnets in the same Availability Zone",
        )
    if len(zones) < _ZONES_MIN:
        raise ValidationError("At least two subnets in two different Availability Zones must be specified")


def check_load_balancer_name(name: str, names: Iterable[str]) -> None:
    if not _NAME.fullmatch(name) or name.startswith("internal-"):
        raise ValidationError(
            f"The load balancer name '{name}' has up to 32 letters, numbers and hyphens, no hyphen at its ends, and does "
            "not begin with 'internal-'"
        )
    if name in names:
        raise _error(
            "DuplicateLoadBalancerName",
            f"A load balancer with the same name '{name}' exists, but with different settings",
        )


def check_priority(priority: Any) -> None:
    if not 1 <= int(priority) <= _PRIORITY_MAX:
        raise ValidationError(f"Priority '{priority}' must be between 1 and {_PRIORITY_MAX}")


def check_certificates(protocol: str | None, certificates: Sequence[Any]) -> None:
    if protocol == "HTTPS" and len(certificates) != 1:
        raise _error(
            "ValidationError",
            "A certificate must be specified for HTTPS listeners"
            if not certificates
            else "Only one certificate can be specified for a listener",
        )
    if protocol == "HTTP" and certificates:
        raise _error("InvalidConfigurationRequest", "Certificates cannot be specified for HTTP listeners")


def check_load_balancer_attributes(attributes: Mapping[str, Any]) -> None:
    _check_ranges(attributes, _LOAD_BALANCER)


def check_target_group_attributes(group: FakeTargetGroup, attributes: Mapping[str, Any]) -> None:
    is_lambda = group.target_type == "lambda"
    known = _LAMBDA_KEYS if is_lambda else _OTHER_KEYS | set(_TARGET_GROUP)
    for key in attributes:
        if key not in known and not key.startswith(_KEY_PREFIXES):
            raise (
                _unsupported(group, key)
                if is_lambda
                else ValidationError(f"Target group attribute key '{key}' is not recognized")
            )
    _check_ranges(attributes, _TARGET_GROUP)
    merged = {**group.attributes, **attributes}
    slow_start = int(merged.get("slow_start.duration_seconds") or 0)
    if slow_start and not 30 <= slow_start <= 900:
        raise ValidationError("'slow_start.duration_seconds' must be 0 or between 30 and 900")
    algorithm = attributes.get("load_balancing.algorithm.type")
    if algorithm is not None and algorithm not in _ALGORITHMS:
        raise ValidationError(f"'load_balancing.algorithm.type' must be one of {', '.join(_ALGORITHMS)}")
    if slow_start and merged.get("load_balancing.algorithm.type") == "least_outstanding_requests":
        raise _error(
            "InvalidConfigurationRequest",
            "Slow start cannot be combined with the algorithm least_outstanding_requests",
        )


def _unsupported(group: FakeTargetGroup, key: str) -> ELBClientError:
    return _error(
        "InvalidConfigurationRequest",
        f"A target group with target type '{group.target_type}' does not support the attribute {key}",
    )


def check_health_check(parameters: Mapping[str, Any]) -> None:
    _check_ranges(parameters, _HEALTH_CHECK)


def check_lambda_permission(account: str, region: str, group: FakeTargetGroup, function_arn: str) -> None:
    """A load balancer may call a function only with a permission for it; without, the target is refused."""
    function = get_backend(account, region).get_function(function_arn)
    for statement in function.policy.statements:
        principal = statement.get("Principal")
        service = principal.get("Service") if isinstance(principal, dict) else principal
        if service != "elasticloadbalancing.amazonaws.com":
            continue
        wanted = (statement.get("Condition") or {}).get("ArnLike", {}).get("AWS:SourceArn", group.arn)
        if wanted == group.arn:
            return
    raise _error(
        "AccessDenied",
        f"elasticloadbalancing principal does not have permission to invoke {function_arn} from target group "
        f"{group.arn}",
    )


def _check_ranges(given: Mapping[str, Any], ranges: Mapping[str, tuple[int, int]]) -> None:
    for name, (least, most) in ranges.items():
        value = given.get(name)
        if value is not None and not least <= int(value) <= most:
            raise ValidationError(f"'{name}' value '{value}' must be between '{least}-{most}' inclusive")


def _error(code: str, message: str) -> ELBClientError:
    return ELBClientError(code, message)
