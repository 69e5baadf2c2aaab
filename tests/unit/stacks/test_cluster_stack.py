"""A cluster: the launch template, the compute environment and the queue that a multi-node Neuron job needs."""

import json
import re
from typing import Any

import pytest

from stacks.constructs.launch_template_parts import NOT_BOUGHT
from stacks.constructs.run_dashboard import STEP_PATTERN
from stacks.domain import names
from stacks.domain.pinned import UNRESOLVED_AMI
from stacks.domain.shipped_jobs import shipped_directory
from tests.synthesized import (
    BLOCK,
    BROUGHT,
    RESERVATION,
    Template,
    cluster,
    plans,
    resources,
    template,
    the_one,
)

pytestmark = [pytest.mark.node, pytest.mark.xdist_group("cdk")]

EVERY_CLUSTER = [
    ("trn1-first-hour", "train"),
    ("trn1-pilot", "train"),
    ("trn2-pilot", "train"),
    ("trn2-bought-block", "train"),
    ("trn1-everything", "train"),
    ("trn1-everything", "one"),
    ("trn3-gen2", "train"),
]
WITH_EFA = [
    pair for pair in EVERY_CLUSTER if pair not in (("trn1-first-hour", "train"), ("trn1-everything", "one"))
]
every_cluster = pytest.mark.parametrize(("plan_name", "name"), EVERY_CLUSTER)
with_efa = pytest.mark.parametrize(("plan_name", "name"), WITH_EFA)


def launch_data(plan_name: str, name: str = "train") -> Template:
    data: Template = the_one(cluster(plan_name, name), "AWS::EC2::LaunchTemplate")["LaunchTemplateData"]
    return data


def compute(plan_name: str, name: str = "train") -> Template:
    found: Template = the_one(cluster(plan_name, name), "AWS::Batch::ComputeEnvironment")["ComputeResources"]
    return found


class TestBroughtNetwork:
    PLAN = "trn1-brought-network"

    def test_no_network_is_made(self) -> None:
        assert plans()[self.PLAN].stacks.all == ("pilot-storage", "pilot-cluster-train", "pilot-cluster-one")
        for stack in plans()[self.PLAN].stacks.all:
            types = {resource["Type"] for resource in template(self.PLAN, stack)["Resources"].values()}
            assert not {t for t in types if t.startswith("AWS::EC2::")} - {
                "AWS::EC2::LaunchTemplate",
                "AWS::EC2::PlacementGroup",
            }

    def test_nodes_are_in_the_users_subnet_and_group(self) -> None:
        assert compute(self.PLAN)["Subnets"] == [BROUGHT["subnet_id"]]
        groups = [i["Groups"] for i in launch_data(self.PLAN)["NetworkInterfaces"]]
        assert groups == [[BROUGHT["security_group_id"]]] * 9

    def test_without_interfaces_in_the_template_the_group_is_the_compute_environments(self) -> None:
        assert "NetworkInterfaces" not in launch_data(self.PLAN, "one")
        assert compute(self.PLAN, "one")["SecurityGroupIds"] == [BROUGHT["security_group_id"]]


class TestUnlistedType:
    """Nothing published says how many network cards a Trn3 node has: one of 200 Gbps a chip, as on Trn2, is assumed."""

    def test_the_name_is_the_users_and_one_card_a_chip_is_assumed(self) -> None:
        assert compute("trn3-gen2")["InstanceTypes"] == ["trn3p.48xlarge"]
        found = [
            (i["NetworkCardIndex"], i["InterfaceType"]) for i in launch_data("trn3-gen2")["NetworkInterfaces"]
        ]
        assert found == [(0, "efa"), (1, "efa-only"), (2, "efa-only"), (3, "efa-only")]

    def test_vcpus_are_the_ultraservers_divided_by_its_members(self) -> None:
        assert compute("trn3-gen2")["MaxvCpus"] == 2304


