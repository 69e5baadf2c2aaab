"""Manifests that make nodes: Karpenter's NodePools, eksctl's ClusterConfigs, and nodes themselves."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.catalog import Catalog
from stacks.domain.lint.pods import TYPE_LABELS
from stacks.domain.lint.report import Report
from stacks.domain.lint.subjects import check_type_name
from stacks.domain.lint.tree import Node

EKSCTL_GROUPS = ("managedNodeGroups", "nodeGroups")


def check_node_types(document: Node, catalog: Catalog, report: Report) -> None:
    for node in _type_names(document):
        check_type_name(node.text, node.place, catalog, report)


def _type_names(document: Node) -> Iterator[Node]:
    if document.get("kind").text == "NodePool":
        for requirement in document.get("spec", "template", "spec", "requirements").elements():
            if requirement.get("key").text in TYPE_LABELS:
                yield from requirement.get("values").elements()
    if document.get("kind").text == "ClusterConfig":
        for group in (group for key in EKSCTL_GROUPS for group in document.get(key).elements()):
            yield group.get("instanceType")
            yield from group.get("instanceTypes").elements()


def node_labels(document: Node) -> Iterator[tuple[str, str]]:
    """Label and value of nodes that a document makes: NodePools, eksctl's node groups, nodes themselves."""
    kind = document.get("kind").text
    if kind == "Node":
        yield from _labels(document.get("metadata", "labels"))
    if kind in ("NodePool", "Provisioner"):
        yield from _labels(document.get("spec", "template", "metadata", "labels"))
        yield from _labels(document.get("spec", "labels"))
    if kind == "ClusterConfig":
        for key in EKSCTL_GROUPS:
            for group in document.get(key).elements():
                yield from _labels(group.get("labels"))


def _labels(node: Node) -> Iterator[tuple[str, str]]:
    return ((key, value.text) for key, value in node.items())
