"""The Slurm job script: what it asks Slurm for, that it is clean for every checker, and that it does not grow."""

from __future__ import annotations

import dataclasses
import difflib
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from scripts.cli import run as neuronkit
from stacks.domain.errors import InputError
from stacks.domain.plan import Plan
from stacks.domain.render.batch import Run
from stacks.domain.render.slurm import job_script, run_directory, submit_arguments
from tests.environments import plan_of

EFS = {"shared_storage": {"kind": "efs"}}
SLURM: dict[str, Any] = {"clusters.train.scheduler": "slurm", "clusters.train.slurm": EFS}
ULTRASERVERS: dict[str, Any] = {
    **SLURM,
    "clusters.train.instance_type": "trn2u.48xlarge",
    "clusters.train.nodes": 16,
    "jobs.smoke.nodes": 4,
}
VARIANTS: dict[str, dict[str, Any]] = {
    "jax": SLURM,
    "one-chip": {**SLURM, "clusters.train.instance_type": "trn1.2xlarge", "clusters.train.nodes": 1},
    "torch": {**SLURM, "jobs.smoke.framework": "torch-neuronx", "jobs.smoke.attempts": 3},
    "ultraservers": ULTRASERVERS,
    "apptainer": {**ULTRASERVERS, "clusters.train.slurm": {**EFS, "runs_in": "apptainer"}},
    "apptainer-ecr": {
        **SLURM,
        "clusters.train.slurm": {**EFS, "runs_in": "apptainer"},
        "software.images": {"jax": "111122223333.dkr.ecr.us-east-2.amazonaws.com/team/train:7"},
    },
    "pyxis": {**SLURM, "clusters.train.slurm": {**EFS, "runs_in": "pyxis"}},
    "lustre": {
        **SLURM,
        "clusters.train.slurm": {
            "shared_storage": {"kind": "lustre", "mount_point": "/fsx"},
            "minimum_nodes": 4,
        },
    },
}


def script_of(plan: Plan) -> str:
    return job_script(plan, plan.job("smoke"), "0" * 64, "bucket")


def script(changes: dict[str, Any]) -> str:
    return script_of(plan_of(changes))


def options(changes: dict[str, Any]) -> dict[str, str]:
    """Of the #SBATCH lines; an option without a value has ""."""
    return dict(re.findall(r"^#SBATCH --([a-z-]+)=?(.*)$", script(changes), re.MULTILINE))


@pytest.mark.parametrize("variant", VARIANTS)
def test_bash_shellcheck_and_our_own_lint_find_nothing(
    variant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "job.sbatch"
    file.write_text(script(VARIANTS[variant]))
    subprocess.run(["bash", "-n", file], check=True)
    shellcheck = Path(sys.executable).with_name("shellcheck")
    found = subprocess.run(
        [shellcheck, "--shell=bash", "--severity=style", file], capture_output=True, text=True, check=False
    )
    assert found.stdout == ""
    assert neuronkit(["lint", str(file)]) == 0
    assert "0 errors, 0 warnings" in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            SLURM,
            {
                "partition": "train",
                "nodes": "4",
                "ntasks-per-node": "1",
                "cpus-per-task": "64",
                "gres": "neuron:16",
                "exclusive": "",
                "mem": "0",
                "time": "30",
                "signal": "B:USR1@270",
                "no-requeue": "",
                "wait-all-nodes": "1",
            },
        ),
        ({**SLURM, "jobs.smoke.attempts": 2}, {"requeue": ""}),
        ({**SLURM, "jobs.smoke.time_limit_minutes": 1}, {"time": "1", "signal": "B:USR1@1"}),
        ({**SLURM, "jobs.smoke.time_limit_minutes": 2}, {"time": "2", "signal": "B:USR1@30"}),
        ({**SLURM, "jobs.smoke.time_limit_minutes": 4}, {"time": "4", "signal": "B:USR1@90"}),
        ({**SLURM, "jobs.smoke.time_limit_minutes": 10}, {"signal": "B:USR1@270"}),
        (ULTRASERVERS, {"constraint": '"[us0|us1|us2|us3]"', "cpus-per-task": "96"}),
        (
            {**ULTRASERVERS, "jobs.smoke.nodes": 2, "jobs.smoke.ultraserver_nodes": 2},
            {"constraint": '"[us0|us1|us2|us3]"'},
        ),
        ({**ULTRASERVERS, "jobs.smoke.nodes": 8}, {"constraint": '"[us0*4&us1*4]"'}),
    ],
)
def test_what_slurm_is_asked_for(changes: dict[str, Any], expected: dict[str, str]) -> None:
    assert expected.items() <= options(changes).items()


