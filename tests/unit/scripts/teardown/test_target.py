"""What `destroy` and `leftovers` take from the file, whatever else is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.teardown.target import TargetFile, read_target
from stacks.domain.findings import FindingsError
from stacks.domain.render.starters import STARTERS, starter_text

WHOLE = """\
name: pilot
region: us-east-2
account: "111122223333"
owner: me
lifetime_days: 3
budget_usd: 100
cdk: {qualifier: own}
network: {vpc: new, zone: us-east-2a}
capacity:
  block: {kind: capacity-block, id: cr-0123456789abcdef0}
  blocks: {kind: capacity-block, ids: [cr-0123456789abcdef1, cr-0123456789abcdef2]}
clusters:
  train: {scheduler: slurm, instance_type: trn1.32xlarge, nodes: 4, capacity: block}
fleets:
  chat: {}
"""
# What is wrong, and what of it would be deployed under another name.
HARMLESS = [
    ("owner: me", "ownr: me"),
    ("lifetime_days: 3", "lifetime_days: three"),
    ("budget_usd: 100", ""),
    ("network: {vpc: new, zone: us-east-2a}", "network: 7"),
    ("network: {vpc: new, zone: us-east-2a}", ""),
    ("nodes: 4", "nodes: 4, node: 4"),
    ("nodes: 4", "nodes: 4, nodes: 5"),
    ("kind: capacity-block, id", "kind: capacity-blok, id"),
    ("fleets:\n  chat: {}", "fleets:\n  chat: {}\nflets: 3"),
]
DECISIVE = [
    ("name: pilot", "name: P"),
    ("name: pilot", ""),
    ("name: pilot", "nam: pilot"),
    ("name: pilot", "name: pilot\nname: other"),
    ("region: us-east-2", ""),
    ("region: us-east-2", "region: 7"),
    ('account: "111122223333"', "account: 111122223333"),
    ("qualifier: own", "qualifier: OWN"),
    ("qualifier: own", "qualifyer: own"),
    ("name: pilot", "name: [pilot"),
]


def target(tmp_path: Path, text: str) -> TargetFile:
    file = tmp_path / "pilot.yaml"
    file.write_text(text)
    return read_target(file)


@pytest.mark.parametrize(("right", "wrong"), HARMLESS)
def test_what_is_wrong_elsewhere_changes_nothing_and_is_said(tmp_path: Path, right: str, wrong: str) -> None:
    spoilt = target(tmp_path, WHOLE.replace(right, wrong))
    assert spoilt.target == target(tmp_path, WHOLE).target
    assert spoilt.target.environment == "pilot"
    assert (spoilt.region, spoilt.account) == ("us-east-2", "111122223333")
    assert "neuronkit check FILE" in spoilt.warning


@pytest.mark.parametrize(("right", "wrong"), DECISIVE)
def test_whose_resources_they_are_is_never_guessed(tmp_path: Path, right: str, wrong: str) -> None:
    with pytest.raises(FindingsError):
        target(tmp_path, WHOLE.replace(right, wrong))


def test_what_the_file_names(tmp_path: Path) -> None:
    found = target(tmp_path, WHOLE).target
    assert found.bootstrap_stack.endswith("own")
    assert found.stacks.clusters == (("train", "pilot-cluster-train"),)
    assert found.stacks.fleets == (("chat", "pilot-fleet-chat"),)
    assert found.capacities == (
        ("block", "cr-0123456789abcdef0"),
        ("blocks", "cr-0123456789abcdef1"),
        ("blocks", "cr-0123456789abcdef2"),
    )
    assert (found.uses_slurm, found.uses_fleets) == (True, True)


@pytest.mark.parametrize("starter", sorted(STARTERS))
def test_a_starter_needs_no_warning(tmp_path: Path, starter: str) -> None:
    assert (
        target(tmp_path, starter_text(starter, name="pilot", file="pilot.yaml", schema="s.json")).warning
        == ""
    )
