"""AWS::Lambda: Function (from an archive in a bucket, or a few lines in the template), Permission, EventInvokeConfig."""

from __future__ import annotations

import io
import secrets
import zipfile
from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceType,
    split_words,
)
from scripts.local_cloud.cloudformation.types.coerce import api_parameters, without


class Function(ResourceType):
    name = "AWS::Lambda::Function"
    properties = split_words(
        "FunctionName Code Handler Runtime Role Description Timeout MemorySize Environment Architectures "
        "EphemeralStorage LoggingConfig TracingConfig VpcConfig PackageType ReservedConcurrentExecutions Tags"
    )
    # moto has no call that changes these; AWS changes them in place.
    _replaced = split_words("FunctionName PackageType Architectures EphemeralStorage TracingConfig")
    _not_of_the_configuration = (
        "FunctionName",
        "Code",
        "Tags",
        "PackageType",
        "Architectures",
        "EphemeralStorage",
        "TracingConfig",
        "ReservedConcurrentExecutions",
    )

    def create(self, request: Request) -> Created:
        client = request.client("lambda")
        names = ("FunctionName", "Code", "Tags", "ReservedConcurrentExecutions")
        given = api_parameters(client, "CreateFunction", without(request.properties, *names))
        made = client.create_function(
            FunctionName=request.name_or_generated("FunctionName"),
            Code=_code(request["Code"]),
            Tags=request.tags,
            **given,
        )
        request.made(made["FunctionName"])
        self._put_concurrency(request, made["FunctionName"])
        return Created(made["FunctionName"], {"Arn": made["FunctionArn"]})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed & self._replaced:
            raise ReplacementNeededError
        client = request.client("lambda")
        if "Code" in changed:
            client.update_function_code(FunctionName=physical_id, **_code(request["Code"]))
        configuration = without(request.properties, *self._not_of_the_configuration)
        configuration.setdefault("Environment", {"Variables": {}})
        client.update_function_configuration(
            FunctionName=physical_id, **api_parameters(client, "UpdateFunctionConfiguration", configuration)
        )
        self._put_concurrency(request, physical_id)
        arn = request.arn("lambda", f"function:{physical_id}")
        superfluous = sorted(set(client.list_tags(Resource=arn)["Tags"]) - set(request.tags))
        if superfluous:
            client.untag_resource(Resource=arn, TagKeys=superfluous)
        client.tag_resource(Resource=arn, Tags=request.tags)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("lambda").delete_function(FunctionName=physical_id)

    def _put_concurrency(self, request: Request, function: str) -> None:
        client = request.client("lambda")
        if request.has("ReservedConcurrentExecutions"):
            client.put_function_concurrency(
                FunctionName=function,
                ReservedConcurrentExecutions=int(request["ReservedConcurrentExecutions"]),
            )
        else:
            client.delete_function_concurrency(FunctionName=function)


def _code(code: Mapping[str, Any]) -> dict[str, Any]:
    """Text in the template becomes index.py, as CloudFormation has it."""
    if "ZipFile" not in code:
        return dict(code)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("index.py", code["ZipFile"])
    return {"ZipFile": archive.getvalue()}


class Permission(ResourceType):
    name = "AWS::Lambda::Permission"
    properties = split_words("Action FunctionName Principal SourceArn SourceAccount")

    def create(self, request: Request) -> Created:
        client = request.client("lambda")
        statement = f"{request.stack_name}-{request.logical_id}-{secrets.token_hex(6)}"
        given = api_parameters(client, "AddPermission", request.properties)
        client.add_permission(StatementId=statement, **given)
        return Created(statement, {"Id": statement})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        # It has no tags.
        if changed - {"Tags"}:
            raise ReplacementNeededError

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("lambda").remove_permission(
            FunctionName=request["FunctionName"], StatementId=physical_id
        )


class EventInvokeConfig(ResourceType):
    """Kept and described; the local cloud never tries an asynchronous invocation again."""

    name = "AWS::Lambda::EventInvokeConfig"
    properties = split_words(
        "FunctionName Qualifier MaximumEventAgeInSeconds MaximumRetryAttempts DestinationConfig"
    )

    def create(self, request: Request) -> Created:
        self._put(request)
        return Created(f"{request['FunctionName']}|{request['Qualifier']}")

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed & {"FunctionName", "Qualifier"}:
            raise ReplacementNeededError
        # moto describes the first that was put.
        self.delete(request, physical_id)
        self._put(request)

    def delete(self, request: Request, physical_id: str) -> None:
        client = request.client("lambda")
        client.delete_function_event_invoke_config(
            FunctionName=request["FunctionName"], Qualifier=request["Qualifier"]
        )

    def _put(self, request: Request) -> None:
        client = request.client("lambda")
        given = api_parameters(client, "PutFunctionEventInvokeConfig", request.properties)
        client.put_function_event_invoke_config(**given)


TYPES: list[ResourceType] = [Function(), Permission(), EventInvokeConfig()]
