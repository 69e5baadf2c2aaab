"""Slurm settings by name against what AWS PCS takes, at which level and from which version. Only the service checks them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from stacks.domain.environment import SlurmSettings
from stacks.domain.findings import Severity, closest, one_of
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.rules.slurm import slurm_blocks
from stacks.domain.slurm import SettingLevel, is_older, slurm_settings

LISTS_SOURCE = "AWS PCS user guide, slurm-custom-settings-cluster, -cng and -queue (2026-11)"
QOS_SOURCE = (
    "AWS PCS user guide, slurm-versions_release-notes: slurmctld 25.11 exits on a QOS that is not there"
)
MEMORY_SOURCE = "AWS PCS user guide, working-with_cng_create (GB) against slurm.conf(5) (MB)"
ACCOUNTING_SOURCE = "AWS PCS user guide, slurm-accounting; slurm.conf(5)"
LEVELS: Final[tuple[tuple[str, SettingLevel], ...]] = (
    ("cluster_settings", "cluster"),
    ("node_settings", "node group"),
    ("queue_settings", "queue"),
)
OF_THE_KIT = {"Gres": "`gres` says it", "Features": "the kit names the type and the UltraServer"}
STOP_THE_CONTROLLER = ("AllowQos", "DenyQos")
TIMES = ("MaxTime", "DefaultTime")
NO_LIMIT = ("UNLIMITED", "INFINITE", "-1")
NEED_ACCOUNTING = ("AccountingStorageEnforce", "QOS")
LEAST_JOB_AGE_SECONDS = 5
SOCKETS_SINCE = "25.11"
"""Of SelectTypeParameters CR_Socket…"""

Setting = tuple[str, SlurmSettings, str, SettingLevel, str, str]
"""cluster, settings, key, level, name, value"""


def setting_is_taken(facts: Facts) -> Iterator[Problem]:
    for cluster, _, key, level, name, _ in _settings(facts):
        known = slurm_settings(level)
        if name not in known:
            yield Problem(
                ("clusters", cluster, "slurm", key, name),
                name,
                one_of(sorted(set(known) - set(OF_THE_KIT) - set(STOP_THE_CONTROLLER))),
                f"AWS PCS takes no such setting of a {level}",
                _where_else(name, level),
                at_key=True,
            )


def setting_is_not_too_new(facts: Facts) -> Iterator[Problem]:
    for cluster, settings, key, level, name, value in _settings(facts):
        known = slurm_settings(level).get(name)
        since = known.since if known else None
        if name == "SelectTypeParameters" and value.upper().startswith("CR_SOCKET"):
            since = SOCKETS_SINCE
        if since is not None and is_older(settings.version, since):
            yield Problem(
                ("clusters", cluster, "slurm", key, name),
                f"{name}: {value} with Slurm {settings.version}",
                f"Slurm {since} or newer",
                fix=f"write version: {since!r}, or remove it",
                at_key=True,
            )


def setting_is_not_the_kits(facts: Facts) -> Iterator[Problem]:
    for cluster, _, key, level, name, _ in _settings(facts):
        if level == "node group" and name in OF_THE_KIT:
            yield Problem(
                ("clusters", cluster, "slurm", key, name),
                name,
                message=f"the kit sets it: {OF_THE_KIT[name]}",
                fix="remove it",
                at_key=True,
            )


def setting_leaves_the_controller_up(facts: Facts) -> Iterator[Problem]:
    for cluster, _, key, _, name, _ in _settings(facts):
        if name in STOP_THE_CONTROLLER:
            yield Problem(
                ("clusters", cluster, "slurm", key, name),
                name,
                message="naming a QOS that does not exist makes the controller exit, and none exists before the first deploy",
                fix="remove it, and set it by hand once the QOS is there",
                at_key=True,
            )


def memory_is_left_alone(facts: Facts) -> Iterator[Problem]:
    for cluster, _, key, _, name, value in _settings(facts):
        if name == "RealMemory":
            yield Problem(
                ("clusters", cluster, "slurm", key, name),
                value,
                message="PCS's guide counts it in GB, Slurm in MB; a node that has less than it says is drained",
                fix="remove it: jobs of the kit take whole nodes with all of their memory",
            )


def job_age_is_long_enough(facts: Facts) -> Iterator[Problem]:
    for cluster, _, key, _, name, value in _settings(facts):
        if name == "MinJobAge" and not (
            value.isascii() and value.isdigit() and int(value) >= LEAST_JOB_AGE_SECONDS
        ):
            yield Problem(
                ("clusters", cluster, "slurm", key, name),
                repr(value),
                f"seconds, {LEAST_JOB_AGE_SECONDS} or more",
                "AWS PCS takes no shorter one, and `status` asks Slurm about jobs that have ended",
                "write '300', Slurm's default",
            )


def accounting_is_on(facts: Facts) -> Iterator[Problem]:
    for cluster, settings, key, _, name, _ in _settings(facts):
        if name in NEED_ACCOUNTING and not settings.accounting:
            yield Problem(
                ("clusters", cluster, "slurm", key, name),
                name,
                "only with accounting: true",
                "without accounting Slurm knows no QOS and no association",
                "write accounting: true, which AWS charges for, or remove it",
                at_key=True,
            )


def queue_lets_jobs_run(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        cluster = facts.environment.clusters.get(job.cluster)
        if cluster is None or cluster.scheduler != "slurm" or cluster.slurm is None:
            continue
        text = cluster.slurm.queue_settings.get("MaxTime", "")
        most = minutes_of(text)
        if most is not None and job.time_limit_minutes > most:
            yield Problem(
                ("jobs", name, "time_limit_minutes"),
                f"{job.time_limit_minutes}",
                f"1 to {int(most)}" if most >= 1 else "",
                f"the queue's MaxTime is {text}, {_in_time_words(most)}: the job would wait for ever",
                "shorten the limit, or raise queue_settings.MaxTime",
            )


def value_is_there(facts: Facts) -> Iterator[Problem]:
    for cluster, _, key, _, name, value in _settings(facts):
        if not value.strip() or not value.isprintable():
            yield Problem(
                ("clusters", cluster, "slurm", key, name),
                repr(value),
                "one line of text",
                fix="write a value, or remove the key",
            )


def times_are_slurms(facts: Facts) -> Iterator[Problem]:
    for cluster, _, key, _, name, value in _settings(facts):
        if name in TIMES and minutes_of(value) is None and value.upper() not in NO_LIMIT:
            yield Problem(
                ("clusters", cluster, "slurm", key, name),
                repr(value),
                "minutes, minutes:seconds, hours:minutes:seconds, days-hours or UNLIMITED",
                "no time of Slurm's",
                "write minutes such as '600'",
            )


def _in_time_words(minutes: float) -> str:
    return f"{minutes * 60:g} seconds" if minutes < 1 else f"{minutes:g} minutes"


def minutes_of(time: str) -> float | None:
    """Of Slurm's formats: minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:seconds]]. None: no limit, or none
    of these.
    """
    number = "([0-9]{1,9})"
    match = re.fullmatch(f"(?:{number}-)?{number}(?::{number})?(?::{number})?", time)
    if match is None:
        return None
    days, *rest = match.groups()
    parts = [int(part) for part in rest if part is not None]
    if days is not None:
        hours, minutes, seconds = (*parts, 0, 0)[:3]
    elif len(parts) == 3:
        hours, minutes, seconds = parts
    else:
        hours, (minutes, seconds) = 0, (*parts, 0)[:2]
    return int(days or 0) * 1440 + hours * 60 + minutes + seconds / 60


def _settings(facts: Facts) -> Iterator[Setting]:
    for cluster, settings in slurm_blocks(facts):
        for key, level in LEVELS:
            given: dict[str, str] = getattr(settings, key)
            for name, value in given.items():
                yield cluster, settings, key, level, name, value


def _where_else(name: str, level: SettingLevel) -> str:
    for key, other in LEVELS:
        if other != level and name in slurm_settings(other):
            return f"it is a setting of the {other}: write it under {key}"
    spellings = {known.lower(): known for known in slurm_settings(level)}
    near = closest(name, spellings)
    return f"did you mean {spellings[near]!r}?" if near else "remove it"


RULES = (
    Rule("NK650", Severity.ERROR, "setting that PCS does not take", "the create call is refused; cfn-lint takes any", LISTS_SOURCE, setting_is_taken),
    Rule("NK651", Severity.ERROR, "setting newer than the Slurm version", "the create call is refused", LISTS_SOURCE, setting_is_not_too_new),
    Rule("NK652", Severity.ERROR, "setting of the kit's own", "which of two values wins is not defined", LISTS_SOURCE, setting_is_not_the_kits),
    Rule("NK653", Severity.ERROR, "setting that stops the controller", "no job can be sent", QOS_SOURCE, setting_leaves_the_controller_up),
    Rule("NK654", Severity.WARNING, "memory of nodes", "sources disagree on its unit", MEMORY_SOURCE, memory_is_left_alone),
    Rule("NK655", Severity.ERROR, "ended jobs forgotten too soon", "the create call is refused", LISTS_SOURCE, job_age_is_long_enough),
    Rule("NK656", Severity.ERROR, "setting that needs accounting", "the controller refuses jobs or does not start", ACCOUNTING_SOURCE, accounting_is_on),
    Rule("NK657", Severity.ERROR, "job longer than its queue allows", "it waits with the reason PartitionTimeLimit", "slurm.conf(5), MaxTime and EnforcePartLimits", queue_lets_jobs_run),
    Rule("NK663", Severity.ERROR, "time that Slurm does not read", "the create call is refused, or the controller does not start", "slurm.conf(5), MaxTime and DefaultTime", times_are_slurms),
    Rule("NK658", Severity.ERROR, "setting without a value", "the create call is refused", LISTS_SOURCE, value_is_there),
)  # fmt: skip
