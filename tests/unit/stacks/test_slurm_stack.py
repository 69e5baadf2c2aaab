"""A Slurm cluster on AWS PCS: what PCS reads, what its nodes run, what they may do, and what outlives the stack."""

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from stacks.constructs.launch_template_parts import NOT_BOUGHT, UNRESOLVED_NODE_AMI
from stacks.domain import names
from stacks.domain.catalog import load_catalog
from stacks.domain.render.node_bootstrap import TORCH_ROOT_COMMUNICATION_PORT
from stacks.domain.render.slurm_node_setup import compute_node_setup, login_node_setup
from stacks.domain.render.slurm_node_user_data import slurm_node_user_data
from stacks.domain.slurm_plan import SlurmPlan
from tests.synthesized import (
    BLOCK,
    BROUGHT,
    RESERVATION,
    SECOND_BLOCK,
    SLURM_PLANS,
    Template,
    assembly_directory,
    cluster,
    network,
    plans,
    resources,
    the_one,
)

pytestmark = [pytest.mark.node, pytest.mark.xdist_group("cdk")]
every_plan = pytest.mark.parametrize("plan_name", SLURM_PLANS)

NODE_GROUP = "AWS::PCS::ComputeNodeGroup"
PCS_TYPES = ("AWS::PCS::Cluster", NODE_GROUP, "AWS::PCS::Queue")
LOGIN = "LoginNodeGroup"


def slurm_plan(plan_name: str) -> SlurmPlan:
    found = plans()[plan_name].cluster("train").slurm
    assert found is not None
    return found


def node_groups(plan_name: str) -> dict[str, Template]:
    """The properties of the compute node groups, by logical id."""
    found = resources(cluster(plan_name), NODE_GROUP)
    return {id_: body["Properties"] for id_, body in found.items() if id_ != LOGIN}


def login_group(plan_name: str) -> Template:
    found: Template = resources(cluster(plan_name), NODE_GROUP)[LOGIN]["Properties"]
    return found


def launch_data(plan_name: str, group: Template) -> Template:
    id_ = group["CustomLaunchTemplate"]["TemplateId"]["Ref"]
    data: Template = cluster(plan_name)["Resources"][id_]["Properties"]["LaunchTemplateData"]
    return data


def settings(configuration: Template, name: str = "SlurmCustomSettings") -> dict[str, str]:
    return {row["ParameterName"]: row["ParameterValue"] for row in configuration.get(name, [])}


def references(part: Any) -> Iterator[str]:
    """Every logical id that is taken with Ref."""
    if isinstance(part, dict):
        if set(part) == {"Ref"}:
            yield part["Ref"]
        for value in part.values():
            yield from references(value)
    elif isinstance(part, list):
        for value in part:
            yield from references(value)


class TestIds:
    """Ref of a PCS resource is its ARN; PCS takes ids, and no checker of templates notices."""

    @every_plan
    def test_nothing_of_pcs_is_taken_with_ref(self, plan_name: str) -> None:
        of_pcs = {id_ for type_ in PCS_TYPES for id_ in resources(cluster(plan_name), type_)}
        assert not of_pcs & set(references(cluster(plan_name)))

    @every_plan
    def test_groups_and_queue_name_their_cluster_by_id(self, plan_name: str) -> None:
        for type_ in (NODE_GROUP, "AWS::PCS::Queue"):
            for body in resources(cluster(plan_name), type_).values():
                assert body["Properties"]["ClusterId"] == {"Fn::GetAtt": ["PcsCluster", "Id"]}

    @every_plan
    def test_the_outputs_have_the_promised_names(self, plan_name: str) -> None:
        outputs = cluster(plan_name)["Outputs"]
        assert set(outputs) == {
            names.OUTPUT_PCS_CLUSTER_ID,
            names.OUTPUT_LOGIN_NODE_GROUP_ID,
            names.OUTPUT_LOG_GROUP,
            names.OUTPUT_SHARED_STORAGE_ID,
        }
        assert outputs[names.OUTPUT_PCS_CLUSTER_ID]["Value"] == {"Fn::GetAtt": ["PcsCluster", "Id"]}
        assert outputs[names.OUTPUT_LOGIN_NODE_GROUP_ID]["Value"] == {"Fn::GetAtt": [LOGIN, "Id"]}


