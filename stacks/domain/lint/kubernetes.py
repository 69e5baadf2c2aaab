"""Kubernetes manifests: what pods ask for, where they may run, and whether anything here is such a place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stacks.domain.catalog import Catalog, InstanceType
from stacks.domain.findings import closest, one_of
from stacks.domain.lint import shell, subjects
from stacks.domain.lint.node_documents import check_node_types, node_labels
from stacks.domain.lint.pods import EFA, NEURON, NEURON_CORE, REMOVED_DEVICE, TYPE_LABELS, Pod, find_pods
from stacks.domain.lint.report import Report
from stacks.domain.lint.shell import script_of_node
from stacks.domain.lint.tree import Node

DEVICE_COUNTS = (1, 4, 8, 16)
"""Of chips in one pod, on types of 16 chips."""
DEFAULT_SCHEDULER = "default-scheduler"
ULTRASERVER_MODE_LABEL = "neuron.amazonaws.com/ultraserver"
NODE_CONFIG_VARIABLE = "NEURON_ULTRASERVER_NODE_CONFIG"
NODE_COUNT_VARIABLES = ("NUM_NODES", "NNODES", "WORLD_NODES")
ZONE_LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
WELL_KNOWN_LABELS = (
    "kubernetes.io/", "node.kubernetes.io/", "topology.kubernetes.io/", "beta.kubernetes.io/", "eks.amazonaws.com/", "karpenter.sh/",
    "karpenter.k8s.aws/", "neuron.amazonaws.com/", "topology.k8s.aws/", "node-role.kubernetes.io/", "k8s.io/",
)  # fmt: skip
PLACEHOLDER = re.compile(r"\$\{?[A-Za-z_]\w*\}?|\{\{.*\}\}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """One file's documents."""

    documents: tuple[Node, ...]
    report: Report


def check(manifests: Iterable[Manifest], catalog: Catalog) -> None:
    """All together: a pod's label and scheduler may be in another file."""
    all_documents = [(d, m.report) for m in manifests for d in m.documents]
    labels = {label for document, _ in all_documents for label in node_labels(document)}
    schedulers = {name for document, _ in all_documents for name in _schedulers(document)}
    for document, report in all_documents:
        check_node_types(document, catalog, report)
        for pod in find_pods(document):
            _check_pod(pod, catalog, report)
            if pod.is_neuron:
                _check_scheduler(pod, schedulers, report)
                _check_labels(pod, labels, report)


def _check_pod(pod: Pod, catalog: Catalog, report: Report) -> None:
    types = _check_types(pod, catalog, report)
    about_neuron = [
        c.get("image") for c in pod.containers if pod.is_neuron or "neuron" in c.get("image").text
    ]
    images = [subjects.check_image(image, types if pod.is_neuron else (), report) for image in about_neuron]
    variables = list(pod.variables())
    subjects.check_plain_secrets(variables, report)
    for command in pod.commands():
        script = script_of_node(command)
        shell.check_secrets(script, report)
        shell.check_downloads(script, report)
        shell.check_set_twice(script, report)
    if not pod.is_neuron:
        return
    image = next((i for i in images if i), None)
    exported = [
        subjects.Variable(a.name, a.value, a.place)
        for c in pod.commands()
        for a in script_of_node(c).assignments
    ]
    subjects.check_variables([*variables, *exported], report, image=image, several_nodes=pod.several)
    _check_resources(pod, report)
    instance_type = types[0] if len(types) == 1 else None
    _check_counts(pod, instance_type, catalog, report)
    _check_efa(pod, types, report)
    _check_ultraserver(pod, variables, report)
    _check_node_count(pod, variables, report)
    chips = pod.count(NEURON)
    if instance_type is not None and chips:
        for command in pod.commands():
            subjects.check_processes(command.text, command.place, instance_type, chips, report)


def _check_types(pod: Pod, catalog: Catalog, report: Report) -> list[InstanceType]:
    """The accelerator types where the pod may run; [] where nothing says."""
    found: list[InstanceType] = []
    for label, values, operator in pod.selectors():
        if label in TYPE_LABELS:
            known = [subjects.check_type_name(v.text, v.place, catalog, report) for v in values]
            if operator == "In":
                found += [t for t in known if t is not None]
                _check_completeness(pod, values, known, catalog, report)
    for label, values, operator in pod.selectors():
        for value in values if label in ZONE_LABELS and operator == "In" and len(found) == 1 else ():
            subjects.check_zone(value.text, found, value.place, catalog, report)
    return list({t.name: t for t in found}.values())


