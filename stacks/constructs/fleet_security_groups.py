"""Security groups of a fleet: clients reach the load balancer, the load balancer reaches the replicas' ports, nobody else does."""

from __future__ import annotations

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from stacks.constructs.acknowledged_rule import acknowledge
from stacks.constructs.fleet_place import FleetPlace
from stacks.constructs.logical_id import fix_logical_id
from stacks.constructs.routed_subnet import ANYWHERE

Group = ec2.CfnSecurityGroup
HTTPS_PORT = 443
NFS_PORT = 2049
# EC2 lets everything out of a group without a rule; this one matches nothing, and is the CDK's own choice for that.
NOWHERE = Group.EgressProperty(
    description="Nothing but what is named apart",
    ip_protocol="icmp",
    from_port=252,
    to_port=86,
    cidr_ip="255.255.255.255/32",
)


class BalancerSecurityGroup(Construct):
    def __init__(
        self, scope: Construct, id_: str, *, place: FleetPlace, port: int, public: bool, fetches_keys: bool
    ) -> None:
        super().__init__(scope, id_)
        self.group = Group(
            self,
            "Group",
            group_description="neuronkit load balancer: clients in, replicas out",
            vpc_id=place.vpc_id,
            security_group_ingress=[
                Group.IngressProperty(
                    description="Clients", ip_protocol="tcp", from_port=port, to_port=port, cidr_ip=cidr
                )
                for cidr in place.clients(public=public)
            ],
            security_group_egress=[_https("Keys of the token issuer") if fetches_keys else NOWHERE],
        )
        fix_logical_id(self.group, "BalancerSecurityGroup")
        if public:
            acknowledge(
                self.group,
                ["AwsSolutions-EC23"],
                "The environment file asks for a public listener, with authentication or a reason for none.",
            )

    def reach(self, nodes: NodeSecurityGroup, side: str) -> None:
        """Lets requests and health checks through to a side's replicas."""
        first, last = nodes.ports
        egress = ec2.CfnSecurityGroupEgress(
            self,
            f"To{side}",
            group_id=self.group.attr_group_id,
            destination_security_group_id=nodes.group.attr_group_id,
            ip_protocol="tcp",
            from_port=first,
            to_port=last,
            description=f"{side} replicas",
        )
        fix_logical_id(egress, f"BalancerTo{side}")


class NodeSecurityGroup(Construct):
    """`ports`: the first and the last one on which replicas listen."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        side: str,
        place: FleetPlace,
        balancer: BalancerSecurityGroup,
        ports: tuple[int, int],
    ) -> None:
        super().__init__(scope, id_)
        self.ports = ports
        self._side = side
        self.group = Group(
            self,
            "Group",
            group_description=f"neuronkit {side} replicas: the load balancer in, HTTPS out",
            vpc_id=place.vpc_id,
            security_group_ingress=[
                Group.IngressProperty(
                    description="Requests and health checks of the load balancer",
                    ip_protocol="tcp",
                    from_port=ports[0],
                    to_port=ports[1],
                    source_security_group_id=balancer.group.attr_group_id,
                )
            ],
            security_group_egress=[_https("ECS, ECR, S3, CloudWatch, model hubs")],
        )
        fix_logical_id(self.group, f"{side}SecurityGroup")
        balancer.reach(self, side)

    def mount(self, storage: ec2.CfnSecurityGroup) -> None:
        egress = ec2.CfnSecurityGroupEgress(
            self,
            "ToStorage",
            group_id=self.group.attr_group_id,
            destination_security_group_id=storage.attr_group_id,
            ip_protocol="tcp",
            from_port=NFS_PORT,
            to_port=NFS_PORT,
            description="Shared artifacts",
        )
        fix_logical_id(egress, f"{self._side}ToStorage")


class CompileSecurityGroup(Construct):
    """Of a compile task that has a network interface of its own: nothing in."""

    def __init__(self, scope: Construct, id_: str, *, place: FleetPlace, storage: Group) -> None:
        super().__init__(scope, id_)
        self.group = Group(
            self,
            "Group",
            group_description="neuronkit compile task: HTTPS and shared artifacts out",
            vpc_id=place.vpc_id,
            security_group_egress=[
                _https("ECS, ECR, S3, CloudWatch, model hubs"),
                Group.EgressProperty(
                    description="Shared artifacts",
                    ip_protocol="tcp",
                    from_port=NFS_PORT,
                    to_port=NFS_PORT,
                    destination_security_group_id=storage.attr_group_id,
                ),
            ],
        )
        fix_logical_id(self.group, "CompileSecurityGroup")


class StorageSecurityGroup(Construct):
    """Lets in the fleet's nodes, by the groups that are added."""

    def __init__(self, scope: Construct, id_: str, *, place: FleetPlace) -> None:
        super().__init__(scope, id_)
        self.group = Group(
            self,
            "Group",
            group_description="neuronkit shared artifacts: NFS from the tasks of one fleet",
            vpc_id=place.vpc_id,
            security_group_egress=[NOWHERE],
        )
        fix_logical_id(self.group, "StorageSecurityGroup")

    def admit(self, name: str, client: Group) -> None:
        """The name is the rule's."""
        ingress = ec2.CfnSecurityGroupIngress(
            self,
            f"From{name}",
            group_id=self.group.attr_group_id,
            source_security_group_id=client.attr_group_id,
            ip_protocol="tcp",
            from_port=NFS_PORT,
            to_port=NFS_PORT,
            description="Shared artifacts",
        )
        fix_logical_id(ingress, f"StorageFrom{name}")


def _https(description: str) -> Group.EgressProperty:
    return Group.EgressProperty(
        description=description,
        ip_protocol="tcp",
        from_port=HTTPS_PORT,
        to_port=HTTPS_PORT,
        cidr_ip=ANYWHERE,
    )