class TestCluster:
    @every_plan
    def test_it_is_the_plans(self, plan_name: str) -> None:
        found, plan = the_one(cluster(plan_name), "AWS::PCS::Cluster"), slurm_plan(plan_name)
        assert (found["Name"], found["Size"]) == (plan.cluster_name, plan.controller_size)
        assert found["Scheduler"] == {"Type": "SLURM", "Version": plan.version}
        assert found["SlurmConfiguration"]["ScaleDownIdleTimeInSeconds"] == plan.idle_seconds
        expected = "STANDARD" if plan.accounting else "NONE"
        assert found["SlurmConfiguration"]["Accounting"] == {"Mode": expected}

    @every_plan
    def test_one_subnet_and_the_nodes_group(self, plan_name: str) -> None:
        networking = the_one(cluster(plan_name), "AWS::PCS::Cluster")["Networking"]
        (interface, *_) = launch_data(plan_name, login_group(plan_name))["NetworkInterfaces"]
        assert networking == {"SubnetIds": [interface["SubnetId"]], "SecurityGroupIds": interface["Groups"]}

    @every_plan
    def test_srun_never_takes_the_port_that_a_torch_job_listens_on(self, plan_name: str) -> None:
        configuration = the_one(cluster(plan_name), "AWS::PCS::Cluster")["SlurmConfiguration"]
        first, last = (int(port) for port in settings(configuration)["SrunPortRange"].split("-"))
        assert not first <= TORCH_ROOT_COMMUNICATION_PORT <= last

    def test_settings_of_the_file_are_on_their_level(self) -> None:
        configuration = the_one(cluster("slurm-everything"), "AWS::PCS::Cluster")["SlurmConfiguration"]
        assert settings(configuration)["MinJobAge"] == "600"
        (group,) = node_groups("slurm-everything").values()
        assert settings(group["SlurmConfiguration"])["Weight"] == "2"
        queue = the_one(cluster("slurm-everything"), "AWS::PCS::Queue")
        assert settings(queue["SlurmConfiguration"]) == {"MaxTime": "1-00:00:00"}


