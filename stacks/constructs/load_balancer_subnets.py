"""Two subnets in two zones for load balancers, which take no fewer; the nodes stay in the zone of their capacity."""

from __future__ import annotations

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from stacks.constructs.routed_subnet import RoutedSubnet


class LoadBalancerSubnets(Construct):
    """The id is part of the logical ids. The way out serves a listener that fetches an issuer's keys."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        vpc: ec2.CfnVPC,
        zone_ids: tuple[str, str],
        cidrs: tuple[str, str],
    ) -> None:
        super().__init__(scope, id_)
        self._subnets = [
            RoutedSubnet(self, f"{id_}{place}", vpc=vpc, zone_id=zone_id, cidr=cidr)
            for place, zone_id, cidr in zip(("First", "Second"), zone_ids, cidrs, strict=True)
        ]

    @property
    def ids(self) -> list[str]:
        return [routed.subnet.attr_subnet_id for routed in self._subnets]

    def route_out(
        self, *, gateway_id: str | None = None, nat_gateway_id: str | None = None
    ) -> list[ec2.CfnRoute]:
        return [
            routed.route_out(gateway_id=gateway_id, nat_gateway_id=nat_gateway_id) for routed in self._subnets
        ]
