"""The deploy's own part: what it says before and after, and how it words a failure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace as dc_replace
from pathlib import Path
from typing import Any

import pytest

from scripts import deployment
from scripts.aws.cloudformation import Stack, StackEvent
from scripts.aws.elbv2 import TargetHealth
from scripts.console import Console
from scripts.deployment import Deployed, next_words
from scripts.next_command import Spelling
from scripts.serving_fleets import first_deploy
from scripts.serving_fleets.fleet_start import Starts
from scripts.stack_changes import StackChange
from scripts.synthesis import Assembly
from stacks.domain.errors import KitError, WorldError
from stacks.domain.live import LiveFacts
from tests.environments import changed, plan_of
from tests.live_answers import block as a_block
from tests.unit.scripts.fakes import a_cloud, a_stack
from tests.unit.scripts.serving_fleets.world import FLEET, first, fleet_plan, stacks_of

PLAN = plan_of()
NETWORK, STORAGE, CLUSTER = PLAN.stacks.all
FINE = {name: a_stack(name) for name in PLAN.stacks.all}


class Steps:
    """Every collaborator of a deploy, replaced by one that writes down when it was called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log: list[str] = []
        self.stacks: dict[str, Stack] = dict(FINE)
        self.failure: StackEvent | None = None
        self.cdk_code = 0
        self.cdk_lines: list[str] = []
        self.cdk_arguments: list[str] = []
        self.cloud = a_cloud()
        self.live = LiveFacts()
        replace: dict[str, Callable[..., Any]] = {
            "open_cloud": self._step("open", lambda *_: self.cloud),
            "_with_lock": self._step("lock", lambda console, cloud, loaded: loaded),
            "refuse_unresolved": self._step("pinned", lambda *_, **__: None),
            "with_bought_capacity": self._step("bought", lambda console, cloud, plan, dry_run: plan),
            "check_account": self._step("account", lambda *_: self.live),
            "synthesize": self._step(
                "synth", lambda plan, directory, validate: Assembly(directory, (), False)
            ),
            "make_way": self._step("make way", lambda *_, **__: None),
            "run_cdk": self._step("cdk", self._run_cdk),
            "compare": self._step("compare", lambda *_: (StackChange(NETWORK, "create"),)),
        }
        for name, function in replace.items():
            monkeypatch.setattr(deployment, name, function)
        monkeypatch.setattr(
            deployment.cloudformation, "find_stack", lambda cloud, name: self.stacks.get(name)
        )
        monkeypatch.setattr(deployment.cloudformation, "first_failure", lambda cloud, stack: self.failure)

    def _step(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            self.log.append(name)
            return function(*arguments, **more)

        return call

    def _run_cdk(
        self, arguments: list[str], *, environment: dict[str, str], on_line: Callable[[str], None]
    ) -> int:
        self.cdk_arguments = arguments
        for line in self.cdk_lines:
            on_line(line)
        return self.cdk_code


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    return Steps(monkeypatch)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pilot.yaml"
    path.write_text(changed({}))
    return path


def deploy(file: Path, *, yes: bool = True, dry_run: bool = False) -> Deployed:
    return deployment.deploy(Console(), file, yes=yes, dry_run=dry_run)


def test_a_deploy_checks_everything_before_it_changes_anything(steps: Steps, file: Path) -> None:
    deployed = deploy(file)
    assert steps.log == ["open", "lock", "pinned", "bought", "account", "synth", "make way", "cdk"]
    assert [stack.name for stack in deployed.stacks] == list(PLAN.stacks.all)


def test_the_cdk_deploys_the_assembly_and_asks_nobody(steps: Steps, file: Path) -> None:
    deploy(file)
    words = " ".join(steps.cdk_arguments)
    assert words.startswith("deploy --app cdk.out/pilot --all --require-approval never --progress events")


def test_a_dry_run_ends_before_the_executor(steps: Steps, file: Path) -> None:
    deployed = deploy(file, yes=False, dry_run=True)
    assert steps.log == ["open", "lock", "pinned", "bought", "account", "synth", "compare"]
    assert deployed.as_dict()["dry_run"] is True
    assert f"{NETWORK}: create" in next_words(deployed, local=False)


def test_without_a_yes_nothing_is_made(steps: Steps, file: Path) -> None:
    with pytest.raises(KitError, match="nobody to answer"):
        deploy(file, yes=False)
    assert "cdk" not in steps.log


def test_what_it_costs_and_how_long_it_lives_is_said_first(
    steps: Steps, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deploy(file)
    said = capsys.readouterr().err
    assert "with every node running: $" in said
    assert "between jobs: $" in said
    assert "all 7 days, every node running: $" in said
    assert "budget $100,000.00" in said


def test_what_the_block_has_cost_is_said_too(
    steps: Steps, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bought = dc_replace(a_block(), tags=(("neuronkit:fee-usd", "24617.78"),))
    steps.live = LiveFacts(reservations={bought.id: bought})
    block = {
        "capacity.block": {"kind": "capacity-block", "id": bought.id},
        "clusters.train.capacity": "block",
    }
    file.write_text(changed(block))
    deploy(file)
    assert "up front, not to be had back: $24,617.78" in capsys.readouterr().err


def test_a_failure_says_which_resource_why_and_how_to_go_on(steps: Steps, file: Path) -> None:
    steps.cdk_code = 1
    steps.cdk_lines = ["noise"] * 50
    steps.stacks[NETWORK] = a_stack(NETWORK, "ROLLBACK_COMPLETE")
    steps.failure = StackEvent("NatAddress", "", "AWS::EC2::EIP", "CREATE_FAILED", "AddressLimitExceeded")
    with pytest.raises(WorldError) as caught:
        deploy(file)
    assert caught.value.exit_code == 3
    assert caught.value.message == (
        f"the deploy failed\nstack {NETWORK} (ROLLBACK_COMPLETE): AWS::EC2::EIP NatAddress: AddressLimitExceeded"
    )
    hint = Spelling(file=file).of(caught.value.hint)
    assert f"`neuronkit deploy {file}` continues" in hint
    assert f"`neuronkit destroy {file}` cleans up" in hint


def test_a_failure_before_cloudformation_says_what_the_cdk_said(steps: Steps, file: Path) -> None:
    steps.cdk_code = 1
    steps.cdk_lines = [f"line {number}" for number in range(100)]
    with pytest.raises(WorldError) as caught:
        deploy(file)
    assert "line 99" in caught.value.message
    assert "line 10\n" not in caught.value.message


@pytest.mark.parametrize("status", ["UPDATE_ROLLBACK_COMPLETE", "ROLLBACK_COMPLETE", "CREATE_IN_PROGRESS"])
def test_success_is_what_cloudformation_says_not_the_cdks_exit_code(
    steps: Steps, file: Path, status: str
) -> None:
    steps.stacks[CLUSTER] = a_stack(CLUSTER, status)
    with pytest.raises(WorldError, match=f"{CLUSTER}: {status}"):
        deploy(file)
    del steps.stacks[CLUSTER]
    with pytest.raises(WorldError, match=f"{CLUSTER}: not there"):
        deploy(file)


def test_afterwards_outputs_and_the_next_command_are_said() -> None:
    stack = a_stack(STORAGE, outputs={"BucketName": "b", "ExportsOutputRefBucket1": "b"})
    words = next_words(Deployed(PLAN, stacks=(stack,)), local=True)
    assert Spelling(local=True, file=Path("pilot.yaml")).of(words).splitlines() == [
        f"stack {STORAGE}: CREATE_COMPLETE",
        "  BucketName: b",
        "next: neuronkit --local launch pilot.yaml smoke --follow",
        "and in the end: neuronkit --local destroy pilot.yaml",
    ]


def test_the_document(steps: Steps, file: Path) -> None:
    body = deploy(file).as_dict()
    assert set(body) == {"environment", "account", "region", "dry_run", "changes", "stacks"}
    assert body["account"] == steps.cloud.account
    assert body["stacks"][0] == {"name": NETWORK, "status": "CREATE_COMPLETE", "outputs": {}}


SLURM: dict[str, Any] = {
    "clusters.train.scheduler": "slurm",
    "clusters.train.slurm": {"shared_storage": {"kind": "efs"}},
}
TWO_OF_SLURM: dict[str, Any] = {
    **SLURM,
    "clusters.more": {
        "scheduler": "slurm",
        "instance_type": "trn1.2xlarge",
        "nodes": 1,
        "capacity": "hourly",
        "slurm": {"shared_storage": {"kind": "efs"}},
    },
}


@pytest.mark.parametrize(("changes", "at_once"), [({}, "4"), (SLURM, "4"), (TWO_OF_SLURM, "1")])
def test_pcs_makes_one_cluster_at_a_time(
    steps: Steps, file: Path, changes: dict[str, Any], at_once: str
) -> None:
    file.write_text(changed(changes))
    steps.stacks = {name: a_stack(name) for name in plan_of(changes).stacks.all}
    deploy(file)
    assert steps.cdk_arguments[steps.cdk_arguments.index("--concurrency") + 1] == at_once


def test_why_pcs_failed_is_said_though_the_rollback_has_deleted_it(
    steps: Steps, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Watch:
        errors = ("PCS node group trn2-us0 (CREATE_FAILED): InsufficientInstanceCapacity: none left",)

        def __init__(self, cloud: Any, stacks: tuple[str, ...], say: Any) -> None:
            assert stacks == (CLUSTER,)

        def __enter__(self) -> Watch:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    file.write_text(changed(SLURM))
    monkeypatch.setattr(deployment, "PcsWatch", Watch)
    steps.cdk_code = 1
    steps.stacks[CLUSTER] = a_stack(CLUSTER, "ROLLBACK_COMPLETE")
    steps.failure = StackEvent("NodeGroup", "", "AWS::PCS::ComputeNodeGroup", "CREATE_FAILED", "Internal")
    with pytest.raises(WorldError) as caught:
        deploy(file)
    assert caught.value.message.splitlines()[1:] == [
        f"AWS PCS said of {Watch.errors[0]}",
        f"stack {CLUSTER} (ROLLBACK_COMPLETE): AWS::PCS::ComputeNodeGroup NodeGroup: Internal",
    ]


FLEET_PLAN = fleet_plan()
FLEET_STACK = FLEET_PLAN.stacks.of_fleet("chat")


class Fleets:
    """CloudFormation, as the fleet's stack sees it: the parameter that a deploy gave is what it has afterwards."""

    def __init__(self, steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps = steps
        self.made = stacks_of(FLEET_PLAN)
        self.given: list[str] = []
        self.starts = Starts(("chat",), ())
        self.healthy = 0
        replace: dict[str, Callable[..., Any]] = {
            "refuse_unbuildable": lambda _: None,
            "start_fleets": steps._step("start fleets", lambda *_: self.starts),
            "make_way": steps._step("make way", self._make_way),
            "run_cdk": steps._step("cdk", self._run_cdk),
        }
        for name, function in replace.items():
            monkeypatch.setattr(deployment, name, function)
        health = TargetHealth({"healthy": 0}, ())
        monkeypatch.setattr(
            first_deploy.elbv2,
            "target_health",
            lambda *_: dc_replace(health, states={"healthy": self.healthy}),
        )

    def _make_way(self, *_: Any, **__: Any) -> None:
        if self.steps.stacks.get(FLEET_STACK, a_stack(FLEET_STACK)).status == "ROLLBACK_COMPLETE":
            del self.steps.stacks[FLEET_STACK]

    def _run_cdk(self, arguments: list[str], **more: Any) -> int:
        (given,) = [
            one.removeprefix(f"{FLEET_STACK}:FirstDeploy=") for one in arguments if "FirstDeploy=" in one
        ]
        self.given.append(given)
        if not self.steps.cdk_code:
            stack = dc_replace(self.made[FLEET_STACK], parameters={"FirstDeploy": given})
            self.steps.stacks = {**self.made, FLEET_STACK: stack}
        return self.steps._run_cdk(arguments, **more)


@pytest.fixture
def fleets(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> Fleets:
    return Fleets(steps, monkeypatch)


@pytest.fixture
def fleet_file(file: Path) -> Path:
    file.write_text(changed({"fleets.chat": FLEET}))
    return file


@pytest.mark.parametrize("before", [None, "REVIEW_IN_PROGRESS", "ROLLBACK_COMPLETE"])
def test_services_are_made_without_a_task_only_with_their_stack(
    steps: Steps, fleets: Fleets, fleet_file: Path, before: str | None
) -> None:
    """Whatever an earlier command left there."""
    steps.stacks = {name: stack for name, stack in fleets.made.items() if name != FLEET_STACK}
    if before:
        steps.stacks[FLEET_STACK] = a_stack(FLEET_STACK, before)
    deployed = deploy(fleet_file)
    # The second update changes what a rollback of a later one would return to, and the least number of replicas.
    assert fleets.given == ["true", "false"]
    assert f"--exclusively {FLEET_STACK}" in " ".join(steps.cdk_arguments)
    assert steps.log[-4:] == ["start fleets", "synth", "make way", "cdk"]
    deploy(fleet_file)
    assert fleets.given == ["true", "false", "false"]
    words = next_words(deployed, local=False)
    assert "fleet chat: http://lb.internal inside the VPC" in words
    assert "next: neuronkit bench-serving http://lb.internal --model llama" in words


def test_it_stays_the_first_deploy_until_the_fleet_has_started(
    steps: Steps, fleets: Fleets, fleet_file: Path
) -> None:
    steps.stacks = {}
    fleets.starts = Starts((), (WorldError("the compile task failed"),))
    for _ in range(2):
        with pytest.raises(WorldError, match="the compile task failed"):
            deploy(fleet_file)
    assert fleets.given == ["true", "true"]
    fleets.starts = Starts(("chat",), ())
    deploy(fleet_file)
    assert fleets.given == ["true", "true", "true", "false"]


def test_killed_before_the_stack_was_told_a_fleet_that_serves_is_not_set_back_to_no_task(
    steps: Steps, fleets: Fleets, fleet_file: Path
) -> None:
    steps.stacks = {**fleets.made, FLEET_STACK: first(fleets.made[FLEET_STACK])}
    fleets.healthy = 1
    deploy(fleet_file)
    assert fleets.given == ["false"]


def test_a_fleet_that_has_started_is_told_so_though_another_failed(
    steps: Steps, fleets: Fleets, fleet_file: Path
) -> None:
    steps.stacks = {}
    fleets.starts = Starts(("chat",), (WorldError("fleet more failed"),))
    with pytest.raises(WorldError, match="fleet more failed"):
        deploy(fleet_file)
    assert fleets.given == ["true", "false"]


def test_a_fleet_that_sleeps_says_when() -> None:
    plan = fleet_plan(
        scale_to_zero={"idle_minutes": 45}, replicas={"minimum": 0, "maximum": 2, "per_node": 2}
    )
    stacks = tuple(stacks_of(plan).values())
    words = next_words(Deployed(plan, stacks=stacks), local=False)
    assert "inside the VPC; sleeps after 45 minutes without a request" in words