class TestNodeGroups:
    @every_plan
    def test_names_and_scaling_are_the_plans(self, plan_name: str) -> None:
        found = [
            (group["Name"], *group["ScalingConfiguration"].values())
            for group in node_groups(plan_name).values()
        ]
        assert found == [
            (group.name, group.nodes_max, group.nodes_min) for group in slurm_plan(plan_name).node_groups
        ]

    @every_plan
    def test_a_group_is_static_or_dynamic_and_never_mixed(self, plan_name: str) -> None:
        for group in (*node_groups(plan_name).values(), login_group(plan_name)):
            scaling = group["ScalingConfiguration"]
            assert scaling["MinInstanceCount"] in (0, scaling["MaxInstanceCount"])

    @pytest.mark.parametrize("plan_name", [p for p in SLURM_PLANS if p != "slurm-brought-network"])
    def test_devices_are_counted_once_and_everywhere_alike(self, plan_name: str) -> None:
        """PCS refuses more than the records hold, and drains a node that has less than its count."""
        chips = load_catalog().instance_types[plans()[plan_name].cluster("train").instance_type].chips
        for group in node_groups(plan_name).values():
            configuration = group["SlurmConfiguration"]
            assert settings(configuration)["Gres"] == f"neuron:{chips}"
            assert configuration["GresCustomSettings"] == [
                {"Name": "neuron", "Count": str(chips), "File": f"/dev/neuron[0-{chips - 1}]"}
            ]

    def test_without_counting_neither_half_is_there(self) -> None:
        (group,) = node_groups("slurm-brought-network").values()
        assert "GresCustomSettings" not in group["SlurmConfiguration"]
        assert settings(group["SlurmConfiguration"]) == {"Features": "trn1"}

    def test_every_ultraserver_is_a_group_with_a_feature_of_its_own(self) -> None:
        groups = node_groups("slurm-ultraservers").values()
        features = [settings(group["SlurmConfiguration"])["Features"] for group in groups]
        assert features == ["trn2u,us0", "trn2u,us1"]

    @every_plan
    def test_the_queue_has_all_compute_groups_and_not_the_login_node(self, plan_name: str) -> None:
        queue = the_one(cluster(plan_name), "AWS::PCS::Queue")
        found = [row["ComputeNodeGroupId"] for row in queue["ComputeNodeGroupConfigurations"]]
        assert found == [{"Fn::GetAtt": [id_, "Id"]} for id_ in node_groups(plan_name)]
        assert queue["Name"] == slurm_plan(plan_name).queue

    @pytest.mark.parametrize(
        ("plan_name", "option"),
        [
            ("slurm-trn1", "ONDEMAND"),
            ("slurm-everything", "ONDEMAND"),
            ("slurm-trn2-block", "CAPACITY_BLOCK"),
            ("slurm-brought-network", "SPOT"),
        ],
    )
    def test_nodes_are_bought_as_the_file_says(self, plan_name: str, option: str) -> None:
        (group,) = node_groups(plan_name).values()
        assert group["PurchaseOption"] == option
        assert login_group(plan_name)["PurchaseOption"] == "ONDEMAND"

    @every_plan
    def test_login_and_compute_have_the_same_image(self, plan_name: str) -> None:
        expected = UNRESOLVED_NODE_AMI if plan_name == "slurm-unresolved" else "ami-0123456789abcdef0"
        groups = (*node_groups(plan_name).values(), login_group(plan_name))
        assert {group["AmiId"] for group in groups} == {expected}

    def test_the_image_that_is_not_resolved_cannot_be_launched(self) -> None:
        assert not re.fullmatch(r"ami-[0-9a-f]+", UNRESOLVED_NODE_AMI)

    @every_plan
    def test_a_changed_launch_template_is_picked_up(self, plan_name: str) -> None:
        for group in (*node_groups(plan_name).values(), login_group(plan_name)):
            template = group["CustomLaunchTemplate"]
            assert template["Version"] == {
                "Fn::GetAtt": [template["TemplateId"]["Ref"], "LatestVersionNumber"]
            }


