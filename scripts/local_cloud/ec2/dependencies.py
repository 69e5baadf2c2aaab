"""EC2's refusals (DependencyViolation) that moto does not make, and tags that go with what they were on."""

from __future__ import annotations

from typing import Any

from moto.ec2.exceptions import DependencyViolationError
from moto.ec2.models import EC2Backend
from moto.ec2.responses import EC2Response


class DependencyChecks(EC2Response):
    def delete_vpc(self) -> Any:
        vpc_id = self._get_param("VpcId")
        backend = self.ec2_backend
        users = [
            *(eni.id for eni in backend.enis.values() if eni.subnet.vpc_id == vpc_id),
            *(
                gateway.id
                for gateway in backend.internet_gateways.values()
                if gateway.vpc and gateway.vpc.id == vpc_id
            ),
            *(group.id for group in backend.groups[vpc_id].values() if group.name != "default"),
            *(
                end.id
                for end in backend.vpc_end_points.values()
                if end.vpc_id == vpc_id and end.state != "deleted"
            ),
        ]
        if users:
            raise DependencyViolationError(f"The vpc '{vpc_id}' has dependencies and cannot be deleted.")
        return _dropping_tags(backend, vpc_id, super().delete_vpc())

    def delete_subnet(self) -> Any:
        subnet_id = self._get_param("SubnetId")
        backend = self.ec2_backend
        if any(eni.subnet.id == subnet_id for eni in backend.enis.values()):
            raise DependencyViolationError(
                f"The subnet '{subnet_id}' has dependencies and cannot be deleted."
            )
        return _dropping_tags(backend, subnet_id, super().delete_subnet())

    def delete_security_group(self) -> Any:
        group_id = self._get_param("GroupId")
        backend = self.ec2_backend
        if group_id and (_used_by_interface(backend, group_id) or _used_by_rule(backend, group_id)):
            raise DependencyViolationError(f"resource {group_id} has a dependent object")
        return _dropping_tags(backend, group_id, super().delete_security_group())

    def delete_route_table(self) -> Any:
        return _dropping_tags(self.ec2_backend, self._get_param("RouteTableId"), super().delete_route_table())

    def delete_internet_gateway(self) -> Any:
        gateway_id = self._get_param("InternetGatewayId")
        return _dropping_tags(self.ec2_backend, gateway_id, super().delete_internet_gateway())

    def delete_network_interface(self) -> Any:
        eni_id = self._get_param("NetworkInterfaceId")
        return _dropping_tags(self.ec2_backend, eni_id, super().delete_network_interface())

    def delete_volume(self) -> Any:
        return _dropping_tags(self.ec2_backend, self._get_param("VolumeId"), super().delete_volume())

    def delete_launch_template(self) -> Any:
        template_id = self._get_param("LaunchTemplateId")
        return _dropping_tags(self.ec2_backend, template_id, super().delete_launch_template())

    def release_address(self) -> Any:
        return _dropping_tags(self.ec2_backend, self._get_param("AllocationId"), super().release_address())

    def delete_flow_logs(self) -> Any:
        answer = super().delete_flow_logs()
        for flow_log_id in self._get_param("FlowLogIds", []):
            self.ec2_backend.tags.pop(flow_log_id, None)
        return answer

    def delete_vpc_endpoints(self) -> Any:
        answer = super().delete_vpc_endpoints()
        for endpoint_id in self._get_param("VpcEndpointIds", []):
            self.ec2_backend.vpc_end_points.pop(endpoint_id, None)
            self.ec2_backend.tags.pop(endpoint_id, None)
        return answer

    def delete_nat_gateway(self) -> Any:
        """The gateway stays visible as deleted, as in EC2, but its interface and its hold on the address go."""
        gateway = self.ec2_backend.nat_gateways.get(self._get_param("NatGatewayId"))
        answer = super().delete_nat_gateway()
        if gateway is not None:
            for address in self.ec2_backend.addresses:
                if address.eni is not None and address.eni.id == gateway._eni.id:
                    address.eni = None
                    address.association_id = None
            self.ec2_backend.enis.pop(gateway._eni.id, None)
        return answer


def _used_by_interface(backend: EC2Backend, group_id: str) -> bool:
    return any(group.id == group_id for eni in backend.enis.values() for group in eni.group_set)


def _used_by_rule(backend: EC2Backend, group_id: str) -> bool:
    return any(
        rule.source_group.get("GroupId") == group_id
        for groups in backend.groups.values()
        for group in groups.values()
        if group.id != group_id
        for rule in [*group.ingress_rules, *group.egress_rules]
    )


def _dropping_tags(backend: EC2Backend, resource_id: str | None, answer: Any) -> Any:
    if resource_id:
        backend.tags.pop(resource_id, None)
    return answer
