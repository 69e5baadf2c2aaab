"""NEURON_PJRT_PROCESSES_NUM_DEVICES: made where the job runs, so that no file grows with the number of nodes."""

from __future__ import annotations

import re
import subprocess
from typing import Any

import pytest

from stacks.domain.render.node_bootstrap import node_bootstrap
from tests.environments import plan_of

TRN2 = {"clusters.train.instance_type": "trn2.48xlarge"}
NAME = "NEURON_PJRT_PROCESSES_NUM_DEVICES"


def script(changes: dict[str, Any]) -> str:
    plan = plan_of(changes)
    return node_bootstrap(plan, plan.job("smoke"))


def devices(changes: dict[str, Any]) -> str:
    plan = plan_of(changes)
    found = re.search(
        r"^set_distributed_variables\(\) \{\n.*?^\}$", script(changes), re.DOTALL | re.MULTILINE
    )
    assert found is not None
    line = f'{found[0]}\nset_distributed_variables\nprintf %s "${{{NAME}:-}}"'
    environment = {"NEURONKIT_PROCESSES": str(plan.job("smoke").processes), "NEURONKIT_MAIN_ADDRESS": "a"}
    answer = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", line], env=environment, capture_output=True, text=True, check=True
    )
    return answer.stdout


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        (TRN2, "64,64,64,64"),
        (TRN2 | {"clusters.train.logical_core_size": 1}, "128,128,128,128"),
        ({"jobs.smoke.nodes": 2}, "32,32"),
        ({"jobs.smoke.nodes": 2, "jobs.smoke.processes_per_node": 2}, "16,16,16,16"),
        ({"jobs.smoke.nodes": 1, "jobs.smoke.processes_per_node": 4}, "8,8,8,8"),
        ({"jobs.smoke.nodes": 1}, ""),
        ({"jobs.smoke.framework": "torch-neuronx"}, ""),
        ({"clusters.train.nodes": 31_250}, ",".join(["32"] * 31_250)),
    ],
)
def test_each_process_has_its_number_of_logical_cores(changes: dict[str, Any], value: str) -> None:
    assert devices(changes) == value


def test_the_bootstrap_does_not_grow_with_the_number_of_nodes() -> None:
    few, many = (
        script({"clusters.train.nodes": nodes, "jobs.smoke.nodes": nodes}) for nodes in (10_000, 31_250)
    )
    assert len(few) == len(many)
