"""Plan -> CDK app: which stacks, their names, tags and settings. The same for tests, `neuronkit synth` and `cdk deploy`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aws_cdk as cdk

from stacks.cluster_stack import ClusterStack
from stacks.constructs.fleet_place import FleetPlace
from stacks.domain.brought_network import BroughtNetwork
from stacks.domain.buildable import refuse_unbuildable
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.names import CLUSTER_TAG, FLEET_TAG, LIFETIME_TAG, SHIFT_TAG
from stacks.domain.plan import ClusterPlan, Plan
from stacks.domain.shift_plan import ShiftPlan
from stacks.fleet_stack import FleetStack
from stacks.image_stack import ImageStack
from stacks.network_stack import NetworkStack
from stacks.shift_stack import ShiftStack
from stacks.slurm_stack import SlurmStack
from stacks.storage_stack import StorageStack

# Here and not in cdk.json, so that no way of making the app can miss them.
FEATURE_FLAGS: dict[str, Any] = {
    # An environment's network cannot be deleted under its clusters; "weak" would let it, and needs an intrinsic
    # function that only newer tools know.
    "@aws-cdk/core:defaultCrossStackReferences": "strong",
    "@aws-cdk/core:explicitStackTags": True,
    "@aws-cdk/core:enablePartitionLiterals": True,
    "@aws-cdk/core:target-partitions": ["aws"],
    "@aws-cdk/core:aspectPrioritiesMutating": True,
    "@aws-cdk/core:validateAgainstDefaultRules": True,
    "@aws-cdk/aws-iam:minimizePolicies": True,
    "@aws-cdk/aws-s3:publicAccessBlockedByDefault": True,
    # Nothing of this machine, and nothing for AWS's statistics, in a template.
    "@aws-cdk/core:enableAdditionalMetadataCollection": False,
    "aws:cdk:enable-path-metadata": False,
    "aws:cdk:enable-asset-metadata": False,
    "aws:cdk:version-reporting": False,
    "aws:cdk:disable-creation-stack-traces": True,
}

# These do without the one tag that is meant to change: CloudFormation would replace the first two, and the nodes with
# them, in the middle of a run, and may write the first value of the others again, over what programs and people wrote.
REPLACED_WITH_THEIR_TAGS = [
    "AWS::Batch::ComputeEnvironment",
    "AWS::EC2::PlacementGroup",
    "AWS::ElasticLoadBalancingV2::ListenerRule",
    "AWS::SSM::Parameter",
]


def build_app(plan: Plan, directory: Path, *, validate: bool = False) -> cdk.App:
    """An app that synthesises into `directory`."""
    app = new_app(directory, validate=validate)
    add_stacks(app, plan)
    return app


def new_app(directory: Path | None = None, *, validate: bool = True) -> cdk.App:
    """Without a directory, where the CDK CLI wants it. `validate` lets the CDK check the templates: seconds."""
    return cdk.App(
        # Node keeps the working directory that it was started in.
        outdir=str(directory.resolve()) if directory else None,
        post_cli_context=FEATURE_FLAGS,
        analytics_reporting=False,
        stack_traces=False,
        tree_metadata=False,
        builtin_cloud_formation_validation=validate,
    )


def add_stacks(app: cdk.App, plan: Plan) -> None:
    refuse_unbuildable(plan)
    names = plan.stacks
    network = _network_stack(app, plan)
    subnet_id, security_group_id = _nodes_network(network, plan.brought_network)
    storage = StorageStack(app, names.storage, **_stack_arguments(plan, {}))
    stacks: list[cdk.Stack] = [*([network] if network else []), storage, *_image_stack(app, plan, network)]
    for cluster in plan.clusters:
        tags = {CLUSTER_TAG: cluster.name}
        arguments = {
            "cluster": cluster,
            "jobs": [job for job in plan.jobs if job.cluster == cluster.name],
            "node_subnet_id": subnet_id,
            "security_group_id": security_group_id,
            "bucket": storage.bucket,
            "node_tags": {**plan.lasting_tags, **tags, "Name": f"{plan.name}-{cluster.name}"},
            **_stack_arguments(plan, tags),
        }
        stacks.append(_cluster_stack(app, names.of_cluster(cluster.name), cluster, arguments))
    stacks += [_fleet_stack(app, plan, fleet, network, storage) for fleet in plan.fleets]
    stacks += [_shift_stack(app, plan, shift, storage) for shift in plan.shifts]
    _tag(stacks, plan)


def _shift_stack(app: cdk.App, plan: Plan, shift: ShiftPlan, storage: StorageStack) -> ShiftStack:
    """It names both sides and depends on neither: each can be made anew alone."""
    return ShiftStack(
        app,
        plan.stacks.of_shift(shift.name),
        environment=plan.name,
        shift=shift,
        stack_names=plan.stacks,
        bucket=storage.bucket,
        **_stack_arguments(plan, {SHIFT_TAG: shift.name}),
    )


def _cluster_stack(app: cdk.App, id_: str, cluster: ClusterPlan, arguments: dict[str, Any]) -> cdk.Stack:
    """Of the cluster's scheduler."""
    if cluster.slurm is not None:
        return SlurmStack(app, id_, slurm=cluster.slurm, **arguments)
    return ClusterStack(app, id_, **arguments)


