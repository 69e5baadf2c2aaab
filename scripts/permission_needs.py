"""What each command of the kit asks AWS to do for its user, in IAM's names, and why. Written out by `scripts/permission_docs.py`.

`tests/unit/scripts/test_permission_docs.py` holds it against the calls in `scripts/aws`: a call without a row fails, and
so does a row without a call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SLURM: Final = "Slurm"
FLEETS: Final = "fleets"
BLOCKS: Final = "reservations and capacity blocks"
OWN_NETWORK: Final = "a network of yours"


@dataclass(frozen=True, slots=True)
class Need:
    """`actions` are calls of ours; `implied` is what AWS wants besides for them. Both are names with spaces between."""

    why: str
    actions: str
    only_with: str = ""
    implied: str = ""

    @property
    def every_action(self) -> tuple[str, ...]:
        return tuple(sorted({*self.actions.split(), *self.implied.split()}))


@dataclass(frozen=True, slots=True)
class CommandNeeds:
    commands: str
    needs: tuple[Need, ...]


_WHO: Final = Need("whose account it is (AWS lets everybody ask)", "sts:GetCallerIdentity")
_STACKS: Final = Need("outputs and state of the stacks", "cloudformation:DescribeStacks")
_TEMPLATE: Final = Need("what is deployed of the cluster", "cloudformation:GetTemplate")
_OWN_STACKS: Final = Need(
    "which stacks are the environment's",
    "cloudformation:DescribeStacks cloudformation:ListStackResources",
    implied="cloudformation:ListStacks",
)
_BOOTSTRAP: Final = Need("the version of the CDK's bootstrap stack, AMI parameters", "ssm:GetParameter")
_CDK: Final = Need(
    "deploy as the roles of the CDK's bootstrap stack; what CloudFormation makes, it makes with theirs",
    "",
    implied="sts:AssumeRole",
)
_HALF_MADE: Final = Need(
    "the reason of a failure; away with a stack whose first creation failed",
    "cloudformation:DescribeStackEvents cloudformation:DeleteStack",
)
_LOCK: Final = Need(
    "AMI ids and the digests of images in ECR", "ssm:GetParameter ec2:DescribeImages ecr:BatchGetImage"
)
_LIVE: Final = (
    Need(
        "zones, offerings, types, AMIs, nodes that run already",
        "ec2:DescribeAvailabilityZones ec2:DescribeInstanceTypeOfferings ec2:DescribeInstanceTypes ec2:DescribeImages "
        "ec2:DescribeInstances ec2:DescribeCapacityReservations",
    ),
    Need("quotas", "servicequotas:GetServiceQuota servicequotas:GetAWSDefaultServiceQuota"),
    Need(
        "how the blocks that the file names stand",
        "ec2:DescribeCapacityBlocks ec2:DescribeCapacityBlockStatus",
        BLOCKS,
    ),
    Need(
        "what the network allows",
        "ec2:DescribeSubnets ec2:DescribeNetworkAcls ec2:DescribeRouteTables ec2:DescribeSecurityGroups "
        "ec2:DescribeVpcEndpoints ec2:DescribeVpcAttribute ec2:DescribeNetworkInterfaces",
        OWN_NETWORK,
    ),
    Need("whether AWS's service-linked roles are there", "iam:GetRole", f"{SLURM}, {FLEETS}"),
    Need("how many controllers can run at once", "lambda:GetAccountSettings", FLEETS),
    _OWN_STACKS,
    _BOOTSTRAP,
)
_RUN_RECORDS: Final = Need(
    "the records, checkpoints and metrics of runs; without s3:ListBucket S3 says 403 for what is not there",
    "s3:ListBucket s3:GetObject",
)
_BATCH_RUNS: Final = Need("the runs in the queue", "batch:ListJobs batch:DescribeJobs")
_LOGIN_NODE: Final = Need(
    "Slurm's commands on the login node (the document AWS-RunShellScript)",
    "ec2:DescribeInstances ssm:SendCommand ssm:GetCommandInvocation",
    f"{SLURM}, but for --transport local",
)
_LINES: Final = Need("the log of each node", "logs:GetLogEvents")
_PCS_STATE: Final = Need(
    "state of cluster, node groups and queues",
    "pcs:GetCluster pcs:GetComputeNodeGroup pcs:GetQueue pcs:ListComputeNodeGroups pcs:ListQueues",
    SLURM,
)
_RESERVATIONS: Final = Need("how the capacity stands", "ec2:DescribeCapacityReservations")

_INVENTORY: Final = (
    _WHO,
    Need(
        "which stacks are the environment's, those that are gone and those never executed as well, and what they made",
        "cloudformation:DescribeStacks cloudformation:ListStacks cloudformation:ListStackResources "
        "cloudformation:ListChangeSets cloudformation:DescribeChangeSet",
    ),
    Need("everything with the environment's tag", "tag:GetResources"),
    Need(
        "queues, compute environments, job definitions, jobs",
        "batch:DescribeJobQueues batch:DescribeComputeEnvironments batch:DescribeJobDefinitions batch:ListJobs",
    ),
    Need(
        "what AWS Batch, PCS, ECS or an interrupted deploy left in EC2",
        "ec2:DescribeAddresses ec2:DescribeCapacityReservations ec2:DescribeImages ec2:DescribeInstances "
        "ec2:DescribeInternetGateways ec2:DescribeLaunchTemplates ec2:DescribeNatGateways "
        "ec2:DescribeNetworkInterfaces ec2:DescribePlacementGroups ec2:DescribeRouteTables "
        "ec2:DescribeSecurityGroups ec2:DescribeSnapshots ec2:DescribeSubnets ec2:DescribeVolumes "
        "ec2:DescribeVpcEndpoints ec2:DescribeVpcs",
    ),
    Need("the bucket", "s3:ListAllMyBuckets s3:GetBucketTagging"),
    Need("log groups", "logs:DescribeLogGroups logs:ListTagsForResource"),
    Need(
        "whether what the tagging API lists is still there",
        "kms:DescribeKey resource-groups:GetGroup ec2:DescribeFleets ec2:DescribeSecurityGroupRules "
        "autoscaling:DescribeAutoScalingGroups ecs:DescribeContainerInstances",
    ),
    Need(
        "clusters, node groups, queues; log deliveries, Slurm keys and service roles of PCS",
        "pcs:ListClusters pcs:ListComputeNodeGroups pcs:ListQueues pcs:ListTagsForResource logs:DescribeDeliveries "
        "logs:DescribeDeliverySources logs:DescribeDeliveryDestinations secretsmanager:ListSecrets iam:GetRole",
        SLURM,
    ),
    Need(
        "node images, their pipeline and recipes",
        "imagebuilder:ListImages imagebuilder:ListImageBuildVersions imagebuilder:GetComponent "
        "imagebuilder:GetImageRecipe imagebuilder:GetImagePipeline imagebuilder:GetInfrastructureConfiguration "
        "imagebuilder:GetDistributionConfiguration",
        SLURM,
    ),
    Need(
        "shared file systems",
        "elasticfilesystem:DescribeFileSystems elasticfilesystem:DescribeMountTargets",
        f"{SLURM}, {FLEETS}",
    ),
    Need("Lustre's file systems and backups", "fsx:DescribeFileSystems fsx:DescribeBackups", SLURM),
    Need(
        "services, tasks, nodes, load balancers, controllers, alarms, parameters",
        "ecs:DescribeCapacityProviders ecs:DescribeClusters ecs:DescribeContainerInstances ecs:DescribeServices "
        "ecs:DescribeTaskDefinition ecs:DescribeTasks ecs:ListContainerInstances ecs:ListServices "
        "ecs:ListTagsForResource ecs:ListTasks autoscaling:DescribeAutoScalingGroups "
        "elasticloadbalancing:DescribeListeners elasticloadbalancing:DescribeLoadBalancers "
        "elasticloadbalancing:DescribeRules elasticloadbalancing:DescribeTargetGroups lambda:GetFunctionConfiguration "
        "cloudwatch:DescribeAlarms elasticfilesystem:DescribeAccessPoints ssm:GetParameter",
        FLEETS,
    ),
)

LOCK: Final = CommandNeeds("`lock`", (_WHO, _LOCK))
LIVE: Final = CommandNeeds(
    "`check --live` and `plan --live`",
    (_WHO, *_LIVE, Need("prices (`plan` only)", "pricing:GetProducts")),
)
AGAINST: Final = CommandNeeds(
    "`plan --against`",
    (
        _WHO,
        _OWN_STACKS,
        Need("the templates that are deployed", "cloudformation:GetTemplate"),
        Need("the data of the types in them", "ec2:DescribeInstanceTypes"),
    ),
)
DEPLOY: Final = CommandNeeds(
    "`deploy`",
    (
        _WHO,
        Need("what is locked already is not asked again", _LOCK.actions),
        *_LIVE,
        _CDK,
        Need("what would change", "cloudformation:GetTemplate"),
        _HALF_MADE,
        Need("how far cluster, node groups and queues are", _PCS_STATE.actions, SLURM),
        Need("the mark that a model is compiled", "s3:ListBucket s3:GetObject s3:PutObject", FLEETS),
        Need(
            "the task that compiles the model, with the roles of its definition and its tags",
            "ecs:RunTask ecs:ListTasks ecs:DescribeTasks ecs:StopTask",
            FLEETS,
            implied="iam:PassRole ecs:TagResource",
        ),
        Need(
            "start the replicas, and see them serve",
            "ecs:UpdateService ecs:DescribeServices elasticloadbalancing:DescribeTargetHealth "
            "autoscaling:DescribeScalingActivities",
            FLEETS,
        ),
    ),
)
LAUNCH: Final = CommandNeeds(
    "`launch`",
    (
        _WHO,
        _STACKS,
        _TEMPLATE,
        _RUN_RECORDS,
        Need("the job's source, the run's record", "s3:PutObject"),
        _BATCH_RUNS,
        Need(
            "the job, with its roles and the environment's tags",
            "batch:DescribeJobDefinitions batch:RegisterJobDefinition batch:SubmitJob",
            implied="iam:PassRole batch:TagResource",
        ),
        Need("the log of each node (--follow)", _LINES.actions),
        _LOGIN_NODE,
    ),
)
LOGS: Final = CommandNeeds("`logs`", (_WHO, _STACKS, _RUN_RECORDS, _BATCH_RUNS, _LINES, _LOGIN_NODE))
STATUS: Final = CommandNeeds(
    "`status`",
    (
        _WHO,
        _STACKS,
        _TEMPLATE,
        _RUN_RECORDS,
        _BATCH_RUNS,
        Need("why nothing starts", "batch:DescribeComputeEnvironments batch:DescribeJobQueues"),
        _RESERVATIONS,
        Need("stop a run (--cancel)", "batch:TerminateJob"),
        _PCS_STATE,
        _LOGIN_NODE,
        Need(
            "services, targets, weights, nodes, what the controllers do",
            "ecs:DescribeServices elasticloadbalancing:DescribeTargetHealth elasticloadbalancing:DescribeRules "
            "autoscaling:DescribeAutoScalingGroups autoscaling:DescribeScalingActivities ssm:GetParameter",
            FLEETS,
        ),
    ),
)
OVERRIDE: Final = CommandNeeds(
    "`override`", (_WHO, Need("the controller's parameter", "ssm:GetParameter ssm:PutParameter", FLEETS))
)
CAPACITY: Final = CommandNeeds(
    "`capacity search` and `capacity status`",
    (
        _WHO,
        Need(
            "offers, extensions, and how what you have stands",
            "ec2:DescribeAvailabilityZones ec2:DescribeCapacityBlockOfferings "
            "ec2:DescribeCapacityBlockExtensionOfferings ec2:DescribeCapacityBlocks ec2:DescribeCapacityBlockStatus "
            "ec2:DescribeCapacityReservations",
        ),
    ),
)
BUY: Final = CommandNeeds(
    "`capacity buy`",
    (
        *CAPACITY.needs,
        Need("buy, with the environment's tag", "ec2:PurchaseCapacityBlock", implied="ec2:CreateTags"),
    ),
)
IMAGE: Final = CommandNeeds(
    "`image build` and `image status`",
    (
        _WHO,
        _STACKS,
        Need("how far its deployment is", "cloudformation:ListStackResources"),
        _LOCK,
        Need(
            "builds and, of one that failed, the step; how old the newest image is",
            "imagebuilder:ListImagePipelineImages imagebuilder:GetImage imagebuilder:ListWorkflowExecutions "
            "imagebuilder:ListWorkflowStepExecutions",
        ),
        _CDK,
        _HALF_MADE,
        Need(
            "start a build, with the environment's tag (`build`)",
            "imagebuilder:StartImagePipelineExecution",
            implied="imagebuilder:TagResource",
        ),
    ),
)
LEFTOVERS: Final = CommandNeeds("`leftovers`", _INVENTORY)
DESTROY: Final = CommandNeeds(
    "`destroy`: all that `leftovers` needs, and",
    (
        Need("stop the jobs", "batch:TerminateJob batch:DescribeJobs"),
        Need("the stacks", "cloudformation:DeleteStack"),
        Need(
            "the bucket with every version of its objects",
            "s3:ListBucketVersions s3:DeleteObjectVersion s3:ListBucketMultipartUploads s3:AbortMultipartUpload "
            "s3:DeleteBucket",
            implied="s3:DeleteObject",
        ),
        Need("log groups, job definitions", "logs:DeleteLogGroup batch:DeregisterJobDefinition"),
        Need(
            "what was left in EC2",
            "ec2:TerminateInstances ec2:DeleteLaunchTemplate ec2:DeleteNatGateway ec2:DeleteNetworkInterface "
            "ec2:DeletePlacementGroup ec2:DeleteSecurityGroup ec2:DeleteSnapshot ec2:DeleteVolume "
            "ec2:DeleteVpcEndpoints ec2:ReleaseAddress",
        ),
        Need(
            "clusters, node groups and queues that their stack left; log deliveries",
            "pcs:GetCluster pcs:GetComputeNodeGroup pcs:GetQueue pcs:DeleteCluster pcs:DeleteComputeNodeGroup "
            "pcs:DeleteQueue logs:DeleteDelivery logs:DeleteDeliverySource logs:DeleteDeliveryDestination",
            SLURM,
        ),
        Need(
            "node images: stop builds, mark the snapshots with the tag before the AMI goes, then delete them",
            "imagebuilder:GetImage imagebuilder:CancelImageCreation imagebuilder:DeleteImage ec2:CreateTags "
            "ec2:DeregisterImage",
            SLURM,
        ),
        Need(
            "shared file systems",
            "elasticfilesystem:DeleteMountTarget elasticfilesystem:DeleteFileSystem",
            f"{SLURM}, {FLEETS}",
            implied="ec2:DeleteNetworkInterface",
        ),
        Need("Lustre's file systems and backups", "fsx:DeleteFileSystem fsx:DeleteBackup", SLURM),
        Need(
            "end the nodes that a group still keeps",
            "autoscaling:UpdateAutoScalingGroup autoscaling:SetInstanceProtection autoscaling:DescribeLifecycleHooks "
            "autoscaling:CompleteLifecycleAction autoscaling:DeleteAutoScalingGroup ecs:DeregisterContainerInstance",
            FLEETS,
        ),
        Need(
            "services, tasks, load balancers, controllers, alarms, parameters",
            "ecs:UpdateService ecs:DeleteService ecs:StopTask ecs:DeregisterTaskDefinition ecs:DeleteCapacityProvider "
            "ecs:DeleteCluster elasticloadbalancing:DeleteLoadBalancer elasticloadbalancing:DeleteTargetGroup "
            "lambda:DeleteFunction cloudwatch:DeleteAlarms ssm:DeleteParameter",
            FLEETS,
        ),
    ),
)

ALL: Final = (
    LOCK, LIVE, AGAINST, DEPLOY, LAUNCH, LOGS, STATUS, OVERRIDE, CAPACITY, BUY, IMAGE, LEFTOVERS, DESTROY,
)  # fmt: skip