@pytest.mark.parametrize(
    ("changes", "absent"),
    [
        (VARIANTS["lustre"], "wait-all-nodes"),
        ({**SLURM, "clusters.train.slurm": {**EFS, "gres": 0}}, "gres"),
        ({**SLURM, "clusters.train.slurm": {**EFS, "node_settings": {"CpuSpecList": "0"}}}, "cpus-per-task"),
        ({**ULTRASERVERS, "jobs.smoke.nodes": 16}, "constraint"),
        (SLURM, "constraint"),
        (SLURM, "requeue"),
    ],
)
def test_what_slurm_is_not_asked_for(changes: dict[str, Any], absent: str) -> None:
    assert absent not in options(changes)


def test_a_run_is_named_and_logged_in_its_directory() -> None:
    plan = plan_of({**SLURM, "jobs.smoke.attempts": 2})
    job = plan.job("smoke")
    directory = "/shared/neuronkit/pilot/runs/smoke/smoke-2"
    assert run_directory(plan, job, "smoke-2") == directory
    run = Run("smoke-2", "s3://bucket/runs/smoke/smoke-1/checkpoints", 40)
    before, after = submit_arguments(plan, job, run)
    assert before == ("--job-name=smoke-2", f"--output={directory}/job.log")
    assert after == ("smoke-2", "s3://bucket/runs/smoke/smoke-1/checkpoints", "40")


def test_what_is_rendered_for_pcs_differs_from_what_the_tests_ran_by_two_lines() -> None:
    """AWS PCS has Slurm 25.11, the tests run 22.05: the programs' directory, and a quicker restart after a lost node."""
    plan = plan_of({**ULTRASERVERS, "jobs.smoke.attempts": 2})
    cluster = plan.clusters[0]
    assert cluster.slurm is not None
    old = dataclasses.replace(
        plan,
        clusters=(dataclasses.replace(cluster, slurm=dataclasses.replace(cluster.slurm, version="22.05")),),
    )
    lines = difflib.unified_diff(script_of(plan).splitlines(), script_of(old).splitlines(), n=0, lineterm="")
    assert [line for line in lines if re.match(r"[-+] ", line)] == [
        "-  local programs=/opt/aws/pcs/scheduler/slurm-25.11/bin",
        "+  local programs=/opt/aws/pcs/scheduler/slurm-22.05/bin",
    ]
    job, run = plan.job("smoke"), Run("smoke-1")
    on_pcs, here = (submit_arguments(plan, job, run, version) for version in ("25.11", "22.05"))
    assert set(on_pcs[0]) - set(here[0]) == {"--requeue=expedite"}
    assert here == submit_arguments(plan, job, run)


@pytest.mark.parametrize("base", [SLURM, ULTRASERVERS])
def test_the_script_does_not_grow_with_the_number_of_nodes(base: dict[str, Any]) -> None:
    def measured(nodes: int) -> tuple[int, float]:
        plan = plan_of({**base, "clusters.train.nodes": nodes, "jobs.smoke.nodes": nodes})
        script_of(plan)
        started = time.perf_counter()
        return len(script_of(plan)), time.perf_counter() - started

    (few_size, few_seconds), (many_size, many_seconds) = measured(4), measured(31_248)
    assert many_size - few_size == len("31248") - len("4")
    assert many_seconds < 0.05 + 5 * few_seconds


def test_a_registry_that_wants_a_login_gets_it_from_the_environment() -> None:
    text = script(VARIANTS["apptainer-ecr"])
    assert "APPTAINER_DOCKER_PASSWORD=$(aws ecr get-login-password)" in text
    assert "get-login-password" not in script(VARIANTS["apptainer"])


def test_pyxis_gets_the_image_by_registry_and_every_device() -> None:
    text = script(VARIANTS["pyxis"])
    assert "--container-image=public.ecr.aws#neuron/jax-training-neuronx:" in text
    mounts = re.search(r"--container-mounts=(\S+)", text)
    assert mounts is not None
    paths = [pair.partition(":")[0] for pair in mounts[1].strip("'").split(",")]
    assert paths == [
        "/shared",
        *(f"/dev/neuron{index}" for index in range(16)),
        *(f"/dev/infiniband/uverbs{index}" for index in range(8)),
    ]


def test_a_cluster_without_shared_storage_is_refused_with_words() -> None:
    plan = plan_of({"clusters.train.scheduler": "slurm"})
    with pytest.raises(InputError, match="no shared file system"):
        script_of(plan)
