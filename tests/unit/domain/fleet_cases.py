"""Rows of the table in test_rules.py: serving fleets. `FURTHER` adds rows to rules that clusters have, too."""

from __future__ import annotations

from typing import Any

from stacks.domain.rules.fleet_software import RECOMMENDED_AMI
from stacks.domain.software import ecs_neuron_amis

Rows = dict[str, tuple[list[tuple[dict[str, Any], str]], list[dict[str, Any]]]]

CHAT = "fleets.chat"
LLAMA = {
    "name": "llama-3.1-8b", "source": "bucket:models/llama-3.1-8b", "family": "llama", "parameters_billions": 8,
    "layers": 32, "attention_heads": 32, "key_value_heads": 8, "head_size": 128,
}  # fmt: skip
BERT = {"name": "bert", "source": "bucket:models/bert", "family": "bert", "parameters_billions": 0.11}
ALONE: dict[str, Any] = {"clusters": {}, "jobs": {}}
"""Fleets without clusters."""
GPU = {"instance_type": "g6e.xlarge", "capacity": "hourly"}
RESERVED = {"capacity.hourly": {"kind": "reservation", "id": "cr-0123456789abcdef0"}}
BLOCK = {"capacity.hourly": {"kind": "capacity-block", "id": "cr-0123456789abcdef0"}}
CERTIFICATE = "arn:aws:acm:us-east-2:111122223333:certificate/12345678-1234"
JWT = {"issuer": "https://idp.example.com/", "jwks_endpoint": "https://idp.example.com/jwks"}
SECRET = "arn:aws:secretsmanager:us-east-2:111122223333:secret:hf-AbCdEf"
BROUGHT = {"vpc": "vpc-0123456789abcdef0", "subnet_id": "subnet-0123456789abcdef0", "security_group_id": "sg-0123456789abcdef0", "zone_id": "use2-az3"}  # fmt: skip
SUBNETS = ["subnet-0123456789abcdef1", "subnet-0123456789abcdef2"]
VLLM = "public.ecr.aws/neuron/pytorch-inference-vllm-neuronx"


def fleet(**settings: Any) -> dict[str, Any]:
    """The base file, and a fleet of one inf2.8xlarge; `settings` of it."""
    base = {"instance_type": "inf2.8xlarge", "capacity": "hourly", "engine": "vllm-nxdi", "model": LLAMA, "tensor_parallel": 2}  # fmt: skip
    return {CHAT: {**base, **settings}}


def large(**settings: Any) -> dict[str, Any]:
    """On twelve chips."""
    return fleet(**{"instance_type": "inf2.48xlarge", "tensor_parallel": 8, **settings})


def trn2(**settings: Any) -> dict[str, Any]:
    return fleet(
        **{"instance_type": "trn2.48xlarge", "engine": "vllm-neuron", "tensor_parallel": 8, **settings}
    )


def encoder(**settings: Any) -> dict[str, Any]:
    base = {"engine": "encoder", "model": BERT, "tensor_parallel": 1, "context_tokens": 512}
    return fleet(**{**base, **settings})


def inf1(**settings: Any) -> dict[str, Any]:
    return encoder(**{"instance_type": "inf1.xlarge", **settings})


def custom(**settings: Any) -> dict[str, Any]:
    base = {
        "engine": "custom",
        "image": "registry.example.com/mine:1",
        "artifacts": "none",
        "compile_on": "start",
    }
    return fleet(**{**base, **settings})  # fmt: skip


def zero(**settings: Any) -> dict[str, Any]:
    return fleet(replicas={"minimum": 0}, scale_to_zero=settings)


def model(**more: Any) -> dict[str, Any]:
    return {**LLAMA, **more}


def listener(**settings: Any) -> dict[str, Any]:
    return fleet(listener=settings)


def fallback(**settings: Any) -> dict[str, Any]:
    return fleet(fallback={**GPU, **settings})


def ami(driver: str) -> dict[str, Any]:
    found = next(a.ssm_parameter for a in reversed(ecs_neuron_amis()) if a.driver == driver)
    return {"software": {"ami": found}}


