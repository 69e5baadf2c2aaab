"""Compiled graphs: made once, kept beside a manifest of all that decided them, copied to the engine's own disk.

Copied, because the engine's cache takes file locks that it does not trust over NFS (vllm-neuron compilation_cache);
compared, because NxD Inference loads what it finds and ignores differences in configuration.
"""

from __future__ import annotations

import json
import shutil
import uuid
from pathlib import Path

from engine.refusal import RefusalError, say

MANIFEST = "manifest.json"
FILES = "files"


def is_warm(shared: Path, manifest: str) -> bool:
    """Says why not, where something is there that is not ours."""
    try:
        found = json.loads((shared / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:
        say(f"{shared / MANIFEST} cannot be read, what is beside it is not used: {error}")
        return False
    wanted = json.loads(manifest)
    if found == wanted:
        return True
    names = ", ".join(sorted(n for n in {*found, *wanted} if found.get(n) != wanted.get(n)))
    say(f"{shared} was compiled for something else, it is not used; different: {names}")
    return False


def load(shared: Path, local: Path, manifest: str) -> bool:
    """Whether the start is warm."""
    if not is_warm(shared, manifest):
        say(
            "cold: nothing is compiled for this engine and these shapes; this start compiles, for minutes to an hour"
        )
        return False
    shutil.copytree(shared / FILES, local, dirs_exist_ok=True)
    say(f"warm: compiled graphs of {shared.name}")
    return True


def save(shared: Path, local: Path, manifest: str) -> None:
    """Appears whole, by a rename. What another task saved meanwhile stays."""
    if not local.is_dir() or not any(path.is_file() for path in local.rglob("*")):
        raise RefusalError(f"the engine was ready but wrote nothing to {local}: there is nothing to share")
    staging = shared.parent / f".{shared.name}.{uuid.uuid4().hex}"
    try:
        shutil.copytree(local, staging / FILES)
        (staging / MANIFEST).write_text(manifest, encoding="utf-8")
        if shared.exists() and not is_warm(shared, manifest):
            shutil.rmtree(shared)
        staging.rename(shared)
    except OSError as error:
        if not is_warm(shared, manifest):
            raise RefusalError(f"{shared} cannot be written: {error}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    say(f"saved {shared.name}")
