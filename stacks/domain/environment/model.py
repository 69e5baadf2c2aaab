"""The shape of an environment file. Only shape: what depends on two values, or on a catalog, is a rule.

Every field's description says its unit and what is allowed in words, because findings and the editor show it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from stacks.domain.environment.fleet_settings import Fleet, Shift
from stacks.domain.environment.part import Framework, Model
from stacks.domain.environment.slurm_settings import SlurmSettings

ENVIRONMENT_NAME_PATTERN = r"^[a-z][a-z0-9-]{1,28}[a-z0-9]$"
PART_NAME_PATTERN = r"^[a-z][a-z0-9-]{0,28}[a-z0-9]$"
ACCOUNT_PATTERN = r"[0-9]{12}"
IMAGE_TAG_PATTERN = r":[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
IMAGE_DIGEST_PATTERN = r"@sha256:[0-9a-f]{64}"
IMAGE_PATTERN = (
    r"^[a-z0-9.-]+(:[0-9]+)?/[a-z0-9._/-]+"
    rf"({IMAGE_TAG_PATTERN}|{IMAGE_DIGEST_PATTERN}|{IMAGE_TAG_PATTERN}{IMAGE_DIGEST_PATTERN})$"
)
# No wildcard may stand in one: both end in the policies of the job's roles.
SECRET_ARN_PATTERN = (
    r"^arn:aws[a-z-]*:"
    rf"(secretsmanager:[a-z0-9-]+:{ACCOUNT_PATTERN}:secret:[A-Za-z0-9/_+=.@-]+(:[^:\s*?$]*:[^:\s*?$]*:[^:\s*?$]*)?"
    rf"|ssm:[a-z0-9-]+:{ACCOUNT_PATTERN}:parameter/[A-Za-z0-9_./-]+)$"
)
DATA_PATTERN = r"^s3://[a-z0-9](\.?[a-z0-9-]){1,61}[a-z0-9](/[^\s*?$]*)?$"
VARIABLE_NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"

PartName = Annotated[str, Field(pattern=PART_NAME_PATTERN)]
VariableName = Annotated[str, Field(pattern=VARIABLE_NAME_PATTERN)]
CapacityKind = Literal["on-demand", "spot", "reservation", "capacity-block"]
Precision = Literal["fp32", "bf16", "fp16", "fp8"]
Scheduler = Literal["batch", "slurm"]
Shape = Literal["trn3-gen1", "trn3-gen2", "trainium4"]


class CdkSettings(Model):
    """How the CDK was, or shall be, bootstrapped in this account and region."""

    qualifier: Annotated[
        str,
        Field(pattern=r"^[a-z0-9]{1,10}$", description="the CDK bootstrap qualifier: 1 to 10 of a-z and 0-9"),
    ] = "hnb659fds"
    permissions_boundary: Annotated[
        str | None,
        Field(
            pattern=r"^[A-Za-z0-9+=,.@_-]{1,128}$",
            description="the name of an IAM policy that every role gets as its permissions boundary, or null",
        ),
    ] = None


class Suppression(Model):
    """A finding that somebody has looked at and accepts. Errors of shape cannot be suppressed."""

    rule: Annotated[str, Field(pattern=r"^NK\d{3}$", description="a rule's id such as NK219")]
    reason: Annotated[str, Field(min_length=8, description="why it is accepted: 8 characters or more")]
    path: Annotated[
        str | None, Field(description="only at this place, such as clusters.train.capacity; null: everywhere")
    ] = None


class Network(Model):
    """A VPC of the kit's own, or the user's: then with the subnet and the security group that the nodes get."""

    vpc: Annotated[
        str,
        Field(
            pattern=r"^(new|vpc-[0-9a-f]{8,17})$",
            description="new: the kit makes a VPC of its own; or the id of yours, such as vpc-0123456789abcdef0",
        ),
    ] = "new"
    subnet_id: Annotated[
        str | None,
        Field(
            pattern=r"^subnet-[0-9a-f]{8,17}$",
            description="with a VPC of yours: the nodes' subnet; else null",
        ),
    ] = None
    security_group_id: Annotated[
        str | None,
        Field(
            pattern=r"^sg-[0-9a-f]{8,17}$",
            description="with a VPC of yours: the nodes' security group; else null",
        ),
    ] = None
    load_balancer_subnet_ids: Annotated[
        tuple[Annotated[str, Field(pattern=r"^subnet-[0-9a-f]{8,17}$")], ...],
        Field(
            description="with a VPC of yours and fleets: subnets in two zones or more for their load balancers; "
            "else empty"
        ),
    ] = ()
    cidr: Annotated[str, Field(description="the VPC's IPv4 range, for example 10.42.0.0/16")] = "10.42.0.0/16"
    zone_id: Annotated[
        str,
        Field(
            pattern=r"^[a-z]{3,5}[0-9]-az[0-9]$",
            description="an availability zone id such as use2-az3 (the same for every account; zone letters are not)",
        ),
    ]


class Storage(Model):
    bucket: Annotated[Literal["new"], Field(description="new: an encrypted bucket with a generated name")] = (
        "new"
    )


class Capacity(Model):
    """How nodes are bought. `id` null means not bought yet: everything but a real deploy works."""

    kind: Annotated[CapacityKind, Field(description="on-demand, reservation or capacity-block")]
    id: Annotated[
        str | None,
        Field(
            pattern=r"^cr-[0-9a-f]{8,17}$",
            description="a capacity reservation id such as cr-0123456789abcdef0, or null while it is not bought",
        ),
    ] = None
    ids: Annotated[
        tuple[Annotated[str, Field(pattern=r"^cr-[0-9a-f]{8,17}$")], ...],
        Field(
            description="with scheduler slurm and several UltraServers: the reservation ids, one for each UltraServer, "
            "instead of id"
        ),
    ] = ()


class Cluster(Model):
    scheduler: Annotated[
        Scheduler,
        Field(description="batch: AWS Batch multi-node parallel jobs; slurm: Slurm on AWS PCS"),
    ]
    instance_type: Annotated[
        str, Field(description="an EC2 instance type with Neuron chips; see `neuronkit catalog`")
    ]
    nodes: Annotated[
        int,
        Field(
            ge=1,
            le=100_000,
            description="how many instances the cluster (each cell of it) may grow to: 1 to 100000",
        ),
    ]
    capacity: Annotated[PartName, Field(description="the name of an entry under `capacity`")]
    placement_group: Annotated[
        Literal["auto", "yes", "no"],
        Field(description="auto: a cluster placement group, except with a capacity block; yes; no"),
    ] = "auto"
    efa: Annotated[
        Literal["auto", "off"], Field(description="auto: every EFA interface the type has; off: plain TCP")
    ] = "auto"
    logical_core_size: Annotated[
        int | None,
        Field(
            ge=1,
            le=2,
            description="physical NeuronCores joined into one logical core (LNC): 1, 2, or null for the chip's default",
        ),
    ] = None
    shape: Annotated[
        Shape | None,
        Field(
            description="for a type that no EC2 API names yet: trn3-gen1, trn3-gen2 or trainium4 says what a node is "
            "made of, and instance_type is the name that you were given; else null"
        ),
    ] = None
    assumed_chips_per_node: Annotated[
        int | None,
        Field(
            ge=1,
            le=1024,
            description="with shape trainium4: the chips of a node that you assume, 1 to 1024, as nothing is published; "
            "else null",
        ),
    ] = None
    cells: Annotated[
        int, Field(ge=1, le=1000, description="independently deployed copies of this cluster: 1 to 1000")
    ] = 1
    root_volume_gib: Annotated[
        int, Field(ge=64, le=16_384, description="root volume in GiB: 64 to 16384")
    ] = 512
    slurm: Annotated[
        SlurmSettings | None, Field(description="settings of scheduler slurm, or null with another scheduler")
    ] = None


class Software(Model):
    """`auto` means: the newest pair of image and AMI in the bundled data that fit each other."""

    sdk: Annotated[
        str,
        Field(
            pattern=r"^(auto|[0-9]+\.[0-9]+\.[0-9]+)$",
            description="auto, or a Neuron SDK version such as 2.32.0",
        ),
    ] = "auto"
    ami: Annotated[
        str,
        Field(
            pattern=r"^(auto|ami-[0-9a-f]{8,17}|/aws/service/[A-Za-z0-9/_.-]+)$",
            description="auto, an AMI id, or a dated SSM parameter of the ECS Neuron AMI",
        ),
    ] = "auto"
    images: Annotated[
        dict[Framework, Annotated[str, Field(pattern=IMAGE_PATTERN)]],
        Field(
            description="an image with a tag or digest (registry/repository:tag or …@sha256:…), by framework: jax, torch-neuronx"
        ),
    ] = {}


class Parallelism(Model):
    """Degrees over logical cores. Their product must be the job's logical cores; data null takes what is left.

    Experts are spread over the data-parallel ranks: `expert` divides `data` and multiplies nothing.
    """

    tensor: Annotated[int, Field(ge=1, description="tensor-parallel degree in logical cores")] = 1
    pipeline: Annotated[int, Field(ge=1, description="pipeline-parallel degree")] = 1
    data: Annotated[int | None, Field(ge=1, description="data-parallel degree, or null for what is left")] = (
        None
    )
    expert: Annotated[
        int, Field(ge=1, description="expert-parallel degree; it divides the data-parallel degree")
    ] = 1


class ModelShape(Model):
    """What the trained model is made of, for checks of divisibility and of memory. Any key may be left out."""

    parameters_billions: Annotated[
        float | None, Field(gt=0, strict=False, description="parameters in billions, such as 8")
    ] = None
    layers: Annotated[int | None, Field(ge=1, description="transformer layers")] = None
    attention_heads: Annotated[int | None, Field(ge=1, description="attention (query) heads")] = None
    key_value_heads: Annotated[
        int | None, Field(ge=1, description="key/value heads, where fewer than attention heads")
    ] = None
    experts: Annotated[int | None, Field(ge=1, description="experts of a mixture-of-experts model")] = None


class Job(Model):
    """One training run's description; nothing in it names a scheduler."""

    cluster: Annotated[PartName, Field(description="the name of an entry under `clusters`")]
    framework: Annotated[Framework, Field(description="jax or torch-neuronx")]
    source: Annotated[
        str,
        Field(
            min_length=1,
            description="a directory, relative to this file; or neuronkit:smoke, the shipped smoke job",
        ),
    ]
    command: Annotated[
        tuple[Annotated[str, Field(min_length=1)], ...],
        Field(
            min_length=1, description="a list: the program and its arguments, run in `source` on every node"
        ),
    ]
    nodes: Annotated[
        int | None, Field(ge=1, description="nodes of this job, or null for all of the cluster's")
    ] = None
    processes_per_node: Annotated[
        int | None,
        Field(
            ge=1,
            description="processes on each node, or null for the framework's way (jax 1; torch one a logical core)",
        ),
    ] = None
    parallelism: Parallelism = Parallelism()
    model: Annotated[ModelShape | None, Field(description="the model's layers, heads and size, or null")] = (
        None
    )
    precision: Annotated[Precision, Field(description="fp32, bf16, fp16 or fp8")] = "bf16"
    data: Annotated[
        str | None,
        Field(
            pattern=DATA_PATTERN,
            description="s3://bucket/prefix of the data (no spaces, *, ? or $), or null",
        ),
    ] = None
    environment: Annotated[
        dict[VariableName, str], Field(description="variables for the command: names and text")
    ] = {}
    secrets: Annotated[
        dict[
            VariableName,
            Annotated[str, Field(pattern=SECRET_ARN_PATTERN)],
        ],
        Field(description="the full ARN of a Secrets Manager secret or of an SSM parameter, by variable"),
    ] = {}
    attempts: Annotated[
        int,
        Field(ge=1, le=10, description="how often the job is started before it counts as failed: 1 to 10"),
    ] = 1
    time_limit_minutes: Annotated[
        int,
        Field(ge=1, le=60 * 24 * 182, description="minutes after which an attempt is stopped: 1 to 262080"),
    ]
    checkpoint_minutes: Annotated[
        int | None,
        Field(
            ge=1,
            le=60 * 24,
            description="the longest time between two checkpoints in minutes, or null if unknown",
        ),
    ] = None
    compile_command: Annotated[
        tuple[Annotated[str, Field(min_length=1)], ...],
        Field(
            description="a list: run on one node before the command while the compile cache is cold, the others wait; "
            "or empty"
        ),
    ] = ()
    ultraserver_nodes: Annotated[
        int | None,
        Field(
            ge=1,
            le=36,
            description="nodes of an UltraServer that work as one group, or null for all of its members",
        ),
    ] = None
    sync_seconds: Annotated[
        int,
        Field(ge=5, le=3600, description="seconds between two uploads of metrics and checkpoints: 5 to 3600"),
    ] = 60


