"""What a file is, by what it says and not by its name; and its bytes as text."""

from __future__ import annotations

import re
from enum import StrEnum

from stacks.domain.lint.tree import Node

BYTES_MAX = 1_048_576
"""CloudFormation takes no larger template, and Kubernetes no larger object (1.5 MiB in etcd)."""
BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
STRUCTURED = re.compile(
    r"^[ \t{]*[\"']?(AWSTemplateFormatVersion|Resources|apiVersion|jobDefinitionName|JobDefinitionName|containerProperties|"
    r"nodeProperties|LaunchTemplateData|NetworkInterfaces)[\"']?\s*:",
    re.MULTILINE,
)
STRUCTURED_IN_ONE_LINE = re.compile(
    r"[{,]\s*\"(AWSTemplateFormatVersion|Resources|apiVersion|jobDefinitionName|containerProperties|nodeProperties|"
    r"LaunchTemplateData|NetworkInterfaces)\"\s*:"
)
SHEBANG = re.compile(r"#!\s*/\S*(?:/|env\s+)(?:ba|z|k|da)?sh\b")
NODE_START_WORDS = re.compile(
    r"/etc/ecs/|/etc/eks/|\bcloud-init\b|\buser[-_]data\b|\bnodeadm\b", re.IGNORECASE
)
NEURON_WORDS = re.compile(r"neuron|\befa\b|efa[-_]installer|\btrn\d|\binf[12]\b", re.IGNORECASE)


class Kind(StrEnum):
    CLOUDFORMATION = "CloudFormation template"
    LAUNCH_TEMPLATE = "launch template data"
    KUBERNETES = "Kubernetes manifest"
    BATCH = "Batch job definition"
    SBATCH = "sbatch script"
    USER_DATA = "user data"
    SHELL = "shell script"


def text_kind(text: str, *, named: bool) -> Kind | None:
    """Of scripts; None for everything else. Of the shell scripts in a directory those about Neuron or EFA count."""
    head = text.lstrip()[:4000]
    if re.search(r"^#SBATCH\s", text, re.MULTILINE):
        return Kind.SBATCH
    if re.match(r"(MIME-Version:|Content-Type:\s*multipart/)", head, re.IGNORECASE):
        return Kind.USER_DATA
    if not SHEBANG.match(head):
        return None
    if NODE_START_WORDS.search(text):
        return Kind.USER_DATA
    return Kind.SHELL if named or NEURON_WORDS.search(text) else None


def may_be_structured(text: str) -> bool:
    """Cheap: YAML is read slowly, and directories hold much that concerns nobody here."""
    return bool(STRUCTURED.search(text) or STRUCTURED_IN_ONE_LINE.search(text[:100_000]))


def begins_like_yaml(text: str) -> bool:
    """Of a text that cannot be read as YAML: whether it was meant to be, or only quotes some."""
    first = next(
        (line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")), ""
    )
    return bool(re.match(r"---|[{[]|%YAML|[A-Za-z][\w.-]*:(\s|$)|(\"[\w.-]+\"|'[\w.-]+')\s*:", first))


def document_kind(root: Node) -> Kind | None:
    keys = {key for key, _ in root.items()}
    if _holds_resources(root):
        return Kind.CLOUDFORMATION
    if {"apiVersion", "kind"} <= keys:
        return Kind.KUBERNETES
    if keys & {"containerProperties", "nodeProperties", "ContainerProperties", "NodeProperties"}:
        return Kind.BATCH
    if keys & {"LaunchTemplateData", "NetworkInterfaces"}:
        return Kind.LAUNCH_TEMPLATE
    return None


def _holds_resources(root: Node) -> bool:
    resources = root.get("Resources")
    return any("::" in body.get("Type").text for _, body in resources.items())


def decode(content: bytes) -> tuple[str | None, str]:
    """The text, or None where it is none; and what is odd about its encoding."""
    for mark, encoding in BOMS:
        if content.startswith(mark):
            try:
                text = content.decode(encoding if encoding == "utf-16" else "utf-8-sig")
            except UnicodeDecodeError:
                return None, encoding.upper()
            return text, encoding.upper() if encoding == "utf-16" else "a byte order mark"
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None, "binary, or another encoding"
    return (None, "binary") if "\0" in text else (text, "")
