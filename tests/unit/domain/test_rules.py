"""One table: every rule with files it must find fault with, and files it must let pass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from stacks.domain.catalog import load_catalog
from stacks.domain.cost import Basis
from stacks.domain.findings import Finding, Severity
from stacks.domain.render.engine import TEMPLATES_DIRECTORY
from stacks.domain.rules import ALL_RULES, LIVE_RULES, run_rules
from stacks.domain.rules.names_and_tags import RESERVED_VARIABLES
from stacks.domain.software import ecs_neuron_amis
from tests.environments import changed, loaded
from tests.unit.domain import (
    engine_cases,
    fleet_cases,
    model_cases,
    node_image_cases,
    shift_cases,
    slurm_cases,
    ultraserver_cases,
)

TODAY = date(2026, 11, 30)
BLOCK = {"capacity": {"hourly": {"kind": "capacity-block", "id": "cr-0123456789abcdef0"}}}
JOB = "jobs.smoke"
SECOND_CLUSTER = {"scheduler": "batch", "instance_type": "trn1.32xlarge", "nodes": 4, "capacity": "hourly"}


def ami_of(driver: str) -> str:
    return next(ami.ssm_parameter for ami in ecs_neuron_amis() if ami.driver == driver)


def trn2(**more: Any) -> dict[str, Any]:
    return {"clusters.train.instance_type": "trn2.48xlarge", **more}


def secret(rest: str) -> str:
    return f"arn:aws:{rest}"


TORCH_JOB = {
    "cluster": "train", "framework": "torch-neuronx", "source": "neuronkit:smoke", "command": ["x"], "time_limit_minutes": 30,
}  # fmt: skip

# id -> (changes that break it, path of the finding), and changes that do not
TABLE: dict[str, tuple[list[tuple[dict[str, Any], str]], list[dict[str, Any]]]] = {
    "NK201": ([({"region": r}, "region") for r in ("us-esat-2", "mars-1", "", "us-gov-west-1", "cn-north-1")], [{}]),
    "NK202": (
        [({"network.zone_id": "use1-az6"}, "network.zone_id"), ({"network.zone_id": "xyz9-az1"}, "network.zone_id")],
        [{}, {"region": "us-east-1", "network.zone_id": "use1-az6"}],
    ),
    "NK203": ([({"network.zone_id": "use2-az9"}, "network.zone_id")], [{}]),
    "NK204": (
        [
            ({"clusters.train.instance_type": "inf2.4xlarge"}, "clusters.train.instance_type"),
            ({"clusters.train.instance_type": "trn2n.48xlarge"}, "clusters.train.instance_type"),
            ({"clusters.train.instance_type": "trn3.48xlarge"}, "clusters.train.instance_type"),
        ],
        [{}, trn2()],
    ),
    "NK205": ([({"clusters.train.instance_type": "p5.48xlarge"}, "clusters.train.instance_type")], [{}]),
    "NK206": (
        [
            ({"clusters.train.instance_type": "trn2u.48xlarge"}, "clusters.train.instance_type"),
            ({"clusters.train.instance_type": "trn2.3xlarge"}, "clusters.train.instance_type"),
        ],
        [{}, trn2()],
    ),
    "NK207": ([({"network.zone_id": "use2-az1"}, "network.zone_id")], [{}, trn2(**{"network.zone_id": "use2-az1"})]),
    "NK208": (
        [({"clusters.train.logical_core_size": 2}, "clusters.train.logical_core_size")],
        [{"clusters.train.logical_core_size": 1}, trn2(**{"clusters.train.logical_core_size": 1}), trn2(**{"clusters.train.logical_core_size": 2})],
    ),
    "NK210": ([({"clusters.train.capacity": "horly"}, "clusters.train.capacity")], [{}]),
    "NK211": ([({"capacity.other": {"kind": "on-demand"}}, "capacity.other")], [{}]),
    "NK212": (
        [
            ({"capacity.hourly": {"kind": "capacity-block", "id": None}}, "capacity.hourly.id"),
            ({"capacity.hourly": {"kind": "reservation"}}, "capacity.hourly.id"),
        ],
        [{}, BLOCK],
    ),
    "NK213": ([({"capacity.hourly.id": "cr-0123456789abcdef0"}, "capacity.hourly.id")], [{}, BLOCK]),
    "NK214": ([({"capacity.hourly.kind": "spot"}, "clusters.train.capacity")], [{}, BLOCK]),
    "NK215": (
        [({**BLOCK, "clusters.train.placement_group": "yes"}, "clusters.train.placement_group")],
        [BLOCK, {"clusters.train.placement_group": "yes"}, {**BLOCK, "clusters.train.placement_group": "no"}],
    ),
    "NK216": (
        [
            ({**BLOCK, "clusters.train.nodes": 65}, "clusters.train.nodes"),
            ({**BLOCK, "clusters.train.nodes": 61, "clusters.more": SECOND_CLUSTER}, "capacity.hourly"),
        ],
        [{**BLOCK, "clusters.train.nodes": 64}, {"clusters.train.nodes": 65}, {**BLOCK, "clusters.train.nodes": 60, "clusters.more": SECOND_CLUSTER}],
    ),
    "NK217": (
        [({**BLOCK, **{f"clusters.c{n}": {**SECOND_CLUSTER, "nodes": 64} for n in range(4)}}, "clusters")],
        [{**BLOCK, **{f"clusters.c{n}": {**SECOND_CLUSTER, "nodes": 60} for n in range(4)}}],
    ),
    "NK218": (
        [({**BLOCK, "clusters.train.instance_type": "trn1n.32xlarge"}, "clusters.train.capacity")],
        [{}, BLOCK, {"clusters.train.instance_type": "trn1n.32xlarge"}],
    ),
    "NK219": ([(BLOCK, "clusters.train.capacity")], [{}]),
    "NK220": (
        [
            ({"network.cidr": c}, "network.cidr")
            for c in (
                "10.0.0.0", "10.0.0.1/16", "10.0.0.0/8", "8.8.0.0/16", "fd00::/16", "10.0.0.0/28", "10.0.0.0/255.255.0.0",
                "127.0.0.0/16", "169.254.0.0/16", "0.0.0.0/16", "240.0.0.0/16", "203.0.113.0/24", "", "10.0.0.0/16\n",
            )
        ],
        [{"network.cidr": c} for c in ("10.42.0.0/16", "192.168.0.0/20", "172.31.0.0/16", "100.64.0.0/16")],
    ),
    "NK221": (
        [(trn2(**{"network.cidr": "10.42.0.0/24", "clusters.train.nodes": 62}), "network.cidr")],
        [trn2(**{"network.cidr": "10.42.0.0/24", "clusters.train.nodes": 61}), {}],
    ),
    "NK222": (
        [
            ({"clusters.train.efa": "off"}, "clusters.train.efa"),
            ({"region": "us-east-1", "network.zone_id": "use1-az6", "clusters.train.instance_type": "trn1.2xlarge"}, "clusters.train.instance_type"),
        ],
        [{}, {"clusters.train.efa": "off", "clusters.train.nodes": 1}],
    ),
    "NK223": (
        [({"clusters.train.placement_group": "no"}, "clusters.train.placement_group")],
        [{}, {**BLOCK, "clusters.train.placement_group": "no"}, {"clusters.train.placement_group": "no", "clusters.train.nodes": 1}],
    ),
    "NK224": ([({"network.cidr": "172.17.0.0/16"}, "network.cidr")], [{}, {"network.cidr": "172.18.0.0/16"}]),
    "NK230": ([({f"{JOB}.cluster": "trian"}, f"{JOB}.cluster")], [{}]),
    "NK231": ([({f"{JOB}.nodes": 5}, f"{JOB}.nodes")], [{f"{JOB}.nodes": 4}, {f"{JOB}.nodes": 1}]),
    "NK232": (
        [
            ({f"{JOB}.parallelism": {"tensor": 24}}, f"{JOB}.parallelism"),
            ({f"{JOB}.parallelism": {"tensor": 8, "data": 8}}, f"{JOB}.parallelism"),  # 64 = the chips
            (trn2(**{f"{JOB}.parallelism": {"tensor": 8, "data": 64}}), f"{JOB}.parallelism"),  # 512 = physical cores
            ({f"{JOB}.parallelism": {"tensor": 1, "pipeline": 7}}, f"{JOB}.parallelism"),
        ],
        [{f"{JOB}.parallelism": {"tensor": 8, "data": 16}}, {f"{JOB}.parallelism": {"tensor": 8, "pipeline": 4}}, trn2(**{f"{JOB}.parallelism": {"tensor": 64}})],
    ),
    "NK233": (
        [
            ({f"{JOB}.framework": "torch-neuronx", f"{JOB}.processes_per_node": 16}, f"{JOB}.processes_per_node"),
            (trn2(**{f"{JOB}.framework": "torch-neuronx", f"{JOB}.processes_per_node": 128}), f"{JOB}.processes_per_node"),
            ({f"{JOB}.processes_per_node": 3}, f"{JOB}.processes_per_node"),
        ],
        [{f"{JOB}.framework": "torch-neuronx", f"{JOB}.processes_per_node": 32}, {f"{JOB}.processes_per_node": 2}, {}],
    ),
    "NK234": ([({f"{JOB}.parallelism": {"tensor": 64}}, f"{JOB}.parallelism.tensor")], [{f"{JOB}.parallelism": {"tensor": 32}}]),
    "NK240": (
        [({"software.sdk": "9.9.9"}, f"{JOB}.framework"), ({f"{JOB}.framework": "torch-neuronx", "software.sdk": "2.32.0"}, f"{JOB}.framework")],
        [{}, {"software.sdk": "2.32.0"}],
    ),
    "NK241": ([({"jobs.torch": TORCH_JOB}, "clusters.train")], [{}, {"jobs": {"torch": TORCH_JOB}}]),
    "NK242": (
        [
            ({"jobs": {"torch": TORCH_JOB}, "software.ami": ami_of("2.30")}, "software.ami"),
            ({"jobs": {"torch": TORCH_JOB}, "software.ami": ami_of("2.26")}, "software.ami"),
        ],
        [{}, {"jobs": {"torch": TORCH_JOB}, "software.ami": ami_of("2.28")}],
    ),
    "NK243": (
        [
            (
                {"software.images": {"jax": "public.ecr.aws/neuron/pytorch-inference-vllm-neuronx:0.24.0.1.1.0-neuronx-py313-sdk2.32.0-ubuntu24.04"}},
                "software.images.jax",
            )
        ],
        [{}, {"software.images": {"jax": "public.ecr.aws/neuron/jax-training-neuronx:0.10.0-neuronx-py313-sdk2.32.0-ubuntu24.04"}}],
    ),
    "NK244": ([({"software.images": {"jax": "registry.example.com/a/jax:latest"}}, "software.images.jax")], [{"software.images": {"jax": "registry.example.com/a/jax:1"}}]),
    "NK245": ([({"software.images": {"jax": "registry.example.com/a/jax:1"}}, "software.images.jax")], [{}]),
    "NK246": ([({"jobs": {"torch": TORCH_JOB}}, "jobs.torch.framework")], [{}]),
    "NK247": (
        [({f"{JOB}.environment": {"NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS": "7"}}, f"{JOB}.environment.NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS")],
        [{f"{JOB}.environment": {"NEURON_RT_LOG_LEVEL": "INFO"}}],
    ),
    "NK248": (
        [
            ({"software.ami": "ami-0123456789abcdef0"}, "software.ami"),
            ({"software.ami": "/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron/recommended/image_id"}, "software.ami"),
        ],
        [{}, {"software.ami": ami_of("2.30")}],
    ),
    "NK250": (
        [
            ({f"{JOB}.environment": {"HF_TOKEN": "x"}}, f"{JOB}.environment.HF_TOKEN"),
            ({f"{JOB}.environment": {"A": "hf_" + "a" * 30}}, f"{JOB}.environment.A"),
            ({f"{JOB}.environment": {"A": "AKIA" + "A" * 16}}, f"{JOB}.environment.A"),
            ({f"{JOB}.environment": {"WANDB_API_KEY": "abc"}}, f"{JOB}.environment.WANDB_API_KEY"),
            ({f"{JOB}.environment": {"DATABASE": "postgres://me:secret@db/x"}}, f"{JOB}.environment.DATABASE"),
            ({f"{JOB}.command": ["python3", "train.py", "--token=ghp_" + "a" * 30]}, f"{JOB}.command[2]"),
            ({f"{JOB}.command": ["train", "--password", "hunter2"]}, f"{JOB}.command[2]"),
            ({f"{JOB}.command": ["bash", "-c", "export WANDB_API_KEY=abc; ./train"]}, f"{JOB}.command[2]"),
        ],
        [
            {f"{JOB}.environment": {"TOKENIZERS_PARALLELISM": "false", "MAX_TOKENS": "8", "URL": "https://x.example/a:b@c"}},
            {f"{JOB}.environment": {"PAD_TOKEN": "<pad>", "HF_TOKEN": "", "TOKEN_PATH": "/x", "EOS_TOKEN_ID": "2"}},
            {f"{JOB}.command": ["bash", "-c", "train --token=$HF_TOKEN --max-token=8 postgres://me:$DB_PASSWORD@db/x"]},
            {f"{JOB}.secrets": {"HF_TOKEN": secret("secretsmanager:us-east-2:111122223333:secret:hf-AbCdEf")}},
        ],
    ),
    "NK251": ([({"tags": {"note": "hf_" + "a" * 30}}, "tags.note")], [{"tags": {"note": "fine"}}]),
    "NK252": (
        [
            ({f"{JOB}.secrets": {"A": secret("ssm:eu-west-1:111122223333:parameter/a")}}, f"{JOB}.secrets.A"),
            ({f"{JOB}.secrets": {"A": secret("ssm:us-east-2:999999999999:parameter/a")}}, f"{JOB}.secrets.A"),
            ({f"{JOB}.secrets": {"A": secret("secretsmanager:us-east-2:999999999999:secret:a-AbCdEf")}}, f"{JOB}.secrets.A"),
        ],
        [
            {f"{JOB}.secrets": {"A": secret("ssm:us-east-2:111122223333:parameter/a/b")}},
            {"account": None, f"{JOB}.secrets": {"A": secret("ssm:us-east-2:999999999999:parameter/a")}},
        ],
    ),
    "NK253": (
        [
            ({f"{JOB}.secrets": {"A": "arn:aws-us-gov:ssm:us-gov-west-1:111122223333:parameter/a"}}, f"{JOB}.secrets.A"),
            ({f"{JOB}.secrets": {"A": "arn:aws-cn:secretsmanager:us-east-2:111122223333:secret:a-AbCdEf"}}, f"{JOB}.secrets.A"),
            ({f"{JOB}.secrets": {"A": secret("secretsmanager:us-east-2:111122223333:secret:a")}}, f"{JOB}.secrets.A"),
            ({f"{JOB}.secrets": {"A": secret("secretsmanager:us-east-2:111122223333:secret:a:key::")}}, f"{JOB}.secrets.A"),
        ],
        [
            {f"{JOB}.secrets": {"A": secret("secretsmanager:us-east-2:111122223333:secret:a/b-AbCdEf")}},
            {f"{JOB}.secrets": {"A": secret("secretsmanager:us-east-2:111122223333:secret:a-AbCdEf:key::")}},
            {f"{JOB}.secrets": {"A": secret("ssm:us-east-2:111122223333:parameter/a")}},
        ],
    ),
    "NK260": (
        [
            ({"tags": {"aws:x": "1"}}, "tags.aws:x"),
            ({"tags": {"neuronkit:environment": "other"}}, "tags.neuronkit:environment"),
            ({"tags": {"k": "v" * 257}}, "tags.k"),
            ({"tags": {"k" * 129: "v"}}, "tags." + "k" * 129),
            ({"tags": {f"k{n}": "v" for n in range(41)}}, "tags"),
            ({"tags": {"": "v"}}, "tags."),
            ({"tags": {"Team": "a", "team": "b"}}, "tags.team"),
            ({"tags": {"a#b": "v"}}, "tags.a#b"),
            ({"tags": {"k": "a\nb"}}, "tags.k"),
            ({"owner": "me; you"}, "owner"),
            ({"owner": "a\tb"}, "owner"),
        ],
        [{"tags": {"cost-center": "1"}}, {"tags": {"a b:c/d=e+f-g@h.i_j": ""}, "owner": "Équipe Ωmega 7"}, {"tags": {f"k{n}": "v" for n in range(40)}}],
    ),
    "NK261": (
        [
            ({f"{JOB}.environment": {"AWS_BATCH_JOB_NODE_INDEX": "0"}}, f"{JOB}.environment.AWS_BATCH_JOB_NODE_INDEX"),
            ({f"{JOB}.environment": {"NEURONKIT_NODES": "0"}}, f"{JOB}.environment.NEURONKIT_NODES"),
            ({f"{JOB}.environment": {"work": "/x"}}, f"{JOB}.environment.work"),
            ({f"{JOB}.environment": {"UID": "0"}}, f"{JOB}.environment.UID"),
        ],
        [{f"{JOB}.environment": {"AWS_REGION": "us-east-2"}}],
    ),
    "NK262": (
        [
            (
                {
                    f"{JOB}.environment": {"A": "1"},
                    f"{JOB}.secrets": {"A": "arn:aws:ssm:us-east-2:111122223333:parameter/a"},
                },
                f"{JOB}.secrets.A",
            )
        ],
        [{}],
    ),
    "NK263": (
        [({f"{JOB}.source": s}, f"{JOB}.source") for s in ("./nowhere", "neuronkit:smok", "x" * 5000, "/dev/null", "a\nb")],
        [{}, {f"{JOB}.source": "."}],
    ),
    "NK264": ([({"account": None}, "account")], [{}]),
    "NK265": (
        [
            ({f"{JOB}.environment": {"NEURON_LOGICAL_NC_CONFIG": "1"}}, f"{JOB}.environment.NEURON_LOGICAL_NC_CONFIG"),
            ({f"{JOB}.environment": {"MASTER_ADDR": "x"}}, f"{JOB}.environment.MASTER_ADDR"),
        ],
        [{f"{JOB}.environment": {"NEURON_RT_LOG_LEVEL": "INFO"}}],
    ),
    "NK266": (
        [
            ({f"{JOB}.environment": {"A": "x" * (131_072 - 2)}}, f"{JOB}.environment.A"),
            ({f"{JOB}.command": ["x", "é" * 65_536]}, f"{JOB}.command[1]"),
        ],
        [{f"{JOB}.environment": {"A": "x" * (131_072 - 3)}, f"{JOB}.command": ["x", "y" * 131_071]}],
    ),
    "NK270": ([({"budget_usd": 5000, "region": "us-east-1", "network.zone_id": "use1-az6"}, "budget_usd")], [{}]),
    "NK271": ([({"budget_usd": 1.5}, "budget_usd")], [{}]),
    "NK273": ([({}, "region")], [{"region": "us-east-1", "network.zone_id": "use1-az6"}]),
    "NK274": ([(BLOCK, "budget_usd")], [{}, {**BLOCK, "budget_usd": 20}]),
    "NK272": (
        [
            ({f"{JOB}.time_limit_minutes": 7 * 24 * 60 + 1}, f"{JOB}.time_limit_minutes"),
            ({f"{JOB}.time_limit_minutes": 7 * 24 * 60, f"{JOB}.attempts": 2}, f"{JOB}.time_limit_minutes"),
        ],
        [{f"{JOB}.time_limit_minutes": 7 * 24 * 60}],
    ),
    **ultraserver_cases.CASES,
    **model_cases.MODEL_CASES,
    **slurm_cases.CASES,
    **node_image_cases.CASES,
    **shift_cases.CASES,
    **fleet_cases.CASES,
    **engine_cases.CASES,
}  # fmt: skip
for rule_id, (bad, good) in fleet_cases.FURTHER.items():
    TABLE[rule_id] = ([*TABLE[rule_id][0], *bad], [*TABLE[rule_id][1], *good])


def bad_cases() -> Iterator[Any]:
    for rule_id, (bad, _) in TABLE.items():
        for number, (changes, path) in enumerate(bad):
            yield pytest.param(rule_id, changes, path, id=f"{rule_id}-{number}")


def good_cases() -> Iterator[Any]:
    for rule_id, (_, good) in TABLE.items():
        for number, changes in enumerate(good):
            yield pytest.param(rule_id, changes, id=f"{rule_id}-{number}")


def findings(changes: dict[str, Any], directory: Path, as_of: date | None = None) -> tuple[Finding, ...]:
    return run_rules(loaded(changed(changes), directory), load_catalog(), Basis(as_of=as_of))


@pytest.mark.parametrize(("rule_id", "changes", "path"), list(bad_cases()))
def test_a_rule_finds_fault(rule_id: str, changes: dict[str, Any], path: str, tmp_path: Path) -> None:
    found = [f for f in findings(changes, tmp_path, TODAY) if f.id == rule_id]
    assert [f.path for f in found] == [path]
    assert found[0].line is not None
    assert found[0].column is not None
    assert found[0].given or found[0].message
    assert found[0].source


@pytest.mark.parametrize(("rule_id", "changes"), list(good_cases()))
def test_a_rule_lets_pass(rule_id: str, changes: dict[str, Any], tmp_path: Path) -> None:
    assert [f.text() for f in findings(changes, tmp_path, TODAY) if f.id == rule_id] == []


def test_the_base_file_is_clean(tmp_path: Path) -> None:
    assert [f.text() for f in findings({}, tmp_path)] == []


def test_every_rule_has_good_and_bad_cases() -> None:
    """Those that need AWS's answers have a table of their own: test_live_rules."""
    assert sorted(TABLE) == sorted(rule.id for rule in ALL_RULES if rule not in LIVE_RULES)
    assert all(bad and good for bad, good in TABLE.values())


