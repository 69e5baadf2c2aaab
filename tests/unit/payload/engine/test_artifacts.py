"""Compiled graphs are used for what they were made for, and appear whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engine.artifacts import is_warm, load, save
from engine.refusal import RefusalError

MANIFEST = json.dumps({"engine": "vllm-nxdi", "tensor_parallel": 8})


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    local = tmp_path / "local"
    (local / "graphs").mkdir(parents=True)
    (local / "graphs" / "a.neff").write_bytes(b"graph")
    return local


def test_what_one_saves_another_loads(
    tmp_path: Path, compiled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(tmp_path / "key", compiled, MANIFEST)
    assert load(tmp_path / "key", tmp_path / "mine", MANIFEST)
    assert (tmp_path / "mine" / "graphs" / "a.neff").read_bytes() == b"graph"
    assert "warm" in capsys.readouterr().err


def test_nothing_there_is_cold_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not load(tmp_path / "key", tmp_path / "mine", MANIFEST)
    assert not (tmp_path / "mine").exists()
    assert "cold" in capsys.readouterr().err


def test_another_manifest_is_not_used_and_the_difference_is_named(
    tmp_path: Path, compiled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(tmp_path / "key", compiled, json.dumps({"engine": "vllm-nxdi", "tensor_parallel": 2}))
    assert not load(tmp_path / "key", tmp_path / "mine", MANIFEST)
    assert "different: tensor_parallel" in capsys.readouterr().err


def test_a_torn_manifest_is_cold(tmp_path: Path, compiled: Path) -> None:
    save(tmp_path / "key", compiled, MANIFEST)
    (tmp_path / "key" / "manifest.json").write_text("{")
    assert not is_warm(tmp_path / "key", MANIFEST)
    save(tmp_path / "key", compiled, MANIFEST)
    assert is_warm(tmp_path / "key", MANIFEST)


def test_saving_twice_keeps_the_first_and_leaves_nothing_beside_it(tmp_path: Path, compiled: Path) -> None:
    save(tmp_path / "shared" / "key", compiled, MANIFEST)
    save(tmp_path / "shared" / "key", compiled, MANIFEST)
    assert [path.name for path in (tmp_path / "shared").iterdir()] == ["key"]


@pytest.mark.parametrize("empty", [True, False])
def test_an_engine_that_compiled_nothing_saves_nothing(tmp_path: Path, empty: bool) -> None:
    if empty:
        (tmp_path / "local" / "graphs").mkdir(parents=True)
    with pytest.raises(RefusalError, match="wrote nothing"):
        save(tmp_path / "key", tmp_path / "local", MANIFEST)
    assert not (tmp_path / "key").exists()