class TestLaunchTemplates:
    @every_plan
    def test_interfaces_are_the_plans_in_the_groups_subnet(self, plan_name: str) -> None:
        planned = plans()[plan_name].cluster("train").network_interfaces
        for group in node_groups(plan_name).values():
            interfaces = launch_data(plan_name, group)["NetworkInterfaces"]
            found = [(i["NetworkCardIndex"], i["DeviceIndex"], i["InterfaceType"]) for i in interfaces]
            assert found == [(i.card_index, i.device_index, i.interface_type) for i in planned]
            assert [[interface["SubnetId"]] for interface in interfaces] == [group["SubnetIds"]] * len(found)

    @every_plan
    def test_efa_only_is_on_no_interface(self, plan_name: str) -> None:
        """PCS is only known to work with `efa` on every card."""
        for group in node_groups(plan_name).values():
            for interface in launch_data(plan_name, group)["NetworkInterfaces"]:
                assert interface["InterfaceType"] != "efa-only"

    @every_plan
    def test_groups_stand_on_the_interfaces_only(self, plan_name: str) -> None:
        for group in (*node_groups(plan_name).values(), login_group(plan_name)):
            data = launch_data(plan_name, group)
            assert not {
                "SecurityGroupIds",
                "SecurityGroups",
                "KeyName",
                "IamInstanceProfile",
                "ImageId",
            } & set(data)
            assert all(len(interface["Groups"]) == 1 for interface in data["NetworkInterfaces"])

    @every_plan
    def test_the_login_node_has_one_plain_interface_and_no_user_data(self, plan_name: str) -> None:
        data = launch_data(plan_name, login_group(plan_name))
        (interface,) = data["NetworkInterfaces"]
        assert interface["InterfaceType"] == "interface"
        assert "AssociatePublicIpAddress" not in interface
        assert "UserData" not in data

    @every_plan
    def test_the_metadata_service_asks_for_a_token(self, plan_name: str) -> None:
        for group in (*node_groups(plan_name).values(), login_group(plan_name)):
            options = launch_data(plan_name, group)["MetadataOptions"]
            assert (options["HttpTokens"], options["HttpPutResponseHopLimit"]) == ("required", 2)

    @pytest.mark.parametrize(("plan_name", "there"), [("slurm-trn1", True), ("slurm-everything", False)])
    def test_tags_are_in_the_metadata_service_where_their_keys_let_an_instance_start(
        self, plan_name: str, there: bool
    ) -> None:
        """One of the tags is called team/unit."""
        for group in (*node_groups(plan_name).values(), login_group(plan_name)):
            options = launch_data(plan_name, group)["MetadataOptions"]
            assert ("InstanceMetadataTags" in options) is there

    @every_plan
    def test_the_amis_own_root_device_is_encrypted(self, plan_name: str) -> None:
        planned = plans()[plan_name].cluster("train")
        assert planned.ami is not None
        for group in (*node_groups(plan_name).values(), login_group(plan_name)):
            (mapping,) = launch_data(plan_name, group)["BlockDeviceMappings"]
            assert mapping["DeviceName"] == planned.ami.root_device_name
            assert mapping["Ebs"]["Encrypted"] is True
            assert mapping["Ebs"]["VolumeSize"] == planned.root_volume_gib

    @every_plan
    def test_user_data_is_the_rendered_one(self, plan_name: str) -> None:
        expected = slurm_node_user_data(plans()[plan_name].cluster("train"))
        for group in node_groups(plan_name).values():
            assert launch_data(plan_name, group)["UserData"] == {"Fn::Base64": expected}

    def test_lifetime_is_not_on_them(self) -> None:
        """Extending it would be a new version of the template, and would replace every node."""
        for group in (*node_groups("slurm-trn1").values(), login_group("slurm-trn1")):
            assert names.LIFETIME_TAG not in json.dumps(launch_data("slurm-trn1", group))


class TestCapacity:
    def test_each_ultraserver_is_in_its_own_block(self) -> None:
        found = []
        for group in node_groups("slurm-ultraservers").values():
            data = launch_data("slurm-ultraservers", group)
            assert data["InstanceMarketOptions"] == {"MarketType": "capacity-block"}
            assert data["InstanceType"] == "trn2u.48xlarge", "PCS's guide to blocks asks for it"
            found.append(data["CapacityReservationSpecification"]["CapacityReservationTarget"])
        assert found == [{"CapacityReservationId": BLOCK}, {"CapacityReservationId": SECOND_BLOCK}]

    @pytest.mark.parametrize("plan_name", ["slurm-trn2-block", "slurm-ultraservers", "slurm-brought-network"])
    def test_no_placement_group_with_a_block_or_one_node(self, plan_name: str) -> None:
        assert resources(cluster(plan_name), "AWS::EC2::PlacementGroup") == {}
        for group in node_groups(plan_name).values():
            assert "Placement" not in launch_data(plan_name, group)

    def test_a_placement_group_for_several_nodes(self) -> None:
        (group,) = node_groups("slurm-trn1").values()
        assert launch_data("slurm-trn1", group)["Placement"] == {"GroupName": {"Ref": "PlacementGroup"}}

    def test_a_reservation_is_reached_through_a_resource_group(self) -> None:
        """PCS takes no reservation by its id."""
        (group,) = node_groups("slurm-everything").values()
        data = launch_data("slurm-everything", group)
        target = data["CapacityReservationSpecification"]["CapacityReservationTarget"]
        assert target == {"CapacityReservationResourceGroupArn": {"Fn::GetAtt": ["ReservationGroup", "Arn"]}}
        assert "InstanceMarketOptions" not in data
        (member,) = the_one(cluster("slurm-everything"), "AWS::ResourceGroups::Group")["Resources"]
        assert member.endswith(f":capacity-reservation/{RESERVATION}")

    def test_on_demand_asks_for_nothing_special(self) -> None:
        (group,) = node_groups("slurm-trn1").values()
        assert not {"InstanceMarketOptions", "CapacityReservationSpecification", "InstanceType"} & set(
            launch_data("slurm-trn1", group)
        )

    def test_a_block_that_is_not_bought_cannot_start_anything_else(self) -> None:
        (group,) = node_groups("slurm-not-bought").values()
        target = launch_data("slurm-not-bought", group)["CapacityReservationSpecification"]
        assert target == {"CapacityReservationTarget": {"CapacityReservationId": NOT_BOUGHT}}


