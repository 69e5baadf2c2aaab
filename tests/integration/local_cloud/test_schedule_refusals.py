"""What EventBridge Scheduler, Auto Scaling and Application Auto Scaling refuse, by name and words."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from scripts.local_cloud import process
from tests.integration.local_cloud.conftest import session_for
from tests.integration.local_cloud.refusals import CONTAINER, Network, Refusal, table

pytestmark = [pytest.mark.local_cloud, pytest.mark.xdist_group("local_cloud")]
_accounts = itertools.count(330000000001)
INVALID = "ValidationException"
SCALING = "ValidationError"
UPDATE = "arn:aws:scheduler:::aws-sdk:ecs:updateService"
OFF = {"Mode": "OFF"}


class Clock(Network):
    """A schedule, an Auto Scaling group, and a service of ECS that can be scaled."""

    def __init__(self, session: Any) -> None:
        super().__init__(session)
        self.scheduler, self.scaling = self.client("scheduler"), self.client("application-autoscaling")
        self.groups = self.client("autoscaling")
        self.scheduler.create_schedule_group(Name="g")
        self.at("rate(1 hour)", name="s")
        self.client("ec2").create_launch_template(
            LaunchTemplateName="nodes",
            LaunchTemplateData={"ImageId": "ami-0123456789abcdef0", "InstanceType": "inf2.xlarge"},
        )
        self.group("asg", 1, 3, DesiredCapacity=1)
        ecs = self.client("ecs")
        ecs.create_cluster(clusterName="c")
        ecs.register_task_definition(family="f", networkMode="host", containerDefinitions=[CONTAINER])
        ecs.create_service(cluster="c", serviceName="s", taskDefinition="f", desiredCount=0, launchType="EC2")
        self.target(0, 2)

    def at(self, expression: str, *, name: str = "x", arn: str = UPDATE, **changes: Any) -> Any:
        retries = changes.pop("retries", None)
        target = {"Arn": arn, "RoleArn": "arn:aws:iam::1:role/r", "Input": "{}"}
        given = {
            "Name": name, "ScheduleExpression": expression, "FlexibleTimeWindow": OFF,
            "Target": target | ({"RetryPolicy": retries} if retries else {}), **changes,
        }  # fmt: skip
        return self.scheduler.create_schedule(**given)

    def group(self, name: str, least: int, most: int, **more: Any) -> Any:
        given = {
            "LaunchTemplate": {"LaunchTemplateName": "nodes"},
            "VPCZoneIdentifier": self.subnets[0],
            **more,
        }
        return self.groups.create_auto_scaling_group(
            AutoScalingGroupName=name, MinSize=least, MaxSize=most, **given
        )

    def target(self, least: int, most: int, service: str = "service/c/s", **more: Any) -> Any:
        given = {"ServiceNamespace": "ecs", "ScalableDimension": "ecs:service:DesiredCount", **more}
        return self.scaling.register_scalable_target(
            ResourceId=service, MinCapacity=least, MaxCapacity=most, **given
        )

    def action(self, schedule: str, service: str = "service/c/s", **more: Any) -> Any:
        return self.scaling.put_scheduled_action(
            ServiceNamespace="ecs", ScalableDimension="ecs:service:DesiredCount", ResourceId=service,
            ScheduledActionName="a", Schedule=schedule, **more,
        )  # fmt: skip

    def policy(self, **more: Any) -> Any:
        return self.scaling.put_scaling_policy(
            ServiceNamespace="ecs", ScalableDimension="ecs:service:DesiredCount", ResourceId="service/c/s",
            PolicyName="p", **more,
        )  # fmt: skip


@pytest.fixture(scope="module")
def clock(cloud: process.LocalCloud) -> Clock:
    return Clock(session_for(cloud, str(next(_accounts))))


@pytest.mark.parametrize(
    "expression",
    [
        "cron(0 7 ? * MON-FRI)",
        "cron(0 7 * * MON-FRI *)",
        "cron(0 7 ? * ? *)",
        "cron(60 7 ? * * *)",
        "cron(0 24 ? * * *)",
        "cron(0 7 32 * ? *)",
        "cron(0 7 1 13 ? *)",
        "cron(0 7 ? * MO *)",
        "cron(0 7 ? * 0 *)",
        "cron(? 7 1 * ? *)",
        "cron(0 7 1 * ? 1969)",
        "rate(0 minutes)",
        "rate(10 seconds)",
        "at(2026-02-30T00:00:00)",
        "at(2026-12-01 00:00:00)",
        "every day",
    ],
)
def test_expressions_that_are_none(clock: Clock, expression: str) -> None:
    words = f"Invalid Schedule Expression {expression}."
    Refusal("", lambda c: c.at(expression), INVALID, words).check(clock)


@pytest.mark.parametrize(
    "expression",
    [
        "cron(0 7 ? * MON-FRI *)",
        "cron(0-15/5 8-8 ? * 2,3,4 *)",
        "cron(0 0 L * ? *)",
        "cron(0 0 ? * 6#3 2026-2030)",
        "cron(0/10 * 1W JAN,jul ? *)",
        "rate(5 minutes)",
        "at(2028-02-29T23:59:59)",
    ],
)
def test_expressions_that_are_some(clock: Clock, expression: str) -> None:
    clock.at(expression, name="good")
    clock.scheduler.delete_schedule(Name="good")


@table(
    ("an unknown zone", lambda c: c.at("rate(1 hour)", ScheduleExpressionTimezone="Europe/Bonn"), INVALID,
     "Invalid ScheduleExpressionTimezone 'Europe/Bonn'"),
    ("a window that is off", lambda c: c.at(
        "rate(1 hour)", FlexibleTimeWindow={"Mode": "OFF", "MaximumWindowInMinutes": 5}), INVALID, "OFF"),
    ("a window without length", lambda c: c.at("rate(1 hour)", FlexibleTimeWindow={"Mode": "FLEXIBLE"}), INVALID,
     "between 1 and 1440"),
    ("186 retries", lambda c: c.at("rate(1 hour)", retries={"MaximumRetryAttempts": 186}), INVALID, "0 and 185"),
    ("an event older than a day", lambda c: c.at("rate(1 hour)", retries={"MaximumEventAgeInSeconds": 86401}),
     INVALID, "60 and 86400"),
    ("a name of 65 letters", lambda c: c.at("rate(1 hour)", name="a" * 65), INVALID, "'name'"),
    ("a name in use", lambda c: c.at("rate(1 hour)", name="s"), "ConflictException", "already exists"),
    ("an unknown group", lambda c: c.at("rate(1 hour)", GroupName="x"), "ResourceNotFoundException", "x"),
    ("an unknown service", lambda c: c.at("rate(1 hour)", arn="arn:aws:scheduler:::aws-sdk:esc:updateService"),
     INVALID, "service"),
    ("an action in PascalCase", lambda c: c.at("rate(1 hour)", arn="arn:aws:scheduler:::aws-sdk:ecs:UpdateService"),
     INVALID, "spelled like updateService"),
    ("a group in use", lambda c: c.scheduler.create_schedule_group(Name="g"), "ConflictException", "already exists"),
    ("deleting the default group", lambda c: c.scheduler.delete_schedule_group(Name="default"), INVALID, "default"),
    ("deleting an unknown group", lambda c: c.scheduler.delete_schedule_group(Name="x"),
     "ResourceNotFoundException", "x"),
    ("deleting an unknown schedule", lambda c: c.scheduler.delete_schedule(Name="x"),
     "ResourceNotFoundException", "x"),
)  # fmt: skip
def test_schedules(clock: Clock, refusal: Refusal) -> None:
    refusal.check(clock)


@table(
    ("more at least than at most", lambda c: c.group("x", 2, 1), SCALING, "greater than or equal to min"),
    ("more wanted than at most", lambda c: c.group("x", 0, 1, DesiredCapacity=2), SCALING, "between"),
    ("a name in use", lambda c: c.group("asg", 0, 1), "AlreadyExists", "already exists"),
    ("no launch template", lambda c: c.groups.create_auto_scaling_group(
        AutoScalingGroupName="x", MinSize=0, MaxSize=1, VPCZoneIdentifier=c.subnets[0]), SCALING, "LaunchTemplate"),
    ("two launch templates of a group", lambda c: c.group(
        "x", 0, 1, LaunchTemplate={"LaunchTemplateName": "nodes", "LaunchTemplateId": "lt-1"}), SCALING, "either"),
    ("neither zone nor subnet", lambda c: c.groups.create_auto_scaling_group(
        AutoScalingGroupName="x", MinSize=0, MaxSize=1, LaunchTemplate={"LaunchTemplateName": "nodes"}), SCALING,
     "At least one"),
    ("capacity above the group's", lambda c: c.groups.set_desired_capacity(
        AutoScalingGroupName="asg", DesiredCapacity=4), SCALING, "outside of min value 1 and max value 3"),
    ("deletion with instances", lambda c: c.groups.delete_auto_scaling_group(AutoScalingGroupName="asg"),
     "ResourceInUse", "while there are instances"),
    ("an unknown group", lambda c: c.groups.delete_auto_scaling_group(AutoScalingGroupName="x"), SCALING,
     "not found"),
    ("a smaller maximum than minimum later", lambda c: c.groups.update_auto_scaling_group(
        AutoScalingGroupName="asg", MaxSize=0), SCALING, "min bound"),
)  # fmt: skip
def test_auto_scaling_groups(clock: Clock, refusal: Refusal) -> None:
    refusal.check(clock)


@table(
    ("more at least than at most", lambda c: c.target(3, 2), INVALID, "cannot be less than minimum"),
    ("below zero", lambda c: c.target(-1, 2), INVALID, "capacity"),
    ("an unknown service", lambda c: c.target(0, 2, "service/c/x"), INVALID, "ECS service doesn't exist"),
    ("an unknown zone", lambda c: c.action("cron(0 7 ? * * *)", Timezone="Mars/Phobos"), INVALID, "zone"),
    ("five fields", lambda c: c.action("cron(0 7 * * *)"), INVALID, "schedule"),
    ("no target", lambda c: c.action("rate(1 hour)", "service/c/x"), "ObjectNotFoundException", "service/c/x"),
    ("a policy without its configuration", lambda c: c.policy(PolicyType="TargetTrackingScaling"), INVALID,
     "configuration"),
    ("two metrics", lambda c: c.policy(
        PolicyType="TargetTrackingScaling", TargetTrackingScalingPolicyConfiguration={
            "TargetValue": 1, "CustomizedMetricSpecification": {"MetricName": "m"},
            "PredefinedMetricSpecification": {"PredefinedMetricType": "ECSServiceAverageCPUUtilization"}}),
     INVALID, "either"),
    ("deregistering what is not there", lambda c: c.scaling.deregister_scalable_target(
        ServiceNamespace="ecs", ScalableDimension="ecs:service:DesiredCount", ResourceId="service/c/x"),
     "ObjectNotFoundException", "No scalable target"),
)  # fmt: skip
def test_scalable_targets(clock: Clock, refusal: Refusal) -> None:
    refusal.check(clock)
