"""An error after a result: stdout already has its one document, so the words go to stderr only."""

from __future__ import annotations

from scripts.console import Console
from stacks.domain.errors import KitError


def complain(console: Console, error: KitError) -> int:
    """The exit code for the command to return."""
    console.progress(f"neuronkit: {error.message}")
    if error.hint:
        console.progress(f"  {error.hint}")
    return error.exit_code
