"""Ranges of ports: what is left of some without others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stacks.domain.rules.ports import Ports, in_words, without

RANGE = st.tuples(st.integers(1, 12), st.integers(0, 4)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def members(ports: tuple[Ports, ...] | list[Ports]) -> set[int]:
    return {port for low, high in ports for port in range(low, high + 1)}


@given(st.lists(RANGE, max_size=3).map(tuple), st.lists(RANGE, max_size=4))
def test_what_is_left_is_the_difference(ports: tuple[Ports, ...], taken: list[Ports]) -> None:
    assert members(without(ports, taken)) == members(ports) - members(taken)


def test_ranges_in_words() -> None:
    assert in_words([(988, 988), (1018, 1023)]) == "988, 1018-1023"
    assert in_words([]) == ""
