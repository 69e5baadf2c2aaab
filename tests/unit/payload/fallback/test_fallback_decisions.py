"""What the controller decides, story by story."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fallback.decisions import TO_THE_WAKER, decide
from fallback.health import DOWN_CHECKS, UP_CHECKS
from fallback.memory import Memory
from fallback.observed import Observation, Override, Side, Weights

from tests.unit.payload.fallback.fleet_world import GPU_START_CHECKS, MODEL, OVERFLOW, START, WEIGHTED, World

STANDBY = 5


def fallen(**changes) -> World:
    """Neuron served, and then lost everything."""
    world = World(**changes)
    world.checks(STANDBY)
    world.neuron_up = 0
    return world


def on_gpu(**changes) -> World:
    world = fallen(**changes)
    world.checks(DOWN_CHECKS + GPU_START_CHECKS + 1)
    assert world.weights.share == 100
    return world


# ---- overflow


def test_gpu_replicas_start_after_three_bad_checks_one_for_each_that_is_missing() -> None:
    world = fallen()
    assert [decision.gpu_desired for decision in world.checks(3)] == [None, None, 2]


def test_weights_move_only_when_a_gpu_replica_is_healthy() -> None:
    world = fallen()
    moved = [decision for decision in world.checks(12) if decision.weights]
    assert [decision.weights for decision in moved] == [Weights(0, 100)]
    assert moved[0].memory.checked_at == START + 60 * (STANDBY + DOWN_CHECKS + GPU_START_CHECKS + 1)
    assert (moved[0].reason, moved[0].active) == ("no-healthy-target", True)


def test_replacements_stop_at_the_maximum() -> None:
    world = fallen(neuron_desired=9, neuron_up=9)
    world.checks(4)
    assert world.gpu_desired == OVERFLOW.gpu_maximum


def test_two_bad_checks_are_nothing() -> None:
    world = fallen()
    world.checks(2)
    world.neuron_up = 2
    assert {(d.weights, d.gpu_desired, d.active) for d in world.checks(20)} == {(None, None, False)}


def test_requests_return_by_quarters_after_five_good_checks_and_gpu_ends_after_the_drain() -> None:
    world = on_gpu()
    world.neuron_up = 2
    shares = [decision.share for decision in world.checks(UP_CHECKS + 4)]
    assert shares == [100, 100, 100, 100, 75, 50, 25, 0, 0]
    assert world.gpu_desired == 2
    world.checks(OVERFLOW.drain_seconds // 60)
    assert world.gpu_desired == 0


def test_requests_return_at_once_where_the_file_says_so() -> None:
    world = on_gpu(settings=replace(OVERFLOW, back="at-once"))
    world.neuron_up = 2
    assert [decision.share for decision in world.checks(UP_CHECKS)] == [100, 100, 100, 100, 0]


def test_a_neuron_that_fails_in_the_middle_of_the_return_loses_the_requests_again() -> None:
    world = on_gpu()
    world.neuron_up = 2
    world.checks(UP_CHECKS + 1)
    assert world.weights.share == 50
    world.neuron_up = 0
    assert [decision.share for decision in world.checks(3)] == [50, 50, 100]


def test_a_flapping_neuron_ends_on_gpu_and_stays_there() -> None:
    world = World()
    world.checks(STANDBY)
    for minute in range(60):
        world.neuron_up = 2 * (minute % 2)
        world.check()
    changes = world.decision().memory.switches
    assert world.weights.share == 100
    assert len(changes) == 1


def test_refused_capacity_with_requests_waiting_gives_gpu_a_part() -> None:
    world = World(neuron_desired=4, neuron_up=4)
    world.checks(STANDBY)
    world.neuron_desired, world.neuron_refused, world.neuron_waiting = 8, "no inf2.48xlarge", 100.0
    world.checks(DOWN_CHECKS + GPU_START_CHECKS + UP_CHECKS + 1)
    assert (world.weights.share, world.decision().reason) == (50, "short-of-capacity")
    world.neuron_waiting = 0.0
    world.checks(30)
    assert world.weights.share == 50, "that requests wait no longer is GPU's doing"
    world.neuron_up, world.neuron_refused = 8, ""
    world.checks(UP_CHECKS + 2)
    assert world.weights.share == 0


def test_refused_capacity_that_nobody_waits_for_is_no_reason() -> None:
    world = World(neuron_desired=4, neuron_up=2, neuron_refused="no inf2.48xlarge", neuron_waiting=0.0)
    world.checks(20)
    assert (world.weights.share, world.gpu_desired) == (0, 0)


def test_a_deployment_is_no_failure_until_it_takes_too_long() -> None:
    world = fallen(deploying=True)
    within = int(OVERFLOW.start_seconds // 60) - STANDBY
    assert {d.gpu_desired for d in world.checks(within)} == {None}
    assert not world.decision().nobody_serves
    world.checks(DOWN_CHECKS + 1)
    assert world.gpu_desired == 2


def test_a_deployment_without_capacity_is_a_failure_at_once() -> None:
    world = fallen(deploying=True, neuron_refused="no inf2.8xlarge")
    world.checks(DOWN_CHECKS)
    assert world.gpu_desired == 2


def test_gpu_replicas_that_serve_anyway_take_the_requests_of_a_deployment() -> None:
    settings = replace(OVERFLOW, gpu_minimum=1)
    world = fallen(settings=settings, deploying=True, gpu_desired=1, gpu_ages=[99])
    assert [d.share for d in world.checks(DOWN_CHECKS)] == [0, 0, 100]
    assert world.decision().reason == "deploying"


def test_a_first_start_is_no_failure() -> None:
    world = World(neuron_desired=0)
    assert {d.reason for d in world.checks(10)} == {"off"}
    world.neuron_desired, world.neuron_up = 2, 0
    assert {d.gpu_desired for d in world.checks(20)} == {None}
    assert not world.decision().nobody_serves


def test_stalled_engines_and_5xx_count_as_down_though_health_checks_are_green() -> None:
    healthy = Side(healthy=2, desired=2, running=2)
    assert healthy.serving == 2
    assert replace(healthy, stalled=2).serving == 0
    assert replace(healthy, stalled=1).serving == 1
    assert replace(healthy, requests=40.0, errors=20.0).serving == 0
    assert replace(healthy, requests=40.0, errors=19.0).serving == 2
    assert replace(healthy, requests=9.0, errors=9.0).serving == 2


# ---- both down


def test_both_down_leaves_the_weights_and_says_so() -> None:
    world = on_gpu()
    world.gpu_broken = True
    decisions = world.checks(30)
    assert {(d.share, d.nobody_serves, d.reason) for d in decisions} == {(100, True, "nobody-serves")}


def test_both_down_and_neuron_comes_back_first() -> None:
    world = on_gpu()
    world.gpu_broken = True
    world.checks(5)
    world.neuron_up = 1
    assert world.check().share == 0, "GPU was bad for long enough"


def test_gpu_that_cannot_start_is_missing_and_the_weights_wait() -> None:
    world = fallen(gpu_refused="no g5.xlarge")
    decision = world.checks(40)[-1]
    assert (decision.share, decision.gpu_missing, decision.nobody_serves) == (0, True, True)
    assert world.gpu_desired == 2


# ---- weighted and model


def test_the_share_of_weighted_holds_while_both_are_healthy() -> None:
    world = World(WEIGHTED, gpu_desired=1, gpu_ages=[99])
    assert world.check().weights == Weights(70, 30)
    assert {(d.weights, d.active) for d in world.checks(20)} == {(None, False)}


def test_weighted_moves_everything_to_the_side_that_serves_and_comes_back() -> None:
    world = World(WEIGHTED, gpu_desired=1, gpu_ages=[99])
    world.check()
    world.gpu_broken = True
    assert [d.share for d in world.checks(3)] == [30, 30, 0]
    world.gpu_broken = False
    assert [d.share for d in world.checks(5)] == [0, 0, 0, 0, 30]
    world.neuron_up = 0
    assert [d.share for d in world.checks(3)] == [30, 30, 100]
    assert world.decision().active


def test_model_sends_everything_to_gpu_and_says_why() -> None:
    world = World(MODEL, neuron_desired=0, neuron_up=0, weights=Weights(0, 100))
    decisions = world.checks(GPU_START_CHECKS + 2)
    assert world.weights.share == 100
    assert world.gpu_healthy == 1
    assert not decisions[-1].active
    world.neuron_desired = world.neuron_up = 2
    world.checks(60)
    assert world.weights.share == 100


# ---- GPU's count


def test_gpu_replicas_grow_while_requests_wait_and_shrink_when_none_does() -> None:
    world = on_gpu(neuron_desired=1, neuron_up=1)
    assert world.gpu_desired == 1
    world.gpu_waiting = 50.0
    world.checks(30)
    assert world.gpu_desired == OVERFLOW.gpu_maximum
    world.gpu_waiting = 0.0
    world.checks(15 * 2 + 2)
    assert world.gpu_desired == 1
    world.gpu_waiting = None
    world.checks(60)
    assert world.gpu_desired == 1


# ---- override


def test_an_override_to_gpu_starts_it_first_and_expires() -> None:
    world = World()
    world.checks(STANDBY)
    world.override = Override("gpu", world.now + 60 * 30)
    shares = [d.share for d in world.checks(GPU_START_CHECKS + 2)]
    assert (shares[0], shares[-1]) == (0, 100)
    world.checks(40)
    assert world.weights.share == 0


def test_an_override_stays_even_if_its_side_fails() -> None:
    world = on_gpu()
    world.neuron_up = 1
    world.override = Override("neuron")
    assert world.check().share == 0
    world.neuron_up = 0
    assert {d.share for d in world.checks(30)} == {0}
    assert world.gpu_desired == 0
    world.override = Override()
    world.checks(GPU_START_CHECKS + 2)
    assert world.weights.share == 100


# ---- asleep


def sleeping(**changes) -> World:
    world = World(replace(OVERFLOW, sleeps=True, **changes))
    world.checks(STANDBY)
    world.sleep()
    return world


def test_asleep_is_not_down() -> None:
    decisions = sleeping().checks(30)
    assert {(d.weights, d.gpu_desired, d.reason, d.nobody_serves) for d in decisions} == {
        (None, None, "asleep", False)
    }


def test_a_wake_is_the_wakers_and_the_rule_is_left_to_it() -> None:
    world = sleeping()
    world.checks(3)
    world.wake()
    world.neuron_up = 0
    assert {(d.weights, d.gpu_desired, d.reason) for d in world.checks(20)} == {(None, None, "waking")}
    world.neuron_up = 2
    world.waker_hands_over()
    assert {(d.weights, d.reason) for d in world.checks(5)} == {(None, "none")}


def test_a_fleet_that_falls_asleep_with_streams_keeps_the_wakers_rule() -> None:
    world = World(replace(OVERFLOW, sleeps=True))
    world.checks(STANDBY)
    world.weights = TO_THE_WAKER
    assert {d.weights for d in world.checks(30)} == {None}


def test_a_wake_without_capacity_ends_on_gpu() -> None:
    world = sleeping()
    world.checks(3)
    world.wake()
    world.neuron_up, world.neuron_refused = 0, "no inf2.8xlarge"
    world.checks(DOWN_CHECKS + GPU_START_CHECKS + 1)
    assert world.weights == Weights(0, 100, 0)


def test_requests_that_go_to_a_sleeping_fleet_are_handed_to_the_waker() -> None:
    world = sleeping()
    world.weights = Weights(100, 0)
    assert world.check().weights == TO_THE_WAKER


def test_a_shift_that_took_the_capacity_is_no_sleep() -> None:
    world = sleeping()
    world.withdrawn = True
    world.checks(DOWN_CHECKS + GPU_START_CHECKS + 1)
    assert world.weights == Weights(0, 100, 0)
    world.withdrawn = False
    assert world.check().weights == TO_THE_WAKER


# ---- memory


def test_checks_that_come_too_fast_count_once() -> None:
    world = fallen()
    for _ in range(20):
        world.check()
        world.now -= 60
    assert world.gpu_desired == 0


def test_a_lost_memory_on_gpu_does_not_rush_back() -> None:
    world = on_gpu()
    world.neuron_up = 1
    world.state = "garbage"
    assert [d.share for d in world.checks(5)] == [100, 100, 100, 100, 75]


def test_weights_in_other_numbers_are_not_rewritten() -> None:
    side = Side(healthy=1, desired=1, running=1)
    for weights, written in (
        (Weights(1, 0), None),
        (Weights(999, 0), None),
        (Weights(999, 1), Weights(100, 0)),
        (Weights(0, 0), Weights(100, 0)),
    ):
        seen = Observation(side, Side(healthy=0, desired=0, running=0), weights)
        assert decide(OVERFLOW, seen, Memory(), START).weights == written


@pytest.mark.parametrize("settings", [OVERFLOW, WEIGHTED, MODEL])
def test_a_clock_that_goes_back_does_no_harm(settings) -> None:
    world = World(settings, gpu_desired=1, gpu_ages=[99])
    world.checks(5)
    world.now -= 86_400
    world.checks(10)
    assert world.weights.share == settings.base_share
