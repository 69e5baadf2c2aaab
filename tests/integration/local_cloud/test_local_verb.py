"""`neuronkit local up|status|env|down`, as a person and as a program use it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from scripts.cli import neuronkit
from scripts.local_cloud import process

pytestmark = [pytest.mark.local_cloud, pytest.mark.xdist_group("local_cloud")]


@pytest.fixture(autouse=True)
def own_state_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(process, "default_state_dir", lambda: tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(neuronkit, list(arguments))


def test_up_status_env_down(own_state_dir: Path) -> None:
    assert json.loads(run("--json", "local", "status").stdout) == {"running": False}
    up = json.loads(run("--json", "local", "up").stdout)
    try:
        assert up["running"]
        assert json.loads(run("--json", "local", "status").stdout) == up
        assert "not hardware" in run("local", "status").stdout
        exports = run("local", "env", "--account", "210987654321").stdout
        script = f"export AWS_PROFILE=mine; {exports}\naws sts get-caller-identity --query Account --region us-east-1"
        answer = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        assert answer.stdout.strip() == '"210987654321"'
    finally:
        down = run("--json", "local", "down")
    assert json.loads(down.stdout) == {"stopped": True}
    assert json.loads(run("--json", "local", "down").stdout) == {"stopped": False}


def test_env_without_a_cloud_says_what_to_do() -> None:
    result = run("local", "env")
    assert result.exit_code != 0
    assert "neuronkit local up" in str(getattr(result.exception, "hint", result.output))
