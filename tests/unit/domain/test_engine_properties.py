"""Whatever a file combines: rules answer, and what they let pass can be rendered and keeps what must hold."""

from __future__ import annotations

import shlex
from itertools import combinations
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stacks.domain.catalog import load_catalog
from stacks.domain.findings import has_errors
from stacks.domain.plan import Plan
from stacks.domain.render.engines import engine_container
from stacks.domain.rendered_fleets import fleet_containers
from stacks.domain.rules import run_rules
from tests.environments import changed, loaded, plan_of
from tests.unit.domain.fleet_cases import BERT, LLAMA, fleet

TYPES = ("inf1.6xlarge", "inf2.xlarge", "inf2.8xlarge", "inf2.24xlarge", "inf2.48xlarge", "trn1.2xlarge", "trn1.32xlarge", "trn2.3xlarge", "trn2.48xlarge", "p5.48xlarge", "no.such")  # fmt: skip
ENGINES = ("vllm-neuron", "vllm-nxdi", "encoder", "custom")
WORDS = ("--additional-config", "{}", '{"neuron_config": {"kv_segment_size_buckets": [512]}}', "--device", "it's", "$x", "-pp")  # fmt: skip


def fleets() -> st.SearchStrategy[dict[str, Any]]:
    numbers = st.lists(st.sampled_from([1, 2, 7, 8, 128, 512, 4096]), max_size=3)
    return st.fixed_dictionaries(
        {
            "instance_type": st.sampled_from(TYPES),
            "engine": st.sampled_from(ENGINES),
            "model": st.sampled_from([LLAMA, BERT, {**LLAMA, "family": "gpt-oss"}]),
            "tensor_parallel": st.sampled_from([1, 2, 3, 4, 8, 12, 24, 32, 64, 144]),
            "sequences": st.sampled_from([1, 8, 1024]),
            "token_buckets": numbers,
            "sequence_buckets": numbers,
            "engine_arguments": st.lists(st.sampled_from(WORDS), max_size=3),
            "replicas": st.fixed_dictionaries(
                {"maximum": st.integers(1, 40), "per_node": st.sampled_from([None, 1, 3, 16])}
            ),
            "logical_core_size": st.sampled_from([None, 1, 2]),
            "artifacts": st.sampled_from(["efs", "none"]),
            "compile_on": st.sampled_from(["cpu", "neuron", "start"]),
            "command": st.sampled_from([[], ["serve", "it's"]]),
            "image": st.sampled_from([None, "registry.example.com/mine:1"]),
        }
    )


def likely_fleets() -> st.SearchStrategy[dict[str, Any]]:
    """Most of the others have errors: these seldom have."""
    return st.fixed_dictionaries(
        {
            "instance_type": st.sampled_from(["inf2.48xlarge", "trn2.48xlarge", "trn1.32xlarge"]),
            "engine": st.sampled_from(["vllm-nxdi", "encoder"]),
            "model": st.just({**LLAMA, "family": "xlm-roberta", "parameters_billions": 1}),
            "tensor_parallel": st.sampled_from([1, 2, 8]),
            "replicas": st.fixed_dictionaries({"maximum": st.integers(1, 40)}),
        }
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(fleets(), likely_fleets()))
def test_what_the_rules_let_pass_can_be_rendered(found: dict[str, Any]) -> None:
    changes = fleet(**found)
    findings = run_rules(loaded(changed(changes), Path()), load_catalog(), None)
    if has_errors(findings):
        assert all(f.message and f.path for f in findings)
        return
    plan = plan_of(changes)
    for _, container in fleet_containers(plan, plan.fleet("chat")):
        assert shlex.split(container.command[0], comments=True)
        assert len(dict(container.environment)) == len(container.environment)
    _slices_share_nothing(plan)


def _slices_share_nothing(plan: Plan) -> None:
    found = plan.fleet("chat")
    containers = [engine_container(plan, found, place) for place in found.slices]
    for one, other in combinations(containers, 2):
        assert not set(one.devices) & set(other.devices)
        assert not _cores(one.environment) & _cores(other.environment)
        assert one.port != other.port


def _cores(environment: tuple[tuple[str, str], ...]) -> set[int]:
    first, _, last = dict(environment)["NEURON_RT_VISIBLE_CORES"].partition("-")
    return set(range(int(first), int(last or first) + 1))


def _fix(changes: dict[str, Any], rule: str) -> str:
    return next(
        f.fix for f in run_rules(loaded(changed(changes), Path()), load_catalog(), None) if f.id == rule
    )


def test_what_a_fix_names_has_the_memory() -> None:
    large = {**LLAMA, "parameters_billions": 70, "attention_heads": 64, "layers": 80}
    words = _fix(fleet(model=large), "NK762")
    name, degree = words.split()[1], int(words.split()[4].rstrip(";"))
    mended = fleet(model=large, instance_type=name, tensor_parallel=degree)
    assert "NK762" not in {f.id for f in run_rules(loaded(changed(mended), Path()), load_catalog(), None)}
    assert (
        _fix(
            fleet(
                instance_type="inf2.48xlarge", tensor_parallel=1, model={**LLAMA, "parameters_billions": 30}
            ),
            "NK762",
        )
        == "write 8"
    )