class TestNodeSetup:
    @every_plan
    def test_it_runs_at_every_boot_and_ends_a_node_that_fails(self, plan_name: str) -> None:
        for group in (*node_groups(plan_name).values(), login_group(plan_name)):
            stages = group["NodeLifecycleActions"]["Stages"]
            (script,) = stages["NodeBootstrapped"]
            assert set(stages) == {"NodeBootstrapped"}
            assert (script["ExecutionPolicy"], script["OnError"]) == ("EVERY_BOOT", "TERMINATE")

    @every_plan
    def test_the_checksum_is_that_of_the_uploaded_bytes(self, plan_name: str) -> None:
        planned = plans()[plan_name].cluster("train")
        for group, text in (
            *((group, compute_node_setup(planned)) for group in node_groups(plan_name).values()),
            (login_group(plan_name), login_node_setup(planned)),
        ):
            (script,) = group["NodeLifecycleActions"]["Stages"]["NodeBootstrapped"]
            uploaded = uploaded_file(plan_name, script["ScriptSource"]["ScriptLocation"])
            assert uploaded.decode() == text
            assert script["ScriptSource"]["Checksum"] == hashlib.sha256(uploaded).hexdigest()

    @every_plan
    def test_the_nodes_may_read_exactly_that_file(self, plan_name: str) -> None:
        for role, group in (
            ("ComputeRole", next(iter(node_groups(plan_name).values()))),
            ("LoginRole", login_group(plan_name)),
        ):
            (script,) = group["NodeLifecycleActions"]["Stages"]["NodeBootstrapped"]
            (statement,) = policy(plan_name, role, "setup")
            assert statement["Action"] == "s3:GetObject"
            location, arn = (
                joined(script["ScriptSource"]["ScriptLocation"]),
                joined(statement["Resource"]),
            )
            assert location.removeprefix("s3://") == arn.removeprefix("arn:aws:s3:::")

    @every_plan
    def test_no_node_starts_before_its_file_system_can_be_mounted(self, plan_name: str) -> None:
        for id_, body in resources(cluster(plan_name), NODE_GROUP).items():
            (script,) = body["Properties"]["NodeLifecycleActions"]["Stages"]["NodeBootstrapped"]
            if plan_name == "slurm-everything":
                assert script["Arguments"] == [
                    {"Fn::GetAtt": ["SharedStorage", "DNSName"]},
                    {"Fn::GetAtt": ["SharedStorage", "LustreMountName"]},
                ], id_
            else:
                assert script["Arguments"] == [{"Fn::GetAtt": ["SharedStorage", "FileSystemId"]}]
                assert body["DependsOn"] == ["SharedStorageMountTarget"]


def uploaded_file(plan_name: str, location: Any) -> bytes:
    """What the CDK will upload to that place."""
    path: str
    key = joined(location).rpartition("/")[2]
    directory = assembly_directory(plan_name)
    stack = plans()[plan_name].stacks.of_cluster("train")
    files = json.loads((directory / f"{stack}.assets.json").read_text())["files"].values()
    (path,) = (
        file["source"]["path"]
        for file in files
        for destination in file["destinations"].values()
        if destination["objectKey"] == key
    )
    return (directory / path).read_bytes()


