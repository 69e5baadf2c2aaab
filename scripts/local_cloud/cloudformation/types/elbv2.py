"""AWS::ElasticLoadBalancingV2: LoadBalancer, TargetGroup, Listener, ListenerRule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceType,
    split_words,
)
from scripts.local_cloud.cloudformation.types.coerce import api_parameters, without


class LoadBalancer(ResourceType):
    name = "AWS::ElasticLoadBalancingV2::LoadBalancer"
    properties = split_words(
        "Name Scheme Subnets SecurityGroups Type IpAddressType LoadBalancerAttributes Tags"
    )
    _in_place = split_words("SecurityGroups LoadBalancerAttributes Tags")

    def create(self, request: Request) -> Created:
        elb = request.client("elbv2")
        given = api_parameters(
            elb, "CreateLoadBalancer", without(request.properties, "Name", "LoadBalancerAttributes", "Tags")
        )
        made = elb.create_load_balancer(Name=_name(request), Tags=request.tag_list(), **given)[
            "LoadBalancers"
        ][0]
        request.made(made["LoadBalancerArn"])
        self._put_attributes(request, made["LoadBalancerArn"])
        return Created(
            made["LoadBalancerArn"],
            {
                "LoadBalancerArn": made["LoadBalancerArn"],
                "DNSName": made["DNSName"],
                "CanonicalHostedZoneID": made["CanonicalHostedZoneId"],
                "LoadBalancerName": made["LoadBalancerName"],
                "LoadBalancerFullName": made["LoadBalancerArn"].split(":loadbalancer/")[1],
                "SecurityGroups": made.get("SecurityGroups", []),
            },
        )

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed - self._in_place:
            raise ReplacementNeededError
        if "SecurityGroups" in changed:
            request.client("elbv2").set_security_groups(
                LoadBalancerArn=physical_id, SecurityGroups=request["SecurityGroups"]
            )
        self._put_attributes(request, physical_id)
        _retag(request, physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("elbv2").delete_load_balancer(LoadBalancerArn=physical_id)

    def _put_attributes(self, request: Request, arn: str) -> None:
        attributes = _attributes(request.get("LoadBalancerAttributes"))
        if attributes:
            request.client("elbv2").modify_load_balancer_attributes(
                LoadBalancerArn=arn, Attributes=attributes
            )


class TargetGroup(ResourceType):
    name = "AWS::ElasticLoadBalancingV2::TargetGroup"
    properties = split_words(
        "Name TargetType VpcId Port Protocol ProtocolVersion IpAddressType HealthCheckEnabled HealthCheckPath "
        "HealthCheckPort HealthCheckProtocol HealthCheckIntervalSeconds HealthCheckTimeoutSeconds "
        "HealthyThresholdCount UnhealthyThresholdCount Matcher TargetControlPort TargetGroupAttributes Targets Tags"
    )
    _checks = split_words(
        "HealthCheckEnabled HealthCheckPath HealthCheckPort HealthCheckProtocol HealthCheckIntervalSeconds "
        "HealthCheckTimeoutSeconds HealthyThresholdCount UnhealthyThresholdCount Matcher"
    )
    _in_place = _checks | split_words("TargetGroupAttributes Targets Tags")

    def create(self, request: Request) -> Created:
        elb = request.client("elbv2")
        names = ("Name", "TargetGroupAttributes", "Targets", "Tags")
        given = api_parameters(elb, "CreateTargetGroup", without(request.properties, *names))
        made = elb.create_target_group(Name=_name(request), Tags=request.tag_list(), **given)["TargetGroups"][
            0
        ]
        arn = made["TargetGroupArn"]
        request.made(arn)
        self._put_attributes(request, arn)
        self._register(request, arn, request.get("Targets") or [])
        return Created(
            arn,
            {
                "TargetGroupArn": arn,
                "TargetGroupName": made["TargetGroupName"],
                "TargetGroupFullName": arn.rsplit(":", 1)[1],
            },
        )

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed - self._in_place:
            raise ReplacementNeededError
        elb = request.client("elbv2")
        if changed & self._checks:
            given = {name: request[name] for name in self._checks if request.has(name)}
            elb.modify_target_group(
                TargetGroupArn=physical_id, **api_parameters(elb, "ModifyTargetGroup", given)
            )
        self._put_attributes(request, physical_id)
        if "Targets" in changed:
            before, after = old.get("Targets") or [], request.get("Targets") or []
            gone = [target for target in before if target not in after]
            if gone:
                elb.deregister_targets(TargetGroupArn=physical_id, Targets=gone)
            self._register(request, physical_id, after)
        _retag(request, physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("elbv2").delete_target_group(TargetGroupArn=physical_id)

    def _put_attributes(self, request: Request, arn: str) -> None:
        attributes = _attributes(request.get("TargetGroupAttributes"))
        if attributes:
            request.client("elbv2").modify_target_group_attributes(TargetGroupArn=arn, Attributes=attributes)

    def _register(self, request: Request, arn: str, targets: list[dict[str, Any]]) -> None:
        if targets:
            elb = request.client("elbv2")
            given = api_parameters(elb, "RegisterTargets", {"Targets": targets})
            elb.register_targets(TargetGroupArn=arn, **given)


class Listener(ResourceType):
    name = "AWS::ElasticLoadBalancingV2::Listener"
    properties = split_words("LoadBalancerArn Port Protocol SslPolicy Certificates DefaultActions Tags")

    def create(self, request: Request) -> Created:
        elb = request.client("elbv2")
        given = api_parameters(elb, "CreateListener", without(request.properties, "Tags"))
        made = elb.create_listener(Tags=request.tag_list(), **given)["Listeners"][0]
        return Created(made["ListenerArn"], {"ListenerArn": made["ListenerArn"]})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if "LoadBalancerArn" in changed:
            raise ReplacementNeededError
        elb = request.client("elbv2")
        given = api_parameters(elb, "ModifyListener", without(request.properties, "LoadBalancerArn", "Tags"))
        elb.modify_listener(ListenerArn=physical_id, **given)
        _retag(request, physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("elbv2").delete_listener(ListenerArn=physical_id)


class ListenerRule(ResourceType):
    name = "AWS::ElasticLoadBalancingV2::ListenerRule"
    properties = split_words("ListenerArn Priority Conditions Actions Tags")

    def create(self, request: Request) -> Created:
        elb = request.client("elbv2")
        given = api_parameters(elb, "CreateRule", without(request.properties, "Tags"))
        made = elb.create_rule(Tags=request.tag_list(), **given)["Rules"][0]
        return Created(made["RuleArn"], {"RuleArn": made["RuleArn"], "IsDefault": "false"})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if "ListenerArn" in changed:
            raise ReplacementNeededError
        elb = request.client("elbv2")
        if "Priority" in changed:
            elb.set_rule_priorities(
                RulePriorities=[{"RuleArn": physical_id, "Priority": int(request["Priority"])}]
            )
        given: dict[str, Any] = {name: request[name] for name in ("Conditions", "Actions") if name in changed}
        if given:
            elb.modify_rule(RuleArn=physical_id, **api_parameters(elb, "ModifyRule", given))
        _retag(request, physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("elbv2").delete_rule(RuleArn=physical_id)


def _name(request: Request) -> str:
    return request.name_or_generated("Name", 32).replace("--", "-")


def _attributes(given: Any) -> list[dict[str, str]]:
    return [{"Key": item["Key"], "Value": _text(item["Value"])} for item in given or ()]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _retag(request: Request, arn: str) -> None:
    elb = request.client("elbv2")
    found = {tag["Key"] for tag in elb.describe_tags(ResourceArns=[arn])["TagDescriptions"][0]["Tags"]}
    superfluous = sorted(found - set(request.tags))
    if superfluous:
        elb.remove_tags(ResourceArns=[arn], TagKeys=superfluous)
    elb.add_tags(ResourceArns=[arn], Tags=request.tag_list())


TYPES: list[ResourceType] = [LoadBalancer(), TargetGroup(), Listener(), ListenerRule()]
