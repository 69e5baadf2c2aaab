"""Rows of the table in test_rules.py: shifts."""

from __future__ import annotations

import copy
import itertools
from typing import Any

FLEET: dict[str, Any] = {
    "instance_type": "trn1.32xlarge",
    "capacity": "hourly",
    "engine": "vllm-nxdi",
    "model": {
        "name": "chat", "source": "hf:meta/llama", "family": "llama", "parameters_billions": 8, "layers": 32,
        "attention_heads": 32, "key_value_heads": 8, "head_size": 128,
    },
    "tensor_parallel": 8,
    "replicas": {"minimum": 1, "maximum": 8},
}  # fmt: skip
WORKDAYS = ["mon", "tue", "wed", "thu", "fri"]
WINDOW: dict[str, Any] = {"days": WORKDAYS, "start": "07:00", "end": "20:00", "replicas": 8}
SHIFT: dict[str, Any] = {
    "fleet": "chat", "cluster": "train", "timezone": "Europe/Berlin", "windows": [WINDOW], "replicas_floor": 1,
}  # fmt: skip
BLOCK = {"kind": "capacity-block", "id": "cr-0123456789abcdef0"}
RESERVATION = {"kind": "reservation", "id": "cr-0123456789abcdef0"}


def day(**more: Any) -> dict[str, Any]:
    """The base file with a fleet and a shift; `more` of the shift."""
    fleet, shift = copy.deepcopy((FLEET, {**SHIFT, **more}))
    return {"fleets.chat": fleet, "shifts.day": shift, "jobs.smoke.checkpoint_minutes": 30}


def with_windows(*windows: dict[str, Any], **more: Any) -> dict[str, Any]:
    return day(windows=[{**WINDOW, **window} for window in windows], **more)


def touching(number: int, minutes: int = 60, **more: Any) -> list[dict[str, Any]]:
    """Windows from midnight on, of so many minutes each."""
    times = [f"{n * minutes // 60:02d}:{n * minutes % 60:02d}" for n in range(number + 1)]
    return [
        {"days": [*WORKDAYS, "sat", "sun"], "start": start, "end": end, "replicas": 7 + n % 2, **more}
        for n, (start, end) in enumerate(itertools.pairwise(times))
    ]


Rows = dict[str, tuple[list[tuple[dict[str, Any], str]], list[dict[str, Any]]]]
FLEET_PATH, CLUSTER, WINDOWS = "shifts.day.fleet", "shifts.day.cluster", "shifts.day.windows"
SLURM = {"clusters.train.scheduler": "slurm", "clusters.train.slurm": {"shared_storage": {"kind": "efs"}}}
SECOND = {"scheduler": "batch", "instance_type": "trn1.32xlarge", "nodes": 4, "capacity": "hourly"}

