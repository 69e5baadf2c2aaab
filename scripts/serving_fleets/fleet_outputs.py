"""What a fleet's stack promises to `deploy` and `status`."""

from __future__ import annotations

from dataclasses import dataclass

from scripts.aws.cloudformation import Stack
from scripts.aws.ecs import TaskPlace
from stacks.domain import names
from stacks.domain.errors import WorldError
from stacks.domain.fleet_plan import FleetPlan


@dataclass(frozen=True, slots=True)
class FleetOutputs:
    """None where the fleet has no such part."""

    cluster: str
    services: tuple[str, ...]
    """On Neuron, in the order of the slices."""
    gpu_service: str | None
    auto_scaling_group: str | None
    gpu_auto_scaling_group: str | None
    dns_name: str
    rule_arn: str | None
    neuron_target_group: str
    gpu_target_group: str | None
    waker_target_group: str | None
    fallback_parameter: str | None
    log_group: str | None
    compile_task_definition: str | None
    compile_place: TaskPlace | None

    def url(self, fleet: FleetPlan) -> str:
        scheme = "https" if fleet.settings.listener.certificate else "http"
        return f"{scheme}://{self.dns_name}"


def fleet_outputs(stack: Stack) -> FleetOutputs:
    """Raises WorldError when the stack is of another version of the kit."""
    given = stack.outputs
    wanted = (
        names.OUTPUT_ECS_CLUSTER,
        names.OUTPUT_SERVICES,
        names.OUTPUT_LOAD_BALANCER_DNS_NAME,
        names.OUTPUT_NEURON_TARGET_GROUP,
    )
    missing = [name for name in wanted if name not in given]
    if missing:
        raise WorldError(
            f"stack {stack.name} ({stack.status}) has no outputs {', '.join(missing)}",
            "deploy again, with this version of the kit",
        )
    return FleetOutputs(
        cluster=given[names.OUTPUT_ECS_CLUSTER],
        services=tuple(given[names.OUTPUT_SERVICES].split(",")),
        gpu_service=given.get(names.OUTPUT_GPU_SERVICE),
        auto_scaling_group=given.get(names.OUTPUT_AUTO_SCALING_GROUP),
        gpu_auto_scaling_group=given.get(names.OUTPUT_GPU_AUTO_SCALING_GROUP),
        dns_name=given[names.OUTPUT_LOAD_BALANCER_DNS_NAME],
        rule_arn=given.get(names.OUTPUT_LISTENER_RULE),
        neuron_target_group=given[names.OUTPUT_NEURON_TARGET_GROUP],
        gpu_target_group=given.get(names.OUTPUT_GPU_TARGET_GROUP),
        waker_target_group=given.get(names.OUTPUT_WAKER_TARGET_GROUP),
        fallback_parameter=given.get(names.OUTPUT_FALLBACK_PARAMETER),
        log_group=given.get(names.OUTPUT_LOG_GROUP),
        compile_task_definition=given.get(names.OUTPUT_COMPILE_TASK_DEFINITION),
        compile_place=_compile_place(given),
    )


def _compile_place(given: dict[str, str]) -> TaskPlace | None:
    provider = given.get(names.OUTPUT_COMPILE_CAPACITY_PROVIDER)
    if provider is None:
        return None
    return TaskPlace(
        given[names.OUTPUT_ECS_CLUSTER],
        provider,
        given.get(names.OUTPUT_COMPILE_SUBNET_ID),
        given.get(names.OUTPUT_COMPILE_SECURITY_GROUP_ID),
    )