def joined(part: Any) -> str:
    """With every reference written as text."""
    if isinstance(part, str):
        return part
    ((name, value),) = part.items()
    return "".join(joined(piece) for piece in value[1]) if name == "Fn::Join" else str(value)


def policy(plan_name: str, role: str, name: str) -> list[Template]:
    """The statements of one inline policy."""
    policies = cluster(plan_name)["Resources"][role]["Properties"]["Policies"]
    (document,) = (p["PolicyDocument"] for p in policies if p["PolicyName"] == name)
    statements: list[Template] = document["Statement"]
    return statements


def actions(plan_name: str, role: str) -> set[str]:
    found: set[str] = set()
    for body in cluster(plan_name)["Resources"][role]["Properties"]["Policies"]:
        for statement in body["PolicyDocument"]["Statement"]:
            given = statement["Action"]
            found |= {given} if isinstance(given, str) else set(given)
    return found


class TestRoles:
    @every_plan
    @pytest.mark.parametrize("role", ["ComputeRole", "LoginRole"])
    def test_pcs_may_pass_it_and_aws_wrote_none_of_its_policies(self, plan_name: str, role: str) -> None:
        properties = cluster(plan_name)["Resources"][role]["Properties"]
        assert properties["Path"] == "/aws-pcs/"
        assert "ManagedPolicyArns" not in properties
        assert "pcs:RegisterComputeNodeGroupInstance" in actions(plan_name, role)

    @every_plan
    def test_each_group_has_its_role(self, plan_name: str) -> None:
        for group in node_groups(plan_name).values():
            assert group["IamInstanceProfileArn"] == {"Fn::GetAtt": ["ComputeInstanceProfile", "Arn"]}
        assert login_group(plan_name)["IamInstanceProfileArn"] == {
            "Fn::GetAtt": ["LoginInstanceProfile", "Arn"]
        }

    def test_the_login_node_reads_and_knows_no_secret(self) -> None:
        of_s3 = {action for action in actions("slurm-everything", "LoginRole") if action.startswith("s3:")}
        assert of_s3 == {"s3:GetObject", "s3:ListBucket"}
        assert not {a for a in actions("slurm-everything", "LoginRole") if "ecret" in a or "Parameter" in a}

    def test_nodes_do_for_a_job_what_it_asks_and_no_more(self) -> None:
        (data, listing) = policy("slurm-everything", "ComputeRole", "data")
        assert data["Resource"] == "arn:aws:s3:::acme-data/tokens/*"
        assert listing["Condition"] == {"StringLike": {"s3:prefix": ["tokens/*"]}}
        secrets = policy("slurm-everything", "ComputeRole", "secrets")
        assert {s["Action"] for s in secrets} == {"secretsmanager:GetSecretValue", "ssm:GetParameters"}
        assert "ecr:BatchGetImage" in actions("slurm-everything", "ComputeRole")

    def test_without_containers_no_image_is_pulled(self) -> None:
        assert not {a for a in actions("slurm-trn1", "ComputeRole") if a.startswith("ecr:")}

    @every_plan
    def test_no_job_deletes_anything(self, plan_name: str) -> None:
        for role in ("ComputeRole", "LoginRole"):
            deleting = {a for a in actions(plan_name, role) if "Delete" in a}
            assert deleting <= {"ec2messages:DeleteMessage"}, "the agent's own queue of commands"


