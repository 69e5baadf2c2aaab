"""The `fleets` block: serving nodes behind one load balancer; and `shifts`: capacity that serves by day and trains by night."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from stacks.domain.environment.part import Model

EngineName = Literal["vllm-neuron", "vllm-nxdi", "encoder", "custom"]
FallbackMode = Literal["overflow", "weighted", "model"]
Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

_NAME = r"^[a-z][a-z0-9-]{0,28}[a-z0-9]$"
_TYPE = "an EC2 instance type; see `neuronkit catalog`"
_IMAGE = r"^[a-z0-9.-]+(:[0-9]+)?/[a-z0-9._/-]+(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$"
_ARN_OF_ONE = (
    r"^arn:aws[a-z-]*:(secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+"
    r"|ssm:[a-z0-9-]+:[0-9]{12}:parameter/[A-Za-z0-9_./-]+)$"
)
_TIME = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"


class ServedModel(Model):
    name: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$",
            description="the name by which clients ask for it, the same on Neuron and GPU",
        ),
    ]
    source: Annotated[
        str,
        Field(
            pattern=r"^(hf:[A-Za-z0-9._-]+/[A-Za-z0-9._-]+|s3://[a-z0-9](\.?[a-z0-9-]){1,61}[a-z0-9]/[^\s*?$]+|bucket:[A-Za-z0-9._/-]+)$",
            description="hf:ORG/NAME of Hugging Face, s3://bucket/prefix, or bucket:PREFIX in the environment's own bucket",
        ),
    ]
    revision: Annotated[
        str | None,
        Field(pattern=r"^[A-Za-z0-9._-]{1,64}$", description="with hf: a commit, tag or branch; null: main"),
    ] = None
    token: Annotated[
        str | None,
        Field(
            pattern=_ARN_OF_ONE,
            description="the full ARN of the secret that holds a Hugging Face token, or null",
        ),
    ] = None
    family: Annotated[
        str,
        Field(
            pattern=r"^[a-z0-9][a-z0-9.-]{0,40}$", description="the model's family such as llama, qwen3, bert"
        ),
    ]
    parameters_billions: Annotated[
        float, Field(gt=0, strict=False, description="parameters in billions, such as 8")
    ]
    layers: Annotated[int | None, Field(ge=1, description="transformer layers")] = None
    attention_heads: Annotated[int | None, Field(ge=1, description="attention (query) heads")] = None
    key_value_heads: Annotated[int | None, Field(ge=1, description="key/value heads")] = None
    head_size: Annotated[int | None, Field(ge=1, description="the size of a head, for the KV cache")] = None


class Replicas(Model):
    """A replica is one engine on its own chips; several may share a node as slices."""

    minimum: Annotated[
        int, Field(ge=0, le=1000, description="replicas that always run; 0 only with scale_to_zero")
    ] = 1
    maximum: Annotated[int, Field(ge=1, le=1000, description="replicas at most: 1 to 1000")] = 1
    per_node: Annotated[
        int | None,
        Field(ge=1, le=64, description="replicas on one node, or null for as many as its chips take"),
    ] = None


class Scaling(Model):
    """On the engine's own metrics: requests that wait for each replica."""

    waiting_per_replica: Annotated[
        float,
        Field(gt=0, le=1000, strict=False, description="waiting requests for each replica that are meant"),
    ] = 2.0
    scale_out_minutes: Annotated[
        int | None,
        Field(ge=1, le=240, description="minutes between two steps up; null: as long as a start takes"),
    ] = None
    scale_in_minutes: Annotated[int, Field(ge=1, le=240, description="minutes between two steps down")] = 15


class ScaleToZero(Model):
    idle_minutes: Annotated[
        int,
        Field(ge=5, le=1440, description="minutes without a request before the last replica ends: 5 to 1440"),
    ] = 30
    answer: Annotated[
        Literal["retry", "hold"],
        Field(description="retry: 503 with Retry-After while it starts; hold: wait hold_seconds first"),
    ] = "retry"
    hold_seconds: Annotated[
        int, Field(ge=1, le=600, description="with hold: seconds a request waits: 1 to 600")
    ] = 25


