"""The default security group of a VPC lets its members in from each other: EC2 makes it so, moto without that rule."""

from __future__ import annotations

from typing import Any

from moto.ec2.models import EC2Backend
from moto.ec2.models.vpcs import VPC

ALL_PROTOCOLS = "-1"
NO_PORT: Any = None


def let_members_meet() -> None:
    make_vpc = EC2Backend.create_vpc

    def create_vpc(self: EC2Backend, *arguments: Any, **named: Any) -> VPC:
        vpc = make_vpc(self, *arguments, **named)
        group = self.get_security_group_from_name("default", vpc_id=vpc.id)
        assert group is not None, "moto makes it with the VPC"
        self.authorize_security_group_ingress(
            group.id,
            ALL_PROTOCOLS,
            NO_PORT,
            NO_PORT,
            [],
            source_groups=[{"GroupId": group.id}],
            vpc_id=vpc.id,
        )
        return vpc

    EC2Backend.create_vpc = create_vpc  # type: ignore[method-assign, assignment]
