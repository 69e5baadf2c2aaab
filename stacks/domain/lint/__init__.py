"""Lint of what people already have: templates, manifests, job definitions and scripts; text in, findings out."""

from stacks.domain.lint.checks import CHECKS, Check
from stacks.domain.lint.linting import Input, Linted, Skipped, lint
from stacks.domain.lint.recognition import BYTES_MAX

__all__ = ["BYTES_MAX", "CHECKS", "Check", "Input", "Linted", "Skipped", "lint"]
