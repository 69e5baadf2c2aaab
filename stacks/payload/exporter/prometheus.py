"""Prometheus' text format, as far as engines write it: one series a line, comments, labels in braces."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})?\s+(\S+)(?:\s+-?\d+)?\s*")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"\s*,?\s*')
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}


@dataclass(frozen=True)
class Sample:
    name: str
    labels: dict[str, str]
    value: float


class NotMetricsError(Exception):
    """The answer is no text of Prometheus."""


def parse(text: str) -> list[Sample]:
    """Without NaN. One line that is none spoils the whole: half an answer would look like idleness."""
    samples = [_sample(line) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [sample for sample in samples if sample.value == sample.value]


def _sample(line: str) -> Sample:
    match = _LINE.fullmatch(line.strip())
    if not match:
        raise NotMetricsError(f"no line of Prometheus' format: {line[:80]!r}")
    name, labels, value = match.groups()
    try:
        return Sample(name, _labels(labels or "{}"), float(value))
    except ValueError:
        raise NotMetricsError(f"no number: {line[:80]!r}") from None


def _labels(text: str) -> dict[str, str]:
    inside, labels, at = text[1:-1].strip(), {}, 0
    while at < len(inside):
        match = _LABEL.match(inside, at)
        if not match:
            raise NotMetricsError(f"no labels: {text[:80]!r}")
        labels[match[1]] = re.sub(r"\\.", lambda escape: _ESCAPES.get(escape[0], escape[0]), match[2])
        at = match.end()
    return labels
