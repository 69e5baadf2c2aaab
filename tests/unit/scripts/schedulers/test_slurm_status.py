"""The status of an environment with a Slurm cluster: what PCS, Slurm and the bucket say, also when some of them do not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from scripts import run_status
from scripts.aws import pcs, s3
from scripts.aws.cloud import Cloud
from scripts.aws.cloudformation import Stack
from scripts.aws.ec2 import CapacityReservation
from scripts.aws.pcs import PcsResource
from scripts.run_lookup import find_run
from scripts.run_status import Status, take_status
from scripts.run_store import RunRecord, RunStore
from scripts.schedulers import capacity_words, opening
from scripts.schedulers.capacity_words import ids_of
from scripts.schedulers.slurm_view import SlurmClusterStatus
from stacks.domain.errors import InputError, WorldError
from stacks.domain.plan import Plan
from tests import synthesized
from tests.unit.scripts.fakes import a_stack
from tests.unit.scripts.schedulers.fake_slurm import FakeSlurm
from tests.unit.scripts.schedulers.test_slurm_launch import BUCKET, slurm_plan

GOLDEN = Path(__file__).resolve().parents[3] / "golden" / "stacks" / "__snapshots__" / "test_templates"
GROUP = "trn1-32xlarge"
COMMENT = "neuronkit:pilot"


class Deployed:
    """One deployed Slurm cluster; a test changes what it needs."""

    def __init__(self, cloud: Cloud, slurm: FakeSlurm, plan: Plan) -> None:
        self.cloud = cloud
        self.slurm = slurm
        self.plan = plan
        self.pcs = PcsResource(pcs.CLUSTER, "pcs_1", "pilot-train", "arn:c", "pcs_1", "ACTIVE")
        self.groups = (PcsResource(pcs.NODE_GROUP, "g_1", GROUP, "arn:g", "pcs_1", "ACTIVE"),)
        names = plan.stacks
        self.stacks: dict[str, Stack] = {
            names.storage: a_stack(names.storage, outputs={"BucketName": BUCKET}),
            names.of_cluster("train"): a_stack(
                names.of_cluster("train"), outputs={"PcsClusterId": "pcs_1", "LoginNodeGroupId": "login_1"}
            ),
        }
        self.silence: WorldError | None = None
        self.template: dict[str, Any] = {}

    def transport(self, *arguments: Any) -> Any:
        if self.silence is None:
            return self.slurm

        class Silent:
            def run(_, script: str) -> Any:  # noqa: N805
                raise self.silence or AssertionError

        return Silent()

    def queue(self, *jobs: str) -> None:
        (self.slurm.directory / "queue").write_text("".join(job + "\n" for job in jobs))

    def status(self, transport: Any = "ssm") -> Status:
        return take_status(self.cloud, self.plan, transport, now=datetime(2026, 12, 7, tzinfo=UTC))

    def cluster(self) -> SlurmClusterStatus:
        (found,) = self.status().clusters
        assert isinstance(found, SlurmClusterStatus)
        return found


@pytest.fixture
def deployed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    with mock_aws():
        session = boto3.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-2")
        cloud = Cloud("us-east-2", "1" * 12, is_local=False, session=session)
        cloud.client("s3").create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "us-east-2"}
        )
        made = Deployed(cloud, FakeSlurm(tmp_path / "slurm"), slurm_plan(str(tmp_path / "shared")))
        monkeypatch.setattr(
            run_status.cloudformation, "find_stack", lambda cloud, name: made.stacks.get(name)
        )
        monkeypatch.setattr(run_status.cloudformation, "template", lambda cloud, name: made.template)
        monkeypatch.setattr(opening, "open_transport", made.transport)
        monkeypatch.setattr(opening.pcs, "find", lambda *arguments: made.pcs)
        monkeypatch.setattr(opening.pcs, "parts", lambda *arguments: made.groups)
        yield made


def claim(deployed: Deployed, run: str, scheduler_id: str | None) -> None:
    RunStore(deployed.cloud, BUCKET, "smoke").claim(RunRecord(run, "smoke", "me", scheduler_id))


def leave(deployed: Deployed, run: str, **files: str) -> None:
    storage = deployed.plan.clusters[0].slurm
    assert storage is not None
    assert storage.shared_storage is not None
    directory = Path(storage.shared_storage.mount_point) / "neuronkit" / "pilot" / "runs" / "smoke" / run
    directory.mkdir(parents=True)
    for name, text in files.items():
        (directory / name.replace("_json", ".json").replace("_", "-")).write_text(text)


def test_runs_nodes_and_cluster_are_said(deployed: Deployed) -> None:
    deployed.queue(
        f"1|RUNNING|4|{COMMENT}|smoke-1|None",
        f"2|PENDING|4|{COMMENT}|smoke-2|Resources",
        "3|RUNNING|4|(null)|smoke-3|None",
    )
    (deployed.slurm.directory / "nodes").write_text(
        f"{GROUP}-1|allocated|none\n{GROUP}-2|idle~|none\n{GROUP}-3|drained|gres/neuron count too low\n"
    )
    s3.put(deployed.cloud, BUCKET, "runs/smoke/smoke-1/metrics.jsonl", b'{"step": 5, "loss": 1.25}\n')
    text = deployed.status().text()
    assert "cluster  train: PCS cluster ACTIVE, Slurm 25.11; login node answers" in text
    assert f"nodes {GROUP}: ACTIVE; 1 allocated, 1 drained, 1 idle (powered down)" in text
    assert f"node {GROUP}-3 is drained: gres/neuron count too low" in text
    assert "capacity hourly: on-demand" in text
    assert "run      smoke-1: RUNNING, step 5, loss 1.2500" in text
    assert "run      smoke-2: PENDING\n         Slurm says Resources: all fitting nodes" in text
    assert "smoke-3" not in text
    assert len(deployed.slurm.texts) == 1


def test_what_slurm_has_forgotten_is_told_by_the_runs_directory(deployed: Deployed) -> None:
    for run in ("smoke-1", "smoke-2", "smoke-3"):
        claim(deployed, run, run[-1])
    claim(deployed, "smoke-4", None)
    ended = {"state": "TIMEOUT", "exit_code": 124, "attempt": 1}
    leave(
        deployed, "smoke-1", job_id="1\n", ended_json='{"state": "COMPLETED", "exit_code": 0, "attempt": 1}'
    )
    leave(deployed, "smoke-2", job_id="2\n", ended_json=json.dumps(ended))
    leave(deployed, "smoke-3", job_id="3\n")
    runs = {run.run: (run.state, run.why) for run in deployed.status().runs}
    assert runs == {
        "smoke-4": ("CLAIMED (launch again to submit it)", ()),
        "smoke-3": ("ENDED (Slurm has forgotten how)", ()),
        "smoke-2": ("TIMEOUT", ("it reached its time limit; exit code 124",)),
        "smoke-1": ("COMPLETED", ()),
    }


def test_a_dead_login_node_hides_neither_the_cluster_nor_what_the_bucket_knows(deployed: Deployed) -> None:
    deployed.silence = WorldError("the login node i-1 is stopped", "start it")
    claim(deployed, "smoke-1", "1")
    s3.put(deployed.cloud, BUCKET, "runs/smoke/smoke-1/metrics.jsonl", b'{"step": 5, "loss": 1.25}\n')
    text = deployed.status().text()
    assert "PCS cluster ACTIVE" in text
    assert "login node does not answer: the login node i-1 is stopped; start it" in text
    assert f"nodes {GROUP}: ACTIVE\n" in text
    assert "run      smoke-1: UNKNOWN (the login node does not answer), step 5, loss 1.2500" in text


def test_a_suspended_cluster_is_explained(deployed: Deployed) -> None:
    deployed.pcs = replace(deployed.pcs, status="SUSPENDED", errors=("ServiceEnd: version 24.11 has ended",))
    deployed.silence = WorldError("there is no login node", "")
    cluster = deployed.cluster()
    assert cluster.pcs_cluster == "SUSPENDED"
    assert "no job runs" in cluster.why[0]
    assert cluster.why[1] == "ServiceEnd: version 24.11 has ended"


def test_before_a_deploy_nothing_is_asked(deployed: Deployed) -> None:
    deployed.stacks.clear()
    cluster = deployed.cluster()
    assert (cluster.pcs_cluster, cluster.login_node) == ("not deployed", "not deployed")
    assert deployed.slurm.texts == []
    assert "no runs" in deployed.status().text()


def test_with_the_slurm_of_this_shell_the_storage_stack_is_enough(deployed: Deployed) -> None:
    del deployed.stacks[deployed.plan.stacks.of_cluster("train")]
    deployed.queue(f"1|RUNNING|4|{COMMENT}|smoke-1|None")
    assert [run.run for run in deployed.status("local").runs] == ["smoke-1"]


def test_capacity_that_has_not_begun_is_a_reason_to_wait(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = CapacityReservation(
        "cr-1", "scheduled", "capacity-block", "trn1.32xlarge", "use2-az3", 4, 0,
        datetime(2026, 12, 1, tzinfo=UTC), datetime(2026, 12, 2, tzinfo=UTC),
    )  # fmt: skip
    monkeypatch.setattr(capacity_words.ec2, "find_reservation", lambda cloud, id_: block)
    cluster = deployed.plan.clusters[0]
    capacity = replace(cluster.capacity, name="block", kind="capacity-block", id="cr-1")
    deployed.plan = replace(deployed.plan, clusters=(replace(cluster, capacity=capacity),))
    deployed.queue(f"1|PENDING|4|{COMMENT}|smoke-1|ReqNodeNotAvail, UnavailableNodes:a")
    (run,) = deployed.status().runs
    assert "down, drained or reserved" in run.why[0]
    assert run.why[1].startswith("capacity cr-1 has not begun")
    assert "ends 2026-12-02" in deployed.status().text()


def test_the_document_has_every_part(deployed: Deployed) -> None:
    (cluster,) = deployed.status().as_dict()["clusters"]
    assert set(cluster) == {
        "name", "pcs_cluster", "slurm_version", "why", "login_node", "node_groups", "node_reasons", "capacity", "ends",
    }  # fmt: skip
    assert set(cluster["node_groups"][0]) == {"name", "status", "nodes"}


def test_a_run_is_found_cancelled_and_its_end_remembered(deployed: Deployed) -> None:
    deployed.queue(f"1|PENDING|4|{COMMENT}|smoke-1|Resources")
    leave(deployed, "smoke-1", job_id="1\n")
    found = find_run(deployed.cloud, deployed.plan, "smoke-1", "ssm")
    assert (found.run.id, found.run.state, found.run.nodes) == ("1", "PENDING", 4)
    found.scheduler.cancel(found.run, found.logs)
    assert (Path(found.logs) / "ended.json").read_text() == (
        '{"state": "CANCELLED", "exit_code": null, "attempt": null}\n'
    )
    again = find_run(deployed.cloud, deployed.plan, "smoke-1", "ssm")
    assert (again.run.state, again.run.has_failed) == ("CANCELLED", True)
    again.scheduler.cancel(again.run, again.logs)


def test_a_run_that_nobody_knows_is_said(deployed: Deployed) -> None:
    with pytest.raises(InputError, match="Slurm knows no run smoke-9 of pilot") as caught:
        find_run(deployed.cloud, deployed.plan, "smoke-9", "ssm")
    assert "as long as its directory below" in caught.value.hint
    assert "Batch" not in caught.value.hint


def test_nodes_and_capacity_are_those_that_are_deployed(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has grown since, and a bigger block with our tag is there, as is a smaller one of before."""
    plan = synthesized.plans()["slurm-trn2-block"]
    stack = plan.stacks.of_cluster("train")
    deployed.template = json.loads((GOLDEN / f"test_template[slurm-trn2-block--{stack}].json").read_text())
    (id_,) = ids_of(plan.clusters[0].capacity)
    nodes = plan.clusters[0].nodes
    monkeypatch.setattr(
        capacity_words.ec2,
        "find_reservation",
        lambda cloud, wanted: CapacityReservation(
            wanted, "active", "capacity-block", "trn2.48xlarge", "use2-az3", nodes, 1, None, None
        ),
    )
    cluster = replace(
        deployed.plan.clusters[0],
        nodes=nodes + 4,
        capacity=replace(plan.clusters[0].capacity, name="block", id="cr-2", ids=()),
    )
    deployed.plan = replace(deployed.plan, clusters=(cluster,))
    deployed.queue(f"1|PENDING|{nodes + 4}|{COMMENT}|smoke-1|PartitionNodeLimit")
    status = deployed.status()
    assert f"capacity block: capacity-block, {id_} active, 1 of {nodes} instances free" in status.text()
    assert "the file says capacity-block cr-2, which `neuronkit deploy FILE` brings" in status.text()
    assert (
        f"the deployed cluster train takes {nodes} nodes, the job asks for {nodes + 4}: `neuronkit deploy FILE` first"
        in status.runs[0].why[1]
    )
