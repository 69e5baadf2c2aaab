"""What stands in the account already: stacks of our names, the CDK's bootstrap, service-linked roles."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.findings import Severity
from stacks.domain.live import known
from stacks.domain.names import ENVIRONMENT_TAG
from stacks.domain.plan import Plan
from stacks.domain.rules.rule import Facts, Need, Problem, Rule

BOOTSTRAP_VERSION_MIN = 6
BOOTSTRAP_SOURCE = "aws-cdk-lib, DefaultStackSynthesizer: the least bootstrap version it accepts"
STACK_SOURCE = "CloudFormation API, DescribeStacks; our tag"
ROLE_SOURCE = (
    "AWS Batch user guide, using-service-linked-roles; AWS PCS user guide, service-linked-roles and spot-role"
)
SERVICE_ROLES = {
    "batch": ("AWSServiceRoleForBatch", "batch.amazonaws.com"),
    "slurm": ("AWSServiceRoleForPCS", "pcs.amazonaws.com"),
}
"""By scheduler: the role, and the service that makes it."""


def stack_names_are_free(facts: Facts) -> Iterator[Problem]:
    name = facts.environment.name
    for stack in known(facts.live.stacks, ()):
        # A stack that was only reviewed was never made; the CDK takes it over.
        if stack.environment == name or stack.status == "REVIEW_IN_PROGRESS":
            continue
        whose = (
            f"belongs to environment {stack.environment}"
            if stack.environment
            else f"does not carry the tag {ENVIRONMENT_TAG}={name}"
        )
        yield Problem(
            ("name",),
            repr(name),
            message=f"there is a stack {stack.name} that {whose}",
            fix="choose another `name`; a deploy would overwrite what somebody else made",
        )


def is_bootstrapped(facts: Facts) -> Iterator[Problem]:
    version = known(facts.live.bootstrap_version, BOOTSTRAP_VERSION_MIN)
    where = f"{_account(facts)}, {facts.environment.region}"
    if version is None:
        yield Problem(
            ("region",),
            message=f"{where} is not bootstrapped for the CDK with qualifier {facts.environment.cdk.qualifier}",
            fix="run `neuronkit bootstrap FILE`, once",
        )
    elif version < BOOTSTRAP_VERSION_MIN:
        yield Problem(
            ("region",),
            message=f"the CDK bootstrap of {where} has version {version}, {BOOTSTRAP_VERSION_MIN} is needed",
            fix="run `neuronkit bootstrap FILE`",
        )


def service_roles_are_there(facts: Facts) -> Iterator[Problem]:
    for scheduler, cluster in _schedulers(facts.plan).items():
        role, service = SERVICE_ROLES[scheduler]
        if known(facts.live.of(facts.live.service_roles, role), True):
            continue
        yield Problem(
            ("clusters", cluster, "scheduler"),
            scheduler,
            message=f"{role} is not in the account yet: AWS makes it with the first deploy, if whoever deploys may",
            fix=f"allow iam:CreateServiceLinkedRole, or run `aws iam create-service-linked-role --aws-service-name {service}`",
        )


def _schedulers(plan: Plan | None) -> dict[str, str]:
    """Each scheduler that needs a role, with the first cluster under it."""
    found: dict[str, str] = {}
    for cluster in plan.clusters if plan else ():
        if cluster.scheduler in SERVICE_ROLES:
            found.setdefault(cluster.scheduler, cluster.name)
    return found


def service_roles(plan: Plan) -> tuple[str, ...]:
    """The service-linked roles that a plan's services act with."""
    return tuple(SERVICE_ROLES[scheduler][0] for scheduler in _schedulers(plan))


def _account(facts: Facts) -> str:
    return f"account {facts.environment.account}" if facts.environment.account else "the account"


def _stack_answers(facts: Facts) -> Iterator[object]:
    yield facts.live.stacks


def _bootstrap_answers(facts: Facts) -> Iterator[object]:
    yield facts.live.bootstrap_version


def _role_answers(facts: Facts) -> Iterator[object]:
    for role in service_roles(facts.plan) if facts.plan else ():
        yield facts.live.of(facts.live.service_roles, role)


STACKS = Need("stacks that have our names", _stack_answers)
BOOTSTRAP = Need("the CDK's bootstrap", _bootstrap_answers)
ROLES = Need("service-linked roles", _role_answers)

RULES = (
    Rule("NK360", Severity.ERROR, "a stack of our name that is not ours", "it would be overwritten", STACK_SOURCE, stack_names_are_free, STACKS),
    Rule("NK361", Severity.ERROR, "not bootstrapped", "the CDK cannot deploy without its bucket and roles", BOOTSTRAP_SOURCE, is_bootstrapped, BOOTSTRAP),
    Rule("NK362", Severity.INFO, "no service-linked role yet", "the first deploy makes it, or fails for want of a permission", ROLE_SOURCE, service_roles_are_there, ROLES),
)  # fmt: skip
