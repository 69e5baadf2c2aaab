"""The function's environment variables; README.md says what each means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fallback.observed import Settings

PREFIX = "NEURONKIT_"


class SettingsError(Exception):
    """The function was set up wrongly: nothing that the next check could mend."""


@dataclass(frozen=True, slots=True)
class Places:
    """Names and ARNs; "" where the fleet has no such thing."""

    environment: str
    fleet: str
    rule_arn: str
    neuron_group: str
    gpu_group: str
    waker_group: str
    cluster: str
    neuron_services: tuple[str, ...]
    gpu_service: str
    neuron_scaling_group: str
    gpu_scaling_group: str
    load_balancer: str
    override_parameter: str
    state_parameter: str


def read_places(variables: Mapping[str, str]) -> Places:
    def get(name: str) -> str:
        return _required(variables, name)

    services = tuple(name.strip() for name in get("NEURON_SERVICES").split(",") if name.strip())
    return Places(
        environment=get("ENVIRONMENT"),
        fleet=get("FLEET"),
        rule_arn=get("RULE_ARN"),
        neuron_group=get("NEURON_TARGET_GROUP_ARN"),
        gpu_group=get("GPU_TARGET_GROUP_ARN"),
        waker_group=variables.get(f"{PREFIX}WAKER_TARGET_GROUP_ARN", ""),
        cluster=get("ECS_CLUSTER"),
        neuron_services=services,
        gpu_service=get("GPU_SERVICE"),
        neuron_scaling_group=variables.get(f"{PREFIX}NEURON_AUTO_SCALING_GROUP", ""),
        gpu_scaling_group=variables.get(f"{PREFIX}GPU_AUTO_SCALING_GROUP", ""),
        load_balancer=get("LOAD_BALANCER"),
        override_parameter=get("OVERRIDE_PARAMETER"),
        state_parameter=get("STATE_PARAMETER"),
    )


def read_settings(variables: Mapping[str, str]) -> Settings:
    return Settings(
        mode=_one_of(variables, "MODE", ("overflow", "weighted", "model")),
        weight_percent=int(_number(variables, "WEIGHT_PERCENT", "0")),
        back=_one_of(variables, "BACK", ("gradual", "at-once"), "gradual"),
        gpu_minimum=int(_number(variables, "GPU_REPLICAS_MINIMUM")),
        gpu_maximum=int(_number(variables, "GPU_REPLICAS_MAXIMUM")),
        waiting_per_replica=_number(variables, "WAITING_PER_REPLICA"),
        drain_seconds=_number(variables, "DRAIN_SECONDS"),
        start_seconds=_number(variables, "START_SECONDS"),
        sleeps=bool(variables.get(f"{PREFIX}WAKER_TARGET_GROUP_ARN")),
        model_reason=variables.get(f"{PREFIX}MODEL_REASON", ""),
    )


def _required(variables: Mapping[str, str], name: str, default: str = "") -> str:
    value = variables.get(PREFIX + name) or default
    if not value:
        raise SettingsError(f"the variable {PREFIX}{name} is missing")
    return value


def _one_of(variables: Mapping[str, str], name: str, allowed: tuple[str, ...], default: str = "") -> str:
    value = _required(variables, name, default)
    if value not in allowed:
        raise SettingsError(f"{PREFIX}{name} is {value!r}; it is one of {', '.join(allowed)}")
    return value


def _number(variables: Mapping[str, str], name: str, default: str = "") -> float:
    text = _required(variables, name, default)
    try:
        return float(text)
    except ValueError:
        raise SettingsError(f"{PREFIX}{name} is {text!r}; it is a number") from None
