"""One dashboard a cluster. Every metric on it is one that AWS sends; Batch itself sends none, not even a queue's depth."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.constructs.logical_id import fix_logical_id

DAY_SECONDS = 86_400
COLUMNS = 24
# "step 20/60 loss 3.21 …" as the smoke job prints it, "step=20 loss=3.21", {"step": 20, "loss": 3.21}: most loops print
# something like it.
STEP_PATTERN = r"""step["' =:]+(?<step>\d+).*?loss["' =:]+(?<loss>\d[\d.eE+-]*)"""
STEPS = f"parse @message /{STEP_PATTERN}/ | filter ispresent(loss)"


class RunDashboard(Construct):
    """Training steps out of the log, whether the log still moves, nodes of the type, and what the bucket holds.

    Sources: EC2 user guide, viewing_metrics_with_cloudwatch (InstanceType: with detailed monitoring only);
    CloudWatch Logs user guide, monitoring with metrics (IncomingLogEvents); S3 user guide, metrics-dimensions.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        name: str,
        instance_type: str,
        log_group: logs.ILogGroup,
        bucket: s3.IBucket,
    ) -> None:
        super().__init__(scope, id_)
        self._region = cdk.Stack.of(self).region
        rows = [
            [
                self._log_query("Loss", log_group, f"{STEPS} | stats avg(loss) as mean_loss by bin(1m)", "timeSeries"),
                self._log_query(
                    "Last training steps",
                    log_group,
                    f"{STEPS} | fields @timestamp, step, loss, @message | sort @timestamp desc | limit 20",
                    "table",
                ),
            ],
            [
                self._metric(
                    f"Running {instance_type} in this account and region",
                    ["AWS/EC2", "CPUUtilization", "InstanceType", instance_type],
                    "SampleCount",
                ),
                self._metric(
                    "Log lines a minute: none means a job that hangs, or none at all",
                    ["AWS/Logs", "IncomingLogEvents", "LogGroupName", log_group.log_group_name],
                    "Sum",
                ),
                self._metric(
                    "Bytes in the bucket (once a day)",
                    ["AWS/S3", "BucketSizeBytes", "BucketName", bucket.bucket_name, "StorageType", "StandardStorage"],
                    "Average",
                    DAY_SECONDS,
                ),
            ],
        ]  # fmt: skip
        self.resource = cloudwatch.CfnDashboard(
            self,
            "Dashboard",
            dashboard_name=name,
            dashboard_body=cdk.Stack.of(self).to_json_string({"widgets": _in_rows(rows)}),
        )
        fix_logical_id(self.resource, "Dashboard")

    def _log_query(self, title: str, log_group: logs.ILogGroup, query: str, view: str) -> dict[str, Any]:
        source = f"SOURCE '{log_group.log_group_name}' | {query}"
        properties = {"title": title, "region": self._region, "query": source, "view": view}
        return {"type": "log", "properties": properties}

    def _metric(
        self, title: str, metric: list[str], statistic: str, period_seconds: int = 60
    ) -> dict[str, Any]:
        properties = {
            "title": title,
            "region": self._region,
            "metrics": [metric],
            "stat": statistic,
            "period": period_seconds,
            "view": "timeSeries",
        }
        return {"type": "metric", "properties": properties}


def _in_rows(rows: list[list[dict[str, Any]]], height: int = 6) -> list[dict[str, Any]]:
    return [
        {**widget, "x": column * (COLUMNS // len(row)), "y": y * height, "width": COLUMNS // len(row), "height": height}
        for y, row in enumerate(rows)
        for column, widget in enumerate(row)
    ]  # fmt: skip
