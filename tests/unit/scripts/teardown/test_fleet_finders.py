"""What of a fleet is found: who serves, whose tasks run, and what is ours beside the stacks."""

from __future__ import annotations

from typing import Any

import pytest

from scripts.aws import ecs
from scripts.aws.autoscaling import AutoScalingGroup
from scripts.aws.cloudformation import StackResource
from scripts.aws.ecs import CapacityProvider, Service, Task
from scripts.aws.logs import LogGroup
from scripts.teardown import fleet_finders, fleet_kinds
from scripts.teardown.fleet_finders import auto_scaling_groups, log_groups, replicas, tagged
from scripts.teardown.fleet_removals import _look_at_replicas
from scripts.teardown.fleet_scope import fleet_scope
from scripts.teardown.scope import FleetScope, Scope
from stacks.domain.names import ENVIRONMENT_TAG, FLEET_TAG
from tests.unit.scripts.fakes import a_cloud, a_stack

CLOUD = a_cloud()
AT = "arn:aws:ecs:us-east-2:1"
OURS = {ENVIRONMENT_TAG: "pilot"}


def service(name: str, desired: int, running: int, status: str = "ACTIVE") -> Service:
    return Service(f"{AT}:service/c/{name}", name, status, desired, running, 0, (), "", "", {})


def task(name: str, started_by: str, status: str = "RUNNING") -> Task:
    return Task(f"{AT}:task/c/{name}", "d", status, "", "", (), started_by)


def labels(items: Any) -> list[str]:
    return [item.label for item in items]


def test_only_replicas_that_run_and_tasks_of_no_service_are_in_the_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = (service("busy", 2, 2), service("ending", 0, 1), service("idle", 0, 0))
    running = (
        task("compile", "neuronkit-compile"),
        task("replica", "ecs-svc/123"),
        task("over", "x", "STOPPED"),
    )
    monkeypatch.setattr(fleet_finders.ecs, "services_of", lambda cloud, cluster: known)
    monkeypatch.setattr(fleet_finders.ecs, "tasks", lambda cloud, cluster: running)
    found = replicas(CLOUD, Scope("pilot", fleets=FleetScope(clusters=frozenset({"c"}))))
    assert labels(found.loose) == [
        "replicas of service busy",
        "replicas of service ending",
        "ECS task compile",
    ]
    assert found.notices[0] == "replicas of service busy that serve now: 2"


def test_a_count_that_something_raised_again_is_lowered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered: list[str] = []
    states = [(service("s", 1, 1),), (service("s", 0, 1),), (service("s", 0, 0),)]
    monkeypatch.setattr(ecs, "services", lambda *_: states.pop(0))
    monkeypatch.setattr(
        ecs, "set_desired", lambda cloud, cluster, name, count: lowered.append(f"{cluster} {name} {count}")
    )
    arn = f"{AT}:service/c/s"
    looks = [_look_at_replicas(CLOUD, arn) for _ in range(3)]
    assert [look.state if look else None for look in looks] == ["1 still run", "1 still run", None]
    assert lowered == [f"c {arn} 0"]


KINDS = [
    (f"{AT}:cluster/c", "ECS cluster c", f"{AT}:cluster/c"),
    (f"{AT}:service/c/s", "ECS service c/s", f"{AT}:service/c/s"),
    (f"{AT}:task-definition/d:3", "task definition d/3", f"{AT}:task-definition/d:3"),
    (f"{AT}:capacity-provider/p", "capacity provider p", None),
    (f"{AT}:capacity-provider/managed", "capacity provider of Managed Instances managed", None),
    ("arn:aws:elasticloadbalancing:us-east-2:1:loadbalancer/app/x/1", "load balancer app/x/1", None),
    ("arn:aws:elasticloadbalancing:us-east-2:1:targetgroup/x/1", "target group x/1", None),
    ("arn:aws:lambda:us-east-2:1:function:f", "Lambda function f", None),
    ("arn:aws:cloudwatch:us-east-2:1:alarm:a", "alarm a", None),
    ("arn:aws:ssm:us-east-2:1:parameter/neuronkit/pilot/x", "parameter /neuronkit/pilot/x (neuronkit/pilot/x)", "/neuronkit/pilot/x"),
]  # fmt: skip


def scope_of(arn: str, **more: Any) -> Scope:
    return Scope("pilot", tagged_arns=(arn,), **more)


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """ARNs that exist; all of ECS's are a fleet's."""
    known: set[str] = set()
    kinds = {
        key: fleet_kinds.FleetKind(kind.name, lambda _, arn: arn in known)
        for key, kind in fleet_kinds._BY_RESOURCE.items()
    }
    monkeypatch.setattr(fleet_kinds, "_BY_RESOURCE", kinds)
    monkeypatch.setattr(fleet_kinds.ecs, "tags", lambda cloud, arn: {FLEET_TAG: "chat"})
    monkeypatch.setattr(
        fleet_kinds.ecs,
        "find_capacity_provider",
        lambda cloud, arn: CapacityProvider(arn, "c" if arn.endswith("/managed") else "", "ACTIVE", ""),
    )
    return known


