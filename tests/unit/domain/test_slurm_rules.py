"""Rules that are not Slurm's own, on files with Slurm clusters; and what findings about Slurm say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stacks.domain.catalog import load_catalog
from stacks.domain.environment import Loaded
from stacks.domain.findings import Finding, Severity
from stacks.domain.live import LiveFacts, QuotaLimit
from stacks.domain.plan import make_plan
from stacks.domain.render.starters import starter_text
from stacks.domain.rules import not_checked, run_live_rules, run_rules
from stacks.domain.rules.slurm_settings import minutes_of
from tests.environments import changed, loaded, starters_under
from tests.live_answers import AS_OF, block, in_order
from tests.unit.domain.slurm_cases import IDS, JOB, SLURM, TRAIN, bought, lustre, slurm, ultraservers
from tests.unit.domain.ultraserver_cases import BOUGHT, TYPE

VPC_OF_A_24 = {"network.cidr": "10.42.0.0/24", TYPE: "trn2.48xlarge"}
TWO = {**ultraservers(8, **bought(*IDS[:2])), f"{JOB}.checkpoint_minutes": 5}


def file_of(changes: dict[str, Any], directory: Path) -> Loaded:
    return loaded(changed(changes), directory)


def findings(changes: dict[str, Any], directory: Path) -> tuple[Finding, ...]:
    return run_rules(file_of(changes, directory), load_catalog())


def live_findings(changes: dict[str, Any], directory: Path, **answers: Any) -> tuple[Finding, ...]:
    file = file_of(changes, directory)
    plan = make_plan(file.environment, None, load_catalog())
    return run_live_rules(file, plan, load_catalog(), in_order(plan, **answers))


def ultraserver_block(**more: Any) -> Any:
    return block(
        **{"instance_type": "trn2u.48xlarge", "zone_id": "aps2-az1", "ultraserver_type": "u-x", **more}
    )


@pytest.mark.parametrize(
    ("rule_id", "changes", "path"),
    [
        ("NK212", {**slurm(), "capacity.hourly": {"kind": "capacity-block"}}, "capacity.hourly.id"),
        ("NK216", {**slurm(), **BOUGHT, f"{TRAIN}.nodes": 65}, f"{TRAIN}.nodes"),
        ("NK221", {**slurm(), **VPC_OF_A_24, f"{TRAIN}.nodes": 8}, "network.cidr"),
        ("NK240", {**slurm(runs_in="pyxis"), "software.sdk": "9.9.9"}, f"{JOB}.framework"),
        ("NK240", {**slurm(runs_in="apptainer"), f"{JOB}.framework": "torch-neuronx", "software.sdk": "2.32.0"}, f"{JOB}.framework"),
        ("NK261", {**slurm(), f"{JOB}.environment": {"SLURM_JOB_ID": "1"}}, f"{JOB}.environment.SLURM_JOB_ID"),
        ("NK287", {**slurm(ami="ami-0123456789abcdef0"), f"{TRAIN}.root_volume_gib": 99}, f"{TRAIN}.root_volume_gib"),
        ("NK288", {**slurm(), f"{TRAIN}.root_volume_gib": 511}, f"{TRAIN}.root_volume_gib"),
    ],
)  # fmt: skip
def test_rules_of_every_scheduler_hold_for_slurm(
    rule_id: str, changes: dict[str, Any], path: str, tmp_path: Path
) -> None:
    about_it = [f for f in findings(changes, tmp_path) if f.id == rule_id]
    assert [f.path for f in about_it] == [path]
    assert about_it[0].line is not None


@pytest.mark.parametrize(
    ("rule_id", "changes"),
    [
        ("NK212", ultraservers(8, **bought(*IDS[:2]))),
        ("NK214", {**slurm(), "capacity.hourly.kind": "spot"}),
        ("NK216", ultraservers(68, **bought(*IDS[:2]))),
        ("NK216", ultraservers(68, **{"capacity.hourly": {"kind": "capacity-block"}})),
        ("NK219", {**slurm(), **BOUGHT}),
        ("NK221", {**slurm(), **VPC_OF_A_24, f"{TRAIN}.nodes": 7}),
        ("NK240", {**slurm(), "software.sdk": "9.9.9"}),
        ("NK248", {**slurm(ami="ami-0123456789abcdef0")}),
        ("NK249", {**slurm(), "software.ami": "/aws/service/neuron/dlami/x/ubuntu-24.04/latest/image_id"}),
        ("NK287", {**slurm(), f"{TRAIN}.root_volume_gib": 64}),
        ("NK288", {**slurm(parent_ami="ami-0123456789abcdef0"), f"{TRAIN}.root_volume_gib": 300}),
        ("NK290", {**slurm(), "tags": {f"k{n:03}{'x' * 120}": "é" * 256 for n in range(40)}}),
    ],
)
def test_rules_of_batch_leave_slurm_alone(rule_id: str, changes: dict[str, Any], tmp_path: Path) -> None:
    assert [f.text() for f in findings(changes, tmp_path) if f.id == rule_id] == []


@pytest.mark.parametrize("starter", starters_under("slurm"))
def test_a_slurm_starter_has_no_errors(starter: str, tmp_path: Path) -> None:
    text = starter_text(starter, name="pilot", file="pilot.yaml", schema="schema.json")
    found = run_rules(loaded(text, tmp_path), load_catalog())
    assert [f.text() for f in found if f.severity is Severity.ERROR] == []


@pytest.mark.parametrize("changes", [slurm(), lustre(2400), ultraservers(8, **bought(*IDS[:2]))])
def test_a_good_slurm_file_has_no_errors(changes: dict[str, Any], tmp_path: Path) -> None:
    assert [f.text() for f in findings(changes, tmp_path) if f.severity is Severity.ERROR] == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (slurm(gres=32), "32 is the number of physical cores"),
        ({**slurm(gres=64), TYPE: "trn2.48xlarge"}, "64 is a number of logical cores"),
        (slurm(minimum_nodes=1), "write 4 to keep all of `nodes` running, 0 to start them with a job"),
        (slurm(version="24.11"), "write '25.11'"),
        (slurm(version="25.12"), "write '26.05'"),
        (slurm(version="27.05"), "write '26.05'"),
        (lustre(5000), "write 7200"),
        ({**slurm(controller_size="SMALL"), f"{TRAIN}.nodes": 40}, "write MEDIUM or auto"),
        (slurm(cluster_settings={"MaxTime": "60"}), "write it under queue_settings"),
        (slurm(cluster_settings={"SchedulerParameter": "x"}), "did you mean 'SchedulerParameters'?"),
        (ultraservers(8, **BOUGHT), "has 2 UltraServers"),
    ],
)  # fmt: skip
def test_the_finding_says_what_to_write(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    assert any(words in f.text() for f in findings(changes, tmp_path))


def test_an_end_that_is_not_published_is_said(tmp_path: Path) -> None:
    file = file_of(slurm(), tmp_path)
    plan = make_plan(file.environment, None, load_catalog())
    said = {n.id: n.why for n in not_checked(file, plan, load_catalog(), LiveFacts())}
    assert "when AWS PCS ends Slurm 25.11" in said["NK628"]


class TestLive:
    def test_each_ultraservers_reservation_is_looked_at(self, tmp_path: Path) -> None:
        good = {id_: ultraserver_block(id=id_) for id_ in IDS[:2]}
        assert [
            f.id for f in live_findings(TWO, tmp_path, reservations=good) if f.id.startswith("NK32")
        ] == []
        spoilt = {**good, IDS[1]: ultraserver_block(id=IDS[1], total=3, available=3)}
        found = [f for f in live_findings(TWO, tmp_path, reservations=spoilt) if f.id == "NK325"]
        assert [f.path for f in found] == ["capacity.hourly.ids[1]"]
        assert "has 3 instances, what shall run on it wants 4" in found[0].message

    def test_a_job_that_outlives_the_block_is_said(self, tmp_path: Path) -> None:
        short = {id_: ultraserver_block(id=id_, end=AS_OF.replace(hour=13)) for id_ in IDS[:2]}
        found = [f for f in live_findings(TWO, tmp_path, reservations=short) if f.id == "NK330"]
        assert [f.path for f in found] == ["capacity.hourly.ids[0]", "capacity.hourly.ids[1]"]

    def test_an_image_that_is_not_built_names_the_command(self, tmp_path: Path) -> None:
        file = file_of(slurm(), tmp_path)
        plan = make_plan(file.environment, None, load_catalog())
        assert plan.clusters[0].ami is not None
        answers = in_order(plan, amis={plan.clusters[0].ami.reference: None})
        found = [f for f in run_live_rules(file, plan, load_catalog(), answers) if f.id == "NK340"]
        assert [f.path for f in found] == [f"{SLURM}.ami"]
        assert "neuronkit image build" in found[0].fix

    def test_an_image_that_is_gone_is_built_again_not_locked_anew(self, tmp_path: Path) -> None:
        """`destroy` deletes the AMI and leaves the lock."""
        file = file_of(slurm(), tmp_path)
        plan = make_plan(file.environment, None, load_catalog())
        (cluster,) = plan.clusters
        assert cluster.ami is not None
        plan = replace(plan, clusters=(replace(cluster, ami=replace(cluster.ami, id="ami-1")),))
        answers = in_order(plan, amis={cluster.ami.reference: None})
        (found,) = (f for f in run_live_rules(file, plan, load_catalog(), answers) if f.id == "NK340")
        assert "ami-1 of the lock is gone" in found.message
        assert found.fix == "run `neuronkit image build FILE`, which locks it, too"

    @pytest.mark.parametrize(("limit", "paths"), [(3, [f"{SLURM}.login_instance_type"]), (4, [])])
    def test_login_nodes_are_charged_to_their_own_quota(
        self, limit: int, paths: list[str], tmp_path: Path
    ) -> None:
        limits = {"L-1216C47A": QuotaLimit(limit, False), "L-2C3B7624": QuotaLimit(512, False)}
        found = [f for f in live_findings(slurm(), tmp_path, quota_limits=limits) if f.id == "NK310"]
        assert [f.path for f in found] == paths

    @pytest.mark.parametrize("settings", [{}, {"login_instance_type": "m7i.large"}])
    def test_what_login_nodes_need_is_never_taken_for_checked(
        self, settings: dict[str, Any], tmp_path: Path
    ) -> None:
        file = file_of(slurm(**settings), tmp_path)
        plan = make_plan(file.environment, None, load_catalog())
        open_ = [n.why for n in not_checked(file, plan, load_catalog(), in_order(plan)) if n.id == "NK310"]
        assert len(open_) == 1
        assert ("m7i.large" if settings else "L-1216C47A") in open_[0]

    def test_the_service_linked_role_is_pcs_own(self, tmp_path: Path) -> None:
        roles = {"AWSServiceRoleForPCS": False, "AWSServiceRoleForBatch": False}
        found = [f for f in live_findings(slurm(), tmp_path, service_roles=roles) if f.id == "NK362"]
        assert len(found) == 1
        assert "pcs.amazonaws.com" in found[0].fix


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("90", 90), ("90:30", 90.5), ("1:30:00", 90), ("1-1", 1500), ("1-1:30", 1530), ("1-1:30:30", 1530.5), ("UNLIMITED", None), ("", None)],
)  # fmt: skip
def test_slurms_times(text: str, minutes: float | None) -> None:
    assert minutes_of(text) == minutes
