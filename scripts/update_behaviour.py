"""Which properties of a resource CloudFormation can only change by replacing it.

From the resource types' schemas (createOnlyProperties and conditionalCreateOnlyProperties) as cfn-lint 1.58.0 carries them, of
2026-10-20; a test compares. Paths below `Properties`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CREATE_ONLY: Final[Mapping[str, frozenset[str]]] = {
    type_name: frozenset(properties.split())
    for type_name, properties in {
        "AWS::ApplicationAutoScaling::ScalableTarget": "ResourceId ScalableDimension ServiceNamespace",
        "AWS::ApplicationAutoScaling::ScalingPolicy": (
            "PolicyName ResourceId ScalableDimension ScalingTargetId ServiceNamespace"
        ),
        "AWS::AutoScaling::AutoScalingGroup": "AutoScalingGroupName InstanceId",
        "AWS::Batch::ComputeEnvironment": (
            "ComputeEnvironmentName ComputeResources/ManagedInstancesProvider/InstanceLaunchTemplate/CapacityOptionType "
            "ComputeResources/ManagedInstancesProvider/InstanceLaunchTemplate/FipsEnabled ComputeResources/SpotIamFleetRole "
            "EksConfiguration/EksClusterArn EksConfiguration/KubernetesNamespace Tags Type"
        ),
        "AWS::Batch::JobQueue": "JobQueueName JobQueueType",
        "AWS::CloudWatch::Alarm": "AlarmName",
        "AWS::CloudWatch::Dashboard": "DashboardName",
        "AWS::EC2::EIP": "Address IpamPoolId NetworkBorderGroup TransferAddress",
        "AWS::EC2::InternetGateway": "",
        "AWS::EC2::LaunchTemplate": "LaunchTemplateName",
        "AWS::EC2::NatGateway": "AllocationId AvailabilityMode ConnectivityType PrivateIpAddress SubnetId VpcId",
        "AWS::EC2::PlacementGroup": "ParentGroupId PartitionCount SpreadLevel Strategy Tags",
        "AWS::EC2::Route": "DestinationCidrBlock DestinationIpv6CidrBlock DestinationPrefixListId RouteTableId",
        "AWS::EC2::RouteTable": "VpcId",
        "AWS::EC2::SecurityGroup": "GroupDescription GroupName VpcId",
        "AWS::EC2::SecurityGroupEgress": (
            "CidrIp CidrIpv6 DestinationPrefixListId DestinationSecurityGroupId FromPort GroupId IpProtocol ToPort"
        ),
        "AWS::EC2::SecurityGroupIngress": (
            "CidrIp CidrIpv6 FromPort GroupId GroupName IpProtocol SourcePrefixListId SourceSecurityGroupId "
            "SourceSecurityGroupName SourceSecurityGroupOwnerId ToPort"
        ),
        "AWS::EC2::Subnet": (
            "AvailabilityZone AvailabilityZoneId CidrBlock Ipv4IpamPoolId Ipv4NetmaskLength Ipv6IpamPoolId Ipv6Native "
            "Ipv6NetmaskLength OutpostArn VpcId"
        ),
        "AWS::EC2::SubnetRouteTableAssociation": "RouteTableId SubnetId",
        "AWS::EC2::VPC": "CidrBlock Ipv4IpamPoolId Ipv4NetmaskLength VpcEncryptionControl",
        "AWS::EC2::VPCEndpoint": (
            "DnsOptions/PrivateDnsPreference DnsOptions/PrivateDnsSpecifiedDomains ResourceConfigurationArn "
            "ServiceName ServiceNetworkArn ServiceRegion VpcEndpointType VpcId"
        ),
        "AWS::EC2::VPCGatewayAttachment": "VpcId",
        "AWS::ECS::CapacityProvider": "AutoScalingGroupProvider/AutoScalingGroupArn ClusterName Name",
        "AWS::ECS::Cluster": "ClusterName",
        "AWS::ECS::ClusterCapacityProviderAssociations": "Cluster",
        "AWS::ECS::Service": "Cluster Role SchedulingStrategy ServiceName",
        "AWS::ECS::TaskDefinition": (
            "ContainerDefinitions Cpu EnableFaultInjection EphemeralStorage ExecutionRoleArn Family "
            "InferenceAccelerators IpcMode Memory NetworkMode PidMode PlacementConstraints "
            "ProxyConfiguration RequiresCompatibilities RuntimePlatform TaskRoleArn Volumes"
        ),
        "AWS::EFS::AccessPoint": (
            "ClientToken FileSystemId PosixUser PosixUser/Gid PosixUser/SecondaryGids PosixUser/Uid "
            "RootDirectory RootDirectory/CreationInfo RootDirectory/CreationInfo/OwnerGid "
            "RootDirectory/CreationInfo/OwnerUid RootDirectory/CreationInfo/Permissions "
            "RootDirectory/Path"
        ),
        "AWS::EFS::FileSystem": "AvailabilityZoneName Encrypted KmsKeyId PerformanceMode",
        "AWS::EFS::MountTarget": "FileSystemId IpAddress IpAddressType Ipv6Address SubnetId",
        "AWS::ElasticLoadBalancingV2::Listener": "LoadBalancerArn",
        "AWS::ElasticLoadBalancingV2::ListenerRule": "ListenerArn",
        "AWS::ElasticLoadBalancingV2::LoadBalancer": "Name Scheme Type",
        "AWS::ElasticLoadBalancingV2::TargetGroup": (
            "IpAddressType Name Port Protocol ProtocolVersion TargetType VpcId"
        ),
        "AWS::FSx::FileSystem": "BackupId FileSystemType KmsKeyId SecurityGroupIds SubnetIds",
        "AWS::IAM::InstanceProfile": "InstanceProfileName Path",
        "AWS::IAM::ManagedPolicy": "Description ManagedPolicyName Path",
        "AWS::IAM::Role": "Path RoleName",
        "AWS::ImageBuilder::Component": (
            "ChangeDescription Data Description KmsKeyId Name Platform SupportedOsVersions Uri Version"
        ),
        "AWS::ImageBuilder::DistributionConfiguration": "Name",
        "AWS::ImageBuilder::ImagePipeline": "Name",
        "AWS::ImageBuilder::ImageRecipe": (
            "AdditionalInstanceConfiguration AmiTags AmiWatermarks BlockDeviceMappings Components Description Name "
            "ParentImage Version WorkingDirectory"
        ),
        "AWS::ImageBuilder::InfrastructureConfiguration": "Name",
        "AWS::ImageBuilder::LifecyclePolicy": "Name",
        "AWS::Lambda::EventInvokeConfig": "FunctionName Qualifier",
        "AWS::Lambda::Function": "FunctionName PackageType TenancyConfig",
        "AWS::Lambda::Permission": (
            "Action EventSourceToken FunctionName FunctionUrlAuthType InvokedViaFunctionUrl Principal "
            "PrincipalOrgID SourceAccount SourceArn"
        ),
        "AWS::Logs::Delivery": "DeliveryDestinationArn DeliverySourceName",
        "AWS::Logs::DeliveryDestination": "DeliveryDestinationType DestinationResourceArn Name OutputFormat",
        "AWS::Logs::DeliverySource": "Name",
        "AWS::Logs::LogGroup": "LogGroupName",
        "AWS::PCS::Cluster": "Name Networking Size",
        "AWS::PCS::ComputeNodeGroup": "ClusterId InstanceConfigs Name",
        "AWS::PCS::Queue": "ClusterId Name",
        "AWS::ResourceGroups::Group": "Name",
        "AWS::S3::Bucket": "BucketName BucketNamePrefix BucketNamespace",
        "AWS::S3::BucketPolicy": "Bucket",
        "AWS::SSM::Parameter": "Name",
        "AWS::Scheduler::Schedule": "Name",
    }.items()
}

_COMPUTE_RESOURCES: Final = (
    "AllocationStrategy BidPercentage Ec2Configuration Ec2KeyPair ImageId InstanceRole InstanceTypes LaunchTemplate "
    "PlacementGroup ScalingPolicy SecurityGroupIds Subnets Tags Type"
)
CREATE_ONLY_AT_TIMES: Final[Mapping[str, frozenset[str]]] = {
    "AWS::Batch::ComputeEnvironment": frozenset(
        f"ComputeResources/{name}" for name in _COMPUTE_RESOURCES.split()
    ),
    "AWS::EC2::Subnet": frozenset({"Ipv6CidrBlock"}),
    "AWS::EC2::VPC": frozenset({"InstanceTenancy"}),
    "AWS::AutoScaling::AutoScalingGroup": frozenset(
        {"LaunchConfigurationName", "LaunchTemplate", "MixedInstancesPolicy", "VPCZoneIdentifier"}
    ),
    "AWS::ECS::Service": frozenset({"LaunchType"}),
    "AWS::Lambda::Function": frozenset({"DurableConfig"}),
}

IN_PLACE_WITH: Final[Mapping[str, str]] = {"AWS::Batch::ComputeEnvironment": "ReplaceComputeEnvironment"}
"""The property that, when false, has everything of CREATE_ONLY_AT_TIMES changed in place (CloudFormation's reference)."""
