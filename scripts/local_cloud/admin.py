"""The admin interface of the local cloud: what tests plant, and what no AWS API has.

    GET    /neuronkit/health            {"pid", "state_dir"}
    GET    /neuronkit/faults            the planted faults
    POST   /neuronkit/faults            plants one; see below
    DELETE /neuronkit/faults[/ID]       clears one or all; calls that hang on them go on
    POST   /neuronkit/stacks            {"account"?, "region", "stack", "status", "reason"?, "next_status"?,
                                        "after_seconds"?}: sets a stack's state; a stack that does not exist is made
                                        empty; with next_status the stack changes to it after some seconds
    POST   /neuronkit/capacity-blocks   {"instance_type", "count", "zone_id", "region", "account"?, "hours"?, "tags"?,
                                        "reservation_type"?: "capacity-block" or "default" (on-demand)}: supplies a capacity block, which EC2 then describes; answers {"id", …}
    POST   /neuronkit/quotas            {"account"?, "region", "code", "vcpus"}: sets an EC2 quota; without, it is generous
    POST   /neuronkit/lambda-limit      {"account"?, "region", "executions"}: how many may run at the same time; without, 1,000
    POST   /neuronkit/schedules/fire    {"account"?, "region", "name", "group"?}: does what an EventBridge schedule would do at
                                        its time; schedules do not fire by themselves
    POST   /neuronkit/settings          {"settle_seconds"?, "time_scale"?}: see `runtime.Settings`
    GET    /neuronkit/ecs-metadata/…    the task metadata of a running job's node (ECS_CONTAINER_METADATA_URI_V4)

A fault on an API call: {"service": "ec2", "action": "CreateNatGateway", "error_code": "UnauthorizedOperation",
"message"?, "status_code"?: 400, "times"?: 1, "delay_seconds"?, "hang"?: false}. It strikes the calls of clients and
those that CloudFormation makes alike. Without error_code it only delays. `times` null: until it is cleared.

The login nodes of PCS clusters stop answering Run Command with {"service": "login-node", "action"?: instance id,
"times": null}: commands then time out in delivery; with delay_seconds they come late.

A fault on a resource of a stack: {"resource_type": "AWS::EC2::NatGateway" and/or "logical_id", "action"?: "create",
"update" or "delete", "message"?, "times"?, "delay_seconds"?, "hang"?}: the resource fails with that message; with a
delay or hang and no error_code it is only held up.

Serving fleets are emulated without containers. Faults of theirs: {"service": "autoscaling", "action": "LaunchInstances",
"error_code": "InsufficientInstanceCapacity", "message"?, "times": null} (no instances for Auto Scaling groups),
{"service": "ecs-task", "action": "RunTask", "message", "times"} (tasks that fail when they start), {"service": "ecs-task",
"action": "StartTask", "times": null} (tasks that stay PENDING), {"service": "target-health", "action"?: name of a target
group, "times": null} (unhealthy targets). Of RunTask's tasks only: {"service": "ecs-task", "action": "PlaceTask", "message":
"RESOURCE:MEMORY"} (RunTask answers with this failure), {"service": "ecs-task", "action": "ExitTask", "exit_code": 1, "message"?}
(a task that ends with this code, its container with this reason; without exit_code it runs on).

A fault of a node of a Batch job in an UltraServer: {"service": "neuron-driver", "action": "PlaceNode" (the next node lies
in another UltraServer) or "FormUltraServer" (its driver reports none), "times"?}.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import Any

from werkzeug.exceptions import HTTPException, NotFound
from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Request, Response

from scripts.local_cloud import aws_scheduler, runtime, service_quotas
from scripts.local_cloud.accounts import DEFAULT_ACCOUNT
from scripts.local_cloud.aws_lambda import concurrency
from scripts.local_cloud.batch import task_metadata
from scripts.local_cloud.cloudformation import planted_state
from scripts.local_cloud.ec2 import capacity_blocks

Handler = Callable[[dict[str, Any]], Any]


def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    request = Request(environ)
    try:
        handler, path_values = _URLS.bind_to_environ(environ).match()
        result = handler({**_body(request), **path_values})
        response = Response(json.dumps(result, default=str) + "\n", mimetype="application/json")
    except HTTPException as error:
        response = _error(error.code or 500, error.description or "")
    except (ValueError, KeyError, TypeError) as error:
        response = _error(400, f"{type(error).__name__}: {error}")
    return response(environ, start_response)


def _error(status: int, message: str) -> Response:
    return Response(json.dumps({"error": message}) + "\n", status=status, mimetype="application/json")


def _body(request: Request) -> dict[str, Any]:
    data = request.get_data()
    if not data:
        return {}
    body = json.loads(data)
    if not isinstance(body, dict):
        raise ValueError("the body is a JSON object")
    return body


def _health(_: dict[str, Any]) -> dict[str, Any]:
    return {"pid": os.getpid(), "state_dir": str(runtime.current().state_dir)}


def _list_faults(_: dict[str, Any]) -> dict[str, Any]:
    return {"faults": runtime.current().faults.list()}


def _plant_fault(body: dict[str, Any]) -> dict[str, Any]:
    return runtime.current().faults.plant(body).describe()


def _clear_faults(body: dict[str, Any]) -> dict[str, Any]:
    cleared = runtime.current().faults.clear(body.get("fault_id"))
    if "fault_id" in body and not cleared:
        raise NotFound(f"no fault {body['fault_id']}")
    return {"cleared": cleared}


def _set_stack(body: dict[str, Any]) -> dict[str, Any]:
    return planted_state.set_stack(**{"account": DEFAULT_ACCOUNT, **body})


def _supply_capacity_block(body: dict[str, Any]) -> dict[str, Any]:
    return capacity_blocks.supply(**{"account": DEFAULT_ACCOUNT, **body})


def _set_quota(body: dict[str, Any]) -> dict[str, Any]:
    return service_quotas.set_limit(**{"account": DEFAULT_ACCOUNT, **body})


def _set_lambda_limit(body: dict[str, Any]) -> dict[str, Any]:
    return concurrency.set_limit(**{"account": DEFAULT_ACCOUNT, **body})


def _fire_schedule(body: dict[str, Any]) -> dict[str, Any]:
    return aws_scheduler.fire(**{"account": DEFAULT_ACCOUNT, **body})


def _change_settings(body: dict[str, Any]) -> dict[str, Any]:
    settings = runtime.current().settings
    for name, value in body.items():
        if name not in vars(settings):
            raise ValueError(f"there is no setting {name}")
        setattr(settings, name, float(value))
    return dict(vars(settings))


def _task_metadata(path: dict[str, Any]) -> dict[str, Any]:
    answer = task_metadata.answer(path["job_id"], path["node"], path.get("rest", ""))
    if answer is None:
        raise NotFound("no such task")
    return answer


_URLS = Map(
    [
        Rule("/neuronkit/health", endpoint=_health, methods=["GET"]),
        Rule("/neuronkit/faults", endpoint=_list_faults, methods=["GET"]),
        Rule("/neuronkit/faults", endpoint=_plant_fault, methods=["POST"]),
        Rule("/neuronkit/faults", endpoint=_clear_faults, methods=["DELETE"]),
        Rule("/neuronkit/faults/<int:fault_id>", endpoint=_clear_faults, methods=["DELETE"]),
        Rule("/neuronkit/stacks", endpoint=_set_stack, methods=["POST"]),
        Rule("/neuronkit/capacity-blocks", endpoint=_supply_capacity_block, methods=["POST"]),
        Rule("/neuronkit/quotas", endpoint=_set_quota, methods=["POST"]),
        Rule("/neuronkit/lambda-limit", endpoint=_set_lambda_limit, methods=["POST"]),
        Rule("/neuronkit/schedules/fire", endpoint=_fire_schedule, methods=["POST"]),
        Rule("/neuronkit/settings", endpoint=_change_settings, methods=["POST"]),
        Rule("/neuronkit/ecs-metadata/<job_id>/<int:node>", endpoint=_task_metadata, methods=["GET"]),
        Rule(
            "/neuronkit/ecs-metadata/<job_id>/<int:node>/<path:rest>",
            endpoint=_task_metadata,
            methods=["GET"],
        ),
    ]
)
