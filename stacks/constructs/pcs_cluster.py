"""The Slurm controller that AWS PCS runs."""

from __future__ import annotations

from aws_cdk import aws_pcs as pcs
from constructs import Construct

from stacks.constructs.logical_id import fix_logical_id
from stacks.domain.slurm_plan import SlurmPlan

Cluster = pcs.CfnCluster

# PCS's own range, less the port on which torch_neuronx's root process listens on a job's main node: srun takes its
# ports there, too, wherever it likes.
DEFAULT_SETTINGS = {"SrunPortRange": "60001-62181"}


class PcsCluster(Construct):
    """`resource.ref` is the ARN, and nothing in PCS takes that: use `resource.attr_id`.

    Its authentication key is a secret that PCS makes, rotates and deletes.
    """

    def __init__(
        self, scope: Construct, id_: str, *, slurm: SlurmPlan, subnet_id: str, security_group_id: str
    ) -> None:
        super().__init__(scope, id_)
        self.resource = Cluster(
            self,
            "Cluster",
            name=slurm.cluster_name,
            size=slurm.controller_size,
            networking=Cluster.NetworkingProperty(
                subnet_ids=[subnet_id], security_group_ids=[security_group_id]
            ),
            scheduler=Cluster.SchedulerProperty(type="SLURM", version=slurm.version),
            slurm_configuration=Cluster.SlurmConfigurationProperty(
                scale_down_idle_time_in_seconds=slurm.idle_seconds,
                accounting=Cluster.AccountingProperty(mode="STANDARD" if slurm.accounting else "NONE"),
                slurm_custom_settings=[
                    Cluster.SlurmCustomSettingProperty(parameter_name=name, parameter_value=value)
                    for name, value in sorted((DEFAULT_SETTINGS | dict(slurm.cluster_settings)).items())
                ],
            ),
        )
        fix_logical_id(self.resource, "PcsCluster")
