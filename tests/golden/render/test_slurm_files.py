"""A Slurm job's script and bootstrap as they are; what they must say is asserted in tests/unit/domain/test_render_slurm."""

from __future__ import annotations

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from stacks.domain.plan import Plan
from stacks.domain.render.node_bootstrap import node_bootstrap
from stacks.domain.render.slurm import job_script
from stacks.domain.rendered_files import placeholder_outputs
from tests.environments import plan_of

PACKAGE_SHA256 = "0123456789abcdef" * 4
SLURM: dict[str, Any] = {
    "clusters.train.scheduler": "slurm",
    "clusters.train.slurm": {"shared_storage": {"kind": "efs"}},
}
CASES: dict[str, dict[str, Any]] = {
    "jax": SLURM,
    "torch-everything": {
        **SLURM,
        "clusters.train.slurm": {
            "shared_storage": {"kind": "lustre", "capacity_gib": 1200, "mount_point": "/fsx"},
            "runs_in": "apptainer",
        },
        "jobs.smoke.framework": "torch-neuronx",
        "jobs.smoke.attempts": 3,
        "jobs.smoke.compile_command": ["neuron_parallel_compile", "python3", "train.py"],
        "jobs.smoke.secrets": {
            "HF_TOKEN": "arn:aws:secretsmanager:us-east-2:111122223333:secret:token-AbCdEf:key::",
            "OTHER": "arn:aws:ssm:us-east-2:111122223333:parameter/team/other",
        },
    },
    "ultraservers": {
        **SLURM,
        "clusters.train.instance_type": "trn2u.48xlarge",
        "clusters.train.nodes": 8,
        "jobs.smoke.nodes": 4,
    },
}
each_case = pytest.mark.parametrize("case", CASES)


class SbatchFile(SingleFileSnapshotExtension):
    _write_mode = WriteMode.TEXT
    file_extension = "sbatch"


class ShellFile(SbatchFile):
    file_extension = "sh"


def plan(case: str) -> Plan:
    return plan_of(CASES[case])


@each_case
def test_job_script(case: str, snapshot: SnapshotAssertion) -> None:
    bucket = placeholder_outputs(plan(case), "train").bucket
    text = job_script(plan(case), plan(case).job("smoke"), PACKAGE_SHA256, bucket)
    assert text == snapshot(extension_class=SbatchFile)


@each_case
def test_node_bootstrap(case: str, snapshot: SnapshotAssertion) -> None:
    text = node_bootstrap(plan(case), plan(case).job("smoke"))
    assert text == snapshot(extension_class=ShellFile)
