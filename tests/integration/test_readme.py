"""Every command of the README is run here: those for AWS against the local cloud, `make` by its dry run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.cli import VERBS
from scripts.local_cloud import process

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NEURONKIT = str(Path(sys.executable).with_name("neuronkit"))
ON_A_CLOUD = {
    "bootstrap",
    "deploy",
    "launch",
    "status",
    "logs",
    "destroy",
    "leftovers",
    "lock",
    "capacity",
    "image",
}
ASKING = {"deploy", "destroy"}


def blocks() -> list[list[str]]:
    found = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    return [[line for line in block.splitlines() if line.strip()] for block in found]


def command(line: str) -> list[str]:
    words = shlex.split(line)
    if words[0] == "make":
        return ["make", "--dry-run", "-C", str(ROOT), *words[1:]]
    assert words[0] == "neuronkit", f"the README may only show make and neuronkit: {line}"
    verb = next(word for word in words[1:] if not word.startswith("-"))
    local = ["--local"] if verb in ON_A_CLOUD and "--local" not in words else []
    yes = ["--yes"] if verb in ASKING and "--yes" not in words else []
    return [NEURONKIT, *local, *words[1:], *yes]


def with_an_offering(words: list[str], directory: Path, environment: dict[str, str]) -> list[str]:
    """OFFERING stands for an id that the search before it has printed."""
    if "OFFERING" not in words:
        return words
    file = words[words.index("OFFERING") - 1]
    search = [NEURONKIT, "--local", "--json", "capacity", "search", file]
    done = subprocess.run(search, cwd=directory, env=environment, capture_output=True, text=True, check=True)
    offers = json.loads(done.stdout)["searches"][0]["offers"]
    offering = next(offer["id"] for offer in offers if offer["is_in_the_files_zone"])
    return [offering if word == "OFFERING" else word for word in words]


@pytest.mark.local_cloud
@pytest.mark.node
@pytest.mark.timeout(600)
@pytest.mark.xdist_group("readme")
def test_every_command_of_the_readme_runs(tmp_path: Path) -> None:
    state = tmp_path / "cloud"
    slurm_is_missing = shutil.which("slurmctld") is None
    environment = {**os.environ, "NEURONKIT_LOCAL_CLOUD_DIR": str(state)}
    try:
        for block in blocks():
            if slurm_is_missing and any("-slurm" in line for line in block):
                continue
            for line in block:
                done = subprocess.run(
                    with_an_offering(command(line), tmp_path, environment),
                    cwd=tmp_path,
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=200,
                )
                assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    finally:
        process.stop(state)


def test_the_readme_shows_every_verb() -> None:
    assert [verb for verb in VERBS if f"neuronkit {verb}" not in README] == []


def test_the_readmes_example_of_a_finding_is_what_check_prints(tmp_path: Path) -> None:
    expected = next(line for line in README.splitlines() if line.startswith("error: my-pilot.yaml:"))
    subprocess.run(
        [NEURONKIT, "init", "my-pilot", "--from", "trn2-pilot"], cwd=tmp_path, check=True, capture_output=True
    )
    file = tmp_path / "my-pilot.yaml"
    file.write_text(file.read_text().replace("nodes: 4", "nodes: four"))
    done = subprocess.run(
        [NEURONKIT, "check", "my-pilot.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert expected in done.stderr.splitlines()


def test_the_readmes_prices_are_the_plans(tmp_path: Path) -> None:
    subprocess.run(
        [NEURONKIT, "init", "first-hour", "--from", "trn1-first-hour"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    done = subprocess.run(
        [NEURONKIT, "plan", "first-hour.yaml"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    running, idle = re.search(
        r"about (\$[\d.]+) an hour while the node runs and (\$[\d.]+) an hour between", README
    ).groups()  # type: ignore[union-attr]
    assert f"with every node running: {running}/hour; between jobs: {idle}/hour" in done.stdout