class Jwt(Model):
    issuer: Annotated[
        str, Field(pattern=r"^https://[^\s]+$", description="the token's issuer, an https address")
    ]
    jwks_endpoint: Annotated[
        str, Field(pattern=r"^https://[^\s]+$", description="where its keys are, an https address")
    ]


class Listener(Model):
    certificate: Annotated[
        str | None,
        Field(
            pattern=r"^arn:aws[a-z-]*:acm:[a-z0-9-]+:[0-9]{12}:certificate/[0-9a-f-]+$",
            description="the ARN of an ACM certificate: then TLS; null: plain HTTP inside the VPC",
        ),
    ] = None
    jwt: Annotated[
        Jwt | None, Field(description="who may call: bearer tokens of this issuer (needs a certificate)")
    ] = None
    public: Annotated[
        bool, Field(description="true: reachable from the internet; false: inside the VPC only")
    ] = False
    open_without_authentication: Annotated[
        str | None,
        Field(min_length=8, description="why a public listener needs no authentication; else null"),
    ] = None


class Fallback(Model):
    """A GPU group that serves the same model when Neuron cannot."""

    instance_type: Annotated[str, Field(description=_TYPE)]
    capacity: Annotated[str, Field(pattern=_NAME, description="the name of an entry under `capacity`")]
    image: Annotated[
        str | None, Field(pattern=_IMAGE, description="a vLLM image for GPUs, or null for the kit's")
    ] = None
    mode: Annotated[
        FallbackMode,
        Field(
            description="overflow: when Neuron has no healthy replica or no capacity; weighted: weight_percent always; "
            "model: everything, because Neuron does not support the model"
        ),
    ] = "overflow"
    weight_percent: Annotated[
        int, Field(ge=0, le=100, description="with weighted: the share of requests that GPUs serve: 0 to 100")
    ] = 0
    back: Annotated[
        Literal["gradual", "at-once"],
        Field(
            description="how requests return when Neuron is healthy again: a quarter each minute, or at once"
        ),
    ] = "gradual"
    replicas_minimum: Annotated[int, Field(ge=0, le=100, description="GPU replicas that always run")] = 0
    replicas_maximum: Annotated[int, Field(ge=1, le=100, description="GPU replicas at most")] = 1
    gpus_per_replica: Annotated[int, Field(ge=1, le=16, description="GPUs of one replica: 1 to 16")] = 1


