"""A lock file that people commit: merged by hand, half written, copied from another region."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.loading import LoadedPlan, load_plan
from stacks.domain.errors import InputError
from stacks.domain.lock import Lock, LockedAmi, LockedImage, lock_path, read_lock
from stacks.domain.pinned import UNRESOLVED_AMI
from tests.environments import changed, plan_of

AMI_ID = "ami-0123456789abcdef0"
DIGEST = "sha256:" + "a" * 64


def lock_with(**changes: object) -> Lock:
    """Of everything that the base file needs."""
    ami, image = plan_of().cluster("train").ami, plan_of().job("smoke").image
    assert ami is not None
    assert image is not None
    lock = Lock(
        resolved_by="aws",
        region="us-east-2",
        amis={ami.reference: LockedAmi(id=AMI_ID, root_device_name="/dev/xvda")},
        images={image.uri: LockedImage(digest=DIGEST)},
    )
    return lock.model_copy(update=changes)


def load(lock: str, directory: Path, *, local: bool = False) -> LoadedPlan:
    file = directory / "e.yaml"
    file.write_text(changed({}))
    lock_path(file, local=local).write_text(lock)
    return load_plan(file, local=local)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "e.yaml.lock"
    path.write_text(lock_with().text())
    assert read_lock(path) == lock_with()


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "null", "[]", '"x"', "1", "{}", "<<<<<<< HEAD\n{}", "[" * 100_000, "\ufeff{}", '{"version": ' + "1" * 5000 + "}",
        lock_with().text()[:-30], json.dumps({"unknown": 1, **lock_with().model_dump()}),
    ],
)  # fmt: skip
def test_what_is_no_lock(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a lock file"):
        load(text, tmp_path)


def test_another_version(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lock version 2"):
        load(lock_with(version=2).text(), tmp_path)


@pytest.mark.parametrize("content", [b"\xff\xfe{", None])
def test_a_file_that_cannot_be_read(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "e.yaml.lock"
    path.write_bytes(content) if content else path.mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        read_lock(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"amis": {"p": LockedAmi(id="ami-TODO", root_device_name="/dev/xvda")}},
        {"amis": {"p": LockedAmi(id=AMI_ID, root_device_name="")}},
        {"images": {"u": LockedImage(digest="sha256:12")}},
    ],
)
def test_values_that_no_template_may_get(changes: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no AMI id, device name or image digest"):
        load(lock_with(**changes).text(), tmp_path)


@pytest.mark.parametrize("changes", [{"region": "us-east-1"}, {"resolved_by": "local cloud"}])
def test_ids_of_elsewhere_are_not_used(changes: dict[str, object], tmp_path: Path) -> None:
    loaded = load(lock_with(**changes).text(), tmp_path)
    ami = loaded.plan.cluster("train").ami
    assert [f.id for f in loaded.findings] == ["NK014"]
    assert ami is not None
    assert ami.id == UNRESOLVED_AMI
    assert loaded.lock is not None  # deploy says why it refuses


def test_the_local_cloud_reads_its_own(tmp_path: Path) -> None:
    loaded = load(lock_with(resolved_by="local cloud").text(), tmp_path, local=True)
    ami = loaded.plan.cluster("train").ami
    assert loaded.findings == ()
    assert ami is not None
    assert ami.id == AMI_ID
