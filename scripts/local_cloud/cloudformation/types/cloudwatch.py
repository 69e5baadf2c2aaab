"""AWS::CloudWatch: Dashboard, Alarm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceError,
    ResourceType,
    split_words,
)
from scripts.local_cloud.cloudformation.types.coerce import api_parameters, json_text, without


class Dashboard(ResourceType):
    name = "AWS::CloudWatch::Dashboard"
    properties = split_words("DashboardName DashboardBody Tags")

    def create(self, request: Request) -> Created:
        dashboard = request.name_or_generated("DashboardName", 255)
        self._put(request, dashboard)
        return Created(dashboard)

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if "DashboardName" in changed:
            raise ReplacementNeededError
        self._put(request, physical_id)
        cloudwatch = request.client("cloudwatch")
        arn = f"arn:{request.partition}:cloudwatch::{request.account}:dashboard/{physical_id}"
        found = {tag["Key"] for tag in cloudwatch.list_tags_for_resource(ResourceARN=arn)["Tags"]}
        superfluous = sorted(found - set(request.tags))
        if superfluous:
            cloudwatch.untag_resource(ResourceARN=arn, TagKeys=superfluous)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("cloudwatch").delete_dashboards(DashboardNames=[physical_id])

    def _put(self, request: Request, dashboard: str) -> None:
        answer = request.client("cloudwatch").put_dashboard(
            DashboardName=dashboard,
            DashboardBody=json_text(request["DashboardBody"]),
            Tags=request.tag_list(),
        )
        errors = answer.get("DashboardValidationMessages") or ()
        if errors:
            raise ResourceError(f"The dashboard body is invalid: {errors}")


class Alarm(ResourceType):
    name = "AWS::CloudWatch::Alarm"
    properties = split_words(
        "AlarmName AlarmDescription ActionsEnabled OKActions AlarmActions InsufficientDataActions MetricName Namespace "
        "Statistic ExtendedStatistic Dimensions Period Unit EvaluationPeriods DatapointsToAlarm Threshold "
        "ComparisonOperator TreatMissingData EvaluateLowSampleCountPercentile Metrics Tags"
    )

    def create(self, request: Request) -> Created:
        alarm = request.name_or_generated("AlarmName", 255)
        self._put(request, alarm)
        return Created(alarm, {"Arn": request.arn("cloudwatch", f"alarm:{alarm}")})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if "AlarmName" in changed:
            raise ReplacementNeededError
        self._put(request, physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("cloudwatch").delete_alarms(AlarmNames=[physical_id])

    def _put(self, request: Request, alarm: str) -> None:
        cloudwatch = request.client("cloudwatch")
        parameters = api_parameters(
            cloudwatch, "PutMetricAlarm", without(request.properties, "AlarmName", "Tags")
        )
        cloudwatch.put_metric_alarm(AlarmName=alarm, Tags=request.tag_list(), **parameters)


TYPES: list[ResourceType] = [Dashboard(), Alarm()]
