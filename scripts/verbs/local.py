"""`neuronkit local`: starts and stops the emulated AWS on this machine."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from scripts.console import Console
    from scripts.local_cloud.process import LocalCloud

_EMULATED = (
    "an emulation on this machine: it proves templates, calls, job definitions and teardown, not hardware"
)


@click.group(name="local")
def command() -> None:
    """The local cloud: an emulated AWS on loopback, for trying and testing without an account."""


@command.command()
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default="any free port")
@click.pass_obj
def up(console: Console, port: int) -> None:
    """Start it, or find it running."""
    from scripts.local_cloud import process

    cloud = process.start(process.default_state_dir(), port)
    _show(console, cloud, f"The local cloud answers at {cloud.endpoint_url} ({_EMULATED}).")


@command.command()
@click.pass_obj
def down(console: Console) -> None:
    """Stop it. Everything in it, running jobs included, is gone."""
    from scripts.local_cloud import process

    stopped = process.stop(process.default_state_dir())
    console.result(
        {"stopped": stopped}, "The local cloud is gone." if stopped else "No local cloud was running."
    )


@command.command()
@click.pass_obj
def status(console: Console) -> None:
    """Say whether it runs, and where."""
    from scripts.local_cloud import process

    cloud = process.find(process.default_state_dir())
    if cloud is None:
        console.result({"running": False}, "No local cloud is running; `neuronkit local up` starts one.")
    else:
        _show(
            console, cloud, f"The local cloud answers at {cloud.endpoint_url} (pid {cloud.pid}, {_EMULATED})."
        )


@command.command()
@click.option("--account", default=None, help="The twelve-digit account to act in.  [default: 123456789012]")
@click.pass_obj
def env(console: Console, account: str | None) -> None:
    """Print what a shell needs for aws, cdk and boto3 to use it: eval "$(neuronkit local env)"."""
    from scripts.local_cloud import process
    from scripts.local_cloud.accounts import DEFAULT_ACCOUNT
    from stacks.domain.errors import InputError, WorldError

    cloud = process.find(process.default_state_dir())
    if cloud is None:
        raise WorldError("no local cloud is running", "start one: neuronkit local up")
    try:
        variables = cloud.environment(account or DEFAULT_ACCOUNT)
    except ValueError as error:
        raise InputError(str(error)) from error
    lines = ["unset AWS_PROFILE AWS_DEFAULT_PROFILE AWS_SESSION_TOKEN"]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    console.result({"environment": variables}, "\n".join(lines))


def _show(console: Console, cloud: LocalCloud, text: str) -> None:
    details = {
        "running": True,
        "endpoint_url": cloud.endpoint_url,
        "pid": cloud.pid,
        "state_dir": str(cloud.state_dir),
        "log_file": str(cloud.log_file),
    }
    console.result(details, text)
