"""Small Python programs of the kit that travel in a container's command: the engines' images are not the kit's own."""

from __future__ import annotations

import base64
import functools
import io
import zipfile
from pathlib import Path

PAYLOADS = Path(__file__).parents[2] / "payload"
_EPOCH = (1980, 1, 1, 0, 0, 0)


@functools.cache
def travelling_program(name: str) -> str:
    """The payload's modules as a zip that `python3 FILE.pyz` runs, in base64. It needs a `__main__.py`."""
    directory = PAYLOADS / name
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path in sorted(directory.glob("*.py")):
            entry = zipfile.ZipInfo(path.name, date_time=_EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes(), compresslevel=9)
    return base64.b64encode(content.getvalue()).decode()
