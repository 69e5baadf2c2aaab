"""Each check with inputs that carry its fault and inputs that do not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from stacks.domain.findings import Severity
from stacks.domain.lint import CHECKS
from stacks.domain.rules import ALL_RULES
from tests.unit.domain.lint.inputs import (
    MIME,
    REMOVED,
    TRN1,
    TRN2,
    all_zero_form,
    compute_environment,
    container,
    current_form,
    data,
    devices,
    ids,
    job_definition,
    launch_template,
    linted,
    nic,
    node_group,
    pod,
    resource,
    sbatch,
    security_group,
    template,
    used_template,
    user_data,
    workers,
    zero_one_form,
)

Text = str | tuple[str, ...]
BLOCK = {"MarketType": "capacity-block"}
BLOCK_ID = {"CapacityReservationTarget": {"CapacityReservationId": "cr-0123456789abcdef0"}}
SCRIPT = '#!/bin/bash\nset -eu\nwork=$(mktemp -d)\ncd "$work"\n'
FORMS = (current_form, all_zero_form, zero_one_form)
GPU_CARD_0 = [nic(0, 0, "interface"), *(nic(card, 0) for card in range(1, 17))]
NEURON = "aws.amazon.com/neuron"
EFA = "vpc.amazonaws.com/efa"
TORCH = "public.ecr.aws/neuron/pytorch-training-neuronx:"
VLLM = "public.ecr.aws/neuron/pytorch-inference-vllm-neuronx:"


def reservation(default: str | None, **more: Any) -> str:
    parameter = {"Type": "String", **({} if default is None else {"Default": default})}
    target = {"CapacityReservationTarget": {"CapacityReservationId": {"Ref": "CapacityBlockId"}}}
    body = data(CapacityReservationSpecification=target, **more)
    nodes = resource("AWS::EC2::LaunchTemplate", LaunchTemplateData=body)
    return template({"Nodes": nodes}, Parameters={"CapacityBlockId": parameter})


def base64(script: Any) -> dict[str, Any]:
    return {"UserData": {"Fn::Base64": script}}


def daemon_set(*types: str) -> str:
    expression = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": list(types)}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return pod("DaemonSet", None, {"cpu": 1}, spec={"affinity": affinity})


def neuron_types() -> list[str]:
    from stacks.domain.catalog import load_catalog

    return [t.name for t in load_catalog().instance_types.values() if t.is_neuron]


def node_pool(labels: dict[str, str]) -> str:
    spec = {"template": {"metadata": {"labels": labels}}}
    return json.dumps({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "spec": spec})


def requirement(*types: str) -> str:
    spec = {
        "template": {
            "spec": {
                "requirements": [
                    {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": list(types)}
                ]
            }
        }
    }
    return json.dumps({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "spec": spec})


def eksctl(type_: str) -> str:
    groups = [{"name": "x", "instanceType": type_}]
    return json.dumps(
        {"apiVersion": "eksctl.io/v1alpha5", "kind": "ClusterConfig", "managedNodeGroups": groups}
    )


def job_in_template(environment: dict[str, Any], type_: str = "multinode") -> str:
    definition = resource(
        "AWS::Batch::JobDefinition", Type=type_, NodeProperties={"NumNodes": 2, "NodeRangeProperties": []}
    )
    return template({"User": environment, "Definition": definition})


TABLE: dict[str, tuple[list[Text], list[Text]]] = {
    "NK004": (["x: " + "y" * 1_100_000], [launch_template()]),
    "NK005": ([launch_template().encode("utf-16").decode("latin-1"), "a\0b"], [launch_template()]),
    "NK006": (["", " \n"], [launch_template()]),
    "NK007": (['{"Resources": ', "apiVersion: v1\nkind: Pod\n  x: [", "a: *b"], [launch_template()]),
    "NK008": (["[" * 5000, "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join('*' + chr(97 + n) for _ in range(9))}]\n" for n in range(8))], [launch_template()]),
    "NK009": (["apiVersion: v1\nkind: Pod\nspec: {}\nspec: {}\n"], [pod()]),
    "NK401": (["hello: world", "some words", "# nothing", '[{"a": 1}]'], [launch_template(), "#!/bin/sh\necho hello\n"]),
    "NK204": (
        [
            requirement(TRN1, "trn1.16xlarge"), eksctl("inf2.4xlarge"),
            launch_template("trn2.12xlarge", [nic(0, 0, "interface")]), pod(type_="ml.trn1.16xlarge"), daemon_set("inf2.4xlarge"),
            used_template(compute_environment(InstanceTypes=["trn1.16xlarge"]), {}), sbatch(constraint="trn2n.48xlarge"),
            job_definition(container(instanceType="trn1.3xlarge")), used_template(node_group(InstanceTypes=["trn3.48xlarge"]), {}),
        ],
        [launch_template(), launch_template("m5.large", [nic(0, 0, "interface")]), pod(type_="p5.2xlarge"), requirement(TRN1, "m5.large"), eksctl(TRN1), pod(type_="ml.trn1.32xlarge")],
    ),
    "NK206": (
        [launch_template(Placement={"AvailabilityZone": "us-west-2b"}), pod(spec={"nodeSelector": {"node.kubernetes.io/instance-type": TRN2, "topology.kubernetes.io/region": "us-east-1"}})],
        [launch_template(Placement={"AvailabilityZone": "us-east-2b"}), launch_template(Placement={"AvailabilityZone": {"Ref": "Zone"}})],
    ),
    "NK214": (
        [job_in_template(compute_environment(Type="SPOT")), (used_template(compute_environment(Type="SPOT"), data(TRN1)), job_definition())],
        [job_in_template(compute_environment()), used_template(compute_environment(Type="SPOT"), data(TRN1)), job_in_template(compute_environment(Type={"Ref": "Kind"}))],
    ),
    "NK215": (
        [
            launch_template(InstanceMarketOptions=BLOCK, CapacityReservationSpecification=BLOCK_ID, Placement={"GroupName": "near"}),
            used_template(compute_environment(PlacementGroup="near"), data(TRN1, InstanceMarketOptions=BLOCK, CapacityReservationSpecification=BLOCK_ID)),
        ],
        [launch_template(InstanceMarketOptions=BLOCK, CapacityReservationSpecification=BLOCK_ID), launch_template(Placement={"GroupName": "near"})],
    ),
    "NK218": (
        [launch_template("trn1n.32xlarge", zero_one_form(16), InstanceMarketOptions=BLOCK, CapacityReservationSpecification=BLOCK_ID)],
        [launch_template(InstanceMarketOptions=BLOCK, CapacityReservationSpecification=BLOCK_ID)],
    ),
    "NK222": (
        [
            workers("PyTorchJob", 2, resources={NEURON: 16}), workers("MPIJob", 2, env=[{"name": "FI_PROVIDER", "value": "tcp"}]),
            sbatch("export FI_PROVIDER=sockets\n"), job_definition(container(environment=[{"name": "FI_PROVIDER", "value": "tcp"}])),
            workers("PyTorchJob", 2, resources={NEURON: 1}, spec={"nodeSelector": {"node.kubernetes.io/instance-type": "trn1.2xlarge"}}),
        ],
        [workers("PyTorchJob", 2), workers("PyTorchJob", 1, resources={NEURON: 16}), sbatch("export FI_PROVIDER=efa\n"), pod()],
    ),
    "NK232": (
        [
            pod(type_="inf2.48xlarge", resources={NEURON: 12}, args=["vllm", "serve", "--tensor-parallel-size=32"]),
            pod(type_="inf2.48xlarge", resources={NEURON: 12}, args=["vllm serve --tensor-parallel-size 32"]),
            sbatch("python train.py --tensor_parallel_size 24\n"),
        ],
        [pod(type_="inf2.48xlarge", resources={NEURON: 12}, args=["vllm serve --tensor-parallel-size 24"]), sbatch("python train.py --tensor_parallel_size 32\n")],
    ),
    "NK233": (
        [
            sbatch(ntasks_per_node="16"), sbatch("torchrun --nproc_per_node=16 t.py\n"), job_definition(container(command=["torchrun", "--nproc-per-node", "16"])),
            workers("PyTorchJob", 2, args=["torchrun --nproc_per_node 16 t.py"]), pod(type_="trn2.3xlarge", resources={NEURON: 1}, args=["torchrun --nproc_per_node=2"]),
        ],
        [
            sbatch(ntasks_per_node="64"), sbatch(ntasks_per_node="128"), sbatch(), job_definition(container(command=["torchrun", "--nproc-per-node=32"])),
            pod(type_="trn2.3xlarge", resources={NEURON: 1}, args=["torchrun --nproc_per_node=4"]), pod(resources={NEURON: 4}, args=["torchrun --nproc_per_node=8"]),
            pod(resources={"aws.amazon.com/neuroncore": 2}, args=["torchrun --nproc_per_node=2"]), sbatch("torchrun --nproc_per_node=$N\n"),
        ],
    ),
    "NK243": (
        [
            pod(type_="inf2.48xlarge", resources={NEURON: 12}, image=VLLM + "0.24.0.1.1.0-neuronx-py313-sdk2.32.0-ubuntu24.04"),
            pod(image=TORCH + "2.9.0-neuronx-py313-sdk2.32.0-ubuntu24.04"),
            job_definition(container(image=VLLM.replace("public.ecr.aws/neuron", "111122223333.dkr.ecr.us-east-1.amazonaws.com") + "0.24.0.1.1.0-neuronx-py313-sdk2.32.0-ubuntu24.04")),
        ],
        [
            pod(type_="inf2.48xlarge", resources={NEURON: 12}, image=VLLM + "0.13.0-neuronx-py312-sdk2.28.0-ubuntu24.04"),
            pod(image=TORCH + "2.9.0-neuronx-py312-sdk2.30.0-ubuntu24.04"), pod(image="example.com/mine:1"), pod(image=TORCH + "2.8.0-neuronx-py310-sdk2.26.0-ubuntu22.04"),
        ],
    ),
    "NK244": (
        [pod(image=TORCH + "latest"), pod(image="example.com:5000/mine"), job_definition(container(image="example.com/mine:latest"))],
        [pod(image="example.com/mine@sha256:" + "0" * 64), pod(image="example.com:5000/mine:1"), pod(image="${IMAGE}"), pod("Deployment", None, {"cpu": 1}, image="nginx")],
    ),
    "NK247": (
        [
            pod(env=[{"name": "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "value": "7"}]), sbatch("export NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS=7\n"),
            pod(args=["export NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS=3\npython t.py"]), sbatch("XLA_USE_BF16=1 python t.py\n"),
            job_definition(container(environment=[{"name": "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "value": "7"}])),
        ],
        [pod(image=TORCH + "2.9.0-neuronx-py312-sdk2.30.0-ubuntu24.04", env=[{"name": "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "value": "7"}]), pod(env=[{"name": "NEURON_RT_LOG_LEVEL", "value": "INFO"}])],
    ),
    "NK250": (
        [
            pod(env=[{"name": "HF_TOKEN", "value": "hf_" + "a" * 30}]), pod(env=[{"name": "X", "value": "hf_" + "a" * 30}]), sbatch("export WANDB_API_KEY=0123456789\n"),
            user_data(SCRIPT + "export HF_TOKEN=hf_" + "a" * 30), job_definition(container(environment=[{"name": "DB_PASSWORD", "value": "tiger"}])),
            pod(args=["login --token hf_" + "a" * 30]),
        ],
        [
            pod(env=[{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}]), sbatch("export HF_TOKEN=$(cat /run/token)\n"), pod(env=[{"name": "HF_TOKEN", "value": "$HF_TOKEN"}]),
            pod(env=[{"name": "PAD_TOKEN", "value": "<pad>"}]), job_definition(container(secrets=[{"name": "HF_TOKEN", "valueFrom": "arn:aws:ssm:us-east-1:111122223333:parameter/hf"}])),
        ],
    ),
    "NK410": (
        [
            launch_template(TRN2, current_form(8)), launch_template(TRN1, all_zero_form(16)), launch_template("trn1.2xlarge", [nic(0, 0, "efa")]),
            launch_template("p6-b300.48xlarge", GPU_CARD_0[:9]), pod(resources={NEURON: 16, EFA: 16}),
        ],
        [
            *(launch_template(TRN2, form(16)) for form in FORMS), *(launch_template(TRN1, form(8)) for form in FORMS), launch_template("p6-b300.48xlarge", GPU_CARD_0),
            launch_template("trn1.2xlarge", [nic(0, 0, "interface")]), launch_template(TRN2, {"Ref": "Interfaces"}), pod(resources={NEURON: 16, EFA: 8}),
            launch_template({"Ref": "Type"}, current_form(8)),
        ],
    ),
    "NK411": (
        [launch_template(TRN1, [nic(n, n, "efa") for n in range(8)]), launch_template(TRN2, [nic(0, 0, "efa"), nic(1, 2)]), launch_template({"Ref": "Type"}, [nic(n, n, "efa") for n in range(8)])],
        [*(launch_template(TRN1, form(8)) for form in FORMS), launch_template(TRN1, [*zero_one_form(8), nic(0, 2, "interface")])],
    ),
    "NK412": (
        [
            launch_template(TRN1, [*all_zero_form(8), nic(8, 0)]), launch_template(TRN2, [*current_form(16), nic(0, 1, "interface")]),
            launch_template(TRN2, [*current_form(16), nic(0, 2, "interface")]), launch_template("p6-b300.48xlarge", [nic(0, 0, "efa"), *(nic(c, 0) for c in range(1, 16))]),
        ],
        [launch_template(TRN2, form(16)) for form in FORMS],
    ),
    "NK413": (
        [launch_template(TRN1, [nic(0, 0, "efa"), *(nic(c, 0, DeleteOnTermination=False) for c in range(1, 8))])],
        [launch_template(), launch_template(TRN1, [nic(0, 0, "efa"), *(nic(c, 0, DeleteOnTermination={"Ref": "Delete"}) for c in range(1, 8))])],
    ),
    "NK414": (
        [used_template(user, data(TRN1, [nic(0, 0, "efa", SubnetId="subnet-1"), *all_zero_form(8)[1:]])) for user in (node_group(), compute_environment())],
        [launch_template(TRN1, [nic(0, 0, "efa", SubnetId="subnet-1"), *all_zero_form(8)[1:]]), used_template(node_group(), data())],
    ),
    "NK415": (
        [launch_template(SecurityGroupIds=["sg-1"]), used_template(compute_environment(SecurityGroupIds=["sg-1"]), data(TRN1))],
        [launch_template(), used_template(compute_environment(), data(TRN1)), used_template(compute_environment(SecurityGroupIds=["sg-1"]), data(TRN1, []))],
    ),
    "NK416": (
        [launch_template(TRN1, [nic(0, 0, "efa", AssociatePublicIpAddress=True), *all_zero_form(8)[1:]])],
        [launch_template("trn1.2xlarge", [nic(0, 0, "interface", AssociatePublicIpAddress=True)]), launch_template(TRN1, [nic(0, 0, "efa", AssociatePublicIpAddress="false"), *all_zero_form(8)[1:]])],
    ),
    "NK417": (
        [launch_template(TRN1, [nic(c, 0) for c in range(8)]), launch_template(TRN1, [nic(0, 1, "efa"), *all_zero_form(8)[1:]])],
        [launch_template(TRN1, form(8)) for form in FORMS],
    ),
    "NK418": ([launch_template(TRN2, zero_one_form(16))], [launch_template(TRN2, current_form(16)), launch_template(TRN2, all_zero_form(16))]),
    "NK419": (
        [launch_template(TRN2, [nic(0, 0, "interface")]), launch_template(TRN1, NetworkInterfaces=REMOVED)],
        [launch_template(), launch_template("trn1.2xlarge", NetworkInterfaces=REMOVED), launch_template("m5.large", NetworkInterfaces=REMOVED)],
    ),
    "NK420": (
        [security_group(egress=[{"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}], without=("Egress",)), security_group(without=("Ingress",)), security_group(without=("Ingress", "Egress"))],
        [security_group(), security_group(egress=[{"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}]), security_group(ingress={"Ref": "Rules"}, without=("Ingress",))],  # type: ignore[arg-type]
    ),
    "NK421": (
        [security_group(ingress=[{"IpProtocol": "tcp", "FromPort": 0, "ToPort": 65536, "CidrIp": "10.0.0.0/8"}]), security_group(egress=[{"IpProtocol": "-1", "FromPort": 0, "ToPort": "65536", "CidrIp": "10.0.0.0/8"}])],
        [security_group(ingress=[{"IpProtocol": "tcp", "FromPort": 0, "ToPort": 65535, "CidrIp": "10.0.0.0/8"}])],
    ),
    "NK422": (
        [
            security_group(ingress=[{"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "CidrIp": "0.0.0.0/0"}]), security_group(ingress=[{"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}]),
            security_group(ingress=[{"IpProtocol": "tcp", "FromPort": 1, "ToPort": 1024, "CidrIpv6": "::/0"}]),
        ],
        [
            security_group(ingress=[{"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "CidrIp": "10.0.0.0/8"}]), security_group(ingress=[{"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "CidrIp": "0.0.0.0/0"}]),
            security_group(egress=[{"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}]), security_group(ingress=[{"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "CidrIp": {"Ref": "Office"}}]),
        ],
    ),
    "NK423": ([launch_template(Placement={"GroupName": {"Ref": "Near"}}), launch_template(Placement={"GroupName": "near"})], [launch_template(), launch_template(Placement={"Tenancy": "default"})]),
    "NK424": (
        [
            reservation("cr-0123456789abcdef0"), reservation(None), used_template(node_group(CapacityType="CAPACITY_BLOCK"), data(CapacityReservationSpecification=BLOCK_ID)),
        ],
        [reservation("cr-0123456789abcdef0", InstanceMarketOptions=BLOCK), launch_template(CapacityReservationSpecification=BLOCK_ID), launch_template()],
    ),
    "NK425": ([launch_template(CapacityReservationSpecification=BLOCK_ID)], [launch_template(InstanceMarketOptions=BLOCK, CapacityReservationSpecification=BLOCK_ID), launch_template()]),
    "NK426": (
        [reservation(""), launch_template(CapacityReservationSpecification={"CapacityReservationTarget": {"CapacityReservationId": "cb-1"}})],
        [reservation("cr-0123456789abcdef0"), reservation(None)],
    ),
    "NK427": ([launch_template(InstanceMarketOptions=BLOCK)], [reservation(None, InstanceMarketOptions=BLOCK), launch_template(InstanceMarketOptions={"MarketType": "spot"})]),
    "NK428": (
        [
            used_template(node_group(CapacityType="ON_DEMAND"), data(InstanceMarketOptions=BLOCK, CapacityReservationSpecification=BLOCK_ID)), used_template(node_group(CapacityType="CAPACITY_BLOCK"), data()),
        ],
        [used_template(node_group(CapacityType="CAPACITY_BLOCK"), data(InstanceMarketOptions=BLOCK, CapacityReservationSpecification=BLOCK_ID)), used_template(node_group(CapacityType={"Ref": "Capacity"}), data(InstanceMarketOptions=BLOCK, CapacityReservationSpecification=BLOCK_ID))],
    ),
    "NK430": ([launch_template(MetadataOptions=REMOVED), launch_template(MetadataOptions={"HttpTokens": "optional"})], [launch_template(), launch_template(MetadataOptions={"HttpTokens": {"Ref": "Tokens"}})]),
    "NK431": (
        [launch_template(BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 512}}]), launch_template(BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": {"Encrypted": "false"}}])],
        [launch_template(BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": {"Encrypted": True}}]), launch_template(BlockDeviceMappings=[{"DeviceName": "/dev/sdb", "VirtualName": "ephemeral0"}])],
    ),
    "NK432": (
        [
            user_data(SCRIPT + "curl -O https://efa-installer.amazonaws.com/aws-efa-installer-latest.tar.gz"), user_data(SCRIPT + "curl https://raw.githubusercontent.com/a/b/master/x.yml"),
            user_data(SCRIPT + "wget https://github.com/a/b/archive/main.zip"), pod(args=["curl -L https://github.com/a/b/releases/latest/download/x.tgz"]), sbatch("wget https://github.com/a/b/archive/refs/heads/main.zip\n"),
            template({"N": resource("AWS::EC2::LaunchTemplate", LaunchTemplateData=data(**base64({"Fn::Sub": "#!/bin/bash\ncurl https://x.example/aws-efa-installer-${Efa}.tar.gz\n"})))}, Parameters={"Efa": {"Type": "String", "Default": "latest"}}),
        ],
        [
            user_data(SCRIPT + "curl -O https://efa-installer.amazonaws.com/aws-efa-installer-1.47.0.tar.gz"), user_data(SCRIPT + "curl http://169.254.169.254/latest/meta-data/instance-id"),
            user_data(SCRIPT + "curl https://raw.githubusercontent.com/a/b/v1.2/x.yml"), user_data(SCRIPT + "# see https://github.com/a/b/archive/main.zip"),
        ],
    ),
    "NK433": (
        [launch_template(ImageId="{{resolve:ssm:/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/neuron/recommended/image_id}}")],
        [launch_template(ImageId="ami-0123456789abcdef0"), launch_template(ImageId={"Ref": "Ami"})],
    ),
    "NK434": (
        [used_template(user, data(TRN1, **base64("#!/bin/bash\necho x"))) for user in (compute_environment(), node_group())],
        [used_template(compute_environment(), data(TRN1, **base64(user_data(SCRIPT)))), launch_template(**base64("#!/bin/bash\necho x")), used_template(node_group(AmiType="CUSTOM"), data(ImageId="ami-1", **base64("#!/bin/bash\necho x"))), used_template(compute_environment(), data(TRN1, **base64({"Ref": "Data"})))],
    ),
    "NK435": (
        [
            used_template(node_group(), data(**base64(user_data("#!/bin/bash\n/etc/eks/bootstrap.sh x")))), used_template(node_group(AmiType="AL2_x86_64_GPU"), data(**base64(MIME.format(script="").replace("text/x-shellscript", "application/node.eks.aws")))),
            launch_template(ImageId="{{resolve:ssm:/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/neuron/x/image_id}}", **base64("#!/bin/bash\n/etc/eks/bootstrap.sh x")),
        ],
        [used_template(node_group(AmiType="AL2_x86_64_GPU"), data(**base64(user_data("#!/bin/bash\n/etc/eks/bootstrap.sh x")))), used_template(node_group(), data(**base64(MIME.format(script="kind: NodeConfig").replace("text/x-shellscript", "application/node.eks.aws")))), launch_template(ImageId="ami-1", **base64("#!/bin/bash\n/etc/eks/bootstrap.sh x"))],
    ),
    "NK436": (
        [
            used_template(node_group(AmiType="AL2023_x86_64_STANDARD"), data()), used_template(node_group(AmiType="AL2023_ARM_64_STANDARD"), data()), used_template(node_group(AmiType="AL2023_x86_64_NVIDIA", InstanceTypes=["inf2.xlarge"], LaunchTemplate=REMOVED), {}),
            used_template(compute_environment(Ec2Configuration=[{"ImageType": "ECS_AL2023"}]), data(TRN1)), used_template(compute_environment(Ec2Configuration=REMOVED), data(TRN1)), launch_template(ImageId="{{resolve:ssm:/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/standard/recommended/image_id}}"),
        ],
        [
            used_template(node_group(), data()), used_template(node_group(AmiType="CUSTOM"), data(ImageId="ami-1")), used_template(node_group(AmiType=REMOVED), data()), used_template(node_group(AmiType={"Ref": "Ami"}), data()),
            used_template(compute_environment(), data(TRN1)), used_template(compute_environment(Ec2Configuration=REMOVED, InstanceTypes=["m5.large"]), {}), used_template(compute_environment(Ec2Configuration=REMOVED), data(TRN1, ImageId="ami-1")),
        ],
    ),
    "NK437": ([launch_template(**base64("#!/bin/bash\n" + "# x\n" * 5000))], [launch_template(**base64("#!/bin/bash\n" + "# x\n" * 3000))]),
    "NK440": (
        [
            user_data(SCRIPT + 'aws s3 rm "s3://$bucket"'), user_data(SCRIPT + "echo ${REGION}"), sbatch('export dATASET=x\necho "$DATASET"\n'), sbatch("echo $LR\n", export="NONE"),
            "#!/bin/bash\naws ec2 describe-vpcs --region $region\n", launch_template(**base64({"Fn::Sub": "#!/bin/bash\necho ${!name} ${AWS::Region}"})), launch_template(**base64({"Fn::Join": ["\n", ["#!/bin/bash", {"Ref": "x"}, {"Fn::Sub": "echo ${AWS::Region} $foo"}]]})), user_data(SCRIPT + "cat <<EOF\n$NAME\nEOF"),
        ],
        [
            user_data(SCRIPT + 'for f in a b; do echo "$f"; done; read -r x y <<<"a b"; echo "$x$y${z:-}$HOME$1$#$?"'), sbatch('echo "$LR" $SLURM_NNODES\n'), "#!/bin/bash\necho $MODEL\n", user_data(SCRIPT + "cat <<'EOF'\n$NAME\nEOF"),
            user_data(SCRIPT + "source /etc/profile.d/x.sh\necho $NAME"), user_data(SCRIPT + "awk '{print $NF, $x}' f"), user_data(SCRIPT + 'echo \\$NAME "$(date +%s)" $((work + 1))'), launch_template(**base64({"Fn::Sub": "#!/bin/bash\necho ${Name} ${AWS::Region}"})),
            user_data(SCRIPT + ': "${NAME:=x}"\necho "$NAME"'),
        ],
    ),
    "NK441": (
        [user_data("echo no shebang"), launch_template(**base64("echo no shebang")), "#!/bin/bash\r\necho neuron\r\n", "\ufeff#!/bin/bash\necho x\n"],
        [user_data(SCRIPT), launch_template(**base64("#cloud-config\nruncmd: []\n")), launch_template(**base64({"Fn::Join": ["\n", ["#!/bin/bash", "echo"]]}))],
    ),
    "NK442": ([sbatch("export NUM_NODES=2\nexport NUM_NODES=4\n", nodes=""), pod(args=["export A=1\nexport A=2\n"])], [sbatch("export A=1\nexport A=1\n"), sbatch("export A=1\necho $A\nexport A=2\n"), sbatch("export A=1\nif x; then\nexport A=2\nfi\n")]),
    "NK443": ([pod(env=[{"name": "PYTORCH_CUDA_ALLOC_CONF", "value": "x"}]), sbatch("export NCCL_DEBUG=INFO\n")], [pod(env=[{"name": "OFI_X", "value": "x"}]), pod("Deployment", None, {"nvidia.com/gpu": 1}, env=[{"name": "NCCL_DEBUG", "value": "x"}])]),
    "NK450": ([pod(resources={"aws.amazon.com/neurondevice": 1})], [pod()]),
    "NK451": ([pod(resources={NEURON: 1, "aws.amazon.com/neuroncore": 2})], [pod(), pod(resources={"aws.amazon.com/neuroncore": 2})]),
    "NK452": (
        [pod(resources={NEURON: n}) for n in (2, 6, 12, 32)] + [pod(resources={"aws.amazon.com/neuroncore": n}) for n in (12, 24)] + [pod(type_="trn2.3xlarge", resources={NEURON: 4}), pod(type_=None, resources={NEURON: 64}), pod(type_="inf2.24xlarge", resources={NEURON: 7})],
        [pod(resources={NEURON: n}) for n in (1, 4, 8, 16, "16")] + [pod(resources={"aws.amazon.com/neuroncore": n}) for n in (1, 2, 8, 32)] + [pod(type_="inf2.48xlarge", resources={NEURON: 12}), pod(type_=None, resources={NEURON: 6}), pod(resources={NEURON: "$CHIPS"}), pod(type_="inf2.24xlarge", resources={"aws.amazon.com/neuroncore": 12})],
    ),
    "NK453": (
        [json.dumps(json.loads(pod()) | {"spec": {"containers": [{"name": "x", "image": "e/x:1", "resources": r}]}}) for r in ({"requests": {NEURON: 1}}, {"requests": {NEURON: 1}, "limits": {NEURON: 4}})],
        [pod(), json.dumps(json.loads(pod()) | {"spec": {"containers": [{"name": "x", "image": "e/x:1", "resources": {"requests": {NEURON: 1}, "limits": {NEURON: 1}}}]}})],
    ),
    "NK454": (
        [pod(spec={"schedulerName": "my-scheduler"})],
        [pod(spec={"schedulerName": "default-scheduler"}), (pod(spec={"schedulerName": "my-scheduler"}), json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "my-scheduler"}, "spec": {}})), pod(spec={"schedulerName": "${SCHEDULER}"})],
    ),
    "NK455": ([daemon_set(TRN1, "inf2.xlarge")], [daemon_set(*neuron_types()), pod(type_=TRN1), daemon_set("m5.large")]),
    "NK456": (
        [workers("MPIJob", 6, launcher={"env": [{"name": "NEURON_ULTRASERVER_NODE_CONFIG", "value": "4"}]}), workers("MPIJob", 3, env=[{"name": "NEURON_ULTRASERVER_NODE_CONFIG", "value": "2"}])],
        [workers("MPIJob", 8, launcher={"env": [{"name": "NEURON_ULTRASERVER_NODE_CONFIG", "value": "4"}]}), workers("MPIJob", 6)],
    ),
    "NK457": (
        [workers("PyTorchJob", 1, env=[{"name": "NUM_NODES", "value": "2"}]), workers("PyTorchJob", 2, args=["torchrun --nnodes=4 t.py"]), sbatch("export NUM_NODES=2\n"), sbatch("srun torchrun --nnodes 2 t.py\n")],
        [workers("PyTorchJob", 2, env=[{"name": "NUM_NODES", "value": "2"}]), sbatch("export NUM_NODES=$SLURM_NNODES\n"), workers("PyTorchJob", 2, args=["torchrun --nnodes=1:4 t.py"])],
    ),
    "NK458": (
        [(pod(spec={"nodeSelector": {"team": "a"}}), node_pool({"team": "b"})), (pod(spec={"nodeSelector": {"teem": "a"}}), node_pool({"team": "a"}))],
        [(pod(spec={"nodeSelector": {"team": "a"}}), node_pool({"team": "a"})), pod(spec={"nodeSelector": {"team": "a"}}), (pod(), node_pool({"team": "a"})), (pod(spec={"nodeSelector": {"team": "$TEAM"}}), node_pool({"team": "a"}))],
    ),
    "NK470": (
        [job_definition(container(linuxParameters=devices(neuron=n))) for n in (0, 1, 15, 17)],
        [job_definition(), job_definition(container(instanceType=REMOVED, linuxParameters=devices(neuron=1))), job_definition(container(privileged=True, linuxParameters=devices(neuron=0)))],
    ),
    "NK471": ([job_definition(container(linuxParameters=devices(efa=n))) for n in (0, 1, 16)], [job_definition(), job_definition(container(instanceType="trn1.2xlarge", linuxParameters=devices(1, 0)))]),
    "NK472": ([job_definition(container(resourceRequirements=[{"type": "MEMORY", "value": str(n)}])) for n in (524288, 508416)] + [job_definition(container(resourceRequirements=[], memory=524288))], [job_definition(container(resourceRequirements=[{"type": "MEMORY", "value": "492830"}]))]),
    "NK473": ([job_definition(ranges=r) for r in (("0:2",), ("0:4",), ("1:",), ("0", "2:3"), ("x",), ("3:0",))], [job_definition(ranges=r) for r in (("0:3",), ("0:",), (":",), ("0", "1:3"), ("0:1", "2:"), ("0:3", "1:2"))]),
    "NK474": ([job_definition(container(ulimits=REMOVED)), job_definition(container(ulimits=[{"name": "memlock", "softLimit": 65536, "hardLimit": 65536}]))], [job_definition()]),
    "NK475": ([job_definition(container(linuxParameters={"devices": devices()["devices"]}))], [job_definition(), job_definition(container(linuxParameters={"devices": devices()["devices"]}, mountPoints=[{"containerPath": "/dev/shm"}]))]),
    "NK476": ([job_definition(nodes=6, ranges=tuple("012345")), job_definition(container(), container(instanceType=TRN2), ranges=("0", "1:3"))], [job_definition(nodes=5, ranges=tuple("01234"))]),
    "NK477": ([job_definition(container(linuxParameters={"sharedMemorySize": 1, "devices": [*devices(efa=7)["devices"], {"hostPath": "/dev/infiniband/uverbs7", "containerPath": "/dev/uverbs7"}]}))], [job_definition()]),
    "NK478": ([job_definition(platformCapabilities=["FARGATE"]), job_in_template(compute_environment(Type="FARGATE")), job_in_template(compute_environment("UNMANAGED"))], [job_definition(platformCapabilities=["EC2"]), job_in_template(compute_environment())]),
    "NK479": ([job_definition(container(vcpus=192, resourceRequirements=[])), job_definition(container(resourceRequirements=[{"type": "VCPU", "value": "129"}]))], [job_definition()]),
    "NK480": ([used_template(compute_environment(LaunchTemplate={"LaunchTemplateId": {"Ref": "Nodes"}, **v}), data(TRN1)) for v in ({}, {"Version": "$Latest"})], [used_template(compute_environment(), data(TRN1)), used_template(compute_environment(LaunchTemplate={"LaunchTemplateId": {"Ref": "Nodes"}, "Version": "3"}), data(TRN1))]),
    "NK490": ([sbatch(gres="neuron:64"), sbatch(gres="neuroncore:16"), sbatch(gres="neuron:64", constraint=""), sbatch(gres="neuroncore:256")], [sbatch(), sbatch(gres="neuroncore:64"), sbatch(gres="neuroncore:128"), sbatch(gres="gpu:8"), sbatch(gres="neuron:16", constraint="")]),
    "NK491": ([sbatch("srun python t.py\n", cpus_per_task="12")], [sbatch("srun --cpus-per-task=12 python t.py\n", cpus_per_task="12"), sbatch("export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\nsrun python t.py\n", cpus_per_task="12"), sbatch("python t.py\n", cpus_per_task="12"), sbatch("srun python t.py\n")]),
    "NK492": ([sbatch(ntasks="5"), sbatch(ntasks="6", ntasks_per_node="")], [sbatch(ntasks="4"), sbatch(ntasks="8", ntasks_per_node="")]),
    "NK493": ([sbatch().replace("MASTER_ADDR", "OTHER")], [sbatch(), sbatch(nodes="1").replace("MASTER_ADDR", "OTHER"), sbatch("export NEURON_RT_ROOT_COMM_ID=x:1\n").replace("MASTER_ADDR", "OTHER"), sbatch("srun torchrun --rdzv_endpoint=$H:1 t.py\n").replace("MASTER_ADDR", "OTHER")]),
}  # fmt: skip

ELSEWHERE = {
    "NK003": "tests/unit/scripts/test_lint_verb.py: files that cannot be read",
    "NK402": "test_intrinsics: what was not checked",
}


def texts(case: Text) -> tuple[str, ...]:
    return (case,) if isinstance(case, str) else case


def cases(which: int) -> Iterator[Any]:
    for check_id, row in TABLE.items():
        for number, case in enumerate(row[which]):
            yield pytest.param(check_id, texts(case), id=f"{check_id}-{number}")


@pytest.mark.parametrize(("check_id", "inputs"), list(cases(0)))
def test_a_check_finds_its_fault(check_id: str, inputs: tuple[str, ...]) -> None:
    found = [f for f in linted(*inputs).findings if f.id == check_id]
    assert found
    for finding in found:
        assert finding.source
        assert finding.text().isprintable()
        assert finding.severity is CHECKS[check_id].severity


@pytest.mark.parametrize(("check_id", "inputs"), list(cases(1)))
def test_a_check_lets_pass(check_id: str, inputs: tuple[str, ...]) -> None:
    assert check_id not in ids(*inputs)


def test_every_check_has_good_and_bad_cases() -> None:
    assert sorted({**TABLE, **ELSEWHERE}) == sorted(CHECKS)
    assert all(bad and good for bad, good in TABLE.values())


def test_checks_say_why_and_where_from() -> None:
    assert all(check.title and check.why and check.source for check in CHECKS.values())


def test_a_shared_id_is_the_rules_own() -> None:
    rules = {rule.id: rule for rule in ALL_RULES}
    for check in CHECKS.values():
        if check.id in rules:
            assert (check.severity, check.title) == (rules[check.id].severity, rules[check.id].title)
        else:
            assert check.id.startswith(("NK00", "NK4"))


@pytest.mark.parametrize(
    "text",
    [
        launch_template(), used_template(node_group(), data()), security_group(), job_definition(), pod(), workers("PyTorchJob", 4),
        sbatch(), user_data(SCRIPT), used_template(compute_environment(), data(TRN1, **base64(user_data(SCRIPT)))),
    ],
)  # fmt: skip
def test_the_inputs_that_faults_are_put_into_have_none(text: str) -> None:
    assert [f.text() for f in linted(text).findings if f.severity is not Severity.INFO] == []
