"""A plan beside deployed templates: what is billed there, and never more than was read."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from scripts import deployed_comparison
from scripts.aws import cloudformation
from scripts.console import Console
from scripts.deployed_comparison import NOT_READ, compare_with_deployed
from scripts.deployed_inventory import deployed_inventory
from scripts.loading import load_plan
from scripts.resource_changes import Change
from scripts.synthesis import Assembly
from stacks.domain.catalog import load_catalog
from stacks.domain.cost import cost_of, inventory_of
from tests import synthesized
from tests.environments import changed
from tests.unit.scripts.fakes import a_cloud, a_stack

GOLDEN_TEMPLATES = (
    Path(__file__).resolve().parents[2] / "golden" / "stacks" / "__snapshots__" / "test_templates"
)
# AWS chooses the nodes of managed instances.
LISTED = [name for name in synthesized.PLAN_NAMES if name not in ("trn3-gen2", "fleet-managed")]
Templates = dict[str, dict[str, Any]]


def golden(plan_name: str) -> Templates:
    stacks = synthesized.plans()[plan_name].stacks.all
    return {
        stack: json.loads(
            (GOLDEN_TEMPLATES / f"test_template[{plan_name}--{stack}].json").read_text(encoding="utf-8")
        )
        for stack in stacks
    }


@pytest.mark.parametrize("plan_name", LISTED)
def test_what_the_stacks_of_a_plan_bill_is_what_the_plan_bills(plan_name: str) -> None:
    plan = synthesized.plans()[plan_name]
    found = deployed_inventory(golden(plan_name), plan, load_catalog())
    assert found.unread == ()
    deployed, planned = found.inventory, inventory_of(plan)
    one, other = (cost_of(inventory, 7, load_catalog()) for inventory in (deployed, planned))
    assert one.known_usd_per_hour == pytest.approx(other.known_usd_per_hour)
    assert one.known_usd_lifetime == pytest.approx(other.known_usd_lifetime)
    sizes = [
        [(g.name, g.instance_type, g.nodes, g.root_volume_gib, g.capacity_kind) for g in i.node_groups]
        for i in (deployed, planned)
    ]
    assert sorted(sizes[0]) == sorted(sizes[1])
    assert deployed.slurm == planned.slurm
    assert deployed.fleets == planned.fleets
    assert deployed.node_images == planned.node_images


@pytest.mark.parametrize(
    ("resource", "path", "value"),
    [
        ("ComputeEnvironment", ("ComputeResources", "MaxvCpus"), {"Ref": "VcpusMax"}),
        ("ComputeEnvironment", ("ComputeResources", "InstanceTypes"), ["optimal"]),
        ("ComputeEnvironment", ("ComputeResources", "InstanceTypes"), {"Ref": "Types"}),
        ("ComputeEnvironment", ("ComputeResources", "LaunchTemplate"), {"LaunchTemplateId": "lt-1"}),
        ("LaunchTemplate", ("LaunchTemplateData", "BlockDeviceMappings"), []),
    ],
)
def test_what_a_template_does_not_say_in_so_many_words_is_not_claimed(
    resource: str, path: tuple[str, str], value: Any
) -> None:
    templates = copy.deepcopy(golden("trn1-first-hour"))
    templates["pilot-cluster-train"]["Resources"][resource]["Properties"][path[0]][path[1]] = value
    found = deployed_inventory(templates, synthesized.plans()["trn1-first-hour"], load_catalog())
    assert found.inventory.node_groups == ()
    assert found.unread == ("nodes of ComputeEnvironment in pilot-cluster-train",)


SLURM_UNREAD = [
    ("PcsCluster", ("Size",), {"Ref": "Size"}),
    ("NodeGroup", ("ScalingConfiguration", "MaxInstanceCount"), {"Ref": "NodesMax"}),
    ("NodeGroup", ("InstanceConfigs",), [{"InstanceType": {"Ref": "Type"}}]),
    ("NodeGroup", ("CustomLaunchTemplate", "TemplateId"), "lt-1"),
    ("LoginNodeGroup", ("InstanceConfigs",), []),
    ("LoginLaunchTemplate", ("LaunchTemplateData", "BlockDeviceMappings"), []),
    ("SharedStorage", ("StorageCapacity",), {"Ref": "Gib"}),
]


@pytest.mark.parametrize(("resource", "path", "value"), SLURM_UNREAD)
def test_what_a_slurm_template_does_not_say_is_not_claimed(
    resource: str, path: tuple[str, ...], value: Any
) -> None:
    templates = copy.deepcopy(golden("slurm-everything"))
    properties = templates["pilot-cluster-train"]["Resources"][resource]["Properties"]
    for name in path[:-1]:
        properties = properties[name]
    properties[path[-1]] = value
    found = deployed_inventory(templates, synthesized.plans()["slurm-everything"], load_catalog())
    assert found.unread == ("nodes and controller of PcsCluster in pilot-cluster-train",)
    assert len(found.inventory.node_groups) + len(found.inventory.slurm) == 1


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Templates:
    """What is deployed, by stack: empty until a test puts something in. The plan's own stacks are the golden ones."""
    deployed: Templates = {}
    names = synthesized.plans()["trn1-everything"].stacks.all
    for name, template in golden("trn1-everything").items():
        (tmp_path / f"{name}.template.json").write_text(json.dumps(template), encoding="utf-8")
    assembly = Assembly(tmp_path, tuple(tmp_path / f"{name}.template.json" for name in names), reused=False)
    monkeypatch.setattr(deployed_comparison, "open_cloud", lambda *_, **__: a_cloud())
    monkeypatch.setattr(deployed_comparison, "synthesize", lambda *_, **__: assembly)
    monkeypatch.setattr(deployed_comparison, "deployed_template", lambda _, name: deployed.get(name))
    monkeypatch.setattr(cloudformation, "all_stacks", lambda _: tuple(a_stack(name) for name in deployed))
    monkeypatch.setattr(cloudformation, "template", lambda _, name: deployed[name])
    return deployed


