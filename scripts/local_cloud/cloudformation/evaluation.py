"""A template seen from one stack: which resources its conditions keep, and the plain values of their properties."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from scripts.local_cloud.cloudformation import parameters
from scripts.local_cloud.cloudformation.intrinsics import Resolver
from scripts.local_cloud.cloudformation.resource_type import ResourceError
from scripts.local_cloud.cloudformation.stack import Proposal, Stack
from scripts.local_cloud.cloudformation.template import TemplateError, creation_order, dependencies


class NotYetMadeError(ResourceError):
    """A reference to a resource that does not exist yet."""


class Evaluation:
    """`exported(name)` looks an export up among all stacks of the region, or returns None."""

    def __init__(
        self,
        stack: Stack,
        proposal: Proposal,
        client_for: Callable[[str], Any],
        exported: Callable[[str], str | None],
    ) -> None:
        self.template = proposal.template
        self.depends_on = dependencies(proposal.template)
        self.imports: set[str] = set()
        self._stack = stack
        self._client_for = client_for
        self._exported = exported
        self._resolver = Resolver(
            template=proposal.template,
            values={**self._pseudo_parameters(proposal), **self._parameters(proposal)},
            attribute=self._attribute,
            imported=self._import,
            zones=self._zones,
            dynamic=self._dynamic,
        )

    def wanted(self) -> list[str]:
        """The resources that the conditions keep, in the order in which they can be made."""
        resources = self.template["Resources"]
        return [
            name
            for name in creation_order(self.depends_on)
            if "Condition" not in resources[name] or self._resolver.condition(resources[name]["Condition"])
        ]

    def properties(self, logical_id: str) -> dict[str, Any]:
        resolved = self._resolver.resolve(self.template["Resources"][logical_id].get("Properties") or {})
        return resolved if isinstance(resolved, dict) else {}

    def outputs(self) -> dict[str, dict[str, str]]:
        answers = {}
        for name, output in (self.template.get("Outputs") or {}).items():
            if "Condition" in output and not self._resolver.condition(output["Condition"]):
                continue
            answer = {"OutputKey": name, "OutputValue": str(self._resolver.resolve(output["Value"]))}
            if "Description" in output:
                answer["Description"] = output["Description"]
            if "Export" in output:
                answer["ExportName"] = str(self._resolver.resolve(output["Export"]["Name"]))
            answers[name] = answer
        return answers

    def check_rules(self) -> None:
        for name, rule in (self.template.get("Rules") or {}).items():
            if "RuleCondition" in rule and not self._resolver.test(rule["RuleCondition"]):
                continue
            for assertion in rule.get("Assertions") or []:
                if not self._resolver.test(assertion["Assert"]):
                    description = assertion.get("AssertDescription", name)
                    raise TemplateError(f"Template validation error: Rule {name} failed: {description}")

    def _parameters(self, proposal: Proposal) -> dict[str, Any]:
        return parameters.ref_values(self.template, proposal.parameters, self._ssm_parameter)

    def _pseudo_parameters(self, proposal: Proposal) -> dict[str, Any]:
        return {
            "AWS::AccountId": self._stack.account,
            "AWS::NotificationARNs": proposal.notification_arns,
            "AWS::Partition": self._stack.partition,
            "AWS::Region": self._stack.region,
            "AWS::StackId": self._stack.id,
            "AWS::StackName": self._stack.name,
            "AWS::URLSuffix": "amazonaws.com.cn" if self._stack.partition == "aws-cn" else "amazonaws.com",
        }

    def _attribute(self, logical_id: str, name: str | None) -> Any:
        resource = self._stack.resources.get(logical_id)
        if resource is None or not resource.physical_id:
            raise NotYetMadeError(logical_id)
        if name is None:
            return resource.physical_id
        if name not in resource.attributes:
            raise ResourceError(
                f"Template error: resource {logical_id} of type {resource.type} does not support attribute type {name} "
                "in Fn::GetAtt, or the local cloud does not emulate it"
            )
        return resource.attributes[name]

    def _import(self, name: str) -> str:
        value = self._exported(name)
        if value is None:
            raise ResourceError(f"No export named {name} found. Rollback requested by user.")
        self.imports.add(name)
        return value

    def _zones(self, region: str) -> list[str]:
        zones = self._client_for("ec2").describe_availability_zones()["AvailabilityZones"]
        return sorted(zone["ZoneName"] for zone in zones if zone["RegionName"] == region)

    def _ssm_parameter(self, name: str) -> str:
        answer = self._client_for("ssm").get_parameters(Names=[name])
        if not answer["Parameters"]:
            raise TemplateError(f"Unable to fetch parameters [{name}] from parameter store for this account.")
        return str(answer["Parameters"][0]["Value"])

    def _dynamic(self, reference: str) -> str:
        service, _, rest = reference.partition(":")
        if service in ("ssm", "ssm-secure"):
            answer = self._client_for("ssm").get_parameter(Name=rest, WithDecryption=True)
            return str(answer["Parameter"]["Value"])
        if service == "secretsmanager":
            return self._secret(rest)
        raise ResourceError(f"Dynamic reference to {service} is not supported")

    def _secret(self, reference: str) -> str:
        name, _, rest = reference.partition(":SecretString")
        key = rest.split(":")[1] if rest.count(":") else ""
        text = str(self._client_for("secretsmanager").get_secret_value(SecretId=name)["SecretString"])
        return str(json.loads(text)[key]) if key else text
