"""A small program of the kit's that watches over a fleet, as a Lambda function: its code, its role, its clock."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3_assets as assets
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from stacks.constructs.acknowledged_rule import acknowledge, as_cdk_nag_writes, wildcard_resource
from stacks.constructs.logical_id import fix_logical_id

PAYLOADS = Path(__file__).parents[1] / "payload"
RUNTIME = "python3.13"
# Every region that sells Neuron nodes has it; no claim is needed for the other.
ARCHITECTURE = "x86_64"
MEMORY_MIB = 256
EVERY_MINUTE = "rate(1 minutes)"


class FleetFunction(Construct):
    """The id begins the logical ids. `statements` come with the log group's; the log group has a generated name.

    The package of `stacks/payload` that is called `payload` is its whole code; the handler is PACKAGE.handler.handle.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        payload: str,
        environment: Mapping[str, str],
        statements: Sequence[iam.PolicyStatement],
        timeout_seconds: int,
        one_at_a_time: bool,
    ) -> None:
        super().__init__(scope, id_)
        self._id = id_
        self._log_group = logs.LogGroup(
            self,
            "Logs",
            retention=logs.RetentionDays.ONE_MONTH,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        fix_logical_id(self._log_group, f"{id_}Logs")
        self._resources = [resource for statement in statements for resource in statement.resources]
        self.role = role = self._role(statements)
        code = _code(self, payload)
        self.resource = lambda_.CfnFunction(
            self,
            "Function",
            runtime=RUNTIME,
            architectures=[ARCHITECTURE],
            handler=f"{payload}.handler.handle",
            code=lambda_.CfnFunction.CodeProperty(s3_bucket=code.s3_bucket_name, s3_key=code.s3_object_key),
            role=role.role_arn,
            memory_size=MEMORY_MIB,
            timeout=timeout_seconds,
            # Two that decide at once would undo each other's work.
            reserved_concurrent_executions=1 if one_at_a_time else None,
            environment=lambda_.CfnFunction.EnvironmentProperty(variables=dict(environment)),
            logging_config=lambda_.CfnFunction.LoggingConfigProperty(
                log_group=self._log_group.log_group_name
            ),
        )
        fix_logical_id(self.resource, f"{id_}Function")
        # The role's policies are inline, so that they are there before the function and after it.
        acknowledge(
            self.resource,
            ["AwsSolutions-L1"],
            "The runtime with which the function is tested; a newer one comes with a release of the kit.",
        )

    def _role(self, statements: Sequence[iam.PolicyStatement]) -> iam.Role:
        log = iam.PolicyStatement(
            actions=["logs:CreateLogStream", "logs:PutLogEvents"],
            resources=[self._log_group.log_group_arn],
        )
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            inline_policies={"work": iam.PolicyDocument(statements=[log, *statements])},
        )
        fix_logical_id(role, f"{self._id}Role")
        if "*" in self._resources:
            acknowledge(
                role,
                [wildcard_resource("*")],
                "Describing load balancers, scaling activities and metrics takes no resource, as sending metrics.",
            )
        return role

    def acknowledge_patterns(self, reason: str) -> None:
        """Of the role's resources that end in a star and are not only one."""
        patterns = [resource for resource in self._resources if "*" in resource and resource != "*"]
        acknowledge(self.role, [wildcard_resource(as_cdk_nag_writes(self, p)) for p in patterns], reason)

    def every_minute(self, event: str | None = None) -> None:
        """`event` is JSON. No retries: the next minute's call knows more than a repeated one."""
        self._no_retries()
        role = iam.Role(
            self,
            "ScheduleRole",
            assumed_by=iam.ServicePrincipal(
                "scheduler.amazonaws.com",
                conditions={"StringEquals": {"aws:SourceAccount": cdk.Stack.of(self).account}},
            ),
            inline_policies={
                "invoke": iam.PolicyDocument(
                    statements=[
                        iam.PolicyStatement(
                            actions=["lambda:InvokeFunction"], resources=[self.resource.attr_arn]
                        )
                    ]
                )
            },
        )
        fix_logical_id(role, f"{self._id}ScheduleRole")
        schedule = scheduler.CfnSchedule(
            self,
            "Schedule",
            schedule_expression=EVERY_MINUTE,
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=self.resource.attr_arn,
                role_arn=role.role_arn,
                input=event,
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(maximum_retry_attempts=0),
            ),
        )
        fix_logical_id(schedule, f"{self._id}Schedule")

    def _no_retries(self) -> None:
        """Lambda's own, of calls that nobody waits for: the schedule's are such."""
        config = lambda_.CfnEventInvokeConfig(
            self,
            "Invocations",
            function_name=self.resource.ref,
            qualifier="$LATEST",
            maximum_retry_attempts=0,
        )
        fix_logical_id(config, f"{self._id}Invocations")


def _code(scope: Construct, payload: str) -> assets.Asset:
    with tempfile.TemporaryDirectory() as directory:
        copy_package(payload, Path(directory))
        # The CDK copies it into the assembly at once.
        return assets.Asset(scope, "Code", path=directory)


def copy_package(payload: str, directory: Path) -> None:
    """The package alone, and of it only what Python reads: the same bytes wherever it was run or tested before.

    The CDK's archive keeps modes, and Lambda's user has to be able to read what a careful umask would hide.
    """
    package = directory / payload
    package.mkdir()
    package.chmod(0o755)
    for source in sorted((PAYLOADS / payload).glob("*.py")):
        shutil.copyfile(source, package / source.name)
        (package / source.name).chmod(0o644)
