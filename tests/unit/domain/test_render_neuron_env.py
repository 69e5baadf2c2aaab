"""neuron.env, read by real bash."""

from __future__ import annotations

import dataclasses
import re
import subprocess
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stacks.domain.lock import Lock, LockedImage
from stacks.domain.render.neuron_env import neuron_env
from stacks.domain.software import removed_variables, runtime_variables
from tests.environments import plan_of

TRN1_ONE = {"clusters.train.instance_type": "trn1.2xlarge", "clusters.train.nodes": 1}
TRN2 = {"clusters.train.instance_type": "trn2.48xlarge"}
TORCH = {"jobs.smoke.framework": "torch-neuronx"}
LNC = {"NEURON_LOGICAL_NC_CONFIG", "NEURON_RT_VIRTUAL_CORE_SIZE"}
EFA = {"FI_PROVIDER", "FI_EFA_USE_DEVICE_RDMA"}
ALWAYS = {
    "NEURON_RT_EXEC_TIMEOUT",
    "NEURON_PROCESS_TAG",
    "NEURON_CC_FLAGS",
    "NEURON_COMPILE_CACHE_URL",
    "MALLOC_ARENA_MAX",
    "NEURON_RT_STOCHASTIC_ROUNDING_EN",
}


def text_of(changes: dict[str, Any], lock: Lock | None = None) -> str:
    plan = plan_of(changes, lock)
    return neuron_env(plan, plan.job("smoke"))


def variables(text: str) -> dict[str, str]:
    """What bash has after reading it, that it did not have before."""
    done = subprocess.run(
        ["bash", "-c", "set -euo pipefail; source /dev/stdin; env --null"],
        input=text.encode(),
        env={"PATH": "/usr/bin:/bin", "NEURONKIT_BUCKET": "bucket"},
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    pairs = dict(entry.split("=", 1) for entry in done.stdout.decode().split("\0") if entry)
    return {
        name: value
        for name, value in pairs.items()
        if name not in {"PATH", "NEURONKIT_BUCKET", "PWD", "SHLVL", "_"}
    }


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        (TRN1_ONE, ALWAYS),
        ({}, ALWAYS | EFA),
        (TRN2, ALWAYS | EFA | LNC),
        (TORCH, ALWAYS | EFA),
        (TRN2 | TORCH, ALWAYS | EFA | LNC),
        ({"clusters.train.efa": "off"}, ALWAYS),
        ({"jobs.smoke.precision": "fp32"}, (ALWAYS | EFA) - {"NEURON_RT_STOCHASTIC_ROUNDING_EN"}),
        ({"jobs.smoke.nodes": 1}, ALWAYS | EFA),
        ({"jobs.smoke.nodes": 1, "jobs.smoke.processes_per_node": 4}, ALWAYS | EFA),
    ],
)
def test_a_job_gets_what_is_right_for_its_type_and_framework(
    changes: dict[str, Any], names: set[str]
) -> None:
    assert set(variables(text_of(changes))) == names


@pytest.mark.parametrize(
    ("changes", "name", "value"),
    [
        (TRN2, "NEURON_LOGICAL_NC_CONFIG", "2"),
        (TRN2, "NEURON_RT_VIRTUAL_CORE_SIZE", "2"),
        (TRN2, "NEURON_CC_FLAGS", "--model-type=transformer --auto-cast=none --logical-nc-config=2"),
        (TRN2 | {"clusters.train.logical_core_size": 1}, "NEURON_LOGICAL_NC_CONFIG", "1"),
        ({}, "NEURON_COMPILE_CACHE_URL", "s3://bucket/compile-cache/sdk-2.32.0/trn1.32xlarge-lnc1"),
        (TORCH, "NEURON_COMPILE_CACHE_URL", "s3://bucket/compile-cache/sdk-2.30.0/trn1.32xlarge-lnc1"),
        ({}, "NEURON_PROCESS_TAG", "smoke"),
    ],
)
def test_values(changes: dict[str, Any], name: str, value: str) -> None:
    assert variables(text_of(changes))[name] == value


def test_the_file_does_not_grow_with_the_number_of_nodes() -> None:
    few, many = (text_of({"clusters.train.nodes": nodes, "jobs.smoke.nodes": nodes}) for nodes in (4, 31_250))
    assert few == many


def test_graphs_made_in_a_virtual_environment_are_kept_by_the_ami_that_it_is_part_of() -> None:
    slurm = {
        "clusters.train.scheduler": "slurm",
        "clusters.train.slurm": {"shared_storage": {"kind": "efs"}, "ami": "ami-0123456789abcdef0"},
    }
    cache = "s3://bucket/compile-cache/ami-0123456789abcdef0/trn1.32xlarge-lnc1"
    assert variables(text_of(slurm))["NEURON_COMPILE_CACHE_URL"] == cache
    slurm["clusters.train.slurm"] = {"shared_storage": {"kind": "efs"}, "runs_in": "apptainer"}
    cache = "s3://bucket/compile-cache/sdk-2.32.0/trn1.32xlarge-lnc1"
    assert variables(text_of(slurm))["NEURON_COMPILE_CACHE_URL"] == cache


def test_graphs_of_an_image_that_nobody_knows_are_kept_by_its_digest() -> None:
    image = "registry.example.com/team/train:7"
    own = {"software.images": {"jax": image}}
    lock = Lock(
        resolved_by="aws", region="us-east-2", images={image: LockedImage(digest="sha256:" + "ab" * 32)}
    )
    assert "/compile-cache/image-abababababab/" in variables(text_of(own, lock))["NEURON_COMPILE_CACHE_URL"]
    assert "/compile-cache/sdk-unknown/" in variables(text_of(own))["NEURON_COMPILE_CACHE_URL"]


@pytest.mark.parametrize("changes", [TRN1_ONE, {}, TRN2, TORCH, TRN2 | TORCH])
def test_each_variable_is_documented_and_not_removed(changes: dict[str, Any]) -> None:
    """Field lesson P-53: samples still set what the SDK no longer knows."""
    known = {variable.name: variable for variable in runtime_variables()}
    removed = {variable.name for variable in removed_variables("2.32.0")}
    names = set(re.findall(r"^export (\w+)=", text_of(changes), re.MULTILINE))
    assert "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS" in removed
    assert [
        name for name in names if name not in known or known[name].state != "current" or name in removed
    ] == []


def test_the_jobs_own_variables_win() -> None:
    own = {"NEURON_RT_EXEC_TIMEOUT": "30", "XLA_FLAGS": "--a --b"}
    found = variables(text_of({"jobs.smoke.environment": own}))
    assert {name: found[name] for name in own} == own


NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True).map(lambda name: f"MY_{name}")
VALUES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60)


@given(st.dictionaries(NAMES, VALUES, max_size=3))
@settings(max_examples=60, deadline=None)
def test_the_jobs_own_variables_arrive_as_they_are(own: dict[str, str]) -> None:
    found = variables(text_with(own))
    assert {name: found.get(name) for name in own} == own


def text_with(own: dict[str, str]) -> str:
    plan = plan_of()
    job = plan.job("smoke")
    return neuron_env(plan, dataclasses.replace(job, environment=tuple(sorted(own.items()))))


@pytest.mark.parametrize(
    "value", ["it's", 'say "hi"', "$HOME", "`id`", "$(id)", "a\nb", "a\\b", "", " ", "!x", "ü€"]
)
def test_awkward_values(value: str) -> None:
    assert variables(text_with({"MINE": value}))["MINE"] == value
