"""`neuronkit bootstrap`: the CDK's own stack, once for each account and region. It stays when environments go."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from scripts.aws import ssm
from scripts.aws.cloud import Cloud
from scripts.cdk_cli import run_cdk
from scripts.console import Console
from scripts.loading import load_plan
from stacks.domain.environment import CdkSettings
from stacks.domain.errors import KitError, WorldError

DEFAULT_QUALIFIER: Final = "hnb659fds"
_DEFAULT_STACK: Final = "CDKToolkit"
_OUTPUT_LINES_KEPT: Final = 15


def bootstrap_stack_name(qualifier: str) -> str:
    """With a qualifier of one's own also a stack of one's own: the default stack belongs to everybody in the account."""
    return _DEFAULT_STACK if qualifier == DEFAULT_QUALIFIER else f"{_DEFAULT_STACK}-{qualifier}"


def bootstrap_version(cloud: Cloud, qualifier: str) -> int | None:
    """None when this account and region are not bootstrapped with the qualifier."""
    value = ssm.find_parameter(cloud, f"/cdk-bootstrap/{qualifier}/version")
    return int(value) if value else None


def bootstrap(console: Console, cloud: Cloud, settings: CdkSettings) -> int:
    """Makes it, or brings it up to date; the version that is there afterwards."""
    name = bootstrap_stack_name(settings.qualifier)
    console.progress(
        f"bootstrapping account {cloud.account}, region {cloud.region} in {cloud.name}: stack {name} with a bucket and a "
        "container repository for deployments and the roles that CloudFormation acts with; it costs next to nothing, "
        "is shared by everything the CDK deploys here, and stays after `neuronkit destroy`"
    )
    lines: list[str] = []

    def on_line(line: str) -> None:
        lines.append(line)
        if line.strip():
            console.progress(f"  cdk: {line}")

    if _run(_arguments(cloud, settings, name), cloud, on_line) != 0:
        raise WorldError(
            "`cdk bootstrap` failed:\n" + "\n".join(lines[-_OUTPUT_LINES_KEPT:]),
            "it needs the permissions of an administrator (IAM roles, S3, ECR, SSM, CloudFormation)",
        )
    version = bootstrap_version(cloud, settings.qualifier)
    if version is None:
        raise WorldError(
            f"`cdk bootstrap` said nothing wrong, but /cdk-bootstrap/{settings.qualifier}/version is not there"
        )
    return version


def _run(arguments: list[str], cloud: Cloud, on_line: Callable[[str], None]) -> int:
    """In an empty directory: beside a cdk.json the CLI would make that app first, which needs none of it."""
    with TemporaryDirectory() as empty:
        environment = cloud.child_environment(os.environ)
        return run_cdk(arguments, environment=environment, on_line=on_line, directory=Path(empty))


def _arguments(cloud: Cloud, settings: CdkSettings, stack_name: str) -> list[str]:
    arguments = [
        "bootstrap",
        f"aws://{cloud.account}/{cloud.region}",
        "--qualifier",
        settings.qualifier,
        "--toolkit-stack-name",
        stack_name,
    ]
    if settings.permissions_boundary:
        arguments += ["--custom-permissions-boundary", settings.permissions_boundary]
    return arguments


def next_command(file: Path, *, local: bool) -> str:
    """What makes the next thing of a file: with errors in it, what says them."""
    try:
        plan = load_plan(file, local=local).plan
    except KitError:
        return "neuronkit check FILE"
    unbuilt = any(c.ami is not None and c.ami.is_node_image and not c.ami.is_resolved for c in plan.clusters)
    return "neuronkit image build FILE" if unbuilt else "neuronkit deploy FILE"
