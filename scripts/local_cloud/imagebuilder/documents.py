"""What a component's document must look like: AWS TOE's schema 1.0, as far as a look at the text can tell."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from scripts.local_cloud.imagebuilder.errors import InvalidRequestException

CHARACTERS_MAX = 16_000
_KEYS = {"name", "description", "schemaVersion", "parameters", "constants", "phases"}
_PHASES = ("build", "validate", "test")
_STEP_KEYS = {"name", "action", "timeoutSeconds", "onFailure", "maxAttempts", "inputs", "loop", "if"}
# Image Builder user guide, toe-action-modules; what only Windows knows is left out.
_ACTIONS = {
    "Assert",
    "AppendFile",
    "CopyFile",
    "CopyFolder",
    "CreateFile",
    "CreateFolder",
    "CreateSymlink",
    "DeleteFile",
    "DeleteFolder",
    "ExecuteBash",
    "ExecuteBinary",
    "ExecuteDocument",
    "ListFiles",
    "MoveFile",
    "MoveFolder",
    "ReadFile",
    "Reboot",
    "S3Download",
    "S3Upload",
    "SetFileEncoding",
    "SetFileOwner",
    "SetFilePermissions",
    "SetFolderOwner",
    "SetFolderPermissions",
    "UpdateOS",
    "WebDownload",
}
_ON_FAILURE = {"Abort", "Continue", "Ignore"}
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


def check_document(text: str) -> None:
    """InvalidRequestException for what Image Builder would not take, or what its agent would stop at."""
    if len(text) > CHARACTERS_MAX:
        raise _invalid(f"it has {len(text)} characters, {CHARACTERS_MAX} are allowed")
    try:
        document = YAML(typ="safe").load(text)
    except YAMLError as error:
        raise _invalid(f"it is no YAML: {error}") from None
    if not isinstance(document, Mapping):
        raise _invalid("it is no mapping")
    _no_other_keys(document, _KEYS, "the document")
    if str(document.get("schemaVersion")) != "1.0":
        raise _invalid("schemaVersion must be 1.0")
    phases = document.get("phases")
    if not isinstance(phases, Sequence) or not phases:
        raise _invalid("phases are missing")
    names = [_check_phase(phase) for phase in phases]
    if len(set(names)) != len(names):
        raise _invalid("a phase is there twice")


def _check_phase(phase: Any) -> str:
    if not isinstance(phase, Mapping) or phase.get("name") not in _PHASES:
        raise _invalid(f"a phase is one of {', '.join(_PHASES)}")
    steps = phase.get("steps")
    if not isinstance(steps, Sequence) or not steps:
        raise _invalid(f"phase {phase['name']} has no steps")
    names = [_check_step(step) for step in steps]
    if len(set(names)) != len(names):
        raise _invalid(f"phase {phase['name']} has two steps of one name")
    return str(phase["name"])


def _check_step(step: Any) -> str:
    if not isinstance(step, Mapping) or not _NAME.fullmatch(str(step.get("name", ""))):
        raise _invalid("a step needs a name of letters, digits, - and _")
    name = str(step["name"])
    _no_other_keys(step, _STEP_KEYS, f"step {name}")
    if step.get("action") not in _ACTIONS:
        raise _invalid(f"step {name}: there is no action {step.get('action')!r}")
    if step.get("onFailure", "Abort") not in _ON_FAILURE:
        raise _invalid(f"step {name}: onFailure is one of {', '.join(sorted(_ON_FAILURE))}")
    if step["action"] == "ExecuteBash":
        _check_commands(name, step.get("inputs"))
    return name


def _check_commands(name: str, inputs: Any) -> None:
    commands = inputs.get("commands") if isinstance(inputs, Mapping) else None
    if not isinstance(commands, Sequence) or not commands or not all(isinstance(c, str) for c in commands):
        raise _invalid(f"step {name}: inputs.commands is a list of text")


def _no_other_keys(found: Mapping[str, Any], allowed: set[str], where: str) -> None:
    unknown = sorted(set(found) - allowed)
    if unknown:
        raise _invalid(f"{where} has no {', '.join(unknown)}")


def _invalid(why: str) -> InvalidRequestException:
    return InvalidRequestException(f"The component's document is not valid: {why}")