def _check_completeness(
    pod: Pod, values: tuple[Node, ...], known: list[InstanceType | None], catalog: Catalog, report: Report
) -> None:
    """A DaemonSet (device plugin, monitor) has to reach every type; a job may choose."""
    listed = {t.name for t in known if t is not None and t.is_neuron}
    if pod.kind != "DaemonSet" or not listed or not values:
        return
    left_out = [t.name for t in catalog.instance_types.values() if t.is_neuron and t.name not in listed]
    if left_out:
        report.add(
            "NK455",
            values[0].place,
            given=f"{len(values)} types",
            message=f"without {', '.join(left_out)}, and every type to come",
            fix="select nodes by a label of your own",
        )


def _check_resources(pod: Pod, report: Report) -> None:
    for limit, request in pod.resources(REMOVED_DEVICE):
        report.add(
            "NK450",
            (request if limit.missing else limit).place,
            given=REMOVED_DEVICE,
            allowed=one_of((NEURON, NEURON_CORE)),
            fix=f"write {NEURON}",
        )
    chips, cores = pod.resources(NEURON), pod.resources(NEURON_CORE)
    if chips and cores:
        limit, request = cores[0]
        report.add(
            "NK451",
            (request if limit.missing else limit).place,
            given=f"{NEURON} and {NEURON_CORE}",
            allowed="one of them",
            fix=f"keep {NEURON}",
        )
    for name in (NEURON, NEURON_CORE, EFA):
        for limit, request in pod.resources(name):
            if limit.missing or (
                limit.number is not None and request.number is not None and limit.number != request.number
            ):
                report.add(
                    "NK453",
                    request.place,
                    given=f"{name}: {request.text}",
                    allowed=limit.text or "limits, too",
                    fix="write the same number under limits",
                )


def _check_counts(pod: Pod, instance_type: InstanceType | None, catalog: Catalog, report: Report) -> None:
    for name, count_of in ((NEURON, _legal_chips), (NEURON_CORE, _legal_cores)):
        for limit, request in pod.resources(name):
            node = request if limit.missing else limit
            given = node.number
            if given is None:
                report.skip("NK452", node.place, "the number is not in the file")
            elif instance_type is not None and instance_type.is_neuron:
                _check_count(given, count_of(instance_type), name, node, instance_type, report)
            elif not any(given in count_of(t) for t in catalog.instance_types.values() if t.is_neuron):
                everywhere = sorted({n for t in catalog.instance_types.values() for n in count_of(t)})
                report.add(
                    "NK452",
                    node.place,
                    given=f"{name}: {given}",
                    allowed=one_of(str(n) for n in everywhere),
                    message="no type has such a group",
                )
            else:
                report.skip(
                    "NK452",
                    node.place,
                    "the instance type is not in the file: whether it has so many together was not checked",
                )


def _check_count(
    given: int, legal: set[int], name: str, node: Node, instance_type: InstanceType, report: Report
) -> None:
    if given not in legal:
        nearest = min(sorted(legal), key=lambda n: abs(n - given))
        report.add(
            "NK452",
            node.place,
            given=f"{name}: {given}",
            allowed=one_of(str(n) for n in sorted(legal)),
            message=subjects.units(given, instance_type, instance_type.chips),
            fix=f"write {nearest}",
        )


def _legal_chips(instance_type: InstanceType) -> set[int]:
    """Types of fewer than 16 chips join them in a ring or not at all: any number there."""
    if instance_type.chips == max(DEVICE_COUNTS):
        return set(DEVICE_COUNTS)
    return set(range(1, instance_type.chips + 1))


def _legal_cores(instance_type: InstanceType) -> set[int]:
    """Part of one chip, or whole chips in a legal group, at any LNC."""
    if instance_type.chip is None:
        return set()
    legal: set[int] = set()
    for size in instance_type.chip.logical_core_sizes:
        a_chip = (instance_type.chip.physical_cores or 0) // size
        legal |= set(range(1, a_chip + 1)) | {a_chip * chips for chips in _legal_chips(instance_type)}
    return legal


def _check_efa(pod: Pod, types: list[InstanceType], report: Report) -> None:
    asked = pod.resources(EFA)
    most = types[0].efa_interfaces_max if len(types) == 1 else None
    if not asked and pod.several and pod.role != "Launcher":
        if most is None or most > 0:
            report.add(
                "NK222",
                pod.spec.get("containers").place,
                given=f"no {EFA}",
                allowed=f"{EFA}: {most or 'one for each EFA interface'}",
                message="several nodes would talk over plain TCP",
                fix="ask for it under limits",
            )
        else:
            report.add(
                "NK222",
                pod.spec.get("containers").place,
                given=types[0].name,
                message="the type has no EFA: several nodes talk over plain TCP",
                fix="expect it to be slow, or take a type with EFA",
            )
    count = pod.count(EFA)
    if asked and most is not None and count is not None and count > most:
        report.add(
            "NK410",
            asked[0][0].place,
            given=f"{EFA}: {count}",
            allowed=str(most),
            message=f"{types[0].name} has {most}",
            fix=f"write {most}",
        )


