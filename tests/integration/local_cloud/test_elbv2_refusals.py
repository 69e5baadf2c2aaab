"""What Elastic Load Balancing refuses, by name and words."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from scripts.local_cloud import process
from tests.integration.local_cloud.conftest import session_for
from tests.integration.local_cloud.refusals import Network, Refusal, table

pytestmark = [pytest.mark.local_cloud, pytest.mark.xdist_group("local_cloud")]
_accounts = itertools.count(320000000001)
INVALID = "ValidationError"
ACTION = "InvalidLoadBalancerAction"
REQUEST = "InvalidConfigurationRequest"
FIXED = {"Type": "fixed-response", "FixedResponseConfig": {"StatusCode": "404"}}


class Balancer(Network):
    """A load balancer with a listener, a rule that forwards to one target group, and five groups that are free."""

    def __init__(self, session: Any) -> None:
        super().__init__(session)
        self.elb = self.client("elbv2")
        self.arn = self.balancer("lb", *self.subnets[:2])
        self.groups = [self.group(f"g{n}") for n in range(6)]
        self.listener = self.listen(80)
        self.rule = self.forward(self.groups[0], priority=10)

    def balancer(self, name: str, *subnets: str) -> str:
        made = self.elb.create_load_balancer(Name=name, Subnets=list(subnets), Scheme="internal")
        return str(made["LoadBalancers"][0]["LoadBalancerArn"])

    def group(self, name: str, **more: Any) -> str:
        given = {"Protocol": "HTTP", "Port": 8080, "VpcId": self.vpc, "TargetType": "instance", **more}
        return str(self.elb.create_target_group(Name=name, **given)["TargetGroups"][0]["TargetGroupArn"])

    def listen(self, port: int, action: Any = FIXED, **more: Any) -> str:
        given = {
            "LoadBalancerArn": self.arn,
            "Protocol": "HTTP",
            "Port": port,
            "DefaultActions": [action],
            **more,
        }
        return str(self.elb.create_listener(**given)["Listeners"][0]["ListenerArn"])

    def act(self, *actions: Any, priority: int = 99, paths: Any = ("/v1/*",), **more: Any) -> str:
        conditions = [{"Field": "path-pattern", "PathPatternConfig": {"Values": list(paths)}}]
        given = {"ListenerArn": self.listener, "Conditions": conditions, "Actions": list(actions), **more}
        return str(self.elb.create_rule(Priority=priority, **given)["Rules"][0]["RuleArn"])

    def forward(self, *groups: Any, priority: int = 99, **more: Any) -> str:
        """A group, or a group and its weight."""
        pairs = [one if isinstance(one, tuple) else (one, None) for one in groups]
        tuples = [
            {"TargetGroupArn": arn, **({} if weight is None else {"Weight": weight})} for arn, weight in pairs
        ]
        return self.act(
            {"Type": "forward", "ForwardConfig": {"TargetGroups": tuples, **more}}, priority=priority
        )

    def group_attribute(self, key: str, value: str, group: int = 1) -> Any:
        return self.elb.modify_target_group_attributes(
            TargetGroupArn=self.groups[group], Attributes=[{"Key": key, "Value": value}]
        )

    def attribute(self, key: str, value: str) -> Any:
        return self.elb.modify_load_balancer_attributes(
            LoadBalancerArn=self.arn, Attributes=[{"Key": key, "Value": value}]
        )

    def default_rule(self) -> str:
        rules = self.elb.describe_rules(ListenerArn=self.listener)["Rules"]
        return str(next(one["RuleArn"] for one in rules if one["IsDefault"]))


@pytest.fixture(scope="module")
def balancer(cloud: process.LocalCloud) -> Balancer:
    return Balancer(session_for(cloud, str(next(_accounts))))


def _delete_protected(balancer: Balancer) -> None:
    balancer.attribute("deletion_protection.enabled", "true")
    try:
        balancer.elb.delete_load_balancer(LoadBalancerArn=balancer.arn)
    finally:
        balancer.attribute("deletion_protection.enabled", "false")


@table(
    ("one subnet", lambda b: b.balancer("x", b.subnets[0]), INVALID,
     "At least two subnets in two different Availability Zones must be specified"),
    ("two subnets of one zone", lambda b: b.balancer("x", b.subnets[0], b.subnets[2]), REQUEST,
     "cannot be attached to multiple subnets in the same Availability Zone"),
    ("an unknown subnet", lambda b: b.balancer("x", b.subnets[0], "subnet-0123456789abcdef0"),
     "InvalidSubnetID.NotFound", "does not exist"),
    ("a name in use", lambda b: b.balancer("lb", *b.subnets[:2]), "DuplicateLoadBalancerName", "'lb' exists"),
    ("a name of 33 letters", lambda b: b.balancer("a" * 33, *b.subnets[:2]), INVALID, "32"),
    ("a name that ELB keeps", lambda b: b.balancer("internal-x", *b.subnets[:2]), INVALID, "internal-"),
    ("fewer subnets later", lambda b: b.elb.set_subnets(LoadBalancerArn=b.arn, Subnets=b.subnets[:1]), INVALID,
     "At least two subnets"),
    ("an idle timeout of 4001", lambda b: b.attribute("idle_timeout.timeout_seconds", "4001"), INVALID, "1-4000"),
    ("a keep-alive of 59", lambda b: b.attribute("client_keep_alive.seconds", "59"), INVALID, "60-604800"),
    ("deletion while protected", _delete_protected, "OperationNotPermitted", "deletion protection"),
)  # fmt: skip
def test_load_balancers(balancer: Balancer, refusal: Refusal) -> None:
    refusal.check(balancer)


def _slow_and_least(balancer: Balancer) -> None:
    balancer.group_attribute("load_balancing.algorithm.type", "least_outstanding_requests", 2)
    balancer.group_attribute("slow_start.duration_seconds", "60", 2)


def _delete_default(balancer: Balancer) -> None:
    group = balancer.group("default")
    listener = balancer.listen(81, {"Type": "forward", "TargetGroupArn": group})
    try:
        balancer.elb.delete_target_group(TargetGroupArn=group)
    finally:
        balancer.elb.delete_listener(ListenerArn=listener)
        balancer.elb.delete_target_group(TargetGroupArn=group)


@table(
    ("a name of 33 letters", lambda b: b.group("a" * 33), INVALID, "32"),
    ("a name in use", lambda b: b.group("g1"), "DuplicateTargetGroupName", "already exists"),
    ("without a port", lambda b: b.elb.create_target_group(Name="x", Protocol="HTTP", VpcId=b.vpc), INVALID,
     "port must be specified"),
    ("lambda with a port", lambda b: b.elb.create_target_group(Name="x", TargetType="lambda", Port=80), INVALID,
     "cannot be specified for target groups with target type 'lambda'"),
    ("an interval of 301", lambda b: b.group("x", HealthCheckIntervalSeconds=301), INVALID, "5-300"),
    ("a timeout as long as the interval", lambda b: b.group(
        "x", HealthCheckIntervalSeconds=10, HealthCheckTimeoutSeconds=10), INVALID, "must be smaller than"),
    ("eleven good checks", lambda b: b.group("x", HealthyThresholdCount=11), INVALID, "2-10"),
    ("a delay of 3601", lambda b: b.group_attribute("deregistration_delay.timeout_seconds", "3601"), INVALID,
     "0-3600"),
    ("a slow start of 20", lambda b: b.group_attribute("slow_start.duration_seconds", "20"), INVALID, "30 and 900"),
    ("an unknown algorithm", lambda b: b.group_attribute("load_balancing.algorithm.type", "random"), INVALID,
     "round_robin"),
    ("stickiness of eight days", lambda b: b.group_attribute("stickiness.lb_cookie.duration_seconds", "691200"),
     INVALID, "1-604800"),
    ("an unknown attribute", lambda b: b.group_attribute("deregistration_delay", "1"), INVALID, "is not recognized"),
    ("slow start beside least outstanding requests", _slow_and_least, REQUEST, "cannot be combined"),
    ("deletion while a rule uses it", lambda b: b.elb.delete_target_group(TargetGroupArn=b.groups[0]),
     "ResourceInUse", "is currently in use by a listener or a rule"),
    ("deletion while a listener uses it", _delete_default, "ResourceInUse", "is currently in use"),
)  # fmt: skip
def test_target_groups(balancer: Balancer, refusal: Refusal) -> None:
    refusal.check(balancer)


JWT = {"JwksEndpoint": "https://a/jwks", "Issuer": "https://a/"}


def _on_another(balancer: Balancer) -> None:
    other = balancer.balancer("other", *balancer.subnets[:2])
    try:
        action = {"Type": "forward", "TargetGroupArn": balancer.groups[0]}
        balancer.elb.create_listener(LoadBalancerArn=other, Protocol="HTTP", Port=80, DefaultActions=[action])
    finally:
        balancer.elb.delete_load_balancer(LoadBalancerArn=other)


@table(
    ("a weight of 1000", lambda b: b.forward((b.groups[1], 1000)), INVALID, "between 0 and 999"),
    ("a weight below 0", lambda b: b.forward((b.groups[1], -1)), INVALID, "between 0 and 999"),
    ("several groups without weights", lambda b: b.forward(b.groups[1], b.groups[2]), INVALID, "weight"),
    ("six groups", lambda b: b.forward(*((group, 1) for group in b.groups)), "TooManyTargetGroups", "5"),
    ("no group", lambda b: b.act({"Type": "forward"}), INVALID, "target group must be specified"),
    ("two groups without ForwardConfig", lambda b: b.act(
        {"Type": "forward", "TargetGroupArn": b.groups[1], "ForwardConfig": {"TargetGroups": [
            {"TargetGroupArn": b.groups[1], "Weight": 1}, {"TargetGroupArn": b.groups[2], "Weight": 1}]}}),
     INVALID, "ForwardConfig has one target group"),
    ("another group in ForwardConfig", lambda b: b.act(
        {"Type": "forward", "TargetGroupArn": b.groups[1],
         "ForwardConfig": {"TargetGroups": [{"TargetGroupArn": b.groups[2]}]}}), INVALID, "TargetGroupArn"),
    ("an unknown group", lambda b: b.forward(b.groups[1] + "x"), "TargetGroupNotFound", "not found"),
    ("stickiness of eight days", lambda b: b.forward(
        b.groups[1], TargetGroupStickinessConfig={"Enabled": True, "DurationSeconds": 691200}), INVALID, "1-604800"),
    ("a priority in use", lambda b: b.forward(b.groups[1], priority=10), "PriorityInUse",
     "Priority '10' is currently in use"),
    ("a priority of 50001", lambda b: b.forward(b.groups[1], priority=50001), INVALID, "50000"),
    ("tokens without TLS", lambda b: b.act({"Type": "jwt-validation", "Order": 1, "JwtValidationConfig": JWT}),
     ACTION, "only on HTTPS listeners"),
    ("six paths", lambda b: b.act(FIXED, paths=[f"/{n}" for n in range(6)]), INVALID,
     "can only have '5' condition values"),
    ("no path", lambda b: b.act(FIXED, paths=[]), INVALID, "condition value must be specified"),
    ("a body of 1025 letters", lambda b: b.act(
        {"Type": "fixed-response", "FixedResponseConfig": {"StatusCode": "503", "MessageBody": "a" * 1025}}),
     INVALID, "1024"),
    ("an answer of 302", lambda b: b.act({"Type": "fixed-response", "FixedResponseConfig": {"StatusCode": "302"}}),
     INVALID, "statusCode"),
    ("an unknown listener", lambda b: b.act(FIXED, ListenerArn=b.listener + "x"), "ListenerNotFound", "not"),
    ("another weight later", lambda b: b.elb.modify_rule(RuleArn=b.rule, Actions=[
        {"Type": "forward", "ForwardConfig": {"TargetGroups": [{"TargetGroupArn": b.groups[0], "Weight": 1000}]}}]),
     INVALID, "between 0 and 999"),
    ("an unknown rule", lambda b: b.elb.modify_rule(RuleArn=b.rule + "x", Actions=[FIXED]), "RuleNotFound", "rule"),
    ("the default rule", lambda b: b.elb.modify_rule(RuleArn=b.default_rule(), Actions=[FIXED]),
     "OperationNotPermitted", "cannot be modified"),
    ("deleting the default rule", lambda b: b.elb.delete_rule(RuleArn=b.default_rule()), "OperationNotPermitted",
     "cannot be deleted"),
    ("a port in use", lambda b: b.listen(80), "DuplicateListener", "already exists on this port"),
    ("TLS without a certificate", lambda b: b.listen(443, Protocol="HTTPS"), INVALID, "certificate"),
    ("TCP", lambda b: b.listen(90, Protocol="TCP"), INVALID, "must be one of 'HTTP, HTTPS'"),
    ("a group of another load balancer", _on_another, "TargetGroupAssociationLimit",
     "cannot be associated with more than one load balancer"),
)  # fmt: skip
def test_listeners_and_rules(balancer: Balancer, refusal: Refusal) -> None:
    refusal.check(balancer)


def test_what_is_allowed_at_the_edges(balancer: Balancer) -> None:
    rule = balancer.forward((balancer.groups[1], 0), (balancer.groups[2], 999), priority=50000)
    balancer.group_attribute("deregistration_delay.timeout_seconds", "3600")
    balancer.attribute("idle_timeout.timeout_seconds", "4000")
    balancer.elb.delete_rule(RuleArn=rule)
    free = balancer.group("free")
    balancer.elb.delete_target_group(TargetGroupArn=free)
