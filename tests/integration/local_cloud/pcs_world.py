"""A PCS cluster as a template, with everything that it refers to."""

from __future__ import annotations

import json
import time
from copy import deepcopy
from typing import Any

import boto3

STACK = "pcs"
_GRES = {"Name": "neuron", "Count": "16", "File": "/dev/neuron[0-15]"}


def template() -> dict[str, Any]:
    """Two static nodes and up to two dynamic ones in one queue, and a login node."""
    return deepcopy({"Resources": {**_SURROUNDINGS, **_PCS}, "Outputs": _OUTPUTS})


def setting(name: str, value: str) -> dict[str, str]:
    return {"ParameterName": name, "ParameterValue": value}


def _group(name: str, instance_type: str, least: int, most: int, **more: Any) -> dict[str, Any]:
    properties = {
        "Name": name,
        "ClusterId": {"Fn::GetAtt": ["Cluster", "Id"]},
        "InstanceConfigs": [{"InstanceType": instance_type}],
        "SubnetIds": [{"Ref": "Subnet"}],
        "IamInstanceProfileArn": {"Fn::GetAtt": ["Profile", "Arn"]},
        "ScalingConfiguration": {"MinInstanceCount": least, "MaxInstanceCount": most},
        "AmiId": "ami-0123456789abcdef0",
        "PurchaseOption": "ONDEMAND",
        "CustomLaunchTemplate": {
            "TemplateId": {"Ref": "Template"},
            "Version": {"Fn::GetAtt": ["Template", "LatestVersionNumber"]},
        },
        "Tags": {"kit": "yes"},
        **more,
    }
    return {"Type": "AWS::PCS::ComputeNodeGroup", "Properties": properties}


def _compute(feature: str) -> dict[str, Any]:
    settings = [setting("Features", f"trn1,{feature}"), setting("Gres", "neuron:16"), setting("Weight", "2")]
    return {"SlurmConfiguration": {"SlurmCustomSettings": settings, "GresCustomSettings": [_GRES]}}


_SURROUNDINGS: dict[str, Any] = {
    "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}},
    "Subnet": {
        "Type": "AWS::EC2::Subnet",
        "Properties": {"VpcId": {"Ref": "Vpc"}, "CidrBlock": "10.0.0.0/24", "AvailabilityZone": "us-west-2a"},
    },
    "Group": {
        "Type": "AWS::EC2::SecurityGroup",
        "Properties": {"GroupDescription": "nodes", "VpcId": {"Ref": "Vpc"}},
    },
    "Role": {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "Path": "/aws-pcs/",
            "AssumeRolePolicyDocument": {
                "Version": "2012-10-17",
                "Statement": [
                    {
                        "Effect": "Allow",
                        "Principal": {"Service": "ec2.amazonaws.com"},
                        "Action": "sts:AssumeRole",
                    }
                ],
            },
        },
    },
    "Profile": {"Type": "AWS::IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": "Role"}]}},
    "Template": {
        "Type": "AWS::EC2::LaunchTemplate",
        "Properties": {
            "LaunchTemplateData": {
                "NetworkInterfaces": [
                    {
                        "DeviceIndex": min(card, 1),
                        "NetworkCardIndex": card,
                        "InterfaceType": "efa",
                        "Groups": [{"Fn::GetAtt": ["Group", "GroupId"]}],
                    }
                    for card in range(2)
                ],
                "TagSpecifications": [
                    {"ResourceType": "instance", "Tags": [{"Key": "from", "Value": "template"}]}
                ],
            }
        },
    },
}
_PCS: dict[str, Any] = {
    "Cluster": {
        "Type": "AWS::PCS::Cluster",
        "Properties": {
            "Name": "pilot-train",
            "Size": "SMALL",
            "Networking": {
                "SubnetIds": [{"Ref": "Subnet"}],
                "SecurityGroupIds": [{"Fn::GetAtt": ["Group", "GroupId"]}],
            },
            "Scheduler": {"Type": "SLURM", "Version": "25.11"},
            "SlurmConfiguration": {
                "ScaleDownIdleTimeInSeconds": 600,
                "SlurmCustomSettings": [setting("SelectTypeParameters", "CR_CPU")],
            },
            "Tags": {"kit": "yes"},
        },
    },
    "Login": _group("login", "c7i.large", 1, 1),
    "Static": _group("trn1-static", "trn1.32xlarge", 2, 2, **_compute("us0")),
    "Dynamic": _group("trn1-dynamic", "trn1.32xlarge", 0, 2, **_compute("us1")),
    "Queue": {
        "Type": "AWS::PCS::Queue",
        "Properties": {
            "Name": "train",
            "ClusterId": {"Fn::GetAtt": ["Cluster", "Id"]},
            "ComputeNodeGroupConfigurations": [
                {"ComputeNodeGroupId": {"Fn::GetAtt": [name, "Id"]}} for name in ("Static", "Dynamic")
            ],
            "SlurmConfiguration": {"SlurmCustomSettings": [setting("MaxTime", "INFINITE")]},
            "Tags": {"kit": "yes"},
        },
    },
}
_OUTPUTS = {
    "ClusterId": {"Value": {"Fn::GetAtt": ["Cluster", "Id"]}},
    "LoginGroupId": {"Value": {"Fn::GetAtt": ["Login", "Id"]}},
    "StaticGroupId": {"Value": {"Fn::GetAtt": ["Static", "Id"]}},
}


