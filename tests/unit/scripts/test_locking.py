"""FILE.lock: what is resolved, when it is asked again, and that it is written as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scripts import locking
from scripts.aws.ec2 import MachineImage
from scripts.locking import Locked, changes, lock_file
from stacks.domain.errors import InputError
from stacks.domain.lock import Lock, LockedAmi, LockedImage, read_lock
from tests.environments import changed, loaded
from tests.unit.scripts.fakes import a_cloud

DIGEST = "sha256:" + "a" * 64
OTHER_DIGEST = "sha256:" + "b" * 64


class Aws:
    """Answers for every AMI and image, and counts what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.ami: str | None = "ami-0123456789abcdef0"
        self.image: MachineImage | None = MachineImage("ami-0123456789abcdef0", "neuron-2026", "/dev/xvda")
        self.digest: str | None = DIGEST

    def find_parameter(self, cloud: Any, name: str) -> str | None:
        self.asked.append(name)
        return self.ami

    def find_image(self, cloud: Any, image_id: str) -> MachineImage | None:
        self.asked.append(image_id)
        return self.image

    def public_digest(self, uri: str) -> str | None:
        self.asked.append(uri)
        return self.digest

    def private_digest(self, cloud: Any, uri: str) -> str | None:
        self.asked.append(f"{cloud.region} {uri}")
        return self.digest


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Aws:
    made = Aws()
    monkeypatch.setattr(locking.ssm, "find_parameter", made.find_parameter)
    monkeypatch.setattr(locking.ec2, "find_image", made.find_image)
    monkeypatch.setattr(locking.ecr_public, "digest", made.public_digest)
    monkeypatch.setattr(locking.ecr, "find_digest", made.private_digest)
    return made


def lock(
    directory: Path,
    values: dict[str, Any] | None = None,
    *,
    local: bool = False,
    update: bool = False,
    region: str = "us-east-2",
) -> Locked:
    environment = loaded(changed(values or {})).environment
    return lock_file(
        a_cloud(local=local, region=region), environment, directory / "pilot.yaml", update=update
    )


def test_everything_is_resolved_once_and_a_second_run_asks_nothing_and_writes_nothing(
    aws: Aws, tmp_path: Path
) -> None:
    first = lock(tmp_path)
    assert first.path == tmp_path / "pilot.yaml.lock"
    (ami,) = first.lock.amis.values()
    assert (ami.id, ami.name, ami.root_device_name) == ("ami-0123456789abcdef0", "neuron-2026", "/dev/xvda")
    assert ami.driver is not None
    assert [image.digest for image in first.lock.images.values()] == [DIGEST]
    assert len(first.changes) == 2
    content, time = first.path.read_bytes(), first.path.stat().st_mtime_ns
    aws.asked.clear()
    second = lock(tmp_path)
    assert (second.changes, aws.asked) == ((), [])
    assert (first.path.read_bytes(), first.path.stat().st_mtime_ns) == (content, time)
    assert read_lock(first.path) == first.lock
    assert [path.name for path in tmp_path.iterdir()] == ["pilot.yaml.lock"]


def test_update_asks_again_and_says_what_changed(aws: Aws, tmp_path: Path) -> None:
    lock(tmp_path)
    aws.digest = OTHER_DIGEST
    (change,) = lock(tmp_path, update=True).changes
    assert f"{DIGEST} -> {OTHER_DIGEST}" in change


def test_what_is_new_in_the_file_is_added_and_what_is_gone_is_dropped(aws: Aws, tmp_path: Path) -> None:
    before = lock(tmp_path)
    own = "ghcr.io/team/train:v1"
    after = lock(tmp_path, {"software.images": {"jax": own}})
    assert list(after.lock.images) == [own]
    assert after.lock.amis == before.lock.amis
    assert any("no longer needed" in change for change in after.changes)


def test_another_region_is_asked_afresh(aws: Aws, tmp_path: Path) -> None:
    lock(tmp_path)
    aws.ami = "ami-00000000000000001"
    values = {"region": "us-west-2", "network.zone_id": "usw2-az4"}
    moved = lock(tmp_path, values, region="us-west-2")
    assert moved.lock.region == "us-west-2"
    assert {ami.id for ami in moved.lock.amis.values()} == {"ami-00000000000000001"}


def test_an_image_that_the_file_pins_is_not_asked_for(aws: Aws, tmp_path: Path) -> None:
    locked = lock(tmp_path, {"software.images": {"jax": f"ghcr.io/team/train@{DIGEST}"}})
    assert locked.lock.images == {}


def test_an_image_in_private_ecr_is_asked_for_in_its_own_region(aws: Aws, tmp_path: Path) -> None:
    uri = "111122223333.dkr.ecr.eu-west-1.amazonaws.com/train:v1"
    lock(tmp_path, {"software.images": {"jax": uri}})
    assert f"eu-west-1 {uri}" in aws.asked


def test_the_local_clouds_lock_is_a_file_of_its_own_and_says_so(aws: Aws, tmp_path: Path) -> None:
    locked = lock(tmp_path, local=True)
    assert locked.path == tmp_path / "pilot.yaml.local.lock"
    assert locked.lock.resolved_by == "local cloud"
    (image,) = locked.lock.images.values()
    assert image.digest.startswith("sha256:")
    assert image.digest != DIGEST
    assert lock(tmp_path, local=True).changes == ()


FAILURES = [
    ("ami", {}, "has no parameter"),
    ("image", {}, "is not in us-east-2"),
    (
        "digest",
        {"software.images": {"jax": "111122223333.dkr.ecr.us-east-2.amazonaws.com/train:v1"}},
        "no image",
    ),
]


@pytest.mark.parametrize(("missing", "values", "words"), FAILURES)
def test_what_does_not_exist_is_wrong_input_and_nothing_is_written(
    aws: Aws, tmp_path: Path, missing: str, values: dict[str, Any], words: str
) -> None:
    setattr(aws, missing, None)
    with pytest.raises(InputError, match=words):
        lock(tmp_path, values)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_written_is_said(aws: Aws, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        lock(tmp_path / "not-there")


def test_the_words_of_a_change() -> None:
    ami = LockedAmi(id="ami-1", root_device_name="/dev/xvda")
    old = Lock(resolved_by="aws", region="r", amis={"p": ami}, images={"u": LockedImage(digest="d1")})
    new = Lock(resolved_by="aws", region="r", images={"u": LockedImage(digest="d2")})
    assert changes(old, new) == (
        "AMI p: ami-1 (no name, driver unknown) -> no longer needed",
        "image u: d1 -> d2",
    )
