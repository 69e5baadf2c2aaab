"""The words of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from engine.artifacts import load
from engine.compiling import compile_once
from engine.model_files import fetch_model
from engine.refusal import RefusalError, say

UNAVAILABLE = 69
"""sysexits.h EX_UNAVAILABLE."""


def main(words: Sequence[str] | None = None) -> int:
    found = _parser().parse_args(words)
    try:
        _act(found)
    except RefusalError as refusal:
        say(str(refusal))
        return UNAVAILABLE
    return 0


def _act(found: argparse.Namespace) -> None:
    if found.what == "model":
        print(fetch_model(found.source, found.revision, found.directory, found.wait_seconds))
    elif found.what == "load":
        load(found.shared, found.local, found.manifest)
    else:
        command = found.command[1:] if found.command[:1] == ["--"] else found.command
        compile_once(command, found.ready, found.seconds, found.shared, found.local, found.manifest)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="engine.pyz")
    parts = parser.add_subparsers(dest="what", required=True)
    model = parts.add_parser("model")
    model.add_argument("--source", required=True)
    model.add_argument("--revision")
    model.add_argument("--directory", type=Path, required=True)
    model.add_argument("--wait-seconds", type=float, required=True)
    for name in ("load", "compile"):
        part = parts.add_parser(name)
        part.add_argument("--shared", type=Path, required=True)
        part.add_argument("--local", type=Path, required=True)
        part.add_argument("--manifest", required=True)
    part.add_argument("--ready", required=True)
    part.add_argument("--seconds", type=float, required=True)
    part.add_argument("command", nargs=argparse.REMAINDER)
    return parser
