"""A fleet's nodes: one type, grown from zero by a capacity provider that can also be deleted."""

import pytest

from stacks.constructs.launch_template_parts import NOT_BOUGHT, UNRESOLVED_NODE_AMI
from tests.fleet_plans import AMI, BLOCK, FLEET_PLANS, RESERVATION
from tests.synthesized import Template, fleet, plans, resources, the_one

pytestmark = [pytest.mark.node, pytest.mark.xdist_group("cdk")]
ON_EC2 = tuple(name for name in FLEET_PLANS if name != "fleet-managed")
on_ec2 = pytest.mark.parametrize("plan", ON_EC2)
every_fleet = pytest.mark.parametrize("plan", FLEET_PLANS)


def part(plan: str, id_: str) -> Template:
    properties: Template = fleet(plan)["Resources"][id_]["Properties"]
    return properties


def launch_data(plan: str, prefix: str = "Nodes") -> Template:
    data: Template = part(plan, f"{prefix}LaunchTemplate")["LaunchTemplateData"]
    return data


@on_ec2
def test_nodes_come_without_a_public_address_with_imdsv2_and_the_disk_that_the_file_asks_for(
    plan: str,
) -> None:
    data = launch_data(plan)
    assert data["MetadataOptions"] == {"HttpTokens": "required", "HttpPutResponseHopLimit": 2}
    (interface,) = data["NetworkInterfaces"]
    assert interface["AssociatePublicIpAddress"] is False
    (disk,) = data["BlockDeviceMappings"]
    assert disk["Ebs"]["VolumeSize"] == 200
    assert disk["Ebs"]["Encrypted"] is True
    assert data["ImageId"] == (UNRESOLVED_NODE_AMI if plan == "fleet-unresolved" else AMI)


@on_ec2
def test_the_agent_joins_the_fleets_cluster_and_stops_as_late_as_a_stream_needs(plan: str) -> None:
    joined = launch_data(plan)["UserData"]["Fn::Base64"]["Fn::Join"][1]
    text = "".join(each if isinstance(each, str) else f"<{each['Ref']}>" for each in joined)
    settings = dict(line.split("=", 1) for line in text.splitlines() if line.startswith("ECS_"))
    times = plans()[plan].fleet("chat").times
    assert settings["ECS_CLUSTER"] == "<Cluster>"
    assert settings["ECS_CONTAINER_STOP_TIMEOUT"] == f"{times.stop}s"
    assert settings["ECS_IMAGE_PULL_BEHAVIOR"] == "prefer-cached"
    assert 0 < int(settings["ECS_RESERVED_MEMORY"]) <= 2048


@on_ec2
def test_the_group_holds_one_type_from_zero_to_what_is_needed_and_is_known_as_ecs_own(plan: str) -> None:
    group = part(plan, "NodesAutoScalingGroup")
    planned = plans()[plan].fleet("chat")
    assert (group["MinSize"], group["MaxSize"]) == ("0", str(planned.nodes_maximum))
    assert "DesiredCapacity" not in group
    assert "MixedInstancesPolicy" not in group
    assert launch_data(plan)["InstanceType"] == planned.instance_type
    tags = [tag for tag in group["Tags"] if tag["Key"] == "AmazonECSManaged"]
    assert tags == [{"Key": "AmazonECSManaged", "Value": "true", "PropagateAtLaunch": True}]


@every_fleet
def test_nothing_that_a_replacement_would_find_in_use_has_a_name(plan: str) -> None:
    for type_, name in {
        "AWS::AutoScaling::AutoScalingGroup": "AutoScalingGroupName",
        "AWS::ECS::CapacityProvider": "Name",
        "AWS::ECS::Service": "ServiceName",
        "AWS::ECS::Cluster": "ClusterName",
        "AWS::ElasticLoadBalancingV2::TargetGroup": "Name",
        "AWS::Lambda::Function": "FunctionName",
        "AWS::IAM::Role": "RoleName",
        "AWS::Logs::LogGroup": "LogGroupName",
    }.items():
        assert all(name not in body.get("Properties", {}) for body in resources(fleet(plan), type_).values())


@on_ec2
def test_protection_is_off_on_both_sides_so_that_the_stack_can_be_deleted(plan: str) -> None:
    """Both or neither: with one alone, or with both, nodes are left behind or never go."""
    for prefix in ("Nodes", "GpuNodes"):
        if f"{prefix}CapacityProvider" not in fleet(plan)["Resources"]:
            continue
        provider = part(plan, f"{prefix}CapacityProvider")["AutoScalingGroupProvider"]
        assert part(plan, f"{prefix}AutoScalingGroup")["NewInstancesProtectedFromScaleIn"] is False
        assert provider["ManagedTerminationProtection"] == "DISABLED"
        assert provider["ManagedDraining"] == "ENABLED"
        assert provider["ManagedScaling"] == {
            "Status": "ENABLED",
            "TargetCapacity": 100,
            "InstanceWarmupPeriod": 300,
        }
        assert provider["AutoScalingGroupArn"] == {"Ref": f"{prefix}AutoScalingGroup"}