def compared(directory: Path) -> deployed_comparison.Comparison:
    """Against the plan that the golden templates of trn1-everything are of."""
    changes: dict[str, Any] = {
        "capacity.reserved": {"kind": "reservation", "id": synthesized.RESERVATION},
        "clusters.train.capacity": "reserved",
        "clusters.one": {
            "scheduler": "batch",
            "instance_type": "trn1.2xlarge",
            "nodes": 1,
            "capacity": "hourly",
        },
    }
    file = directory / "pilot.yaml"
    file.write_text(changed(changes), encoding="utf-8")
    return compare_with_deployed(Console(), load_plan(file))


def test_nothing_deployed_is_said(world: Templates, tmp_path: Path) -> None:
    found = compared(tmp_path)
    assert found.deployed_cost is None
    assert found.changes == ()
    assert found.text() == "deployed nothing: no stack of this environment is there"
    assert found.as_dict()["cost_deployed"] is None


def test_the_same_is_no_change_and_costs_the_same(world: Templates, tmp_path: Path) -> None:
    world.update(golden("trn1-everything"))
    found = compared(tmp_path)
    assert found.changes == ()
    assert (found.missing, found.extra) == ((), ())
    assert found.deployed_cost is not None
    assert found.deployed_cost.usd_per_hour == pytest.approx(found.planned_cost.usd_per_hour)
    assert "change   none" in found.text()
    assert NOT_READ in found.text()


def test_half_an_environment_an_old_cluster_and_changes(world: Templates, tmp_path: Path) -> None:
    templates = copy.deepcopy(golden("trn1-everything"))
    train = templates["pilot-cluster-train"]
    train["Resources"]["ComputeEnvironment"]["Properties"]["ComputeResources"]["MaxvCpus"] = 128
    templates["pilot-network"]["Resources"]["Vpc"]["Properties"]["CidrBlock"] = "10.99.0.0/16"
    world.update(
        {name: templates[name] for name in ("pilot-network", "pilot-storage", "pilot-cluster-train")}
    )
    world["pilot-cluster-old"] = templates["pilot-cluster-one"]
    found = compared(tmp_path)
    assert found.missing == ("pilot-cluster-one",)
    assert found.extra == ("pilot-cluster-old",)
    by_id = {(stack, change.logical_id): change for stack, change in found.changes}
    assert by_id["pilot-network", "Vpc"].change is Change.REPLACED
    assert by_id["pilot-network", "NodeSubnet"].because_of == "Vpc"
    assert by_id["pilot-cluster-train", "ComputeEnvironment"].change is Change.IN_PLACE
    assert {stack for stack, _ in by_id} == {"pilot-network", "pilot-cluster-train"}
    assert found.deployed_cost is not None
    one_node = next(line for line in found.deployed_cost.lines if line.what.startswith("train: 1 x"))
    assert one_node.usd_per_hour == pytest.approx(21.5)
    assert "extra    pilot-cluster-old: not in the file; a deploy leaves it alone" in found.text()
    assert "missing  pilot-cluster-one: a deploy makes it" in found.text()
    document = found.as_dict()
    assert json.loads(json.dumps(document)) == document
