"""The deploy's own part: what it says before and after, and how it words a failure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts import deployment
from scripts.aws.cloudformation import Stack, StackEvent
from scripts.console import Console
from scripts.deployment import Deployed, next_words
from scripts.stack_changes import StackChange
from scripts.synthesis import Assembly
from stacks.domain.errors import KitError, WorldError
from tests.environments import changed, plan_of
from tests.unit.scripts.fakes import a_cloud, a_stack
from tests.unit.scripts.serving_fleets.world import FLEET, fleet_plan, stacks_of

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
        replace: dict[str, Callable[..., Any]] = {
            "open_cloud": self._step("open", lambda *_: self.cloud),
            "_with_lock": self._step("lock", lambda console, cloud, loaded: loaded),
            "refuse_unresolved": self._step("pinned", lambda *_, **__: None),
            "with_bought_capacity": self._step("bought", lambda console, cloud, plan, dry_run: plan),
            "check_account": self._step("account", lambda *_: None),
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
    assert f"{NETWORK}: create" in next_words(deployed, file, local=False)


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
    assert f"`neuronkit deploy {file}` continues" in caught.value.hint
    assert f"`neuronkit destroy {file}` cleans up" in caught.value.hint


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
    words = next_words(Deployed(PLAN, stacks=(stack,)), Path("pilot.yaml"), local=True)
    assert words.splitlines() == [
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


@pytest.fixture
def fleet_file(file: Path, steps: Steps, monkeypatch: pytest.MonkeyPatch) -> Path:
    file.write_text(changed({"fleets.chat": FLEET}))
    monkeypatch.setattr(deployment, "refuse_unbuildable", lambda _: None)
    monkeypatch.setattr(
        deployment, "start_fleets", steps._step("start fleets", lambda cloud, plan, stacks, say: None)
    )
    return file


def test_services_are_made_without_a_task_only_with_their_stack(
    steps: Steps, fleet_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = stacks_of(FLEET_PLAN)
    steps.stacks = {name: stack for name, stack in made.items() if name != FLEET_STACK}
    run_cdk = deployment.run_cdk

    def with_fleet(arguments: list[str], **more: Any) -> int:
        steps.stacks = made
        return run_cdk(arguments, **more)

    calls: list[str] = []
    monkeypatch.setattr(
        deployment,
        "run_cdk",
        lambda arguments, **more: calls.append(" ".join(arguments)) or with_fleet(arguments, **more),
    )
    deployed = deploy(fleet_file)
    # The second update changes nothing but what a rollback of a later one would return to.
    assert [f"{FLEET_STACK}:FirstDeploy=true" in call for call in calls] == [True, False]
    assert f"--exclusively {FLEET_STACK}" in calls[1]
    assert f"--parameters {FLEET_STACK}:FirstDeploy=false" in calls[1]
    assert steps.log[-4:] == ["start fleets", "synth", "make way", "cdk"]
    deploy(fleet_file)
    assert [f"{FLEET_STACK}:FirstDeploy=false" in call for call in calls] == [False, True, True]
    words = next_words(deployed, fleet_file, local=False)
    assert "fleet chat: http://lb.internal inside the VPC" in words
    assert "next: neuronkit bench-serving http://lb.internal --model llama" in words
