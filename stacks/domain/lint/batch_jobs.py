"""AWS Batch job definitions, as RegisterJobDefinition takes them or as CloudFormation does."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stacks.domain.catalog import Catalog, InstanceType
from stacks.domain.lint import subjects
from stacks.domain.lint.report import Report
from stacks.domain.lint.subjects import Variable
from stacks.domain.lint.tree import Node
from stacks.domain.sizing import MIB_PER_GIB, task_memory_mib

NEURON_DEVICE = re.compile(r"/dev/neuron(\d+)")
EFA_DEVICE = re.compile(r"/dev/infiniband/uverbs(\d+)")
NODE_RANGES_MAX = 5
MULTI_NODE = "multinode"
HOST_MEMORY_SHARE_MAX = 0.96
"""508,416 MiB of 524,288 were refused where 96.9 % was there (torchx issue 795); a little less may start, more never."""


def is_multi_node(definition: Node) -> bool:
    return definition.get("type").text == MULTI_NODE


def check(definition: Node, catalog: Catalog, report: Report) -> None:
    if not is_multi_node(definition):
        _check_container(definition.get("containerProperties"), None, catalog, report)
        return
    nodes = definition.get("nodeProperties")
    count, ranges = nodes.get("numNodes").number, nodes.get("nodeRangeProperties")
    if count is None or ranges.unknown or any(r.get("targetNodes").unknown for r in ranges.elements()):
        report.skip("NK473", nodes.place, "the number of nodes depends on what the file does not say")
    elif len(ranges.elements()) <= NODE_RANGES_MAX:
        _check_ranges(count, ranges, report)
    containers = [r.get("container") for r in ranges.elements()]
    _check_limits(ranges, [c.get("instanceType") for c in containers], report)
    if "FARGATE" in [p.text for p in definition.get("platformCapabilities").elements()]:
        place = definition.get("platformCapabilities").place
        report.add("NK478", place, given="FARGATE", allowed="EC2", fix="write EC2")
    for container in containers:
        _check_container(container, count or 2, catalog, report)


def _check_ranges(count: int, ranges: Node, report: Report) -> None:
    """The documentation's form `a:b` with either end left out; together they have to give each node once."""
    seen: list[int] = []
    for item in ranges.elements():
        target = item.get("targetNodes")
        bounds = _bounds(target.text, count)
        if bounds is None or bounds[1] >= count:
            report.add(
                "NK473",
                target.place,
                given=repr(target.text),
                allowed=f"0:{count - 1} as a whole",
                message=f"numNodes is {count}",
                fix=f"write 0:{count - 1}, or parts of it",
            )
            return
        seen += list(range(bounds[0], min(bounds[1], count) + 1)) if count < 100_000 else []
    missing = sorted(set(range(min(count, 100_000))) - set(seen))
    if missing and count < 100_000:
        report.add(
            "NK473",
            ranges.place,
            given=f"{len(missing)} of {count} nodes in no range, first {missing[0]}",
            allowed=f"0:{count - 1} as a whole",
            fix="extend the ranges",
        )


def _bounds(text: str, count: int) -> tuple[int, int] | None:
    match = re.fullmatch(r"(\d{0,7})(:?)(\d{0,7})", text)
    if match is None or not text:
        return None
    first = int(match[1] or 0)
    last = int(match[3]) if match[3] else count - 1 if match[2] else first
    return (first, last) if first <= last else None


def _check_limits(ranges: Node, types: list[Node], report: Report) -> None:
    if len(ranges.elements()) > NODE_RANGES_MAX:
        report.add(
            "NK476",
            ranges.place,
            given=f"{len(ranges.elements())} node ranges",
            allowed=f"at most {NODE_RANGES_MAX}",
        )
    named = {t.text: t for t in types if t.text}
    if len(named) > 1:
        report.add(
            "NK476",
            list(named.values())[1].place,
            given=", ".join(named),
            allowed="one instance type",
            fix="use one type for all nodes",
        )


def _check_container(container: Node, nodes: int | None, catalog: Catalog, report: Report) -> None:
    """`nodes` is None for a job of one container."""
    if container.missing or container.unknown:
        return
    type_node = container.get("instanceType")
    instance_type = subjects.check_type_name(type_node.text, type_node.place, catalog, report)
    types = [instance_type] if instance_type else []
    image = subjects.check_image(container.get("image"), types, report)
    variables = list(_variables(container))
    several = nodes is not None and nodes > 1
    subjects.check_variables(variables, report, image=image, several_nodes=several)
    subjects.check_plain_secrets(variables, report)
    _check_devices(container, instance_type, several, report)
    _check_resources(container, instance_type, report)
    if instance_type is not None and instance_type.is_neuron:
        command = container.get("command")
        words = " ".join(e.text for e in command.elements())
        subjects.check_processes(words, command.place, instance_type, None, report)
    elif _devices(container, NEURON_DEVICE) and several:
        report.skip(
            "NK470",
            container.place,
            "no instanceType: chips, EFA interfaces and memory were not compared with it",
        )


