"""Names and tags that more than one part of the kit must agree on: stacks, outputs, tags, places in the bucket.

Names identify nothing when it comes to deleting: the tag does. A neighbour called NAME-2 shares the prefix.
"""

from __future__ import annotations

from dataclasses import dataclass

ENVIRONMENT_TAG = "neuronkit:environment"
CLUSTER_TAG = "neuronkit:cluster"
FLEET_TAG = "neuronkit:fleet"
SHIFT_TAG = "neuronkit:shift"
CAPACITY_TAG = "neuronkit:capacity"
OFFERING_TAG = "neuronkit:offering"
FEE_TAG = "neuronkit:fee-usd"
OWNER_TAG = "neuronkit:owner"
LIFETIME_TAG = "neuronkit:lifetime-days"
JOB_TAG = "neuronkit:job"
RUN_TAG = "neuronkit:run"
CONTENT_TAG = "neuronkit:content"

# CloudFormation outputs: what a stack promises to `launch`, `status` and `destroy`.
OUTPUT_VPC_ID = "VpcId"
OUTPUT_NODE_SUBNET_ID = "NodeSubnetId"
OUTPUT_EFA_SECURITY_GROUP_ID = "EfaSecurityGroupId"
OUTPUT_BUCKET = "BucketName"
OUTPUT_COMPUTE_ENVIRONMENT_ARN = "ComputeEnvironmentArn"
OUTPUT_JOB_QUEUE_ARN = "JobQueueArn"
OUTPUT_JOB_ROLE_ARN = "JobRoleArn"
OUTPUT_EXECUTION_ROLE_ARN = "ExecutionRoleArn"
OUTPUT_LOG_GROUP = "LogGroupName"
OUTPUT_DASHBOARD = "DashboardName"
OUTPUT_PCS_CLUSTER_ID = "PcsClusterId"
OUTPUT_LOGIN_NODE_GROUP_ID = "LoginNodeGroupId"
OUTPUT_SHARED_STORAGE_ID = "SharedStorageId"
OUTPUT_IMAGE_PIPELINE_ARN = "ImagePipelineArn"
"""With the Slurm version behind it, without its dot: one pipeline a version."""
OUTPUT_ECS_CLUSTER = "EcsClusterName"
OUTPUT_SERVICES = "ServiceNames"
"""Of the replicas on Neuron, with commas between them, in the order of the slices."""
OUTPUT_GPU_SERVICE = "GpuServiceName"
OUTPUT_CAPACITY_PROVIDER = "CapacityProviderName"
OUTPUT_AUTO_SCALING_GROUP = "AutoScalingGroupName"
OUTPUT_GPU_AUTO_SCALING_GROUP = "GpuAutoScalingGroupName"
OUTPUT_LOAD_BALANCER = "LoadBalancerArn"
OUTPUT_LOAD_BALANCER_DNS_NAME = "LoadBalancerDnsName"
OUTPUT_LISTENER_RULE = "ListenerRuleArn"
"""Of the rule whose weights the controllers set."""
OUTPUT_NEURON_TARGET_GROUP = "NeuronTargetGroupArn"
OUTPUT_GPU_TARGET_GROUP = "GpuTargetGroupArn"
OUTPUT_WAKER_TARGET_GROUP = "WakerTargetGroupArn"
OUTPUT_WAKER_FUNCTION = "WakerFunctionName"
OUTPUT_FALLBACK_FUNCTION = "FallbackFunctionName"
OUTPUT_FALLBACK_PARAMETER = "FallbackParameterName"
OUTPUT_ARTIFACTS_ID = "ArtifactsFileSystemId"
OUTPUT_COMPILE_TASK_DEFINITION = "CompileTaskDefinitionArn"
OUTPUT_COMPILE_CAPACITY_PROVIDER = "CompileCapacityProvider"
OUTPUT_COMPILE_SUBNET_ID = "CompileSubnetId"
OUTPUT_COMPILE_SECURITY_GROUP_ID = "CompileSecurityGroupId"
"""The last two only where the compile task has a network interface of its own."""
OUTPUT_SHIFT_FUNCTION = "ShiftFunctionName"
OUTPUT_SHIFT_PARAMETER = "ShiftParameterName"
METRICS_NAMESPACE = "neuronkit/serving"
"""Of CloudWatch, with the dimensions Environment, Fleet and Side."""
PARAMETER_FIRST_DEPLOY = "FirstDeploy"
"""A parameter of a fleet's stack: "true" makes its services without a task, and must be "false" ever after."""

