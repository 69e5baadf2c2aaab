"""What AWS PCS tells of a cluster, in a log group: the scheduler's own log, and a record of every job that ended."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_logs as logs
from aws_cdk import aws_pcs as pcs
from constructs import Construct

from stacks.constructs.logical_id import fix_logical_id

# By the word for them in names. The scheduler's log is the only place that says why a setting was refused; the jobs'
# records (free of charge) outlive Slurm's own memory of a job. Log types: CloudWatch Logs API, PutDeliverySource.
LOG_TYPES = {"Scheduler": "PCS_SCHEDULER_LOGS", "Jobs": "PCS_JOBCOMP_LOGS"}


class PcsLogDelivery(Construct):
    """Names hold the PCS cluster's id, so that what an earlier cluster left behind is never in the way. CloudWatch Logs
    writes the permission to deliver into the account's own policy AWSLogDeliveryWrite20150319, which is not ours.
    """

    def __init__(
        self, scope: Construct, id_: str, *, cluster: pcs.CfnCluster, log_group: logs.ILogGroup
    ) -> None:
        super().__init__(scope, id_)
        destination = logs.CfnDeliveryDestination(
            self,
            "Destination",
            name=f"{cluster.attr_id}-logs",
            destination_resource_arn=log_group.log_group_arn,
        )
        fix_logical_id(destination, "LogDestination")
        # CloudWatch Logs refuses a second change of a delivery's parts while the first goes on.
        last: cdk.CfnResource = destination
        for word, log_type in LOG_TYPES.items():
            source = logs.CfnDeliverySource(
                self,
                f"{word}Source",
                name=f"{cluster.attr_id}-{word.lower()}",
                log_type=log_type,
                resource_arn=cluster.attr_arn,
            )
            source.add_resource_dependency(last)
            fix_logical_id(source, f"{word}LogSource")
            delivery = logs.CfnDelivery(
                self,
                f"{word}Delivery",
                delivery_source_name=source.name,
                delivery_destination_arn=destination.attr_arn,
            )
            delivery.add_resource_dependency(source)
            last = delivery
            fix_logical_id(delivery, f"{word}LogDelivery")
