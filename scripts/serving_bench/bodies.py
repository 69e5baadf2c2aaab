"""What is posted. Every prompt begins with a number of its own: a cache of prefixes must not answer for the engine."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from scripts.serving_bench.settings import CHAT, EMBEDDINGS, STREAMING
from stacks.domain.errors import InputError

_LINE_BYTES_MAX: Final = 2**20
_FILLER: Final = (
    "river stone cloud paper seven garden metal quiet letter window copper winter mountain engine yellow harbor "
    "signal cotton bridge market silver forest candle number planet travel"
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """Either a text or whole chat messages."""

    text: str = ""
    messages: tuple[dict[str, Any], ...] = ()


def prompts_of_length(words: int, seed: int) -> Iterator[Prompt]:
    """Without end. A common word is about a token: the server's count is what is reported."""
    chance = random.Random(seed)  # noqa: S311 - filler text, no secret
    vocabulary = _FILLER.split()
    for number in itertools.count(chance.randrange(10**6)):
        yield Prompt(" ".join((f"{number}:", *chance.choices(vocabulary, k=max(0, words - 1)))))


def prompts_of_file(file: Path, at_most: int) -> tuple[Prompt, ...]:
    """JSON lines: a text, or an object with `prompt` or `messages`. Raises InputError with the line."""
    prompts: list[Prompt] = []
    try:
        with file.open("rb") as lines:
            for number in itertools.count(1):
                line = lines.readline(_LINE_BYTES_MAX + 1)
                if not line or len(prompts) >= at_most:
                    break
                if line.strip():
                    prompts.append(_prompt(line, f"{file}:{number}"))
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}", "name a file of JSON lines with --prompts") from None
    if not prompts:
        raise InputError(f"{file} has no prompts", 'write a line such as {"prompt": "…"} for each')
    return tuple(prompts)


def _prompt(line: bytes, where: str) -> Prompt:
    wanted = 'allowed: a text, {"prompt": "…"} or {"messages": […]}, of at most 1 MiB'
    if len(line) > _LINE_BYTES_MAX:
        raise InputError(f"{where}: the line is too long", wanted)
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError(f"{where}: this is not JSON", wanted) from None
    text = value.get("prompt") if isinstance(value, dict) else value
    messages = value.get("messages") if isinstance(value, dict) else None
    if isinstance(text, str) and text:
        return Prompt(text)
    if isinstance(messages, list) and messages and all(isinstance(one, dict) for one in messages):
        return Prompt(messages=tuple(messages))
    raise InputError(f"{where}: no prompt", wanted)


def body_maker(
    path: str, model: str, max_tokens: int, prompts: Iterator[Prompt], *, ignore_end: bool
) -> Callable[[], bytes]:
    """The next request's body, each time it is called."""
    common: dict[str, Any] = {"model": model}
    if path in STREAMING:
        common |= {"max_tokens": max_tokens, "temperature": 0, "stream": True}
        common |= {"stream_options": {"include_usage": True}, **({"ignore_eos": True} if ignore_end else {})}

    def make() -> bytes:
        return json.dumps({**common, **_asked(path, next(prompts))}).encode()

    return make


def _asked(path: str, prompt: Prompt) -> dict[str, Any]:
    text = prompt.text or " ".join(str(message.get("content", "")) for message in prompt.messages)
    if path == CHAT:
        return {"messages": list(prompt.messages) or [{"role": "user", "content": text}]}
    return {"input" if path == EMBEDDINGS else "prompt": text}


def fixed_body(given: str) -> bytes:
    """A JSON object, or @FILE with one. Raises InputError."""
    text = given
    if given.startswith("@"):
        try:
            text = Path(given[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"--body {given}: cannot be read: {error}", "name a file of JSON after the @"
            ) from None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("--body is not JSON", "write a JSON document, or @FILE") from None
    return json.dumps(document).encode()
