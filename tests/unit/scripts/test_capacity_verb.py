"""Words that are wrong end with exit code 2 before any world is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.cli import run
from tests.environments import changed

BLOCK = {"capacity.block": {"kind": "capacity-block"}, "clusters.train.capacity": "block"}
MAX = "--max-fee=30000"


@pytest.fixture(autouse=True)
def no_world(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("nobody may be asked")

    monkeypatch.setattr("scripts.aws.session.open_cloud", refuse)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "pilot.yaml"
    path.write_text(changed(dict(BLOCK)))
    return str(path)


@pytest.mark.parametrize(
    ("verb", "options", "words"),
    [
        ("search", ["--hours", "1e999999"], "--hours '1e999999': write digits only"),
        ("search", ["--days", "-1"], "longer than nothing"),
        ("search", ["--days", "183"], "at most 182 days"),
        ("search", ["--days", "2", "--hours", "48"], "give one"),
        ("search", ["--from", "yesterday"], "--from 'yesterday' is no date"),
        ("search", ["--until", "2026-12-01"], "no block of 168 hours fits"),
        ("search", ["--timezone", "Mars/Olympus"], "no time zone"),
        ("search", ["--cluster", "trian"], "did you mean 'train'?"),
        ("search", ["--nodes", "65"], "at most 64"),
        ("search", ["--nodes", "0"], "--nodes"),
        ("search", ["--by", "ultraservers"], "--ultraserver-type"),
        ("buy", ["cb-1"], "--max-fee"),
        ("buy", [MAX], "OFFERING"),
        ("buy", ["cb-1", "--max-fee", "$30000"], "write digits only"),
        ("buy", ["cb-1", "--max-fee", "24,031"], "write digits only"),
        ("buy", ["cb-1", "--max-fee", "1e99999999"], "write digits only"),
        ("buy", ["cb-1", "--max-fee", "sNaN"], "write digits only"),
        ("buy", ["cb-1", "--max-fee", "-1"], "above 0"),
        ("status", ["--extend-days", "200"], "--extend-days"),
    ],
)
def test_wrong_words(
    verb: str, options: list[str], words: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["capacity", verb, file, *options]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["search", "buy", "status"])
@pytest.mark.parametrize(
    ("content", "id_"),
    [
        (b"", "NK006"),
        ("name: pilot".encode("utf-16"), "NK005"),
        (b"a" * 1_000_001, "NK004"),
        (b"\x00", "NK005"),
        (b"[1, 2]", "NK011"),
    ],
)
def test_files_that_are_none(
    verb: str, content: bytes, id_: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pilot.yaml"
    path.write_bytes(content)
    more = ["cb-1", MAX] if verb == "buy" else []
    assert run(["capacity", verb, str(path), *more]) == 2
    assert f"[{id_}]" in capsys.readouterr().err


def test_a_file_with_errors_buys_nothing(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = Path(file).read_text()
    Path(file).write_text(text.replace("use2-az3", "use1-az1"))
    assert run(["capacity", "buy", file, "cb-1", MAX, "--yes"]) == 2
    assert "error: " in capsys.readouterr().err


def test_with_json_the_error_is_the_document(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--json", "capacity", "search", file, "--cluster", "trian"]) == 2
    assert '"error": "the file has no cluster' in capsys.readouterr().out
