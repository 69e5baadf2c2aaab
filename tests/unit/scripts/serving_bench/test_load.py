"""Against a server whose latencies and faults are known."""

from __future__ import annotations

import json
import socket
import time
import tracemalloc
from typing import Any

import pytest

from scripts import cli
from scripts.serving_bench.settings import parse_endpoint
from tests.unit.scripts.serving_bench.engine import (
    Behaviour,
    Engine,
    Request,
    answering,
    engine,
    event,
    token,
)

pytestmark = pytest.mark.xdist_group("timing")


def bench(capsys: pytest.CaptureFixture[str], url: str, *arguments: str, code: int = 0) -> dict[str, Any]:
    words = ["--json", "bench-serving", url, "--model", "m", "--warm-up", "0", *arguments]
    given = cli.run(words)
    captured = capsys.readouterr()
    assert given == code, captured
    document: dict[str, Any] = json.loads(captured.out)
    return document


def every(number: int, other: Behaviour, usual: Behaviour) -> Behaviour:
    return lambda request: (other if request.number % number == number - 1 else usual)(request)


def test_closed_loop_reports_the_servers_latencies(capsys: pytest.CaptureFixture[str]) -> None:
    with engine(answering(6, first=0.1, gap=0.02, usage=6)) as server:
        found = bench(capsys, server.url, "--requests", "12", "--concurrency", "3", "--usd-per-hour", "3.6")
    latency = found["latency_seconds"]
    assert latency["first_token"]["p50"] == pytest.approx(0.1, abs=0.03)
    assert latency["inter_token"]["p50"] == pytest.approx(0.02, abs=0.008)
    assert latency["per_output_token"]["p50"] == pytest.approx(0.02, abs=0.008)
    assert latency["end_to_end"]["p50"] == pytest.approx(0.2, abs=0.05)
    assert latency["end_to_end"]["p99"] >= latency["end_to_end"]["p50"]
    assert latency["inter_token"]["count"] == 12 * 5
    assert found["tokens"]["output"] == 72
    assert found["tokens"]["input"] == 84
    assert (found["tokens"]["requests_counted_by_usage"], found["tokens"]["requests_counted_by_chunks"]) == (
        12,
        0,
    )
    per_second = found["tokens"]["output_per_second"]
    assert per_second == pytest.approx(3 * 6 / 0.2, rel=0.3)
    assert found["cost"]["usd_per_million_output_tokens"] == pytest.approx(3.6 / 3600 / per_second * 1e6)
    assert server.connections == 3


def test_open_loop_keeps_its_rate_whatever_the_server_takes(capsys: pytest.CaptureFixture[str]) -> None:
    with engine(answering(2, first=0.5)) as server:
        found = bench(capsys, server.url, "--rate", "40", "--arrivals", "constant", "--requests", "41")
    began = server.arrived[0]
    late = [at - began - number / 40 for number, at in enumerate(server.arrived)]
    assert max(late) < 0.15
    assert found["sent_requests_per_second"] == pytest.approx(40, rel=0.1)
    assert found["requests"] == {
        "sent": 41,
        "succeeded": 41,
        "failed": 0,
        "cut_by_interrupt": 0,
        "not_sent": 0,
    }
    assert found["ended_by"] == "requests"
    assert found["cost"]["usd_per_million_output_tokens"] is None


def test_waiting_for_a_place_counts_in_an_open_loop(capsys: pytest.CaptureFixture[str]) -> None:
    """Coordinated omission: a server that does one at a time, 0.1 s each, is asked 20 times a second."""
    with engine(answering(1, first=0.1)) as server:
        found = bench(
            capsys,
            server.url,
            "--rate",
            "20",
            "--arrivals",
            "constant",
            "--requests",
            "10",
            "--in-flight",
            "1",
        )
    latency = found["latency_seconds"]
    assert latency["counted_from"] == "intended start"
    # The tenth was meant to start at 0.45 s and ends at 1.0 s.
    assert latency["end_to_end"]["max"] == pytest.approx(0.55, abs=0.1)
    assert latency["start_delay"]["max"] == pytest.approx(0.45, abs=0.1)


def test_what_never_got_a_place_in_time_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with engine(answering(1, first=0.4)) as server:
        found = bench(
            capsys,
            server.url,
            "--rate",
            "20",
            "--arrivals",
            "constant",
            "--seconds",
            "0.6",
            "--in-flight",
            "1",
        )
    assert found["requests"]["sent"] == 2
    assert found["requests"]["not_sent"] == 10
    assert found["ended_by"] == "seconds"


def test_time_ends_a_closed_loop(capsys: pytest.CaptureFixture[str]) -> None:
    with engine(answering(1, first=0.05)) as server:
        found = bench(capsys, server.url, "--seconds", "0.5", "--concurrency", "2")
    assert found["ended_by"] == "seconds"
    assert 4 <= found["requests"]["succeeded"] <= 22
    assert 0.5 <= found["seconds"] < 5


