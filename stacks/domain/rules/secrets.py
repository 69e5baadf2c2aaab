"""Secrets belong in Secrets Manager or SSM: the file, the job definition and the logs are read by many."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stacks.domain.environment import Environment, Path
from stacks.domain.findings import Severity
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.secret_words import looks_secret, names_secret, words_with_secrets

SOURCE = "AWS Batch user guide, specifying-sensitive-data"
ARN_SOURCE = "botocore batch Secret.valueFrom: the full ARN; Secrets Manager user guide, getting-started (ARNs end in six characters)"
REACH_SOURCE = (
    "botocore batch Secret.valueFrom (another region only by its full ARN); Secrets Manager user guide, "
    "auth-and-access_examples_cross"
)
PARTITION = "aws"
"""Of every region in the catalog."""


def no_plain_secrets(facts: Facts) -> Iterator[Problem]:
    environment = facts.environment
    variables = [
        *((("jobs", name), job.environment) for name, job in environment.jobs.items()),
        *((("fleets", name), fleet.environment) for name, fleet in environment.fleets.items()),
    ]
    for (section, name), values in variables:
        for key, value in values.items():
            if value and (names_secret(key) or looks_secret(value)):
                yield Problem(
                    (section, name, "environment", key),
                    f"a plain value for {key}",
                    "the ARN of a secret, under `secrets`",
                    "looks like a secret in plain text",
                    f"store it in Secrets Manager and move {key} to {section}.{name}.secrets",
                )
    for path, words in _word_lists(environment):
        for index in words_with_secrets(words):
            yield Problem(
                (*path, index),
                "a plain value",
                "a variable that `secrets` sets",
                "looks like a secret in plain text",
                "store it in Secrets Manager, and have the program read it from a variable: no variable's value gets into words",
            )


def _word_lists(environment: Environment) -> Iterator[tuple[Path, tuple[str, ...]]]:
    for name, job in environment.jobs.items():
        yield ("jobs", name, "command"), job.command
    for name, fleet in environment.fleets.items():
        yield ("fleets", name, "command"), fleet.command
        yield ("fleets", name, "engine_arguments"), fleet.engine_arguments


def no_secret_tags(facts: Facts) -> Iterator[Problem]:
    for key, value in facts.environment.tags.items():
        if looks_secret(value) or looks_secret(key):
            yield Problem(
                ("tags", key),
                "a plain value",
                "no secret",
                "tags are read by many",
                "remove it, and renew the secret",
            )


def secrets_are_near(facts: Facts) -> Iterator[Problem]:
    region, account = facts.environment.region, facts.environment.account
    for path, arn in _references(facts):
        _, partition, service, its_region, its_account, *_ = arn.split(":")
        if partition != PARTITION:
            continue
        if its_region != region:
            yield Problem(
                path,
                f"an ARN of {its_region}",
                f"an ARN of {region}",
                f"it is read in {region}: what needs it starts only while it reaches {its_region}, too",
                f"replicate the secret to {region}, unless this is meant",
            )
        if account is not None and its_account != account:
            how = (
                "a resource policy there"
                if service == "secretsmanager"
                else "a share (AWS RAM) of the parameter"
            )
            yield Problem(
                path,
                f"an ARN of account {its_account}",
                f"an ARN of account {account}",
                "a secret of another account",
                f"it needs {how}, and a customer-managed key that lets this account decrypt",
            )


def secret_references_are_whole(facts: Facts) -> Iterator[Problem]:
    for path, arn in _references(facts):
        _, partition, service, *_, resource = arn.split(":", 6) if ":secret:" in arn else arn.split(":", 5)
        if partition != PARTITION:
            yield Problem(
                path,
                f"an ARN of the partition {partition}",
                f"an ARN that begins with arn:{PARTITION}:",
                f"{facts.environment.region} is not in that partition, and none reaches into another",
                "store the secret in this account and region",
            )
        elif service == "secretsmanager" and not re.search(r"-[A-Za-z0-9]{6}$", resource.split(":")[0]):
            yield Problem(
                path,
                "an ARN without its last six characters",
                "the full ARN, such as …:secret:name-AbCdEf",
                "the permission of the role would name no secret that exists",
                "copy the ARN from `aws secretsmanager describe-secret`",
            )


def _references(facts: Facts) -> Iterator[tuple[Path, str]]:
    for name, job in facts.environment.jobs.items():
        for key, arn in job.secrets.items():
            yield ("jobs", name, "secrets", key), arn
    for name, fleet in facts.environment.fleets.items():
        for key, arn in fleet.secrets.items():
            yield ("fleets", name, "secrets", key), arn
        if fleet.model.token is not None:
            yield ("fleets", name, "model", "token"), fleet.model.token


RULES = (
    Rule("NK250", Severity.ERROR, "secret in plain text", "everyone who may describe the job or task reads it", SOURCE, no_plain_secrets, can_be_forced=True),
    Rule("NK251", Severity.ERROR, "secret in a tag", "tags show in bills and lists", SOURCE, no_secret_tags, can_be_forced=True),
    Rule("NK252", Severity.WARNING, "secret of another region or account", "a job or a replica whose secret cannot be read never starts", REACH_SOURCE, secrets_are_near),
    Rule("NK253", Severity.ERROR, "secret that cannot be read", "a job or a replica whose secret cannot be read never starts", ARN_SOURCE, secret_references_are_whole),
)  # fmt: skip