class Fleet(Model):
    instance_type: Annotated[str, Field(description=f"with Neuron chips: {_TYPE}")]
    capacity: Annotated[str, Field(pattern=_NAME, description="the name of an entry under `capacity`")]
    engine: Annotated[
        EngineName,
        Field(
            description="vllm-neuron (Trn2, Trn3), vllm-nxdi (Inf2, Trn1), encoder (torch-neuronx: BERT and its like; "
            "torch-neuron on Inf1), custom (an image of yours)"
        ),
    ]
    image: Annotated[
        str | None,
        Field(pattern=_IMAGE, description="an image instead of the kit's choice; custom needs one"),
    ] = None
    command: Annotated[
        tuple[Annotated[str, Field(min_length=1)], ...],
        Field(description="with custom: the program and its arguments, a list; it serves HTTP on $PORT"),
    ] = ()
    model: ServedModel
    tensor_parallel: Annotated[
        int, Field(ge=1, le=144, description="logical cores that share a layer: TP degree")
    ] = 1
    context_tokens: Annotated[
        int, Field(ge=128, le=1_000_000, description="longest prompt and answer together")
    ] = 4096
    sequences: Annotated[
        int, Field(ge=1, le=1024, description="requests that a replica works on at once")
    ] = 8
    batched_tokens: Annotated[
        int | None,
        Field(
            ge=128, le=1_000_000, description="vllm-neuron: tokens of a prefill step; null: engine's choice"
        ),
    ] = None
    token_buckets: Annotated[
        tuple[int, ...],
        Field(description="vllm-neuron num_batched_tokens_buckets, or encoder lengths; empty: default"),
    ] = ()
    sequence_buckets: Annotated[
        tuple[int, ...],
        Field(description="vllm-neuron num_seqs_buckets, or encoder batch sizes; empty: default"),
    ] = ()
    engine_arguments: Annotated[
        tuple[Annotated[str, Field(min_length=1)], ...],
        Field(description="further arguments of the engine, a list"),
    ] = ()
    environment: Annotated[dict[str, str], Field(description="variables for the engine: names and text")] = {}
    secrets: Annotated[
        dict[str, Annotated[str, Field(pattern=_ARN_OF_ONE)]],
        Field(description="the ARN of a secret, by variable"),
    ] = {}
    replicas: Replicas = Replicas()
    scaling: Scaling = Scaling()
    scale_to_zero: Annotated[
        ScaleToZero | None, Field(description="end the last replica when idle; null: never")
    ] = None
    longest_request_seconds: Annotated[
        int, Field(ge=1, le=3600, description="the longest answer that must not be cut: 1 to 3600")
    ] = 300
    first_token_seconds: Annotated[
        int, Field(ge=1, le=3600, description="the longest wait for a first token: 1 to 3600")
    ] = 120
    listener: Listener = Listener()
    runs_on: Annotated[
        Literal["ec2", "managed-instances"],
        Field(
            description="ec2: an Auto Scaling group with a pinned AMI; managed-instances: AWS chooses AMI and driver"
        ),
    ] = "ec2"
    artifacts: Annotated[
        Literal["efs", "none"],
        Field(description="efs: compiled graphs are made once and shared; none: every start compiles"),
    ] = "efs"
    compile_on: Annotated[
        Literal["cpu", "neuron", "start"],
        Field(
            description="cpu: a compile task without chips where the engine can; neuron: a task on the fleet; start: none"
        ),
    ] = "neuron"
    logical_core_size: Annotated[
        int | None, Field(ge=1, le=2, description="LNC: 1, 2, or null for the chip's default")
    ] = None
    root_volume_gib: Annotated[
        int, Field(ge=64, le=16_384, description="root volume in GiB: 64 to 16384")
    ] = 200
    fallback: Annotated[Fallback | None, Field(description="a GPU group for when Neuron cannot, or null")] = (
        None
    )


class Window(Model):
    """A part of the week in which the fleet has the capacity; outside of all windows the cluster has it."""

    days: Annotated[
        tuple[Weekday, ...], Field(min_length=1, description="a list of mon, tue, wed, thu, fri, sat, sun")
    ]
    start: Annotated[str, Field(pattern=_TIME, description="HH:MM in the shift's time zone, in quotes")]
    end: Annotated[
        str, Field(pattern=_TIME, description="HH:MM, in quotes; not after start: on the next day")
    ]
    replicas: Annotated[
        int, Field(ge=1, le=1000, description="replicas that the fleet may have in the window")
    ]


class Shift(Model):
    fleet: Annotated[str, Field(pattern=_NAME, description="the name of an entry under `fleets`")]
    cluster: Annotated[
        str, Field(pattern=_NAME, description="the name of an entry under `clusters`: it trains outside")
    ]
    timezone: Annotated[str, Field(description="an IANA time zone such as Europe/Berlin")]
    windows: Annotated[tuple[Window, ...], Field(min_length=1)]
    replicas_floor: Annotated[
        int, Field(ge=0, le=1000, description="replicas that serve at every hour, whatever trains")
    ] = 1
    drain_minutes: Annotated[
        int,
        Field(ge=1, le=240, description="minutes before a switch in which jobs checkpoint and streams end"),
    ] = 30