def _check_ultraserver(pod: Pod, variables: list[subjects.Variable], report: Report) -> None:
    config = next((v.value for v in variables if v.name == NODE_CONFIG_VARIABLE), None) or _launcher_config(
        pod
    )
    labels = [label for label, _, _ in pod.selectors() if label.startswith(ULTRASERVER_MODE_LABEL)]
    if config is None and labels:
        size = next((label.rpartition("-")[2] for label in labels if "server-id-" in label), "4")
        config = size
    if config is None or not config.isdecimal() or pod.role == "Launcher" or pod.workers.number is None:
        return
    nodes = int(config)
    if nodes not in (1, 2, 4) or pod.workers.number % nodes:
        report.add(
            "NK456",
            pod.workers.place,
            given=f"{pod.workers.number} workers, node config {config}",
            allowed="a multiple of 1, 2 or 4 nodes, as the node config says",
            fix=f"write {max(nodes, (pod.workers.number // max(nodes, 1)) * nodes)}",
        )


def _launcher_config(pod: Pod) -> str | None:
    """The init script runs in the launcher, the replicas are the worker's."""
    for other in find_pods(pod.document):
        value = next((v.value for v in other.variables() if v.name == NODE_CONFIG_VARIABLE), None)
        if value:
            return value
    return None


def _check_node_count(pod: Pod, variables: list[subjects.Variable], report: Report) -> None:
    workers = pod.workers.number
    if workers is None or pod.role == "Launcher" or (pod.role and not pod.several and workers != 1):
        return
    total = workers
    if pod.role == "Master" or (
        pod.role == "Worker" and not pod.document.get("spec", "pytorchReplicaSpecs", "Master").missing
    ):
        return  # both count
    said = [(v.name, v.value, v.place) for v in variables if v.name in NODE_COUNT_VARIABLES]
    for command in pod.commands():
        said += [
            (match[0], match[1], command.place) for match in subjects.NODES_OPTION.finditer(command.text)
        ]
        said += [
            (a.name, a.value, a.place)
            for a in script_of_node(command).assignments
            if a.name in NODE_COUNT_VARIABLES
        ]
    for name, value, place in said:
        if value.isdecimal() and int(value) != total:
            report.add(
                "NK457",
                place,
                given=f"{name} says {value}",
                allowed=str(total),
                message=f"line {pod.workers.line} starts {total}",
                fix="write both from one place",
            )


def _check_scheduler(pod: Pod, schedulers: set[str], report: Report) -> None:
    name = pod.spec.get("schedulerName")
    if (
        name.text
        and name.text != DEFAULT_SCHEDULER
        and name.text not in schedulers
        and not PLACEHOLDER.search(name.text)
    ):
        report.add(
            "NK454",
            name.place,
            given=repr(name.text),
            message="no document here installs it",
            fix="leave it out and ask for whole chips, or install the Neuron scheduler extension in the plugin's version",
        )


def _schedulers(document: Node) -> Iterator[str]:
    if document.get("kind").text == "KubeSchedulerConfiguration":
        yield from (p.get("schedulerName").text for p in document.get("profiles").elements())
    if document.get("kind").text == "Deployment":
        yield document.get("metadata", "name").text
    if document.get("kind").text == "ConfigMap":
        for _, value in document.get("data").items():
            yield from re.findall(r"schedulerName:\s*[\"']?([\w-]+)", value.text)


def _check_labels(pod: Pod, labels: set[tuple[str, str]], report: Report) -> None:
    if not labels:
        return
    keys = {key for key, _ in labels}
    for label, values, operator in pod.selectors():
        if (
            label.startswith(WELL_KNOWN_LABELS)
            or operator != "In"
            or any(PLACEHOLDER.search(v.text) for v in values)
        ):
            continue
        words = [v.text for v in values]
        if not any((label, word) in labels for word in words):
            there = sorted({value for key, value in labels if key == label})
            near = closest(label, keys - {label}) if label not in keys else None
            report.add(
                "NK458",
                values[0].place if values else pod.spec.place,
                given=f"{label}: {one_of(words)}",
                allowed=f"{label}: {one_of(there)}" if there else one_of(sorted(keys)),
                fix=f"did you mean {near!r}?" if near else "take the node pool's label",
            )
