"""The load balancer of a fleet: one listener, one rule with a weight for each side, nothing else answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from constructs import Construct

from stacks.constructs.acknowledged_rule import acknowledge
from stacks.constructs.fleet_place import FleetPlace
from stacks.constructs.fleet_security_groups import BalancerSecurityGroup
from stacks.constructs.logical_id import fix_logical_id
from stacks.domain.environment.fleet_settings import Listener
from stacks.domain.fleet_plan import FleetPlan

Rule = elbv2.CfnListenerRule
TargetGroup = elbv2.CfnTargetGroup
Attribute = elbv2.CfnLoadBalancer.LoadBalancerAttributeProperty

HTTPS_PORT, HTTP_PORT = 443, 80
# The CDK's recommended policy (aws-cdk-lib 2.275, SslPolicy.RECOMMENDED_TLS): TLS 1.2 and 1.3.
TLS_POLICY = "ELBSecurityPolicy-TLS13-1-2-2021-06"
# A busy engine answers slowly, and one that is dead should be out within a minute.
CHECK_SECONDS, CHECK_TIMEOUT_SECONDS, CHECKS_UP, CHECKS_DOWN = 15, 10, 2, 3
OPENAI_PATHS = ("/v1/*",)
EVERY_PATH = ("/*",)
"""Of a server of the user's, whose paths only the user knows."""
HIDDEN_PATHS = ("/metrics", "/metrics/*")
HIDDEN_PRIORITY, SERVED_PRIORITY = 1, 10


@dataclass(frozen=True, slots=True)
class Weighted:
    group: TargetGroup
    weight: int


