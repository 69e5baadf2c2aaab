"""Which run a launch means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.run_choice import (
    Resume,
    ResumeWish,
    check_join,
    check_run_name,
    choose_checkpoint,
    next_run,
    numbered,
    parse_resume,
)
from stacks.domain.errors import InputError, WorldError

NEXT = [
    ((), "smoke-1"),
    (("smoke-1",), "smoke-2"),
    (("smoke-2", "smoke-10", "smoke-9"), "smoke-11"),
    (("smoke-big-7", "smoke", "mine", "smoke-x"), "smoke-1"),
]


@pytest.mark.parametrize(("runs", "expected"), NEXT)
def test_the_next_run_is_numbered_from_what_there_is(runs: tuple[str, ...], expected: str) -> None:
    assert next_run("smoke", runs) == expected


@given(st.sets(st.integers(min_value=1, max_value=10**6)))
def test_a_new_number_was_never_used(numbers: set[int]) -> None:
    runs = {f"smoke-{number}" for number in numbers}
    assert next_run("smoke", runs) not in runs
    assert numbered("smoke", runs) == [f"smoke-{n}" for n in sorted(numbers, reverse=True)]


def test_a_jobs_runs_are_not_those_of_a_job_with_a_longer_name() -> None:
    assert numbered("smoke", ["smoke-1", "smoke-big-2", "smoke-1-3"]) == ["smoke-1"]
    assert numbered("smoke-1", ["smoke-1", "smoke-1-3"]) == ["smoke-1-3"]


WISHES = [
    ("latest", ResumeWish(None, None)),
    ("smoke-1", ResumeWish("smoke-1", None)),
    ("smoke-1:40", ResumeWish("smoke-1", 40)),
]


@pytest.mark.parametrize(("text", "wish"), WISHES)
def test_a_resume_is_understood(text: str, wish: ResumeWish) -> None:
    assert parse_resume(text) == wish


@pytest.mark.parametrize("text", ["", ":40", "smoke-1:", "smoke-1:forty", "smoke-1:-1", "a/b", "smoke 1"])
def test_a_resume_that_means_nothing_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_resume(text)
    assert "RUN:STEP" in caught.value.hint


@pytest.mark.parametrize("name", ["", "-a", "a b", "a/b", "x" * 129, "ä"])
def test_a_name_that_batch_refuses_is_refused_before(name: str) -> None:
    with pytest.raises(InputError):
        check_run_name(name)


def test_the_newest_checkpoint_is_taken_unless_a_step_is_named() -> None:
    assert choose_checkpoint(ResumeWish("r", None), "r", (20, 40)) == Resume("r", 40)
    assert choose_checkpoint(ResumeWish("r", 20), "r", (20, 40)) == Resume("r", 20)


def test_a_missing_checkpoint_lists_those_that_there_are() -> None:
    with pytest.raises(InputError) as caught:
        choose_checkpoint(ResumeWish("r", 30), "r", (20, 40))
    assert "it has: 20, 40" in caught.value.hint
    with pytest.raises(InputError, match="no complete checkpoint"):
        choose_checkpoint(ResumeWish("r", None), "r", ())


JOINS = [
    (None, None, True),
    (None, Resume("r", 20), True),
    (ResumeWish(None, None), Resume("r", 20), True),
    (ResumeWish("r", None), Resume("r", 20), True),
    (ResumeWish("r", 20), Resume("r", 20), True),
    (ResumeWish("r", 40), Resume("r", 20), False),
    (ResumeWish("other", None), Resume("r", 20), False),
    (ResumeWish(None, None), None, False),
]


@pytest.mark.parametrize(("wish", "resumes", "joins"), JOINS)
def test_only_a_repetition_joins(wish: ResumeWish | None, resumes: Resume | None, joins: bool) -> None:
    if joins:
        check_join("smoke-2", wish, resumes)
        return
    with pytest.raises(WorldError) as caught:
        check_join("smoke-2", wish, resumes)
    assert "--cancel smoke-2" in caught.value.hint