RECOMMENDED = {"software": {"ami": RECOMMENDED_AMI}}
HF = model(source="hf:meta-llama/Llama-3.1-8B-Instruct", revision="main", token=SECRET)
SPOT = {"capacity.cheap": {"kind": "spot"}}
SHIFT = {
    "shifts.day": {
        "fleet": "chat", "cluster": "train", "timezone": "Europe/Berlin",
        "windows": [{"days": ["mon"], "start": "08:00", "end": "20:00", "replicas": 1}],
    },
}  # fmt: skip

CASES: Rows = {
    "NK700": ([(ALONE, "clusters")], [{}, fleet(), {**ALONE, **fleet()}]),
    "NK701": (
        [({**kind, **fleet(runs_on="managed-instances")}, f"{CHAT}.capacity") for kind in (RESERVED, BLOCK)],
        [fleet(runs_on="managed-instances"), {**RESERVED, **fleet()}, {**SPOT, **fleet(runs_on="managed-instances", capacity="cheap")}],
    ),
    "NK702": (
        [({**BLOCK, **trn2()}, f"{CHAT}.capacity")],
        [trn2(), {**RESERVED, **trn2()}, {**BLOCK, **trn2(fallback={**GPU, "capacity": "gpu"}), "capacity.gpu": {"kind": "on-demand"}}],
    ),
    "NK703": (
        [
            ({**SPOT, **fleet(capacity="cheap")}, f"{CHAT}.capacity"),
            ({**SPOT, **fleet(capacity="cheap", longest_request_seconds=120, first_token_seconds=60)}, f"{CHAT}.capacity"),
            ({**SPOT, **fleet(capacity="cheap", fallback=GPU)}, f"{CHAT}.capacity"),
        ],
        [fleet(), {**SPOT, **fleet(capacity="cheap", fallback=GPU, longest_request_seconds=120, first_token_seconds=60)}],
    ),
    "NK704": (
        [({"capacity.many": {"kind": "reservation", "ids": ["cr-0123456789abcdef0", "cr-0123456789abcdef1"]}, **fleet(capacity="many")}, f"{CHAT}.capacity")],
        [fleet(), {**RESERVED, **fleet()}],
    ),
    "NK705": (
        [
            ({**RESERVED, **fleet()}, f"{CHAT}.capacity"),  # trn1.32xlarge has it
            ({**ALONE, **RESERVED, **fallback()}, f"{CHAT}.fallback.capacity"),
        ],
        [fallback(), {**RESERVED, **fleet(instance_type="trn1.32xlarge")}, {**ALONE, **RESERVED, **fleet()}],
    ),
    "NK706": (
        [({**RESERVED, **fleet(instance_type="trn1.32xlarge")}, f"{CHAT}.capacity")],
        [fleet(instance_type="trn1.32xlarge"), {**RESERVED, **SHIFT, **fleet(instance_type="trn1.32xlarge")}, {**ALONE, **RESERVED, **fleet()}],
    ),
    "NK707": ([(inf1(runs_on="managed-instances"), f"{CHAT}.runs_on")], [inf1(), encoder(runs_on="managed-instances")]),
    "NK708": ([(fleet(runs_on="managed-instances"), f"{CHAT}.runs_on")], [fleet()]),
    "NK709": (
        [(large(runs_on="managed-instances", replicas={"per_node": 3}), f"{CHAT}.replicas.per_node")],
        [large(replicas={"per_node": 3, "maximum": 3}), large(runs_on="managed-instances", replicas={"per_node": 1}), large(runs_on="managed-instances")],
    ),
    "NK710": (
        [
            (fleet(replicas={"per_node": 2}), f"{CHAT}.replicas.per_node"),
            (fleet(tensor_parallel=1, replicas={"per_node": 2}), f"{CHAT}.replicas.per_node"),  # two cores, but one chip
            (large(replicas={"per_node": 4}), f"{CHAT}.replicas.per_node"),
            (trn2(replicas={"per_node": 9}), f"{CHAT}.replicas.per_node"),
        ],
        [fleet(replicas={"per_node": 1}), large(replicas={"per_node": 3}), trn2(replicas={"per_node": 8}), large()],
    ),
    "NK711": (
        [(fleet(replicas={"minimum": 2, "maximum": 1}), f"{CHAT}.replicas"), (fleet(replicas={"minimum": 2}), f"{CHAT}.replicas")],
        [fleet(replicas={"minimum": 2, "maximum": 2}), fleet()],
    ),
    "NK712": ([(fleet(replicas={"minimum": 0}), f"{CHAT}.replicas.minimum")], [zero(), fleet()]),
    "NK713": (
        [(fleet(scale_to_zero={}), f"{CHAT}.scale_to_zero"), (fleet(replicas={"minimum": 1}, scale_to_zero={}), f"{CHAT}.scale_to_zero")],
        [zero(), fleet(), fleet(scale_to_zero=None)],
    ),
    "NK714": (
        [(large(replicas={"minimum": 1, "maximum": 3}), f"{CHAT}.replicas"), (large(replicas={"minimum": 3, "maximum": 4}), f"{CHAT}.replicas")],
        [large(replicas={"minimum": 3, "maximum": 6}), fleet(replicas={"maximum": 5}), large(replicas={"minimum": 1, "maximum": 3, "per_node": 1})],
    ),
    "NK715": (
        [({**ALONE, **fleet(replicas={"minimum": 0, "maximum": 2}, scale_to_zero={"idle_minutes": 60})}, f"{CHAT}.scale_to_zero")],
        [zero(), fleet(replicas={"maximum": 2}), {**ALONE, **large(replicas={"minimum": 0, "maximum": 3}, scale_to_zero={"idle_minutes": 60})}],
    ),
    "NK716": (
        [
            (fleet(root_volume_gib=99), f"{CHAT}.root_volume_gib"),
            (trn2(artifacts="none", model=model(parameters_billions=70), root_volume_gib=200), f"{CHAT}.root_volume_gib"),
        ],
        [fleet(root_volume_gib=100), trn2(model=model(parameters_billions=70)), trn2(artifacts="none", model=model(parameters_billions=70), root_volume_gib=231)],
    ),
    "NK717": ([(fleet(engine="custom"), f"{CHAT}.engine")], [fleet(), trn2(), encoder(), inf1(), custom(), fleet(engine="vllm-neuron")]),
    "NK718": (
        [(fleet(image=f"{VLLM}:0.24.0.1.1.0-neuronx-py313-sdk2.32.0-ubuntu24.04"), f"{CHAT}.image")],
        [fleet(image=f"{VLLM}:0.13.0-neuronx-py312-sdk2.28.0-ubuntu24.04"), trn2(image=f"{VLLM}:0.24.0.1.1.0-neuronx-py313-sdk2.32.0-ubuntu24.04"), custom()],
    ),
    "NK719": (
        [(custom(image=i), f"{CHAT}.image") for i in ("registry.example.com/mine", "registry.example.com/mine:latest", "localhost:5000/mine")]
        + [(fallback(image="docker.io/vllm/vllm-openai"), f"{CHAT}.fallback.image")],
        [fleet(), custom(), custom(image="localhost:5000/mine:1"), custom(image=f"registry.example.com/mine@sha256:{'a' * 64}"), fallback(image="docker.io/vllm/vllm-openai:v0.24.0")],
    ),
    "NK720": ([(custom(), f"{CHAT}.image")], [fleet(), fleet(image=f"{VLLM}:0.13.0-neuronx-py312-sdk2.28.0-ubuntu24.04")]),
    "NK721": (
        [({**ALONE, **fleet(), **ami(driver)}, "software.ami") for driver in ("2.29", "2.30")]
        + [
            ({**ALONE, **fleet(), **RECOMMENDED}, "software.ami"),
            ({**ALONE, **fleet(), "software": {"ami": RECOMMENDED_AMI.replace("recommended", "al2023-ami-ecs-neuron-hvm-2023.0.20261101-kernel-6.1-x86_64")}}, "software.ami"),
        ],
        [fleet(), {**ALONE, **fleet(), **ami("2.28")}, {**ALONE, **fleet(), **ami("2.26")}, {**ALONE, **encoder(), **RECOMMENDED}, {**ALONE, **trn2(), **RECOMMENDED}, inf1()],
    ),
    "NK722": (
        [
            ({**ALONE, **fleet(), "software": {"ami": parameter}}, "software.ami")
            for parameter in (
                "/aws/service/neuron/dlami/base/amazon-linux-2023/latest/image_id",
                "/aws/service/ecs/optimized-ami/amazon-linux-2/inf/recommended/image_id",
                "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id",
                RECOMMENDED_AMI.replace("recommended", "al2023-ami-ecs-neuron-hvm-2023.0.2026-kernel-6.1-x86_64"),
            )
        ],
        [fleet(), {**ALONE, **fleet(), **ami("2.26")}, {**ALONE, **encoder(), **RECOMMENDED}, {**fleet(), "software": {"ami": "ami-0123456789abcdef0"}}],
    ),
    "NK723": ([({**ALONE, **encoder(), **RECOMMENDED}, "software.ami")], [encoder(), {**encoder(), **ami("2.30")}, RECOMMENDED]),
    "NK724": ([(inf1(), f"{CHAT}.instance_type")], [fleet(), trn2(), encoder(), custom()]),
    "NK725": (
        [(fleet(first_token_seconds=301), f"{CHAT}.first_token_seconds"), (fleet(longest_request_seconds=60), f"{CHAT}.first_token_seconds")],
        [fleet(first_token_seconds=300), fleet(longest_request_seconds=120)],
    ),
    "NK726": (
        [(fleet(scaling={"scale_out_minutes": 19}), f"{CHAT}.scaling.scale_out_minutes"), (fleet(scaling={"scale_out_minutes": 79}, artifacts="none"), f"{CHAT}.scaling.scale_out_minutes")],
        [fleet(), fleet(scaling={"scale_out_minutes": 20}), fleet(scaling={"scale_out_minutes": 80}, artifacts="none")],
    ),
    "NK727": (
        [(zero(idle_minutes=19), f"{CHAT}.scale_to_zero.idle_minutes")],
        [zero(), zero(idle_minutes=20)],
    ),
    "NK728": (
        [(zero(answer="hold", hold_seconds=300), f"{CHAT}.scale_to_zero.hold_seconds"), (zero(answer="hold", hold_seconds=600), f"{CHAT}.scale_to_zero.hold_seconds")],
        [zero(answer="hold"), zero(answer="hold", hold_seconds=299), fleet(replicas={"minimum": 0}, longest_request_seconds=900, scale_to_zero={"answer": "hold", "hold_seconds": 600})],
    ),
    "NK729": ([(zero(hold_seconds=10), f"{CHAT}.scale_to_zero.hold_seconds")], [zero(), zero(answer="hold", hold_seconds=10)]),
    "NK730": (
        [(zero(answer="hold"), f"{CHAT}.scale_to_zero.hold_seconds")],
        [zero(), zero(answer="hold", hold_seconds=240)],
    ),
    "NK731": ([(listener(jwt=JWT), f"{CHAT}.listener.jwt")], [fleet(), listener(certificate=CERTIFICATE, jwt=JWT), listener(certificate=CERTIFICATE)]),
    "NK732": (
        [
            (listener(certificate=CERTIFICATE.replace("us-east-2", "us-east-1")), f"{CHAT}.listener.certificate"),
            (listener(certificate=CERTIFICATE.replace("arn:aws:", "arn:aws-cn:")), f"{CHAT}.listener.certificate"),
            (listener(certificate=CERTIFICATE.replace("111122223333", "444455556666")), f"{CHAT}.listener.certificate"),
        ],
        [listener(certificate=CERTIFICATE), {**listener(certificate=CERTIFICATE.replace("111122223333", "444455556666")), "account": None}],
    ),
    "NK733": (
        [(listener(public=True), f"{CHAT}.listener.public"), (listener(public=True, certificate=CERTIFICATE), f"{CHAT}.listener.public")],
        [fleet(), listener(public=True, certificate=CERTIFICATE, jwt=JWT), listener(public=True, open_without_authentication="a demonstration for a day")],
    ),
    "NK734": (
        [
            (listener(open_without_authentication="a demonstration"), f"{CHAT}.listener.open_without_authentication"),
            (listener(public=True, certificate=CERTIFICATE, jwt=JWT, open_without_authentication="a demonstration"), f"{CHAT}.listener.open_without_authentication"),
        ],
        [fleet(), listener(public=True, open_without_authentication="a demonstration")],
    ),
    "NK735": ([(listener(public=True, open_without_authentication="a demonstration"), f"{CHAT}.listener.public")], [fleet(), listener(public=True)]),
    "NK736": (
        [(listener(public=True, open_without_authentication="a demonstration"), f"{CHAT}.listener")],
        [fleet(), listener(public=True, certificate=CERTIFICATE, jwt=JWT)],
    ),
    "NK737": (
        [
            ({**fleet(), "network": BROUGHT}, "network.vpc"),
            ({**fleet(), "network": {**BROUGHT, "load_balancer_subnet_ids": SUBNETS[:1]}}, "network.load_balancer_subnet_ids"),
            ({**fleet(), "network": {**BROUGHT, "load_balancer_subnet_ids": SUBNETS[:1] * 2}}, "network.load_balancer_subnet_ids"),
            ({**fleet(), "network.load_balancer_subnet_ids": SUBNETS}, "network.load_balancer_subnet_ids"),
            ({"network": {**BROUGHT, "load_balancer_subnet_ids": SUBNETS}}, "network.load_balancer_subnet_ids"),
            ({**listener(public=True), "network.cidr": "10.42.0.0/24"}, "network.cidr"),
        ],
        [fleet(), {"network": BROUGHT}, {**fleet(), "network": {**BROUGHT, "load_balancer_subnet_ids": SUBNETS}}, {**listener(public=True), "network.cidr": "10.42.0.0/23"}, {**fleet(), "network.cidr": "10.42.0.0/24"}],
    ),
    "NK738": ([(fallback(instance_type="inf2.8xlarge"), f"{CHAT}.fallback.instance_type")], [fleet(), fallback()]),
    "NK739": (
        [
            (fallback(gpus_per_replica=2), f"{CHAT}.fallback.gpus_per_replica"),
            (fallback(instance_type="g6e.48xlarge", gpus_per_replica=6), f"{CHAT}.fallback.gpus_per_replica"),
        ],
        [fallback(), fallback(instance_type="g6e.48xlarge", gpus_per_replica=8)],
    ),
    "NK740": (
        [
            (fallback(mode="weighted", replicas_minimum=1), f"{CHAT}.fallback"),
            (fallback(mode="weighted", replicas_minimum=1, weight_percent=0), f"{CHAT}.fallback.weight_percent"),
            (fallback(weight_percent=10), f"{CHAT}.fallback.weight_percent"),
            (fallback(mode="model", replicas_minimum=1, weight_percent=100), f"{CHAT}.fallback.weight_percent"),
        ],
        [fallback(), fallback(mode="weighted", weight_percent=10, replicas_minimum=1), fallback(mode="model", replicas_minimum=1)],
    ),
    "NK741": ([(fallback(replicas_minimum=2), f"{CHAT}.fallback.replicas_minimum")], [fallback(replicas_minimum=2, replicas_maximum=2), fallback()]),
    "NK742": (
        [(fallback(mode="weighted", weight_percent=10), f"{CHAT}.fallback"), (fallback(mode="model"), f"{CHAT}.fallback")],
        [fallback(), fallback(mode="model", replicas_minimum=1)],
    ),
    "NK743": (
        [
            (fleet(fallback=GPU, model=model(parameters_billions=70)), f"{CHAT}.fallback.gpus_per_replica"),
            (fleet(fallback={**GPU, "instance_type": "g6.xlarge"}, context_tokens=32768), f"{CHAT}.fallback.gpus_per_replica"),
        ],
        [fallback(), fallback(instance_type="g6.xlarge"), fleet(fallback={**GPU, "instance_type": "g6e.48xlarge", "gpus_per_replica": 8}, model=model(parameters_billions=70))],
    ),
    "NK794": (
        [(large(runs_on="managed-instances"), f"{CHAT}.runs_on")],
        [large(), encoder(runs_on="managed-instances")],
    ),
    "NK793": (
        [({**fleet(), "name": name}, "name") for name in ("ecs-pilot", "aws-chat", "fargate", "awsome")],
        [{"name": "ecs-pilot"}, {**fleet(), "name": "my-ecs"}, {**fleet(), "name": "farm"}],
    ),
    "NK791": (
        [(custom(replicas={"minimum": 1, "maximum": 2}), f"{CHAT}.engine"), (custom(scale_to_zero={"idle_minutes": 30}, replicas={"minimum": 0, "maximum": 1}), f"{CHAT}.engine")],
        [custom(), custom(replicas={"minimum": 2, "maximum": 2}), fleet(replicas={"minimum": 1, "maximum": 2})],
    ),
    "NK790": (
        [(fleet(fallback={**GPU, "mode": "model"}, scale_to_zero={"idle_minutes": 30}, replicas={"minimum": 0, "maximum": 1}), f"{CHAT}.scale_to_zero")],
        [fallback(mode="model", replicas_minimum=1), fleet(fallback=GPU, scale_to_zero={"idle_minutes": 30}, replicas={"minimum": 0, "maximum": 1})],
    ),
    "NK744": ([(encoder(fallback=GPU), f"{CHAT}.fallback"), (custom(fallback=GPU), f"{CHAT}.fallback")], [fallback(), trn2(fallback=GPU), encoder()]),
    "NK745": (
        [
            (fleet(model=model(revision="main")), f"{CHAT}.model.revision"),
            (fleet(model=model(token=SECRET)), f"{CHAT}.model.token"),
            *((fleet(model=model(source=f"bucket:{p}")), f"{CHAT}.model.source") for p in ("/models", "models//a", "models/../runs", ".")),
            *((fleet(model=model(source=f"hf:{p}")), f"{CHAT}.model.source") for p in ("../..", "meta/..", "./llama")),
        ],
        [fleet(), fleet(model=HF), fleet(model=model(source="s3://models/llama")), fleet(model=model(source="bucket:runs/smoke/1/"))],
    ),
    "NK746": (
        [(fleet(environment={k: "1"}), f"{CHAT}.environment.{k}") for k in ("AWS_NEURON_VISIBLE_DEVICES", "NEURON_RT_VISIBLE_CORES", "PORT", "ECS_CLUSTER", "VLLM_HTTP_TIMEOUT_KEEP_ALIVE")]
        + [
            (fleet(environment={"1A": "1"}), f"{CHAT}.environment.1A"),
            (fleet(model=HF, secrets={"HF_TOKEN": SECRET}), f"{CHAT}.secrets.HF_TOKEN"),
            (fleet(environment={"A": "1"}, secrets={"A": SECRET}), f"{CHAT}.secrets.A"),
        ],
        [fleet(environment={"NEURON_RT_LOG_LEVEL": "INFO"}), fleet(secrets={"HF_TOKEN": SECRET}), fleet(model=HF)],
    ),
    "NK747": (
        [
            (custom(artifacts="efs"), f"{CHAT}.artifacts"),
            (custom(compile_on="neuron"), f"{CHAT}.compile_on"),
            (fleet(artifacts="none", compile_on="neuron"), f"{CHAT}.compile_on"),
            (fleet(compile_on="cpu"), f"{CHAT}.compile_on"),
            (encoder(compile_on="cpu"), f"{CHAT}.compile_on"),
        ],
        [fleet(), trn2(compile_on="cpu"), fleet(artifacts="none"), fleet(artifacts="none", compile_on="start"), custom(), encoder(compile_on="neuron")],
    ),
    "NK748": (
        [
            (encoder(token_buckets=[128, 256]), f"{CHAT}.token_buckets"),
            (encoder(token_buckets=[512, 128]), f"{CHAT}.token_buckets"),
            (encoder(token_buckets=[0, 512]), f"{CHAT}.token_buckets"),
            (encoder(sequence_buckets=[1, 4]), f"{CHAT}.sequence_buckets"),
            (encoder(sequence_buckets=[4, 4, 8]), f"{CHAT}.sequence_buckets"),
        ],
        [encoder(), encoder(token_buckets=[128, 512], sequence_buckets=[1, 8]), trn2(token_buckets=[256, 128])],
    ),
    "NK749": (
        [
            ({**ALONE, **fleet(), "software": {"sdk": "2.32.0"}}, "software.sdk"),
            ({**ALONE, **fleet(), "software": {"images": {"jax": "registry.example.com/jax:1"}}}, "software.images"),
        ],
        [{**ALONE, **fleet()}, {**fleet(), "software": {"sdk": "2.32.0"}}, {"software": {"sdk": "2.32.0"}}],
    ),
}  # fmt: skip