class TestNetworkInterfaces:
    @with_efa
    def test_they_are_the_plans(self, plan_name: str, name: str) -> None:
        found = launch_data(plan_name, name)["NetworkInterfaces"]
        assert [(i["NetworkCardIndex"], i["DeviceIndex"], i["InterfaceType"]) for i in found] == [
            (i.card_index, i.device_index, i.interface_type)
            for i in plans()[plan_name].cluster(name).network_interfaces
        ]

    @with_efa
    def test_the_device_index_counts_on_each_card(self, plan_name: str, name: str) -> None:
        """P-03: counted over the instance, the launch fails with "device index exceeds max"."""
        assert {i["DeviceIndex"] for i in launch_data(plan_name, name)["NetworkInterfaces"]} <= {0, 1}

    @with_efa
    def test_each_is_deleted_with_its_node_and_has_the_efa_group(self, plan_name: str, name: str) -> None:
        for interface in launch_data(plan_name, name)["NetworkInterfaces"]:
            assert interface["DeleteOnTermination"] is True
            (group,) = interface["Groups"]
            assert "EfaSecurityGroup" in group["Fn::ImportValue"]

    @with_efa
    def test_none_names_a_subnet_or_asks_for_a_public_address(self, plan_name: str, name: str) -> None:
        """P-05, and EC2 takes a public address with a single interface only."""
        for interface in launch_data(plan_name, name)["NetworkInterfaces"]:
            assert not {"SubnetId", "AssociatePublicIpAddress"} & set(interface)

    def test_sixteen_efa_devices_of_a_trn2_leave_a_slot_for_the_tasks_own_interface(self) -> None:
        found = launch_data("trn2-pilot")["NetworkInterfaces"]
        assert [i["NetworkCardIndex"] for i in found] == list(range(16))
        assert [i["InterfaceType"] for i in found] == ["efa", *["efa-only"] * 15]

    def test_eight_efa_devices_of_a_trn1_beside_a_plain_primary_interface(self) -> None:
        found = launch_data("trn1-pilot")["NetworkInterfaces"]
        assert found[0]["InterfaceType"] == "interface"
        assert sum(i["InterfaceType"] == "efa-only" for i in found) == 8

    @every_cluster
    def test_groups_stand_on_interfaces_or_on_the_compute_environment_and_never_on_both(
        self, plan_name: str, name: str
    ) -> None:
        """P-06: Batch refuses both, and a node without a group would be in the default one."""
        on_interfaces = "NetworkInterfaces" in launch_data(plan_name, name)
        on_compute_environment = bool(compute(plan_name, name).get("SecurityGroupIds"))
        assert on_interfaces != on_compute_environment

    def test_a_type_without_efa_needs_no_interfaces(self) -> None:
        (group,) = compute("trn1-first-hour")["SecurityGroupIds"]
        assert "EfaSecurityGroup" in group["Fn::ImportValue"]


class TestLaunchTemplate:
    @every_cluster
    def test_what_batch_chooses_is_not_in_it(self, plan_name: str, name: str) -> None:
        assert not {"ImageId", "InstanceType", "IamInstanceProfile", "KeyName", "SecurityGroupIds"} & set(
            launch_data(plan_name, name)
        )

    @every_cluster
    def test_the_metadata_service_asks_for_a_token(self, plan_name: str, name: str) -> None:
        options = launch_data(plan_name, name)["MetadataOptions"]
        assert options == {"HttpTokens": "required", "HttpPutResponseHopLimit": 2}

    @every_cluster
    def test_the_amis_own_root_device_is_encrypted_and_as_large_as_asked(
        self, plan_name: str, name: str
    ) -> None:
        planned = plans()[plan_name].cluster(name)
        (mapping,) = launch_data(plan_name, name)["BlockDeviceMappings"]
        assert planned.ami is not None
        assert mapping["DeviceName"] == planned.ami.root_device_name
        assert mapping["Ebs"] == {
            "Encrypted": True,
            "VolumeType": "gp3",
            "VolumeSize": planned.root_volume_gib,
            "DeleteOnTermination": True,
        }

    @every_cluster
    def test_user_data_is_mime_as_batch_wants_it(self, plan_name: str, name: str) -> None:
        """P-96: Batch takes nothing else."""
        assert launch_data(plan_name, name)["UserData"]["Fn::Base64"].startswith(
            "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="
        )

    @every_cluster
    def test_efa_is_installed_where_there_is_efa(self, plan_name: str, name: str) -> None:
        installs = "efa_installer.sh" in launch_data(plan_name, name)["UserData"]["Fn::Base64"]
        assert installs == ((plan_name, name) in WITH_EFA)


