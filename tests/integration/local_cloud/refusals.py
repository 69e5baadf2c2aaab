"""Tables of what AWS refuses: a call, AWS's name for the refusal, and some of its words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

CONTAINER: dict[str, Any] = {
    "name": "server",
    "image": "public.ecr.aws/neuron/x",
    "memoryReservation": 100,
    "portMappings": [{"containerPort": 8080, "hostPort": 8080}],
}


@dataclass(frozen=True)
class Refusal:
    """`call` gets the world of its table."""

    name: str
    call: Callable[[Any], Any]
    code: str
    words: str

    def check(self, world: Any) -> None:
        with pytest.raises(ClientError) as caught:
            self.call(world)
        error = caught.value.response["Error"]
        assert error["Code"] == self.code, error
        assert self.words in error["Message"], error


def table(*rows: tuple[str, Callable[[Any], Any], str, str]) -> pytest.MarkDecorator:
    """For `@table(...)` over a test with an argument `refusal`."""
    return pytest.mark.parametrize("refusal", [Refusal(*row) for row in rows], ids=[row[0] for row in rows])


class Network:
    """A VPC with a subnet in each of two zones, and a second one in the first."""

    def __init__(self, session: boto3.Session) -> None:
        self.session = session
        ec2 = session.client("ec2")
        self.vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        first, second = [zone["ZoneName"] for zone in ec2.describe_availability_zones()["AvailabilityZones"]][
            :2
        ]
        self.subnets = [
            ec2.create_subnet(VpcId=self.vpc, CidrBlock=f"10.0.{n}.0/24", AvailabilityZone=zone)["Subnet"][
                "SubnetId"
            ]
            for n, zone in enumerate((first, second, first))
        ]

    def client(self, service: str) -> Any:
        return self.session.client(service)
