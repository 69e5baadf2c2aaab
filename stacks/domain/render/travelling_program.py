"""Small Python programs of the kit that travel in a container's command: the engines' images are not the kit's own."""

from __future__ import annotations

import base64
import functools
import io
import zipfile
from pathlib import Path

_EPOCH = (1980, 1, 1, 0, 0, 0)
_PAYLOADS = Path(__file__).parents[2] / "payload"


@functools.cache
def travelling_program(name: str) -> str:
    """The payload as a zip that `python3 FILE.pyz` runs, in base64: its `__main__.py` starts it.

    Its modules are a package of the payload's name, so that they import each other there as here.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        _add(archive, f"{name}/__init__.py", b"")
        for path in sorted((_PAYLOADS / name).glob("*.py")):
            place = path.name if path.name == "__main__.py" else f"{name}/{path.name}"
            _add(archive, place, path.read_bytes())
    return base64.b64encode(content.getvalue()).decode()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, date_time=_EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content, compresslevel=9)