class TestCapacity:
    def test_on_demand_asks_for_nothing_special(self) -> None:
        assert not {"InstanceMarketOptions", "CapacityReservationSpecification"} & set(
            launch_data("trn1-pilot")
        )

    def test_a_block_has_its_market_type_and_its_id(self) -> None:
        """P-16: an id that is accepted but not carried starts on-demand nodes."""
        data = launch_data("trn2-bought-block")
        assert data["InstanceMarketOptions"] == {"MarketType": "capacity-block"}
        target = data["CapacityReservationSpecification"]["CapacityReservationTarget"]
        assert target == {"CapacityReservationId": BLOCK}

    def test_a_block_that_is_not_bought_cannot_start_anything_else(self) -> None:
        data = launch_data("trn2-pilot")
        assert data["InstanceMarketOptions"] == {"MarketType": "capacity-block"}
        target = data["CapacityReservationSpecification"]["CapacityReservationTarget"]
        assert target == {"CapacityReservationId": NOT_BOUGHT}

    def test_a_reservation_is_aimed_at_and_has_no_market_type(self) -> None:
        data = launch_data("trn1-everything")
        assert "InstanceMarketOptions" not in data
        target = data["CapacityReservationSpecification"]["CapacityReservationTarget"]
        assert target == {"CapacityReservationId": RESERVATION}

    @pytest.mark.parametrize("plan_name", ["trn2-pilot", "trn2-bought-block"])
    def test_no_placement_group_with_a_block(self, plan_name: str) -> None:
        """P-17: reserved capacity is not inside a new group; 11 of 16 nodes start."""
        assert resources(cluster(plan_name), "AWS::EC2::PlacementGroup") == {}
        assert "PlacementGroup" not in compute(plan_name)

    def test_a_placement_group_for_several_nodes(self) -> None:
        assert the_one(cluster("trn1-pilot"), "AWS::EC2::PlacementGroup")["Strategy"] == "cluster"
        assert compute("trn1-pilot")["PlacementGroup"] == {"Ref": "PlacementGroup"}

    def test_none_for_a_single_node(self) -> None:
        assert "PlacementGroup" not in compute("trn1-first-hour")


class TestComputeEnvironment:
    @every_cluster
    def test_it_grows_from_nothing_to_exactly_the_clusters_nodes(self, plan_name: str, name: str) -> None:
        found, planned = compute(plan_name, name), plans()[plan_name].cluster(name)
        assert (found["MinvCpus"], found["MaxvCpus"]) == (0, planned.nodes * planned.vcpus_per_node)
        assert "DesiredvCpus" not in found, "Batch's own; CloudFormation would put it back"
        assert found["InstanceTypes"] == [planned.instance_type]

    @every_cluster
    def test_batch_takes_multi_node_jobs_on_it(self, plan_name: str, name: str) -> None:
        whole = the_one(cluster(plan_name, name), "AWS::Batch::ComputeEnvironment")
        assert (whole["Type"], whole["ComputeResources"]["Type"]) == ("MANAGED", "EC2")
        assert len(whole["ComputeResources"]["Subnets"]) == 1, "one zone"

    @every_cluster
    def test_the_neuron_ami_or_a_placeholder_that_cannot_be_launched(self, plan_name: str, name: str) -> None:
        (configuration,) = compute(plan_name, name)["Ec2Configuration"]
        resolved = plan_name in ("trn2-bought-block", "trn1-everything")
        expected = "ami-0123456789abcdef0" if resolved else UNRESOLVED_AMI
        assert configuration == {"ImageType": "ECS_AL2023", "ImageIdOverride": expected}

    @every_cluster
    def test_a_changed_launch_template_is_picked_up(self, plan_name: str, name: str) -> None:
        """P-96: with $Latest nothing changes; the number of the version does."""
        version = compute(plan_name, name)["LaunchTemplate"]["Version"]
        assert version == {"Fn::GetAtt": ["LaunchTemplate", "LatestVersionNumber"]}

    @every_cluster
    def test_it_can_be_updated_in_place_without_ending_jobs(self, plan_name: str, name: str) -> None:
        whole = the_one(cluster(plan_name, name), "AWS::Batch::ComputeEnvironment")
        assert whole["ReplaceComputeEnvironment"] is False
        assert whole["UpdatePolicy"]["TerminateJobsOnUpdate"] is False
        assert whole["ComputeResources"]["AllocationStrategy"] == "BEST_FIT_PROGRESSIVE"
        assert "ServiceRole" not in whole, "the service-linked role: an update in place needs it"
        assert "ComputeEnvironmentName" not in whole

    @every_cluster
    def test_a_job_that_can_never_start_leaves_the_queue(self, plan_name: str, name: str) -> None:
        queue = the_one(cluster(plan_name, name), "AWS::Batch::JobQueue")
        actions = {action["Reason"]: action for action in queue["JobStateTimeLimitActions"]}
        assert set(actions) == {
            "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE",
            "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT",
            "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY",
        }
        for action in actions.values():
            assert (action["State"], action["Action"]) == ("RUNNABLE", "CANCEL")
            assert 600 <= action["MaxTimeSeconds"] <= 86_400, "Batch's limits"


