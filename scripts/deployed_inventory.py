"""What the deployed templates say is billed. Only what they say in so many words: the resources themselves are not read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scripts.deployed_fleet import fleet_nodes, fleet_part
from scripts.deployed_shift import sharings_of
from scripts.deployed_slurm import slurm_nodes, slurm_part
from scripts.deployed_templates import (
    Template,
    capacity,
    count,
    of_type,
    properties_of,
    referred,
    root_volume_gib,
)
from stacks.domain.catalog import Catalog
from stacks.domain.cost import FleetPart, Inventory, NodeGroup, SlurmPart, counted_once
from stacks.domain.plan import Plan


@dataclass(frozen=True, slots=True)
class DeployedInventory:
    inventory: Inventory
    unread: tuple[str, ...]
    """Node groups and Slurm parts that a template does not give in so many words."""


def deployed_inventory(templates: Mapping[str, Template], plan: Plan, catalog: Catalog) -> DeployedInventory:
    """`templates` by stack. Capacity has the plan's name where its id is the plan's."""
    bought = (cluster.capacity for cluster in plan.clusters)
    names = {id_: one.name for one in bought for id_ in (one.id, *one.ids) if id_}
    groups: list[NodeGroup] = []
    slurm: list[SlurmPart] = []
    fleets: list[FleetPart] = []
    unread: list[str] = []
    for stack, template in templates.items():
        for logical_id, environment in of_type(template, "AWS::Batch::ComputeEnvironment"):
            group = batch_nodes(stack, template, environment, names, catalog)
            if group is None:
                unread.append(f"nodes of {logical_id} in {stack}")
            else:
                groups.append(group)
        for logical_id, _ in of_type(template, "AWS::PCS::Cluster"):
            nodes = slurm_nodes(_cluster_name(stack), template, names, catalog)
            part = slurm_part(_cluster_name(stack), template)
            groups += [nodes] if nodes else []
            slurm += [part] if part else []
            if nodes is None or part is None:
                unread.append(f"nodes and controller of {logical_id} in {stack}")
        if "-fleet-" in stack:
            fleet = stack.rpartition("-fleet-")[2]
            fleets.append(fleet_part(fleet, template))
            fleet_groups = fleet_nodes(fleet, template, names, catalog)
            groups += fleet_groups or ()
            if fleet_groups is None:
                unread.append(f"nodes of fleet {fleet} in {stack}")
    sharings = (sharing for template in templates.values() for sharing in sharings_of(template))
    inventory = Inventory(
        region=plan.region,
        node_groups=counted_once(groups, sharings),
        nat_gateways=count(templates, "AWS::EC2::NatGateway"),
        public_addresses=count(templates, "AWS::EC2::EIP"),
        dashboards=count(templates, "AWS::CloudWatch::Dashboard"),
        log_groups=count(templates, "AWS::Logs::LogGroup"),
        buckets=count(templates, "AWS::S3::Bucket"),
        slurm=tuple(slurm),
        fleets=tuple(fleets),
        node_images=count(templates, "AWS::ImageBuilder::ImagePipeline"),
    )
    return DeployedInventory(inventory, tuple(unread))


def _cluster_name(stack: str) -> str:
    return stack.rpartition("-cluster-")[2]


def batch_nodes(
    stack: str, template: Template, environment: Template, names: Mapping[str, str], catalog: Catalog
) -> NodeGroup | None:
    resources = environment.get("ComputeResources", {})
    types, vcpus = resources.get("InstanceTypes"), resources.get("MaxvCpus")
    data = batch_launch_template(template, resources)
    volume_gib = root_volume_gib(data)
    known = catalog.get(types[0]) if isinstance(types, list) and len(types) == 1 else None
    if known is None or not isinstance(vcpus, int) or volume_gib is None:
        return None
    kind, id_ = capacity(data, template)
    return NodeGroup(
        name=_cluster_name(stack),
        instance_type=known.name,
        nodes=vcpus // known.vcpus,
        root_volume_gib=volume_gib,
        capacity_name=names.get(id_, id_),
        capacity_kind=kind,
    )


def batch_launch_template(template: Template, resources: Template) -> Template:
    id_ = referred(resources.get("LaunchTemplate", {}).get("LaunchTemplateId"))
    data: Template = properties_of(template, id_).get("LaunchTemplateData", {})
    return data
