"""AWS::IAM: Role, InstanceProfile, Policy, ManagedPolicy."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceError,
    ResourceType,
    split_words,
)
from scripts.local_cloud.cloudformation.types.coerce import json_text


class Role(ResourceType):
    name = "AWS::IAM::Role"
    properties = split_words(
        "RoleName AssumeRolePolicyDocument ManagedPolicyArns Policies Path Description MaxSessionDuration "
        "PermissionsBoundary Tags"
    )

    def create(self, request: Request) -> Created:
        iam = request.client("iam")
        role = request.name_or_generated("RoleName")
        optional = {
            name: request[name]
            for name in ("Path", "Description", "PermissionsBoundary")
            if request.has(name)
        }
        if request.has("MaxSessionDuration"):
            optional["MaxSessionDuration"] = int(request["MaxSessionDuration"])
        answer = iam.create_role(
            RoleName=role,
            AssumeRolePolicyDocument=json_text(request["AssumeRolePolicyDocument"]),
            Tags=request.tag_list(),
            **optional,
        )["Role"]
        request.made(role)
        self._set_policies(request, role, {})
        return Created(role, {"Arn": answer["Arn"], "RoleId": answer["RoleId"]})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed & {"RoleName", "Path"}:
            raise ReplacementNeededError
        iam = request.client("iam")
        document = json_text(request["AssumeRolePolicyDocument"])
        iam.update_assume_role_policy(RoleName=physical_id, PolicyDocument=document)
        iam.update_role(
            RoleName=physical_id,
            Description=request.get("Description", ""),
            MaxSessionDuration=int(request.get("MaxSessionDuration", 3600)),
        )
        if "PermissionsBoundary" in changed:
            if request.has("PermissionsBoundary"):
                boundary = request["PermissionsBoundary"]
                iam.put_role_permissions_boundary(RoleName=physical_id, PermissionsBoundary=boundary)
            else:
                iam.delete_role_permissions_boundary(RoleName=physical_id)
        self._set_policies(request, physical_id, old)
        _retag(iam, physical_id, request)

    def delete(self, request: Request, physical_id: str) -> None:
        iam = request.client("iam")
        # What others attached stays, and makes the deletion fail, as it does in IAM.
        for policy in request.get("Policies") or ():
            _ignoring_missing(
                iam, iam.delete_role_policy, RoleName=physical_id, PolicyName=policy["PolicyName"]
            )
        for arn in request.get("ManagedPolicyArns") or ():
            _ignoring_missing(iam, iam.detach_role_policy, RoleName=physical_id, PolicyArn=arn)
        iam.delete_role(RoleName=physical_id)

    def _set_policies(self, request: Request, role: str, old: Mapping[str, Any]) -> None:
        iam = request.client("iam")
        policies = {
            policy["PolicyName"]: policy["PolicyDocument"] for policy in request.get("Policies") or ()
        }
        arns = set(request.get("ManagedPolicyArns") or ())
        for policy in old.get("Policies") or ():
            if policy["PolicyName"] not in policies:
                iam.delete_role_policy(RoleName=role, PolicyName=policy["PolicyName"])
        for arn in set(old.get("ManagedPolicyArns") or ()) - arns:
            iam.detach_role_policy(RoleName=role, PolicyArn=arn)
        for policy_name, document in policies.items():
            iam.put_role_policy(RoleName=role, PolicyName=policy_name, PolicyDocument=json_text(document))
        for arn in sorted(arns):
            iam.attach_role_policy(RoleName=role, PolicyArn=arn)


def _retag(iam: Any, role: str, request: Request) -> None:
    found = {tag["Key"] for tag in iam.list_role_tags(RoleName=role)["Tags"]}
    superfluous = sorted(found - set(request.tags))
    if superfluous:
        iam.untag_role(RoleName=role, TagKeys=superfluous)
    iam.tag_role(RoleName=role, Tags=request.tag_list())


def _ignoring_missing(iam: Any, call: Any, **parameters: str) -> None:
    with contextlib.suppress(iam.exceptions.NoSuchEntityException):
        call(**parameters)


class InstanceProfile(ResourceType):
    name = "AWS::IAM::InstanceProfile"
    properties = split_words("InstanceProfileName Path Roles")

    def create(self, request: Request) -> Created:
        iam = request.client("iam")
        profile = request.name_or_generated("InstanceProfileName", 128)
        path = {"Path": request["Path"]} if request.has("Path") else {}
        answer = iam.create_instance_profile(InstanceProfileName=profile, **path)["InstanceProfile"]
        request.made(profile)
        for role in request["Roles"]:
            iam.add_role_to_instance_profile(InstanceProfileName=profile, RoleName=role)
        return Created(profile, {"Arn": answer["Arn"]})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed - {"Roles", "Tags"}:
            raise ReplacementNeededError
        if "Roles" not in changed:
            return
        iam = request.client("iam")
        for role in old.get("Roles") or ():
            iam.remove_role_from_instance_profile(InstanceProfileName=physical_id, RoleName=role)
        for role in request["Roles"]:
            iam.add_role_to_instance_profile(InstanceProfileName=physical_id, RoleName=role)

    def delete(self, request: Request, physical_id: str) -> None:
        iam = request.client("iam")
        profile = iam.get_instance_profile(InstanceProfileName=physical_id)["InstanceProfile"]
        for role in profile["Roles"]:
            iam.remove_role_from_instance_profile(InstanceProfileName=physical_id, RoleName=role["RoleName"])
        iam.delete_instance_profile(InstanceProfileName=physical_id)


class Policy(ResourceType):
    """An inline policy: it lives in the roles that it names."""

    name = "AWS::IAM::Policy"
    properties = split_words("PolicyName PolicyDocument Roles")

    def create(self, request: Request) -> Created:
        if not request.get("Roles"):
            raise ResourceError("At least one of [Groups,Roles,Users] must be non-empty.")
        self._put(request)
        return Created(request["PolicyName"], {"Id": request["PolicyName"]})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if "PolicyName" in changed:
            raise ReplacementNeededError
        iam = request.client("iam")
        for role in set(old.get("Roles") or ()) - set(request.get("Roles") or ()):
            iam.delete_role_policy(RoleName=role, PolicyName=physical_id)
        self._put(request)

    def delete(self, request: Request, physical_id: str) -> None:
        iam = request.client("iam")
        for role in request.get("Roles") or ():
            _ignoring_missing(iam, iam.delete_role_policy, RoleName=role, PolicyName=physical_id)

    def _put(self, request: Request) -> None:
        document = json_text(request["PolicyDocument"])
        for role in request["Roles"]:
            request.client("iam").put_role_policy(
                RoleName=role, PolicyName=request["PolicyName"], PolicyDocument=document
            )


class ManagedPolicy(ResourceType):
    name = "AWS::IAM::ManagedPolicy"
    properties = split_words("ManagedPolicyName PolicyDocument Description Path Roles")

    def create(self, request: Request) -> Created:
        iam = request.client("iam")
        optional = {name: request[name] for name in ("Description", "Path") if request.has(name)}
        answer = iam.create_policy(
            PolicyName=request.name_or_generated("ManagedPolicyName", 128),
            PolicyDocument=json_text(request["PolicyDocument"]),
            **optional,
        )["Policy"]
        request.made(answer["Arn"])
        for role in request.get("Roles") or ():
            iam.attach_role_policy(RoleName=role, PolicyArn=answer["Arn"])
        return Created(answer["Arn"], {"PolicyArn": answer["Arn"], "PolicyId": answer["PolicyId"]})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed & {"ManagedPolicyName", "Path", "Description"}:
            raise ReplacementNeededError
        iam = request.client("iam")
        if "PolicyDocument" in changed:
            self._replace_document(iam, physical_id, json_text(request["PolicyDocument"]))
        before, after = set(old.get("Roles") or ()), set(request.get("Roles") or ())
        for role in before - after:
            iam.detach_role_policy(RoleName=role, PolicyArn=physical_id)
        for role in after - before:
            iam.attach_role_policy(RoleName=role, PolicyArn=physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        iam = request.client("iam")
        for role in request.get("Roles") or ():
            _ignoring_missing(iam, iam.detach_role_policy, RoleName=role, PolicyArn=physical_id)
        for version in iam.list_policy_versions(PolicyArn=physical_id)["Versions"]:
            if not version["IsDefaultVersion"]:
                iam.delete_policy_version(PolicyArn=physical_id, VersionId=version["VersionId"])
        iam.delete_policy(PolicyArn=physical_id)

    def _replace_document(self, iam: Any, arn: str, document: str) -> None:
        # IAM keeps five versions at most.
        for version in iam.list_policy_versions(PolicyArn=arn)["Versions"]:
            if not version["IsDefaultVersion"]:
                iam.delete_policy_version(PolicyArn=arn, VersionId=version["VersionId"])
        iam.create_policy_version(PolicyArn=arn, PolicyDocument=document, SetAsDefault=True)


TYPES: list[ResourceType] = [Role(), InstanceProfile(), Policy(), ManagedPolicy()]
