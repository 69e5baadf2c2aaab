"""Slurm versions against their ends on AWS PCS: by the date of the data, and by the day on which AWS was asked."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from stacks.domain.findings import Severity, one_of
from stacks.domain.rules.rule import Facts, Need, Problem, Rule
from stacks.domain.rules.slurm import slurm_blocks
from stacks.domain.slurm import GRES_SINCE, SlurmVersion, is_older, slurm_versions

VERSIONS_SOURCE = "AWS PCS user guide, slurm-versions (copy of early 2026); botocore 1.44.8 pcs"
GRES_SOURCE = "AWS PCS user guide, gres-custom-settings and hardware-topology (shown on 25.11)"
WARN_BEFORE_END = timedelta(days=90)


def version_is_known(facts: Facts) -> Iterator[Problem]:
    for name, settings in slurm_blocks(facts):
        if settings.version not in slurm_versions():
            yield Problem(
                ("clusters", name, "slurm", "version"),
                repr(settings.version),
                one_of(version.version for version in slurm_versions().values() if not _is_over(version)),
                "no Slurm version of AWS PCS in the bundled data",
                f"write {nearest_living(settings.version)!r}",
            )


def version_is_not_past_its_end(facts: Facts) -> Iterator[Problem]:
    for name, version in _versions(facts):
        if _is_over(version):
            yield _ended(name, version, date.fromisoformat(version.as_of))


def unknown_ends(facts: Facts) -> Iterator[str]:
    for name, version in _versions(facts):
        if version.end_of_life is None:
            yield f"when AWS PCS ends Slurm {version.version} (cluster {name}): {version.source}"


def version_is_not_past_its_end_today(facts: Facts) -> Iterator[Problem]:
    as_of = facts.live.as_of
    for name, version in _versions(facts):
        if as_of is not None and _is_over(version, as_of.date()):
            yield _ended(name, version, as_of.date())


def version_ends_later_than_today(facts: Facts) -> Iterator[Problem]:
    as_of = facts.live.as_of
    for name, version in _versions(facts):
        if as_of is not None and not _is_over(version, as_of.date()):
            yield from _ends_soon(facts, name, version, as_of.date())


def version_counts_devices(facts: Facts) -> Iterator[Problem]:
    for name, settings in slurm_blocks(facts):
        if settings.gres != 0 and is_older(settings.version, GRES_SINCE):
            yield Problem(
                ("clusters", name, "slurm", "version"),
                repr(settings.version),
                f"{GRES_SINCE} or newer, or gres: 0",
                "nothing shows that PCS counts devices under this version",
                f"write version: {GRES_SINCE!r}, or gres: 0",
            )


def nearest_living(version: str) -> str:
    """The oldest version that is not past its end, unless a newer one is meant."""
    living = [found.version for found in slurm_versions().values() if not _is_over(found)]
    newer = [found for found in living if not is_older(found, version)]
    return (newer or living[-1:])[0]


def _versions(facts: Facts) -> Iterator[tuple[str, SlurmVersion]]:
    for name, settings in slurm_blocks(facts):
        if settings.version in slurm_versions():
            yield name, slurm_versions()[settings.version]


def _is_over(version: SlurmVersion, as_of: date | None = None) -> bool:
    """At its last day PCS makes no cluster of it any more."""
    return version.end_of_life is not None and version.end_of_life <= (
        as_of or date.fromisoformat(version.as_of)
    )


def _ended(cluster: str, version: SlurmVersion, as_of: date) -> Problem:
    return Problem(
        ("clusters", cluster, "slurm", "version"),
        repr(version.version),
        message=f"AWS PCS ended it on {version.end_of_life} (today is taken to be {as_of}): no cluster can be made, and those there "
        "are may be suspended with their nodes",
        fix=f"write {nearest_living(version.version)!r}",
    )


def _ends_soon(facts: Facts, cluster: str, version: SlurmVersion, as_of: date) -> Iterator[Problem]:
    end = version.end_of_life
    needed_until = as_of + max(WARN_BEFORE_END, timedelta(days=facts.environment.lifetime_days))
    if end is not None and end <= needed_until:
        yield Problem(
            ("clusters", cluster, "slurm", "version"),
            repr(version.version),
            message=f"AWS PCS ends it on {end}, {(end - as_of).days} days after {as_of}",
            fix="write a newer version: an update of the cluster needs every part of it active",
        )


def _dates(facts: Facts) -> Iterator[object]:
    if any(_versions(facts)):
        yield facts.live.otherwise if facts.live.as_of is None else facts.live.as_of


TODAY = Need("the date, against the ends of Slurm versions", _dates)

RULES = (
    Rule("NK627", Severity.ERROR, "unknown Slurm version", "cfn-lint takes any", VERSIONS_SOURCE, version_is_known),
    Rule("NK628", Severity.ERROR, "Slurm version past its end", "PCS makes no cluster of it, and suspends old ones", VERSIONS_SOURCE, version_is_not_past_its_end, can_be_forced=True, unknown=unknown_ends),
    Rule("NK631", Severity.ERROR, "version that counts no devices", "the create call is refused", GRES_SOURCE, version_counts_devices, can_be_forced=True),
)  # fmt: skip

LIVE_RULES = (
    Rule("NK648", Severity.ERROR, "Slurm version past its end today", "PCS makes no cluster of it, and suspends old ones", VERSIONS_SOURCE, version_is_not_past_its_end_today, TODAY, can_be_forced=True),
    Rule("NK649", Severity.WARNING, "Slurm version near its end today", "the cluster may be suspended in the middle of a run", VERSIONS_SOURCE, version_ends_later_than_today, TODAY),
)  # fmt: skip
