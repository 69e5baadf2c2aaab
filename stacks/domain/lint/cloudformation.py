"""A CloudFormation template: who uses which launch template, and each resource by its own checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stacks.domain.catalog import Catalog, InstanceType
from stacks.domain.lint import batch_jobs, launch_templates, security_groups
from stacks.domain.lint.launch_templates import TemplateUse
from stacks.domain.lint.report import Report
from stacks.domain.lint.subjects import check_type_name, find_type
from stacks.domain.lint.template import Resource, Template
from stacks.domain.lint.tree import Node

LAUNCH_TEMPLATE = "AWS::EC2::LaunchTemplate"
NODE_GROUP = "AWS::EKS::Nodegroup"
COMPUTE_ENVIRONMENT = "AWS::Batch::ComputeEnvironment"
JOB_DEFINITION = "AWS::Batch::JobDefinition"
AUTO_SCALING_GROUP = "AWS::AutoScaling::AutoScalingGroup"
CAPACITY_PROVIDER = "AWS::ECS::CapacityProvider"
EKS_USER, BATCH_USER = "an EKS managed node group", "AWS Batch"
NEURON_AMI_TYPES = ("AL2023_x86_64_NEURON", "CUSTOM")
OLD_ACCELERATED_AMI_TYPE = "AL2_x86_64_GPU"
"""Held NVIDIA and Neuron alike."""
MOVING_VERSIONS = ("$Latest", "$Default", "")


def check(root: Node, catalog: Catalog, report: Report) -> None:
    template = Template(root, report)
    uses = {
        r.logical_id: TemplateUse(
            r.properties.get("LaunchTemplateData"),
            r.raw.get("LaunchTemplateData"),
            value_of=template.value_of,
        )
        for r in template.of_type(LAUNCH_TEMPLATE)
    }
    names = (
        (r.properties.get("LaunchTemplateName").text, uses[r.logical_id])
        for r in template.of_type(LAUNCH_TEMPLATE)
    )
    by_name = {**uses, **{f"name {name}": use for name, use in names if name}}
    for group in template.of_type(NODE_GROUP):
        _check_node_group(
            group, _template_of(group.properties.get("LaunchTemplate"), by_name), catalog, report
        )
    for environment in template.of_type(COMPUTE_ENVIRONMENT):
        _check_compute_environment(environment, template, by_name, catalog, report)
    for use in _of_capacity_providers(template, by_name):
        use.nodes_work_alone = True
    security_groups.check(template, _groups_on_efa(uses.values(), catalog, report), report)
    for definition in template.of_type(JOB_DEFINITION):
        batch_jobs.check(definition.properties, catalog, report)


def check_launch_template_data(root: Node, catalog: Catalog, report: Report) -> None:
    """The document that `aws ec2 create-launch-template` takes, or its inner part."""
    data = root if root.get("LaunchTemplateData").missing else root.get("LaunchTemplateData")
    launch_templates.check(TemplateUse(data, data), catalog, report)


def _groups_on_efa(uses: Iterable[TemplateUse], catalog: Catalog, report: Report) -> list[str]:
    found: list[str] = []
    for use in uses:
        on_efa = [i for i in launch_templates.check(use, catalog, report) if i.takes_efa]
        groups = [group for interface in on_efa for group in interface.node.get("Groups").elements()]
        found += [group.reference for group in groups if group.reference]
        if any(group.reference is None and group.unknown for group in groups):
            report.skip(
                "NK420", on_efa[0].node.get("Groups").place, "the security group is defined elsewhere"
            )
    return found


def _template_of(named: Node, uses: dict[str, TemplateUse]) -> TemplateUse | None:
    """`named` is the user's LaunchTemplate; `uses` has each template by logical id and by name."""
    for key in ("Id", "LaunchTemplateId", "Name", "LaunchTemplateName"):
        part = named.get(key)
        found = uses.get(part.reference or "") or uses.get(f"name {part.text}")
        if found is not None:
            return found
    return None


def _of_capacity_providers(template: Template, uses: dict[str, TemplateUse]) -> Iterator[TemplateUse]:
    """Of the Auto Scaling groups behind ECS capacity providers: an ECS task is on one node."""
    providers = (p.properties.get("AutoScalingGroupProvider") for p in template.of_type(CAPACITY_PROVIDER))
    used = {provider.get("AutoScalingGroupArn").reference for provider in providers}
    for group in template.of_type(AUTO_SCALING_GROUP):
        found = _template_of(group.properties.get("LaunchTemplate"), uses)
        if group.logical_id in used and found is not None:
            yield found


def _types(nodes: Node, catalog: Catalog, report: Report) -> list[InstanceType]:
    found = [check_type_name(n.text, n.place, catalog, report) for n in nodes.elements() if n.known]
    return [t for t in found if t]


def _check_node_group(group: Resource, use: TemplateUse | None, catalog: Catalog, report: Report) -> None:
    properties = group.properties
    types = _types(properties.get("InstanceTypes"), catalog, report)
    ami, capacity = properties.get("AmiType"), properties.get("CapacityType")
    if use is not None:
        use.types += types
        use.user, use.ami_type = EKS_USER, ami
        use.is_block = capacity.text == "CAPACITY_BLOCK"
        inner = find_type(catalog, use.data.get("InstanceType").text)
        types = types or ([inner] if inner else [])
        _check_capacity_types(use, capacity, report)
    own_ami = use is not None and not use.data.get("ImageId").missing
    _check_ami_type(ami, types, own_ami, report)


