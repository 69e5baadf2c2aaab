"""When an engine counts as stalled."""

from __future__ import annotations

from exporter.names import Reading
from exporter.progress import Progress

IDLE = Reading(running=0, waiting=0, tokens=100, finished=5)
BUSY = Reading(running=2, waiting=0, tokens=100, finished=5)
QUEUED = Reading(running=0, waiting=2, tokens=100, finished=5)
MORE = Reading(running=2, waiting=0, tokens=130, finished=5)


def after(readings: list[tuple[float, Reading | None]], healthy: bool = True) -> Progress:
    progress = Progress(100)
    for now, found in readings:
        if found is None:
            progress.silent(now, healthy=healthy)
        else:
            progress.note(found, now)
    return progress


def test_requests_run_and_nothing_comes() -> None:
    progress = after([(0, BUSY), (60, BUSY)])
    assert (progress.is_slow(49), progress.is_slow(50)) == (False, True)
    assert (progress.is_stalled(99), progress.is_stalled(100)) == (False, True)


def test_requests_that_only_wait_count_as_well() -> None:
    assert after([(0, QUEUED), (90, QUEUED)]).is_stalled(100)


def test_tokens_and_ended_requests_are_progress() -> None:
    assert not after([(0, BUSY), (90, MORE)]).is_stalled(150)
    ended = Reading(running=2, waiting=0, tokens=100, finished=6)
    assert not after([(0, BUSY), (90, ended)]).is_stalled(150)


def test_an_idle_engine_never_stalls() -> None:
    assert not after([(0, IDLE), (1000, IDLE)]).is_stalled(1099)


def test_a_request_after_a_long_rest_has_the_whole_time() -> None:
    assert not after([(0, IDLE), (1000, IDLE), (1015, BUSY)]).is_stalled(1090)


def test_green_health_without_metrics_is_a_stall_if_it_was_seen_to_work() -> None:
    assert after([(0, BUSY), (15, None), (90, None)]).is_stalled(100)
    assert not after([(0, None), (500, None)]).is_stalled(1000)


def test_a_start_and_a_restart_are_none() -> None:
    assert not after([(0, BUSY), (15, None), (500, None)], healthy=False).is_stalled(1000)
    fresh = Reading(running=1, waiting=0, tokens=0, finished=0)
    assert not after([(0, BUSY), (90, fresh)]).is_stalled(150)


def test_tokens_since_the_last_reading() -> None:
    progress = Progress(100)
    assert progress.note(BUSY, 0) is None
    assert progress.note(MORE, 15) == 30
    assert progress.note(Reading(0, 0, 10, 1), 30) is None
    assert progress.note(Reading(0, 0, 15, 1), 45) == 5
