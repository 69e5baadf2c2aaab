"""The changes to moto that the server makes once, before it answers anything."""

from __future__ import annotations

import moto.autoscaling.urls
import moto.ec2.urls
import moto.elb.urls
import moto.iam.models
import moto.scheduler.urls
import moto.ssm.urls
from moto.ec2.models import EC2Backend

from scripts.local_cloud import (
    cloudwatch_dashboards,
    fsx_file_systems,
    log_events,
    pcs_log_sources,
    s3_buckets,
    ssm_parameters,
)
from scripts.local_cloud.accounts import DEFAULT_ACCOUNT, account_of
from scripts.local_cloud.autoscaling import capacity
from scripts.local_cloud.autoscaling.service import AutoScaling
from scripts.local_cloud.aws_lambda import concurrency, log_group
from scripts.local_cloud.aws_scheduler import Scheduler
from scripts.local_cloud.ec2 import default_groups, images, security_group_rules
from scripts.local_cloud.ec2.service import Ec2
from scripts.local_cloud.ec2.tagged import with_more_types
from scripts.local_cloud.elbv2 import service as load_balancing
from scripts.local_cloud.run_command.service import Ssm


def apply() -> None:
    _let_access_keys_name_accounts()
    moto.ec2.urls.url_paths = {"{0}/": Ec2.dispatch}
    moto.ssm.urls.url_paths = {"{0}/$": Ssm.dispatch}
    moto.autoscaling.urls.url_paths = {"{0}/$": AutoScaling.dispatch}
    # Classic and newer load balancers share the paths; moto tells them apart by this name.
    moto.elb.urls.ELBV2Response = load_balancing.LoadBalancing  # type: ignore[attr-defined]
    moto.scheduler.urls.url_paths = dict.fromkeys(moto.scheduler.urls.url_paths, Scheduler.dispatch)
    EC2Backend.iter_tagged_resources = with_more_types(  # type: ignore[method-assign, assignment]
        EC2Backend.iter_tagged_resources
    )
    load_balancing.allow_jwt_validation()
    capacity.emulate()
    log_group.keep_logging_config()
    concurrency.emulate()
    default_groups.let_members_meet()
    images.show_disks()
    security_group_rules.show_descriptions()
    cloudwatch_dashboards.keep_tags()
    fsx_file_systems.complete()
    log_events.heed_start_from_head()
    pcs_log_sources.allow()
    ssm_parameters.supply_neuron_amis()
    s3_buckets.let_cloudformation_tag()
    s3_buckets.pass_over_conditional_statements()


def _let_access_keys_name_accounts() -> None:
    def get_account_id_from(access_key: str) -> str:
        return account_of(access_key) or _account_of_role_session(access_key) or DEFAULT_ACCOUNT

    moto.iam.models.get_account_id_from = get_account_id_from


def _account_of_role_session(access_key: str) -> str | None:
    """As moto's own, but it asks only what exists: moto would make every partition's IAM, which takes seconds."""
    for account, partitions in list(moto.iam.models.iam_backends.items()):
        if any(access_key in backend.access_keys for backend in list(partitions.values())):
            return account
    return None
