"""Time zones by their IANA names, from the pinned `tzdata` package: never from this machine's files.

So a timetable is the same everywhere, and the shift's controller gets the very rules that the plan was made with.
"""

from __future__ import annotations

import base64
import functools
import io
import zlib
from importlib import resources
from zoneinfo import ZoneInfo

_PACKAGE = "tzdata"


@functools.cache
def zone_names() -> tuple[str, ...]:
    text = resources.files(_PACKAGE).joinpath("zones").read_text(encoding="utf-8")
    return tuple(sorted(text.split()))


def zone_file(name: str) -> bytes:
    """The zone's rules in the TZif format. KeyError for a name that is none."""
    if name not in zone_names():
        raise KeyError(name)
    return resources.files(_PACKAGE).joinpath("zoneinfo", *name.split("/")).read_bytes()


def packed_zone_rules(name: str) -> str:
    """As a controller gets them, in a variable. KeyError for a name that is none."""
    return base64.b64encode(zlib.compress(zone_file(name), 9)).decode()


@functools.cache
def zone(name: str) -> ZoneInfo:
    """KeyError for a name that is none."""
    return ZoneInfo.from_file(io.BytesIO(zone_file(name)), key=name)
