"""The ids of findings about an input's text and shape, for the list in the docs. They come from reading, not from rules."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FormatCheck:
    """Always an error, except NK014."""

    id: str
    title: str
    why: str


FORMAT_CHECKS = (
    FormatCheck("NK001", "no such file", "nothing to read"),
    FormatCheck("NK002", "a directory", "nothing to read"),
    FormatCheck("NK003", "cannot be read", "the system refuses it"),
    FormatCheck("NK004", "too long", "it is not the file that is meant"),
    FormatCheck("NK005", "not UTF-8 text", "tools read other text differently, or not at all"),
    FormatCheck("NK006", "empty", "nothing would be made"),
    FormatCheck("NK007", "not YAML 1.2", "nothing would be made"),
    FormatCheck("NK008", "too many values, aliases counted each time", "no such file is meant"),
    FormatCheck("NK009", "a key twice", "one of the two would be ignored, silently"),
    FormatCheck("NK010", "more than plain YAML", "tags and odd keys are read differently elsewhere"),
    FormatCheck("NK011", "not a mapping", "a file is a mapping of keys to values"),
    FormatCheck("NK012", "several documents", "a file is one environment"),
    FormatCheck("NK013", "a character that is no text", "no other program could print it"),
    FormatCheck(
        "NK014", "a lock that cannot be used", "ids of another region or of the local cloud (a warning)"
    ),
    FormatCheck("NK101", "unknown key", "a typo would change nothing, silently"),
    FormatCheck("NK102", "missing key", "there is no sensible default"),
    FormatCheck("NK103", "wrong kind of value", "a number in quotes, a word for a number"),
    FormatCheck("NK104", "not one of the choices", "there are no others"),
    FormatCheck("NK105", "wrong form", "AWS would refuse the name or id"),
    FormatCheck("NK106", "outside the limits", "AWS, or the kit, takes no more or no less"),
    FormatCheck("NK275", "price file: unknown key", "a typo would change nothing, silently"),
    FormatCheck("NK276", "price file: missing key", "a price says of what, where, when and from whom"),
    FormatCheck("NK277", "price file: wrong value", "a price that is misread is worse than none"),
    FormatCheck("NK278", "price file: no such capacity", "its price would be lost"),
    FormatCheck("NK279", "price file: a row twice", "which one holds is not defined"),
)