@every_fleet
def test_every_provider_on_ec2_is_associated_and_the_default_strategy_is_neurons(plan: str) -> None:
    if plan == "fleet-managed":
        return
    association = the_one(fleet(plan), "AWS::ECS::ClusterCapacityProviderAssociations")
    made = [{"Ref": id_} for id_ in resources(fleet(plan), "AWS::ECS::CapacityProvider")]
    assert [each for each in association["CapacityProviders"] if each != "FARGATE"] == made
    (default,) = association["DefaultCapacityProviderStrategy"]
    assert default["CapacityProvider"] == {"Ref": "NodesCapacityProvider"}
    uses_fargate = plan == "fleet-slices"
    assert ("FARGATE" in association["CapacityProviders"]) is uses_fargate


def test_capacity_is_bought_as_the_file_says() -> None:
    assert "InstanceMarketOptions" not in launch_data("fleet-inf2")
    block = launch_data("fleet-slices")
    assert block["InstanceMarketOptions"] == {"MarketType": "capacity-block"}
    assert block["CapacityReservationSpecification"]["CapacityReservationTarget"] == {
        "CapacityReservationId": BLOCK
    }
    reservation = launch_data("fleet-brought")
    assert "InstanceMarketOptions" not in reservation
    assert RESERVATION in str(reservation["CapacityReservationSpecification"])


def test_what_is_not_bought_starts_nothing() -> None:
    target = launch_data("fleet-unresolved")["CapacityReservationSpecification"]["CapacityReservationTarget"]
    assert target == {"CapacityReservationId": NOT_BOUGHT}


def test_on_spot_nodes_drain_before_they_are_taken_away() -> None:
    spot = launch_data("fleet-asleep")
    assert spot["InstanceMarketOptions"] == {"MarketType": "spot"}
    assert "ECS_ENABLE_SPOT_INSTANCE_DRAINING=true" in str(spot["UserData"])
    assert "SPOT_INSTANCE_DRAINING" not in str(launch_data("fleet-inf2")["UserData"])


def test_a_provider_of_managed_instances_is_nowhere_associated_by_hand() -> None:
    """It is its cluster's when it is made, and PutClusterCapacityProviders refuses it."""
    assert not resources(fleet("fleet-managed"), "AWS::ECS::ClusterCapacityProviderAssociations")
    assert part("fleet-managed", "NodesCapacityProvider")["ClusterName"]
    for task in resources(fleet("fleet-managed"), "AWS::ECS::TaskDefinition").values():
        for container in task["Properties"]["ContainerDefinitions"]:
            assert "SharedMemorySize" not in container.get("LinuxParameters", {})


def test_managed_instances_have_one_type_a_disk_and_roles_that_pass_only_each_other() -> None:
    template = fleet("fleet-managed")
    assert not resources(template, "AWS::AutoScaling::AutoScalingGroup")
    provider = part("fleet-managed", "NodesCapacityProvider")
    assert "AutoScalingGroupProvider" not in provider
    assert provider["ClusterName"] == {"Ref": "Cluster"}
    launch = provider["ManagedInstancesProvider"]["InstanceLaunchTemplate"]
    assert launch["CapacityOptionType"] == "SPOT"
    assert launch["InstanceRequirements"]["AllowedInstanceTypes"] == ["inf2.8xlarge"]
    assert launch["StorageConfiguration"] == {"StorageSizeGiB": 200}
    (passing,) = part("fleet-managed", "InfrastructureRole")["Policies"]
    (statement,) = passing["PolicyDocument"]["Statement"]
    assert statement["Action"] == "iam:PassRole"
    assert statement["Resource"] == {"Fn::GetAtt": ["ManagedNodeRole", "Arn"]}


def test_in_a_brought_network_nodes_are_in_the_users_group_as_well() -> None:
    (interface,) = launch_data("fleet-brought")["NetworkInterfaces"]
    assert interface["Groups"] == [
        {"Fn::GetAtt": ["NeuronSecurityGroup", "GroupId"]},
        "sg-0aaaabbbbccccdddd",
    ]
    assert part("fleet-brought", "NodesAutoScalingGroup")["VPCZoneIdentifier"] == ["subnet-0aaaabbbbccccdddd"]
