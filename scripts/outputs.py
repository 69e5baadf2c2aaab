"""What the deployed stacks promise to the commands that come after a deploy."""

from __future__ import annotations

from dataclasses import dataclass

from scripts.aws import cloudformation
from scripts.aws.cloud import Cloud
from stacks.domain.errors import WorldError
from stacks.domain.names import (
    ENVIRONMENT_TAG,
    OUTPUT_BUCKET,
    OUTPUT_EXECUTION_ROLE_ARN,
    OUTPUT_JOB_QUEUE_ARN,
    OUTPUT_JOB_ROLE_ARN,
    OUTPUT_LOG_GROUP,
    OUTPUT_LOGIN_NODE_GROUP_ID,
)
from stacks.domain.plan import Plan
from stacks.domain.render.batch import ClusterOutputs


@dataclass(frozen=True, slots=True)
class SlurmOutputs:
    bucket: str
    login_group_id: str | None
    """None where it was not asked for: a Slurm that this shell reaches has no stack."""


def storage_bucket(cloud: Cloud, plan: Plan) -> str:
    """Raises WorldError when the storage stack is not there or not ours."""
    return _wanted(plan, _outputs(cloud, plan, plan.stacks.storage), (OUTPUT_BUCKET,))[0]


def slurm_outputs(cloud: Cloud, plan: Plan, cluster: str, *, by_ssm: bool) -> SlurmOutputs:
    """Raises WorldError when the stacks are not there or not ours."""
    bucket = storage_bucket(cloud, plan)
    if not by_ssm:
        return SlurmOutputs(bucket, None)
    own = _outputs(cloud, plan, plan.stacks.of_cluster(cluster))
    return SlurmOutputs(bucket, _wanted(plan, own, (OUTPUT_LOGIN_NODE_GROUP_ID,))[0])


def batch_outputs(cloud: Cloud, plan: Plan, cluster: str) -> ClusterOutputs:
    """Raises WorldError when the stacks are not there or not ours."""
    storage = _outputs(cloud, plan, plan.stacks.storage)
    own = _outputs(cloud, plan, plan.stacks.of_cluster(cluster))
    names = (
        OUTPUT_BUCKET,
        OUTPUT_JOB_QUEUE_ARN,
        OUTPUT_JOB_ROLE_ARN,
        OUTPUT_EXECUTION_ROLE_ARN,
        OUTPUT_LOG_GROUP,
    )
    bucket, queue, job_role, execution_role, log_group = _wanted(plan, {**storage, **own}, names)
    return ClusterOutputs(bucket, queue, job_role, execution_role, log_group)


def _wanted(plan: Plan, outputs: dict[str, str], names: tuple[str, ...]) -> tuple[str, ...]:
    missing = [name for name in names if name not in outputs]
    if missing:
        raise WorldError(
            f"the stacks of {plan.name} have no outputs {', '.join(missing)}",
            "deploy again, with this version of the kit",
        )
    return tuple(outputs[name] for name in names)


def _outputs(cloud: Cloud, plan: Plan, stack_name: str) -> dict[str, str]:
    stack = cloudformation.find_stack(cloud, stack_name)
    if stack is None or stack.tags.get(ENVIRONMENT_TAG) != plan.name:
        raise WorldError(
            f"{plan.name} is not deployed: there is no stack {stack_name}",
            "run `neuronkit deploy FILE` first",
        )
    if not stack.outputs:
        raise WorldError(
            f"stack {stack_name} is in {stack.status}", "run `neuronkit deploy FILE` and wait for its end"
        )
    return stack.outputs
