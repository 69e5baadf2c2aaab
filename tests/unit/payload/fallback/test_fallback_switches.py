"""How often weights may change direction, against sides that fail as soon as they have the requests."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fallback.decisions import PATIENT_CHECKS, SWITCHES_PER_HOUR

from tests.unit.payload.fallback.fleet_world import OVERFLOW, World

HOURS = 4
AT_ONCE = replace(OVERFLOW, back="at-once", gpu_minimum=2)


def most_in_an_hour(moments: list[int]) -> int:
    return max(sum(first <= moment < first + 60 for moment in moments) for first in moments)


def changes(world: World, minutes: int, before_each) -> tuple[list[int], int]:
    """The minutes in which requests changed sides, and the longest time that they went nowhere while the other side served."""
    found, dark, darkest = [], 0, 0
    for minute in range(minutes):
        before_each(world)
        share = world.weights.share
        world.check()
        if world.weights.share != share:
            found.append(minute)
        empty = not (world.gpu_healthy if world.weights.share else world.neuron_healthy)
        other = world.neuron_healthy if world.weights.share else world.gpu_healthy
        dark = dark + 1 if empty and other else 0
        darkest = max(darkest, dark)
    return found, darkest


@pytest.mark.parametrize("settings", [AT_ONCE, replace(AT_ONCE, gpu_minimum=1)])
def test_a_neuron_that_fails_after_each_return(settings) -> None:
    def fails_when_asked(world: World) -> None:
        world.neuron_up = 2 if world.weights.share == 100 else 0

    world = World(settings, gpu_desired=settings.gpu_minimum, gpu_ages=[99] * settings.gpu_minimum)
    found, darkest = changes(world, HOURS * 60, fails_when_asked)
    assert SWITCHES_PER_HOUR - 1 <= most_in_an_hour(found) <= SWITCHES_PER_HOUR
    assert darkest < PATIENT_CHECKS


def test_two_sides_that_fail_as_soon_as_they_are_asked() -> None:
    def whoever_is_asked_fails(world: World) -> None:
        world.neuron_up, world.gpu_broken = (2, True) if world.weights.share == 100 else (0, False)

    world = World(AT_ONCE, gpu_desired=2, gpu_ages=[99, 99])
    found, darkest = changes(world, HOURS * 60, whoever_is_asked_fails)
    assert SWITCHES_PER_HOUR < most_in_an_hour(found) <= SWITCHES_PER_HOUR + 60 // PATIENT_CHECKS
    assert darkest < PATIENT_CHECKS


def test_a_budget_that_is_used_up_is_said_and_comes_back_with_the_hour() -> None:
    world = World(AT_ONCE, gpu_desired=2, gpu_ages=[99, 99])
    for _ in range(HOURS * 60):
        world.neuron_up = 2 if world.weights.share == 100 else 0
        if world.check().reason == "too-many-switches":
            break
    assert world.decision().reason == "too-many-switches"
    world.neuron_up = 2
    world.checks(60)
    assert world.weights.share == 0
