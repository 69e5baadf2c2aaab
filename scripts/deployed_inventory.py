"""What the deployed templates say is billed. Only what they say in so many words: the resources themselves are not read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stacks.domain.catalog import Catalog
from stacks.domain.cost import Inventory, NodeGroup
from stacks.domain.plan import Plan

Template = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DeployedInventory:
    inventory: Inventory
    unread: tuple[str, ...]
    """Node groups that a template does not give in so many words."""


def deployed_inventory(templates: Mapping[str, Template], plan: Plan, catalog: Catalog) -> DeployedInventory:
    """`templates` by stack. Capacity has the plan's name where its id is the plan's."""
    names = {cluster.capacity.id: cluster.capacity.name for cluster in plan.clusters if cluster.capacity.id}
    groups: list[NodeGroup] = []
    unread: list[str] = []
    for stack, template in templates.items():
        for logical_id, environment in _of_type(template, "AWS::Batch::ComputeEnvironment"):
            group = _node_group(stack, template, environment, names, catalog)
            if group is None:
                unread.append(f"nodes of {logical_id} in {stack}")
            else:
                groups.append(group)
    inventory = Inventory(
        region=plan.region,
        node_groups=tuple(groups),
        nat_gateways=_count(templates, "AWS::EC2::NatGateway"),
        public_addresses=_count(templates, "AWS::EC2::EIP"),
        dashboards=_count(templates, "AWS::CloudWatch::Dashboard"),
        log_groups=_count(templates, "AWS::Logs::LogGroup"),
        buckets=_count(templates, "AWS::S3::Bucket"),
    )
    return DeployedInventory(inventory, tuple(unread))


def _node_group(
    stack: str, template: Template, environment: Template, names: Mapping[str, str], catalog: Catalog
) -> NodeGroup | None:
    resources = environment.get("ComputeResources", {})
    types, vcpus = resources.get("InstanceTypes"), resources.get("MaxvCpus")
    data = _launch_template_data(template, resources)
    volume_gib = _root_volume_gib(data)
    known = catalog.get(types[0]) if isinstance(types, list) and len(types) == 1 else None
    if known is None or not isinstance(vcpus, int) or volume_gib is None:
        return None
    kind, id_ = _capacity(data)
    return NodeGroup(
        name=stack.rpartition("-cluster-")[2],
        instance_type=known.name,
        nodes=vcpus // known.vcpus,
        root_volume_gib=volume_gib,
        capacity_name=names.get(id_, id_),
        capacity_kind=kind,
    )


def _launch_template_data(template: Template, resources: Template) -> Template:
    named = resources.get("LaunchTemplate", {}).get("LaunchTemplateId", {})
    logical_id = named.get("Ref") if isinstance(named, Mapping) else None
    found = template.get("Resources", {}).get(logical_id, {})
    data: Template = found.get("Properties", {}).get("LaunchTemplateData", {})
    return data


def _root_volume_gib(data: Template) -> int | None:
    mappings = data.get("BlockDeviceMappings") or [{}]
    size = mappings[0].get("Ebs", {}).get("VolumeSize")
    return size if isinstance(size, int) else None


def _capacity(data: Template) -> tuple[str, str]:
    """Kind and id, as the launch template of the kit's clusters has them."""
    target = data.get("CapacityReservationSpecification", {}).get("CapacityReservationTarget", {})
    id_ = str(target.get("CapacityReservationId", ""))
    if data.get("InstanceMarketOptions", {}).get("MarketType") == "capacity-block":
        return "capacity-block", id_
    return ("reservation", id_) if id_ else ("on-demand", "")


def _count(templates: Mapping[str, Template], type_name: str) -> int:
    return sum(len(list(_of_type(template, type_name))) for template in templates.values())


def _of_type(template: Template, type_name: str) -> Iterator[tuple[str, Template]]:
    for logical_id, resource in template.get("Resources", {}).items():
        if resource.get("Type") == type_name:
            yield logical_id, resource.get("Properties", {})
