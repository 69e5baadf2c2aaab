"""Plan -> cloud assembly on disk. What is there already, and still what the plan gives, is not made again."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from scripts.node import CHECKOUT, node_environment
from stacks.domain.buildable import refuse_unbuildable
from stacks.domain.errors import InputError
from stacks.domain.plan import Plan

STAMP = "neuronkit-synthesis.json"
SOURCES = ("stacks", "templates")
"""Whatever else an assembly depends on: the kit itself. The smoke job in it is not part of any template."""
NOT_SOURCES = ("__pycache__", "smoke")


@dataclass(frozen=True, slots=True)
class Assembly:
    directory: Path
    templates: tuple[Path, ...]
    reused: bool


def synthesize(plan: Plan, directory: Path, *, validate: bool = False) -> Assembly:
    """`validate` has the CDK check the templates against CloudFormation's schemas as well, which takes seconds.

    Replaces an earlier assembly as a whole; InputError for a directory that holds anything else.
    """
    refuse_unbuildable(plan)
    fingerprint = _fingerprint(plan)
    reused = _is_current(directory, fingerprint, validate)
    if not reused:
        _require_ours(directory)
        _replace(directory, plan, fingerprint, validate)
    templates = tuple(directory / f"{stack}.template.json" for stack in plan.stacks.all)
    return Assembly(directory, templates, reused)


def default_directory(plan: Plan, *, local: bool = False) -> Path:
    """What the local cloud resolved gives other templates: beside the real ones, not over them."""
    return Path("cdk.out") / (f"{plan.name}.local" if local else plan.name)


def _fingerprint(plan: Plan) -> str:
    """Of everything that an assembly is made from: the plan (so the file and its lock), the kit, the CDK."""
    digest = hashlib.sha256(json.dumps(dataclasses.asdict(plan), sort_keys=True, default=_settings).encode())
    digest.update(importlib.metadata.version("aws-cdk-lib").encode())
    for path in _source_files():
        digest.update(str(path.relative_to(CHECKOUT)).encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _settings(part: object) -> object:
    """What a plan has of the file as it is."""
    if isinstance(part, BaseModel):
        return part.model_dump(mode="json")
    raise TypeError(f"{type(part).__name__} in a plan")


def _source_files() -> list[Path]:
    found = [path for name in SOURCES for path in (CHECKOUT / name).rglob("*") if path.is_file()]
    return sorted(path for path in found if not set(path.parts).intersection(NOT_SOURCES))


def _is_current(directory: Path, fingerprint: str, validate: bool) -> bool:
    try:
        stamp = json.loads((directory / STAMP).read_text())
        return bool(
            stamp["fingerprint"] == fingerprint
            and (stamp["validated"] or not validate)
            and stamp["files"] == _file_hashes(directory)
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _file_hashes(directory: Path) -> dict[str, str]:
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != STAMP
    }


def _require_ours(directory: Path) -> None:
    if not directory.exists() or (directory / "manifest.json").is_file():
        return
    if not directory.is_dir() or any(directory.iterdir()):
        raise InputError(
            f"{directory} is there, but is no cloud assembly", "name a new or an empty directory"
        )


def _replace(directory: Path, plan: Plan, fingerprint: str, validate: bool) -> None:
    """Beside it first: an interruption leaves the old assembly, never half a new one."""
    with _workspace_beside(directory) as workspace:
        new = Path(workspace) / "new"
        _synthesize_into(new, plan, validate=validate)
        stamp = {"fingerprint": fingerprint, "validated": validate, "files": _file_hashes(new)}
        (new / STAMP).write_text(json.dumps(stamp, indent=2) + "\n")
        if directory.exists():
            directory.rename(Path(workspace) / "old")
        new.rename(directory)


def _workspace_beside(directory: Path) -> tempfile.TemporaryDirectory[str]:
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(dir=directory.parent, prefix=f".{directory.name}.")
    except OSError as error:
        raise InputError(
            f"{directory} cannot be written: {error.strerror}", "name another directory with -o"
        ) from error


def _synthesize_into(directory: Path, plan: Plan, *, validate: bool) -> None:
    os.environ.update(node_environment())
    # Only here, and only when it is needed: it starts Node, and takes longer than all the rest.
    from stacks.assembly import build_app  # noqa: PLC0415

    build_app(plan, directory, validate=validate).synth()
