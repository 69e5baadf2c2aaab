"""What the documents show is what the kit takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from scripts import cli
from stacks.domain.render.starters import STARTERS, starter_text

ROOT = Path(__file__).parents[2]


def yaml_blocks(document: str) -> list[str]:
    return re.findall(r"(?ms)^```yaml\n(.*?)^```", (ROOT / document).read_text(encoding="utf-8"))


def test_the_shift_in_the_document_is_the_starters() -> None:
    (block,) = yaml_blocks("docs/serving.md")
    assert block in starter_text("day-night", name="my-days", file="my-days.yaml", schema="schema.json")
    assert YAML(typ="safe").load(block)["shifts"]["days"]["fleet"] == "chat"


def test_the_documents_commands_on_it_say_what_the_document_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "my-days.yaml"
    assert cli.run(["init", "my-days", "--from", "day-night", "-o", str(file)]) == 0
    assert cli.run(["check", str(file)]) == 0
    capsys.readouterr()
    assert cli.run(["plan", str(file)]) == 0
    plan = capsys.readouterr().out
    assert (
        "train trains on 4 nodes; in windows (Europe/Berlin) chat serves on 5 nodes at most, outside on 1"
        in plan
    )
    assert "not the sum of both sides: 5 x trn1.32xlarge" in plan
    assert cli.run(["plan", str(file), "--timetable", "2026-W50"]) == 0
    week = capsys.readouterr().out
    assert "20 steps in this week; by 10 of them the capacity changes sides" in week
    assert "serve           at most 20 replicas on 5 nodes; training on 0 nodes" in week


def test_the_job_in_the_document_passes_in_the_place_of_the_smoke_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = yaml_blocks("docs/jobs.md")
    file = tmp_path / "my-pilot.yaml"
    assert cli.run(["init", "my-pilot", "-o", str(file)]) == 0
    (tmp_path / "training").mkdir()
    (tmp_path / "training" / "train.py").touch()
    before, jobs, _ = file.read_text().partition("\njobs:\n")
    assert jobs
    file.write_text(f"{before}\n{block}")
    assert cli.run(["check", str(file)]) == 0, capsys.readouterr().err


def test_the_document_names_the_variables_that_the_bootstrap_gives() -> None:
    document = (ROOT / "docs" / "jobs.md").read_text(encoding="utf-8")
    head, _, _ = (ROOT / "templates" / "runtime" / "node-bootstrap.sh.j2").read_text().partition("set -euo")
    told = re.search(r"besides neuron.env and the job's secrets:\n(.*?)# Checkpoints:", head, re.DOTALL)
    assert told is not None
    given = {f"NEURONKIT_{name}" for name in re.findall(r"(?:NEURONKIT)?_([A-Z_]+[A-Z])", told[1])}
    assert set(re.findall(r"NEURONKIT_[A-Z_]+", document)) == given
    codes = re.findall(r"(?m)^#   (\d+)  ", head)
    assert codes == re.findall(r"(?m)^\| (\d+) \|", document)


@pytest.mark.parametrize("document", ["README.md", "docs/serving.md", "docs/slurm.md"])
def test_every_starter_that_a_document_inits_from_exists(document: str) -> None:
    named = re.findall(r"--from ([a-z0-9-]+)", (ROOT / document).read_text(encoding="utf-8"))
    assert set(named) <= set(STARTERS)
