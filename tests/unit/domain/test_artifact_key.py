"""A key of compiled graphs changes with all that changes them, and with nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.domain.render.artifact_key import artifact_key
from stacks.domain.render.engines import fleet_ingredients
from tests.environments import plan_of
from tests.unit.domain.fleet_cases import LLAMA, VLLM, encoder, fleet, large, trn2

OTHER = {**LLAMA, "source": "bucket:models/other"}
HF = {**LLAMA, "source": "hf:meta-llama/Llama-3.1-8B"}


def key(changes: dict[str, Any]) -> str:
    return artifact_key(fleet_ingredients(plan_of(changes).fleet("chat")))


CHANGES = {
    "engine": trn2(engine="vllm-nxdi"),
    "image": trn2(image=f"{VLLM}:0.29.0.1.2.0-neuronx-py314-sdk2.33.0-ubuntu26.04"),
    "type": trn2(instance_type="trn2u.48xlarge"),
    "logical core size": trn2(logical_core_size=1),
    "model": trn2(model=OTHER),
    "degree": trn2(tensor_parallel=16),
    "context": trn2(context_tokens=8192),
    "sequences": trn2(sequences=4),
    "batched tokens": trn2(batched_tokens=2048),
    "token buckets": trn2(token_buckets=[512]),
    "sequence buckets": trn2(sequence_buckets=[1, 8]),
    "arguments": trn2(engine_arguments=["--hf-overrides", "{}"]),
    "variables": trn2(environment={"NEURON_CC_FLAGS": "-O1"}),
}
UNCHANGED = {
    "weights": (trn2(model={**HF, "revision": "a"}), trn2(model={**HF, "revision": "b"})),
    "name": (trn2(), trn2(model={**LLAMA, "name": "another"})),
    "replicas": (trn2(), trn2(replicas={"maximum": 8})),
    "times": (trn2(), trn2(longest_request_seconds=900)),
    "scaling": (large(), large(scaling={"waiting_per_replica": 5})),
}


@pytest.mark.parametrize("what", CHANGES)
def test_an_ingredient_changes_it(what: str) -> None:
    assert key(CHANGES[what]) != key(trn2())


def test_every_ingredient_has_a_name_of_its_own() -> None:
    assert len({key(changes) for changes in CHANGES.values()}) == len(CHANGES)


@pytest.mark.parametrize("what", UNCHANGED)
def test_what_is_not_compiled_does_not_change_it(what: str) -> None:
    one, other = UNCHANGED[what]
    assert key(one) == key(other)


@pytest.mark.parametrize("make", [fleet, encoder])
def test_weights_change_it_where_they_are_compiled_in(make: Any) -> None:
    assert key(make(model={**HF, "revision": "a"})) != key(make(model={**HF, "revision": "b"}))


VALUES = st.one_of(
    st.none(), st.integers(0, 999), st.text(max_size=9), st.lists(st.integers(0, 9), max_size=3)
)
NAMES = ("engine", "sdk", "instance_type", "logical_core_size", "tensor_parallel", "model", "arguments")
INGREDIENTS = st.fixed_dictionaries(dict.fromkeys(NAMES, VALUES))


@given(INGREDIENTS, st.sampled_from(NAMES), VALUES)
def test_any_change_of_any_ingredient_changes_it(found: dict[str, Any], name: str, value: Any) -> None:
    changed = {**found, name: value}
    assert (artifact_key(changed) == artifact_key(found)) == (changed == found)


@given(INGREDIENTS)
def test_it_is_a_directory_name_whatever_the_order(found: dict[str, Any]) -> None:
    name = artifact_key(found)
    assert artifact_key(dict(reversed(found.items()))) == name
    assert "/" not in name
    assert name not in ("", ".", "..")
