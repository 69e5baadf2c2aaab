"""A fleet's tasks and services: chips by hand and exclusive, drains that let a stream end, counts that no deploy resets."""

import itertools
import json

import pytest

from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.render.engines import compile_container, engine_container, fallback_container
from tests.fleet_plans import ENGINE_SECRET, FLEET_PLANS, HUB_TOKEN
from tests.synthesized import Template, fleet, network, plans, resources

pytestmark = [pytest.mark.node, pytest.mark.xdist_group("cdk")]
every_fleet = pytest.mark.parametrize("plan", FLEET_PLANS)
TASK, SERVICE = "AWS::ECS::TaskDefinition", "AWS::ECS::Service"
TASK_BYTES_MAX = 64 * 1024


def planned(plan: str) -> FleetPlan:
    return plans()[plan].fleet("chat")


def neuron_tasks(plan: str) -> list[Template]:
    """In the order of the slices."""
    found = resources(fleet(plan), TASK)
    return [body["Properties"] for id_, body in found.items() if id_ not in ("CompileTask", "GpuTask")]


def services(plan: str) -> dict[str, Template]:
    return resources(fleet(plan), SERVICE)


def containers(task: Template) -> dict[str, Template]:
    return {container["Name"]: container for container in task["ContainerDefinitions"]}


@every_fleet
def test_there_is_a_task_and_a_service_for_each_slice(plan: str) -> None:
    count = planned(plan).replicas_per_node
    assert len(neuron_tasks(plan)) == count
    neuron = [id_ for id_ in services(plan) if id_ != "GpuService"]
    assert len(neuron) == count
    assert all(task["RequiresCompatibilities"] for task in neuron_tasks(plan))


@every_fleet
def test_devices_are_handed_out_in_one_way_only_and_to_one_replica_each(plan: str) -> None:
    managed = plan == "fleet-managed"
    devices = []
    for task in neuron_tasks(plan):
        engine = containers(task)["engine"]
        by_hand = engine["LinuxParameters"].get("Devices", [])
        counted = [r for r in engine.get("ResourceRequirements", []) if r["Type"] == "NeuronDevice"]
        assert bool(by_hand) is not managed
        assert counted == ([{"Type": "NeuronDevice", "Value": "ALL"}] if managed else [])
        assert all(device["ContainerPath"] == device["HostPath"] for device in by_hand)
        devices += [device["HostPath"] for device in by_hand]
        for container in task["ContainerDefinitions"]:
            assert "AWS_NEURON_VISIBLE_DEVICES" not in str(container.get("Environment"))
    chips = [f"/dev/neuron{index}" for index in range(planned(plan).chips_per_node)]
    assert sorted(devices) == sorted(set(devices))
    assert set(devices) <= set(chips)


@every_fleet
def test_on_nodes_a_static_port_and_memory_make_a_replica_exclusive(plan: str) -> None:
    if plan == "fleet-managed":
        return
    tasks = neuron_tasks(plan)
    ports = []
    for task in tasks:
        (port,) = containers(task)["engine"]["PortMappings"]
        assert port["HostPort"] == port["ContainerPort"] != 0
        ports.append(port["HostPort"])
        assert task["NetworkMode"] == ("bridge" if len(tasks) > 1 else "host")
        (constraint,) = task["PlacementConstraints"]
        assert constraint["Expression"] == f"attribute:ecs.instance-type == {planned(plan).instance_type}"
    assert len(set(ports)) == len(ports)
    reserved = sum(c["MemoryReservation"] for t in tasks for c in t["ContainerDefinitions"])
    host = planned(plan).memory_gib_per_node * 1024
    assert host * 0.5 < reserved < host * 0.97


@every_fleet
def test_no_memory_limit_kills_a_compiler_and_nobody_counts_processors(plan: str) -> None:
    if plan == "fleet-managed":
        return
    for task in neuron_tasks(plan):
        assert not {"Cpu", "Memory"} & set(task)
        assert all("Memory" not in container for container in task["ContainerDefinitions"])


