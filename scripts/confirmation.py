"""Asking before something is bought or deleted."""

from __future__ import annotations

import sys

import click

from scripts.console import Console
from stacks.domain.errors import InputError


def confirm(console: Console, question: str, *, yes: bool) -> None:
    """Returns when the answer is yes; ends the command with words otherwise."""
    if yes:
        return
    if console.json or not sys.stdin.isatty():
        raise InputError(f"{question} There is nobody to answer.", "give --yes if you mean it")
    if not click.confirm(question, default=False, err=True):
        raise InputError("nothing was changed", "")
