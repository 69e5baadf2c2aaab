from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.domain.reservations import Reservation, moments

END = datetime(2026, 12, 8, 11, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("is_ultraserver", "checkpoint_seconds", "no_new_jobs", "drain", "reclaim"),
    [
        (False, 0, "10:50", "10:50", "11:00"),
        (False, 600, "10:30", "10:40", "11:00"),
        (True, 600, "10:00", "10:10", "10:30"),
        (True, 3600, "08:20", "09:20", "10:30"),
    ],
)
def test_the_moments_before_the_end(
    is_ultraserver: bool, checkpoint_seconds: int, no_new_jobs: str, drain: str, reclaim: str
) -> None:
    """30 minutes for instances, 60 for UltraServers: one constant for both would lose the UltraServers' last hour."""
    found = moments(END, is_ultraserver=is_ultraserver, checkpoint_seconds=checkpoint_seconds)
    assert [f"{moment:%H:%M}" for moment in (found.no_new_jobs, found.drain, found.reclaim)] == [
        no_new_jobs,
        drain,
        reclaim,
    ]
    assert found.end == END


@given(st.booleans(), st.integers(0, 86_400))
def test_a_checkpoint_always_fits_between_the_drain_and_the_reclaim(
    is_ultraserver: bool, seconds: int
) -> None:
    found = moments(END, is_ultraserver=is_ultraserver, checkpoint_seconds=seconds)
    assert found.no_new_jobs <= found.drain < found.reclaim < found.end
    assert found.reclaim - found.drain > timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("state", "is_over", "is_known"),
    [
        ("active", False, True),
        ("scheduled", False, True),
        ("payment-pending", False, True),
        ("payment-failed", True, True),
        ("unavailable", False, True),
        ("failed", True, True),
        ("expired", True, True),
        ("cancelled", True, True),
        ("delayed", False, True),
        ("defrosting", False, False),
    ],
)
def test_states(state: str, is_over: bool, is_known: bool) -> None:
    reservation = Reservation("cr-1", "capacity-block", "t", "z", 4, 1, state)
    assert (reservation.is_over, reservation.is_known_state, reservation.used) == (is_over, is_known, 3)
