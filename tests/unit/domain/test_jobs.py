"""Packages: the same content gives the same bytes, and what cannot travel is refused with its name."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import io
import os
import socket
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from stacks.domain.errors import InputError
from stacks.domain.jobs import JobPackage, pack, resolve_source
from stacks.domain.names import package_key
from tests.environments import plan_of

PLAN = plan_of()
JOB = PLAN.job("smoke")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    directory = tmp_path / "train"
    (directory / "model").mkdir(parents=True)
    (directory / "train.py").write_text("print('hello')\n")
    (directory / "model" / "layers.py").write_text("LAYERS = 2\n")
    return directory


def packed(source: Path) -> JobPackage:
    return pack(JOB, PLAN, source)


def members(package: JobPackage) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(package.content)) as archive:
        return {member.name: member for member in archive.getmembers()}


def refusal(source: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        packed(source)
    assert caught.value.hint
    return caught.value


def test_a_package_holds_the_source_and_the_runtime_files(source: Path) -> None:
    package = packed(source)
    assert list(members(package)) == [
        "neuronkit/neuron.env",
        "neuronkit/node-bootstrap.sh",
        "source/model",
        "source/model/layers.py",
        "source/train.py",
    ]
    with tarfile.open(fileobj=io.BytesIO(package.content)) as archive:
        script = archive.extractfile("neuronkit/node-bootstrap.sh")
        assert script is not None
        assert b"planned_nodes=4" in script.read()


def test_a_package_is_known_by_the_hash_of_the_archive_before_compression(source: Path) -> None:
    package = packed(source)
    assert package.sha256 == hashlib.sha256(gzip.decompress(package.content)).hexdigest()
    assert package.key == package_key(package.sha256)


def test_the_same_content_gives_the_same_bytes(source: Path, tmp_path: Path) -> None:
    first = packed(source)
    other = tmp_path / "elsewhere"
    (other / "model").mkdir(parents=True)
    (other / "model" / "layers.py").write_text("LAYERS = 2\n")
    (other / "train.py").write_text("print('hello')\n")
    for index, path in enumerate(other.rglob("*")):
        os.utime(path, (index, index))
    (other / "train.py").chmod(0o600)
    (other / "model").chmod(0o700)
    assert packed(other) == first


def _edit(source: Path) -> None:
    (source / "train.py").write_text("print('bye')\n")


def _rename(source: Path) -> None:
    (source / "train.py").rename(source / "main.py")


def _make_executable(source: Path) -> None:
    (source / "train.py").chmod(0o755)


def _add_directory(source: Path) -> None:
    (source / "empty").mkdir()


@pytest.mark.parametrize("change", [_edit, _rename, _make_executable, _add_directory])
def test_other_content_gives_another_hash(source: Path, change: Callable[[Path], None]) -> None:
    before = packed(source).sha256
    change(source)
    assert packed(source).sha256 != before


def test_another_plan_gives_another_hash(source: Path) -> None:
    job = dataclasses.replace(JOB, environment=(("A", "1"),))
    assert pack(job, PLAN, source).sha256 != packed(source).sha256


def test_owner_time_and_mode_say_nothing(source: Path) -> None:
    (source / "run.sh").write_text("true\n")
    (source / "run.sh").chmod(0o711)
    found = members(packed(source))
    assert {(m.uid, m.gid, m.mtime, m.uname) for m in found.values()} == {(0, 0, 0, "")}
    modes = {name: member.mode for name, member in found.items()}
    assert (modes["source/run.sh"], modes["source/train.py"], modes["source/model"]) == (0o755, 0o644, 0o755)


def test_what_is_left_out(source: Path) -> None:
    for name in (
        ".git/config",
        "model/__pycache__/x.pyc",
        ".venv/bin/python",
        "data/raw/a.bin",
        "notes.md",
        "model/old.log",
    ):
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (source / ".neuronkitignore").write_text("# not for the nodes\n*.log\ndata/\n\nnotes.*\n")
    assert {name for name in members(packed(source)) if name.startswith("source/")} == {
        "source/train.py",
        "source/model",
        "source/model/layers.py",
    }


def test_a_pattern_is_tried_on_the_path_too(source: Path) -> None:
    (source / ".neuronkitignore").write_text("model/*.py\n")
    assert "source/model/layers.py" not in members(packed(source))


def test_links_within_the_directory_travel_as_links(source: Path) -> None:
    (source / "latest.py").symlink_to("train.py")
    (source / "model" / "up.py").symlink_to("../train.py")
    found = members(packed(source))
    assert [(found[n].issym(), found[n].linkname) for n in ("source/latest.py", "source/model/up.py")] == [
        (True, "train.py"),
        (True, "../train.py"),
    ]


def test_everything_that_cannot_travel_is_named_at_once(source: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").touch()
    (source / "absolute").symlink_to(source / "train.py")
    (source / "dangling").symlink_to("nowhere")
    (source / "loop").symlink_to("loop")
    (source / "model" / "outside").symlink_to("../../secret")
    os.mkfifo(source / "pipe")
    error = refusal(source)
    assert [line.replace(f"{source}/", "") for line in error.message.splitlines()] == [
        f"absolute: links to {source}/train.py, an absolute path that no node has".replace(f"{source}/", ""),
        "dangling: links to nowhere, which is not there",
        "loop: links to loop, which is not there",
        "model/outside: links to ../../secret, outside of the source directory",
        "pipe: not a file, directory or symbolic link",
    ]
    (source / ".neuronkitignore").write_text("absolute\ndangling\nloop\noutside\npipe\n")
    packed(source)


def test_a_socket_cannot_travel(source: Path, monkeypatch: pytest.MonkeyPatch, socket_enabled: None) -> None:
    monkeypatch.chdir(source)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s.sock")
        assert "s.sock: not a file" in refusal(source).message


def test_a_package_that_is_too_large_names_its_largest_file(source: Path) -> None:
    for name, size in (("weights.bin", 150_000_001), ("small.bin", 50_000_000)):
        with (source / name).open("wb") as file:
            file.truncate(size)  # takes no room on disk
    error = refusal(source)
    assert "200 MB; a package takes 200 MB" in error.message
    assert "weights.bin with 150 MB" in error.message


def test_an_empty_directory(tmp_path: Path) -> None:
    assert "there is no file to run in it" in refusal(tmp_path).message


def test_a_directory_in_which_everything_is_ignored(source: Path) -> None:
    (source / ".neuronkitignore").write_text("*\n")
    assert "there is no file to run in it" in refusal(source).message


def test_an_ignore_file_that_is_not_text(source: Path) -> None:
    (source / ".neuronkitignore").write_bytes(b"\xff\xfe")
    assert ".neuronkitignore: not UTF-8 text" in refusal(source).message


def test_awkward_names_travel(source: Path) -> None:
    names = {"a b.py", "ü.py", "new\nline", "x" * 200}
    for name in names:
        (source / name).touch()
    assert {f"source/{name}" for name in names} <= set(members(packed(source)))


def test_sources(source: Path, tmp_path: Path) -> None:
    assert resolve_source("train", tmp_path) == source
    assert (resolve_source("neuronkit:smoke", tmp_path) / "train.py").is_file()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere", "nowhere: no such directory"),
        ("train/train.py", "not a directory"),
        ("neuronkit:other", "no shipped job is called neuronkit:other"),
    ],
)
def test_sources_that_are_none(source: Path, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        resolve_source(name, source.parent)