@pytest.mark.parametrize(("arn", "label", "id_"), KINDS)
def test_what_the_tagging_api_lists_is_found_where_it_exists(
    there: set[str], arn: str, label: str, id_: str | None
) -> None:
    assert tagged(CLOUD, scope_of(arn)).loose == ()
    there.add(arn)
    (item,) = tagged(CLOUD, scope_of(arn)).loose
    assert (item.label, item.id) == (label, id_ or arn)


@pytest.mark.parametrize("arn", [arn for arn, *_ in KINDS])
def test_a_member_of_a_living_stack_is_cloudformations(there: set[str], arn: str) -> None:
    there.add(arn)
    for member in {arn, fleet_kinds.id_of(arn)}:
        assert tagged(CLOUD, scope_of(arn, members=frozenset({member}))).loose == ()


def test_what_cloudformation_is_stuck_on_is_ours_to_delete(there: set[str]) -> None:
    arn = f"{AT}:service/c/s"
    there.add(arn)
    scope = Scope("pilot", members=frozenset({arn}), fleets=FleetScope(stuck=frozenset({arn})))
    (item,) = tagged(CLOUD, scope).loose
    assert item.why == "CloudFormation failed to delete it"


def test_what_batch_has_in_ecs_is_listed_and_not_touched(
    there: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_kinds.ecs, "tags", lambda cloud, arn: OURS)
    cluster, definition = f"{AT}:cluster/AWSBatch-x", f"{AT}:task-definition/batch:1"
    there |= {cluster, definition}
    assert labels(tagged(CLOUD, scope_of(cluster)).loose) == [f"tagged resource {cluster}"]
    assert tagged(CLOUD, scope_of(definition)).loose == ()


def test_auto_scaling_groups_of_ours_and_those_that_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = [(AutoScalingGroup(name, 1, 2, 1), OURS) for name in ("loose", "member", "stuck")]
    monkeypatch.setattr(fleet_finders.autoscaling, "groups_with_tag", lambda *_: iter(groups))
    fleets = FleetScope(is_used=True, stuck=frozenset({"stuck"}))
    scope = Scope("pilot", members=frozenset({"member", "stuck"}), fleets=fleets)
    found = auto_scaling_groups(CLOUD, scope)
    assert [item.id for item in found.loose] == ["loose", "stuck"]
    assert auto_scaling_groups(CLOUD, Scope("pilot")).loose == ()


def test_logs_that_aws_wrote_by_itself_are_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"/aws/lambda/f", "/aws/ecs/containerinsights/c/performance"}
    monkeypatch.setattr(
        fleet_finders.logs, "find_group", lambda _, name: LogGroup(name, name) if name in there else None
    )
    names = frozenset({"/aws/lambda/f", "/aws/lambda/gone", "/aws/ecs/containerinsights/c/performance"})
    scope = Scope("pilot", members=frozenset({"/aws/lambda/f"}), fleets=FleetScope(log_groups=names))
    assert [item.id for item in log_groups(CLOUD, scope).loose] == [
        "/aws/ecs/containerinsights/c/performance"
    ]


def resource(type_: str, id_: str, status: str = "CREATE_COMPLETE") -> StackResource:
    return StackResource(id_, id_, type_, status, "")


def test_what_the_stacks_say_of_fleets() -> None:
    whole, failed = a_stack("pilot-fleet-a"), a_stack("pilot-fleet-b", "DELETE_FAILED")
    living = [
        (whole, resource("AWS::ECS::Cluster", "c1")),
        (whole, resource("AWS::Lambda::Function", "f1")),
        (failed, resource("AWS::ECS::Cluster", "c2", "DELETE_FAILED")),
        (failed, resource("AWS::AutoScaling::AutoScalingGroup", "asg", "DELETE_FAILED")),
        (failed, resource("AWS::ECS::Service", "s", "DELETE_COMPLETE")),
        (failed, resource("AWS::IAM::Role", "r", "DELETE_FAILED")),
    ]
    found = fleet_scope(False, living, [resource("AWS::Lambda::Function", "f2", "DELETE_COMPLETE")])
    assert found.is_used
    assert found.clusters == {"c1", "c2"}
    assert found.groups == {"asg"}
    assert found.stuck == {"c2", "asg"}
    assert {
        "/aws/lambda/f1",
        "/aws/lambda/f2",
        "/aws/ecs/containerinsights/c1/performance",
    } <= found.log_groups
    assert not fleet_scope(False, [(whole, resource("AWS::IAM::Role", "r"))], []).is_used
    assert fleet_scope(True, [], []).is_used
