"""User data: what kind it is, the scripts inside, and whether the AMI and the service take it."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass

from stacks.domain.lint import shell, subjects
from stacks.domain.lint.report import Report
from stacks.domain.lint.shell import UNKNOWN_VALUE, Line, Script, script_of_node
from stacks.domain.lint.subjects import Variable
from stacks.domain.lint.tree import Node

BYTES_MAX = 16 * 1024
AL2_BOOTSTRAP = re.compile(r"/etc/eks/bootstrap\.sh")
NODE_CONFIG = re.compile(r"application/node\.eks\.aws|\bkind:\s*NodeConfig\b")
BOUNDARY = re.compile(r"boundary=\"?([^\"\s;]+)\"?", re.IGNORECASE)
SUBSTITUTION = re.compile(r"\$\{(!?)([^}]*)\}")
OTHER_FORMATS = (
    "#cloud-config",
    "#cloud-boothook",
    "#include",
    "<powershell>",
    "<script>",
    "#upstart-job",
    "## template",
    "[settings",
)


@dataclass(frozen=True, slots=True)
class UserData:
    """`script` holds all lines; `whole` is false where parts of the text are not known."""

    script: Script
    whole: bool

    @property
    def is_mime(self) -> bool:
        head = self.script.text[:2000].lower()
        return "content-type: multipart/" in head or head.startswith("mime-version:")


ValueOf = Callable[[str], str]
"""What a name in `${}` or `!Ref` stands for, or UNKNOWN_VALUE."""


def read(node: Node, raw: Node, value_of: ValueOf = lambda _: UNKNOWN_VALUE) -> UserData | None:
    """`raw` is the node as it is written, with its intrinsic functions; None where nothing is known of it."""
    if raw.missing:
        return None
    script, whole = _script(raw, value_of)
    if script is None:
        return None
    text = script.text
    if node.known and "\n" not in text and re.fullmatch(r"[A-Za-z0-9+/=\s]{16,}", text):
        decoded = _decoded(text)
        if decoded is not None:
            return UserData(script_of_node(raw, decoded), True)
    return UserData(script, whole)


def _decoded(text: str) -> str | None:
    try:
        return base64.b64decode(text, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None


def _script(raw: Node, value_of: ValueOf) -> tuple[Script | None, bool]:
    if isinstance(raw.value, str):
        return script_of_node(raw), True
    if not raw.is_mapping or len(raw.value) != 1:
        return None, False
    (function, inner) = next(raw.items())
    if function == "Fn::Base64":
        return _script(inner, value_of)
    if function == "Fn::Sub":
        template = inner.elements()[0] if inner.elements() else inner
        if isinstance(template.value, str):
            return script_of_node(
                template,
                SUBSTITUTION.sub(lambda m: f"${{{m[2]}}}" if m[1] else value_of(m[2]), template.value),
            ), False
    if function == "Fn::Join":
        return _joined(inner, value_of), False
    return None, False


def _joined(inner: Node, value_of: ValueOf) -> Script | None:
    parts = inner.elements()
    if len(parts) != 2 or not parts[1].elements():
        return None
    separator = parts[0].text
    lines: list[Line] = []
    for number, part in enumerate(parts[1].elements()):
        inner_script = _script(part, value_of)[0]
        text = inner_script.text if inner_script else value_of(part.get("Ref").text)
        pieces = ((separator if number else "") + text).split("\n")
        if lines:
            lines[-1] = Line(lines[-1].text + pieces[0], lines[-1].place, is_line=False)
            pieces = pieces[1:]
        lines += [Line(piece, part.place, is_line=False) for piece in pieces]
    return Script(tuple(lines))


def check(
    data: UserData, node: Node, report: Report, *, must_be_mime: str = "", ami_family: str = ""
) -> None:
    """`must_be_mime` names the service that merges it; `ami_family` is "AL2", "AL2023" or "" where not known."""
    text = data.script.text
    size = len(text.encode())
    if data.whole and size > BYTES_MAX:
        report.add(
            "NK437",
            node.place,
            given=f"{size:,} bytes",
            allowed=f"at most {BYTES_MAX:,} bytes",
            fix="fetch the rest from S3",
        )
    if must_be_mime and not data.is_mime and text.strip():
        report.add(
            "NK434",
            data.script.place,
            given=repr(text.strip().split("\n")[0]),
            allowed="MIME multipart",
            message=f"{must_be_mime} takes nothing else",
            fix="begin with MIME-Version: 1.0, and put the script in a text/x-shellscript part",
        )
    _check_family(data, ami_family, report)
    for script in shell_parts(data):
        _check_shebang(script, report)
        check_script(script, report)


def _check_family(data: UserData, ami_family: str, report: Report) -> None:
    for line in data.script.lines:
        if line.text.lstrip().startswith("#") and "!" not in line.text:
            continue
        if ami_family == "AL2023" and AL2_BOOTSTRAP.search(line.text):
            report.add(
                "NK435",
                line.place,
                given="/etc/eks/bootstrap.sh",
                allowed="a NodeConfig part (application/node.eks.aws)",
                message="bootstrap.sh is AL2's; an AL2023 AMI has nodeadm",
                fix="write a NodeConfig",
            )
        if ami_family == "AL2" and NODE_CONFIG.search(line.text):
            report.add(
                "NK435",
                line.place,
                given="NodeConfig",
                allowed="/etc/eks/bootstrap.sh",
                message="nodeadm is AL2023's",
                fix="use an AL2023 AMI",
            )


def check_script(script: Script, report: Report, *, is_whole_environment: bool = True) -> None:
    shell.check_downloads(script, report)
    shell.check_secrets(script, report)
    shell.check_variables(script, report, is_whole_environment=is_whole_environment)
    shell.check_set_twice(script, report)
    subjects.check_variables((Variable(a.name, a.value, a.place) for a in script.assignments), report)


def _check_shebang(script: Script, report: Report) -> None:
    first = next((line for line in script.lines if line.text.strip()), None)
    if first is None or first.text.startswith("#!"):
        return
    starts = first.text.lstrip()
    if not starts.startswith((*OTHER_FORMATS, UNKNOWN_VALUE, "---", "apiVersion")):
        report.add(
            "NK441",
            first.place,
            given=repr(first.text),
            allowed="a first line such as #!/bin/bash",
            message="cloud-init does not run it as a script",
            fix="write #!/bin/bash in front",
        )


def shell_parts(data: UserData) -> list[Script]:
    """The scripts of a MIME text, or the whole where it is a script."""
    if not data.is_mime:
        starts = data.script.text.lstrip()
        return (
            []
            if starts.startswith(OTHER_FORMATS) or NODE_CONFIG.search(starts) or not starts
            else [data.script]
        )
    boundary = BOUNDARY.search(data.script.text)
    if boundary is None:
        return []
    return [part for lines in _parts(data.script.lines, boundary[1]) if (part := _shell_part(lines))]


def _parts(lines: tuple[Line, ...], boundary: str) -> list[list[Line]]:
    parts: list[list[Line]] = []
    for line in lines:
        if line.text.strip() in (f"--{boundary}", f"--{boundary}--"):
            parts.append([])
        elif parts:
            parts[-1].append(line)
    return parts


def _shell_part(lines: list[Line]) -> Script | None:
    blank = next((n for n, line in enumerate(lines) if not line.text.strip()), len(lines))
    headers = " ".join(line.text for line in lines[:blank]).lower()
    body = lines[blank + 1 :]
    return Script(tuple(body)) if "text/x-shellscript" in headers and body else None
