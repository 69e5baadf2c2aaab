"""Where a function logs: its LoggingConfig, which moto drops, or a group that bears its name."""

from __future__ import annotations

from typing import Any

from moto.awslambda.models import LambdaFunction


def log_group_of(function: LambdaFunction) -> str:
    configuration = function.__dict__.get("logging_config") or {}
    return str(configuration.get("LogGroup") or f"/aws/lambda/{function.function_name}")


def keep_logging_config() -> None:
    make = LambdaFunction.__init__
    configuration = LambdaFunction.get_configuration
    update = LambdaFunction.update_configuration

    def initialize(
        self: LambdaFunction, account_id: str, spec: dict[str, Any], *more: Any, **named: Any
    ) -> None:
        self.__dict__["logging_config"] = spec.get("LoggingConfig") or {}
        make(self, account_id, spec, *more, **named)

    def get_configuration(self: LambdaFunction, on_create: bool = False) -> dict[str, Any]:
        kept = {"LogFormat": "Text", **self.__dict__["logging_config"], "LogGroup": log_group_of(self)}
        return {**configuration(self, on_create), "LoggingConfig": kept}

    def update_configuration(self: LambdaFunction, config_updates: dict[str, Any]) -> dict[str, Any]:
        if config_updates.get("LoggingConfig"):
            self.__dict__["logging_config"] = config_updates["LoggingConfig"]
        return update(self, config_updates)

    LambdaFunction.__init__ = initialize  # type: ignore[method-assign]
    LambdaFunction.get_configuration = get_configuration  # type: ignore[method-assign]
    LambdaFunction.update_configuration = update_configuration  # type: ignore[method-assign]
