"""A shell script as lint sees it: lines with their places, what it sets, what it uses, what it downloads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from stacks.domain.findings import closest
from stacks.domain.lint.report import Place, Report
from stacks.domain.lint.tree import Node
from stacks.domain.secret_words import looks_secret, names_secret

UNKNOWN_VALUE = "cfn-value"
"""Stands in a script for what CloudFormation would put there, and the file does not say."""

NAMES_COMPARED_MAX = 500
LINE_CHARACTERS_MAX = 10_000
"""What is longer is data."""

_HEREDOC = re.compile(r"<<-?\s*(['\"\\]?)([A-Za-z_]\w*)['\"]?")
_ASSIGNED = re.compile(
    r"(?:^|[\s;&|({`])(?:(?:export|local|readonly|declare|typeset)\s+(?:-\w+\s+)*)?([A-Za-z_]\w*)(?:\[[^]]*\])?\+?="
)
_SET_OTHERWISE = re.compile(
    r"\b(?:for|select)\s+([A-Za-z_]\w*)\b|\b(?:read|mapfile|readarray|local|declare|typeset|getopts)\b([^;|&<>]*)"
    r"|\bprintf\s+-v\s+(\w+)|\(\(\s*([A-Za-z_]\w*)\s*(?:=|\+\+|\+=)|\$\{([A-Za-z_]\w*):?="
)
_USED = re.compile(r"(?<!\\)\$(?:\{([A-Za-z_]\w*)([^}]{0,500})\}|([A-Za-z_]\w*))")
_LITERAL = re.compile(r"""(?:^|[\s;&(])(?:export\s+)?([A-Za-z_]\w*)=("[^"]*"|'[^']*'|[^\s;&|)]*)""")
_ENVIRONMENT_UNKNOWN = re.compile(r"(?:^|[;&|]\s*)\s*(?:source|\.|eval|set\s+-[a-z]*a)\s", re.MULTILINE)
_UNPINNED = (
    re.compile(r"https?://[^\s'\"]*-latest(?=[./'\"\s]|$)[^\s'\"]*|\baws-efa-installer-latest\b\S*"),
    re.compile(r"https?://(?!169\.254\.|\[fd00:)[^\s'\"]*/(?:releases/)?latest/(?:download/)?[^\s'\"]*"),
    re.compile(r"https?://raw\.githubusercontent\.com/[^\s/]+/[^\s/]+/(?:refs/heads/)?(?:main|master|HEAD)/[^\s'\"]*"),
    re.compile(r"https?://github\.com/[^\s'\"]+/(?:archive|tarball|zipball|raw|blob)/(?:refs/heads/)?(?:main|master)\b[^\s'\"]*"),
)  # fmt: skip
# Of bash itself and of what starts a script (cloud-init, Slurm, a container).
_ALWAYS_SET = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|UID|EUID|PPID|GROUPS|HOSTNAME|HOSTTYPE|MACHTYPE|OSTYPE|RANDOM|SRANDOM|SECONDS"
    r"|LINENO|IFS|OPTARG|OPTIND|REPLY|SHLVL|TERM|LANG|TMPDIR|FUNCNAME|PIPESTATUS|DIRSTACK|EPOCH\w+|COLUMNS|LINES"
    r"|LD_LIBRARY_PATH|PYTHONPATH|https?_proxy|no_proxy|(BASH|LC_|SLURM_|SRUN_|SBATCH_|XDG_|CONDA_|VIRTUAL_ENV)\w*"
)


@dataclass(frozen=True, slots=True)
class Line:
    """`is_line` is false where several lines of a script stand in one of the file: then columns say nothing."""

    text: str
    place: Place
    is_line: bool = True

    def at(self, offset: int) -> Place:
        if not self.is_line:
            return self.place
        return Place(self.place.line, (self.place.column or 1) + offset, self.place.path)


@dataclass(frozen=True, slots=True)
class Assignment:
    name: str
    value: str
    place: Place


@dataclass(frozen=True)
class Script:
    lines: tuple[Line, ...]

    @cached_property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @property
    def place(self) -> Place:
        return self.lines[0].place if self.lines else Place()

    @cached_property
    def active(self) -> tuple[Line, ...]:
        """Without comments, without what single quotes and quoted here-documents hide from expansion."""
        return tuple(_active_lines(self, keep_quoted=False))

    @cached_property
    def uncommented(self) -> tuple[Line, ...]:
        """Like `active`, with what is in single quotes."""
        return tuple(_active_lines(self, keep_quoted=True))

    @cached_property
    def assignments(self) -> tuple[Assignment, ...]:
        """`NAME=value` with the value as it is written, without quotes."""
        return tuple(
            Assignment(match[1], match[2].strip("\"'"), line.at(match.start(1)))
            for line in self.uncommented
            for match in _LITERAL.finditer(line.text)
        )  # fmt: skip

    def value_of(self, name: str) -> str | None:
        """The last one given; None where the script does not set it."""
        return next((a.value for a in reversed(self.assignments) if a.name == name), None)


def script_of_text(text: str) -> Script:
    return Script(
        tuple(
            Line(line[:LINE_CHARACTERS_MAX], Place(number, 1))
            for number, line in enumerate(text.splitlines(), 1)
        )
    )


