"""Secrets belong in Secrets Manager or SSM: the file, the job definition and the logs are read by many."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stacks.domain.findings import Severity
from stacks.domain.rules.rule import Facts, Problem, Rule

SOURCE = "AWS Batch user guide, specifying-sensitive-data"

_VALUES = re.compile(
    r"(?<![A-Za-z0-9])(hf_[A-Za-z0-9]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|(AKIA|ASIA)[A-Z0-9]{16}"
    r"|sk-[A-Za-z0-9_-]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}|glpat-[A-Za-z0-9_-]{20,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----|eyJ[A-Za-z0-9_-]{10,}\.eyJ)"
)
_NAMES = re.compile(
    r"(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|API_?KEY|ACCESS_KEY|PRIVATE_KEY)(_ID)?$", re.IGNORECASE
)
_URL_PASSWORD = re.compile(r"://[^/\s:@]+:[^/\s@]+@")


def no_plain_secrets(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        for key, value in job.environment.items():
            if _NAMES.search(key) or _looks_secret(value):
                yield Problem(
                    ("jobs", name, "environment", key),
                    f"a plain value for {key}",
                    "the ARN of a secret, under `secrets`",
                    "looks like a secret in plain text",
                    f"store it in Secrets Manager and move {key} to jobs.{name}.secrets",
                )
        for index, word in enumerate(job.command):
            if _looks_secret(word):
                yield Problem(
                    ("jobs", name, "command", index),
                    "a plain value",
                    "a variable that `secrets` sets",
                    "looks like a secret in plain text",
                    "store it in Secrets Manager and read it from a variable",
                )


def no_secret_tags(facts: Facts) -> Iterator[Problem]:
    for key, value in facts.environment.tags.items():
        if _looks_secret(value):
            yield Problem(
                ("tags", key),
                "a plain value",
                "no secret",
                "tags are read by many",
                "remove it, and renew the secret",
            )


def _looks_secret(text: str) -> bool:
    return bool(_VALUES.search(text) or _URL_PASSWORD.search(text))


RULES = (
    Rule("NK250", Severity.ERROR, "secret in plain text", "everyone who may describe the job reads it", SOURCE, no_plain_secrets),
    Rule("NK251", Severity.ERROR, "secret in a tag", "tags show in bills and lists", SOURCE, no_secret_tags),
)  # fmt: skip