def _check_capacity_types(use: TemplateUse, capacity: Node, report: Report) -> None:
    market = use.data.get("InstanceMarketOptions", "MarketType")
    if market.unknown or capacity.unknown:
        return
    if (market.text == "capacity-block") != (capacity.text == "CAPACITY_BLOCK") and (
        market.text or use.is_block
    ):
        if use.is_block and market.missing and not use.data.get("CapacityReservationSpecification").missing:
            return  # NK424 says so
        report.add(
            "NK428",
            capacity.place,
            given=f"CapacityType {capacity.text or 'not set'}, MarketType {market.text or 'not set'}",
            allowed="CAPACITY_BLOCK and capacity-block",
            fix="write both",
        )


def _check_ami_type(ami: Node, types: list[InstanceType], own_ami: bool, report: Report) -> None:
    if not any(t.is_neuron for t in types) or ami.unknown or own_ami or ami.text == OLD_ACCELERATED_AMI_TYPE:
        return
    if ami.missing:
        report.skip("NK436", ami.place, "no AmiType: which AMI EKS chooses is not known")
    elif ami.text not in NEURON_AMI_TYPES:
        name = next(t.name for t in types if t.is_neuron)
        report.add(
            "NK436",
            ami.place,
            given=ami.text,
            allowed=NEURON_AMI_TYPES[0],
            message=f"{name} needs the Neuron driver and an x86_64 AMI",
            fix=f"write {NEURON_AMI_TYPES[0]}",
        )


def _check_compute_environment(
    resource: Resource, template: Template, uses: dict[str, TemplateUse], catalog: Catalog, report: Report
) -> None:
    resources = resource.properties.get("ComputeResources")
    types = _types(resources.get("InstanceTypes"), catalog, report)
    use = _template_of(resources.get("LaunchTemplate"), uses)
    if use is not None:
        use.types += types
        use.user = BATCH_USER
        _check_beside_template(resources, use, report)
    _check_batch_ami(resources, types, use, report)
    if any(_multi_node(d.properties) for d in template.of_type(JOB_DEFINITION)):
        _check_multi_node_support(resource.properties, resources, report)


def _check_beside_template(resources: Node, use: TemplateUse, report: Report) -> None:
    groups = resources.get("SecurityGroupIds")
    if groups.elements() and use.data.get("NetworkInterfaces").elements():
        report.add(
            "NK415",
            groups.place,
            message="the launch template has network interfaces",
            fix="remove it here, and write Groups on every interface",
        )
    group = resources.get("PlacementGroup")
    if group.text and use.data.get("InstanceMarketOptions", "MarketType").text == "capacity-block":
        launch_templates.add_group_in_block(group, report)
    version = resources.get("LaunchTemplate", "Version")
    if not version.unknown and version.text in MOVING_VERSIONS:
        report.add(
            "NK480", version.place, given=version.text, fix="write !GetAtt TEMPLATE.LatestVersionNumber"
        )


def _check_batch_ami(
    resources: Node, types: list[InstanceType], use: TemplateUse | None, report: Report
) -> None:
    if not any(t.is_neuron for t in types):
        return
    configurations = resources.get("Ec2Configuration")
    image = resources.get("ImageId")
    has_own = not image.missing or (use is not None and not use.data.get("ImageId").missing)
    if has_own or configurations.unknown:
        return
    for configuration in configurations.elements() or (configurations,):
        if configuration.get("ImageIdOverride").missing:
            report.add(
                "NK436",
                configuration.place,
                given=configuration.get("ImageType").text,
                allowed="ImageIdOverride with the ECS Neuron AMI",
                message="Batch has no image type with the Neuron driver",
                fix="write Ec2Configuration: [{ImageType: ECS_AL2023, ImageIdOverride: ami-…}]",
            )


def _multi_node(definition: Node) -> bool:
    return definition.get("Type").text == "multinode"


def _check_multi_node_support(properties: Node, resources: Node, report: Report) -> None:
    kind = resources.get("Type")
    if kind.text == "SPOT":
        report.add(
            "NK214",
            kind.place,
            given="SPOT",
            allowed="EC2",
            message="AWS Batch runs no multi-node jobs on spot capacity",
            fix="write EC2",
        )
    elif kind.text.startswith("FARGATE"):
        report.add("NK478", kind.place, given=kind.text, allowed="EC2", fix="write EC2")
    managed = properties.get("Type")
    if managed.text.upper() == "UNMANAGED":
        report.add("NK478", managed.place, given=managed.text, allowed="MANAGED", fix="write MANAGED")


def check_multi_node_support(root: Node, report: Report) -> None:
    """For multi-node job definitions that are in other files."""
    for resource in Template(root, Report(report.file)).of_type(COMPUTE_ENVIRONMENT):
        _check_multi_node_support(resource.properties, resource.properties.get("ComputeResources"), report)
