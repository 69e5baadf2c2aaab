"""The moments of a plan: a block's end with its lead, and the first compile."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from stacks.domain.live import CouldNotAsk, LiveFacts
from stacks.domain.plan import Plan
from stacks.domain.reservations import Reservation
from stacks.domain.timeline import timeline
from tests.environments import plan_of
from tests.unit.domain.model_cases import BLOCK, JOB


def at(plan: Plan, live: LiveFacts = LiveFacts()) -> list[str]:  # noqa: B008
    return [event["at"] for event in timeline(plan, live)]


def block(**more: Any) -> Plan:
    return plan_of({**BLOCK, **more})


def test_the_lead_is_reclaim_window_checkpoint_and_margin() -> None:
    """P-19, P-31: 30 + 15 + 10 minutes; whoever starts later than one interval before that saves nothing."""
    plan = block(**{f"{JOB}.checkpoint_minutes": 15})
    assert [a for a in at(plan) if a.startswith("block end")] == [
        "block end - 70 min",
        "block end - 55 min",
        "block end - 30 min",
    ]


def test_an_ultraserver_is_reclaimed_an_hour_before() -> None:
    plan = block(
        **{
            "region": "ap-south-2",
            "network.zone_id": "aps2-az1",
            "clusters.train.instance_type": "trn2u.48xlarge",
            f"{JOB}.checkpoint_minutes": 15,
        }
    )
    assert [a for a in at(plan) if a.startswith("block end")] == [
        "block end - 100 min",
        "block end - 85 min",
        "block end - 60 min",
    ]


def test_the_longest_interval_of_the_clusters_jobs_decides() -> None:
    other = {
        "cluster": "train", "framework": "jax", "source": "neuronkit:smoke", "command": ["x"],
        "time_limit_minutes": 60, "checkpoint_minutes": 40,
    }  # fmt: skip
    assert "block end - 80 min" in at(block(**{f"{JOB}.checkpoint_minutes": 5, "jobs.other": other}))


def test_an_unknown_interval_is_not_taken_for_none() -> None:
    moments = [a for a in at(block()) if a.startswith("block end")]
    assert moments == ["block end - unknown", "block end - 30 min"]


def test_the_end_that_ec2_told_gives_the_moments_in_utc() -> None:
    id_ = "cr-0123456789abcdef0"
    told = Reservation(
        id_,
        "capacity-block",
        "trn1.32xlarge",
        "use2-az3",
        4,
        4,
        "active",
        end=datetime(2026, 12, 7, 11, 30, tzinfo=UTC),
    )
    plan = block(**{f"{JOB}.checkpoint_minutes": 15})
    assert "2026-12-07 10:35 UTC (block end - 55 min)" in at(plan, LiveFacts(reservations={id_: told}))
    assert "block end - 55 min" in at(plan, LiveFacts(reservations={id_: CouldNotAsk("AccessDenied")}))


def test_no_block_has_no_end() -> None:
    assert [a for a in at(plan_of({f"{JOB}.checkpoint_minutes": 5})) if a.startswith("block")] == []


@pytest.mark.parametrize(
    ("changes", "prefix"),
    [
        ({}, "compile-cache/sdk-2.32.0/trn1.32xlarge-lnc1"),
        ({"software.sdk": "2.28.0"}, "compile-cache/sdk-2.28.0/trn1.32xlarge-lnc1"),
        ({"clusters.train.instance_type": "trn2.48xlarge"}, "compile-cache/sdk-2.32.0/trn2.48xlarge-lnc2"),
    ],
)
def test_another_sdk_or_type_starts_with_a_cold_cache(changes: dict[str, Any], prefix: str) -> None:
    """P-65. How long the compile takes no source says, and the plan says that."""
    (event,) = [e for e in timeline(plan_of(changes), LiveFacts()) if e["at"] == "first run of smoke"]
    assert prefix in event["what"]
    assert "no source says" in event["what"]