@every_fleet
def test_containers_are_what_the_plan_renders(plan: str) -> None:
    whole, one = plans()[plan], planned(plan)
    pairs = list(zip(neuron_tasks(plan), (engine_container(whole, one, s) for s in one.slices), strict=True))
    if one.fallback:
        pairs.append((fleet(plan)["Resources"]["GpuTask"]["Properties"], fallback_container(whole, one)))
    for task, rendered in pairs:
        engine = containers(task)["engine"]
        assert engine["Image"] == rendered.image
        assert engine["EntryPoint"] == list(rendered.entry_point)
        assert engine["Command"] == list(rendered.command)
        assert engine["StopTimeout"] == rendered.stop_timeout_seconds
        assert engine["LinuxParameters"].get("SharedMemorySize") == rendered.shared_memory_mib
        assert {(u["Name"], u["SoftLimit"]) for u in engine["Ulimits"]} >= {
            ("memlock", -1),
            ("nofile", 65536),
        }
        added = engine["LinuxParameters"].get("Capabilities", {"Add": []})["Add"]
        assert added == list(rendered.capabilities)
        given = {each["Name"]: each["Value"] for each in engine["Environment"]}
        assert dict(rendered.environment).items() <= given.items()
        assert ("NEURONKIT_BUCKET" in given) is rendered.needs_bucket


@every_fleet
def test_rights_on_the_host_are_explained_in_the_template(plan: str) -> None:
    for body in resources(fleet(plan), TASK).values():
        engine = body["Properties"]["ContainerDefinitions"][0]
        added = engine.get("LinuxParameters", {}).get("Capabilities", {}).get("Add")
        assert bool(added) is ("neuronkit:security" in body.get("Metadata", {}))


@every_fleet
def test_a_task_definition_stays_below_what_ecs_takes(plan: str) -> None:
    for body in resources(fleet(plan), TASK).values():
        assert len(json.dumps(body["Properties"])) < TASK_BYTES_MAX * 0.75


@every_fleet
def test_secrets_come_by_reference_and_only_the_execution_role_reads_them(plan: str) -> None:
    role = str(fleet(plan)["Resources"]["ExecutionRole"])
    for task in neuron_tasks(plan):
        secrets = {each["Name"]: each["ValueFrom"] for each in containers(task)["engine"].get("Secrets", [])}
        assert all(arn in role for arn in secrets.values())
        assert "Secrets" not in containers(task).get("exporter", {})
    if plan == "fleet-public":
        assert secrets == {"HF_TOKEN": HUB_TOKEN, "KEY": ENGINE_SECRET}
    assert "secretsmanager" not in str(fleet(plan)["Resources"]["ReplicaRole"])


@every_fleet
def test_a_sidecar_tells_the_metrics_of_its_own_engine(plan: str) -> None:
    shares = planned(plan).replicas_per_node > 1
    for task in neuron_tasks(plan):
        engine, exporter = (containers(task)[name] for name in ("engine", "exporter"))
        given = {each["Name"]: each["Value"] for each in exporter["Environment"]}
        assert given["NEURONKIT_ENGINE_PORT"] == str(engine["PortMappings"][0]["ContainerPort"])
        assert (given["NEURONKIT_FLEET"], given["NEURONKIT_SIDE"]) == ("chat", "neuron")
        assert exporter["Image"] == engine["Image"]
        # On a bridge, each container has a loopback of its own.
        assert exporter.get("Links") == (["engine:engine"] if shares else None)
        assert given.get("NEURONKIT_ENGINE_HOST") == ("engine" if shares else None)
        assert exporter["Essential"] is (plan != "fleet-brought")


@every_fleet
def test_services_use_the_provider_after_association_and_rule_and_keep_their_count(plan: str) -> None:
    for id_, body in services(plan).items():
        service = body["Properties"]
        provider = "GpuNodesCapacityProvider" if id_ == "GpuService" else "NodesCapacityProvider"
        assert service["CapacityProviderStrategy"] == [{"CapacityProvider": {"Ref": provider}, "Weight": 1}]
        assert "LaunchType" not in service
        assert "ListenerRule" in body["DependsOn"]
        assert ("CapacityProviderAssociation" in body["DependsOn"]) is (plan != "fleet-managed")
        assert service["DesiredCount"] == {"Fn::If": ["IsFirstDeploy", 0, {"Ref": "AWS::NoValue"}]}
        assert service["AvailabilityZoneRebalancing"] == "DISABLED"
    assert fleet(plan)["Parameters"]["FirstDeploy"]["Default"] == "false"


@every_fleet
def test_deployments_take_no_more_nodes_and_count_compiles_rightly(plan: str) -> None:
    for id_, body in services(plan).items():
        service, one = body["Properties"], planned(plan)
        deployment = service["DeploymentConfiguration"]
        least = one.fallback.replicas_minimum if id_ == "GpuService" and one.fallback else one.nodes_minimum
        # ECS rounds half of one task up to one, and nothing could be replaced.
        many = least > 1
        assert (deployment["MinimumHealthyPercent"], deployment["MaximumPercent"]) == (50 if many else 0, 100)
        breaker = deployment["DeploymentCircuitBreaker"]
        assert (breaker["Enable"], breaker["Rollback"]) == (True, True)
        assert breaker["ThresholdConfiguration"] == {"Type": "COUNT", "Value": 2}
        assert service["HealthCheckGracePeriodSeconds"] >= one.times.start_high


