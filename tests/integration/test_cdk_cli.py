"""The real CDK CLI, started with the kit's own Node."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.cdk_cli import run_cdk
from scripts.node import node_binary
from scripts.synthesis import synthesize
from stacks.domain.errors import WorldError
from stacks.domain.render.starters import starter_text
from tests.environments import starter_plan

pytestmark = [pytest.mark.node, pytest.mark.xdist_group("cdk")]
ROOT = Path(__file__).resolve().parents[2]
NEURONKIT = Path(sys.executable).with_name("neuronkit")


@pytest.fixture(autouse=True)
def in_the_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where cdk.json is; and without credentials."""
    monkeypatch.chdir(ROOT)
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pilot.yaml"
    path.write_text(starter_text("trn2-pilot", name="pilot", file=path.name, schema="schema.json"))
    return path


def cdk(*arguments: str | Path) -> tuple[int, str]:
    lines: list[str] = []
    return run_cdk([str(a) for a in arguments], on_line=lines.append), "\n".join(lines)


def test_it_is_the_pinned_one() -> None:
    code, output = cdk("--version")
    assert code == 0
    pinned = json.loads((ROOT / "package.json").read_text())["devDependencies"]["aws-cdk"]
    assert output.startswith(pinned)


def test_cdk_synth_gives_the_templates_of_neuronkit_synth(file: Path, tmp_path: Path) -> None:
    code, output = cdk("synth", "--quiet", "-c", f"environment={file}", "--output", tmp_path / "cli")
    assert code == 0, output
    ours = synthesize(starter_plan("trn2-pilot"), tmp_path / "ours")
    assert {p.name: p.read_bytes() for p in (tmp_path / "cli").glob("*.template.json")} == {
        p.name: p.read_bytes() for p in ours.templates
    }


def test_the_cli_takes_our_assembly_as_an_app(tmp_path: Path) -> None:
    assembly = synthesize(starter_plan("trn1-first-hour"), tmp_path / "out")
    code, output = cdk("list", "--app", assembly.directory)
    assert code == 0
    assert {"pilot-network", "pilot-storage", "pilot-cluster-train"} <= set(output.splitlines())


def test_no_environment_is_an_error_in_words(tmp_path: Path) -> None:
    code, output = cdk("synth", "--quiet", "--output", tmp_path)
    assert code != 0
    assert "no environment file is named" in output
    assert "-c environment=FILE" in output
    assert "Traceback" not in output


def test_a_wrong_file_shows_its_findings(file: Path, tmp_path: Path) -> None:
    file.write_text(file.read_text().replace("nodes: 4", "nodes: four"))
    code, output = cdk("synth", "--quiet", "-c", f"environment={file}", "--output", tmp_path / "out")
    assert code != 0
    assert f"{file}:" in output
    assert "clusters.train.nodes" in output
    assert "Traceback" not in output


def test_the_verb_hands_everything_on_and_gives_the_exit_code_back() -> None:
    good = subprocess.run([NEURONKIT, "cdk", "--version"], capture_output=True, text=True, check=False)
    bad = subprocess.run(
        [NEURONKIT, "cdk", "list", "--app", "/nowhere", "--json", "--local"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (good.returncode, bad.returncode) == (0, 1)
    assert good.stdout[0].isdigit()


@pytest.mark.parametrize("captured", [True, False])
def test_ctrl_c_ends_the_cli_with_us(tmp_path: Path, captured: bool) -> None:
    """Only we are told; the app that the CLI runs meanwhile has nothing to print, and takes its time."""
    pid_file = tmp_path / "pid"
    app = f"echo $$ >{pid_file}; exec sleep 60 >/dev/null 2>&1"
    how = ", on_line=print" if captured else ""
    code = f"import sys; from scripts.cdk_cli import run_cdk; run_cdk(sys.argv[1:]{how})"
    kit = subprocess.Popen(
        [sys.executable, "-c", code, "list", "--app", app, "--output", tmp_path / "out"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(lambda: pid_file.exists() and pid_file.read_text().strip())
        cli = children_of(kit.pid)
        assert len(cli) == 1
        kit.send_signal(signal.SIGINT)
        _, errors = kit.communicate(timeout=30)
        assert "KeyboardInterrupt" in errors
        assert not is_running(cli[0])
        assert not (captured and is_running(int(pid_file.read_text())))
    finally:
        kit.kill()
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            os.kill(int(pid_file.read_text()), signal.SIGKILL)


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_without_the_cli_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("scripts.cdk_cli.CLI", tmp_path / "absent")
    with pytest.raises(WorldError) as raised:
        run_cdk(["--version"])
    assert "make setup" in raised.value.hint


def test_our_node_is_the_wheels() -> None:
    version = subprocess.run([node_binary(), "--version"], capture_output=True, text=True, check=True).stdout
    assert version.startswith("v24.")
