"""node-bootstrap.sh and the package loader as programs: what they do is shown in tests/integration."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stacks.domain.render.batch import PackageLoader
from stacks.domain.render.engine import render
from stacks.domain.render.neuron_env import neuron_env
from stacks.domain.render.node_bootstrap import node_bootstrap
from tests.environments import plan_of

ULTRASERVERS: dict[str, Any] = {"clusters.train.instance_type": "trn2u.48xlarge", "clusters.train.nodes": 8}
GEN2: dict[str, Any] = {
    "clusters.train.instance_type": "trn3p.48xlarge",
    "clusters.train.shape": "trn3-gen2",
    "clusters.train.logical_core_size": 2,
    "clusters.train.nodes": 36,
}
VARIANTS: dict[str, dict[str, Any]] = {
    "one-process": {"clusters.train.instance_type": "trn1.2xlarge", "clusters.train.nodes": 1},
    "jax": {},
    "jax-several": {"jobs.smoke.processes_per_node": 4},
    "torch": {"jobs.smoke.framework": "torch-neuronx"},
    "ultraserver": ULTRASERVERS,
    "one member of an ultraserver": {
        **ULTRASERVERS,
        "jobs.smoke.nodes": 1,
        "jobs.smoke.ultraserver_nodes": 1,
    },
    "ultraserver-unknown-modes": GEN2,
    "with-data": {
        "jobs.smoke.data": "s3://corpora/it's",
        "jobs.smoke.command": ["python3", "-c", 'print("$HOME")\n'],
    },
}


def script(changes: dict[str, Any]) -> str:
    plan = plan_of(changes)
    return node_bootstrap(plan, plan.job("smoke"))


def test_the_scripts_are_clean_for_bash_and_shellcheck(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.sh" for name in VARIANTS]
    for file, changes in zip(files, VARIANTS.values(), strict=True):
        file.write_text(script(changes))
    environment, loader = tmp_path / "neuron.env", tmp_path / "loader.sh"
    plan = plan_of({"jobs.smoke.environment": {"A": "it's"}})
    environment.write_text(neuron_env(plan, plan.job("smoke")))
    loader.write_text(render(PackageLoader()))
    for file in (*files, environment, loader):
        subprocess.run(["bash", "-n", file], check=True)
    found = subprocess.run(
        [
            Path(sys.executable).with_name("shellcheck"),
            "--shell=bash",
            "--severity=style",
            *files,
            environment,
            loader,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout == ""


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({}, {"planned_nodes=4", "processes_per_node=1", "chips=16", "efa_devices=8", "sync_seconds=60"}),
        ({"jobs.smoke.nodes": 2, "jobs.smoke.sync_seconds": 5}, {"planned_nodes=2", "sync_seconds=5"}),
        (
            {"clusters.train.instance_type": "trn2.48xlarge", "jobs.smoke.framework": "torch-neuronx"},
            {"processes_per_node=64", "chips=16", "efa_devices=16"},
        ),
        (
            {"clusters.train.instance_type": "trn1.2xlarge", "clusters.train.nodes": 1},
            {"chips=1", "efa_devices=0"},
        ),
        ({"clusters.train.efa": "off"}, {"efa_devices=0"}),
    ],
)
def test_the_script_checks_the_node_against_the_plan(changes: dict[str, Any], lines: set[str]) -> None:
    assert lines - set(script(changes).splitlines()) == set()


def test_stopping_fits_into_what_ecs_allows() -> None:
    numbers = dict(
        line.split("=") for line in script({}).splitlines() if line.startswith(("stop_grace", "last_copy"))
    )
    grace, last_copy = int(numbers["stop_grace_seconds"]), int(numbers["last_copy_seconds"])
    agent_default, agent_on_our_nodes = 30, 120
    assert grace < agent_default
    assert grace + last_copy < agent_on_our_nodes


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (ULTRASERVERS, "--server-file server_id_4 --node-file node_id_4 --mode-file ultraserver_mode --nodes 4 --modes 1"),
        ({**ULTRASERVERS, "jobs.smoke.ultraserver_nodes": 2}, "--server-file server_id_2 --node-file node_id_2 --mode-file ultraserver_mode --nodes 2 --modes 3,2"),
        ({**ULTRASERVERS, "jobs.smoke.ultraserver_nodes": 1}, "--nodes 1 --modes 4"),
        (GEN2, "--server-file reservation_id --node-file node_id --mode-file ultraserver_mode --nodes 36"),
    ],
)  # fmt: skip
def test_a_node_reads_its_place_where_its_driver_says_it(changes: dict[str, Any], words: str) -> None:
    line = next(line for line in script(changes).splitlines() if 'ultraserver.py" read' in line)
    assert line.endswith(f" {words} \\")


def test_nodes_outside_of_ultraservers_look_for_none() -> None:
    assert "ULTRASERVER" not in script({}).upper()
