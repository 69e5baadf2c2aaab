"""Ours, somebody else's, or only named like ours."""

from __future__ import annotations

import pytest

from scripts.teardown.model import Ownership
from scripts.teardown.scope import STACK_ID_TAG, Scope
from stacks.domain.names import ENVIRONMENT_TAG

SCOPE = Scope(
    "pilot",
    members=frozenset({"sg-1"}),
    stack_ids=frozenset({"stack-1"}),
    retained=frozenset({"kept-bucket"}),
)
OURS, SUSPECT = Ownership.OURS, Ownership.SUSPECT

CASES = [
    ({ENVIRONMENT_TAG: "pilot"}, ("anything",), OURS),
    ({ENVIRONMENT_TAG: "pilot-2"}, ("pilot-bucket",), None),
    ({ENVIRONMENT_TAG: "pilot-2"}, ("pilot-2-bucket",), None),
    ({ENVIRONMENT_TAG: "Pilot"}, ("pilot-bucket",), None),
    ({}, ("pilot-bucket",), SUSPECT),
    ({}, ("pilot-2-bucket",), SUSPECT),
    ({}, ("/neuronkit/pilot/jobs",), SUSPECT),
    ({}, ("pilot",), SUSPECT),
    ({"Name": "pilot"}, ("eni-1", "pilot-eni"), SUSPECT),
    ({}, ("my-pilot-bucket",), None),
    ({}, ("pilots-bucket",), None),
    ({}, ("/aws/autopilot/x",), None),
    ({}, ("kept-bucket",), OURS),
    ({}, ("other",), None),
]


@pytest.mark.parametrize(("tags", "ids", "owner"), CASES)
def test_whose_it_is(tags: dict[str, str], ids: tuple[str, ...], owner: Ownership | None) -> None:
    assert SCOPE.ownership(tags, *ids) is owner


def test_a_member_of_a_living_stack_is_cloudformations_to_delete() -> None:
    assert SCOPE.is_member({}, "sg-1")
    assert SCOPE.is_member({}, "other", "sg-1")
    assert SCOPE.is_member({STACK_ID_TAG: "stack-1"}, "other")
    assert not SCOPE.is_member({STACK_ID_TAG: "stack-2"}, "other")
    assert not SCOPE.is_member({}, "sg-2")


def test_a_name_with_a_dot_is_no_pattern() -> None:
    assert not Scope("a.c").has_our_name("abc")