def script_of_node(node: Node, text: str | None = None) -> Script:
    """A scalar's text; each line has its own place where the file's lines are the text's."""
    lines = [line[:LINE_CHARACTERS_MAX] for line in (node.text if text is None else text).split("\n")]
    path = node.place.path
    if not node.spans_lines:
        place = Place(node.line, node.column, path)
        return Script(tuple(Line(line.removesuffix("\r"), place, is_line=False) for line in lines))
    places = (Place(node.text_line + number, node.indent + 1, path) for number in range(len(lines)))
    return Script(tuple(Line(line, place) for line, place in zip(lines, places, strict=True)))


def _active_lines(script: Script, *, keep_quoted: bool) -> Iterator[Line]:
    delimiter: str | None = None
    hidden = in_quote = False
    for line in script.lines:
        if delimiter is not None:
            if line.text.strip() == delimiter:
                delimiter = None
            elif not hidden:
                yield line
            continue
        text, in_quote = _without_single_quoted(line.text, in_quote, keep_quoted)
        yield Line(text, line.place, line.is_line)
        begun = _HEREDOC.search(line.text)
        if begun and "<<<" not in line.text and not in_quote:
            delimiter, hidden = begun[2], bool(begun[1])


def _without_single_quoted(text: str, in_quote: bool, keep: bool) -> tuple[str, bool]:
    """Columns stay as they are: what is hidden becomes blanks."""
    if not in_quote and "'" not in text and "#" not in text:
        return text, False
    result: list[str] = []
    in_double = False
    previous = " "
    for character in text:
        if in_quote:
            in_quote = character != "'"
            result.append(character if keep else " ")
        elif character == "'" and not in_double and previous != "\\":
            in_quote = True
            result.append(character if keep else " ")
        elif character == "#" and not in_double and previous.isspace():
            break
        else:
            if character == '"' and previous != "\\":
                in_double = not in_double
            result.append(character)
        previous = character
    return "".join(result), in_quote


def check_downloads(script: Script, report: Report) -> None:
    for line in script.lines:
        if line.text.lstrip().startswith("#"):
            continue
        found = next((match for pattern in _UNPINNED if (match := pattern.search(line.text))), None)
        if found:
            report.add(
                "NK432",
                line.at(found.start()),
                given=repr(found[0]),
                allowed="a version, with its checksum",
                fix="name the version",
            )


def check_secrets(script: Script, report: Report) -> None:
    assignments = script.assignments
    for assignment in assignments:
        value = assignment.value
        is_plain = value and value[0] not in "$<{`" and value != UNKNOWN_VALUE and "$" not in value
        if looks_secret(value) or (is_plain and names_secret(assignment.name)):
            _add_secret(report, assignment.place, assignment.name)
    assigned = {assignment.place.line for assignment in assignments}
    for line in script.lines:
        if line.place.line not in assigned and looks_secret(line.text):
            _add_secret(report, line.place, "a secret")


def _add_secret(report: Report, place: Place, what: str) -> None:
    report.add(
        "NK250", place, given=f"a plain value for {what}", allowed="a reference to a secret",
        message="looks like a secret in plain text", fix="store it in Secrets Manager, and renew it",
    )  # fmt: skip


def check_variables(script: Script, report: Report, *, is_whole_environment: bool) -> None:
    """`is_whole_environment`: nobody else can have set a variable, so that one not set here is never set.

    Else only those are reported that the script sets in another spelling, and those in small letters, which by
    convention are a script's own.
    """
    if _ENVIRONMENT_UNKNOWN.search(script.text):
        report.skip("NK440", script.place, "the script reads other files, which may set variables")
        return
    lines = script.active
    known = {name for line in lines for name in _names_set(line.text)}
    spellings = {name.lower(): name for name in known}
    for line in lines:
        for match in _USED.finditer(line.text):
            name, suffix = match[1] or match[3], (match[2] or "").lstrip(":")
            if name in known or suffix[:1] in ("-", "=", "+", "?") or _ALWAYS_SET.fullmatch(name):
                continue
            other = spellings.get(name.lower())
            if other or is_whole_environment or name.islower():
                near = other or (closest(name, known) if len(known) < NAMES_COMPARED_MAX else None)
                known.add(name)  # once is enough
                fix = f"did you mean {near!r}?" if near else f"set it, or write a default: ${{{name}:-…}}"
                place = line.at(match.start())
                report.add("NK440", place, given=f"${name}", message=f"{name} is never set", fix=fix)


def _names_set(text: str) -> Iterator[str]:
    yield from _ASSIGNED.findall(text)
    for match in _SET_OTHERWISE.finditer(text):
        for group in match.groups():
            yield from re.findall(r"(?<![\w-])[A-Za-z_]\w*", group or "")


def check_set_twice(script: Script, report: Report) -> None:
    """`export` of a literal twice at the top level, with nothing in between that uses it."""
    lines = script.uncommented
    last: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(lines):
        found = _LITERAL.match(line.text) if line.text.startswith("export ") else None
        if found is None or "$" in found[2]:
            continue
        name, value = found[1], found[2].strip("\"'")
        before = last.get(name)
        if before and before[0] != value and not _is_used(lines[before[1] : number], name):
            message = f"set to {before[0]!r} before, in line {lines[before[1]].place.line}"
            report.add("NK442", line.place, given=f"{name}={value}", message=message, fix="remove one")
        last[name] = (value, number)


def _is_used(lines: tuple[Line, ...], name: str) -> bool:
    """Between the two, or whether only one of them is reached is open."""
    pattern = re.compile(rf"\$\{{?{name}\b|^\s*(if|for|while|else|case|fi|done)\b|\b{name}=.*\$")
    return any(pattern.search(line.text) for line in lines)
