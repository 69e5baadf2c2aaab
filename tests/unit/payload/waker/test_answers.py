"""What clients are answered, and who wakes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from waker.answers import answer, out_of_order, wakes, without_waking
from waker.decisions import Situation, Wake

from tests.unit.payload.waker.test_decisions import NOW, SETTINGS, view


def event(method: str = "POST", path: str = "/v1/chat/completions", **query: str) -> dict[str, Any]:
    return {"requestContext": {"elb": {}}, "httpMethod": method, "path": path, "queryStringParameters": query}


@pytest.mark.parametrize(
    ("method", "path", "does"),
    [
        ("POST", "/v1/chat/completions", True),
        ("POST", "/v1/embeddings", True),
        ("GET", "/v1/models", False),
        ("GET", "/v1/chat/completions", False),
        ("HEAD", "/v1/models", False),
        ("OPTIONS", "/v1/chat/completions", False),
        ("GET", "/health", False),
        ("POST", "/", False),
        ("POST", "/wp-login.php", False),
        ("POST", "/v10/x", False),
    ],
)
def test_who_wakes(method: str, path: str, does: bool) -> None:
    assert wakes(event(method, path), SETTINGS) is does


@pytest.mark.parametrize(
    ("method", "path", "status", "word"),
    [
        ("GET", "/v1/models", 200, '"id": "m"'),
        ("GET", "/v1/models/", 200, '"id": "m"'),
        ("GET", "/v1/files", 503, "fleet_is_asleep"),
        ("GET", "/robots.txt", 404, "no_such_path"),
        ("GET", "/models", 404, "no_such_path"),
    ],
)
def test_what_those_are_told_who_do_not_wake(method: str, path: str, status: int, word: str) -> None:
    found = without_waking(event(method, path), SETTINGS)
    assert found["statusCode"] == status
    assert word in found["body"]


@pytest.mark.parametrize(("waited", "retry"), [(0, "60"), (800, "60"), (850, "50"), (899, "5"), (5000, "5")])
def test_a_client_comes_again_when_it_may_be_up_and_within_what_clients_obey(waited: int, retry: str) -> None:
    found = answer(event(), Situation.STARTING, view(wake=Wake(3, NOW - waited)), SETTINGS)
    assert (found["statusCode"], found["headers"]["Retry-After"]) == (503, retry)
    error = json.loads(found["body"])["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == "fleet_is_starting"
    assert f"{waited} s" in error["message"]
    assert "100 to 900 s" in error["message"]


def test_the_words_of_aws_reach_the_client() -> None:
    found = answer(event(), Situation.REFUSED, view(refused="no inf2.8xlarge in us-east-2a"), SETTINGS)
    assert "no inf2.8xlarge in us-east-2a" in found["body"]
    assert '"no_capacity"' in found["body"]


@pytest.mark.parametrize("situation", list(Situation))
@pytest.mark.parametrize("hold", [0, 25])
def test_every_answer_has_the_form_of_a_lambda_target(situation: Situation, hold: int) -> None:
    found = answer(event(), situation, view(), replace(SETTINGS, hold_seconds=hold))
    assert found["statusDescription"].startswith(f"{found['statusCode']} ")
    assert isinstance(found["body"], str)
    assert all(isinstance(text, str) for text in found["headers"].values())


def test_held_requests_are_sent_back_to_where_they_came_from() -> None:
    found = answer(event(a="1", b="x%20y"), Situation.AWAKE, view(), replace(SETTINGS, hold_seconds=25))
    assert (found["statusCode"], found["headers"]["Location"]) == (307, "/v1/chat/completions?a=1&b=x%20y")


def test_nobody_is_sent_to_another_host() -> None:
    found = answer(
        event(path="///evil.example/v1/"), Situation.AWAKE, view(), replace(SETTINGS, hold_seconds=25)
    )
    assert found["headers"]["Location"].startswith("/evil")


def test_the_waker_itself_may_be_out_of_order() -> None:
    assert out_of_order()["statusCode"] == 503
