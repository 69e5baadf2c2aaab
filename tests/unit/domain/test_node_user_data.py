"""User data: a MIME archive with a shell script that installs the pinned EFA driver, and nothing unpinned."""

import re
import shutil
import subprocess
import sys
from email import message_from_string
from pathlib import Path

import pytest

from stacks.domain.render.node_user_data import BYTES_MAX, node_user_data
from stacks.domain.software import efa_installer
from tests.environments import starter_plan

STARTERS = ["trn1-first-hour", "trn1-pilot", "trn2-pilot"]
every_starter = pytest.mark.parametrize("starter", STARTERS)


def user_data(starter: str) -> str:
    return node_user_data(starter_plan(starter).cluster("train"))


def script(starter: str) -> str:
    archive = message_from_string(user_data(starter))
    assert archive.get_content_type() == "multipart/mixed"
    (part,) = archive.get_payload()
    assert part.get_content_type() == "text/x-shellscript"  # type: ignore[union-attr]
    payload = part.get_payload()  # type: ignore[union-attr]
    assert isinstance(payload, str)
    return payload


@every_starter
def test_it_is_a_mime_archive_with_one_script(starter: str) -> None:
    assert script(starter).startswith("#!/bin/bash\n")


@every_starter
def test_it_is_plain_text_and_small_enough_for_ec2(starter: str) -> None:
    assert user_data(starter).isascii()
    assert len(user_data(starter)) < BYTES_MAX


@every_starter
def test_bash_and_shellcheck_accept_the_script(starter: str, tmp_path: Path) -> None:
    file = tmp_path / "user-data.sh"
    file.write_text(script(starter))
    shellcheck = shutil.which("shellcheck", path=str(Path(sys.executable).parent)) or "shellcheck"
    for command in (["bash", "-n", file], [shellcheck, file]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("starter", "devices"), [("trn1-pilot", 8), ("trn2-pilot", 16)])
def test_the_pinned_installer_is_checked_before_it_runs(starter: str, devices: int) -> None:
    lines = script(starter).splitlines()
    assert any(efa_installer().url in line for line in lines)
    checked = next(
        n for n, line in enumerate(lines) if efa_installer().sha256 in line and "sha256sum --check" in line
    )
    run = next(n for n, line in enumerate(lines) if line.startswith("./efa_installer.sh"))
    assert checked < run
    assert f'[[ "$found" -ne {devices} ]]' in script(starter)


@every_starter
def test_nothing_is_the_latest_of_anything(starter: str) -> None:
    """P-56: an unpinned installer broke other people's nodes."""
    assert not re.search("latest", script(starter))


def test_a_node_without_efa_downloads_nothing() -> None:
    assert "curl" not in script("trn1-first-hour")


@every_starter
def test_a_stopped_job_has_time_for_its_last_checkpoint(starter: str) -> None:
    assert "ECS_CONTAINER_STOP_TIMEOUT=2m" in script(starter)


def test_a_wrong_checksum_stops_before_the_installer(tmp_path: Path) -> None:
    """The download is something else: the script ends, and what was downloaded is never unpacked."""
    tools = tmp_path / "bin"
    tools.mkdir()
    tool(tools, "curl", 'while [[ "$1" != --output ]]; do shift; done; echo tampered >"$2"')
    tool(tools, "tar", f"touch {tmp_path}/unpacked")
    text = script("trn1-pilot").replace("/etc/ecs/ecs.config", str(tmp_path / "ecs.config"))
    done = subprocess.run(
        ["bash", "-c", text],
        env={"PATH": f"{tools}:/usr/bin:/bin", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "FAILED" in done.stdout + done.stderr
    assert not (tmp_path / "unpacked").exists()


def tool(directory: Path, name: str, body: str) -> None:
    file = directory / name
    file.write_text(f"#!/bin/bash\n{body}\n")
    file.chmod(0o755)
