"""The matrix: every pair is decided or "not checked", refused pairs name what works, rows say from where and when."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.domain.catalog import load_catalog
from stacks.domain.compatibility import (
    hosts,
    nearest_amis,
    nearest_images,
    nearest_shared_images,
    nearest_tensor_degrees,
    pairs,
    precision_verdict,
    precisions,
    software_stacks,
    tensor_degrees,
    tensor_verdict,
)
from stacks.domain.rules import ALL_RULES, run_rules
from stacks.domain.rules.rule import Facts
from stacks.domain.selection import select
from stacks.domain.software import driver_verdict, ecs_neuron_amis, find_image, images, sdks
from tests.environments import changed, loaded

TORCH_JOB = {
    "cluster": "train", "framework": "torch-neuronx", "source": "neuronkit:smoke", "command": ["x"], "time_limit_minutes": 30,
}  # fmt: skip


def ami_of(driver: str) -> str:
    return next(ami.ssm_parameter for ami in ecs_neuron_amis() if ami.driver == driver)


def fixes(changes: dict[str, Any], rule_id: str, directory: Path) -> list[str]:
    findings = run_rules(loaded(changed(changes), directory), load_catalog())
    return [f.fix for f in findings if f.id == rule_id]


class TestPairs:
    def test_every_image_meets_every_driver_and_is_decided_or_says_why_not(self) -> None:
        drivers = {ami.driver for ami in ecs_neuron_amis() if ami.driver}
        assert {(p.image.uri, p.driver) for p in pairs()} == {(i.uri, d) for i in images() for d in drivers}
        assert all(pair.verdict.why for pair in pairs())

    @pytest.mark.parametrize("ami", ecs_neuron_amis(), ids=lambda ami: ami.date)
    def test_an_ami_date_without_a_known_driver_is_never_fine(self, ami: Any) -> None:
        for image in images():
            verdict = driver_verdict(ami.driver, image.runtime)
            if ami.driver is None or image.runtime is None:
                assert verdict.accepted is None
                assert "not known" in verdict.why

    def test_the_pair_that_breaks_the_last_pytorch_image_is_refused(self) -> None:
        """P-42: runtime 2.32 on a driver of 2.26 or older, and on 2.29 or newer."""
        last = find_image(
            "public.ecr.aws/neuron/pytorch-training-neuronx:2.9.0-neuronx-py312-sdk2.30.0-ubuntu24.04"
        )
        assert last is not None
        accepted = {pair.driver: pair.verdict.accepted for pair in pairs([last])}
        assert accepted == {"2.21": False, "2.25": False, "2.26": False, "2.27": None, "2.28": True, "2.29": False, "2.30": False}  # fmt: skip

    def test_an_image_that_no_longer_exists_is_not_in_the_table(self) -> None:
        """P-43: training images of PyTorch end with SDK 2.30, NxD Inference's with 2.31.1."""
        newest = {f: max(i.sdk for i in images() if i.framework == f) for f in ("torch-neuronx", "vllm-nxdi")}
        assert newest == {"torch-neuronx": "2.31.1", "vllm-nxdi": "2.31.1"}
        assert nearest_images("torch-neuronx", "trn1")[0].sdk == "2.30.0"
        assert not any("inf2" in i.families for i in images() if i.framework == "vllm-neuron")


class TestNearest:
    def test_the_ami_nearest_in_date(self) -> None:
        image = nearest_images("torch-neuronx", "trn1")[0]
        assert nearest_amis(image, "20260901")[0].driver == "2.28"
        assert nearest_amis(image, "20260901")[0].date == "20260701"
        assert nearest_amis(image)[0].date == "20260701"

    def test_two_frameworks_share_an_sdk(self) -> None:
        assert {image.sdk for image in nearest_shared_images(["jax", "torch-neuronx"], "trn1")} == {"2.28.0"}
        assert nearest_shared_images(["jax"], "inf1") == ()

    @pytest.mark.parametrize(
        ("changes", "rule_id", "words"),
        [
            ({"jobs.smoke.framework": "torch-neuronx", "software.sdk": "2.32.0"}, "NK240", "torch-neuronx with SDK 2.30.0 or 2.28.0"),
            ({"clusters.train.instance_type": "inf1.24xlarge", "clusters.train.nodes": 1}, "NK240", "no training image"),
            ({"jobs.torch": TORCH_JOB}, "NK241", "software.sdk 2.28.0"),
            ({"jobs": {"torch": TORCH_JOB}, "software.ami": ami_of("2.30")}, "NK242", "with driver 2.28"),
            (
                {"software.images": {"jax": "public.ecr.aws/neuron/pytorch-inference-vllm-neuronx:0.24.0.1.1.0-neuronx-py313-sdk2.32.0-ubuntu24.04"}},
                "NK243",
                "jax with SDK 2.32.0",
            ),
        ],
    )  # fmt: skip
    def test_a_refusal_names_the_nearest_pair(
        self, changes: dict[str, Any], rule_id: str, words: str, tmp_path: Path
    ) -> None:
        (fix,) = fixes(changes, rule_id, tmp_path)
        assert words in fix

    def test_the_nearest_shared_sdk_is_accepted_when_written(self, tmp_path: Path) -> None:
        changes = {"jobs.torch": TORCH_JOB, "software.sdk": "2.28.0"}
        assert [id_ for id_ in ("NK240", "NK241", "NK242", "NK243") if fixes(changes, id_, tmp_path)] == []