INF2_NOWHERE = {"region": "us-east-1", "network.zone_id": "use1-az1", **ALONE}
MANY = {"minimum": 1, "maximum": 300}

FURTHER: Rows = {
    "NK204": ([(fleet(instance_type="inf2.4xlarge"), f"{CHAT}.instance_type"), (fallback(instance_type="g6.3xlarge"), f"{CHAT}.fallback.instance_type"), (fleet(instance_type="trn3.48xlarge"), f"{CHAT}.instance_type")], [fallback()]),
    "NK205": ([(fleet(instance_type="g6e.xlarge"), f"{CHAT}.instance_type")], [fallback()]),
    "NK206": (
        [(fleet(instance_type="trn2.3xlarge", engine="vllm-neuron"), f"{CHAT}.instance_type"), ({**ALONE, **fallback(), "region": "sa-east-1", "network.zone_id": "sae1-az3"}, f"{CHAT}.fallback.instance_type")],
        [fallback()],
    ),
    "NK207": ([({**INF2_NOWHERE, **fleet()}, "network.zone_id")], [{**INF2_NOWHERE, "network.zone_id": "use1-az6", **fallback()}]),
    "NK208": ([(fleet(logical_core_size=2), f"{CHAT}.logical_core_size")], [fleet(logical_core_size=1), trn2(logical_core_size=2)]),
    "NK210": ([(fleet(capacity="horly"), f"{CHAT}.capacity"), (fallback(capacity="horly"), f"{CHAT}.fallback.capacity")], [fallback()]),
    "NK211": (
        [({**fleet(), "capacity.other": {"kind": "on-demand"}}, "capacity.other")],
        [{**ALONE, **fallback(capacity="other"), "capacity.other": {"kind": "on-demand"}}],
    ),
    "NK216": (
        [({**ALONE, **BLOCK, **trn2(tensor_parallel=64, replicas=MANY)}, "capacity.hourly")],
        [{**ALONE, **BLOCK, **trn2(replicas={"maximum": 64 * 8})}, {**ALONE, **trn2(tensor_parallel=64, replicas=MANY)}],
    ),
    "NK218": ([({**ALONE, **BLOCK, **fleet()}, f"{CHAT}.capacity")], [fleet(), {**ALONE, **BLOCK, **trn2()}]),
    "NK221": (
        [
            ({**ALONE, **fleet(replicas={"maximum": 115}), "network.cidr": "10.42.0.0/24"}, "network.cidr"),
            ({**ALONE, **fleet(runs_on="managed-instances", replicas={"maximum": 58}), "network.cidr": "10.42.0.0/24"}, "network.cidr"),
        ],
        [
            {**ALONE, **fleet(replicas={"maximum": 114}), "network.cidr": "10.42.0.0/24"},
            {**ALONE, **fleet(runs_on="managed-instances", replicas={"maximum": 57}), "network.cidr": "10.42.0.0/24"},
        ],
    ),
    "NK248": ([({**ALONE, **fleet(), "software": {"ami": "ami-0123456789abcdef0"}}, "software.ami")], [{**ALONE, **fleet(), **ami("2.26")}]),
    "NK249": ([({**ALONE, **fleet(), "software": {"ami": "/aws/service/eks/optimized-ami/1.34/x/recommended/image_id"}}, "software.ami")], [fleet()]),
    "NK250": (
        [(fleet(environment={"API_KEY": "abc"}), f"{CHAT}.environment.API_KEY"), (custom(command=["serve", "--token=hf_" + "b" * 30]), f"{CHAT}.command[1]")],
        [fleet(secrets={"API_KEY": SECRET})],
    ),
    "NK252": ([(fleet(secrets={"A": SECRET.replace("us-east-2", "us-east-1")}), f"{CHAT}.secrets.A"), (fleet(model={**HF, "token": SECRET.replace("1111", "9999")}), f"{CHAT}.model.token")], [fleet(model=HF)]),
    "NK253": ([(fleet(model={**HF, "token": SECRET.removesuffix("-AbCdEf")}), f"{CHAT}.model.token")], [fleet(model=HF)]),
    "NK639": (
        [({**ALONE, **fleet(runs_on="managed-instances"), **ami("2.26")}, "software.ami")],
        [{**ALONE, **fleet(), **ami("2.26")}],
    ),
}  # fmt: skip
"""Of rules with a row already: added to it."""