def test_without_usage_chunks_are_counted_and_the_report_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with engine(answering(4)) as server:
        assert cli.run(["bench-serving", server.url, "--model", "m", "--requests", "3"]) == 0
        text = capsys.readouterr().out
        found = bench(capsys, server.url, "--requests", "3")
    assert found["tokens"]["requests_counted_by_chunks"] == 3
    assert found["tokens"]["output"] == 12
    assert "chunks were counted: the server gave no usage" in text
    assert "cost       unknown" in text


def refuse(request: Request) -> None:
    request.json({"error": "overloaded"}, "503 Service Unavailable")


def die(request: Request) -> None:
    raise ConnectionAbortedError


def close_midway(request: Request) -> None:
    request.begin_stream()
    request.chunk(token())
    raise ConnectionAbortedError


def stop_without_end(request: Request) -> None:
    request.begin_stream()
    request.chunk(token())
    request.send(b"0\r\n\r\n")


def stall(request: Request) -> None:
    request.begin_stream()
    request.chunk(token())
    time.sleep(1.5)


def garbage(request: Request) -> None:
    request.send(b"\x16\x03\x01 what is HTTP?\r\n\r\n")
    raise ConnectionAbortedError


def garbage_in_the_stream(request: Request) -> None:
    request.begin_stream()
    request.chunk(b"data: {not json\n\n")
    request.send(b"0\r\n\r\n")


def wrong_chunk(request: Request) -> None:
    request.begin_stream()
    request.send(b"zz\r\nabc\r\n")


