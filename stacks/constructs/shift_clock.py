"""The times at which a shift's controller is called: a schedule for each time of the day at which something changes, and a tick."""

from __future__ import annotations

from collections.abc import Iterable

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from stacks.constructs.logical_id import fix_logical_id
from stacks.domain.shift_plan import ShiftPlan
from stacks.domain.windows import DAY_MINUTES, WEEK_MINUTES, chains

TICK = "rate(10 minutes)"
"""A time that the clock skips is left out by EventBridge Scheduler: then the tick is at most so late."""
DAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")


class ShiftClock(Construct):
    def __init__(
        self, scope: Construct, id_: str, *, shift: ShiftPlan, function: lambda_.CfnFunction
    ) -> None:
        super().__init__(scope, id_)
        self._function = function
        self._role = self._make_role()
        for minute, days in times_of_day(shift):
            expression = f"cron({minute % 60} {minute // 60} ? * {','.join(days)} *)"
            self._schedule(f"At{minute // 60:02d}{minute % 60:02d}", expression, shift.timezone)
        self._schedule("Tick", TICK, None)
        # The next tick knows more than a repeated call.
        config = lambda_.CfnEventInvokeConfig(
            self, "Invocations", function_name=function.ref, qualifier="$LATEST", maximum_retry_attempts=0
        )
        fix_logical_id(config, "ShiftInvocations")

    def _make_role(self) -> iam.Role:
        invoke = iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=[self._function.attr_arn])
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal(
                "scheduler.amazonaws.com",
                conditions={"StringEquals": {"aws:SourceAccount": cdk.Stack.of(self).account}},
            ),
            inline_policies={"invoke": iam.PolicyDocument(statements=[invoke])},
        )
        fix_logical_id(role, "ShiftClockRole")
        return role

    def _schedule(self, id_: str, expression: str, timezone: str | None) -> None:
        made = scheduler.CfnSchedule(
            self,
            id_,
            schedule_expression=expression,
            schedule_expression_timezone=timezone,
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=self._function.attr_arn,
                role_arn=self._role.role_arn,
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(maximum_retry_attempts=0),
            ),
        )
        fix_logical_id(made, f"Shift{id_}")


def times_of_day(shift: ShiftPlan) -> list[tuple[int, tuple[str, ...]]]:
    """Minute of the day on the clock, and the days: beginnings and ends of windows and of drains."""
    by_minute: dict[int, set[int]] = {}
    for minute in _times_of_week(shift):
        day, of_day = divmod(minute % WEEK_MINUTES, DAY_MINUTES)
        by_minute.setdefault(of_day, set()).add(day)
    return [(minute, tuple(DAYS[day] for day in sorted(days))) for minute, days in sorted(by_minute.items())]


def _times_of_week(shift: ShiftPlan) -> Iterable[int]:
    for window in shift.windows:
        yield window.week_start
    for start, minutes in chains(shift.windows):
        if minutes < WEEK_MINUTES:
            yield from (start - shift.drain_minutes, start + minutes - shift.drain_minutes, start + minutes)
