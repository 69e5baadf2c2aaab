"""The `neuronkit` command: finds the verb's file, runs it, and turns errors into words and exit codes.

A verb is scripts/verbs/<verb>.py with a click command named `command`; it is imported only when it is asked for.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from scripts.console import Console, ReaderGoneError
from stacks.domain.errors import InputError, KitError

# In the order in which a pilot needs them; the help lists them so.
VERBS = {
    "init": "write a commented environment file to start from",
    "check": "find what is wrong in an environment file",
    "lint": "find what is wrong in templates, manifests, job definitions and scripts that you have already",
    "plan": "say what would be made, and what it costs",
    "render": "write the runtime and job files",
    "synth": "write the CloudFormation templates (a cloud assembly)",
    "capacity": "capacity blocks: search, buy, status",
    "lock": "resolve AMI ids and image digests once, into FILE.lock",
    "bootstrap": "prepare the account and region for the CDK, once",
    "image": "node images of Slurm clusters: build, status",
    "deploy": "make the environment",
    "launch": "start a job, or join the run that is there",
    "status": "say what runs, and why something does not",
    "logs": "print the log of a run",
    "bench-serving": "load an endpoint that serves a model, and measure it",
    "override": "say by hand which side serves, or has the capacity: GPU fallbacks, day/night shifts",
    "destroy": "remove everything that is ours, and prove it",
    "leftovers": "list what outlived the stacks",
    "catalog": "instance types, chips, images and their sources",
    "schema": "the JSON Schema of the environment file",
    "local": "the local cloud: up, down, status, env",
    "cdk": "run the pinned CDK CLI with the kit's own Node",
}


INTERRUPTED = 130


class LazyVerbs(click.Group):
    """Knows the verbs' names and one-line helps without importing them: `--help` stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        verb: click.Command = importlib.import_module(f"scripts.verbs.{cmd_name.replace('-', '_')}").command
        return verb

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=LazyVerbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
@click.option(
    "--local", is_flag=True, help="Act on the local cloud (an emulator on this machine), not on AWS."
)
@click.option("--profile", metavar="NAME", help="The AWS profile to act with.")
@click.version_option(package_name="neuronkit")
@click.pass_context
def neuronkit(ctx: click.Context, as_json: bool, local: bool, profile: str | None) -> None:
    """One environment file in; a training pilot on AWS Trainium out; and back to nothing."""
    if profile == "":
        raise click.UsageError("--profile needs the NAME of a profile", ctx)
    ctx.obj = replace(ctx.obj or Console(), json=as_json, local=local, profile=profile)


def main() -> None:
    try:
        code = run(sys.argv[1:])
    except ReaderGoneError:
        code = 0
    except KitError:  # not even the error could be written
        code = 3
    except Exception:  # noqa: BLE001
        traceback.print_exc()
        print("neuronkit: this is a bug of ours, please report it with the lines above", file=sys.stderr)
        code = 1
    _end_output()
    if code == INTERRUPTED and sys.stderr is not None:
        # The CDK's Node was interrupted as well, and its Python side complains about that when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    sys.exit(code)


def _end_output() -> None:
    """What cannot be flushed now must not be tried again when Python exits: that would change the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def run(arguments: list[str]) -> int:
    """The exit code: 0 done, 1 our bug, 2 wrong input, 3 the world says no, 4 the job failed, 130 interrupted."""
    options, arguments = _global_options_first(arguments)
    profile = next((word.partition("=")[2] for word in options if word.startswith("--profile=")), None)
    console = Console("--json" in options, "--local" in options, profile, _file_of(arguments))
    try:
        result: Any = neuronkit.main(
            args=options + arguments, prog_name="neuronkit", standalone_mode=False, obj=console
        )
    except KitError as error:
        console.error(error)
        return error.exit_code
    except click.exceptions.Abort:
        console.progress("neuronkit: interrupted; the same command continues from here")
        return INTERRUPTED
    except click.ClickException as error:
        return _misused(error, console)
    return result if isinstance(result, int) else 0


def _file_of(arguments: list[str]) -> Path | None:
    """The FILE that a command is given, which errors name; wrong words are left to the command itself."""
    command: click.Command | None = neuronkit
    words = list(arguments)
    while isinstance(command, click.Group) and words:
        command = command.get_command(click.Context(command), words.pop(0))
    if command is None or isinstance(command, click.Group):
        return None
    try:
        file = command.make_context(command.name, words, resilient_parsing=True).params.get("file")
    except click.ClickException:
        return None
    return file if isinstance(file, Path) else None


def _misused(error: click.ClickException, console: Console) -> int:
    """Wrong words on the command line; click's own way of saying so knows no --json."""
    if console.json:
        context = error.ctx if isinstance(error, click.UsageError) else None
        console.error(InputError(error.format_message(), context.get_usage() if context else ""))
    else:
        error.show()
    return 2


def _global_options_first(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Lets people write the global options after the verb as well; `cdk` gets its arguments untouched."""
    if _verb(arguments) == "cdk":
        return [], arguments
    options: list[str] = []
    rest: list[str] = []
    remaining = list(reversed(arguments))
    while remaining:
        argument = remaining.pop()
        if argument == "--":
            rest += [argument, *reversed(remaining)]
            break
        if argument in ("--json", "--local") or argument.startswith("--profile="):
            options.append(argument)
        elif argument == "--profile":
            has_value = bool(remaining) and not remaining[-1].startswith("-")
            options.append(f"--profile={remaining.pop() if has_value else ''}")
        else:
            rest.append(argument)
    return options, rest


def _verb(arguments: list[str]) -> str | None:
    """The first word that is neither an option nor the profile's name."""
    pairs = zip(["", *arguments], arguments, strict=False)
    return next((word for before, word in pairs if not word.startswith("-") and before != "--profile"), None)