class Environment(Model):
    name: Annotated[
        str,
        Field(
            pattern=ENVIRONMENT_NAME_PATTERN,
            description="3 to 30 of a-z, 0-9 and -, a letter first, no - last; tags every resource",
        ),
    ]
    region: Annotated[str, Field(description="an AWS region such as us-east-2")]
    account: Annotated[
        str | None,
        Field(
            pattern=f"^{ACCOUNT_PATTERN}$",
            description="the 12-digit account id in quotes, or null until the first deploy",
        ),
    ] = None
    owner: Annotated[
        str, Field(min_length=1, max_length=128, description="a person or team, written on every resource")
    ]
    lifetime_days: Annotated[
        int, Field(ge=1, le=365, description="days until you mean to destroy it: 1 to 365")
    ]
    budget_usd: Annotated[
        float,
        Field(gt=0, allow_inf_nan=False, description="US dollars for the whole lifetime, above 0"),
    ]
    tags: Annotated[
        dict[str, str],
        Field(description="names and text: tags that every resource gets besides the kit's own"),
    ] = {}
    cdk: CdkSettings = CdkSettings()
    network: Network
    storage: Storage = Storage()
    capacity: Annotated[dict[PartName, Capacity], Field(min_length=1)]
    clusters: dict[PartName, Cluster] = {}
    software: Software = Software()
    jobs: dict[PartName, Job] = {}
    fleets: Annotated[dict[PartName, Fleet], Field(description="serving nodes by name")] = {}
    shifts: Annotated[
        dict[PartName, Shift],
        Field(description="capacity that serves in windows and trains outside, by name"),
    ] = {}
    suppress: Annotated[
        tuple[Suppression, ...],
        Field(description="a list of findings that are accepted, each with its reason"),
    ] = ()
