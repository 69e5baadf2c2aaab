"""What the user sees: results on stdout (text, or one JSON document with --json), progress and diagnostics on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from scripts.next_command import Spelling
from stacks.domain.errors import KitError, WorldError
from stacks.domain.findings import Finding, FindingsError, WorldFindingsError, not_accepted


class ReaderGoneError(Exception):
    """Whoever read our output (`| head`) has seen enough. No OSError: click would end the process with 1 on one."""


@dataclass(frozen=True, slots=True)
class Console:
    """`local` and `profile` are the global options that choose the world a command acts on; `file` is its FILE."""

    json: bool = False
    local: bool = False
    profile: str | None = None
    file: Path | None = None

    def result(self, data: Mapping[str, Any], text: str) -> None:
        _write(sys.stdout, json.dumps(data, indent=2) if self.json else self.spelled(text))

    def progress(self, text: str) -> None:
        _write(sys.stderr, self.spelled(text))

    def spelled(self, text: str) -> str:
        """Text for a document: what is printed otherwise is spelled anyhow."""
        return Spelling(self.local, self.profile, self.file).of(text)

    def findings(self, findings: Iterable[Finding]) -> None:
        for finding in not_accepted(findings):
            self.progress(f"{finding.severity}: {finding.text()}")

    def error(self, error: KitError) -> None:
        """For people on stderr; with --json the same as a document on stdout."""
        findings = error.findings if isinstance(error, FindingsError | WorldFindingsError) else ()
        if self.json:
            self.result(
                {
                    "error": self.spelled(error.message),
                    "hint": self.spelled(error.hint),
                    "findings": [f.as_dict() for f in not_accepted(findings)],
                },
                "",
            )
            return
        self.findings(findings)
        self.progress(f"neuronkit: {error.message}")
        if error.hint:
            self.progress(f"  {error.hint}")


def _write(stream: TextIO | None, text: str) -> None:
    """`stream` is None when the process was started with it closed: then nobody wants to read."""
    if stream is None:
        return
    try:
        print(_encodable(text, stream), file=stream, flush=True)
    except BrokenPipeError:
        raise ReaderGoneError from None
    except OSError as error:
        raise WorldError(f"the output cannot be written: {error.strerror}", "is the disk full?") from error


def _encodable(text: str, stream: TextIO) -> str:
    """What the terminal's encoding cannot say becomes an escape, never a traceback."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, errors="backslashreplace").decode(encoding)
