"""A model is fetched once, whole, and what cannot be fetched is said."""

from __future__ import annotations

import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest
from engine import model_files
from engine.model_files import fetch_model, place_in_s3
from engine.one_at_a_time import one_at_a_time
from engine.refusal import RefusalError


class Bucket:
    """In place of boto3's client: the two calls that the program makes."""

    def __init__(self, keys: list[str], seconds: float = 0) -> None:
        self.keys, self.seconds, self.downloads = keys, seconds, 0

    def get_paginator(self, _: str) -> Bucket:
        return self

    def paginate(self, **wanted: str) -> list[dict[str, Any]]:
        return [{"Contents": [{"Key": key}]} for key in self.keys if key.startswith(wanted["Prefix"])]

    def download_file(self, _: str, key: str, path: str) -> None:
        time.sleep(self.seconds)
        self.downloads += 1
        Path(path).write_text(key)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Bucket:
    found = Bucket(["m/config.json", "m/deep/weights.safetensors", "m/", "m-2/config.json"])
    monkeypatch.setitem(sys.modules, "boto3", types.SimpleNamespace(client=lambda _: found))  # type: ignore[arg-type]
    return found


def test_all_files_under_the_prefix_and_no_neighbours(bucket: Bucket, tmp_path: Path) -> None:
    directory = fetch_model("s3://b/m", None, tmp_path / "models" / "m", 5)
    files = {str(p.relative_to(directory)) for p in directory.rglob("*") if p.is_file()}
    assert files == {"config.json", "deep/weights.safetensors", ".neuronkit-complete"}


def test_a_model_that_is_there_is_not_fetched_again(bucket: Bucket, tmp_path: Path) -> None:
    for _ in range(2):
        fetch_model("s3://b/m", None, tmp_path / "m", 5)
    assert bucket.downloads == 2


def test_replicas_that_start_together_fetch_once(bucket: Bucket, tmp_path: Path) -> None:
    """As processes: the lock is of a process."""
    program = Path(__file__).resolve().parents[4] / "stacks" / "payload"
    stub = tmp_path / "stub"
    stub.mkdir()
    (stub / "boto3.py").write_text(
        "import pathlib, time, uuid\n"
        "class C:\n"
        "    def get_paginator(self, _): return self\n"
        "    def paginate(self, Bucket, Prefix): return [{'Contents': [{'Key': Prefix + 'a'}]}]\n"
        "    def download_file(self, b, k, p):\n"
        f"        pathlib.Path({str(tmp_path)!r}, 'fetched-' + uuid.uuid4().hex).touch(); time.sleep(0.5)\n"
        "        pathlib.Path(p).touch()\n"
        "def client(_): return C()\n"
    )
    words = [
        "-m",
        "engine",
        "model",
        "--source",
        "s3://b/m",
        "--directory",
        str(tmp_path / "m"),
        "--wait-seconds",
        "20",
    ]
    started = [
        subprocess.Popen(
            [sys.executable, *words],
            env={"PYTHONPATH": f"{stub}:{program}"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    assert [process.communicate(timeout=30)[0].strip() for process in started] == [str(tmp_path / "m")] * 3
    assert len(list(tmp_path.glob("fetched-*"))) == 1


def test_waiting_is_bounded(tmp_path: Path) -> None:
    lock = tmp_path / ".m.lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", f"import fcntl,sys\nf=open({str(lock)!r},'w')\nfcntl.lockf(f,fcntl.LOCK_EX)\nprint('held',flush=True)\nsys.stdin.read()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert holder.stdout is not None
    holder.stdout.readline()
    try:
        with pytest.raises(RefusalError, match="did not end"), one_at_a_time(lock, "the model", 0.3):
            pass
    finally:
        holder.communicate(b"", timeout=10)
    with one_at_a_time(lock, "the model", 0.3):
        """The lock of a process that ended is free."""


def test_an_interrupted_fetch_leaves_no_model(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket, "download_file", lambda *_: 1 / 0)
    with pytest.raises(RefusalError, match="ZeroDivisionError"):
        fetch_model("s3://b/m", None, tmp_path / "m", 5)
    assert not (tmp_path / "m").exists()
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "boto3", types.SimpleNamespace(client=lambda _: bucket))  # type: ignore[arg-type]
    assert fetch_model("s3://b/m", None, tmp_path / "m", 5).is_dir()


def test_an_empty_prefix_is_refused(bucket: Bucket, tmp_path: Path) -> None:
    with pytest.raises(RefusalError, match="no files"):
        fetch_model("s3://b/nothing", None, tmp_path / "m", 5)


def test_a_key_that_leads_out_of_the_directory_is_refused(bucket: Bucket, tmp_path: Path) -> None:
    bucket.keys = ["m/../../../etc/passwd"]
    with pytest.raises(RefusalError, match="outside"):
        fetch_model("s3://b/m", None, tmp_path / "m", 5)


def test_what_the_image_lacks_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "_module", lambda _: None)
    monkeypatch.setattr(model_files.shutil, "which", lambda _: None)
    with pytest.raises(RefusalError, match="neither boto3 nor the aws command"):
        fetch_model("s3://b/m", None, tmp_path / "m", 5)
    with pytest.raises(RefusalError, match="no huggingface_hub"):
        fetch_model("hf:o/m", None, tmp_path / "m", 5)


def test_hugging_face_gets_revision_and_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def snapshot_download(repository: str, **options: Any) -> None:
        asked.update(options, repository=repository)
        Path(options["local_dir"], "config.json").touch()

    hub = types.SimpleNamespace(snapshot_download=snapshot_download)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)  # type: ignore[arg-type]
    monkeypatch.setenv("HF_TOKEN", "secret")
    fetch_model("hf:o/m", "abc", tmp_path / "m", 5)
    assert (asked["repository"], asked["revision"], asked["token"]) == ("o/m", "abc", "secret")


def test_the_environments_bucket_is_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURONKIT_BUCKET", "mine")
    assert place_in_s3("bucket:models/llama/") == ("mine", "models/llama/")
    monkeypatch.delenv("NEURONKIT_BUCKET")
    with pytest.raises(RefusalError, match="NEURONKIT_BUCKET"):
        place_in_s3("bucket:models/llama")
