"""FILE.lock: what was resolved once (AMI ids, image digests) and is committed, so that synth needs no credentials."""

from __future__ import annotations

import json
import re
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from stacks.domain.errors import InputError

LOCK_VERSION = 1
_AMI_ID = re.compile(r"ami-[0-9a-f]{8,17}")
_DEVICE_NAME = re.compile(r"/dev/[a-z0-9]+")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LockedAmi(_Model):
    """`reference` is what was asked for: an SSM parameter or an AMI id."""

    id: str
    name: str | None = None
    root_device_name: str
    driver: str | None = None
    driver_is_derived: bool = True


class LockedImage(_Model):
    digest: str


class Lock(_Model):
    """`resolved_by` is "aws" or "local cloud"; a lock of the local cloud is refused by a real deploy."""

    version: int = LOCK_VERSION
    resolved_by: str
    region: str
    amis: dict[str, LockedAmi] = {}
    images: dict[str, LockedImage] = {}

    def text(self) -> str:
        body = {"about": "written by `neuronkit lock`; commit it", **self.model_dump()}
        return json.dumps(body, indent=2, sort_keys=True) + "\n"


def lock_path(environment_file: Path, *, local: bool = False) -> Path:
    """`trn2.yaml` -> `trn2.yaml.lock`, or `trn2.yaml.local.lock` for what the local cloud answered."""
    suffix = ".local.lock" if local else ".lock"
    return environment_file.with_name(environment_file.name + suffix)


def read_lock(path: Path) -> Lock | None:
    """None when there is no such file; InputError when it cannot be read as a lock."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: cannot be read: {error}", "delete it and run `neuronkit lock` again"
        ) from error
    try:
        body = json.loads(text)
        lock = Lock.model_validate({key: value for key, value in body.items() if key != "about"})
    except (ValueError, AttributeError, RecursionError, ValidationError) as error:
        raise InputError(f"{path}: not a lock file", "delete it and run `neuronkit lock` again") from error
    if lock.version != LOCK_VERSION:
        raise InputError(
            f"{path}: lock version {lock.version}; this kit reads {LOCK_VERSION}",
            "run `neuronkit lock` again",
        )
    malformed = _malformed(lock)
    if malformed:
        raise InputError(
            f"{path}: no AMI id, device name or image digest: {', '.join(map(repr, malformed))}",
            "delete it and run `neuronkit lock` again",
        )
    return lock


def _malformed(lock: Lock) -> list[str]:
    """What a person edited, or a merge spoilt: it would go into templates as it stands."""
    written = [
        *((_AMI_ID, ami.id) for ami in lock.amis.values()),
        *((_DEVICE_NAME, ami.root_device_name) for ami in lock.amis.values()),
        *((_DIGEST, image.digest) for image in lock.images.values()),
    ]
    return [value for pattern, value in written if not pattern.fullmatch(value)]
