"""Synthesis on disk: made once, made again when anything changed, whole or not at all."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from scripts import cli, synthesis
from scripts.synthesis import STAMP, Assembly, synthesize
from stacks.domain.errors import InputError
from stacks.domain.plan import Plan
from stacks.domain.render.starters import starter_text
from tests.environments import plan_of
from tests.synthesized import assembly_directory, plans

pytestmark = [pytest.mark.node, pytest.mark.xdist_group("cdk")]
PLAN = "trn1-everything"


@pytest.fixture
def plan() -> Plan:
    return plans()[PLAN]


@pytest.fixture
def assembly(plan: Plan, tmp_path: Path) -> Assembly:
    return synthesize(plan, tmp_path / "out")


def test_it_writes_what_the_app_gives(assembly: Assembly) -> None:
    made = {path.name: path.read_bytes() for path in assembly.directory.iterdir() if path.name != STAMP}
    assert made == {path.name: path.read_bytes() for path in assembly_directory(PLAN).iterdir()}
    assert not assembly.reused


def test_its_templates_are_those_of_the_plans_stacks_in_order(assembly: Assembly, plan: Plan) -> None:
    assert [path.name for path in assembly.templates] == [f"{name}.template.json" for name in plan.stacks.all]
    assert all(path.is_file() for path in assembly.templates)


def test_an_unchanged_plan_reuses_it_without_starting_the_cdk(
    assembly: Assembly, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synthesis, "_synthesize_into", must_not_be_called)
    assert synthesize(plan, assembly.directory).reused


def must_not_be_called(*_: Any, **__: Any) -> None:
    raise AssertionError


@pytest.mark.parametrize("change", ["edited", "deleted", "added", "stamp"])
def test_tampered_output_is_made_again(assembly: Assembly, plan: Plan, change: str) -> None:
    target, before = assembly.templates[0], assembly.templates[0].read_bytes()
    if change == "edited":
        target.write_bytes(before.replace(b"443", b"22"))
    elif change == "deleted":
        target.unlink()
    elif change == "added":
        (assembly.directory / "stranger.template.json").write_text("{}")
    else:
        (assembly.directory / STAMP).write_text("[]")
    again = synthesize(plan, assembly.directory)
    assert not again.reused
    assert target.read_bytes() == before
    assert not (assembly.directory / "stranger.template.json").exists()


def test_another_plan_replaces_it_as_a_whole(assembly: Assembly, plan: Plan) -> None:
    fewer = dataclasses.replace(plan, clusters=plan.clusters[:1], jobs=())
    again = synthesize(fewer, assembly.directory)
    assert not again.reused
    assert sorted(again.directory.glob("*.template.json")) == sorted(again.templates)
    assert len(again.templates) == len(assembly.templates) - 1


def test_a_change_of_the_kit_itself_makes_it_again(
    assembly: Assembly, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = synthesis._source_files()
    assert {"assembly.py", "multi_node_queue.py", "types.json", "node-user-data.mime.j2"} <= {
        f.name for f in files
    }
    monkeypatch.setattr(synthesis, "_source_files", lambda: files[1:])
    assert not synthesize(plan, assembly.directory).reused


def test_an_assembly_that_was_not_validated_does_not_serve_who_wants_it_validated(
    assembly: Assembly, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(synthesis, "_replace", lambda *arguments: asked.append(arguments[-1]))
    synthesize(plan, assembly.directory, validate=True)
    assert asked == [True]


def test_an_interruption_leaves_the_earlier_assembly(
    assembly: Assembly, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(directory: Path, *_: Any, **__: Any) -> None:
        directory.mkdir()
        (directory / "manifest.json").write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(synthesis, "_synthesize_into", interrupted)
    with pytest.raises(KeyboardInterrupt):
        synthesize(dataclasses.replace(plan, owner="somebody else"), assembly.directory)
    assert synthesize(plan, assembly.directory).reused
    assert list(assembly.directory.parent.iterdir()) == [assembly.directory]


@pytest.mark.parametrize("kind", ["directory with other files", "file"])
def test_what_is_no_assembly_is_not_overwritten(plan: Plan, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "mine"
    precious = target
    if kind != "file":
        target.mkdir()
        precious = target / "thesis.txt"
    precious.write_text("precious")
    with pytest.raises(InputError, match="no cloud assembly"):
        synthesize(plan, target)
    assert precious.read_text() == "precious"


class TestVerb:
    @pytest.fixture
    def file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        monkeypatch.chdir(tmp_path)
        Path("pilot.yaml").write_text(
            starter_text("trn1-first-hour", name="pilot", file="pilot.yaml", schema="schema.json")
        )
        return "pilot.yaml"

    def test_it_prints_the_paths_on_stdout(self, file: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.run(["synth", file]) == 0
        printed = capsys.readouterr().out.splitlines()
        assert printed == [
            f"cdk.out/pilot/pilot-{stack}.template.json" for stack in ("network", "storage", "cluster-train")
        ]
        assert all(Path(path).is_file() for path in printed)

    def test_its_json_document(self, file: str, capsys: pytest.CaptureFixture[str]) -> None:
        documents = []
        for _ in range(2):
            assert cli.run(["synth", file, "-o", "elsewhere", "--json"]) == 0
            documents.append(json.loads(capsys.readouterr().out))
        assert [set(document) for document in documents] == [{"assembly", "templates", "reused"}] * 2
        assert [document["reused"] for document in documents] == [False, True]
        assert documents[0]["assembly"] == "elsewhere"

    def test_a_wrong_file_starts_nothing(
        self, file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(synthesis, "_synthesize_into", must_not_be_called)
        path = Path(file)
        path.write_text(path.read_text().replace("nodes: 1", "nodes: 0", 1))
        assert cli.run(["synth", file]) == 2
        assert "clusters.train.nodes" in capsys.readouterr().err


def test_unresolved_software_does_not_stop_synthesis(tmp_path: Path) -> None:
    plan = plan_of()
    assert plan.clusters[0].ami is not None
    assert not plan.clusters[0].ami.is_resolved
    text = synthesize(plan, tmp_path / "out").templates[-1].read_text()
    assert "ami-UNRESOLVED" in text


def test_a_directory_that_cannot_be_made_is_an_error_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        synthesize(plan_of(), tmp_path / "file" / "cdk.out")
