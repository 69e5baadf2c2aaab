"""Ranges of TCP ports."""

from __future__ import annotations

from collections.abc import Iterable

Ports = tuple[int, int]
"""The first and the last one."""


def without(ports: tuple[Ports, ...], taken: Iterable[Ports]) -> tuple[Ports, ...]:
    for first, last in taken:
        ports = tuple(
            part
            for low, high in ports
            for part in ((low, min(high, first - 1)), (max(low, last + 1), high))
            if part[0] <= part[1]
        )
    return ports


def in_words(ports: Iterable[Ports]) -> str:
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in ports)
