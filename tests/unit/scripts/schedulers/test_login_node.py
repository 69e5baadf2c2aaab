"""One text to the login node and its whole output back; and what is said when the node does not answer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from scripts.aws.cloud import Cloud
from scripts.aws.ec2_nodes import Node
from scripts.aws.ssm import Invocation
from scripts.aws.translation import AwsError
from scripts.schedulers import login_node_by_ssm
from scripts.schedulers.login_node import LocalTransport, open_transport
from scripts.schedulers.login_node_by_ssm import ANSWER_SECONDS_MAX, SsmTransport
from stacks.domain.errors import WorldError
from tests.environments import plan_of
from tests.unit.scripts.fakes import a_cloud

SSM_CHARACTERS_MAX = 24_000
DONE = Invocation("Success", "Success", 0, "", "")


@dataclass
class Ssm:
    """Runs a command at once, in a shell whose `runuser` changes no user, and keeps what SSM keeps of the output."""

    directory: Path
    sent: list[str] = field(default_factory=list)
    answer: Callable[[str], Invocation] | None = None
    looks_before_it_is_known: int = 1
    _invocation: Invocation = DONE

    def __post_init__(self) -> None:
        programs = {"runuser": 'shift 3\nexec "$@"', "mountpoint": '[ "$2" = /shared ]'}
        for name, text in programs.items():
            (self.directory / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.directory / name).chmod(0o755)

    def send_command(self, cloud: Cloud, instance_id: str, text: str, *seconds: int) -> str:
        self.sent.append(text)
        self._looks = self.looks_before_it_is_known
        if self.answer is not None:
            self._invocation = self.answer(text)
            return "command"
        environment = {**os.environ, "PATH": f"{self.directory}:{os.environ['PATH']}"}
        done = subprocess.run(
            ["sh", "-c", text], env=environment, capture_output=True, text=True, check=False
        )
        status = "Success" if done.returncode == 0 else "Failed"
        self._invocation = Invocation(
            status, status, done.returncode, done.stdout[:SSM_CHARACTERS_MAX], done.stderr[:8000]
        )
        return "command"

    def find_invocation(self, cloud: Cloud, command_id: str, instance_id: str) -> Invocation | None:
        if self._looks:
            self._looks -= 1
            return None
        return self._invocation


@pytest.fixture
def ssm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ssm:
    made = Ssm(tmp_path)
    monkeypatch.setattr(login_node_by_ssm.ssm, "send_command", made.send_command)
    monkeypatch.setattr(login_node_by_ssm.ssm, "find_invocation", made.find_invocation)
    monkeypatch.setattr(
        login_node_by_ssm.ec2_nodes,
        "with_tag",
        lambda *arguments: (Node("i-0", "stopped"), Node("i-1", "running")),
    )
    return made


@pytest.fixture
def transport(ssm: Ssm) -> SsmTransport:
    return SsmTransport(a_cloud(), "pcs_1", "25.11", "ubuntu", "/shared", pause=lambda seconds: None)


def test_output_errors_and_exit_code_come_back(transport: SsmTransport, ssm: Ssm) -> None:
    answer = transport.run("echo out\necho 'wörds' >&2\nexit 65\n")
    assert (answer.text, answer.stderr, answer.exit_code) == ("out\n", "wörds\n", 65)
    assert len(ssm.sent) == 1


def test_slurms_programs_come_first_and_nothing_is_eaten_from_stdin(transport: SsmTransport) -> None:
    answer = transport.run('cat\necho "$PATH"\n')
    assert answer.text.startswith("/opt/aws/pcs/scheduler/slurm-25.11/bin:")


def test_a_long_output_comes_in_parts_and_leaves_nothing_on_the_node(
    transport: SsmTransport, ssm: Ssm
) -> None:
    content = os.urandom(30_000).hex()
    answer = transport.run(f"printf %s {content}\n")
    assert answer.text == content
    assert len(ssm.sent) == 3
    (directory,) = set(re.findall(r"/tmp/neuronkit-out\.[A-Za-z0-9]{10}", ssm.sent[-1]))
    assert not Path(directory).exists()


def test_bytes_come_back_as_they_are(transport: SsmTransport) -> None:
    assert transport.run(r"printf '\x00\xff\r\n\t'").stdout == b"\x00\xff\r\n\t"


def test_the_text_runs_as_the_user_and_never_unquoted(transport: SsmTransport, ssm: Ssm) -> None:
    transport.run('echo "it\'s $(echo one) text; `echo two`"\n')
    (text,) = ssm.sent
    assert "\nrunuser -u ubuntu -- bash -c " in text
    assert "echo one" not in text


def test_without_the_shared_file_system_nothing_is_done(ssm: Ssm) -> None:
    transport = SsmTransport(a_cloud(), "pcs_1", "25.11", "ubuntu", "/fsx", pause=lambda seconds: None)
    with pytest.raises(WorldError, match="not mounted at /fsx on the login node i-1"):
        transport.run("echo out")


def test_a_node_that_cannot_do_it_is_quoted(transport: SsmTransport, ssm: Ssm) -> None:
    ssm.answer = lambda text: Invocation("Failed", "Failed", 1, "", "runuser: user ubuntu does not exist")
    with pytest.raises(
        WorldError, match="i-1 did not do what it was told: runuser: user ubuntu does not exist"
    ):
        transport.run("true")


SILENT = [
    (
        Invocation("TimedOut", "DeliveryTimedOut", -1, "", ""),
        "i-1 does not answer: SSM says DeliveryTimedOut",
    ),
    (Invocation("Failed", "Undeliverable", -1, "", ""), "i-1 does not answer: SSM says Undeliverable"),
    (Invocation("TimedOut", "ExecutionTimedOut", -1, "", ""), "i-1 has not finished a command"),
    (
        Invocation("Pending", "Pending", -1, "", ""),
        "i-1 does not answer: it has not taken a command within 90 s",
    ),
    (Invocation("InProgress", "InProgress", -1, "", ""), "i-1 has not finished a command within 90 s"),
]


@pytest.mark.parametrize(("invocation", "words"), SILENT)
def test_a_node_that_does_not_answer_is_given_up(
    transport: SsmTransport, ssm: Ssm, invocation: Invocation, words: str
) -> None:
    ssm.answer = lambda text: invocation
    moments = iter(range(0, 10_000, 30))
    transport.clock = lambda: float(next(moments))
    with pytest.raises(WorldError, match=words) as caught:
        transport.run("true")
    assert caught.value.hint
    assert next(moments) <= ANSWER_SECONDS_MAX + 60


def test_an_agent_that_is_offline_is_said(transport: SsmTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> str:
        raise AwsError("SendCommand failed", code="InvalidInstanceId")

    monkeypatch.setattr(login_node_by_ssm.ssm, "send_command", refuse)
    with pytest.raises(WorldError, match="does not answer: SSM does not know it or its agent is offline"):
        transport.run("true")


def test_any_other_error_of_aws_is_its_own(transport: SsmTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> str:
        raise AwsError("not allowed: ssm:SendCommand", code="AccessDeniedException")

    monkeypatch.setattr(login_node_by_ssm.ssm, "send_command", refuse)
    with pytest.raises(AwsError, match="not allowed"):
        transport.run("true")


NODES = [
    ((), "there is no login node", "PCS starts it by itself"),
    ((Node("i-2", "stopped"),), "i-2 is stopped", "start-instances --instance-ids i-2"),
    ((Node("i-2", "pending"),), "i-2 is pending", "in a minute"),
    ((Node("i-2", "shutting-down"),), "i-2 is shutting-down", "PCS starts another"),
]


@pytest.mark.parametrize(("nodes", "words", "hint"), NODES)
def test_without_a_running_node_its_state_is_said(
    transport: SsmTransport, monkeypatch: pytest.MonkeyPatch, nodes: tuple[Node, ...], words: str, hint: str
) -> None:
    monkeypatch.setattr(login_node_by_ssm.ec2_nodes, "with_tag", lambda *arguments: nodes)
    with pytest.raises(WorldError, match=words) as caught:
        transport.run("true")
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda lines: [lines[0], "AAAA" + lines[1][4:]], "damaged"),
        (lambda lines: [lines[0].replace("/tmp/neuronkit-out", "/etc;reboot #"), lines[1]], "did not do"),
    ],
)
def test_a_spoiled_answer_is_never_taken(
    transport: SsmTransport,
    monkeypatch: pytest.MonkeyPatch,
    ssm: Ssm,
    spoil: Callable[[list[str]], list[str]],
    words: str,
) -> None:
    """Nor does a word of the node get into the next command."""
    original = ssm.find_invocation

    def spoiled(*arguments: Any) -> Invocation | None:
        found = original(*arguments)
        if found is None:
            return None
        stdout = "\n".join(spoil(found.stdout.split("\n", 1)))
        return Invocation(found.status, found.details, found.response_code, stdout, found.stderr)

    monkeypatch.setattr(login_node_by_ssm.ssm, "find_invocation", spoiled)
    with pytest.raises(WorldError, match=words):
        transport.run("echo out")
    assert not any("reboot" in text for text in ssm.sent)


def test_a_shell_without_slurm_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(WorldError, match="no sbatch on PATH"):
        LocalTransport().run("true")


def test_this_shell_runs_a_text_with_quotes_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: name)
    answer = LocalTransport().run('cat; echo "it\'s"; echo bad >&2; exit 3')
    assert (answer.text, answer.stderr, answer.exit_code) == ("it's\n", "bad\n", 3)


def test_by_ssm_a_deployed_cluster_is_needed() -> None:
    plan = plan_of(
        {"clusters.train.scheduler": "slurm", "clusters.train.slurm": {"shared_storage": {"kind": "efs"}}}
    )
    with pytest.raises(WorldError, match="cluster train has no login node: its stack is not deployed"):
        open_transport("ssm", a_cloud(), plan.clusters[0], None)
    assert open_transport("local", a_cloud(), plan.clusters[0], None) == LocalTransport()


@pytest.mark.parametrize("dying", ["-dc", "-c"])
def test_a_text_or_an_answer_that_went_in_part_is_no_success(
    transport: SsmTransport, ssm: Ssm, tmp_path: Path, dying: str
) -> None:
    """As on a full disk, or where the kernel kills for memory."""
    gzip = ssm.directory / "gzip"
    gzip.write_text(f'#!/bin/sh\n[ "$1" = {dying} ] && kill -9 $$\nexec {shutil.which("gzip")} "$@"\n')
    gzip.chmod(0o755)
    with pytest.raises(WorldError):
        transport.run(f"touch {tmp_path}/ran\n")
    assert (tmp_path / "ran").exists() == (dying == "-c")


def test_an_empty_archive_is_damage(transport: SsmTransport, ssm: Ssm) -> None:
    header = "neuronkit 0 0 /tmp/neuronkit-out.abcdefghij \n"
    ssm.answer = lambda text: Invocation("Success", "Success", 0, header, "")
    with pytest.raises(WorldError, match="damaged"):
        transport.run("true\n")
