"""Small inputs of every kind that lint reads, right as they are, with places to put something wrong."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from stacks.domain.catalog import load_catalog
from stacks.domain.lint import Input, Linted, lint

Json = dict[str, Any]
TRN1, TRN2 = "trn1.32xlarge", "trn2.48xlarge"
EFA_COUNT = {TRN1: 8, TRN2: 16, "trn1.2xlarge": 0, "p6-b300.48xlarge": 16, "trn2u.48xlarge": 16}
MIME = (
    'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="==B=="\n\n--==B==\n'
    'Content-Type: text/x-shellscript; charset="us-ascii"\n\n{script}\n--==B==--\n'
)
REMOVED = object()


def linted(*texts: str | bytes, named: bool = True) -> Linted:
    contents = [text if isinstance(text, bytes) else text.encode() for text in texts]
    return lint([Input(f"file-{n}", content, named) for n, content in enumerate(contents)], load_catalog())


def ids(*texts: str | bytes) -> list[str]:
    return [finding.id for finding in linted(*texts).findings]


def nic(card: int, device: int, kind: str = "efa-only", **more: Any) -> Json:
    return {
        "NetworkCardIndex": card, "DeviceIndex": device, "InterfaceType": kind, "DeleteOnTermination": True,
        "Groups": ["sg-0123456789abcdef0"], **more,
    }  # fmt: skip


def current_form(cards: int) -> list[Json]:
    if cards == 0:
        return [nic(0, 0, "interface")]
    return [nic(0, 0, "interface"), nic(0, 1), *(nic(card, 0) for card in range(1, cards))]


def all_zero_form(cards: int) -> list[Json]:
    return [nic(0, 0, "efa"), *(nic(card, 0) for card in range(1, cards))]


def zero_one_form(cards: int) -> list[Json]:
    return [nic(0, 0, "efa"), *(nic(card, 1, "efa") for card in range(1, cards))]


def data(instance_type: Any = TRN2, interfaces: Iterable[Json] | None = None, **more: Any) -> Json:
    cards = EFA_COUNT.get(str(instance_type), 1)
    whole = {
        "InstanceType": instance_type,
        "MetadataOptions": {"HttpTokens": "required"},
        "NetworkInterfaces": list(current_form(cards) if interfaces is None else interfaces),
        **more,
    }
    return {key: value for key, value in whole.items() if value is not REMOVED}


def template(resources: Json, **more: Any) -> str:
    return json.dumps({"Resources": resources, **more})


def resource(type_: str, **properties: Any) -> Json:
    return {"Type": type_, "Properties": properties}


def launch_template(*arguments: Any, **more: Any) -> str:
    return template(
        {"Nodes": resource("AWS::EC2::LaunchTemplate", LaunchTemplateData=data(*arguments, **more))}
    )


def used_template(user: Json, template_data: Json, **others: Json) -> str:
    """A launch template, and who uses it."""
    nodes = resource("AWS::EC2::LaunchTemplate", LaunchTemplateData=template_data)
    return template({"Nodes": nodes, "User": user, **others})


def node_group(**more: Any) -> Json:
    properties = {"AmiType": "AL2023_x86_64_NEURON", "LaunchTemplate": {"Id": {"Ref": "Nodes"}}, **more}
    return resource("AWS::EKS::Nodegroup", **{k: v for k, v in properties.items() if v is not REMOVED})


def compute_environment(kind: str = "MANAGED", **more: Any) -> Json:
    resources = {
        "Type": "EC2", "InstanceTypes": [TRN1],
        "Ec2Configuration": [{"ImageType": "ECS_AL2023", "ImageIdOverride": "ami-0123456789abcdef0"}],
        "LaunchTemplate": {"LaunchTemplateId": {"Ref": "Nodes"}, "Version": {"Fn::GetAtt": ["Nodes", "LatestVersionNumber"]}},
        **more,
    }  # fmt: skip
    return resource(
        "AWS::Batch::ComputeEnvironment",
        Type=kind,
        ComputeResources={k: v for k, v in resources.items() if v is not REMOVED},
    )


def security_group(
    ingress: list[Json] | None = None, egress: list[Json] | None = None, without: tuple[str, ...] = ()
) -> str:
    """A group on EFA interfaces that references itself, unless `without` "Ingress" or "Egress"."""
    group = {"Fn::GetAtt": ["Group", "GroupId"]}
    keys = {"Ingress": "SourceSecurityGroupId", "Egress": "DestinationSecurityGroupId"}
    return template(
        {
            "Group": resource("AWS::EC2::SecurityGroup", GroupDescription="EFA", SecurityGroupIngress=ingress or [], SecurityGroupEgress=egress or []),
            **{
                f"Self{direction}": resource(f"AWS::EC2::SecurityGroup{direction}", GroupId=group, IpProtocol="-1", **{key: group})
                for direction, key in keys.items()
                if direction not in without
            },
        }
    )  # fmt: skip


def container(**more: Any) -> Json:
    """Of a multi-node job on TRN1."""
    devices = [f"/dev/neuron{n}" for n in range(16)] + [f"/dev/infiniband/uverbs{n}" for n in range(8)]
    whole = {
        "image": "public.ecr.aws/neuron/jax-training-neuronx:0.10.0-neuronx-py313-sdk2.32.0-ubuntu24.04",
        "instanceType": TRN1,
        "resourceRequirements": [{"type": "MEMORY", "value": "400000"}, {"type": "VCPU", "value": "128"}],
        "linuxParameters": {"sharedMemorySize": 65536, "devices": [{"hostPath": path} for path in devices]},
        "ulimits": [{"name": "memlock", "softLimit": -1, "hardLimit": -1}],
        **more,
    }
    return {key: value for key, value in whole.items() if value is not REMOVED}


def devices(neuron: int = 16, efa: int = 8, **more: Any) -> Json:
    paths = [f"/dev/neuron{n}" for n in range(neuron)] + [f"/dev/infiniband/uverbs{n}" for n in range(efa)]
    return {"sharedMemorySize": 65536, "devices": [{"hostPath": path} for path in paths], **more}


def job_definition(*containers: Json, nodes: int = 4, ranges: tuple[str, ...] = ("0:3",), **more: Any) -> str:
    bodies = containers or (container(),)
    properties = [
        {"targetNodes": target, "container": bodies[min(n, len(bodies) - 1)]}
        for n, target in enumerate(ranges)
    ]
    definition = {
        "jobDefinitionName": "train", "type": "multinode",
        "nodeProperties": {"numNodes": nodes, "mainNode": 0, "nodeRangeProperties": properties}, **more,
    }  # fmt: skip
    return json.dumps(definition)


def pod(kind: str = "Pod", type_: str | None = TRN1, resources: Json | None = None, **more: Any) -> str:
    """`resources` as limits; other keywords go into the container, those of `spec` into the pod."""
    spec = more.pop("spec", {})
    body = {
        "name": "main",
        "image": "example.com/x:1.0",
        "resources": {"limits": resources or {"aws.amazon.com/neuron": 16}},
        **more,
    }
    pod_spec = {
        "containers": [body],
        **({"nodeSelector": {"node.kubernetes.io/instance-type": type_}} if type_ else {}),
        **spec,
    }
    outer = pod_spec if kind == "Pod" else {"template": {"spec": pod_spec}}
    return json.dumps({"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}, "spec": outer})  # fmt: skip


def workers(
    kind: str, replicas: int, *, resources: Json | None = None, launcher: Json | None = None, **more: Any
) -> str:
    """An MPIJob or PyTorchJob with so many workers on TRN1."""
    inner = json.loads(
        pod("Pod", resources=resources or {"aws.amazon.com/neuron": 16, "vpc.amazonaws.com/efa": 8}, **more)
    )["spec"]
    roles: Json = {"Worker": {"replicas": replicas, "template": {"spec": inner}}}
    if launcher is not None:
        roles["Launcher"] = {
            "replicas": 1,
            "template": {
                "spec": {"containers": [{"name": "main", "image": "example.com/x:1.0", **launcher}]}
            },
        }
    key = "mpiReplicaSpecs" if kind == "MPIJob" else "pytorchReplicaSpecs"
    return json.dumps(
        {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": "x"}, "spec": {key: roles}}
    )


def sbatch(body: str = "", **options: str) -> str:
    """On four TRN2 nodes, one task a node; an option of None is left out."""
    all_ = {
        "nodes": "4",
        "ntasks_per_node": "1",
        "constraint": "trn2-48xlarge",
        "gres": "neuron:16",
        **options,
    }
    lines = [f"#SBATCH --{name.replace('_', '-')}={value}" for name, value in all_.items() if value]
    rendezvous = 'export MASTER_ADDR="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)"'
    return "\n".join(["#!/bin/bash", *lines, rendezvous, body, ""])


def user_data(script: str) -> str:
    return MIME.format(script=script)
