"""SSM as moto answers it, with Run Command and the instances' information answered for PCS login nodes."""

from __future__ import annotations

from typing import Any

from moto.core.responses import ActionResult
from moto.ssm.responses import SimpleSystemManagerResponse

from scripts.local_cloud import runtime
from scripts.local_cloud.own_service import ServiceException
from scripts.local_cloud.run_command import login_nodes
from scripts.local_cloud.run_command.command import FAULT_SERVICE, Command

_DOCUMENT = "AWS-RunShellScript"
_DELIVERY_SECONDS, _EXECUTION_SECONDS = 3600, 3600
_DELIVERY_SECONDS_LEAST = 30
_commands: dict[tuple[str, str, str], Command] = {}
"""By account, region and id."""


class InvalidInstanceId(ServiceException):
    code = "InvalidInstanceId"


class InvalidDocument(ServiceException):
    code = "InvalidDocument"


class InvalidParameters(ServiceException):
    code = "InvalidParameters"


class InvocationDoesNotExist(ServiceException):
    code = "InvocationDoesNotExist"


class Ssm(SimpleSystemManagerResponse):
    def send_command(self) -> ActionResult:
        if self._get_param("DocumentName") != _DOCUMENT:
            raise InvalidDocument(f"the local cloud runs {_DOCUMENT} only")
        instance_ids = self._get_param("InstanceIds", [])
        if len(instance_ids) != 1 or self._get_param("Targets", []):
            raise InvalidParameters("the local cloud runs a command on one instance of InstanceIds")
        node = login_nodes.find(self.current_account, self.region, instance_ids[0])
        if node is None:
            raise InvalidInstanceId(
                f"Instances [[{instance_ids[0]}]] not in a valid state for account {self.current_account}"
            )
        command = self._command(node)
        _commands[self.current_account, self.region, command.id] = command
        described = command.describe()
        command.start()
        return ActionResult({"Command": described})

    def get_command_invocation(self) -> ActionResult:
        command = _commands.get((self.current_account, self.region, self._get_param("CommandId")))
        if command is None or command.node.instance_id != self._get_param("InstanceId"):
            raise InvocationDoesNotExist("there is no such command on the instance")
        return ActionResult(command.invocation())

    def describe_instance_information(self) -> ActionResult:
        """Filters other than by instance would be dropped in silence, so they are refused."""
        filters = [*self._get_param("Filters", []), *self._get_param("InstanceInformationFilterList", [])]
        wanted: set[str] | None = None
        for item in filters:
            if item.get("Key", item.get("key")) != "InstanceIds":
                raise InvalidParameters("the local cloud filters by InstanceIds only")
            wanted = set(item.get("Values", item.get("valueSet")))
        found = [
            self._information(node)
            for node in login_nodes.running(self.current_account, self.region)
            if wanted is None or node.instance_id in wanted
        ]
        return ActionResult({"InstanceInformationList": found})

    def _command(self, node: login_nodes.LoginNode) -> Command:
        parameters = self._get_param("Parameters", {})
        unknown = set(parameters) - {"commands", "workingDirectory", "executionTimeout"}
        if unknown or not parameters.get("commands"):
            raise InvalidParameters(f"{_DOCUMENT} takes commands, workingDirectory and executionTimeout")
        delivery = self._get_int_param("TimeoutSeconds") or _DELIVERY_SECONDS
        if delivery < _DELIVERY_SECONDS_LEAST:
            raise InvalidParameters(f"TimeoutSeconds is at least {_DELIVERY_SECONDS_LEAST}")
        return Command(
            node=node,
            account=self.current_account,
            region=self.region,
            lines=list(parameters["commands"]),
            working_directory=(parameters.get("workingDirectory") or ["/"])[0] or "/",
            delivery_seconds=float(delivery),
            execution_seconds=float((parameters.get("executionTimeout") or [_EXECUTION_SECONDS])[0]),
            comment=self._get_param("Comment", ""),
        )

    def _information(self, node: login_nodes.LoginNode) -> dict[str, Any]:
        silent = runtime.current().faults.concerns_service(FAULT_SERVICE)
        return {
            "InstanceId": node.instance_id,
            "PingStatus": "ConnectionLost" if silent else "Online",
            "PlatformType": "Linux",
            "PlatformName": "emulated by the local cloud",
            "ResourceType": "EC2Instance",
            "ComputerName": node.group.name,
        }
