from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scripts import bootstrapping
from scripts.bootstrapping import bootstrap, bootstrap_stack_name, next_command
from scripts.console import Console
from stacks.domain.environment import CdkSettings
from stacks.domain.errors import WorldError
from stacks.domain.render.starters import starter_text
from tests.unit.scripts.fakes import a_cloud


class Cdk:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, code: int = 0, version: str | None = "33") -> None:
        self.code = code
        self.arguments: list[str] = []
        monkeypatch.setattr(bootstrapping, "run_cdk", self.run)
        monkeypatch.setattr(bootstrapping.ssm, "find_parameter", lambda cloud, name: version)

    def run(self, arguments: list[str], *, environment: dict[str, str], on_line: Any, directory: Path) -> int:
        self.arguments = arguments
        assert list(directory.iterdir()) == []  # beside a cdk.json the CLI would synthesise that app first
        assert environment["AWS_REGION"] == "us-east-2"
        on_line("something the CDK says")
        return self.code


def test_the_default_stack_is_everybodys_and_another_qualifier_gets_its_own() -> None:
    """`cdk bootstrap --qualifier x` on the default stack would take it away from everybody else in the account."""
    assert bootstrap_stack_name("hnb659fds") == "CDKToolkit"
    assert bootstrap_stack_name("mine") == "CDKToolkit-mine"


def test_account_region_qualifier_and_boundary_reach_the_cdk(monkeypatch: pytest.MonkeyPatch) -> None:
    cdk = Cdk(monkeypatch)
    settings = CdkSettings(qualifier="mine", permissions_boundary="corp-boundary")
    assert bootstrap(Console(), a_cloud(), settings) == 33
    assert cdk.arguments == [
        "bootstrap", "aws://111122223333/us-east-2", "--qualifier", "mine", "--toolkit-stack-name", "CDKToolkit-mine",
        "--custom-permissions-boundary", "corp-boundary",
    ]  # fmt: skip


def test_what_comes_next_goes_by_the_file(tmp_path: Path) -> None:
    """Nodes of a Slurm cluster start from an image that is built first."""
    said = []
    for starter in ("trn1-pilot", "trn1-slurm"):
        file = tmp_path / f"{starter}.yaml"
        file.write_text(starter_text(starter, name="pilot", file=file.name, schema=""))
        said.append(next_command(file, local=True))
    file.write_text("name: 7")
    assert [*said, next_command(file, local=True)] == [
        "neuronkit deploy FILE",
        "neuronkit image build FILE",
        "neuronkit check FILE",
    ]


def test_it_says_what_it_makes_and_that_it_stays(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Cdk(monkeypatch)
    bootstrap(Console(), a_cloud(), CdkSettings())
    said = capsys.readouterr().err
    assert "stack CDKToolkit" in said
    assert "stays after `neuronkit destroy`" in said
    assert "something the CDK says" in said


@pytest.mark.parametrize(
    ("code", "version", "words"), [(1, "33", "something the CDK says"), (0, None, "is not there")]
)
def test_success_is_only_what_is_there_afterwards(
    monkeypatch: pytest.MonkeyPatch, code: int, version: str | None, words: str
) -> None:
    Cdk(monkeypatch, code, version)
    with pytest.raises(WorldError, match=words):
        bootstrap(Console(), a_cloud(), CdkSettings())
