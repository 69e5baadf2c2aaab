"""What the user sees: results on stdout (text, or one JSON document with --json), progress and diagnostics on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stacks.domain.errors import KitError
from stacks.domain.findings import Finding, FindingsError


@dataclass(frozen=True, slots=True)
class Console:
    """`local` and `profile` are the global options that choose the world a command acts on."""

    json: bool = False
    local: bool = False
    profile: str | None = None

    def result(self, data: Mapping[str, Any], text: str) -> None:
        print(json.dumps(data, indent=2) if self.json else text, flush=True)

    def progress(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def findings(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            self.progress(f"{finding.severity}: {finding.text()}")

    def error(self, error: KitError) -> None:
        """For people on stderr; with --json the same as a document on stdout."""
        findings = error.findings if isinstance(error, FindingsError) else ()
        if self.json:
            body = {"error": error.message, "hint": error.hint, "findings": [f.as_dict() for f in findings]}
            print(json.dumps(body, indent=2), flush=True)
            return
        self.findings(findings)
        self.progress(f"neuronkit: {error.message}")
        if error.hint:
            self.progress(f"  {error.hint}")
