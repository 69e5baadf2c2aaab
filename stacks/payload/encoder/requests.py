"""Bodies of requests: what may be asked, and the shape of the answers (OpenAI's for embeddings)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from encoder.backend import Row, Vector

Tokenize = Callable[[str], list[int]]


class BadRequestError(Exception):
    """Its text goes to the client."""


def read_rows(body: bytes, key: str, name: str, tokenize: Tokenize) -> list[Row]:
    """The inputs as tokens; `key` is "input" in OpenAI's shape."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"the body is no JSON: {error}") from error
    if not isinstance(found, dict) or key not in found:
        raise BadRequestError(f'the body is an object with "{key}"')
    model = found.get("model", name)
    if model != name:
        raise BadRequestError(f"no model is called {model!r}: this server has {name}")
    inputs = found[key]
    many = inputs if isinstance(inputs, list) and not _is_row(inputs) else [inputs]
    if not many:
        raise BadRequestError(f'"{key}" is empty')
    return [_row(one, key, tokenize) for one in many]


def embeddings_answer(name: str, rows: Sequence[Row], vectors: Sequence[Vector], note: str) -> dict[str, Any]:
    tokens = sum(len(row) for row in rows)
    data = [
        {"object": "embedding", "index": index, "embedding": list(vector)}
        for index, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": name, "data": data, "usage": usage, **_noted(note)}


def predict_answer(name: str, vectors: Sequence[Vector], note: str) -> dict[str, Any]:
    return {"model": name, "outputs": [list(vector) for vector in vectors], **_noted(note)}


def _noted(note: str) -> dict[str, str]:
    return {"note": note} if note else {}


def _row(one: Any, key: str, tokenize: Tokenize) -> Row:
    row = tokenize(one) if isinstance(one, str) else one
    if not _is_row(row):
        raise BadRequestError(f'"{key}" is a text, a list of tokens, or a list of these; none may be empty')
    return list(row)


def _is_row(found: Any) -> bool:
    return (
        isinstance(found, list)
        and bool(found)
        and all(isinstance(token, int) and not isinstance(token, bool) and token >= 0 for token in found)
    )