class TestLogsAndDashboard:
    @every_cluster
    def test_logs_are_kept_a_month_and_go_with_the_stack(self, plan_name: str, name: str) -> None:
        """P-76: a group that outlives its stack stops the next deploy; this one has a generated name and is ours."""
        (group,) = resources(cluster(plan_name, name), "AWS::Logs::LogGroup").values()
        assert group["Properties"]["RetentionInDays"] == 30
        assert "LogGroupName" not in group["Properties"]
        assert group["DeletionPolicy"] == "Delete"

    @every_cluster
    def test_every_metric_on_the_dashboard_is_one_that_aws_sends(self, plan_name: str, name: str) -> None:
        sent = {
            ("AWS/EC2", "CPUUtilization", "InstanceType"),
            ("AWS/Logs", "IncomingLogEvents", "LogGroupName"),
            ("AWS/S3", "BucketSizeBytes", "BucketName"),
        }
        widgets = dashboard(plan_name, name)["widgets"]
        metrics = [m for w in widgets if w["type"] == "metric" for m in w["properties"]["metrics"]]
        assert {tuple(metric[:3]) for metric in metrics} == sent
        assert launch_data(plan_name, name)["Monitoring"] == {"Enabled": True}, "the first one needs it"

    @every_cluster
    def test_the_widgets_fill_the_grid_without_overlap(self, plan_name: str, name: str) -> None:
        squares = [
            (x, y)
            for w in dashboard(plan_name, name)["widgets"]
            for x in range(w["x"], w["x"] + w["width"])
            for y in range(w["y"], w["y"] + w["height"])
        ]
        assert len(squares) == len(set(squares)) == 24 * 12


@pytest.mark.parametrize(
    "line",
    ["step 20/60 loss 3.2100 tokens 512 0.12s", "step=20 lr=0.1 loss=3.21", '{"step": 20, "loss": 3.21e0}'],
)
def test_the_dashboard_reads_training_steps_out_of_the_log(line: str) -> None:
    match = re.search(STEP_PATTERN.replace("(?<", "(?P<"), line)
    assert match
    assert (int(match["step"]), float(match["loss"])) == (20, 3.21)


def test_the_dashboard_reads_what_the_smoke_job_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(shipped_directory("neuronkit:smoke")))
    from smokejob.metrics import step_line

    match = re.search(STEP_PATTERN.replace("(?<", "(?P<"), step_line(7, 60, 1.5, 512, 0.25))
    assert match
    assert (int(match["step"]), float(match["loss"])) == (7, 1.5)


def dashboard(plan_name: str, name: str) -> dict[str, Any]:
    """With every reference written as its logical id."""
    body = the_one(cluster(plan_name, name), "AWS::CloudWatch::Dashboard")["DashboardBody"]
    parts = body["Fn::Join"][1]
    text = "".join(part if isinstance(part, str) else next(iter(part.values())) for part in parts)
    found: dict[str, Any] = json.loads(text)
    return found


@every_cluster
def test_the_outputs_have_the_promised_names(plan_name: str, name: str) -> None:
    assert set(cluster(plan_name, name)["Outputs"]) == {
        names.OUTPUT_COMPUTE_ENVIRONMENT_ARN,
        names.OUTPUT_JOB_QUEUE_ARN,
        names.OUTPUT_JOB_ROLE_ARN,
        names.OUTPUT_EXECUTION_ROLE_ARN,
        names.OUTPUT_LOG_GROUP,
        names.OUTPUT_DASHBOARD,
    }
