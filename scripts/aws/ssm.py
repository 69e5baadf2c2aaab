"""SSM: parameters, and commands that it runs on an instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError

_ENDS: Final = ("Success", "Cancelled", "TimedOut", "Failed")


@dataclass(frozen=True, slots=True)
class Invocation:
    """One command on one instance."""

    status: str
    details: str
    """SSM's finer word, such as "Delivery Timed Out"."""
    response_code: int
    """-1 while it has none."""
    stdout: str
    """The first 24,000 characters."""
    stderr: str

    @property
    def has_ended(self) -> bool:
        return self.status in _ENDS

    @property
    def was_run(self) -> bool:
        """To its end, well or badly."""
        return self.status == "Success" or (self.status == "Failed" and self.response_code >= 0)


def find_parameter(cloud: Cloud, name: str) -> str | None:
    """None when there is no such parameter."""
    try:
        value: str = cloud.call("ssm", "get_parameter", Name=name)["Parameter"]["Value"]
    except AwsError as error:
        if error.code == "ParameterNotFound":
            return None
        raise
    return value


def write_parameter(cloud: Cloud, name: str, value: str) -> None:
    """Of a parameter that is there, or a new one."""
    cloud.call("ssm", "put_parameter", Name=name, Value=value, Type="String", Overwrite=True)


def delete_parameter(cloud: Cloud, name: str) -> None:
    """No error if it is gone."""
    try:
        cloud.call("ssm", "delete_parameter", Name=name)
    except AwsError as error:
        if error.code != "ParameterNotFound":
            raise


def send_command(
    cloud: Cloud, instance_id: str, text: str, delivery_seconds: int, execution_seconds: int
) -> str:
    """The id of the command: `text` for sh, as root. Retried: whatever is sent may run twice."""
    answer = cloud.call(
        "ssm",
        "send_command",
        DocumentName="AWS-RunShellScript",
        InstanceIds=[instance_id],
        Comment="neuronkit",
        TimeoutSeconds=delivery_seconds,
        Parameters={"commands": [text], "executionTimeout": [str(execution_seconds)]},
    )
    command_id: str = answer["Command"]["CommandId"]
    return command_id


def find_invocation(cloud: Cloud, command_id: str, instance_id: str) -> Invocation | None:
    """None for a moment after the command was sent."""
    try:
        raw = cloud.call("ssm", "get_command_invocation", CommandId=command_id, InstanceId=instance_id)
    except AwsError as error:
        if error.code == "InvocationDoesNotExist":
            return None
        raise
    return Invocation(
        status=raw["Status"],
        details=raw.get("StatusDetails") or raw["Status"],
        response_code=raw.get("ResponseCode", -1),
        stdout=raw.get("StandardOutputContent", ""),
        stderr=raw.get("StandardErrorContent", ""),
    )
