"""`neuronkit lint`: what it reads, what it prints, how it ends."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from scripts.cli import run
from scripts.lint_inputs import PASSED_OVER
from tests.unit.domain.lint.inputs import launch_template, pod

DATA = Path(__file__).parents[2] / "data" / "lint"
GOOD = pod()
BAD = pod(resources={"aws.amazon.com/neurondevice": 1})


def lint(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = run(["lint", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_an_error_ends_with_2_and_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pod"
    file.write_text(BAD)
    code, out, err = lint(capsys, str(file))
    assert code == 2
    assert "1 file: 1 error, 0 warnings, 0 notes" in out
    assert err.startswith(f"error: {file}:1:")
    assert "[NK450]" in err


def test_good_files_end_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = lint(capsys, str(DATA / "good"))
    assert code == 0
    assert "3 files: 0 errors, 0 warnings" in out


def test_the_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pod").write_text(BAD)
    (tmp_path / "words").write_text("hello")
    code, out, err = lint(capsys, "--json", str(tmp_path))
    document = json.loads(out)
    assert (code, err) == (2, "")
    assert set(document) == {"findings", "not_checked", "skipped"}
    assert [f["id"] for f in document["findings"]] == ["NK450"]
    assert document["skipped"] == [{"file": str(tmp_path / "words"), "why": "no known kind"}]


@pytest.mark.parametrize("name", sorted(PASSED_OVER))
def test_directories_of_other_tools_are_passed_over_unless_named(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "pod").write_text(BAD)
    assert lint(capsys, str(tmp_path))[0] == 0
    assert lint(capsys, str(tmp_path / name))[0] == 2


def test_documents_of_several_files_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "job").write_text(pod(spec={"nodeSelector": {"team": "a"}}))
    pool = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "spec": {"template": {"metadata": {"labels": {"team": "b"}}}},
    }
    (tmp_path / "pool").write_text(json.dumps(pool))
    assert "NK458" in lint(capsys, str(tmp_path))[2]


def test_a_file_is_read_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pod").write_text(BAD)
    assert "1 file: 1 error" in lint(capsys, str(tmp_path / "pod"), str(tmp_path))[1]


@pytest.mark.parametrize("kind", ["absent", "fifo", "loop", "long"])
def test_files_that_cannot_be_read(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / ("file" if kind != "long" else "x" * 300)
    if kind == "fifo":
        os.mkfifo(file)
    if kind == "loop":
        file.symlink_to(file)
    code, _, err = lint(capsys, str(file))
    assert code == 2
    assert "[NK003]" in err


def test_a_directory_that_leads_in_circles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pod").write_text(BAD)
    (tmp_path / "again").symlink_to(tmp_path)
    assert "1 file: 1 error" in lint(capsys, str(tmp_path))[1]


def test_a_huge_file_is_a_finding_and_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "huge"
    with file.open("wb") as stream:
        stream.truncate(50_000_000)
    assert "[NK004]" in lint(capsys, str(file))[2]
    code, _, err = lint(capsys, str(tmp_path))
    assert code == 0
    assert "skipped" in err


def test_many_skipped_files_are_summed_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(15):
        (tmp_path / f"{number:02}").write_text("hello")
    assert "skipped: 5 more" in lint(capsys, str(tmp_path))[2]


def test_lint_needs_a_path(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint(capsys)[0] == 2


def test_a_secret_is_never_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = "hf_" + "b" * 30
    (tmp_path / "a").write_text(
        launch_template(
            UserData={"Fn::Base64": f"#!/bin/bash\ncurl -H {token} https://x/a-latest.tgz?{token}"}
        )
    )
    (tmp_path / "b").write_text(pod(env=[{"name": "X", "value": token}], image=f"example.com/{token}:latest"))
    for words in ((str(tmp_path),), ("--json", str(tmp_path))):
        _, out, err = lint(capsys, *words)
        assert token not in out + err
        assert "NK250" in out + err


def test_the_report_of_files_with_the_fields_defects(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    snapshot: SnapshotAssertion,
) -> None:
    """Each file of tests/data/lint/bad carries faults that public files have."""
    shutil.copytree(DATA / "bad", tmp_path / "bad")
    monkeypatch.chdir(tmp_path)
    code, out, _ = lint(capsys, "--json", "bad")
    found = [
        f"{f['severity']} {f['id']} {f['file']}:{f['line']}:{f['column']} {f['path']}"
        for f in json.loads(out)["findings"]
    ]
    assert code == 2
    assert found == snapshot(extension_class=JSONSnapshotExtension)
