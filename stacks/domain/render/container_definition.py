"""A container as ECS's ContainerDefinition, for people to read: the stack makes the real one."""

from __future__ import annotations

from typing import Any

from stacks.domain.render.engine_container import BUCKET_VARIABLE, EngineContainer

Definition = dict[str, Any]


def container_definition(name: str, container: EngineContainer, bucket: str) -> Definition:
    variables = (*container.environment, *(((BUCKET_VARIABLE, bucket),) if container.needs_bucket else ()))
    definition: Definition = {
        "name": name,
        "image": container.image,
        "essential": True,
        "entryPoint": list(container.entry_point),
        "command": list(container.command),
        "memoryReservation": container.memory_reservation_mib,
        "stopTimeout": container.stop_timeout_seconds,
        "portMappings": [{"containerPort": container.port, "hostPort": container.port, "protocol": "tcp"}],
        "environment": [{"name": key, "value": value} for key, value in sorted(variables)],
        "secrets": [{"name": key, "valueFrom": arn} for key, arn in container.secrets],
        "mountPoints": [
            {"sourceVolume": m.volume, "containerPath": m.path, "readOnly": m.read_only}
            for m in container.mounts
        ],
        "ulimits": [{"name": u.name, "softLimit": u.soft, "hardLimit": u.hard} for u in container.ulimits],
        "linuxParameters": _linux_parameters(container),
    }
    if container.gpus:
        definition["resourceRequirements"] = [{"type": "GPU", "value": str(container.gpus)}]
        # Replicas on one GPU node: the port of the host is chosen by Docker.
        definition["portMappings"][0]["hostPort"] = 0
    return definition


def _linux_parameters(container: EngineContainer) -> Definition:
    """Devices keep their paths: the runtime numbers its cores by them."""
    devices = [
        {"hostPath": path, "containerPath": path, "permissions": ["read", "write"]}
        for path in container.devices
    ]
    return {
        **({"devices": devices} if devices else {}),
        **({"capabilities": {"add": list(container.capabilities)}} if container.capabilities else {}),
        **({"sharedMemorySize": container.shared_memory_mib} if container.shared_memory_mib else {}),
    }
