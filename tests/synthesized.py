"""Plans for the tests of stacks, and their templates: synthesised once a process, because starting the CDK takes seconds."""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from scripts.node import node_environment
from stacks.domain.lock import Lock, LockedAmi
from stacks.domain.plan import Plan
from tests.environments import plan_of, starter_plan
from tests.fleet_plans import FLEET_PLANS, fleet_plans

os.environ.update(node_environment())

Template = dict[str, Any]

RESERVATION = "cr-0aaaabbbbccccdddd"
BLOCK = "cr-0123456789abcdef0"
DATA_SECRET = "arn:aws:secretsmanager:us-east-2:111122223333:secret:data-AbCdEf:token::"
PARAMETER = "arn:aws:ssm:us-east-2:111122223333:parameter/pilot/key"


def _lock_for(plan: Plan) -> Lock:
    amis = {
        cluster.ami.reference: LockedAmi(id="ami-0123456789abcdef0", root_device_name="/dev/xvda")
        for cluster in plan.clusters
        if cluster.ami
    }
    return Lock(resolved_by="aws", region=plan.region, amis=amis)


def _bought_block() -> Plan:
    bought = {"id: null ": f"id: {BLOCK} ", "account: null ": 'account: "111122223333" '}
    plan = starter_plan("trn2-pilot", **bought)
    return starter_plan("trn2-pilot", _lock_for(plan), **bought)


def _everything_on() -> Plan:
    """A reservation, with all that a file can ask of the stacks: two clusters, a boundary, data, secrets, own image."""
    changes: dict[str, Any] = {
        "capacity.reserved": {"kind": "reservation", "id": RESERVATION},
        "capacity.hourly": {"kind": "on-demand"},
        "clusters.train.capacity": "reserved",
        "clusters.one": {
            "scheduler": "batch",
            "instance_type": "trn1.2xlarge",
            "nodes": 1,
            "capacity": "hourly",
        },
        "cdk": {"qualifier": "acme123", "permissions_boundary": "acme-boundary"},
        "tags": {"cost-center": "ml"},
        "software": {"images": {"jax": "111122223333.dkr.ecr.us-east-2.amazonaws.com/team/train:1.0"}},
        "jobs.smoke.data": "s3://acme-data/tokens/",
        "jobs.smoke.secrets": {"TOKEN": DATA_SECRET, "KEY": PARAMETER},
    }
    return plan_of(changes, _lock_for(plan_of(changes)))


BROUGHT = {
    "vpc": "vpc-0aaaabbbbccccdddd",
    "subnet_id": "subnet-0aaaabbbbccccdddd",
    "security_group_id": "sg-0aaaabbbbccccdddd",
}


def _brought_network() -> Plan:
    """Two clusters in the user's network: one with EFA interfaces in its launch template, one without."""
    one = {"scheduler": "batch", "instance_type": "trn1.2xlarge", "nodes": 1, "capacity": "hourly"}
    return plan_of({"network": {**BROUGHT, "zone_id": "use2-az3"}, "clusters.one": one})


def _trn3() -> Plan:
    changes = {
        "clusters.train.instance_type": "trn3p.48xlarge",
        "clusters.train.shape": "trn3-gen2",
        "clusters.train.nodes": 36,
        "clusters.train.logical_core_size": 2,
    }
    return plan_of(changes)


SECOND_BLOCK = "cr-0fedcba9876543210"
EFS = {"shared_storage": {"kind": "efs"}}
OWN_AMI = {"ami": "ami-0123456789abcdef0"}


def _slurm(changes: dict[str, Any]) -> Plan:
    """The base file under Slurm on PCS, with a node image that is built."""
    slurm: dict[str, Any] = {"clusters.train.scheduler": "slurm", "clusters.train.slurm": EFS}
    return plan_of({**slurm, **changes}, _lock_for(plan_of({**slurm, **changes})))


def _slurm_unresolved() -> Plan:
    return plan_of({"clusters.train.scheduler": "slurm", "clusters.train.slurm": EFS})


def _slurm_everything_on() -> Plan:
    """A reservation, so nodes that always run; Lustre; containers; settings at every level; data and secrets."""
    settings = {
        "shared_storage": {"kind": "lustre", "capacity_gib": 2400, "mount_point": "/fsx"},
        "runs_in": "apptainer",
        "accounting": True,
        **OWN_AMI,
        "cluster_settings": {"MinJobAge": "600"},
        "node_settings": {"Weight": "2"},
        "queue_settings": {"MaxTime": "1-00:00:00"},
    }
    return _slurm(
        {
            "capacity.hourly": {"kind": "reservation", "id": RESERVATION},
            "clusters.train.slurm": settings,
            "cdk": {"qualifier": "acme123", "permissions_boundary": "acme-boundary"},
            "tags": {"cost-center": "ml", "team/unit": "a b"},
            "software": {"images": {"jax": "111122223333.dkr.ecr.us-east-2.amazonaws.com/team/train:1.0"}},
            "jobs.smoke.data": "s3://acme-data/tokens/",
            "jobs.smoke.secrets": {"TOKEN": DATA_SECRET, "KEY": PARAMETER},
        }
    )


