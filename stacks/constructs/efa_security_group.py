"""The security group of nodes: everything among themselves, HTTPS to the world, nothing from outside."""

from __future__ import annotations

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from stacks.constructs.logical_id import fix_logical_id
from stacks.constructs.routed_subnet import ANYWHERE

ALL_PROTOCOLS = "-1"
HTTPS_PORT = 443


class EfaSecurityGroup(Construct):
    """EFA is no IP traffic: only a rule that names the group itself lets it pass, and it takes one each way
    (EC2 user guide, efa-start). The CDK's own group construct drops such a rule under an allow-all egress, and
    CloudFormation cannot write it inside the group that it refers to: so L1, with the rules apart.
    """

    def __init__(self, scope: Construct, id_: str, *, vpc: ec2.CfnVPC) -> None:
        super().__init__(scope, id_)
        self.group = ec2.CfnSecurityGroup(
            self,
            "Group",
            group_description="neuronkit nodes: all traffic among themselves, HTTPS out",
            vpc_id=vpc.attr_vpc_id,
            security_group_egress=[
                # The first rule given here replaces EC2's default, which lets everything out.
                ec2.CfnSecurityGroup.EgressProperty(
                    description="ECS, ECR, S3, CloudWatch Logs and other AWS endpoints",
                    ip_protocol="tcp",
                    from_port=HTTPS_PORT,
                    to_port=HTTPS_PORT,
                    cidr_ip=ANYWHERE,
                )
            ],
        )
        fix_logical_id(self.group, "EfaSecurityGroup")
        ingress = ec2.CfnSecurityGroupIngress(
            self,
            "FromItself",
            group_id=self.group.attr_group_id,
            source_security_group_id=self.group.attr_group_id,
            ip_protocol=ALL_PROTOCOLS,
            description="EFA and rendezvous among the nodes",
        )
        fix_logical_id(ingress, "EfaSecurityGroupFromItself")
        egress = ec2.CfnSecurityGroupEgress(
            self,
            "ToItself",
            group_id=self.group.attr_group_id,
            destination_security_group_id=self.group.attr_group_id,
            ip_protocol=ALL_PROTOCOLS,
            description="EFA and rendezvous among the nodes",
        )
        fix_logical_id(egress, "EfaSecurityGroupToItself")
