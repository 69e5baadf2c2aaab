"""Cases of the rules about models, times, disks, limits and suppressions: id -> (changes that break it, its path), changes that do not."""

from __future__ import annotations

from typing import Any

JOB = "jobs.smoke"
BLOCK = {"capacity": {"hourly": {"kind": "capacity-block", "id": "cr-0123456789abcdef0"}}}
ONE_CHIP = {
    "region": "us-east-1",
    "network.zone_id": "use1-az6",
    "clusters.train.instance_type": "trn1.2xlarge",
    "clusters.train.nodes": 1,
}
ONE_INF1 = {"clusters.train.instance_type": "inf1.24xlarge", "clusters.train.nodes": 1}
DLAMI = "/aws/service/neuron/dlami/base/ubuntu-24.04/latest/image_id"


def trn2(**more: Any) -> dict[str, Any]:
    return {"clusters.train.instance_type": "trn2.48xlarge", **more}


def degrees(**more: Any) -> dict[str, Any]:
    return {f"{JOB}.parallelism": more}


def model(**more: Any) -> dict[str, Any]:
    return {f"{JOB}.model": more}


def accepts(*entries: tuple[str, str | None], reason: str = "looked at by the team") -> dict[str, Any]:
    return {"suppress": [{"rule": rule, "reason": reason, "path": path} for rule, path in entries]}