NODE_IMAGE_PREFIX = "node-image:slurm-"
NODE_IMAGE_TAG = "neuronkit:node-image"
"""On the AMIs that the kit builds: the version of their recipe."""
NODE_IMAGE_REFERENCE_TAG = "neuronkit:node-image-reference"
"""On the same: what the lock calls them."""
SLURM_VERSION_TAG = "neuronkit:slurm-version"
"""On an AMI: the Slurm that is in it, such as 25.11."""
PCS_CLUSTER_TAG = "aws:pcs:cluster-id"
PCS_NODE_GROUP_TAG = "aws:pcs:compute-node-group-id"
"""PCS's own, on the instances that it starts."""


@dataclass(frozen=True, slots=True)
class StackNames:
    """The environment's stacks, in the order in which they are made; they are deleted in the opposite order."""

    network: str | None
    """None where the user brought the network."""
    storage: str
    image: str | None
    """None where no cluster needs a node image of the kit's."""
    clusters: tuple[tuple[str, str], ...]
    fleets: tuple[tuple[str, str], ...] = ()
    shifts: tuple[tuple[str, str], ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        made = (self.network,) if self.network else ()
        image = (self.image,) if self.image else ()
        parts = (*self.clusters, *self.fleets, *self.shifts)
        return (*made, self.storage, *image, *(stack for _, stack in parts))

    def of_shift(self, shift: str) -> str:
        return dict(self.shifts)[shift]

    def of_fleet(self, fleet: str) -> str:
        return dict(self.fleets)[fleet]

    def of_cluster(self, cluster: str) -> str:
        return dict(self.clusters)[cluster]


def stack_names(
    environment: str,
    clusters: tuple[str, ...],
    fleets: tuple[str, ...] = (),
    shifts: tuple[str, ...] = (),
    *,
    network: bool = True,
    image: bool = False,
) -> StackNames:
    return StackNames(
        network=f"{environment}-network" if network else None,
        storage=f"{environment}-storage",
        image=f"{environment}-image" if image else None,
        clusters=tuple((cluster, f"{environment}-cluster-{cluster}") for cluster in clusters),
        fleets=tuple((fleet, f"{environment}-fleet-{fleet}") for fleet in fleets),
        shifts=tuple((shift, f"{environment}-shift-{shift}") for shift in shifts),
    )


def fallback_parameter(environment: str, fleet: str) -> str:
    """Of Systems Manager; holds {"mode", "until", "reason"} as JSON."""
    return f"/neuronkit/{environment}/fleets/{fleet}/fallback"


def shift_parameter(environment: str, shift: str) -> str:
    """Of Systems Manager; holds {"mode", "until", "reason"} as JSON."""
    return f"/neuronkit/{environment}/shifts/{shift}"


def shift_prefix(shift: str) -> str:
    """In the bucket: the jobs that a shift has stopped and has to start again."""
    return f"shifts/{shift}"


def fallback_state_parameter(environment: str, fleet: str) -> str:
    """What the fallback controller last saw and did, as JSON."""
    return f"{fallback_parameter(environment, fleet)}-state"


def shift_state_parameter(environment: str, shift: str) -> str:
    """What the controller of a shift last saw and did, as JSON."""
    return f"{shift_parameter(environment, shift)}-state"


def waker_parameter(environment: str, fleet: str, what: str) -> str:
    """`what`: settings, state or wake."""
    return f"/neuronkit/{environment}/fleets/{fleet}/waker/{what}"


def job_definition_name(environment: str, job: str) -> str:
    return f"{environment}-{job}"


def node_image_reference(slurm_version: str) -> str:
    """What the lock calls the AMI that the kit builds for a Slurm version."""
    return f"{NODE_IMAGE_PREFIX}{slurm_version}"


def is_node_image(reference: str) -> bool:
    return reference.startswith(NODE_IMAGE_PREFIX)


def package_key(sha256: str) -> str:
    return f"packages/{sha256}.tar.gz"


def run_prefix(job: str, run: str) -> str:
    return f"runs/{job}/{run}"


def metrics_key(job: str, run: str) -> str:
    return f"{run_prefix(job, run)}/metrics.jsonl"


def checkpoints_prefix(job: str, run: str) -> str:
    return f"{run_prefix(job, run)}/checkpoints"
