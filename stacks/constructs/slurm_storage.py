"""The file system that every node of a Slurm cluster mounts: EFS, or FSx for Lustre."""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_efs as efs
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_iam as iam
from constructs import Construct, IConstruct

from stacks.constructs.logical_id import fix_logical_id
from stacks.domain.slurm_plan import SharedStoragePlan

LUSTRE_VERSION = "2.15"
# The least that SSD storage of this deployment type comes with.
LUSTRE_MB_PER_SECOND_PER_TIB = 125


class SlurmStorage(Construct):
    """CloudFormation retains it, as what is on it may be all that is left of a run; `neuronkit destroy` deletes it after
    the cluster's stack and, because its interfaces are in the nodes' subnet, before the network's.

    Its interfaces are in the nodes' own security group, whose rule "all from itself" lets in the nodes and nobody
    else: a group of its own would need a rule in the nodes' group as well, which a brought network does not let us make.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        storage: SharedStoragePlan,
        subnet_id: str,
        security_group_id: str,
    ) -> None:
        super().__init__(scope, id_)
        self.mount_arguments: Sequence[str]
        """For the nodes' setup script."""
        self.needed_by_nodes: IConstruct | None = None
        """What must be there before a node can mount, and is not named in the arguments."""
        self._place = (subnet_id, security_group_id)
        if storage.kind == "lustre":
            assert storage.capacity_gib is not None, "a rule asks for it"
            self._lustre(storage.capacity_gib)
        else:
            self._efs()

    def _efs(self) -> None:
        subnet_id, security_group_id = self._place
        file_system = efs.CfnFileSystem(
            self,
            "FileSystem",
            encrypted=True,
            performance_mode="generalPurpose",
            throughput_mode="elastic",
            backup_policy=efs.CfnFileSystem.BackupPolicyProperty(status="DISABLED"),
            file_system_policy=_encrypted_in_transit(),
        )
        target = efs.CfnMountTarget(
            self,
            "MountTarget",
            file_system_id=file_system.attr_file_system_id,
            subnet_id=subnet_id,
            security_groups=[security_group_id],
        )
        fix_logical_id(target, "SharedStorageMountTarget")
        self._keep(file_system)
        self.id = file_system.attr_file_system_id
        self.mount_arguments = [self.id]
        self.needed_by_nodes = target

    def _lustre(self, capacity_gib: int) -> None:
        subnet_id, security_group_id = self._place
        file_system = fsx.CfnFileSystem(
            self,
            "FileSystem",
            file_system_type="LUSTRE",
            file_system_type_version=LUSTRE_VERSION,
            storage_type="SSD",
            storage_capacity=capacity_gib,
            subnet_ids=[subnet_id],
            security_group_ids=[security_group_id],
            lustre_configuration=fsx.CfnFileSystem.LustreConfigurationProperty(
                deployment_type="PERSISTENT_2",
                per_unit_storage_throughput=LUSTRE_MB_PER_SECOND_PER_TIB,
                # Backups would outlive everything; what counts is copied to the bucket.
                automatic_backup_retention_days=0,
            ),
        )
        self._keep(file_system)
        self.id = file_system.ref
        self.mount_arguments = [file_system.attr_dns_name, file_system.attr_lustre_mount_name]

    def _keep(self, file_system: cdk.CfnResource) -> None:
        fix_logical_id(file_system, "SharedStorage")
        file_system.apply_removal_policy(cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)
        cdk.Tags.of(file_system).add("Name", cdk.Stack.of(self).stack_name)


def _encrypted_in_transit() -> iam.PolicyDocument:
    """Whoever reaches a mount target may mount, but only with TLS; without the first statement nobody could."""
    return iam.PolicyDocument(
        statements=[
            iam.PolicyStatement(
                sid="NodesMount",
                principals=[iam.AnyPrincipal()],
                actions=[
                    "elasticfilesystem:ClientMount",
                    "elasticfilesystem:ClientWrite",
                    "elasticfilesystem:ClientRootAccess",
                ],
                conditions={"Bool": {"elasticfilesystem:AccessedViaMountTarget": "true"}},
            ),
            iam.PolicyStatement(
                sid="OnlyWithTls",
                effect=iam.Effect.DENY,
                principals=[iam.AnyPrincipal()],
                actions=["*"],
                conditions={"Bool": {"aws:SecureTransport": "false"}},
            ),
        ]
    )
