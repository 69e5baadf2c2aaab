"""Names, tags, variables and directories that clash with AWS's or the kit's own."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.findings import Severity
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.shipped_jobs import SHIPPED_PREFIX, is_shipped, shipped_jobs

TAG_SOURCE = "Tagging AWS resources user guide, tag naming limits"
BATCH_SOURCE = "AWS Batch user guide, job environment variables"
TAGS_MAX = 40
TAG_KEY_CHARACTERS_MAX = 128
TAG_VALUE_CHARACTERS_MAX = 256
RESERVED_TAG_PREFIXES = ("aws:", "neuronkit:")
RESERVED_VARIABLE_PREFIXES = (
    "AWS_BATCH",
    "NEURONKIT_",
    "ECS_CONTAINER_METADATA",
    "AWS_CONTAINER_CREDENTIALS",
)


def tags_are_free(facts: Facts) -> Iterator[Problem]:
    for key, value in facts.environment.tags.items():
        if key.lower().startswith(RESERVED_TAG_PREFIXES):
            yield Problem(
                ("tags", key),
                repr(key),
                "other prefixes",
                "aws: and neuronkit: are reserved",
                "rename it",
                at_key=True,
            )
        elif not 1 <= len(key) <= TAG_KEY_CHARACTERS_MAX:
            yield Problem(
                ("tags", key), f"{len(key)} characters", f"1 to {TAG_KEY_CHARACTERS_MAX}", at_key=True
            )
        if len(value) > TAG_VALUE_CHARACTERS_MAX:
            yield Problem(("tags", key), f"{len(value)} characters", f"at most {TAG_VALUE_CHARACTERS_MAX}")
    if len(facts.environment.tags) > TAGS_MAX:
        given = str(len(facts.environment.tags))
        yield Problem(
            ("tags",), given, f"at most {TAGS_MAX}", "AWS allows 50, the kit sets some", at_key=True
        )


def variables_are_free(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        for section, keys in (("environment", job.environment), ("secrets", job.secrets)):
            for key in keys:
                if key.upper().startswith(RESERVED_VARIABLE_PREFIXES):
                    yield Problem(
                        ("jobs", name, section, key),
                        key,
                        "other names",
                        "set by AWS Batch or the kit",
                        "rename it",
                        at_key=True,
                    )


def variables_are_set_once(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        for key in job.secrets:
            if key in job.environment:
                yield Problem(
                    ("jobs", name, "secrets", key),
                    key,
                    message="set under environment, too",
                    fix="remove one",
                    at_key=True,
                )


def source_exists(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        path = ("jobs", name, "source")
        if is_shipped(job.source):
            shipped = shipped_jobs()
            if job.source.removeprefix(SHIPPED_PREFIX) not in shipped:
                yield Problem(
                    path,
                    repr(job.source),
                    ", ".join(SHIPPED_PREFIX + s for s in shipped),
                    "no such shipped job",
                )
            continue
        directory = facts.directory / job.source
        if not directory.is_dir():
            kind = "a file, not a directory" if directory.exists() else f"no such directory: {directory}"
            yield Problem(
                path, repr(job.source), "a directory, relative to this file", kind, "check the path"
            )


def account_is_named(facts: Facts) -> Iterator[Problem]:
    if facts.environment.account is None:
        yield Problem(
            ("account",),
            "null",
            message="no account: a deploy to AWS refuses until it stands here, so that nothing lands in the wrong one",
            fix="write the 12 digits in quotes (`aws sts get-caller-identity`); the local cloud needs none",
        )


RULES = (
    Rule("NK260", Severity.ERROR, "tag that cannot be set", "deploys fail half-way on a bad tag", TAG_SOURCE, tags_are_free),
    Rule("NK261", Severity.ERROR, "reserved variable", "the node bootstrap relies on them", BATCH_SOURCE, variables_are_free),
    Rule("NK262", Severity.ERROR, "variable set twice", "which one wins is not defined", BATCH_SOURCE, variables_are_set_once),
    Rule("NK263", Severity.ERROR, "source that is not there", "the user's code travels with the job", "`neuronkit schema`", source_exists),
    Rule("NK264", Severity.WARNING, "no account", "credentials decide, and they change", "`neuronkit schema`", account_is_named),
)  # fmt: skip
