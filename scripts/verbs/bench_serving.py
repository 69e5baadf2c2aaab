"""neuronkit bench-serving URL"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from scripts.console import Console
from stacks.domain.errors import InputError

if TYPE_CHECKING:
    from scripts.serving_bench.report import Price
    from scripts.serving_bench.settings import Load
    from stacks.domain.fleet_plan import FleetPlan
    from stacks.domain.plan import Plan

_OPEN_LOOP_PLACES = 512


_F = TypeVar("_F", bound=Callable[..., Any])


def _options(*options: Callable[[_F], _F]) -> Callable[[_F], _F]:
    def decorate(function: _F) -> _F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


class _Number(click.FloatRange):
    """Neither "nan", which is in every range, nor "inf", which is in those without an end."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is no number to work with.", param, ctx)
        return number


_POSITIVE = _Number(min=0, min_open=True)
_LOAD = _options(
    click.option("--rate", type=_POSITIVE, help="Open loop: requests a second, whatever the answers take."),
    click.option(
        "--arrivals",
        type=click.Choice(["poisson", "constant"]),
        default="poisson",
        show_default=True,
        help="Of the open loop.",
    ),
    click.option(
        "--concurrency",
        type=click.IntRange(1, 10_000),
        help="Closed loop: requests at once; 1 if there is no --rate either.",
    ),
    click.option(
        "--in-flight",
        type=click.IntRange(1, 10_000),
        default=_OPEN_LOOP_PLACES,
        show_default=True,
        help="Open loop: requests under way at most; others wait, and the wait counts.",
    ),
    click.option(
        "--seconds",
        type=_Number(0, 86_400, min_open=True),
        default=60.0,
        show_default=True,
        help="No request starts later.",
    ),
    click.option(
        "--requests", type=click.IntRange(1, 10_000_000), default=1000, show_default=True, help="At most."
    ),
    click.option(
        "--warm-up",
        type=click.IntRange(0, 1000),
        default=2,
        show_default=True,
        help="Requests before, one by one, that are not counted.",
    ),
    click.option(
        "--timeout",
        type=_Number(0, 3600, min_open=True),
        default=300.0,
        show_default=True,
        help="Seconds for one request.",
    ),
    click.option(
        "--seed", type=int, default=1, show_default=True, help="The same seed, the same arrivals and prompts."
    ),
)
_CONTENT = _options(
    click.option(
        "--path",
        help="Instead of the URL's: /v1/chat/completions, /v1/completions, /v1/embeddings or, with --body, any.",
    ),
    click.option("--body", metavar="JSON|@FILE", help="Post this instead of prompts."),
    click.option("--model", help="The served name; else the fleet's, else the first that the server lists."),
    click.option(
        "--prompt-tokens",
        type=click.IntRange(1, 1_000_000),
        default=128,
        show_default=True,
        help="Words of a prompt; the server's own count is reported.",
    ),
    click.option(
        "--prompts",
        type=click.Path(path_type=Path),
        help='JSON lines instead: a text, {"prompt": …} or {"messages": …}.',
    ),
    click.option(
        "--max-tokens",
        type=click.IntRange(1, 1_000_000),
        default=128,
        show_default=True,
        help="Of an answer.",
    ),
    click.option(
        "--ignore-eos", is_flag=True, help="vLLM: answers of --max-tokens, whatever the model says."
    ),
    click.option("--header", multiple=True, metavar="NAME:VALUE", help="No secrets: see --token-env."),
    click.option("--token-env", metavar="VARIABLE", help="The environment variable with the bearer token."),
)
_PRICE = _options(
    click.option("--usd-per-hour", type=_Number(min=0), help="What is paid for all that answers."),
    click.option(
        "--file", type=click.Path(path_type=Path), help="The environment file: price and model from a fleet."
    ),
    click.option("--fleet", help="Which of FILE's fleets."),
    click.option(
        "--replicas",
        type=click.IntRange(1, 1000),
        help="How many of the fleet's replicas answer; else its minimum, at least 1.",
    ),
)


@click.command("bench-serving")
@click.argument("url")
@_LOAD
@_CONTENT
@_PRICE
@click.pass_obj
def command(console: Console, /, url: str, **options: Any) -> int | None:
    """Load an endpoint that serves a model, and measure first token, tokens, throughput, errors and cost.

    Open loop (--rate): latency counts from when a request was meant to start. Closed loop (--concurrency): from when
    it did. Only requests that succeed have latencies; the others are counted by kind. Bounded by --seconds and
    --requests. Exit code 3: no request succeeded; 130: Ctrl-C, with what was measured until then.
    """
    from scripts.serving_bench.running import Content, run_bench
    from scripts.serving_bench.settings import parse_endpoint, parse_headers

    endpoint = parse_endpoint(url, options["path"])
    headers = parse_headers(options["header"], _token(options["token_env"]))
    plan, fleet = _fleet(console, options)
    content = Content(
        body=options["body"],
        model=options["model"] or (fleet.settings.model.name if fleet else None),
        prompt_tokens=options["prompt_tokens"],
        prompts=options["prompts"],
        max_tokens=options["max_tokens"],
        ignore_end=options["ignore_eos"],
    )
    report = run_bench(
        endpoint, headers, _load(options), content, _price(plan, fleet, options), console.progress
    )
    console.result(report.as_dict(), report.text())
    if report.result.ended_by == "interrupt":
        return 130
    return None if report.result.recorder.succeeded else 3


def _load(options: dict[str, Any]) -> Load:
    from scripts.serving_bench.settings import Load

    if options["rate"] is not None and options["concurrency"] is not None:
        raise InputError(
            "--rate is an open loop, --concurrency a closed one",
            "give one of them; --in-flight bounds an open loop",
        )
    arrivals: Literal["poisson", "constant"] = options["arrivals"]
    return Load(
        rate_per_second=options["rate"],
        arrivals=arrivals,
        concurrency=options["concurrency"] or 1,
        in_flight_max=options["in_flight"],
        seconds=options["seconds"],
        requests=options["requests"],
        warm_up=options["warm_up"],
        seed=options["seed"],
        timeout_seconds=options["timeout"],
    )


def _token(variable: str | None) -> str | None:
    if variable is None:
        return None
    token = os.environ.get(variable)
    if not token:
        raise InputError(f"--token-env: there is no environment variable {variable}", "export it first")
    return token


def _fleet(console: Console, options: dict[str, Any]) -> tuple[Plan, FleetPlan] | tuple[None, None]:
    if options["file"] is None:
        if options["fleet"] is not None or options["replicas"] is not None:
            raise InputError("--fleet and --replicas are of an environment file", "name it with --file")
        return None, None
    if options["usd_per_hour"] is not None:
        raise InputError("--usd-per-hour and --file both say what it costs", "give one of them")
    from scripts.loading import load_plan
    from scripts.serving_bench.fleet_price import find_fleet

    plan = load_plan(options["file"], local=console.local).plan
    return plan, find_fleet(plan, options["fleet"])


def _price(plan: Plan | None, fleet: FleetPlan | None, options: dict[str, Any]) -> Price:
    from scripts.serving_bench.fleet_price import fleet_price
    from scripts.serving_bench.report import Price

    if plan is not None and fleet is not None:
        return fleet_price(plan, fleet, options["replicas"] or max(1, fleet.replicas_minimum))
    if options["usd_per_hour"] is not None:
        return Price(options["usd_per_hour"], "given with --usd-per-hour")
    return Price(None, "give --usd-per-hour, or --file and --fleet")
