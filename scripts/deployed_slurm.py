"""What the deployed template of a Slurm cluster says is billed: its compute nodes, and what AWS PCS has besides them."""

from __future__ import annotations

from collections.abc import Mapping

from scripts.deployed_templates import Template, capacity, of_type, properties_of, referred, root_volume_gib
from stacks.domain.catalog import Catalog
from stacks.domain.cost import NodeGroup, SlurmPart

_GROUP = "AWS::PCS::ComputeNodeGroup"
_CLUSTER = "AWS::PCS::Cluster"


def slurm_nodes(
    name: str, template: Template, capacity_names: Mapping[str, str], catalog: Catalog
) -> NodeGroup | None:
    """Those of all groups in a queue together, as a plan counts them. None where the template does not say all of it."""
    groups = compute_groups(template)
    types = {_instance_type(group) for group in groups}
    data = [group_launch_template(template, group) for group in groups]
    volumes = {root_volume_gib(one) for one in data}
    scaling = [group.get("ScalingConfiguration", {}) for group in groups]
    sizes = [one.get("MaxInstanceCount") for one in scaling]
    known = catalog.get(types.pop() or "") if len(types) == 1 else None
    volume_gib = volumes.pop() if len(volumes) == 1 else None
    if known is None or volume_gib is None or not all(isinstance(size, int) for size in sizes):
        return None
    kind, id_ = capacity(data[0], template)
    is_spot = groups[0].get("PurchaseOption") == "SPOT"
    return NodeGroup(
        name=name,
        instance_type=known.name,
        nodes=sum(sizes),
        root_volume_gib=volume_gib,
        capacity_name=capacity_names.get(id_, id_),
        capacity_kind="spot" if is_spot else kind,
        runs_always=all(one.get("MinInstanceCount") == one["MaxInstanceCount"] for one in scaling),
    )


def slurm_part(name: str, template: Template) -> SlurmPart | None:
    """None where the template does not say all of it."""
    cluster = next((properties for _, properties in of_type(template, _CLUSTER)), {})
    in_queues = _groups_in_queues(template)
    logins = [group for id_, group in of_type(template, _GROUP) if id_ not in in_queues]
    login = logins[0] if len(logins) == 1 else {}
    login_type = _instance_type(login)
    volume_gib = root_volume_gib(group_launch_template(template, login))
    lustre = [
        properties.get("StorageCapacity") for _, properties in of_type(template, "AWS::FSx::FileSystem")
    ]
    size = cluster.get("Size")
    lustre_gib = [gib for gib in lustre if isinstance(gib, int)]
    if login_type is None or volume_gib is None or not isinstance(size, str) or len(lustre_gib) < len(lustre):
        return None
    mode = cluster.get("SlurmConfiguration", {}).get("Accounting", {}).get("Mode")
    return SlurmPart(
        name=name,
        clusters=1,
        controller_size=size,
        accounting=mode == "STANDARD",
        login_instance_type=login_type,
        login_volume_gib=volume_gib,
        storage_kind="lustre" if lustre else "efs",
        lustre_gib=sum(lustre_gib),
    )


def _groups_in_queues(template: Template) -> frozenset[str]:
    named = (
        referred(item.get("ComputeNodeGroupId"))
        for _, queue in of_type(template, "AWS::PCS::Queue")
        for item in queue.get("ComputeNodeGroupConfigurations") or ()
    )
    return frozenset(id_ for id_ in named if id_)


def compute_groups(template: Template) -> list[Template]:
    in_queues = _groups_in_queues(template)
    return [group for id_, group in of_type(template, _GROUP) if id_ in in_queues]


def _instance_type(group: Template) -> str | None:
    configs = group.get("InstanceConfigs") or [{}]
    found = configs[0].get("InstanceType") if len(configs) == 1 else None
    return found if isinstance(found, str) else None


def group_launch_template(template: Template, group: Template) -> Template:
    id_ = referred(group.get("CustomLaunchTemplate", {}).get("TemplateId"))
    data: Template = properties_of(template, id_).get("LaunchTemplateData", {})
    return data
