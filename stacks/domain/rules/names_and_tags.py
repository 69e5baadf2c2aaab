"""Names, tags, variables and directories that clash with AWS's or the kit's own."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath

from stacks.domain.environment import Path
from stacks.domain.findings import Severity
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.shipped_jobs import SHIPPED_PREFIX, is_shipped, shipped_jobs

TAG_SOURCE = "Tagging AWS resources user guide, tag naming limits; botocore iam tagKeyType, tagValueType"
BATCH_SOURCE = "AWS Batch user guide, job environment variables"
TAGS_MAX = 40
TAG_KEY_CHARACTERS_MAX = 128
TAG_VALUE_CHARACTERS_MAX = 256
TAG_PUNCTUATION = "_.:/=+-@"
TAG_WORDS = f"letters, digits, spaces and {' '.join(TAG_PUNCTUATION)}"
RESERVED_TAG_PREFIXES = ("aws:", "neuronkit:")
# The bootstrap's own shell variables, and those that bash lets nobody set.
RESERVED_VARIABLES = (
    "work", "state", "command", "command_pid", "failed_node", "signals", "planned_nodes", "processes_per_node", "chips",
    "efa_devices", "sync_seconds", "stop_grace_seconds", "last_copy_seconds", "node_index", "ultraserver_place",
    "BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID",
)  # fmt: skip
# What the kit works out from the file; the job's own value would win over it, or be lost.
WORKED_OUT_VARIABLES = (
    "NEURON_LOGICAL_NC_CONFIG", "NEURON_RT_VIRTUAL_CORE_SIZE", "NEURON_RT_VISIBLE_CORES", "NEURON_RT_NUM_CORES",
    "NEURON_RT_ROOT_COMM_ID", "NEURON_PJRT_PROCESS_INDEX", "NEURON_PJRT_PROCESSES_NUM_DEVICES",
    "NEURON_RT_ULTRASERVER_MODE", "NEURON_RT_ULTRASERVER_SERVER_ID", "NEURON_RT_ULTRASERVER_NODE_ID",
    "NEURON_GLOBAL_TOPOID", "NEURON_GLOBAL_TOPOID0_HOST",
    "JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID",
    "MASTER_ADDR", "MASTER_PORT", "RANK", "LOCAL_RANK", "WORLD_SIZE",
)  # fmt: skip
CORES_SOURCE = "aws-neuron-sdk@81ce03ae about-neuron/arch/neuron-features/logical-neuroncore-config.rst"
EXEC_SOURCE = "execve(2), MAX_ARG_STRLEN"
EXEC_STRING_BYTES_MAX = 131_072
"""Of one argument, or of one variable with its name, `=` and the closing NUL."""
RESERVED_VARIABLE_PREFIXES = (
    "AWS_BATCH",
    "NEURONKIT_",
    "ECS_CONTAINER_METADATA",
    "AWS_CONTAINER_CREDENTIALS",
    "SLURM_",
    "SBATCH_",
    "SRUN_",
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
    yield from _unspellable_tags(facts)
    yield from _tags_that_differ_in_case(facts.environment.tags)
    if len(facts.environment.tags) > TAGS_MAX:
        given = str(len(facts.environment.tags))
        yield Problem(
            ("tags",), given, f"at most {TAGS_MAX}", "AWS allows 50, the kit sets some", at_key=True
        )


def _unspellable_tags(facts: Facts) -> Iterator[Problem]:
    if _unspellable(facts.environment.owner):
        yield Problem(
            ("owner",), repr(facts.environment.owner), TAG_WORDS, "the owner is a tag, too", "reword it"
        )
    for key, value in facts.environment.tags.items():
        if _unspellable(key):
            yield Problem(("tags", key), repr(key), TAG_WORDS, fix="rename it", at_key=True)
        if _unspellable(value):
            yield Problem(("tags", key), repr(value), TAG_WORDS, fix="reword it")


def _unspellable(text: str) -> bool:
    """IAM's alphabet, the narrowest of all: the job's roles are tagged as well."""
    return any(unicodedata.category(c)[0] not in "LNZ" and c not in TAG_PUNCTUATION for c in text)


def _tags_that_differ_in_case(tags: Mapping[str, str]) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for key in tags:
        other = first.setdefault(key.lower(), key)
        if other != key:
            yield Problem(
                ("tags", key),
                repr(key),
                "each key once",
                f"IAM takes it for the same as {other!r}",
                "remove one",
                at_key=True,
            )


def variables_are_free(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        for section, keys in (("environment", job.environment), ("secrets", job.secrets)):
            for key in keys:
                if key.upper().startswith(RESERVED_VARIABLE_PREFIXES) or key in RESERVED_VARIABLES:
                    yield Problem(
                        ("jobs", name, section, key),
                        key,
                        "other names",
                        "set by the scheduler or the kit",
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
        problem = _directory_problem(facts.directory, job.source)
        if problem:
            yield Problem(
                path, repr(job.source), "a directory, relative to this file", problem, "check the path"
            )


def _directory_problem(base: FilePath, source: str) -> str:
    """ "" when there is none."""
    directory = base / source
    try:
        if directory.is_dir():
            return ""
        return "a file, not a directory" if directory.exists() else f"no such directory in {base}"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def variables_are_the_files(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        for section, keys in (("environment", job.environment), ("secrets", job.secrets)):
            for key in keys:
                if key in WORKED_OUT_VARIABLES:
                    yield Problem(
                        ("jobs", name, section, key),
                        key,
                        message="worked out from the file: nodes, processes_per_node, logical_core_size",
                        fix="remove it, and set those keys",
                        at_key=True,
                    )


def commands_can_be_started(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        sizes: list[tuple[Path, int]] = [
            (("jobs", name, "environment", key), len(f"{key}={value}".encode()) + 1)
            for key, value in job.environment.items()
        ]
        sizes += [
            (("jobs", name, "command", i), len(word.encode()) + 1) for i, word in enumerate(job.command)
        ]
        for path, size in sizes:
            if size > EXEC_STRING_BYTES_MAX:
                yield Problem(
                    path,
                    f"{size:,} bytes",
                    f"at most {EXEC_STRING_BYTES_MAX:,}",
                    "Linux starts no program with it",
                    "put it in a file of the job's source",
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
    Rule("NK265", Severity.WARNING, "variable that the kit works out", "plan and job would count differently", CORES_SOURCE, variables_are_the_files),
    Rule("NK266", Severity.ERROR, "longer than Linux takes", "the command fails on every node, on paid time", EXEC_SOURCE, commands_can_be_started),
)  # fmt: skip
