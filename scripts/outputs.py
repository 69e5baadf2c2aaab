"""What the deployed stacks promise to the commands that come after a deploy."""

from __future__ import annotations

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
)
from stacks.domain.plan import Plan
from stacks.domain.render.batch import ClusterOutputs


def cluster_outputs(cloud: Cloud, plan: Plan, cluster: str) -> ClusterOutputs:
    """Raises WorldError when the stacks are not there or not ours."""
    storage = _outputs(cloud, plan, plan.stacks.storage)
    own = _outputs(cloud, plan, plan.stacks.of_cluster(cluster))
    found = {**storage, **own}
    names = (
        OUTPUT_BUCKET,
        OUTPUT_JOB_QUEUE_ARN,
        OUTPUT_JOB_ROLE_ARN,
        OUTPUT_EXECUTION_ROLE_ARN,
        OUTPUT_LOG_GROUP,
    )
    missing = [name for name in names if name not in found]
    if missing:
        raise WorldError(
            f"the stacks of {plan.name} have no outputs {', '.join(missing)}",
            "deploy again, with this version of the kit",
        )
    bucket, queue, job_role, execution_role, log_group = (found[name] for name in names)
    return ClusterOutputs(bucket, queue, job_role, execution_role, log_group)


def _outputs(cloud: Cloud, plan: Plan, stack_name: str) -> dict[str, str]:
    stack = cloudformation.find_stack(cloud, stack_name)
    if stack is None or stack.tags.get(ENVIRONMENT_TAG) != plan.name:
        raise WorldError(
            f"{plan.name} is not deployed: there is no stack {stack_name}", "run `neuronkit deploy` first"
        )
    if not stack.outputs:
        raise WorldError(
            f"stack {stack_name} is in {stack.status}", "run `neuronkit deploy` and wait for its end"
        )
    return stack.outputs
