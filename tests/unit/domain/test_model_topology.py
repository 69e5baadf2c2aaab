"""Degrees, heads, experts and memory: public reports as inputs, and arithmetic that must hold for any degrees."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stacks.domain.catalog import load_catalog
from stacks.domain.environment.model import Job, ModelShape, Parallelism
from stacks.domain.findings import Finding
from stacks.domain.model_memory import estimate_memory, memory_per_logical_core_gib
from stacks.domain.rules import run_rules
from tests.environments import changed, loaded
from tests.unit.domain.model_cases import ONE_CHIP, degrees, model, trn2

INF2_48 = {"clusters.train.instance_type": "inf2.48xlarge", "clusters.train.nodes": 1}


def findings(changes: dict[str, Any]) -> dict[str, Finding]:
    found = run_rules(loaded(changed(changes), Path("/nonexistent")), load_catalog())
    return {f.id: f for f in found}


class TestPublicReports:
    def test_p52_a_degree_above_the_cores_of_inf2(self) -> None:
        """TP 32 on inf2.48xlarge, which has 24 cores (vllm-neuron issue 7)."""
        found = findings({**INF2_48, **degrees(tensor=32)})
        assert "nearest tensor degree: 24" in found["NK232"].fix
        assert "24 logical cores" in found["NK232"].message

    def test_p52_heads_that_the_degree_does_not_divide(self) -> None:
        """Llama 70B has 64 heads; 24 cores do not divide them (ai-on-eks PR 74)."""
        found = findings({**INF2_48, **degrees(tensor=24), **model(attention_heads=64)})
        assert re.search(r"write (4|8)\b", found["NK236"].fix)
        assert findings({**INF2_48, **degrees(tensor=8), **model(attention_heads=64)}).get("NK236") is None

    def test_p52_the_runtimes_own_numbers_on_trn1(self) -> None:
        found = findings(degrees(tensor=4))
        assert found["NK239"].allowed == "allowed: 2 or 8"
        assert "Unsupported topology" not in found["NK239"].text()
        assert "1, 2, 8, 16 and multiples of 32" in found["NK239"].message

    def test_p90_eight_billion_on_one_chip(self) -> None:
        found = findings({**ONE_CHIP, **model(parameters_billions=8)})
        assert "about 60 GiB; all chips of the job have 32 GiB" in found["NK281"].message
        assert "an estimate" in found["NK281"].message
        assert "NK280" not in found

    def test_p90_trainium2_has_96_gib_a_device_not_512(self) -> None:
        """The EC2 API says 524,288 MiB: with it 200 billion parameters would fit one node's tensor group."""
        trn2_48 = load_catalog().instance_types["trn2.48xlarge"]
        assert (
            memory_per_logical_core_gib(trn2_48, 2) == 24
        )  # Neuron docs training/best-practices, 2026-10-16
        assert memory_per_logical_core_gib(trn2_48, 1) == 12
        found = findings(trn2(**degrees(tensor=4), **model(parameters_billions=70)))
        assert "a logical core has 24.0 GiB" in found["NK281"].message


class TestAnyDegrees:
    @settings(max_examples=60, deadline=None)
    @given(
        tensor=st.sampled_from([1, 2, 3, 4, 8, 16, 24, 32, 64]),
        pipeline=st.integers(1, 9),
        expert=st.sampled_from([1, 2, 3, 4, 8, 16]),
        heads=st.integers(1, 128),
        experts=st.integers(1, 64),
        layers=st.integers(1, 96),
    )
    def test_no_error_means_that_everything_divides(
        self, tensor: int, pipeline: int, expert: int, heads: int, experts: int, layers: int
    ) -> None:
        shape = model(attention_heads=heads, experts=experts, layers=layers)
        found = findings({**degrees(tensor=tensor, pipeline=pipeline, expert=expert), **shape})
        cores = 4 * 32
        assert ("NK232" in found) == (cores % (tensor * pipeline) != 0)
        data = cores // (tensor * pipeline)
        assert ("NK236" in found) == (heads % tensor != 0 or pipeline > layers)
        if data:
            assert ("NK235" in found) == (data % expert != 0 or experts % expert != 0)
        assert ("NK237" in found) == (pipeline <= layers and layers % pipeline != 0)

    @settings(max_examples=40, deadline=None)
    @given(tensor=st.integers(1, 40), heads=st.integers(1, 256))
    def test_a_degree_that_is_offered_instead_is_accepted(self, tensor: int, heads: int) -> None:
        assume(heads % tensor)
        fix = findings({**degrees(tensor=tensor), **model(attention_heads=heads)})["NK236"].fix
        for offered in map(int, re.findall(r"\d+", fix)):
            again = findings({**degrees(tensor=offered), **model(attention_heads=heads)})
            assert {"NK232", "NK236", "NK239"} & set(again) == set()


class TestMemory:
    @staticmethod
    def job(billions: float, precision: Any = "bf16", **parallelism: int) -> Job:
        return Job(
            cluster="train", framework="jax", source="x", command=("x",), time_limit_minutes=1, precision=precision,
            model=ModelShape(parameters_billions=billions), parallelism=Parallelism(**parallelism),
        )  # fmt: skip

    def test_numbers(self) -> None:
        memory = estimate_memory(self.job(8, tensor=8, pipeline=2), 128, 16)
        assert memory is not None
        assert memory.weights == pytest.approx(8e9 * 2 / 1024**3)
        assert memory.state == pytest.approx(4 * memory.weights)
        assert memory.state_per_core == pytest.approx(memory.state / 16)
        assert memory.state_per_core_sharded == pytest.approx(memory.state / 128)
        assert memory.memory == 128 * 16

    @pytest.mark.parametrize(("precision", "bytes_"), [("fp32", 4), ("bf16", 2), ("fp16", 2), ("fp8", 1)])
    def test_precision_decides_the_weights(self, precision: str, bytes_: int) -> None:
        memory = estimate_memory(self.job(1, precision), 2, 16)
        assert memory is not None
        assert memory.weights == pytest.approx(1e9 * bytes_ / 1024**3)
        assert memory.state >= 4 * 1e9 * 2 / 1024**3 - 1e-9  # nothing says that training keeps 8-bit weights

    @given(
        billions=st.floats(0.01, 2000),
        tensor=st.integers(1, 64),
        pipeline=st.integers(1, 16),
        data=st.integers(1, 64),
    )
    def test_more_cores_never_need_more_each(
        self, billions: float, tensor: int, pipeline: int, data: int
    ) -> None:
        memory = estimate_memory(
            self.job(billions, tensor=tensor, pipeline=pipeline), tensor * pipeline * data, 24
        )
        assert memory is not None
        assert memory.state_per_core_sharded <= memory.state_per_core * (1 + 1e-9)
        assert memory.weights < memory.state

    def test_nothing_is_estimated_from_nothing(self) -> None:
        job = Job(cluster="train", framework="jax", source="x", command=("x",), time_limit_minutes=1)
        assert estimate_memory(job, 4, 24) is None