class TestStorage:
    @every_plan
    def test_it_is_kept_when_the_stack_goes(self, plan_name: str) -> None:
        """But not when the stack was never made: each try would leave an empty one behind."""
        body = cluster(plan_name)["Resources"]["SharedStorage"]
        assert (body["DeletionPolicy"], body["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")

    def test_efs_is_encrypted_at_rest_and_on_the_way(self) -> None:
        found = the_one(cluster("slurm-trn1"), "AWS::EFS::FileSystem")
        assert found["Encrypted"] is True
        (denied,) = (s for s in found["FileSystemPolicy"]["Statement"] if s["Effect"] == "Deny")
        assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}

    def test_lustre_is_as_large_as_asked_and_makes_no_backups(self) -> None:
        found = the_one(cluster("slurm-everything"), "AWS::FSx::FileSystem")
        assert (found["FileSystemType"], found["StorageType"]) == ("LUSTRE", "SSD")
        assert found["StorageCapacity"] == 2400
        assert found["LustreConfiguration"]["DeploymentType"] == "PERSISTENT_2"
        assert found["LustreConfiguration"]["AutomaticBackupRetentionDays"] == 0

    @every_plan
    def test_only_nodes_reach_it(self, plan_name: str) -> None:
        """Its interfaces are in the nodes' group, which lets in itself and nobody else."""
        expected = the_one(cluster(plan_name), "AWS::PCS::Cluster")["Networking"]
        if plan_name == "slurm-everything":
            found = the_one(cluster(plan_name), "AWS::FSx::FileSystem")
            assert (found["SubnetIds"], found["SecurityGroupIds"]) == tuple(
                expected[key] for key in ("SubnetIds", "SecurityGroupIds")
            )
            return
        found = the_one(cluster(plan_name), "AWS::EFS::MountTarget")
        assert ([found["SubnetId"]], found["SecurityGroups"]) == tuple(
            expected[key] for key in ("SubnetIds", "SecurityGroupIds")
        )


class TestNetwork:
    def test_all_traffic_among_nodes_and_controller_both_ways(self) -> None:
        for type_, end in (
            ("AWS::EC2::SecurityGroupIngress", "SourceSecurityGroupId"),
            ("AWS::EC2::SecurityGroupEgress", "DestinationSecurityGroupId"),
        ):
            rule = the_one(network("slurm-trn1"), type_)
            assert rule["IpProtocol"] == "-1"
            assert rule["GroupId"] == rule[end]

    def test_a_brought_network_is_used_and_not_changed(self) -> None:
        template = cluster("slurm-brought-network")
        assert the_one(template, "AWS::PCS::Cluster")["Networking"] == {
            "SubnetIds": [BROUGHT["subnet_id"]],
            "SecurityGroupIds": [BROUGHT["security_group_id"]],
        }
        types = {body["Type"] for body in template["Resources"].values()}
        assert {type_ for type_ in types if type_.startswith("AWS::EC2::")} == {"AWS::EC2::LaunchTemplate"}


class TestLogs:
    @every_plan
    def test_the_schedulers_log_and_the_jobs_records_are_delivered(self, plan_name: str) -> None:
        template = cluster(plan_name)
        sources = resources(template, "AWS::Logs::DeliverySource").values()
        assert {source["Properties"]["LogType"] for source in sources} == {
            "PCS_SCHEDULER_LOGS",
            "PCS_JOBCOMP_LOGS",
        }
        delivered = [d["Properties"] for d in resources(template, "AWS::Logs::Delivery").values()]
        assert sorted(joined(d["DeliverySourceName"]) for d in delivered) == sorted(
            joined(source["Properties"]["Name"]) for source in sources
        )
        assert the_one(template, "AWS::Logs::DeliveryDestination")["DestinationResourceArn"] == {
            "Fn::GetAtt": ["SlurmLogs", "Arn"]
        }

    @every_plan
    def test_names_hold_the_clusters_id(self, plan_name: str) -> None:
        """They are the account's, not the stack's: what an earlier cluster left must not be in the way."""
        for type_ in ("AWS::Logs::DeliverySource", "AWS::Logs::DeliveryDestination"):
            for body in resources(cluster(plan_name), type_).values():
                assert body["Properties"]["Name"]["Fn::Join"][1][0] == {"Fn::GetAtt": ["PcsCluster", "Id"]}

    @every_plan
    def test_they_are_kept_a_month_and_go_with_the_stack(self, plan_name: str) -> None:
        (group,) = resources(cluster(plan_name), "AWS::Logs::LogGroup").values()
        assert group["Properties"]["RetentionInDays"] == 30
        assert "LogGroupName" not in group["Properties"]
        assert group["DeletionPolicy"] == "Delete"
