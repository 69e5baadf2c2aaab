"""The answers of tests/data/capacity, with their moments as botocore gives them."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).resolve().parents[2] / "data" / "capacity"
NAMES = sorted(path.stem for path in DIRECTORY.glob("*.json"))


def operation_of(name: str) -> str:
    return str(_read(name)["operation"])


def answer_of(name: str) -> dict[str, Any]:
    answer: dict[str, Any] = _with_moments(_read(name)["answer"])
    return answer


def _read(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((DIRECTORY / f"{name}.json").read_text(encoding="utf-8"))
    return document


def _with_moments(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_moments(item) for item in value]
    if isinstance(value, dict):
        return {
            key: datetime.fromisoformat(item) if key.endswith("Date") else _with_moments(item)
            for key, item in value.items()
        }
    return value