def error_event(request: Request) -> None:
    request.begin_stream()
    request.chunk(event({"error": {"message": "engine is dead"}}))
    request.send(b"0\r\n\r\n")


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (refuse, "http 503"),
        (die, "closed before an answer"),
        (close_midway, "closed in the answer"),
        (stop_without_end, "closed in the answer"),
        (stall, "timeout in the answer"),
        (lambda _: time.sleep(1.5), "timeout before the first token or answer"),
        (garbage, "garbage"),
        (garbage_in_the_stream, "garbage"),
        (wrong_chunk, "garbage"),
        (error_event, "error in the stream"),
    ],
)
def test_faults_are_counted_by_kind_and_the_others_go_on(
    fault: Behaviour, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with engine(every(3, fault, answering(3, usage=3))) as server:
        found = bench(capsys, server.url, "--requests", "9", "--timeout", "0.5")
    assert found["errors"] == {kind: 3}
    assert found["requests"]["succeeded"] == 6
    assert found["tokens"]["output"] == 18
    # What failed has no latency.
    assert found["latency_seconds"]["end_to_end"]["count"] == 6


def test_a_server_that_is_gone_midway(capsys: pytest.CaptureFixture[str]) -> None:
    with engine(answering(1)) as server:
        bench(capsys, server.url, "--requests", "3")
    found = bench(capsys, server.url, "--requests", "4", code=3)
    assert found["errors"] == {"no connection": 4}
    assert found["latency_seconds"]["first_token"]["p50"] is None


def test_nothing_is_begun_when_the_first_requests_fail(capsys: pytest.CaptureFixture[str]) -> None:
    with engine(
        lambda r: r.json({"error": "no model m; token was " + r.headers["authorization"]}, "404 Not Found")
    ) as server:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("THE_TOKEN", "s3cret-token")
            assert cli.run(["bench-serving", server.url, "--model", "m", "--token-env", "THE_TOKEN"]) == 3
        said = capsys.readouterr()
        assert len(server.requests) == 2
    assert "http 404: " in said.err
    assert "no model m" in said.err
    assert "s3cret" not in said.err + said.out


def test_an_idle_connection_that_the_server_closes_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    def once(request: Request) -> None:
        answering(2)(request)
        request.connection.shutdown(socket.SHUT_RDWR)

    with engine(once) as server:
        found = bench(capsys, server.url, "--requests", "10", "--rate", "40", "--arrivals", "constant")
    assert found["requests"]["failed"] == 0
    assert server.connections == 10


def test_the_token_goes_to_the_server_and_nowhere_else(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_TOKEN", "s3cret-token")
    with engine(answering(1)) as server:
        arguments = [
            "bench-serving",
            server.url,
            "--model",
            "m",
            "--token-env",
            "THE_TOKEN",
            "--requests",
            "2",
            "--header",
            "X-Team: blue",
        ]
        assert cli.run(arguments) == 0
    said = capsys.readouterr()
    assert {r.headers["authorization"] for r in server.requests} == {"Bearer s3cret-token"}
    assert {r.headers["x-team"] for r in server.requests} == {"blue"}
    assert "s3cret" not in said.out + said.err


def asked(server: Engine) -> list[dict[str, Any]]:
    return [json.loads(request.body) for request in server.requests]


def test_what_is_posted_to_each_path(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('"one"\n\n{"prompt": "two"}\n{"messages": [{"role": "user", "content": "three"}]}\n')
    common = ("--prompts", str(prompts), "--requests", "4", "--max-tokens", "9")
    with engine(answering(1)) as server:
        bench(capsys, server.url, *common)
        bench(capsys, server.url, *common, "--path", "/v1/completions", "--ignore-eos")
    chat, completions = asked(server)[:4], asked(server)[4:]
    assert [body["messages"][0]["content"] for body in chat] == ["one", "two", "three", "one"]
    assert [body["prompt"] for body in completions] == ["one", "two", "three", "one"]
    assert all(body["stream"] and body["max_tokens"] == 9 for body in asked(server))
    assert [body.get("ignore_eos") for body in asked(server)] == [None] * 4 + [True] * 4
    assert [request.target for request in server.requests] == ["/v1/chat/completions"] * 4 + [
        "/v1/completions"
    ] * 4


def test_embeddings_have_no_tokens_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"data": [{"embedding": [0.1] * 8}], "usage": {"prompt_tokens": 5, "total_tokens": 5}}
    with engine(lambda request: request.json(document)) as server:
        found = bench(capsys, f"{server.url}/v1/embeddings", "--requests", "4", "--prompt-tokens", "3")
    assert found["tokens"]["input"] == 20
    assert found["tokens"]["output"] is None
    assert found["latency_seconds"]["end_to_end"]["count"] == 4
    assert found["latency_seconds"]["first_token"]["p50"] is None
    assert len({body["input"] for body in asked(server)}) == 4


def test_any_other_path_takes_a_body(capsys: pytest.CaptureFixture[str]) -> None:
    with engine(lambda request: request.json({"ok": True})) as server:
        found = bench(capsys, server.url, "--path", "/predict?x=1", "--body", '{"a": 1}', "--requests", "2")
        assert cli.run(["bench-serving", f"{server.url}/predict"]) == 2
    assert found["requests"]["succeeded"] == 2
    assert found["model"] is None
    assert [(r.target, r.body) for r in server.requests] == [("/predict?x=1", b'{"a": 1}')] * 2


def test_the_server_is_asked_for_its_model(capsys: pytest.CaptureFixture[str]) -> None:
    def behave(request: Request) -> None:
        if request.target == "/v1/models":
            request.json({"data": [{"id": "llama"}]})
        else:
            answering(1)(request)

    with engine(behave) as server:
        assert cli.run(["--json", "bench-serving", server.url, "--requests", "2"]) == 0
    assert json.loads(capsys.readouterr().out)["model"] == "llama"
    assert {body["model"] for body in map(json.loads, (r.body for r in server.requests if r.body))} == {
        "llama"
    }


def test_a_host_in_other_letters_has_its_name_in_dns() -> None:
    assert parse_endpoint("http://b\xfccher.example:8080/v1", None).authority == "xn--bcher-kva.example:8080"
    assert parse_endpoint("http://[fe80::1%eth0]/", None).authority == "[fe80::1%eth0]"


def test_a_count_that_none_can_be_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    with engine(answering(2, usage=10**400)) as server:
        found = bench(capsys, server.url, "--requests", "1")
    assert (found["tokens"]["output"], found["tokens"]["requests_counted_by_chunks"]) == (2, 1)


def test_a_server_that_does_not_list_its_models_is_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    with engine(lambda r: r.send(b"garbage\r\n\r\n")) as server:
        assert cli.run(["bench-serving", server.url, "--warm-up", "0"]) == 3
    assert "/v1/models does not say which models there are: garbage" in (said := capsys.readouterr().err)
    assert "--model NAME" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ftp://x"], "no http or https URL"),
        (["http://u:p@h/"], "a name or password"),
        (["http://h:99999"], "is no URL"),
        (["http://h:0"], "no http or https URL"),
        (["http://a..b"], "is no host"),
        (["http://" + "a" * 64], "is no host"),
        (["http://a b"], "is no host"),
        (["http://h", "--header", "\xe9: x"], "not of the form"),
        *(
            (["http://h", option, value], option)
            for option in ("--rate", "--seconds", "--timeout", "--usd-per-hour")
            for value in ("nan", "inf", "-1")
        ),
        (["http://h", "--path", "x"], "is no path"),
        (["http://h", "--rate", "1", "--concurrency", "2"], "open loop"),
        (["http://h", "--header", "Authorization: Bearer secret-x"], "a secret in the arguments"),
        (["http://h", "--header", "X: a\r\nEvil: b"], "not of the form"),
        (["http://h", "--token-env", "NOT_THERE_AT_ALL"], "no environment variable"),
        (["http://h", "--fleet", "x"], "--file"),
        (["http://h", "--body", "{"], "not JSON"),
        (["http://h", "--prompts", "/not/there"], "/not/there"),
    ],
)
def test_wrong_words_are_refused_before_anything_is_sent(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["bench-serving", *arguments]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "secret-x" not in said


def test_memory_does_not_grow_with_the_requests(capsys: pytest.CaptureFixture[str]) -> None:
    def peak(requests: int) -> int:
        tracemalloc.start()
        bench(capsys, server.url, "--requests", str(requests), "--concurrency", "4")
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    usual = answering(3)

    def forgetful(request: Request) -> None:
        server.requests[:-50] = []
        usual(request)

    with engine(forgetful) as server:
        peak(20)
        few, many = peak(100), peak(800)
    assert many < few * 1.5 + 500_000