def _variables(container: Node) -> Iterator[Variable]:
    for item in container.get("environment").elements():
        yield Variable(item.get("name").text, item.get("value").text, item.place)


def _devices(container: Node, pattern: re.Pattern[str]) -> list[Node]:
    devices = container.get("linuxParameters", "devices").elements()
    return [d for d in devices if pattern.fullmatch(d.get("hostPath").text)]


def _check_devices(
    container: Node, instance_type: InstanceType | None, several: bool, report: Report
) -> None:
    neuron, efa = _devices(container, NEURON_DEVICE), _devices(container, EFA_DEVICE)
    place = container.get("linuxParameters", "devices")
    for device in efa:
        inside = device.get("containerPath")
        if inside.known and inside.text != device.get("hostPath").text:
            report.add(
                "NK477",
                inside.place,
                given=inside.text,
                allowed=device.get("hostPath").text,
                fix="write the same path, or leave it out",
            )
    if (several and (neuron or efa)) or efa:
        _check_shared_and_locked_memory(container, report)
    if place.unknown or any(d.unknown for d in place.elements()):
        report.skip("NK470", place.place, "the devices depend on what the file does not say")
        return
    if instance_type is None or not instance_type.is_neuron or container.get("privileged").flag:
        return
    _check_neuron_count(len({d.get("hostPath").text for d in neuron}), several, instance_type, place, report)
    if several or efa:
        _check_efa_count(len({d.get("hostPath").text for d in efa}), instance_type, place, report)


def _check_neuron_count(
    given: int, several: bool, instance_type: InstanceType, place: Node, report: Report
) -> None:
    wrong = given != instance_type.chips if several else given > instance_type.chips or given == 0
    if wrong:
        report.add(
            "NK470",
            place.place,
            given=f"{given} devices",
            allowed=str(instance_type.chips),
            message=subjects.units(given, instance_type, instance_type.chips),
            fix=f"map /dev/neuron0 to /dev/neuron{instance_type.chips - 1}",
        )


def _check_efa_count(given: int, instance_type: InstanceType, place: Node, report: Report) -> None:
    most = instance_type.efa_interfaces_max
    if given != most:
        fix = f"map /dev/infiniband/uverbs0 to uverbs{most - 1}" if most else "remove them"
        report.add(
            "NK471",
            place.place,
            given=f"{given} devices uverbs*",
            allowed=str(most),
            message=f"{instance_type.name} has {most} EFA interfaces",
            fix=fix,
        )


def _check_shared_and_locked_memory(container: Node, report: Report) -> None:
    limits = container.get("ulimits")
    if limits.unknown:
        return
    memlock = [u for u in limits.elements() if u.get("name").text == "memlock"]
    if not any(u.get("hardLimit").number == -1 and u.get("softLimit").number == -1 for u in memlock):
        place = memlock[0] if memlock else limits
        report.add(
            "NK474", place.place, allowed="memlock, softLimit and hardLimit -1", fix="add it to ulimits"
        )
    shared = container.get("linuxParameters", "sharedMemorySize")
    mounted = any(m.get("containerPath").text == "/dev/shm" for m in container.get("mountPoints").elements())  # noqa: S108
    if shared.missing and not mounted:
        report.add("NK475", shared.place, fix="write linuxParameters.sharedMemorySize, in MiB")


def _check_resources(container: Node, instance_type: InstanceType | None, report: Report) -> None:
    if instance_type is None:
        return
    memory, vcpus = _requirement(container, "MEMORY", "memory"), _requirement(container, "VCPU", "vcpus")
    most = task_memory_mib(instance_type.memory_gib)
    host_mib = instance_type.memory_gib * MIB_PER_GIB
    if memory.number is not None and memory.number > host_mib * HOST_MEMORY_SHARE_MAX:
        report.add(
            "NK472",
            memory.place,
            given=f"{memory.number} MiB",
            allowed=f"at most {most} MiB",
            message=f"{instance_type.name} has {instance_type.memory_gib:g} GiB, of which the host and the ECS agent keep a part",
            fix=f"write {most}",
        )
    if vcpus.number is not None and vcpus.number > instance_type.vcpus:
        report.add(
            "NK479",
            vcpus.place,
            given=str(vcpus.number),
            allowed=f"at most {instance_type.vcpus}",
            message=f"of {instance_type.name}",
            fix=f"write {instance_type.vcpus}",
        )


def _requirement(container: Node, type_: str, old_key: str) -> Node:
    for item in container.get("resourceRequirements").elements():
        if item.get("type").text.upper() == type_:
            return item.get("value")
    return container.get(old_key)
