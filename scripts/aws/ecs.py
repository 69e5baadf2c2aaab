"""ECS, which AWS Batch uses behind the scenes: only whether what carries our tag is still alive."""

from __future__ import annotations

from scripts.aws.cloud import Cloud


def cluster_is_active(cloud: Cloud, arn: str) -> bool:
    clusters = cloud.call("ecs", "describe_clusters", clusters=[arn])["clusters"]
    return any(cluster.get("status") != "INACTIVE" for cluster in clusters)


def task_runs(cloud: Cloud, arn: str) -> bool:
    """The cluster's name is part of the task's ARN."""
    cluster = arn.split(":task/")[1].split("/")[0]
    tasks = cloud.call("ecs", "describe_tasks", cluster=cluster, tasks=[arn])["tasks"]
    return any(task.get("lastStatus") != "STOPPED" for task in tasks)