CASES: Rows = {
    "NK770": ([(day(fleet="chatt"), FLEET_PATH)], [{}, day()]),
    "NK771": ([(day(cluster="trian"), CLUSTER)], [{}, day()]),
    "NK772": ([({**day(), **SLURM}, CLUSTER)], [day(), {**SLURM}]),
    "NK773": (
        [(day(timezone=zone), "shifts.day.timezone") for zone in ("Europe/Berln", "CET+1", "", "europe/berlin", "PT")],
        [day(), day(timezone="UTC"), day(timezone="America/Argentina/Buenos_Aires")],
    ),
    "NK774": (
        [
            (with_windows({}, {"start": "19:59", "end": "21:00"}), f"{WINDOWS}[1]"),
            (with_windows({"days": ["sun"], "start": "22:00", "end": "06:00"}, {"days": ["mon"], "start": "05:00"}), f"{WINDOWS}[1]"),
            (with_windows({}, {"days": ["fri"]}), f"{WINDOWS}[1]"),
        ],
        [day(), with_windows({}, {"start": "20:00", "end": "21:00"}), with_windows({"start": "22:00", "end": "06:00"})],
    ),
    "NK775": (
        [
            (with_windows({"start": "08:00", "end": "08:45"}), f"{WINDOWS}[0]"),
            (with_windows({"start": "08:00", "end": "12:00"}, drain_minutes=220), f"{WINDOWS}[0]"),
        ],
        [day(), with_windows({"start": "08:00", "end": "08:45"}, {"start": "08:45", "end": "20:00"})],
    ),
    "NK776": ([(with_windows({}, {"start": "20:30", "end": "06:00"}), f"{WINDOWS}[1]")], [day(), with_windows({}, {"start": "21:00", "end": "02:00"})]),
    "NK777": (
        [(with_windows({"days": [*WORKDAYS, "sat", "sun"], "start": "00:00", "end": "00:00"}), WINDOWS)],
        [day(), with_windows({"start": "00:00", "end": "00:00"})],
    ),
    "NK778": ([(with_windows({"replicas": 9}), f"{WINDOWS}[0].replicas")], [day()]),
    "NK779": ([(with_windows({"replicas": 1}, replicas_floor=2), f"{WINDOWS}[0].replicas")], [day(), with_windows({"replicas": 2}, replicas_floor=2)]),
    "NK780": ([({**day(), "fleets.chat.replicas.minimum": 2}, "shifts.day.replicas_floor")], [day()]),
    "NK781": ([(with_windows({"start": "07:00", "end": "07:00"}), f"{WINDOWS}[0].end")], [day(), with_windows({"start": "00:00", "end": "00:00"})]),
    "NK782": (
        [
            (with_windows({"start": "02:30"}), f"{WINDOWS}[0].start"),
            (with_windows({"start": "14:00", "end": "01:00"}, timezone="America/New_York"), f"{WINDOWS}[0].end"),
        ],
        [day(), with_windows({"start": "02:30"}, timezone="Asia/Kolkata"), with_windows({"start": "03:00"}), with_windows({"start": "00:59"})],
    ),
    "NK783": (
        [
            ({**day(), "capacity.own": RESERVATION, "clusters.train.capacity": "own"}, CLUSTER),
            ({**day(), "capacity.own": BLOCK, "capacity.hourly": {**BLOCK, "id": "cr-0123456789abcdef1"}, "clusters.train.capacity": "own"}, CLUSTER),
        ],
        [day(), {**day(), "capacity.hourly": RESERVATION}, {**day(), "capacity.other": {"kind": "on-demand"}, "clusters.train.capacity": "other"}],
    ),
    "NK784": (
        [({**day(), "capacity.hourly": RESERVATION, "clusters.train.instance_type": "trn1n.32xlarge"}, CLUSTER)],
        [day(), {**day(), "capacity.hourly": RESERVATION}, {**day(), "clusters.train.instance_type": "trn1n.32xlarge"}],
    ),
    "NK785": ([({**day(), "fleets.chat.instance_type": "inf2.48xlarge"}, CLUSTER)], [day(), {**day(), "clusters.train.instance_type": "trn1n.32xlarge"}]),
    "NK786": ([({**day(), "capacity.hourly": BLOCK}, CLUSTER)], [day(), {**day(), "capacity.hourly": RESERVATION}]),
    "NK787": (
        [
            ({**day(), "clusters.other": SECOND, "shifts.night": {**SHIFT, "cluster": "other"}}, "shifts.night.fleet"),
            ({**day(), "fleets.help": FLEET, "shifts.night": {**SHIFT, "fleet": "help"}}, "shifts.night.cluster"),
        ],
        [day(), {**day(), "clusters.other": SECOND, "fleets.help": FLEET, "shifts.night": {**SHIFT, "fleet": "help", "cluster": "other"}}],
    ),
    "NK292": (
        [(with_windows(*touching(40, 30)), WINDOWS), (with_windows(*touching(12), timezone="Asia/Hebron"), WINDOWS)],
        [{}, day(), with_windows(*touching(22)), with_windows(*touching(40, 30, days=["sun"]), timezone="Asia/Hebron")],
    ),
    # Four replicas a node: a floor of 1 to 4 has one node already.
    "NK789": (
        [
            (with_windows({"replicas": 4}), f"{WINDOWS}[0].replicas"),
            (with_windows({"replicas": 2}, {"start": "20:00", "end": "23:00", "replicas": 3}), f"{WINDOWS}[0].replicas"),
            (with_windows({}, {"days": ["sat", "sun"], "replicas": 1}), f"{WINDOWS}[1].replicas"),
            (with_windows({"replicas": 8}, replicas_floor=5), f"{WINDOWS}[0].replicas"),
        ],
        [
            day(), {}, with_windows({"replicas": 5}), with_windows({"replicas": 8}, replicas_floor=4), day(fleet="chatt"),
            with_windows({"replicas": 4}, {"start": "20:00", "end": "23:00"}),
            with_windows({"days": ["sun"], "start": "20:00", "end": "00:00"}, {"days": ["mon"], "start": "00:00", "end": "06:00", "replicas": 1}),
            {**with_windows({"replicas": 2}), "fleets.chat.replicas.per_node": 1},
        ],
    ),
    "NK788": (
        [({**day(), "jobs.smoke.checkpoint_minutes": None}, "jobs.smoke.checkpoint_minutes")],
        [day(), {"jobs.smoke.checkpoint_minutes": None}],
    ),
}  # fmt: skip
