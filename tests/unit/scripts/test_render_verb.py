"""neuronkit render"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from scripts.cli import run
from tests.environments import changed

TWO_JOBS = {
    "jobs.other": {
        "cluster": "train",
        "framework": "jax",
        "source": "neuronkit:smoke",
        "command": ["python3", "train.py"],
        "time_limit_minutes": 30,
    }
}
JOB_FILES = ["neuron.env", "node-bootstrap.sh", "multi-node-job-definition.json", "submit-job.json"]


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    file = tmp_path / "pilot.yaml"
    file.write_text(changed(TWO_JOBS))
    return file


def test_every_file_of_every_job_is_written_and_its_path_printed(
    environment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(["render", str(environment), "-o", str(out)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [Path(line).relative_to(out) for line in printed] == [
        *(Path("jobs", job, name) for job in ("smoke", "other") for name in JOB_FILES),
        Path("clusters/train/node-user-data.mime"),
    ]
    assert all(Path(line).is_file() for line in printed)
    assert os.access(out / "jobs/smoke/node-bootstrap.sh", os.X_OK)
    subprocess.run(["bash", "-n", out / "jobs/smoke/node-bootstrap.sh"], check=True)


def test_a_slurm_job_is_a_batch_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pilot.yaml"
    slurm = {"shared_storage": {"kind": "efs"}}
    file.write_text(changed({"clusters.train.scheduler": "slurm", "clusters.train.slurm": slurm}))
    out = tmp_path / "out"
    assert run(["render", str(file), "-o", str(out)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [str(Path(line).relative_to(out)) for line in printed] == [
        "jobs/smoke/neuron.env",
        "jobs/smoke/node-bootstrap.sh",
        "jobs/smoke/job.sbatch",
        "clusters/train/node-user-data.mime",
        "clusters/train/compute-node-setup.sh",
        "clusters/train/login-node-setup.sh",
    ]
    subprocess.run(["bash", "-n", out / "jobs/smoke/job.sbatch"], check=True)


def test_one_job_as_json(environment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(["--json", "render", str(environment), "--job", "other", "-o", str(out)]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert files == [str(out / "jobs/other" / name) for name in JOB_FILES] + [
        str(out / "clusters/train/node-user-data.mime")
    ]


def test_what_only_a_deploy_decides_is_a_placeholder(environment: Path, tmp_path: Path) -> None:
    run(["render", str(environment), "-o", str(tmp_path)])
    submission = (tmp_path / "jobs/smoke/submit-job.json").read_text()
    definition = json.loads((tmp_path / "jobs/smoke/multi-node-job-definition.json").read_text())
    container = definition["nodeProperties"]["nodeRangeProperties"][0]["container"]
    assert "<BucketName of stack pilot-storage>" in submission
    assert "<JobQueueArn of stack pilot-cluster-train>" in submission
    assert container["jobRoleArn"] == "<JobRoleArn of stack pilot-cluster-train>"


def test_rendering_twice_gives_the_same_bytes(environment: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        run(["render", str(environment), "-o", str(tmp_path / name)])
    first, second = (
        {f.relative_to(tmp_path / n): f.read_bytes() for f in (tmp_path / n).rglob("*.*") if f.is_file()}
        for n in "ab"
    )
    assert first == second


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--job", "smok", "-o", "out"], ("no job is called smok", "did you mean smoke?")),
        (["--job", "xyz", "-o", "out"], ("no job is called xyz", "there is smoke or other")),
        (["-o", "pilot.yaml"], ("pilot.yaml/jobs/smoke", "cannot be written")),
        ([], ("Missing option '-o'",)),
    ],
)
def test_wrong_arguments(
    environment: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: tuple[str, ...],
) -> None:
    monkeypatch.chdir(environment.parent)
    assert run(["render", "pilot.yaml", *arguments]) == 2
    said = capsys.readouterr().err
    assert [word for word in words if word not in said] == []


def test_a_source_that_cannot_travel_is_an_error_of_the_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "gone").symlink_to("nowhere")
    (tmp_path / "train" / "train.py").touch()
    file = tmp_path / "pilot.yaml"
    file.write_text(changed({"jobs.smoke.source": "train"}))
    assert run(["render", str(file), "-o", str(tmp_path / "out")]) == 2
    assert "links to nowhere, which is not there" in capsys.readouterr().err
