"""One reader a resource type: what boto3 describes, in the shape of the template's properties.

A reader takes the session, the physical id and the expected properties (only to know which roles hold an inline
policy), and raises GoneError if there is no such resource.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import boto3
from botocore.exceptions import ClientError

Reader = Callable[[boto3.Session, str, dict[str, Any]], dict[str, Any]]
_GONE_WORDS = ("NotFound", "NoSuch", "DoesNotExist", "Unknown", "Malformed")


class GoneError(Exception):
    pass


def _call(method: Any, **parameters: Any) -> Any:
    try:
        return method(**parameters)
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if any(word in code for word in _GONE_WORDS) or code in ("404", "ClientException"):
            raise GoneError from error
        raise


def _only(items: list[Any]) -> Any:
    if not items:
        raise GoneError
    return items[0]


def _optional(method: Any, key: str, **parameters: Any) -> Any:
    try:
        return _call(method, **parameters).get(key)
    except GoneError:
        return None


def _tags(mapping: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in mapping.items()]


def _document(value: Any) -> Any:
    if isinstance(value, str):
        return json.loads(unquote(value)) if value.lstrip().startswith("%7B") else json.loads(value)
    return value


# ---- EC2


def _vpc(session: boto3.Session, vpc_id: str, _: Any) -> dict[str, Any]:
    ec2 = session.client("ec2")
    vpc = _only(_call(ec2.describe_vpcs, VpcIds=[vpc_id])["Vpcs"])
    flags = {}
    for name in ("EnableDnsSupport", "EnableDnsHostnames"):
        attribute = name[0].lower() + name[1:]
        flags[name] = ec2.describe_vpc_attribute(VpcId=vpc_id, Attribute=attribute)[name]["Value"]
    return {**vpc, **flags}


def _subnet(session: boto3.Session, subnet_id: str, _: Any) -> dict[str, Any]:
    return _only(_call(session.client("ec2").describe_subnets, SubnetIds=[subnet_id])["Subnets"])


def _route_table(session: boto3.Session, table_id: str, _: Any) -> dict[str, Any]:
    return _only(_call(session.client("ec2").describe_route_tables, RouteTableIds=[table_id])["RouteTables"])


def _route(session: boto3.Session, physical_id: str, _: Any) -> dict[str, Any]:
    table_id, destination = physical_id.split("|")
    table = _route_table(session, table_id, {})
    names = ("DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId")
    route = _only([item for item in table["Routes"] if destination in [item.get(name) for name in names]])
    return {"RouteTableId": table_id, **route}


def _association(session: boto3.Session, association_id: str, _: Any) -> dict[str, Any]:
    by_id = [{"Name": "association.route-table-association-id", "Values": [association_id]}]
    table = _only(session.client("ec2").describe_route_tables(Filters=by_id)["RouteTables"])
    return _only(
        [item for item in table["Associations"] if item["RouteTableAssociationId"] == association_id]
    )


def _internet_gateway(session: boto3.Session, gateway_id: str, _: Any) -> dict[str, Any]:
    answer = _call(session.client("ec2").describe_internet_gateways, InternetGatewayIds=[gateway_id])
    return _only(answer["InternetGateways"])


def _gateway_attachment(session: boto3.Session, physical_id: str, _: Any) -> dict[str, Any]:
    vpc_id = physical_id.split("|")[1]
    attached = [{"Name": "attachment.vpc-id", "Values": [vpc_id]}]
    gateways = session.client("ec2").describe_internet_gateways(Filters=attached)["InternetGateways"]
    return {"VpcId": vpc_id, "InternetGatewayId": _only(gateways)["InternetGatewayId"]}


def _address(session: boto3.Session, public_ip: str, _: Any) -> dict[str, Any]:
    return _only(_call(session.client("ec2").describe_addresses, PublicIps=[public_ip])["Addresses"])


def _nat_gateway(session: boto3.Session, gateway_id: str, _: Any) -> dict[str, Any]:
    answer = _call(session.client("ec2").describe_nat_gateways, NatGatewayIds=[gateway_id])
    gateway = _only([item for item in answer["NatGateways"] if item["State"] not in ("deleting", "deleted")])
    return {**gateway, "AllocationId": gateway["NatGatewayAddresses"][0].get("AllocationId")}


def _vpc_endpoint(session: boto3.Session, endpoint_id: str, _: Any) -> dict[str, Any]:
    answer = _call(session.client("ec2").describe_vpc_endpoints, VpcEndpointIds=[endpoint_id])
    endpoint = _only(answer["VpcEndpoints"])
    groups = [group["GroupId"] for group in endpoint.get("Groups", ())]
    return {**endpoint, "PolicyDocument": _document(endpoint["PolicyDocument"]), "SecurityGroupIds": groups}


def _placement_group(session: boto3.Session, name: str, _: Any) -> dict[str, Any]:
    return _only(_call(session.client("ec2").describe_placement_groups, GroupNames=[name])["PlacementGroups"])


def _security_group(session: boto3.Session, group_id: str, expected: dict[str, Any]) -> dict[str, Any]:
    group = _only(
        _call(session.client("ec2").describe_security_groups, GroupIds=[group_id])["SecurityGroups"]
    )
    answer = {**group, "GroupDescription": group["Description"]}
    inline = {"SecurityGroupIngress": "IpPermissions", "SecurityGroupEgress": "IpPermissionsEgress"}
    for name, permissions in inline.items():
        rules = [rule for item in group[permissions] for rule in _flat(item, name)]
        # Rules that resources of their own added are theirs.
        wanted = expected.get(name, ())
        answer[name] = [rule for rule in rules if any(_same_rule(rule, one) for one in wanted)] or rules
    return answer


def _same_rule(rule: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """A value that only the deployed stack knows is a pattern, and taken for equal."""
    return rule.keys() == wanted.keys() and all(
        str(rule[name]) == str(value) for name, value in wanted.items() if isinstance(value, (str, int))
    )


def _flat(permission: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    side = "Source" if kind.endswith("Ingress") else "Destination"
    shared = {name: permission[name] for name in ("IpProtocol", "FromPort", "ToPort") if name in permission}
    targets = [("CidrIp", item, "CidrIp") for item in permission.get("IpRanges", ())]
    targets += [("CidrIpv6", item, "CidrIpv6") for item in permission.get("Ipv6Ranges", ())]
    targets += [
        (f"{side}SecurityGroupId", item, "GroupId") for item in permission.get("UserIdGroupPairs", ())
    ]
    targets += [(f"{side}PrefixListId", item, "PrefixListId") for item in permission.get("PrefixListIds", ())]
    return [
        {
            **shared,
            name: item[key],
            **({"Description": item["Description"]} if item.get("Description") else {}),
        }
        for name, item, key in targets
    ]


def _security_group_rule(session: boto3.Session, rule_id: str, _: Any) -> dict[str, Any]:
    answer = _call(session.client("ec2").describe_security_group_rules, SecurityGroupRuleIds=[rule_id])
    rule = _only(answer["SecurityGroupRules"])
    other = rule.get("ReferencedGroupInfo", {}).get("GroupId")
    side = "Destination" if rule["IsEgress"] else "Source"
    return {
        **rule,
        "CidrIp": rule.get("CidrIpv4"),
        f"{side}SecurityGroupId": other,
        f"{side}PrefixListId": rule.get("PrefixListId"),
    }


def _launch_template(session: boto3.Session, template_id: str, _: Any) -> dict[str, Any]:
    ec2 = session.client("ec2")
    template = _only(_call(ec2.describe_launch_templates, LaunchTemplateIds=[template_id])["LaunchTemplates"])
    latest = ec2.describe_launch_template_versions(LaunchTemplateId=template_id, Versions=["$Latest"])
    specification = {"ResourceType": "launch-template", "Tags": template.get("Tags", [])}
    return {**template, **latest["LaunchTemplateVersions"][0], "TagSpecifications": [specification]}


def _flow_log(session: boto3.Session, flow_log_id: str, _: Any) -> dict[str, Any]:
    flow_log = _only(session.client("ec2").describe_flow_logs(FlowLogIds=[flow_log_id])["FlowLogs"])
    return {**flow_log, "ResourceType": "VPC" if flow_log["ResourceId"].startswith("vpc-") else "Subnet"}


# ---- S3


def _bucket(session: boto3.Session, bucket: str, _: Any) -> dict[str, Any]:
    s3 = session.client("s3")
    _call(s3.head_bucket, Bucket=bucket)
    encryption = _optional(s3.get_bucket_encryption, "ServerSideEncryptionConfiguration", Bucket=bucket) or {}
    lifecycle = _optional(s3.get_bucket_lifecycle_configuration, "Rules", Bucket=bucket) or []
    return {
        "BucketName": bucket,
        "BucketEncryption": {
            "ServerSideEncryptionConfiguration": [
                {
                    "ServerSideEncryptionByDefault": rule.get("ApplyServerSideEncryptionByDefault"),
                    "BucketKeyEnabled": rule.get("BucketKeyEnabled"),
                }
                for rule in encryption.get("Rules", ())
            ]
        },
        "PublicAccessBlockConfiguration": _optional(
            s3.get_public_access_block, "PublicAccessBlockConfiguration", Bucket=bucket
        ),
        "VersioningConfiguration": {"Status": s3.get_bucket_versioning(Bucket=bucket).get("Status")},
        "OwnershipControls": _optional(s3.get_bucket_ownership_controls, "OwnershipControls", Bucket=bucket),
        "LifecycleConfiguration": {"Rules": [_lifecycle_rule(rule) for rule in lifecycle]},
        "Tags": _optional(s3.get_bucket_tagging, "TagSet", Bucket=bucket),
    }


def _lifecycle_rule(rule: dict[str, Any]) -> dict[str, Any]:
    condition = rule.get("Filter", {})
    condition = condition.get("And", condition)
    return {
        **rule,
        "Prefix": condition.get("Prefix", rule.get("Prefix")),
        "TagFilters": condition.get("Tags") or ([condition["Tag"]] if "Tag" in condition else []),
        "ExpirationInDays": rule.get("Expiration", {}).get("Days"),
        "ExpiredObjectDeleteMarker": rule.get("Expiration", {}).get("ExpiredObjectDeleteMarker"),
        "Transitions": [
            {"TransitionInDays": item["Days"], "StorageClass": item["StorageClass"]}
            for item in rule.get("Transitions", ())
        ],
    }


def _bucket_policy(session: boto3.Session, bucket: str, _: Any) -> dict[str, Any]:
    policy = _call(session.client("s3").get_bucket_policy, Bucket=bucket)["Policy"]
    return {"Bucket": bucket, "PolicyDocument": json.loads(policy)}


# ---- IAM


def _role(session: boto3.Session, role: str, expected: dict[str, Any]) -> dict[str, Any]:
    iam = session.client("iam")
    answer = _call(iam.get_role, RoleName=role)["Role"]
    # Policies that resources of their own put or attached are theirs.
    own = {policy["PolicyName"] for policy in expected.get("Policies", ())}
    policies = [
        {
            "PolicyName": name,
            "PolicyDocument": iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"],
        }
        for name in iam.list_role_policies(RoleName=role)["PolicyNames"]
        if name in own
    ]
    attached = iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]
    return {
        **answer,
        "PermissionsBoundary": answer.get("PermissionsBoundary", {}).get("PermissionsBoundaryArn"),
        "Policies": policies,
        "ManagedPolicyArns": [
            item["PolicyArn"]
            for item in attached
            if item["PolicyArn"] in expected.get("ManagedPolicyArns", ())
        ],
    }


def _instance_profile(session: boto3.Session, profile: str, _: Any) -> dict[str, Any]:
    answer = _call(session.client("iam").get_instance_profile, InstanceProfileName=profile)["InstanceProfile"]
    return {**answer, "Roles": [role["RoleName"] for role in answer["Roles"]]}


def _inline_policy(session: boto3.Session, name: str, expected: dict[str, Any]) -> dict[str, Any]:
    iam = session.client("iam")
    roles = expected.get("Roles", ())
    documents = [
        _call(iam.get_role_policy, RoleName=role, PolicyName=name)["PolicyDocument"] for role in roles
    ]
    return {"PolicyName": name, "Roles": list(roles), "PolicyDocument": _only(documents)}


def _managed_policy(session: boto3.Session, arn: str, _: Any) -> dict[str, Any]:
    iam = session.client("iam")
    policy = _call(iam.get_policy, PolicyArn=arn)["Policy"]
    version = iam.get_policy_version(PolicyArn=arn, VersionId=policy["DefaultVersionId"])["PolicyVersion"]
    holders = iam.list_entities_for_policy(PolicyArn=arn)["PolicyRoles"]
    return {
        **policy,
        "ManagedPolicyName": policy["PolicyName"],
        "PolicyDocument": version["Document"],
        "Roles": [holder["RoleName"] for holder in holders],
    }


# ---- Batch


def _compute_environment(session: boto3.Session, arn: str, _: Any) -> dict[str, Any]:
    answer = session.client("batch").describe_compute_environments(computeEnvironments=[arn])
    return _only(answer["computeEnvironments"])


def _job_queue(session: boto3.Session, arn: str, _: Any) -> dict[str, Any]:
    return _only(session.client("batch").describe_job_queues(jobQueues=[arn])["jobQueues"])


# ---- the rest


def _log_group(session: boto3.Session, name: str, _: Any) -> dict[str, Any]:
    logs = session.client("logs")
    groups = logs.describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    group = _only([item for item in groups if item["logGroupName"] == name])
    tags = logs.list_tags_for_resource(resourceArn=group["arn"].removesuffix(":*"))["tags"]
    return {**group, "Tags": _tags(tags)}


def _dashboard(session: boto3.Session, name: str, _: Any) -> dict[str, Any]:
    cloudwatch = session.client("cloudwatch")
    dashboard = _call(cloudwatch.get_dashboard, DashboardName=name)
    tags = cloudwatch.list_tags_for_resource(ResourceARN=dashboard["DashboardArn"])["Tags"]
    return {"DashboardName": name, "DashboardBody": dashboard["DashboardBody"], "Tags": tags}


def _alarm(session: boto3.Session, name: str, _: Any) -> dict[str, Any]:
    cloudwatch = session.client("cloudwatch")
    alarm = _only(cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"])
    return {**alarm, "Tags": cloudwatch.list_tags_for_resource(ResourceARN=alarm["AlarmArn"])["Tags"]}


def _topic(session: boto3.Session, arn: str, _: Any) -> dict[str, Any]:
    sns = session.client("sns")
    attributes = _call(sns.get_topic_attributes, TopicArn=arn)["Attributes"]
    subscriptions = sns.list_subscriptions_by_topic(TopicArn=arn)["Subscriptions"]
    return {
        **attributes,
        "TopicName": arn.rsplit(":", 1)[-1],
        "Subscription": [
            {"Protocol": item["Protocol"], "Endpoint": item["Endpoint"]} for item in subscriptions
        ],
        "Tags": sns.list_tags_for_resource(ResourceArn=arn)["Tags"],
    }


def _parameter(session: boto3.Session, name: str, _: Any) -> dict[str, Any]:
    ssm = session.client("ssm")
    parameter = _call(ssm.get_parameter, Name=name)["Parameter"]
    by_name = [{"Key": "Name", "Option": "Equals", "Values": [name]}]
    details = _only(ssm.describe_parameters(ParameterFilters=by_name)["Parameters"])
    tags = ssm.list_tags_for_resource(ResourceType="Parameter", ResourceId=name)["TagList"]
    return {**details, **parameter, "Tags": {tag["Key"]: tag["Value"] for tag in tags}}


def _repository(session: boto3.Session, name: str, _: Any) -> dict[str, Any]:
    ecr = session.client("ecr")
    repository = _only(_call(ecr.describe_repositories, repositoryNames=[name])["repositories"])
    lifecycle = _optional(ecr.get_lifecycle_policy, "lifecyclePolicyText", repositoryName=name)
    policy = _optional(ecr.get_repository_policy, "policyText", repositoryName=name)
    return {
        **repository,
        "LifecyclePolicy": {"LifecyclePolicyText": lifecycle},
        "RepositoryPolicyText": _document(policy),
        "Tags": ecr.list_tags_for_resource(resourceArn=repository["repositoryArn"])["tags"],
    }


def _key(session: boto3.Session, key_id: str, _: Any) -> dict[str, Any]:
    kms = session.client("kms")
    key = _call(kms.describe_key, KeyId=key_id)["KeyMetadata"]
    if key["KeyState"] == "PendingDeletion":
        raise GoneError
    policy = kms.get_key_policy(KeyId=key_id, PolicyName="default")["Policy"]
    tags = kms.list_resource_tags(KeyId=key_id)["Tags"]
    return {
        **key,
        "KeyPolicy": json.loads(policy),
        "EnableKeyRotation": kms.get_key_rotation_status(KeyId=key_id)["KeyRotationEnabled"],
        "Tags": [{"Key": tag["TagKey"], "Value": tag["TagValue"]} for tag in tags],
    }


def _alias(session: boto3.Session, name: str, _: Any) -> dict[str, Any]:
    pages = session.client("kms").get_paginator("list_aliases").paginate()
    return _only([alias for page in pages for alias in page["Aliases"] if alias["AliasName"] == name])


def _image_builder(operation: str, parameter: str, key: str) -> Reader:
    def read(session: boto3.Session, arn: str, _: Any) -> dict[str, Any]:
        found: dict[str, Any] = _call(getattr(session.client("imagebuilder"), operation), **{parameter: arn})[
            key
        ]
        return found

    return read


# ---- Slurm: shared file systems, vended logs, reservations


def _efs_file_system(session: boto3.Session, id_: str, _: Any) -> dict[str, Any]:
    efs = session.client("efs")
    system = _only(_call(efs.describe_file_systems, FileSystemId=id_)["FileSystems"])
    policy = _optional(efs.describe_file_system_policy, "Policy", FileSystemId=id_)
    lifecycle = efs.describe_lifecycle_configuration(FileSystemId=id_)["LifecyclePolicies"]
    backup = _optional(efs.describe_backup_policy, "BackupPolicy", FileSystemId=id_)
    return {
        **system,
        "BackupPolicy": backup or {"Status": "DISABLED"},
        "FileSystemPolicy": _document(policy),
        "LifecyclePolicies": lifecycle,
        "FileSystemTags": system["Tags"],
    }


def _mount_target(session: boto3.Session, id_: str, _: Any) -> dict[str, Any]:
    efs = session.client("efs")
    target = _only(_call(efs.describe_mount_targets, MountTargetId=id_)["MountTargets"])
    groups = efs.describe_mount_target_security_groups(MountTargetId=id_)["SecurityGroups"]
    return {**target, "SecurityGroups": groups}


def _fsx_file_system(session: boto3.Session, id_: str, _: Any) -> dict[str, Any]:
    fsx, ec2 = session.client("fsx"), session.client("ec2")
    system = _only(_call(fsx.describe_file_systems, FileSystemIds=[id_])["FileSystems"])
    interfaces = ec2.describe_network_interfaces(NetworkInterfaceIds=system["NetworkInterfaceIds"])
    groups = _only(interfaces["NetworkInterfaces"])["Groups"]
    return {**system, "SecurityGroupIds": [group["GroupId"] for group in groups]}


def _delivery_source(session: boto3.Session, name: str, _: Any) -> dict[str, Any]:
    source = _call(session.client("logs").get_delivery_source, name=name)["deliverySource"]
    return {**source, "ResourceArn": _only(source["resourceArns"]), "Tags": _tags(source["tags"])}


def _delivery_destination(session: boto3.Session, name: str, _: Any) -> dict[str, Any]:
    found = _call(session.client("logs").get_delivery_destination, name=name)["deliveryDestination"]
    return {**found, **found["deliveryDestinationConfiguration"], "Tags": _tags(found["tags"])}


def _delivery(session: boto3.Session, id_: str, _: Any) -> dict[str, Any]:
    delivery = _call(session.client("logs").get_delivery, id=id_)["delivery"]
    return {**delivery, "Tags": _tags(delivery["tags"])}


def _resource_group(session: boto3.Session, name: str, _: Any) -> dict[str, Any]:
    client = session.client("resource-groups")
    group = _call(client.get_group, Group=name)["Group"]
    configuration = client.get_group_configuration(Group=name)["GroupConfiguration"]["Configuration"]
    members = client.list_group_resources(Group=name)["Resources"]
    return {
        **group,
        "Configuration": configuration,
        "Resources": [member["Identifier"]["ResourceArn"] for member in members],
        "Tags": _tags(client.get_tags(Arn=group["GroupArn"])["Tags"]),
    }


READERS: dict[str, Reader] = {
    "AWS::Batch::ComputeEnvironment": _compute_environment,
    "AWS::Batch::JobQueue": _job_queue,
    "AWS::CloudWatch::Alarm": _alarm,
    "AWS::CloudWatch::Dashboard": _dashboard,
    "AWS::EC2::EIP": _address,
    "AWS::EC2::FlowLog": _flow_log,
    "AWS::EC2::InternetGateway": _internet_gateway,
    "AWS::EC2::LaunchTemplate": _launch_template,
    "AWS::EC2::NatGateway": _nat_gateway,
    "AWS::EC2::PlacementGroup": _placement_group,
    "AWS::EC2::Route": _route,
    "AWS::EC2::RouteTable": _route_table,
    "AWS::EC2::SecurityGroup": _security_group,
    "AWS::EC2::SecurityGroupEgress": _security_group_rule,
    "AWS::EC2::SecurityGroupIngress": _security_group_rule,
    "AWS::EC2::Subnet": _subnet,
    "AWS::EC2::SubnetRouteTableAssociation": _association,
    "AWS::EC2::VPC": _vpc,
    "AWS::EC2::VPCEndpoint": _vpc_endpoint,
    "AWS::EC2::VPCGatewayAttachment": _gateway_attachment,
    "AWS::ECR::Repository": _repository,
    "AWS::EFS::FileSystem": _efs_file_system,
    "AWS::EFS::MountTarget": _mount_target,
    "AWS::FSx::FileSystem": _fsx_file_system,
    "AWS::IAM::InstanceProfile": _instance_profile,
    "AWS::IAM::ManagedPolicy": _managed_policy,
    "AWS::IAM::Policy": _inline_policy,
    "AWS::IAM::Role": _role,
    "AWS::KMS::Alias": _alias,
    "AWS::KMS::Key": _key,
    "AWS::ImageBuilder::Component": _image_builder("get_component", "componentBuildVersionArn", "component"),
    "AWS::ImageBuilder::DistributionConfiguration": _image_builder(
        "get_distribution_configuration", "distributionConfigurationArn", "distributionConfiguration"
    ),
    "AWS::ImageBuilder::ImagePipeline": _image_builder(
        "get_image_pipeline", "imagePipelineArn", "imagePipeline"
    ),
    "AWS::ImageBuilder::ImageRecipe": _image_builder("get_image_recipe", "imageRecipeArn", "imageRecipe"),
    "AWS::ImageBuilder::InfrastructureConfiguration": _image_builder(
        "get_infrastructure_configuration", "infrastructureConfigurationArn", "infrastructureConfiguration"
    ),
    "AWS::Logs::Delivery": _delivery,
    "AWS::Logs::DeliveryDestination": _delivery_destination,
    "AWS::Logs::DeliverySource": _delivery_source,
    "AWS::Logs::LogGroup": _log_group,
    "AWS::ResourceGroups::Group": _resource_group,
    "AWS::S3::Bucket": _bucket,
    "AWS::S3::BucketPolicy": _bucket_policy,
    "AWS::SNS::Topic": _topic,
    "AWS::SSM::Parameter": _parameter,
}