class TestNotChecked:
    @staticmethod
    def of(rule_id: str, changes: dict[str, Any]) -> list[str]:
        environment = loaded(changed(changes)).environment
        facts = Facts(environment, load_catalog(), select(environment, load_catalog()), Path())
        rule = next(rule for rule in ALL_RULES if rule.id == rule_id)
        return [item.why for item in rule.not_checked(facts)]

    @pytest.mark.parametrize(
        ("changes", "why"),
        [
            ({"software.ami": "ami-0123456789abcdef0"}, "version of the driver is not known"),
            (
                {"software.images": {"jax": "registry.example.com/a/jax:1"}},
                "version of the runtime is not known",
            ),
            ({"software.ami": ami_of("2.29")}, "older than 2.30.2.0"),
        ],
    )
    def test_an_unknown_pair(self, changes: dict[str, Any], why: str) -> None:
        (found,) = self.of("NK242", changes)
        assert "job smoke" in found
        assert why in found

    def test_a_known_pair_is_checked(self) -> None:
        assert self.of("NK242", {}) == []
        assert self.of("NK242", {"jobs": {"torch": TORCH_JOB}, "software.ami": ami_of("2.30")}) == []

    def test_a_tensor_degree_that_no_source_shows(self) -> None:
        assert "16" in self.of("NK239", {"clusters.train.instance_type": "trn2.48xlarge", "jobs.smoke.parallelism": {"tensor": 16}})[0]  # fmt: skip
        assert self.of("NK239", {"jobs.smoke.parallelism": {"tensor": 16}}) == []


class TestDegreesAndPrecisions:
    @pytest.mark.parametrize("degree", [1, 2, 8, 16, 32, 64, 96, 512])
    def test_what_the_runtime_named_on_trn1(self, degree: int) -> None:
        assert tensor_verdict("trainium1", 1, degree).accepted is True

    @pytest.mark.parametrize("degree", [3, 4, 6, 12, 24, 48])
    def test_what_it_did_not(self, degree: int) -> None:
        verdict = tensor_verdict("trainium1", 1, degree)
        assert verdict.accepted is False
        assert "2024-06-01" in verdict.why

    @given(st.integers(1, 4096), st.lists(st.integers(1, 4096), max_size=20))
    def test_the_nearest_degrees_are_of_the_fitting_ones_and_not_refused(
        self, degree: int, fitting: list[int]
    ) -> None:
        near = nearest_tensor_degrees("trainium1", 1, degree, fitting)
        assert set(near) <= set(fitting) - {degree}
        assert all(tensor_verdict("trainium1", 1, d).accepted for d in near)
        legal = [d for d in fitting if tensor_verdict("trainium1", 1, d).accepted and d != degree]
        assert bool(near) == bool(legal)

    def test_precisions(self) -> None:
        assert precision_verdict("v1", "fp8").accepted is False
        assert precision_verdict("v2", "fp8").accepted is True
        assert precision_verdict("v4", "fp16").accepted is None
        assert precision_verdict(None, "bf16").accepted is None


class TestRows:
    def test_every_row_has_a_source_and_a_date(self) -> None:
        for row in (*software_stacks(), *hosts(), *tensor_degrees(), *precisions()):
            assert row.source
            assert re.fullmatch(r"20\d\d(-\d\d){0,2}", row.as_of)

    def test_stacks_name_families_and_sdks_that_the_data_knows(self) -> None:
        known = {t.family for t in load_catalog().instance_types.values()} | {"trn3"}
        assert set().union(*(stack.families for stack in software_stacks())) <= known
        lines = {s.version.rpartition(".")[0] for s in sdks()}
        bounds = {b.rpartition(".")[0] for s in software_stacks() for b in (s.sdk_min, s.sdk_max) if b}
        assert bounds <= lines

    def test_every_image_belongs_to_a_stack(self) -> None:
        """With an SDK inside the stack's bounds and no family outside of it."""

        def numbers(version: str) -> list[int]:
            return [int(part) for part in version.split(".")]

        for image in images():
            fitting = [
                stack
                for stack in software_stacks()
                if stack.framework == image.framework
                and stack.purpose == image.purpose
                and (stack.sdk_min is None or numbers(stack.sdk_min) <= numbers(image.sdk))
                and (stack.sdk_max is None or numbers(image.sdk) <= numbers(stack.sdk_max))
                and stack.families & image.families
            ]
            assert fitting, image.tag
