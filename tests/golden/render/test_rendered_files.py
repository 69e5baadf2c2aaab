"""Every runtime and job file as it is, in its own file type; what they must say is asserted in tests/unit/domain/test_render_*."""

from __future__ import annotations

import json
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from stacks.domain.plan import Plan
from stacks.domain.render.batch import Run, job_definition, submit_request
from stacks.domain.render.neuron_env import neuron_env
from stacks.domain.render.node_bootstrap import node_bootstrap
from stacks.domain.rendered_files import placeholder_outputs
from tests.environments import plan_of

PACKAGE_SHA256 = "0123456789abcdef" * 4
ROOT = "clusters.train"
EVERYTHING: dict[str, Any] = {
    f"{ROOT}.instance_type": "trn2.48xlarge",
    "jobs.smoke.framework": "torch-neuronx",
    "jobs.smoke.command": ["train.py", "--prompt", "it's $5"],
    "jobs.smoke.data": "s3://corpora/books",
    "jobs.smoke.environment": {"GREETING": 'say "hi"\nto $USER', "NEURON_RT_LOG_LEVEL": "INFO"},
    "jobs.smoke.secrets": {"HF_TOKEN": "arn:aws:secretsmanager:us-east-2:111122223333:secret:token-AbCdEf"},
    "jobs.smoke.attempts": 3,
    "jobs.smoke.sync_seconds": 30,
}
CASES: dict[str, dict[str, Any]] = {
    "jax-one-chip": {f"{ROOT}.instance_type": "trn1.2xlarge", f"{ROOT}.nodes": 1},
    "jax-four-nodes": {},
    "torch-everything": EVERYTHING,
    "ultraservers": {f"{ROOT}.instance_type": "trn2u.48xlarge", f"{ROOT}.nodes": 8},
}
each_case = pytest.mark.parametrize("case", CASES)


class ShellFile(SingleFileSnapshotExtension):
    _write_mode = WriteMode.TEXT
    file_extension = "sh"


class EnvFile(ShellFile):
    file_extension = "env"


class JsonFile(ShellFile):
    file_extension = "json"


def plan(case: str) -> Plan:
    return plan_of(CASES[case])


@each_case
def test_neuron_env(case: str, snapshot: SnapshotAssertion) -> None:
    text = neuron_env(plan(case), plan(case).job("smoke"))
    assert text == snapshot(extension_class=EnvFile)


@each_case
def test_node_bootstrap(case: str, snapshot: SnapshotAssertion) -> None:
    text = node_bootstrap(plan(case), plan(case).job("smoke"))
    assert text == snapshot(extension_class=ShellFile)


@each_case
def test_job_definition(case: str, snapshot: SnapshotAssertion) -> None:
    outputs = placeholder_outputs(plan(case), "train")
    request = job_definition(plan(case), plan(case).job("smoke"), PACKAGE_SHA256, outputs)
    assert json.dumps(request, indent=2) + "\n" == snapshot(extension_class=JsonFile)


def test_submit_job(snapshot: SnapshotAssertion) -> None:
    outputs = placeholder_outputs(plan("jax-four-nodes"), "train")
    run = Run("smoke-2", "s3://bucket/runs/smoke/smoke-1/checkpoints", 40)
    request = submit_request(
        plan("jax-four-nodes"), plan("jax-four-nodes").job("smoke"), run, "<definition>", outputs
    )
    assert json.dumps(request, indent=2) + "\n" == snapshot(extension_class=JsonFile)
