"""The file system that the replicas of a fleet share: models and compiled graphs, made once."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_efs as efs
from aws_cdk import aws_iam as iam
from constructs import Construct

from stacks.constructs.fleet_place import FleetPlace
from stacks.constructs.fleet_security_groups import StorageSecurityGroup
from stacks.constructs.logical_id import fix_logical_id

# Engines' images run as root, and lock nobody out of what they share.
ROOT = "0"
PERMISSIONS = "0755"
DIRECTORY = "/artifacts"


class FleetArtifacts(Construct):
    """CloudFormation retains it, as a compile of hours may lie on it; `neuronkit destroy` deletes it after the stack.

    Tasks mount it with TLS, through the access point, as their role: a policy without an allowing statement lets in
    nobody but roles that may.
    """

    def __init__(self, scope: Construct, id_: str, *, place: FleetPlace) -> None:
        super().__init__(scope, id_)
        self.security_group = StorageSecurityGroup(self, "SecurityGroup", place=place)
        self.file_system = efs.CfnFileSystem(
            self,
            "FileSystem",
            encrypted=True,
            performance_mode="generalPurpose",
            throughput_mode="elastic",
            backup_policy=efs.CfnFileSystem.BackupPolicyProperty(status="DISABLED"),
            file_system_policy=_only_with_tls(),
        )
        fix_logical_id(self.file_system, "Artifacts")
        self.file_system.apply_removal_policy(cdk.RemovalPolicy.RETAIN)
        cdk.Tags.of(self.file_system).add("Name", cdk.Stack.of(self).stack_name)
        self.mount_target = efs.CfnMountTarget(
            self,
            "MountTarget",
            file_system_id=self.file_system.attr_file_system_id,
            subnet_id=place.node_subnet_id,
            security_groups=[self.security_group.group.attr_group_id],
        )
        fix_logical_id(self.mount_target, "ArtifactsMountTarget")
        self.access_point = efs.CfnAccessPoint(
            self,
            "AccessPoint",
            file_system_id=self.file_system.attr_file_system_id,
            posix_user=efs.CfnAccessPoint.PosixUserProperty(uid=ROOT, gid=ROOT),
            root_directory=efs.CfnAccessPoint.RootDirectoryProperty(
                path=DIRECTORY,
                creation_info=efs.CfnAccessPoint.CreationInfoProperty(
                    owner_uid=ROOT, owner_gid=ROOT, permissions=PERMISSIONS
                ),
            ),
        )
        fix_logical_id(self.access_point, "ArtifactsAccessPoint")

    def mount_policy(self) -> iam.PolicyDocument:
        """For a task's role."""
        return iam.PolicyDocument(
            statements=[
                iam.PolicyStatement(
                    actions=[
                        "elasticfilesystem:ClientMount",
                        "elasticfilesystem:ClientWrite",
                        "elasticfilesystem:ClientRootAccess",
                    ],
                    resources=[self.file_system.attr_arn],
                    conditions={
                        "StringEquals": {"elasticfilesystem:AccessPointArn": self.access_point.attr_arn}
                    },
                )
            ]
        )


def _only_with_tls() -> iam.PolicyDocument:
    return iam.PolicyDocument(
        statements=[
            iam.PolicyStatement(
                sid="OnlyWithTls",
                effect=iam.Effect.DENY,
                principals=[iam.AnyPrincipal()],
                actions=["*"],
                conditions={"Bool": {"aws:SecureTransport": "false"}},
            )
        ]
    )