def _slurm_block() -> Plan:
    return _slurm(
        {
            "capacity.hourly": {"kind": "capacity-block", "id": BLOCK},
            "clusters.train.slurm": {**EFS, **OWN_AMI},
            "clusters.train.instance_type": "trn2.48xlarge",
            "clusters.train.nodes": 2,
            "clusters.train.logical_core_size": 1,
        }
    )


def _slurm_not_bought() -> Plan:
    return _slurm(
        {
            "capacity.hourly": {"kind": "capacity-block"},
            "clusters.train.slurm": {**EFS, **OWN_AMI},
            "clusters.train.instance_type": "trn2.48xlarge",
        }
    )


def _slurm_ultraservers() -> Plan:
    """Two of them, a block for each."""
    return _slurm(
        {
            "region": "ap-south-2",
            "network": {"zone_id": "aps2-az1"},
            "capacity.hourly": {"kind": "capacity-block", "ids": [BLOCK, SECOND_BLOCK]},
            "clusters.train.slurm": {**EFS, **OWN_AMI},
            "clusters.train.instance_type": "trn2u.48xlarge",
            "clusters.train.nodes": 8,
        }
    )


def _slurm_brought_network() -> Plan:
    """The smallest type, without EFA, on spot, and without counting devices."""
    return _slurm(
        {
            "network": {**BROUGHT, "zone_id": "use2-az3"},
            "capacity.hourly": {"kind": "spot"},
            "clusters.train.instance_type": "trn1.2xlarge",
            "clusters.train.nodes": 1,
            "clusters.train.slurm": {**EFS, **OWN_AMI, "gres": 0},
        }
    )


@functools.cache
def plans() -> dict[str, Plan]:
    return {
        "trn1-first-hour": starter_plan("trn1-first-hour"),
        "trn1-pilot": starter_plan("trn1-pilot"),
        "trn2-pilot": starter_plan("trn2-pilot"),
        "trn2-bought-block": _bought_block(),
        "trn1-everything": _everything_on(),
        "trn1-brought-network": _brought_network(),
        "trn3-gen2": _trn3(),
        "slurm-trn1": _slurm({}),
        "slurm-unresolved": _slurm_unresolved(),
        "slurm-everything": _slurm_everything_on(),
        "slurm-trn2-block": _slurm_block(),
        "slurm-not-bought": _slurm_not_bought(),
        "slurm-ultraservers": _slurm_ultraservers(),
        "slurm-brought-network": _slurm_brought_network(),
        **fleet_plans(),
    }


WITH_OWN_NETWORK = (
    "trn1-first-hour",
    "trn1-pilot",
    "trn2-pilot",
    "trn2-bought-block",
    "trn1-everything",
    "trn3-gen2",
    "slurm-trn1",
    "slurm-unresolved",
    "slurm-everything",
    "slurm-trn2-block",
    "slurm-not-bought",
    "slurm-ultraservers",
)
CLUSTER_PLANS = (*WITH_OWN_NETWORK, "trn1-brought-network", "slurm-brought-network")
"""With a cluster `train`, and without fleets."""
PLAN_NAMES = (*CLUSTER_PLANS, *FLEET_PLANS)
SLURM_PLANS = tuple(name for name in PLAN_NAMES if name.startswith("slurm-"))


@functools.cache
def assembly_directory(plan_name: str) -> Path:
    from stacks.assembly import build_app

    directory = Path(tempfile.mkdtemp(prefix="neuronkit-test-assembly-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    build_app(plans()[plan_name], directory).synth()
    return directory


def template(plan_name: str, stack: str) -> Template:
    text = (assembly_directory(plan_name) / f"{stack}.template.json").read_text(encoding="utf-8")
    found: Template = json.loads(text)
    return found


def network(plan_name: str) -> Template:
    name = plans()[plan_name].stacks.network
    assert name is not None, "of a plan with a network of its own"
    return template(plan_name, name)


def storage(plan_name: str) -> Template:
    return template(plan_name, plans()[plan_name].stacks.storage)


def cluster(plan_name: str, name: str = "train") -> Template:
    return template(plan_name, plans()[plan_name].stacks.of_cluster(name))


def fleet(plan_name: str, name: str = "chat") -> Template:
    return template(plan_name, plans()[plan_name].stacks.of_fleet(name))


def every_stack() -> list[tuple[str, str]]:
    """(plan, stack), without starting the CDK: for parametrisation."""
    return [(name, stack) for name in PLAN_NAMES for stack in plans()[name].stacks.all]


def resources(found: Template, type_: str) -> dict[str, Template]:
    return {id_: body for id_, body in found["Resources"].items() if body["Type"] == type_}


def the_one(found: Template, type_: str) -> Template:
    """The properties of the only resource of a type."""
    (body,) = resources(found, type_).values()
    properties: Template = body.get("Properties", {})
    return properties