MODEL_CASES: dict[str, tuple[list[tuple[dict[str, Any], str]], list[dict[str, Any]]]] = {
    # 4 x trn1.32xlarge: 128 logical cores.
    "NK235": (
        [
            (degrees(tensor=32, expert=8), f"{JOB}.parallelism.expert"),
            (degrees(tensor=8, data=16, expert=3), f"{JOB}.parallelism.expert"),
            ({**degrees(tensor=8, expert=4), **model(experts=6)}, f"{JOB}.model.experts"),
        ],
        [{**degrees(tensor=8, expert=8), **model(experts=64)}, degrees(tensor=8, expert=16), degrees(tensor=32)],
    ),
    "NK236": (
        [
            ({**degrees(tensor=16), **model(attention_heads=40)}, f"{JOB}.parallelism.tensor"),
            (trn2(**degrees(tensor=64), **model(attention_heads=32)), f"{JOB}.parallelism.tensor"),
            ({**degrees(tensor=8, pipeline=16), **model(layers=12)}, f"{JOB}.parallelism.pipeline"),
        ],
        [
            {**degrees(tensor=8), **model(attention_heads=40)},
            {**degrees(tensor=8, pipeline=16), **model(layers=16)},
            degrees(tensor=16),
            model(attention_heads=7),
        ],
    ),
    "NK237": (
        [({**degrees(tensor=8, pipeline=4), **model(layers=30)}, f"{JOB}.parallelism.pipeline")],
        [{**degrees(tensor=8, pipeline=4), **model(layers=32)}, {**degrees(tensor=8, pipeline=16), **model(layers=12)}],
    ),
    "NK238": (
        [({**degrees(tensor=8), **model(key_value_heads=6)}, f"{JOB}.model.key_value_heads")],
        [{**degrees(tensor=32), **model(key_value_heads=8)}, {**degrees(tensor=8), **model(key_value_heads=32)}],
    ),
    "NK239": (
        [
            (degrees(tensor=4), f"{JOB}.parallelism.tensor"),
            ({**ONE_CHIP, "clusters.train.nodes": 3}, JOB),  # 6 logical cores
        ],
        [degrees(tensor=8), degrees(tensor=32), trn2(**degrees(tensor=4)), ONE_CHIP],
    ),
    "NK249": (
        [
            ({"software.ami": f"/aws/service/{path}"}, "software.ami")
            for path in (
                "eks/optimized-ami/1.36/amazon-linux-2023/x86_64/neuron/recommended/image_id",
                "neuron/dlami/multi-framework/ubuntu-24.04/latest/image_id",
                "ecs/optimized-ami/amazon-linux-2023/recommended/image_id",
                "ecs/optimized-ami/amazon-linux-2/inf/recommended/image_id",
            )
        ],
        [
            {"software.ami": "/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron/recommended/image_id"},
            {"software.ami": "ami-0123456789abcdef0"},
            {},
        ],
    ),
    "NK280": (
        [({**ONE_CHIP, **model(parameters_billions=20)}, f"{JOB}.model.parameters_billions")],
        [{**ONE_CHIP, **model(parameters_billions=8)}, ONE_CHIP, model(layers=8)],
    ),
    "NK281": (
        [
            ({**ONE_CHIP, **model(parameters_billions=8)}, f"{JOB}.model.parameters_billions"),  # P-90
            (model(parameters_billions=8), f"{JOB}.model.parameters_billions"),  # fits only when sharded
            ({**degrees(tensor=2), **model(parameters_billions=4)}, f"{JOB}.model.parameters_billions"),  # close
        ],
        [{**degrees(tensor=8), **model(parameters_billions=8)}, {**ONE_CHIP, **model(parameters_billions=20)}],
    ),
    "NK282": (
        [({**ONE_CHIP, f"{JOB}.precision": "fp32", **model(parameters_billions=8)}, f"{JOB}.model.parameters_billions")],
        [{**ONE_CHIP, **model(parameters_billions=1)}, model(parameters_billions=8)],
    ),
    "NK283": (
        [({**ONE_INF1, f"{JOB}.precision": "fp8"}, f"{JOB}.precision")],
        [{**ONE_INF1, f"{JOB}.precision": "bf16"}, {f"{JOB}.precision": "fp8"}, trn2(**{f"{JOB}.precision": "fp8"})],
    ),
    "NK284": (
        [({f"{JOB}.checkpoint_minutes": 30}, f"{JOB}.checkpoint_minutes")],
        [{f"{JOB}.checkpoint_minutes": 29}, {}],
    ),
    "NK285": ([(BLOCK, JOB)], [{}, {**BLOCK, f"{JOB}.checkpoint_minutes": 10}]),
    "NK286": (
        [({**BLOCK, f"{JOB}.checkpoint_minutes": 1400}, f"{JOB}.checkpoint_minutes")],
        [{**BLOCK, f"{JOB}.checkpoint_minutes": 1399}, {f"{JOB}.checkpoint_minutes": 1440}],
    ),
    "NK287": (
        [({"clusters.train.root_volume_gib": 99}, "clusters.train.root_volume_gib")],
        [{"clusters.train.root_volume_gib": 100}, {}],
    ),
    "NK288": (
        [({"software.ami": DLAMI, "clusters.train.root_volume_gib": 511}, "clusters.train.root_volume_gib")],
        [{"software.ami": DLAMI}, {"clusters.train.root_volume_gib": 300}],
    ),
    "NK290": (
        [({"tags": {f"k{n:03}{'x' * 120}": "é" * 256 for n in range(40)}}, JOB)],
        [{"tags": {f"k{n}": "v" for n in range(40)}}],
    ),
    "NK291": (
        [
            (
                {
                    f"clusters.c{n}": {"scheduler": "batch", "instance_type": "trn1.32xlarge", "nodes": 1, "capacity": "hourly", "cells": 1000}
                    for n in range(2)
                },
                "clusters",
            )
        ],
        [{}],
    ),
    "NK296": (
        [(accepts(("NK999", None)), "suppress[0].rule"), (accepts(("NK299", None)), "suppress[0].rule")],
        [accepts(("NK264", None)), {}],
    ),
    "NK297": (
        [
            (accepts(("NK206", None), ("NK240", None)), "suppress[1].rule"),
            (accepts(("NK103", None)), "suppress[0].rule"),
            (accepts(("NK298", None)), "suppress[0].rule"),
        ],
        [accepts(("NK250", None)), accepts(("NK219", None)), accepts(("NK999", None))],
    ),
    "NK298": (
        [
            (accepts(("NK219", None)), "suppress[0]"),
            ({**BLOCK, **accepts(("NK219", "clusters.trai"))}, "suppress[0]"),
        ],
        [
            {**BLOCK, **accepts(("NK219", None))},
            {**BLOCK, **accepts(("NK219", "clusters.train"))},
            accepts(("NK303", None)),
            {"region": "mars-1", **accepts(("NK219", None))},
        ],
    ),
}  # fmt: skip
