"""From the settings of a load test to its report."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from scripts.serving_bench.answers import document_of
from scripts.serving_bench.bodies import Prompt, body_maker, fixed_body, prompts_of_file, prompts_of_length
from scripts.serving_bench.failures import SILENT, RequestFailedError
from scripts.serving_bench.http_client import HttpClient, request_bytes
from scripts.serving_bench.load import LoadTest, document_text
from scripts.serving_bench.report import Asked, BenchReport, Price
from scripts.serving_bench.settings import KNOWN_PATHS, STREAMING, Endpoint, Headers, Load
from stacks.domain.errors import InputError, WorldError

_MODELS_BYTES_MAX = 2**20


@dataclass(frozen=True, slots=True)
class Content:
    """What is posted: a body of the user's, or prompts for a model. `model` None: the server is asked."""

    body: str | None
    model: str | None
    prompt_tokens: int
    prompts: Path | None
    max_tokens: int
    ignore_end: bool


def run_bench(
    endpoint: Endpoint,
    headers: Headers,
    load: Load,
    content: Content,
    price: Price,
    say: Callable[[str], None],
) -> BenchReport:
    """Raises InputError, and WorldError when the endpoint does not answer as it should before the test."""
    if content.body is None and endpoint.path not in KNOWN_PATHS:
        raise InputError(f"what is to be posted to {endpoint.path}?", "give --body JSON or --body @FILE")
    prompts = None if content.body is not None else _prompts(content, load)
    try:
        return asyncio.run(_run(endpoint, headers, load, content, prompts, price, say))
    except RequestFailedError as failure:
        raise WorldError(
            f"{endpoint.url} does not answer as it should, before the test began: {failure}",
            "correct the URL, the path, the model or the token; --warm-up 0 begins without a first request",
        ) from None


async def _run(
    endpoint: Endpoint,
    headers: Headers,
    load: Load,
    content: Content,
    prompts: Iterator[Prompt] | None,
    price: Price,
    say: Callable[[str], None],
) -> BenchReport:
    if content.body is not None or prompts is None:
        body = fixed_body(content.body or "")
        asked, make_body = Asked(None, "the given body", None), lambda: body
    else:
        model = content.model or await _first_model(endpoint, headers, load.timeout_seconds)
        asked = _asked(content, endpoint, model)
        make_body = body_maker(
            endpoint.path, model, content.max_tokens, prompts, ignore_end=content.ignore_end
        )
    say(
        f"{endpoint.url}: at most {load.requests} requests and {load.seconds:g} s; Ctrl-C ends it with its results"
    )
    result = await LoadTest(endpoint, headers, load, make_body, say).run()
    return BenchReport(endpoint, asked, load, result, price)


def _prompts(content: Content, load: Load) -> Iterator[Prompt]:
    if content.prompts is None:
        return prompts_of_length(content.prompt_tokens, load.seed)
    return itertools.cycle(prompts_of_file(content.prompts, load.requests + load.warm_up))


def _asked(content: Content, endpoint: Endpoint, model: str) -> Asked:
    prompts = str(content.prompts) if content.prompts else f"{content.prompt_tokens} words"
    return Asked(model, prompts, content.max_tokens if endpoint.path in STREAMING else None)


async def _first_model(endpoint: Endpoint, headers: Headers, timeout_seconds: float) -> str:
    """Raises WorldError where the server names none, or does not answer."""
    target = replace(endpoint, target="/v1/models")
    client = HttpClient(target)
    try:
        async with asyncio.timeout(timeout_seconds):
            answer = await client.send(request_bytes("GET", target, target.target, headers.all(), b""))
            text = await document_text(answer, _MODELS_BYTES_MAX)
            answer.connection.close()
        models = document_of(text).get("data") if answer.status == 200 else None
    except (TimeoutError, RequestFailedError) as failure:
        why = SILENT if isinstance(failure, TimeoutError) else failure
        raise WorldError(
            f"{target.url} does not say which models there are: {why}",
            "correct the URL or the token; with --model NAME it is not asked",
        ) from None
    finally:
        client.close()
    name = (
        models[0].get("id") if isinstance(models, list) and models and isinstance(models[0], dict) else None
    )
    if not isinstance(name, str):
        raise WorldError(f"{target.url} (http {answer.status}) names no model", "say which with --model")
    return name