class PcsWorld:
    """The stack of one account."""

    def __init__(self, session: boto3.Session) -> None:
        self.session = session
        self.cloudformation = session.client("cloudformation")
        self.pcs = session.client("pcs")
        self.ssm = session.client("ssm")
        self.ec2 = session.client("ec2")

    def deploy(self, body: dict[str, Any]) -> str:
        """The stack's final status."""
        self.cloudformation.create_stack(
            StackName=STACK, TemplateBody=json.dumps(body), Capabilities=["CAPABILITY_IAM"]
        )
        return self.settled()

    def update(self, body: dict[str, Any]) -> str:
        self.cloudformation.update_stack(
            StackName=STACK, TemplateBody=json.dumps(body), Capabilities=["CAPABILITY_IAM"]
        )
        return self.settled()

    def delete(self) -> None:
        stack_id = self._stack()["StackId"]
        self.cloudformation.delete_stack(StackName=STACK)
        assert self.settled(stack_id) == "DELETE_COMPLETE", self.failures(stack_id)

    def settled(self, stack: str = STACK) -> str:
        deadline = time.monotonic() + 60
        while (status := self._stack(stack)["StackStatus"]).endswith("IN_PROGRESS"):
            assert time.monotonic() < deadline, status
            time.sleep(0.1)
        return str(status)

    def output(self, name: str) -> str:
        outputs = self._stack()["Outputs"]
        return next(str(item["OutputValue"]) for item in outputs if item["OutputKey"] == name)

    def failures(self, stack: str = STACK) -> str:
        events = self.cloudformation.describe_stack_events(StackName=stack)["StackEvents"]
        return "\n".join(
            item.get("ResourceStatusReason", "")
            for item in events
            if item["ResourceStatus"].endswith("FAILED")
        )

    def instances(self, group_id: str) -> list[dict[str, Any]]:
        """The living ones."""
        filters = [
            {"Name": "tag:aws:pcs:compute-node-group-id", "Values": [group_id]},
            {"Name": "instance-state-name", "Values": ["pending", "running"]},
        ]
        answer = self.ec2.describe_instances(Filters=filters)
        return [item for reservation in answer["Reservations"] for item in reservation["Instances"]]

    def login_instance(self) -> str:
        return str(self.instances(self.output("LoginGroupId"))[0]["InstanceId"])

    def send(self, *commands: str, seconds: int = 60) -> tuple[str, str]:
        """Command and instance."""
        instance_id = self.login_instance()
        answer = self.ssm.send_command(
            DocumentName="AWS-RunShellScript",
            InstanceIds=[instance_id],
            TimeoutSeconds=30,
            Parameters={"commands": list(commands), "executionTimeout": [str(seconds)]},
        )
        return str(answer["Command"]["CommandId"]), instance_id

    def invocation(self, sent: tuple[str, str]) -> dict[str, Any]:
        """Once it has ended."""
        deadline = time.monotonic() + 60
        while True:
            answer = self.ssm.get_command_invocation(CommandId=sent[0], InstanceId=sent[1])
            if answer["Status"] not in ("Pending", "InProgress"):
                return dict(answer)
            assert time.monotonic() < deadline, answer
            time.sleep(0.05)

    def on_login_node(self, *commands: str) -> str:
        answer = self.invocation(self.send(*commands))
        assert answer["Status"] == "Success", answer
        return str(answer["StandardOutputContent"])

    def _stack(self, stack: str = STACK) -> dict[str, Any]:
        described: dict[str, Any] = self.cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
        return described
