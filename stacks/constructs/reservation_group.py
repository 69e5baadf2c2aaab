"""A resource group around one capacity reservation: AWS PCS starts nodes in a reservation only through such a group."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_resourcegroups as resourcegroups
from constructs import Construct

from stacks.constructs.launch_template_parts import NOT_BOUGHT
from stacks.constructs.logical_id import fix_logical_id

Group = resourcegroups.CfnGroup


class ReservationGroup(Construct):
    """Configuration as the EC2 user guide asks of a group that instances are launched into (create-cr-group)."""

    def __init__(
        self, scope: Construct, id_: str, *, name: str, capacity_id: str | None, logical_id: str
    ) -> None:
        super().__init__(scope, id_)
        stack = cdk.Stack.of(self)
        self.resource = Group(
            self,
            "Group",
            name=name,
            configuration=[
                Group.ConfigurationItemProperty(type="AWS::EC2::CapacityReservationPool"),
                Group.ConfigurationItemProperty(
                    type="AWS::ResourceGroups::Generic",
                    parameters=[
                        Group.ConfigurationParameterProperty(
                            name="allowed-resource-types", values=["AWS::EC2::CapacityReservation"]
                        )
                    ],
                ),
            ],
            resources=[
                f"arn:{stack.partition}:ec2:{stack.region}:{stack.account}:capacity-reservation/"
                f"{capacity_id or NOT_BOUGHT}"
            ],
        )
        fix_logical_id(self.resource, logical_id)
