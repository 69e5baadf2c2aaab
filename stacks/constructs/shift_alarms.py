"""Alarms of a shift. They act on nothing: the kit sends no mail; actions can be added."""

from __future__ import annotations

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from stacks.constructs.logical_id import fix_logical_id
from stacks.domain.names import METRICS_NAMESPACE

PERIOD_SECONDS = 1800
"""Three ticks."""


class ShiftAlarms(Construct):
    def __init__(
        self, scope: Construct, id_: str, *, environment: str, shift: str, function: lambda_.CfnFunction
    ) -> None:
        super().__init__(scope, id_)
        own = {"Environment": environment, "Shift": shift}
        self._make(
            "Late",
            "One side waits for capacity of the other for longer than it should",
            (METRICS_NAMESPACE, "ShiftLate", own),
            "Maximum",
        )
        self._make(
            "Fails",
            "The controller was refused something in two of three calls",
            ("AWS/Lambda", "Errors", {"FunctionName": function.ref}),
            "Sum",
            threshold=2,
        )
        self._make(
            "Silent",
            "The controller has not reported for half an hour: nobody switches",
            (METRICS_NAMESPACE, "ShiftState", own),
            "SampleCount",
            comparison="LessThanThreshold",
            missing="breaching",
        )

    def _make(
        self,
        id_: str,
        words: str,
        metric: tuple[str, str, dict[str, str]],
        statistic: str,
        *,
        threshold: int = 1,
        comparison: str = "GreaterThanOrEqualToThreshold",
        missing: str = "notBreaching",
    ) -> None:
        namespace, name, dimensions = metric
        made = cloudwatch.CfnAlarm(
            self,
            id_,
            alarm_description=words,
            namespace=namespace,
            metric_name=name,
            dimensions=[
                cloudwatch.CfnAlarm.DimensionProperty(name=key, value=value)
                for key, value in dimensions.items()
            ],
            statistic=statistic,
            period=PERIOD_SECONDS,
            evaluation_periods=1,
            threshold=threshold,
            comparison_operator=comparison,
            treat_missing_data=missing,
        )
        fix_logical_id(made, f"Shift{id_}Alarm")
