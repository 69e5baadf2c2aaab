"""Commands of the kit in what users read, spelled so that they can be copied: with the options and the file of the present one.

Texts everywhere name a command as in the help, "`neuronkit status FILE`", and need to know neither. Pure.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_COMMAND: Final = re.compile(r"(?:(?<=(?P<quote>`))|(?<=: ))neuronkit (?P<words>[^`\n;]+)")
_ABOUT_A_FILE: Final = frozenset(
    {
        "check", "plan", "render", "synth", "lock", "bootstrap", "deploy", "status", "destroy", "leftovers",
        "image build", "image status", "capacity search", "capacity status",
    }
)  # fmt: skip
"""FILE is all that they need: where a text leaves it out, it is the present one."""
_WITH_MORE: Final = frozenset({"launch", "logs", "override", "capacity buy"})


@dataclass(frozen=True, slots=True)
class Spelling:
    """`file` None: the present command has none, and FILE stays."""

    local: bool = False
    profile: str | None = None
    file: Path | None = None

    def of(self, text: str) -> str:
        return _COMMAND.sub(self._spelled, text)

    def _spelled(self, match: re.Match[str]) -> str:
        words = match["words"].split(" ")
        verb = " ".join(words[:2]) if words[0] in ("image", "capacity") else words[0]
        if verb not in _ABOUT_A_FILE | _WITH_MORE and not words[0].startswith("--"):
            return match[0]
        rest = words[len(verb.split(" ")) :]
        if self.file is not None:
            is_bare = match["quote"] is not None and "--help" not in rest
            if is_bare and verb in _ABOUT_A_FILE and (not rest or rest[0].startswith("--")):
                rest = ["FILE", *rest]
            file = shlex.quote(str(self.file))
            rest = [re.sub(r"^FILE\b", lambda _: file, word) for word in rest]
        options = () if words[0].startswith("--") else self._options
        return " ".join(("neuronkit", *options, verb, *rest))

    @property
    def _options(self) -> tuple[str, ...]:
        profile = ("--profile", shlex.quote(self.profile)) if self.profile else ()
        return (*(("--local",) if self.local else ()), *profile)
