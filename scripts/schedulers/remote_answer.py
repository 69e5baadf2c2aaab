"""What a text printed where it ran."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    stdout: bytes
    stderr: str
    exit_code: int

    @property
    def text(self) -> str:
        return self.stdout.decode(errors="replace")
