"""Pods in Kubernetes manifests, found by their shape: whatever holds `containers` is one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stacks.domain.lint.subjects import Variable
from stacks.domain.lint.tree import Node

NEURON, NEURON_CORE, REMOVED_DEVICE = (
    "aws.amazon.com/neuron",
    "aws.amazon.com/neuroncore",
    "aws.amazon.com/neurondevice",
)
EFA = "vpc.amazonaws.com/efa"
TYPE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
REPLICA_SPECS = ("mpiReplicaSpecs", "pytorchReplicaSpecs", "tfReplicaSpecs", "jaxReplicaSpecs")


@dataclass(frozen=True, slots=True)
class Pod:
    spec: Node
    document: Node
    workers: Node
    """The number of pods that work together, where the workload's kind has one."""
    several: bool
    """More than one of them."""
    role: str
    """"Launcher", "Worker", …, or ""."""

    @property
    def kind(self) -> str:
        return self.document.get("kind").text

    @property
    def containers(self) -> tuple[Node, ...]:
        return (*self.spec.get("initContainers").elements(), *self.spec.get("containers").elements())

    def resources(self, name: str) -> list[tuple[Node, Node]]:
        """Limit and request of each container that names the resource."""
        pairs = []
        for container in self.containers:
            limit, request = (_exact(container.get("resources", key), name) for key in ("limits", "requests"))
            if not (limit.missing and request.missing):
                pairs.append((limit, request))
        return pairs

    def count(self, name: str) -> int | None:
        """Of all containers; None where one is not known."""
        numbers = [(request if limit.missing else limit).number for limit, request in self.resources(name)]
        return None if None in numbers else sum(n for n in numbers if n is not None)

    @property
    def is_neuron(self) -> bool:
        return any(self.resources(name) for name in (NEURON, NEURON_CORE, REMOVED_DEVICE))

    def selectors(self) -> Iterator[tuple[str, tuple[Node, ...], str]]:
        """Label, values and operator, of the selector and of the required affinity."""
        for label, value in self.spec.get("nodeSelector").items():
            yield label, (value,), "In"
        required = self.spec.get("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
        for term in required.get("nodeSelectorTerms").elements():
            for expression in term.get("matchExpressions").elements():
                yield (
                    expression.get("key").text,
                    expression.get("values").elements(),
                    expression.get("operator").text,
                )

    def variables(self) -> Iterator[Variable]:
        for container in self.containers:
            for item in container.get("env").elements():
                yield Variable(item.get("name").text, item.get("value").text, item.place)

    def commands(self) -> Iterator[Node]:
        for container in self.containers:
            yield from (*container.get("command").elements(), *container.get("args").elements())


def find_pods(document: Node) -> Iterator[Pod]:
    yield from _below(document, document, ())


def _below(node: Node, document: Node, above: tuple[Node, ...]) -> Iterator[Pod]:
    containers = node.get("containers") if node.is_mapping else None
    if containers is not None and any(
        c.is_mapping and not c.get("name").missing for c in containers.elements()
    ):
        workers, several, role = _workers(document, above)
        yield Pod(node, document, workers, several, role)
        return
    for child in node.elements() or tuple(value for _, value in node.items()):
        yield from _below(child, document, (*above, node))


def _workers(document: Node, above: tuple[Node, ...]) -> tuple[Node, bool, str]:
    spec = document.get("spec")
    for name in REPLICA_SPECS:
        roles = dict(spec.get(name).items())
        for role, body in roles.items():
            if body in above:
                total = sum(other.get("replicas").number or 0 for other in roles.values())
                own = body.get("replicas")
                return own, (own.number or 0) > 1 or (role == "Master" and total > 1), role
    for node in reversed(above):
        parallel = node.get("parallelism")
        if (parallel.number or 0) > 1 and node.get("completionMode").text == "Indexed":
            return parallel, True, ""  # without indexes the pods do not know of each other
        size = node.get("leaderWorkerTemplate", "size")
        if not size.missing:
            return size, (size.number or 0) > 1, ""
    replicated = next(
        (n for n in reversed(above) if "replicas" in dict(n.items()) and "template" in dict(n.items())), None
    )
    if replicated is not None and document.get("kind").text in ("JobSet", "StatefulSet"):
        return replicated.get("replicas"), (replicated.get("replicas").number or 0) > 1, ""
    return spec.get("parallelism"), False, ""


def _exact(node: Node, name: str) -> Node:
    return dict(node.items())[name] if name in dict(node.items()) else node.get("\0")
