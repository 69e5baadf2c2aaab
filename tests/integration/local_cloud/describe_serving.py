"""What boto3 describes of a serving fleet, in the shape of CloudFormation's properties."""

from __future__ import annotations

import json
from typing import Any

import boto3
from botocore.exceptions import ClientError

from tests.integration.local_cloud.describe_readers import GoneError, Reader
from tests.integration.local_cloud.describe_readers import _call as call
from tests.integration.local_cloud.describe_readers import _only as only


def _ecs_cluster(session: boto3.Session, name: str, _: Any) -> dict[str, Any]:
    include = ["TAGS", "SETTINGS", "CONFIGURATIONS"]
    cluster = only(session.client("ecs").describe_clusters(clusters=[name], include=include)["clusters"])
    return {**cluster, "ClusterSettings": cluster["settings"]}


def _capacity_provider(session: boto3.Session, name: str, expected: dict[str, Any]) -> dict[str, Any]:
    ecs = session.client("ecs")
    answer = ecs.describe_capacity_providers(capacityProviders=[name], include=["TAGS"])
    provider = only(answer["capacityProviders"])
    wanted = (expected.get("AutoScalingGroupProvider") or {}).get("AutoScalingGroupArn")
    group = provider.get("autoScalingGroupProvider")
    # The template may name the group where ECS tells its ARN.
    if group and isinstance(wanted, str) and group["autoScalingGroupArn"].endswith(f"/{wanted}"):
        group["autoScalingGroupArn"] = wanted
    return {**provider, "ClusterName": str(provider.get("cluster", "")).rsplit("/", 1)[-1]}


def _associations(session: boto3.Session, name: str, _: Any) -> dict[str, Any]:
    cluster = only(session.client("ecs").describe_clusters(clusters=[name])["clusters"])
    if not cluster["capacityProviders"]:
        raise GoneError
    return {**cluster, "Cluster": name}


def _task_definition(session: boto3.Session, arn: str, _: Any) -> dict[str, Any]:
    answer = call(session.client("ecs").describe_task_definition, taskDefinition=arn, include=["TAGS"])
    if answer["taskDefinition"]["status"] != "ACTIVE":
        raise GoneError
    return {**answer["taskDefinition"], "Tags": answer["tags"]}


def _ecs_service(session: boto3.Session, arn: str, _: Any) -> dict[str, Any]:
    cluster = arn.split("/")[1]
    try:
        answer = session.client("ecs").describe_services(cluster=cluster, services=[arn], include=["TAGS"])
    except ClientError as error:
        raise GoneError from error
    service = only([one for one in answer["services"] if one["status"] == "ACTIVE"])
    balancers = [
        {name: value for name, value in entry.items() if value is not None}
        for entry in service["loadBalancers"]
    ]
    return {
        **service,
        "Cluster": cluster,
        "LoadBalancers": balancers,
        "PlacementStrategies": service.get("placementStrategy"),
    }


def _group(session: boto3.Session, name: str, _: Any) -> dict[str, Any]:
    answer = session.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[name])
    group = only(answer["AutoScalingGroups"])
    tags = [{key: tag[key] for key in ("Key", "Value", "PropagateAtLaunch")} for tag in group["Tags"]]
    return {**group, "VPCZoneIdentifier": group["VPCZoneIdentifier"].split(","), "Tags": tags}


def _load_balancer(session: boto3.Session, arn: str, expected: dict[str, Any]) -> dict[str, Any]:
    elb = session.client("elbv2")
    balancer = only(call(elb.describe_load_balancers, LoadBalancerArns=[arn])["LoadBalancers"])
    attributes = elb.describe_load_balancer_attributes(LoadBalancerArn=arn)["Attributes"]
    return {
        **balancer,
        "Subnets": [zone["SubnetId"] for zone in balancer["AvailabilityZones"]],
        "LoadBalancerAttributes": _named(attributes, expected.get("LoadBalancerAttributes")),
        "Tags": _tags(elb, arn),
    }


def _target_group(session: boto3.Session, arn: str, expected: dict[str, Any]) -> dict[str, Any]:
    elb = session.client("elbv2")
    group = only(call(elb.describe_target_groups, TargetGroupArns=[arn])["TargetGroups"])
    attributes = elb.describe_target_group_attributes(TargetGroupArn=arn)["Attributes"]
    health = elb.describe_target_health(TargetGroupArn=arn)["TargetHealthDescriptions"]
    return {
        **group,
        "TargetGroupAttributes": _named(attributes, expected.get("TargetGroupAttributes")),
        "Targets": [one["Target"] for one in health],
        "Tags": _tags(elb, arn),
    }


def _listener(session: boto3.Session, arn: str, _: Any) -> dict[str, Any]:
    elb = session.client("elbv2")
    return {**only(call(elb.describe_listeners, ListenerArns=[arn])["Listeners"]), "Tags": _tags(elb, arn)}


def _rule(session: boto3.Session, arn: str, _: Any) -> dict[str, Any]:
    elb = session.client("elbv2")
    rule = only(call(elb.describe_rules, RuleArns=[arn])["Rules"])
    listener = arn.replace(":listener-rule/", ":listener/").rsplit("/", 1)[0]
    return {**rule, "ListenerArn": listener, "Tags": _tags(elb, arn)}


