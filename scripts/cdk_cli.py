"""The CDK CLI that package-lock.json pins, started with the kit's Node."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from scripts.node import CHECKOUT, node_binary, node_environment
from stacks.domain.errors import WorldError

CLI = CHECKOUT / "node_modules" / "aws-cdk" / "bin" / "cdk"
GRACE_SECONDS = 10.0

# No news, no statistics, no look at whether a newer version exists: a run says and sends the same every time.
QUIET = {"CDK_NOTICES": "false", "CDK_DISABLE_CLI_TELEMETRY": "true", "CDK_DISABLE_VERSION_CHECK": "true"}


def run_cdk(
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    on_line: Callable[[str], None] | None = None,
    directory: Path | None = None,
) -> int:
    """The CLI's exit code. `environment` is set over this process's own; a cdk.json in `directory` (here, if None)
    is the CLI's configuration.

    `on_line` gets every line of its output, both streams in one; without it the CLI talks to the terminal itself.
    On Ctrl-C the CLI is interrupted as well, and waited for, before KeyboardInterrupt goes on.
    """
    with subprocess.Popen(
        [*cdk_command(), *arguments],
        cwd=directory,
        env=cdk_process_environment({**os.environ, **(environment or {})}),
        stdin=subprocess.DEVNULL if on_line else None,
        stdout=subprocess.PIPE if on_line else None,
        stderr=subprocess.STDOUT if on_line else None,
        text=True,
        errors="replace",
        # A group of its own, so that an interruption reaches what the CLI has started, too; not where the CLI may
        # ask the terminal something, which only the group in front may read.
        process_group=0 if on_line else None,
    ) as process:
        try:
            if on_line is not None:
                assert process.stdout is not None
                for line in process.stdout:
                    on_line(line.rstrip("\n"))
            return process.wait()
        except BaseException:
            _interrupt(process, os.killpg if on_line else os.kill)
            raise


def cdk_command() -> list[str]:
    if not CLI.is_file():
        raise WorldError("the CDK CLI is not installed", "run `make setup`")
    return [str(node_binary()), str(CLI)]


def cdk_process_environment(environment: Mapping[str, str]) -> dict[str, str]:
    return {**environment, **node_environment(), **QUIET}


def _interrupt(process: subprocess.Popen[str], send: Callable[[int, int], None]) -> None:
    """A terminal has told the CLI already where it runs in our group; whoever else interrupted us has not."""
    if process.poll() is not None:
        return
    send(process.pid, signal.SIGINT)
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        send(process.pid, signal.SIGKILL)
        process.wait()