class FleetBalancer(Construct):
    """In two zones, as it must be; the replicas may be in one. Weights of the rule change behind CloudFormation's back:
    the waker and the fallback controller own them, and a template whose weights stay the same does not reset them.
    """

    def __init__(self, scope: Construct, id_: str, *, fleet: FleetPlan, place: FleetPlace) -> None:
        super().__init__(scope, id_)
        self._fleet, self._place = fleet, place
        listener = fleet.settings.listener
        self.port = HTTPS_PORT if listener.certificate else HTTP_PORT
        self.security_group = BalancerSecurityGroup(
            self,
            "SecurityGroup",
            place=place,
            port=self.port,
            public=listener.public,
            fetches_keys=listener.jwt is not None,
        )
        self.resource = self._load_balancer()
        self._listener = self._make_listener()

    def _load_balancer(self) -> elbv2.CfnLoadBalancer:
        balancer = elbv2.CfnLoadBalancer(
            self,
            "LoadBalancer",
            type="application",
            scheme="internet-facing" if self._fleet.settings.listener.public else "internal",
            ip_address_type="ipv4",
            subnets=list(self._place.balancer_subnet_ids),
            security_groups=[self.security_group.group.attr_group_id],
            load_balancer_attributes=[
                Attribute(key="idle_timeout.timeout_seconds", value=str(self._fleet.times.idle_timeout)),
                Attribute(key="routing.http.drop_invalid_header_fields.enabled", value="true"),
                # `neuronkit destroy` and the CDK are to remove it; who has the rights for one has them for both.
                Attribute(key="deletion_protection.enabled", value="false"),
            ],
        )
        fix_logical_id(balancer, "LoadBalancer")
        acknowledge(
            balancer,
            ["AwsSolutions-ELB2"],
            "Access logs would be written into the bucket by AWS until the load balancer is gone, so that it never "
            "stays empty; requests, errors and latencies are metrics, and engines log what they serve.",
        )
        return balancer

    def _make_listener(self) -> elbv2.CfnListener:
        certificate = self._fleet.settings.listener.certificate
        Listener_ = elbv2.CfnListener  # noqa: N806
        listener = Listener_(
            self,
            "Listener",
            load_balancer_arn=self.resource.ref,
            port=self.port,
            protocol="HTTPS" if certificate else "HTTP",
            ssl_policy=TLS_POLICY if certificate else None,
            certificates=[Listener_.CertificateProperty(certificate_arn=certificate)]
            if certificate
            else None,
            default_actions=[
                Listener_.ActionProperty(
                    type="fixed-response",
                    fixed_response_config=Listener_.FixedResponseConfigProperty(
                        status_code="404", content_type="application/json", message_body=_NOT_SERVED
                    ),
                )
            ],
        )
        fix_logical_id(listener, "Listener")
        return listener

    def replicas(self, side: str, *, health_path: str, port: int, by_address: bool = False) -> TargetGroup:
        """A target group; `by_address` for tasks with a network interface of their own. Each target brings its port."""
        group = TargetGroup(
            self,
            f"{side}Targets",
            target_type="ip" if by_address else "instance",
            vpc_id=self._place.vpc_id,
            protocol="HTTP",
            port=port,
            health_check_protocol="HTTP",
            health_check_path=health_path,
            health_check_port="traffic-port",
            health_check_interval_seconds=CHECK_SECONDS,
            health_check_timeout_seconds=CHECK_TIMEOUT_SECONDS,
            healthy_threshold_count=CHECKS_UP,
            unhealthy_threshold_count=CHECKS_DOWN,
            matcher=TargetGroup.MatcherProperty(http_code="200"),
            target_group_attributes=[
                _attribute(
                    "deregistration_delay.timeout_seconds", str(self._fleet.times.deregistration_delay)
                ),
                # Answers differ in length by orders of magnitude.
                _attribute("load_balancing.algorithm.type", "least_outstanding_requests"),
                # With weights, it would pin clients to the side that fails.
                _attribute("stickiness.enabled", "false"),
            ],
        )
        fix_logical_id(group, f"{side}TargetGroup")
        return group

    def forward(self, groups: Sequence[Weighted]) -> Rule:
        """The one rule that serves. For what nobody outside should see, another one answers first."""
        self._hide()
        jwt = _jwt_action(self._fleet.settings.listener)
        rule = Rule(
            self,
            "Served",
            listener_arn=self._listener.ref,
            priority=SERVED_PRIORITY,
            conditions=[_paths(served_paths(self._fleet))],
            actions=[
                *([jwt] if jwt else []),
                Rule.ActionProperty(
                    type="forward",
                    order=2 if jwt else 1,
                    forward_config=Rule.ForwardConfigProperty(
                        target_groups=[
                            Rule.TargetGroupTupleProperty(target_group_arn=each.group.ref, weight=each.weight)
                            for each in groups
                        ]
                    ),
                ),
            ],
        )
        fix_logical_id(rule, "ListenerRule")
        return rule

    def _hide(self) -> None:
        rule = Rule(
            self,
            "Hidden",
            listener_arn=self._listener.ref,
            priority=HIDDEN_PRIORITY,
            conditions=[_paths(HIDDEN_PATHS)],
            actions=[
                Rule.ActionProperty(
                    type="fixed-response",
                    fixed_response_config=Rule.FixedResponseConfigProperty(
                        status_code="404", content_type="application/json", message_body=_NOT_SERVED
                    ),
                )
            ],
        )
        fix_logical_id(rule, "HiddenPathsRule")


_NOT_SERVED = '{"error": {"message": "not served here", "type": "not_found"}}'


def served_paths(fleet: FleetPlan) -> tuple[str, ...]:
    return EVERY_PATH if fleet.settings.engine == "custom" else OPENAI_PATHS


def _jwt_action(listener: Listener) -> Rule.ActionProperty | None:
    if listener.jwt is None:
        return None
    return Rule.ActionProperty(
        type="jwt-validation",
        order=1,
        jwt_validation_config=Rule.JwtValidationConfigProperty(
            issuer=listener.jwt.issuer, jwks_endpoint=listener.jwt.jwks_endpoint
        ),
    )


def _paths(values: Sequence[str]) -> Rule.RuleConditionProperty:
    return Rule.RuleConditionProperty(
        field="path-pattern", path_pattern_config=Rule.PathPatternConfigProperty(values=list(values))
    )


def _attribute(key: str, value: str) -> TargetGroup.TargetGroupAttributeProperty:
    return TargetGroup.TargetGroupAttributeProperty(key=key, value=value)
