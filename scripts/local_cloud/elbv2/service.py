"""Elastic Load Balancing as moto answers it, with AWS's refusals, JWT validation, and targets that are emulated tasks."""

from __future__ import annotations

from typing import Any

import moto.elbv2.models
from moto.core.responses import ActionResult
from moto.elbv2.exceptions import ELBClientError, RuleNotFoundError, TargetGroupNotFoundError
from moto.elbv2.models import ELBv2Backend, FakeAction, FakeTargetGroup
from moto.elbv2.responses import ELBV2Response

from scripts.local_cloud.ecs import targets
from scripts.local_cloud.elbv2 import rules

_JWT = "jwt-validation"


def allow_jwt_validation() -> None:
    """moto knows no such action; what it holds is checked in `rules`."""
    moto.elbv2.models.ALLOWED_ACTIONS.append(_JWT)
    validate = ELBv2Backend._validate_actions

    def _validate_actions(self: ELBv2Backend, actions: list[FakeAction]) -> None:
        validate(self, [action for action in actions if action.type != _JWT])

    ELBv2Backend._validate_actions = _validate_actions  # type: ignore[method-assign]


class LoadBalancing(ELBV2Response):
    # ---- load balancers

    def create_load_balancer(self) -> ActionResult:
        parameters = self._get_params()
        others = (balancer.name for balancer in self.elbv2_backend.load_balancers.values())
        rules.check_load_balancer_name(parameters["Name"], others)
        if parameters.get("Type", "application") == "application":
            rules.check_subnets(self._zones(parameters))
        return super().create_load_balancer()

    def set_subnets(self) -> ActionResult:
        rules.check_subnets(self._zones(self._get_params()))
        return super().set_subnets()

    def _zones(self, parameters: dict[str, Any]) -> list[str]:
        """Of the subnets that exist; moto refuses the others."""
        mapped = [mapping["SubnetId"] for mapping in parameters.get("SubnetMappings") or ()]
        ec2 = self.elbv2_backend.ec2_backend
        subnets = [ec2.get_subnet(name) for name in [*(parameters.get("Subnets") or ()), *mapped]]
        return [subnet.availability_zone for subnet in subnets]

    def modify_load_balancer_attributes(self) -> ActionResult:
        rules.check_load_balancer_attributes(_attributes(self._get_param("Attributes", [])))
        return super().modify_load_balancer_attributes()

    def delete_load_balancer(self) -> ActionResult:
        """Its listeners go with it, and its target groups are free again."""
        arn = self._get_param("LoadBalancerArn")
        balancer = self.elbv2_backend.load_balancers.get(arn)
        if balancer is not None and str(balancer.attrs.get("deletion_protection.enabled")) == "true":
            raise ELBClientError(
                "OperationNotPermitted",
                f"Load balancer '{arn}' cannot be deleted because deletion protection is on",
            )
        answer = super().delete_load_balancer()
        for group in self.elbv2_backend.target_groups.values():
            group.load_balancer_arns = [one for one in group.load_balancer_arns if one != arn]
        return answer

    # ---- target groups

    def create_target_group(self) -> ActionResult:
        parameters = self._get_params()
        rules.check_health_check(parameters)
        answer = super().create_target_group()
        group = next(
            one for one in self.elbv2_backend.target_groups.values() if one.name == parameters["Name"]
        )
        if parameters.get("TargetControlPort"):
            group.target_control_port = parameters["TargetControlPort"]  # type: ignore[attr-defined]
        return answer

    def modify_target_group(self) -> ActionResult:
        parameters = self._get_params()
        rules.check_health_check(parameters)
        answer = super().modify_target_group()
        matcher = parameters.get("Matcher")
        if matcher:
            self._group(parameters["TargetGroupArn"]).matcher = matcher
        return answer

    def modify_target_group_attributes(self) -> ActionResult:
        given = _attributes(self._get_param("Attributes", []))
        group = self._group(self._get_param("TargetGroupArn"))
        rules.check_target_group_attributes(group, given)
        # moto takes 0–3599 where AWS takes 0–3600.
        delay = given.pop("deregistration_delay.timeout_seconds", None)
        if delay is not None and group.target_type != "lambda":
            group.attributes["deregistration_delay.timeout_seconds"] = delay
        else:
            given.update({} if delay is None else {"deregistration_delay.timeout_seconds": delay})
        self.elbv2_backend.modify_target_group_attributes(group.arn, given)
        return ActionResult({"Attributes": group.attributes})

    def register_targets(self) -> ActionResult:
        group = self._group(self._get_param("TargetGroupArn"))
        for target in self._get_param("Targets", []):
            if group.target_type != "lambda":
                continue
            rules.check_lambda_permission(self.current_account, self.region, group, target["Id"])
            group.targets[target["Id"]] = {"Id": target["Id"]}
        if group.target_type == "lambda":
            return ActionResult({})
        return super().register_targets()

    def describe_target_health(self) -> ActionResult:
        group = self._group(self._get_param("TargetGroupArn"))
        wanted = {target["Id"] for target in self._get_param("Targets", [])}
        found = [
            _health(group, target)
            for target in group.targets.values()
            if not wanted or target["Id"] in wanted
        ]
        return ActionResult({"TargetHealthDescriptions": found})

    # ---- listeners and rules

    def create_listener(self) -> ActionResult:
        parameters = self._get_params()
        rules.check_certificates(parameters["Protocol"], parameters.get("Certificates", []))
        self._check_actions(
            parameters["DefaultActions"], parameters["Protocol"], parameters["LoadBalancerArn"]
        )
        balancer = self.elbv2_backend.load_balancers.get(parameters["LoadBalancerArn"])
        if balancer and any(str(one.port) == str(parameters["Port"]) for one in balancer.listeners.values()):
            raise ELBClientError(
                "DuplicateListener",
                f"A listener already exists on this port for this load balancer '{balancer.arn}'",
            )
        answer = super().create_listener()
        self._attach(parameters["LoadBalancerArn"], parameters["DefaultActions"])
        return answer

    def modify_listener(self) -> ActionResult:
        parameters = self._get_params()
        (listener,) = self.elbv2_backend.describe_listeners(None, [parameters["ListenerArn"]])
        protocol = parameters.get("Protocol") or listener.protocol
        if parameters.get("Certificates"):
            rules.check_certificates(protocol, parameters["Certificates"])
        self._check_actions(parameters.get("DefaultActions") or [], protocol, listener.load_balancer_arn)
        answer = super().modify_listener()
        self._attach(listener.load_balancer_arn, parameters.get("DefaultActions") or [])
        return answer

    def create_rule(self) -> ActionResult:
        parameters = self._get_params()
        priority = parameters["Priority"]
        rules.check_priority(priority)
        rules.check_conditions(parameters["Conditions"])
        (listener,) = self.elbv2_backend.describe_listeners(None, [parameters["ListenerArn"]])
        if any(str(rule.priority) == str(priority) for rule in listener.rules.values()):
            raise ELBClientError("PriorityInUse", f"Priority '{priority}' is currently in use")
        self._check_actions(parameters["Actions"], listener.protocol, listener.load_balancer_arn)
        return super().create_rule()

    def modify_rule(self) -> ActionResult:
        parameters = self._get_params()
        arn, actions = parameters["RuleArn"], parameters.get("Actions") or []
        if parameters.get("Conditions"):
            rules.check_conditions(parameters["Conditions"])
        for balancer in self.elbv2_backend.load_balancers.values():
            for listener in balancer.listeners.values():
                rule = next((one for one in listener.rules.values() if one.arn == arn), None)
                if rule is not None:
                    self._refuse_default(rule, "modified")
                    self._check_actions(actions, listener.protocol, balancer.arn)
                    answer = super().modify_rule()
                    self._attach(balancer.arn, actions)
                    return answer
        raise RuleNotFoundError("One or more rules not found")

    def delete_rule(self) -> ActionResult:
        for rule in self.elbv2_backend.describe_rules(None, [self._get_param("RuleArn")]):
            self._refuse_default(rule, "deleted")
        return super().delete_rule()

    def delete_target_group(self) -> ActionResult:
        arn = self._get_param("TargetGroupArn")
        if arn in self.elbv2_backend.target_groups and self.elbv2_backend._any_listener_using(arn):
            raise ELBClientError(
                "ResourceInUse", f"Target group '{arn}' is currently in use by a listener or a rule"
            )
        return super().delete_target_group()

    def _refuse_default(self, rule: Any, verb: str) -> None:
        if rule.priority == "default":
            raise ELBClientError("OperationNotPermitted", f"Default rule '{rule.arn}' cannot be {verb}")

    def _check_actions(self, actions: list[dict[str, Any]], protocol: str, load_balancer_arn: str) -> None:
        rules.check_actions(actions, protocol)
        arns = [arn for action in actions for arn in self.elbv2_backend._get_target_group_arns_from(action)]
        rules.check_one_load_balancer(self.elbv2_backend.target_groups, arns, load_balancer_arn)

    def _attach(self, load_balancer_arn: str, actions: list[dict[str, Any]]) -> None:
        """moto notes the load balancer of a target group for new rules only."""
        for action in actions:
            for arn in self.elbv2_backend._get_target_group_arns_from(action):
                group = self.elbv2_backend.target_groups.get(arn)
                if group is not None and load_balancer_arn not in group.load_balancer_arns:
                    group.load_balancer_arns.append(load_balancer_arn)

    def _group(self, arn: str) -> FakeTargetGroup:
        group = self.elbv2_backend.target_groups.get(arn)
        if group is None:
            raise TargetGroupNotFoundError()
        return group


def _attributes(given: list[dict[str, str]]) -> dict[str, Any]:
    return {attribute["Key"]: attribute.get("Value", "") for attribute in given}


def _health(group: FakeTargetGroup, target: dict[str, Any]) -> dict[str, Any]:
    task = target.get("task")
    state = "healthy" if task is None else targets.state(group, task)
    described = {name: value for name, value in target.items() if name in ("Id", "Port")}
    health = {"State": state}
    if state == "unhealthy":
        health |= {"Reason": "Target.FailedHealthChecks", "Description": "Health checks failed (emulated)"}
    if state == "initial":
        health |= {"Reason": "Elb.InitialHealthChecking", "Description": "Initial health checks in progress"}
    return {
        "Target": described,
        "TargetHealth": health,
        "HealthCheckPort": str(described.get("Port", "")),
    }
