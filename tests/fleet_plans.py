"""Plans of environments with serving fleets, for the tests of stacks."""

from __future__ import annotations

from typing import Any

from stacks.domain.lock import Lock, LockedAmi, LockedImage
from stacks.domain.plan import Plan
from tests.environments import plan_of

RESERVATION = "cr-0aaaabbbbccccdddd"
BLOCK = "cr-0123456789abcdef0"
AMI = "ami-0123456789abcdef0"
DIGEST = "sha256:" + "ab" * 32
CERTIFICATE = "arn:aws:acm:us-east-2:111122223333:certificate/12345678-1234-1234-1234-123456789012"
JWT = {"issuer": "https://idp.example.com/", "jwks_endpoint": "https://idp.example.com/jwks"}
HUB_TOKEN = "arn:aws:secretsmanager:us-east-2:111122223333:secret:hub-AbCdEf"
ENGINE_SECRET = "arn:aws:ssm:us-east-2:111122223333:parameter/chat/key"
BROUGHT = {
    "vpc": "vpc-0aaaabbbbccccdddd",
    "subnet_id": "subnet-0aaaabbbbccccdddd",
    "security_group_id": "sg-0aaaabbbbccccdddd",
    "load_balancer_subnet_ids": ["subnet-0aaaabbbbccccddd1", "subnet-0aaaabbbbccccddd2"],
    "zone_id": "use2-az3",
}
LLAMA = {
    "name": "llama-3.1-8b",
    "source": "hf:meta-llama/Llama-3.1-8B-Instruct",
    "token": HUB_TOKEN,
    "family": "llama",
    "parameters_billions": 8.0,
    "attention_heads": 32,
    "key_value_heads": 8,
}
BERT = {"name": "bert", "source": "bucket:models/bert", "family": "bert", "parameters_billions": 0.11}
WITHOUT_CLUSTERS: dict[str, Any] = {"clusters": {}, "jobs": {}}
GPU = {"instance_type": "g6.12xlarge", "capacity": "hourly", "replicas_maximum": 8}


def fleet_changes(**settings: Any) -> dict[str, Any]:
    """One fleet on Inf2, and nothing else."""
    base = {
        "instance_type": "inf2.8xlarge",
        "capacity": "hourly",
        "engine": "vllm-nxdi",
        "model": LLAMA,
        "tensor_parallel": 2,
        "replicas": {"minimum": 1, "maximum": 3},
    }
    return {**WITHOUT_CLUSTERS, "fleets.chat": {**base, **settings}}


def resolved(changes: dict[str, Any]) -> Plan:
    """With AMIs and images pinned."""
    plan = plan_of(changes)
    sides = [*plan.fleets, *(fleet.fallback for fleet in plan.fleets if fleet.fallback)]
    lock = Lock(
        resolved_by="aws",
        region=plan.region,
        amis={
            side.ami.reference: LockedAmi(id=AMI, root_device_name="/dev/xvda") for side in sides if side.ami
        },
        images={side.image.uri: LockedImage(digest=DIGEST) for side in sides if side.image},
    )
    return plan_of(changes, lock)


def _slices() -> Plan:
    """Four replicas on each of two nodes of a block; graphs are compiled without chips."""
    return resolved(
        {
            "capacity.hourly": {"kind": "capacity-block", "id": BLOCK},
            **fleet_changes(
                instance_type="trn2.48xlarge",
                engine="vllm-neuron",
                tensor_parallel=16,
                replicas={"minimum": 2, "maximum": 8, "per_node": 4},
                compile_on="cpu",
            ),
        }
    )


def _asleep() -> Plan:
    """On spot, with a model in the environment's bucket."""
    encoder = fleet_changes(
        instance_type="inf2.xlarge",
        engine="encoder",
        model=BERT,
        tensor_parallel=1,
        context_tokens=512,
        replicas={"minimum": 0, "maximum": 4},
        scale_to_zero={"idle_minutes": 20, "answer": "hold", "hold_seconds": 45},
    )
    return resolved({"capacity.hourly": {"kind": "spot"}, **encoder})


def _fallback() -> Plan:
    """Beside a training cluster; Neuron sleeps, GPUs take over."""
    changes = fleet_changes(
        replicas={"minimum": 0, "maximum": 2},
        scale_to_zero={},
        fallback=GPU,
    )
    return resolved({"fleets.chat": changes["fleets.chat"], "tags": {"cost-center": "ml"}})


def _weighted() -> Plan:
    """Never asleep: a part goes to GPUs all the time."""
    gpu = {**GPU, "mode": "weighted", "weight_percent": 20, "replicas_minimum": 1}
    return resolved(fleet_changes(fallback=gpu))


def _public() -> Plan:
    """For the internet, with tokens; one replica, a boundary, a qualifier."""
    return resolved(
        {
            **fleet_changes(
                listener={"certificate": CERTIFICATE, "jwt": JWT, "public": True},
                replicas={"minimum": 1, "maximum": 1},
                secrets={"KEY": ENGINE_SECRET},
                compile_on="start",
            ),
            "cdk": {"qualifier": "acme123", "permissions_boundary": "acme-boundary"},
        }
    )


def _managed() -> Plan:
    return resolved({"capacity.hourly": {"kind": "spot"}, **fleet_changes(runs_on="managed-instances")})


def _brought() -> Plan:
    """In the user's network, on a reservation, with an image of the user's that keeps nothing."""
    return resolved(
        {
            "network": BROUGHT,
            "capacity.hourly": {"kind": "reservation", "id": RESERVATION},
            **fleet_changes(
                engine="custom",
                image="111122223333.dkr.ecr.us-east-2.amazonaws.com/team/serve:1.0",
                command=["python3", "serve.py"],
                model={**BERT, "source": "s3://acme-models/bert"},
                artifacts="none",
                compile_on="start",
            ),
        }
    )


def _shift() -> Plan:
    """Two nodes of slices by day, four nodes of training by night, over one reservation."""
    fleet = fleet_changes(
        instance_type="trn1.32xlarge", tensor_parallel=8, replicas={"minimum": 2, "maximum": 8, "per_node": 4}
    )["fleets.chat"]
    workdays = ["mon", "tue", "wed", "thu", "fri"]
    windows = [
        {"days": workdays, "start": "07:00", "end": "20:00", "replicas": 8},
        {"days": ["fri"], "start": "20:00", "end": "01:00", "replicas": 4},
    ]
    shift = {
        "fleet": "chat",
        "cluster": "train",
        "timezone": "Europe/Berlin",
        "windows": windows,
        "replicas_floor": 2,
    }
    capacity = {"kind": "reservation", "id": RESERVATION}
    return resolved({"capacity.hourly": capacity, "fleets.chat": fleet, "shifts.day": shift})


def fleet_plans() -> dict[str, Plan]:
    return {
        "fleet-inf2": resolved(fleet_changes()),
        "fleet-slices": _slices(),
        "fleet-asleep": _asleep(),
        "fleet-fallback": _fallback(),
        "fleet-weighted": _weighted(),
        "fleet-public": _public(),
        "fleet-managed": _managed(),
        "fleet-brought": _brought(),
        "fleet-unresolved": plan_of({"capacity.hourly": {"kind": "reservation"}, **fleet_changes()}),
        "fleet-shift": _shift(),
    }


FLEET_PLANS = (
    "fleet-inf2",
    "fleet-slices",
    "fleet-asleep",
    "fleet-fallback",
    "fleet-weighted",
    "fleet-public",
    "fleet-managed",
    "fleet-brought",
    "fleet-unresolved",
    "fleet-shift",
)
