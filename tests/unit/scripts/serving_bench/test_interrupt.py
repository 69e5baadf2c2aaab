"""Ctrl-C ends a test with what was measured until then."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.unit.scripts.serving_bench.engine import Request, answering, engine

NEURONKIT = str(Path(sys.executable).with_name("neuronkit"))


def interrupted_after(seconds: float, url: str, *arguments: str) -> tuple[int, str, str, float]:
    words = [NEURONKIT, "--json", "bench-serving", url, "--model", "m", *arguments]
    started = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first_line = started.stderr.readline() if started.stderr else ""
    time.sleep(seconds)
    began = time.monotonic()
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=20)
    return started.returncode, out, first_line + err, time.monotonic() - began


def test_what_was_measured_is_printed() -> None:
    with engine(answering(3, gap=0.02, usage=3)) as server:
        code, out, err, took = interrupted_after(
            1.0, server.url, "--seconds", "600", "--requests", "100000", "--concurrency", "4"
        )
    found = json.loads(out)
    assert code == 130, err
    assert found["ended_by"] == "interrupt"
    assert found["requests"]["succeeded"] > 10
    assert found["requests"]["failed"] == 0
    assert found["requests"]["sent"] == found["requests"]["succeeded"] + found["requests"]["cut_by_interrupt"]
    assert found["latency_seconds"]["end_to_end"]["p50"] > 0.03
    assert took < 20
    assert "Traceback" not in err


def test_a_server_that_never_answers_does_not_hold_it() -> None:
    def silent(request: Request) -> None:
        time.sleep(30)

    with engine(silent) as server:
        code, out, _, took = interrupted_after(0.5, server.url, "--warm-up", "0", "--rate", "50")
    found = json.loads(out)
    assert code == 130
    assert found["requests"]["succeeded"] == 0
    assert found["requests"]["cut_by_interrupt"] == found["requests"]["sent"] > 5
    assert took < 20
