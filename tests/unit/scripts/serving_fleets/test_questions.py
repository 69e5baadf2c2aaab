"""One refused question hides no other; lost credentials concern all of them."""

from __future__ import annotations

from typing import Any

import pytest

from scripts.aws.translation import AccessDeniedError, AwsError, CredentialsError, UnreachableError
from scripts.serving_fleets.questions import Questions
from tests.unit.scripts.fakes import a_cloud


def failing(error: AwsError) -> Any:
    def question() -> None:
        raise error

    return question


@pytest.mark.parametrize(
    "error",
    [AccessDeniedError("not allowed: ecs:DescribeServices"), UnreachableError("no connection to ecs")],
)
def test_what_cannot_be_asked_is_noted(error: AwsError) -> None:
    questions = Questions(a_cloud())
    assert questions.ask("services", failing(error)) is None
    assert questions.ask("nodes", lambda: 3) == 3
    assert questions.refused == [f"services: could not be asked: {error.message}"]


def test_lost_credentials_are_no_single_question() -> None:
    with pytest.raises(CredentialsError):
        Questions(a_cloud()).ask("services", failing(CredentialsError("expired")))