def _scalable_target(session: boto3.Session, physical_id: str, _: Any) -> dict[str, Any]:
    client = session.client("application-autoscaling")
    resource = physical_id.split("|")[0]
    target = only(
        client.describe_scalable_targets(ServiceNamespace="ecs", ResourceIds=[resource])["ScalableTargets"]
    )
    actions = client.describe_scheduled_actions(ServiceNamespace="ecs", ResourceId=resource)[
        "ScheduledActions"
    ]
    names = ("ScheduledActionName", "Schedule", "Timezone", "ScalableTargetAction")
    return {
        **target,
        "ScheduledActions": [{name: one[name] for name in names} for one in actions],
        "Tags": _pairs(client.list_tags_for_resource(ResourceARN=target["ScalableTargetARN"])["Tags"]),
    }


def _scaling_policy(session: boto3.Session, arn: str, _: Any) -> dict[str, Any]:
    client = session.client("application-autoscaling")
    policies = client.describe_scaling_policies(ServiceNamespace="ecs")["ScalingPolicies"]
    policy = only([one for one in policies if one["PolicyARN"] == arn])
    target = "|".join(policy[name] for name in ("ResourceId", "ScalableDimension", "ServiceNamespace"))
    return {**policy, "ScalingTargetId": target}


def _schedule(session: boto3.Session, name: str, expected: dict[str, Any]) -> dict[str, Any]:
    group = expected.get("GroupName")
    if not group:
        found = session.client("scheduler").list_schedules(NamePrefix=name)["Schedules"]
        group = only([one for one in found if one["Name"] == name])["GroupName"]
    return call(session.client("scheduler").get_schedule, Name=name, GroupName=group)


def _schedule_group(session: boto3.Session, name: str, _: Any) -> dict[str, Any]:
    scheduler = session.client("scheduler")
    group = call(scheduler.get_schedule_group, Name=name)
    return {**group, "Tags": scheduler.list_tags_for_resource(ResourceArn=group["Arn"])["Tags"]}


def _function(session: boto3.Session, name: str, _: Any) -> dict[str, Any]:
    answer = call(session.client("lambda").get_function, FunctionName=name)
    tags = _pairs(answer["Tags"])
    concurrency = answer.get("Concurrency", {}).get("ReservedConcurrentExecutions")
    return {**answer["Configuration"], "ReservedConcurrentExecutions": concurrency, "Tags": tags}


def _event_invoke_config(session: boto3.Session, physical_id: str, _: Any) -> dict[str, Any]:
    function, qualifier = physical_id.split("|")
    client = session.client("lambda")
    answer = call(client.get_function_event_invoke_config, FunctionName=function, Qualifier=qualifier)
    return {**answer, "FunctionName": function, "Qualifier": qualifier}


def _permission(session: boto3.Session, statement: str, expected: dict[str, Any]) -> dict[str, Any]:
    client = session.client("lambda")
    names = [one["FunctionName"] for one in client.list_functions()["Functions"]]
    for name in names:
        try:
            policy = client.get_policy(FunctionName=name)["Policy"]
        except ClientError:
            continue
        for item in _statements(policy):
            if item["Sid"] == statement:
                by_arn = str(expected.get("FunctionName", "")).startswith("arn:")
                return {
                    "Action": item["Action"],
                    "FunctionName": item["Resource"] if by_arn else name,
                    "Principal": item["Principal"]["Service"],
                    "SourceArn": item.get("Condition", {}).get("ArnLike", {}).get("AWS:SourceArn"),
                    "SourceAccount": item.get("Condition", {})
                    .get("StringEquals", {})
                    .get("AWS:SourceAccount"),
                }
    raise GoneError


def _statements(policy: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(policy)["Statement"]
    return found


def _access_point(session: boto3.Session, id_: str, _: Any) -> dict[str, Any]:
    point = only(call(session.client("efs").describe_access_points, AccessPointId=id_)["AccessPoints"])
    return {**point, "AccessPointTags": point["Tags"]}


def _named(attributes: list[dict[str, str]], expected: Any) -> list[dict[str, str]]:
    """Those that the template sets: there are many more, with their defaults."""
    wanted = {item["Key"] for item in expected or ()}
    return [item for item in attributes if item["Key"] in wanted]


def _pairs(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def _tags(elb: Any, arn: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = elb.describe_tags(ResourceArns=[arn])["TagDescriptions"][0]["Tags"]
    return found


SERVING_READERS: dict[str, Reader] = {
    "AWS::ApplicationAutoScaling::ScalableTarget": _scalable_target,
    "AWS::ApplicationAutoScaling::ScalingPolicy": _scaling_policy,
    "AWS::AutoScaling::AutoScalingGroup": _group,
    "AWS::ECS::CapacityProvider": _capacity_provider,
    "AWS::ECS::Cluster": _ecs_cluster,
    "AWS::ECS::ClusterCapacityProviderAssociations": _associations,
    "AWS::ECS::Service": _ecs_service,
    "AWS::ECS::TaskDefinition": _task_definition,
    "AWS::EFS::AccessPoint": _access_point,
    "AWS::ElasticLoadBalancingV2::Listener": _listener,
    "AWS::ElasticLoadBalancingV2::ListenerRule": _rule,
    "AWS::ElasticLoadBalancingV2::LoadBalancer": _load_balancer,
    "AWS::ElasticLoadBalancingV2::TargetGroup": _target_group,
    "AWS::Lambda::EventInvokeConfig": _event_invoke_config,
    "AWS::Lambda::Function": _function,
    "AWS::Lambda::Permission": _permission,
    "AWS::Scheduler::Schedule": _schedule,
    "AWS::Scheduler::ScheduleGroup": _schedule_group,
}