@every_fleet
def test_artifacts_are_mounted_with_tls_through_the_access_point_as_the_tasks_role(plan: str) -> None:
    tasks = [body["Properties"] for body in resources(fleet(plan), TASK).values()]
    volumes = list(itertools.chain.from_iterable(task.get("Volumes", []) for task in tasks))
    if plan == "fleet-brought":
        assert volumes == []
        assert not resources(fleet(plan), "AWS::EFS::FileSystem")
        return
    assert len(volumes) == len(tasks)
    for volume in volumes:
        settings = volume["EFSVolumeConfiguration"]
        assert settings["TransitEncryption"] == "ENABLED"
        assert settings["AuthorizationConfig"] == {
            "AccessPointId": {"Fn::GetAtt": ["ArtifactsAccessPoint", "AccessPointId"]},
            "IAM": "ENABLED",
        }
    storage = fleet(plan)["Resources"]["Artifacts"]
    assert storage["DeletionPolicy"] == storage["UpdateReplacePolicy"] == "Retain"
    assert storage["Properties"]["Encrypted"] is True
    (statement,) = storage["Properties"]["FileSystemPolicy"]["Statement"]
    assert statement["Effect"] == "Deny"
    for body in services(plan).values():
        assert "ArtifactsMountTarget" in body["DependsOn"]


class TestCompileTask:
    @every_fleet
    def test_there_is_one_where_something_is_compiled_beforehand(self, plan: str) -> None:
        rendered = compile_container(plans()[plan], planned(plan))
        assert ("CompileTask" in fleet(plan)["Resources"]) is (rendered is not None)

    def test_on_a_node_it_takes_the_first_slices_port_so_that_no_replica_shares_its_chips(self) -> None:
        task = fleet("fleet-inf2")["Resources"]["CompileTask"]["Properties"]
        (port,) = containers(task)["engine"]["PortMappings"]
        assert port["HostPort"] == planned("fleet-inf2").slices[0].port
        outputs = fleet("fleet-inf2")["Outputs"]
        assert outputs["CompileCapacityProvider"]["Value"] == {"Ref": "NodesCapacityProvider"}
        assert "CompileSubnetId" not in outputs

    def test_without_chips_it_runs_on_fargate_and_asks_for_nothing_that_fargate_refuses(self) -> None:
        task = fleet("fleet-slices")["Resources"]["CompileTask"]["Properties"]
        engine = containers(task)["engine"]
        assert task["RequiresCompatibilities"] == ["FARGATE"]
        assert "LinuxParameters" not in engine
        assert "PlacementConstraints" not in task
        assert [limit["Name"] for limit in engine["Ulimits"]] == ["nofile"]
        assert engine["StopTimeout"] <= 120
        outputs = fleet("fleet-slices")["Outputs"]
        assert outputs["CompileCapacityProvider"]["Value"] == "FARGATE"
        assert {"CompileSubnetId", "CompileSecurityGroupId"} <= set(outputs)


class TestGpuSide:
    @pytest.mark.parametrize("plan", ["fleet-fallback", "fleet-weighted"])
    def test_ecs_counts_gpus_itself(self, plan: str) -> None:
        task = fleet(plan)["Resources"]["GpuTask"]["Properties"]
        engine = containers(task)["engine"]
        assert engine["ResourceRequirements"] == [{"Type": "GPU", "Value": "1"}]
        assert engine["PortMappings"][0]["HostPort"] == 0
        assert task["NetworkMode"] == "bridge"

    @pytest.mark.parametrize("plan", ["fleet-fallback", "fleet-weighted"])
    def test_its_controller_alone_scales_it(self, plan: str) -> None:
        targets = resources(fleet(plan), "AWS::ApplicationAutoScaling::ScalableTarget")
        assert targets
        assert "GpuService" not in str(targets)

    def test_one_auto_scaling_group_serves_one_provider(self) -> None:
        groups = resources(fleet("fleet-fallback"), "AWS::AutoScaling::AutoScalingGroup")
        assert set(groups) == {"NodesAutoScalingGroup", "GpuNodesAutoScalingGroup"}


def test_nodes_stay_in_the_zone_of_their_capacity() -> None:
    subnets = resources(network("fleet-inf2"), "AWS::EC2::Subnet")
    assert subnets["NodeSubnet"]["Properties"]["AvailabilityZoneId"] == "use2-az3"