def test_rule_ids_are_unique_and_ordered() -> None:
    ids = [rule.id for rule in ALL_RULES]
    assert ids == sorted(set(ids))


def test_rules_say_why_and_where_from() -> None:
    assert all(rule.title and rule.why and rule.source for rule in ALL_RULES)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({f"{JOB}.parallelism": {"tensor": 8, "data": 8}}, "64 is the number of chips"),
        (trn2(**{f"{JOB}.parallelism": {"tensor": 8, "data": 64}}), "512 is the number of physical cores"),
        (
            trn2(**{f"{JOB}.framework": "torch-neuronx", f"{JOB}.processes_per_node": 16}),
            "16 is the number of chips",
        ),
    ],
)
def test_the_mixed_up_unit_is_named(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    assert any(words in f.message for f in findings(changes, tmp_path))


def test_secrets_are_never_echoed(tmp_path: Path) -> None:
    token = "hf_" + "b" * 30
    for found in findings({f"{JOB}.environment": {"X": token}, "tags": {"t": token}}, tmp_path):
        assert token not in found.text()
        assert token not in str(found.as_dict())


def test_every_variable_of_the_bootstraps_own_is_reserved() -> None:
    """neuron.env is read by the shell that still needs them."""
    text = (TEMPLATES_DIRECTORY / "runtime" / "node-bootstrap.sh.j2").read_text(encoding="utf-8")
    own = set(re.findall(r"^(?:readonly )?([a-z_]+)=", text, re.MULTILINE))
    assert own - set(RESERVED_VARIABLES) == set()


def test_the_hours_that_a_budget_pays_are_those_left_after_the_idle_cost(tmp_path: Path) -> None:
    first = {
        "region": "us-east-1", "network.zone_id": "use1-az6", "lifetime_days": 100, "budget_usd": 150,
        "clusters.train.instance_type": "trn1.2xlarge", "clusters.train.nodes": 1,
    }  # fmt: skip
    found = next(f for f in findings(first, tmp_path) if f.id == "NK270")
    running_usd_per_hour = 1.34375 + 512 * 0.08 / 730
    hours = (150 - 2400 * (0.05 + 3 / 730)) / running_usd_per_hour
    assert f"the budget pays {hours:,.1f} hours" in found.message


def test_severities_are_as_decided() -> None:
    warnings = {rule.id for rule in ALL_RULES if rule.severity is Severity.WARNING and rule not in LIVE_RULES}
    assert warnings == {
        "NK203", "NK211", "NK212", "NK218", "NK219", "NK222", "NK223", "NK224", "NK234", "NK245", "NK246", "NK247", "NK248",
        "NK237", "NK238", "NK239", "NK252", "NK264", "NK265", "NK270", "NK272", "NK281", "NK282", "NK284", "NK285", "NK287",
        "NK291", "NK294", "NK298", "NK601", "NK605", "NK606", "NK608", "NK609", "NK611",
        "NK637", "NK641", "NK642", "NK643", "NK646", "NK654", "NK659",
        "NK754", "NK763", "NK764", "NK768", "NK769", "NK781", "NK782", "NK785", "NK786", "NK788", "NK791", "NK794", "NK795",
        "NK702", "NK703", "NK706", "NK708", "NK716", "NK720", "NK723", "NK724", "NK726", "NK727", "NK736", "NK743",
    }  # fmt: skip
