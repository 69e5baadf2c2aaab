"""CloudWatch alarms: whether one is there, and how to be rid of it."""

from __future__ import annotations

from scripts.aws.cloud import Cloud


def name_of(arn: str) -> str:
    return arn.partition(":alarm:")[2]


def exists(cloud: Cloud, arn: str) -> bool:
    answer = cloud.call(
        "cloudwatch",
        "describe_alarms",
        AlarmNames=[name_of(arn)],
        AlarmTypes=["MetricAlarm", "CompositeAlarm"],
    )
    return bool(answer.get("MetricAlarms") or answer.get("CompositeAlarms"))


def delete(cloud: Cloud, arn: str) -> None:
    cloud.call("cloudwatch", "delete_alarms", AlarmNames=[name_of(arn)])
