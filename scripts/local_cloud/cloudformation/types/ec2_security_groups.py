"""AWS::EC2: SecurityGroup, SecurityGroupIngress, SecurityGroupEgress."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceType,
    split_words,
)
from scripts.local_cloud.cloudformation.types.ec2_tags import retag, tag_specifications

_RULE = "IpProtocol FromPort ToPort CidrIp CidrIpv6 Description"
_ALLOW_ALL = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}


def permission(rule: Mapping[str, Any]) -> dict[str, Any]:
    """A CloudFormation rule as EC2's IpPermission."""
    described = {"Description": rule["Description"]} if rule.get("Description") else {}
    answer: dict[str, Any] = {"IpProtocol": str(rule["IpProtocol"])}
    for port in ("FromPort", "ToPort"):
        if port in rule:
            answer[port] = int(rule[port])
    if "CidrIp" in rule:
        answer["IpRanges"] = [{"CidrIp": rule["CidrIp"], **described}]
    if "CidrIpv6" in rule:
        answer["Ipv6Ranges"] = [{"CidrIpv6": rule["CidrIpv6"], **described}]
    for side in ("Source", "Destination"):
        if f"{side}SecurityGroupId" in rule:
            answer["UserIdGroupPairs"] = [{"GroupId": rule[f"{side}SecurityGroupId"], **described}]
        if f"{side}PrefixListId" in rule:
            answer["PrefixListIds"] = [{"PrefixListId": rule[f"{side}PrefixListId"], **described}]
    return answer


class SecurityGroup(ResourceType):
    name = "AWS::EC2::SecurityGroup"
    properties = split_words("GroupDescription GroupName VpcId SecurityGroupIngress SecurityGroupEgress Tags")

    def create(self, request: Request) -> Created:
        ec2 = request.client("ec2")
        vpc = {"VpcId": request["VpcId"]} if request.has("VpcId") else {}
        group_id = ec2.create_security_group(
            GroupName=request.name_or_generated("GroupName", 255),
            Description=request["GroupDescription"],
            TagSpecifications=tag_specifications(request, "security-group"),
            **vpc,
        )["GroupId"]
        request.made(group_id)
        if request.has("SecurityGroupEgress"):
            ec2.revoke_security_group_egress(GroupId=group_id, IpPermissions=[_ALLOW_ALL])
        self._authorize(request, group_id, request.properties)
        return Created(group_id, {"GroupId": group_id, "Id": group_id, "VpcId": request.get("VpcId", "")})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed - {"SecurityGroupIngress", "SecurityGroupEgress", "Tags"}:
            raise ReplacementNeededError
        ec2 = request.client("ec2")
        if "SecurityGroupIngress" in changed and old.get("SecurityGroupIngress"):
            rules = [permission(rule) for rule in old["SecurityGroupIngress"]]
            ec2.revoke_security_group_ingress(GroupId=physical_id, IpPermissions=rules)
        if "SecurityGroupEgress" in changed:
            rules = [permission(rule) for rule in old.get("SecurityGroupEgress", ())] or [_ALLOW_ALL]
            ec2.revoke_security_group_egress(GroupId=physical_id, IpPermissions=rules)
        self._authorize(request, physical_id, {name: request.get(name) for name in changed})
        retag(request, physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("ec2").delete_security_group(GroupId=physical_id)

    def _authorize(self, request: Request, group_id: str, rules: Mapping[str, Any]) -> None:
        ec2 = request.client("ec2")
        ingress = [permission(rule) for rule in rules.get("SecurityGroupIngress") or ()]
        egress = [permission(rule) for rule in rules.get("SecurityGroupEgress") or ()]
        if ingress:
            ec2.authorize_security_group_ingress(GroupId=group_id, IpPermissions=ingress)
        if egress:
            ec2.authorize_security_group_egress(GroupId=group_id, IpPermissions=egress)


class _Rule(ResourceType):
    direction: ClassVar[str]

    def create(self, request: Request) -> Created:
        authorize = getattr(request.client("ec2"), f"authorize_security_group_{self.direction}")
        rules = authorize(GroupId=request["GroupId"], IpPermissions=[permission(request.properties)])
        rule_id = rules["SecurityGroupRules"][0]["SecurityGroupRuleId"]
        return Created(rule_id, {"Id": rule_id})

    def delete(self, request: Request, physical_id: str) -> None:
        revoke = getattr(request.client("ec2"), f"revoke_security_group_{self.direction}")
        revoke(GroupId=request["GroupId"], IpPermissions=[permission(request.properties)])


class SecurityGroupIngress(_Rule):
    name = "AWS::EC2::SecurityGroupIngress"
    properties = split_words(f"GroupId {_RULE} SourceSecurityGroupId SourcePrefixListId")
    direction = "ingress"


class SecurityGroupEgress(_Rule):
    name = "AWS::EC2::SecurityGroupEgress"
    properties = split_words(f"GroupId {_RULE} DestinationSecurityGroupId DestinationPrefixListId")
    direction = "egress"

    def create(self, request: Request) -> Created:
        self._drop_default_rule(request)
        return super().create(request)

    def _drop_default_rule(self, request: Request) -> None:
        """A group's first rule of this kind takes away the allow-all rule that EC2 gave it (seen in aws-cdk#987)."""
        ec2 = request.client("ec2")
        rules = ec2.describe_security_group_rules(
            Filters=[{"Name": "group-id", "Values": [request["GroupId"]]}]
        )
        for rule in rules["SecurityGroupRules"]:
            allow_all = (
                rule["IsEgress"] and rule["IpProtocol"] == "-1" and rule.get("CidrIpv4") == "0.0.0.0/0"
            )
            if allow_all and not rule.get("Description"):
                ec2.revoke_security_group_egress(GroupId=request["GroupId"], IpPermissions=[_ALLOW_ALL])


TYPES: list[ResourceType] = [SecurityGroup(), SecurityGroupIngress(), SecurityGroupEgress()]
