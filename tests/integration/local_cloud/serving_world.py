"""A deployed serving fleet to test on, and what tests ask of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3

BODY = (Path(__file__).parent / "serving_template.yaml").read_text()


class ServingWorld:
    def __init__(self, session: boto3.Session, name: str = "fleet") -> None:
        self.session = session
        self.name = name
        certificate = session.client("acm").request_certificate(DomainName="llm.example.com")
        self.certificate = certificate["CertificateArn"]

    def client(self, service: str) -> Any:
        return self.session.client(service)

    def create(self, body: str = BODY, **parameters: str) -> str:
        """The stack's final status."""
        self.client("cloudformation").create_stack(
            StackName=self.name, TemplateBody=body, **self._given(parameters)
        )
        return self.settled()

    def update(self, body: str = BODY, **parameters: str) -> str:
        self.client("cloudformation").update_stack(
            StackName=self.name, TemplateBody=body, **self._given(parameters)
        )
        return self.settled()

    def delete(self) -> str:
        stack_id = self.stack()["StackId"]
        self.client("cloudformation").delete_stack(StackName=self.name)
        return self.settled(stack_id)

    def settled(self, name: str = "") -> str:
        until(lambda: not self.stack(name)["StackStatus"].endswith("_IN_PROGRESS"))
        return str(self.stack(name)["StackStatus"])

    def stack(self, name: str = "") -> dict[str, Any]:
        answer = self.client("cloudformation").describe_stacks(StackName=name or self.name)
        found: dict[str, Any] = answer["Stacks"][0]
        return found

    def failures(self) -> list[str]:
        events = self.client("cloudformation").describe_stack_events(StackName=self.stack()["StackId"])[
            "StackEvents"
        ]
        return [
            f"{event['LogicalResourceId']}: {event['ResourceStatusReason']}"
            for event in events
            if event["ResourceStatus"].endswith("_FAILED") and event.get("ResourceStatusReason")
        ]

    def id(self, logical_id: str) -> str:
        answer = self.client("cloudformation").describe_stack_resource(
            StackName=self.name, LogicalResourceId=logical_id
        )
        return str(answer["StackResourceDetail"]["PhysicalResourceId"])

    def service(self) -> dict[str, Any]:
        answer = self.client("ecs").describe_services(cluster=self.id("Cluster"), services=[self.id("Svc")])
        found: dict[str, Any] = answer["services"][0]
        return found

    def scale(self, count: int) -> None:
        self.client("ecs").update_service(
            cluster=self.id("Cluster"), service=self.id("Svc"), desiredCount=count
        )

    def group(self) -> dict[str, Any]:
        answer = self.client("autoscaling").describe_auto_scaling_groups(
            AutoScalingGroupNames=[self.id("Asg")]
        )
        found: dict[str, Any] = answer["AutoScalingGroups"][0]
        return found

    def health(self) -> list[str]:
        answer = self.client("elbv2").describe_target_health(TargetGroupArn=self.id("Tg"))
        return [one["TargetHealth"]["State"] for one in answer["TargetHealthDescriptions"]]

    def events(self) -> str:
        return "\n".join(event["message"] for event in self.service()["events"])

    def _given(self, parameters: dict[str, str]) -> dict[str, Any]:
        values = {"Certificate": self.certificate, **parameters}
        return {
            "Parameters": [{"ParameterKey": key, "ParameterValue": value} for key, value in values.items()],
            "Capabilities": ["CAPABILITY_IAM"],
            "Tags": [{"Key": "neuronkit:environment", "Value": "pilot"}],
        }


def until(done: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.2)