def _fleet_stack(
    app: cdk.App, plan: Plan, fleet: FleetPlan, network: NetworkStack | None, storage: StorageStack
) -> FleetStack:
    tags = {FLEET_TAG: fleet.name}
    return FleetStack(
        app,
        plan.stacks.of_fleet(fleet.name),
        plan=plan,
        fleet=fleet,
        place=_fleet_place(network, plan, public=fleet.settings.listener.public),
        bucket=storage.bucket,
        node_tags={**plan.lasting_tags, **tags, "Name": f"{plan.name}-{fleet.name}"},
        **_stack_arguments(plan, tags),
    )


def _fleet_place(made: NetworkStack | None, plan: Plan, *, public: bool) -> FleetPlace:
    if made is not None:
        return FleetPlace(
            vpc_id=made.vpc.attr_vpc_id,
            vpc_cidr=plan.vpc_cidr,
            node_subnet_id=made.node_subnet.attr_subnet_id,
            balancer_subnet_ids=made.balancer_subnet_ids[public],
            brought_security_group_id=None,
        )
    brought = plan.brought_network
    assert brought is not None, "a plan has one or the other"
    return FleetPlace(
        vpc_id=brought.vpc_id,
        vpc_cidr=None,
        node_subnet_id=brought.subnet_id,
        balancer_subnet_ids=brought.load_balancer_subnet_ids,
        brought_security_group_id=brought.security_group_id,
    )


def _network_stack(app: cdk.App, plan: Plan) -> NetworkStack | None:
    name, cidr = plan.stacks.network, plan.vpc_cidr
    if name is None or cidr is None:
        return None
    return NetworkStack(
        app,
        name,
        vpc_cidr=cidr,
        zone_id=plan.zone_id,
        second_zone_id=plan.second_zone_id,
        balancers=frozenset(fleet.settings.listener.public for fleet in plan.fleets),
        **_stack_arguments(plan, {}),
    )


def _image_stack(app: cdk.App, plan: Plan, network: NetworkStack | None) -> list[ImageStack]:
    """Empty where no cluster needs a node image of the kit's."""
    if plan.stacks.image is None:
        return []
    subnet_id, _ = _nodes_network(network, plan.brought_network)
    made = ImageStack(
        app,
        plan.stacks.image,
        environment=plan.name,
        images=plan.built_images,
        vpc_id=_vpc_id(network, plan.brought_network),
        subnet_id=subnet_id,
        image_tags=plan.lasting_tags,
        **_stack_arguments(plan, {}),
    )
    return [made]


def _vpc_id(made: NetworkStack | None, brought: BroughtNetwork | None) -> str:
    if made is not None:
        return made.vpc.attr_vpc_id
    assert brought is not None, "a plan has one or the other"
    return brought.vpc_id


def _nodes_network(made: NetworkStack | None, brought: BroughtNetwork | None) -> tuple[str, str]:
    """The nodes' subnet and security group: the network stack's, or the user's."""
    if made is not None:
        return made.node_subnet.attr_subnet_id, made.efa_security_group.attr_group_id
    assert brought is not None, "a plan has one or the other"
    return brought.subnet_id, brought.security_group_id


def _stack_arguments(plan: Plan, extra_tags: dict[str, str]) -> dict[str, Any]:
    boundary = plan.permissions_boundary
    return {
        "env": cdk.Environment(account=plan.account, region=plan.region),
        "description": f"neuronkit environment {plan.name}",
        # The CDK CLI reads the bootstrap version from the manifest; the template need not check it again.
        "synthesizer": cdk.DefaultStackSynthesizer(
            qualifier=plan.cdk_qualifier, generate_bootstrap_version_rule=False
        ),
        "permissions_boundary": cdk.PermissionsBoundary.from_name(boundary) if boundary else None,
        # CloudFormation hands a stack's own tags on to all of its resources.
        "tags": {**plan.lasting_tags, **extra_tags},
        "termination_protection": False,
    }


def _tag(stacks: list[cdk.Stack], plan: Plan) -> None:
    for stack in stacks:
        for key, value in (*plan.tags, *stack.tags.tag_values().items()):
            excluded = REPLACED_WITH_THEIR_TAGS if key == LIFETIME_TAG else None
            cdk.Tags.of(stack).add(key, value, exclude_resource_types=excluded)
