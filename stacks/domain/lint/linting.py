"""Files in, findings out: each is decoded, recognised and given to the checks of its kind, then all are compared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from stacks.domain.catalog import Catalog
from stacks.domain.findings import Finding, NotChecked
from stacks.domain.lint import batch_jobs, cloudformation, kubernetes, sbatch, user_data
from stacks.domain.lint.kubernetes import Manifest
from stacks.domain.lint.recognition import (
    BYTES_MAX,
    Kind,
    begins_like_yaml,
    decode,
    document_kind,
    may_be_structured,
    text_kind,
)
from stacks.domain.lint.report import NOWHERE, Place, Report
from stacks.domain.lint.shell import script_of_text
from stacks.domain.lint.tree import Node, read_documents


@dataclass(frozen=True, slots=True)
class Input:
    """`content` holds at most one byte more than lint reads; `problem` says why there is none."""

    file: str
    content: bytes
    named: bool
    """By the user, and not found in a directory: then a file of no known kind is a finding."""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    file: str
    why: str


@dataclass(slots=True)
class Linted:
    findings: tuple[Finding, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    skipped: list[Skipped] = field(default_factory=list)
    files: int = 0
    """That were of a known kind."""


@dataclass(slots=True)
class _Collected:
    """What is compared over all files."""

    manifests: list[Manifest] = field(default_factory=list)
    job_definitions: list[Node] = field(default_factory=list)
    templates: list[tuple[Node, Report]] = field(default_factory=list)


def lint(inputs: Iterable[Input], catalog: Catalog) -> Linted:
    result, together = Linted(), _Collected()
    reports = []
    for item in inputs:
        report = Report(item.file)
        reports.append(report)
        reason = _lint_one(item, catalog, report, together)
        if reason:
            result.skipped.append(Skipped(item.file, reason))
        else:
            result.files += 1
    kubernetes.check(together.manifests, catalog)
    if any(batch_jobs.is_multi_node(definition) for definition in together.job_definitions):
        for root, report in together.templates:
            cloudformation.check_multi_node_support(root, report)
    result.findings = tuple(f for report in reports for f in report.findings)
    result.not_checked = tuple(n for report in reports for n in report.not_checked)
    return result


def _lint_one(item: Input, catalog: Catalog, report: Report, together: _Collected) -> str:
    """Why it was skipped, or "" where it was looked at (or has a finding that says why not)."""
    text = _text(item, report)
    if text is None:
        return "" if item.named or report.findings else "binary, or too large"
    kind = text_kind(text, named=item.named)
    if kind is not None:
        _lint_script(text, kind, catalog, report)
        return ""
    if not item.named and not may_be_structured(text):
        return "no known kind"
    return _lint_documents(text, item, catalog, report, together)


def _text(item: Input, report: Report) -> str | None:
    if item.problem:
        report.keep(report.finding("NK003", message=item.problem, fix="check the path and its permissions"))
        return None
    if len(item.content) > BYTES_MAX:
        if item.named:
            report.keep(
                report.finding(
                    "NK004",
                    given=f"more than {BYTES_MAX:,} bytes",
                    fix="name the file that is deployed, or split it",
                )
            )
        return None
    text, oddity = decode(item.content)
    if text is None:
        if item.named:
            report.keep(report.finding("NK005", given=oddity, fix="name a text file, saved as UTF-8"))
        return None
    if not text.strip():
        if item.named:
            report.keep(report.finding("NK006", fix="write something into it, or remove it"))
            return None
        return text
    if oddity and (item.named or text_kind(text, named=False) or may_be_structured(text)):
        _check_encoding(text, oddity, report)
    return text


def _check_encoding(text: str, oddity: str, report: Report) -> None:
    if text_kind(text, named=True) is not None:
        report.add(
            "NK441",
            Place(1, 1),
            given=oddity,
            allowed="UTF-8 without a byte order mark",
            message="the first bytes are not #!",
            fix="save it as UTF-8",
        )
    elif oddity == "UTF-16":
        report.add("NK005", Place(1, 1), given=oddity, allowed="UTF-8", fix="save it as UTF-8")


def _lint_script(text: str, kind: Kind, catalog: Catalog, report: Report) -> None:
    script = script_of_text(text)
    first = text.split("\n", 1)[0]
    if first.startswith("#!") and first.endswith("\r"):
        report.add(
            "NK441",
            Place(1, 1),
            given="lines that end in CR LF",
            allowed="LF",
            message="the kernel looks for an interpreter whose name ends in CR",
            fix="save it with Unix line ends",
        )
    if kind is Kind.SBATCH:
        sbatch.check(script, catalog, report)
    elif kind is Kind.SHELL:
        user_data.check_script(script, report, is_whole_environment=False)
    else:
        node = Node(text, 1, 1, (), text_line=1, spans_lines=True)
        user_data.check(user_data.UserData(script, whole=True), node, report)


def _lint_documents(text: str, item: Input, catalog: Catalog, report: Report, together: _Collected) -> str:
    documents, problem = read_documents(text, item.file, report)
    if problem is not None:
        if not item.named and ("{{" in text or not begins_like_yaml(text)):
            return "a template of another tool (Helm, Jinja)" if "{{" in text else "no known kind"
        report.keep(problem)
        return ""
    kinds = [document_kind(document) for document in documents]
    for document, kind in zip(documents, kinds, strict=True):
        if kind is Kind.CLOUDFORMATION:
            cloudformation.check(document, catalog, report)
            together.templates.append((document, report))
        elif kind is Kind.LAUNCH_TEMPLATE:
            cloudformation.check_launch_template_data(document, catalog, report)
        elif kind is Kind.BATCH:
            batch_jobs.check(document, catalog, report)
            together.job_definitions.append(document)
    manifest = tuple(d for d, kind in zip(documents, kinds, strict=True) if kind is Kind.KUBERNETES)
    if manifest:
        together.manifests.append(Manifest(manifest, report))
    if any(kinds):
        return ""
    report.forget()
    if item.named:
        report.add("NK401", NOWHERE, allowed=", ".join(kind.value for kind in Kind), fix="name another file")
        return ""
    return "no known kind"
