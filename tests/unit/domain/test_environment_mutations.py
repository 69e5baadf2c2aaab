"""However a valid file is mutilated: `check` and `plan` end in findings or in a plan, and every finding has its words."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from scripts.loading import load_plan
from stacks.domain.catalog import load_catalog
from stacks.domain.cost import estimate
from stacks.domain.findings import Finding, FindingsError, Severity
from stacks.domain.plan_report import plan_document, plan_text
from stacks.domain.render.starters import STARTERS, starter_text
from tests.environments import BASE
from tests.unit.domain.shift_cases import FLEET, SHIFT

Place = tuple[str | int, ...]
REMOVE = "remove"
EXAMPLES_MAX = 150

FULL: dict[str, Any] = {
    **BASE,
    "tags": {"cost-center": "pilots"},
    "cdk": {"qualifier": "hnb659fds", "permissions_boundary": None},
    "software": {"sdk": "auto", "ami": "auto", "images": {}},
    "capacity": {"hourly": {"kind": "on-demand"}, "block": {"kind": "capacity-block", "id": None}},
    "clusters": {
        **BASE["clusters"],
        "large": {
            "scheduler": "batch", "instance_type": "trn2.48xlarge", "nodes": 2, "capacity": "block", "efa": "auto",
            "placement_group": "auto", "logical_core_size": 2, "root_volume_gib": 512,
        },
        "slurm": {
            **BASE["clusters"]["train"], "scheduler": "slurm",
            "slurm": {
                "version": "25.11", "minimum_nodes": 0, "gres": 16, "runs_in": "virtual-environment",
                "shared_storage": {"kind": "lustre", "capacity_gib": 1200, "mount_point": "/shared"},
                "login_instance_type": "m7i.large", "queue_settings": {"MaxTime": "1-0"}, "cluster_settings": {"MinJobAge": "300"},
            },
        },
    },
    "fleets": {
        "chat": {
            **FLEET, "fallback": {"instance_type": "g6.12xlarge", "capacity": "hourly", "mode": "overflow"},
            "context_tokens": 4096, "sequences": 4, "engine_arguments": ["--seed", "1"], "environment": {"A": "1"},
            "listener": {"certificate": None, "public": False}, "scaling": {"waiting_per_replica": 2},
        }
    },
    "shifts": {"day": SHIFT},
    "jobs": {
        "smoke": {
            **BASE["jobs"]["smoke"],
            "nodes": 2, "processes_per_node": 4, "parallelism": {"tensor": 8, "pipeline": 1, "data": 8},
            "precision": "bf16", "data": "s3://bucket/prefix", "environment": {"A": "1"}, "attempts": 2, "sync_seconds": 30,
            "secrets": {"T": "arn:aws:secretsmanager:us-east-2:111122223333:secret:t-AbCdEf"},
        }
    },
}  # fmt: skip

# Odd values, many of them valid somewhere.
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(
        [
            None, True, False, 0, 1, 2, 3, -1, 64, 10**4, 10**6, 10**30, 0.5, 1e-320, 1e308, float("inf"), float("nan"), "",
            " ", "\n", "a\nb", "é", "\u202e", "x" * 300, "null", "auto", "2.32.0", "train", "large", "block", "hourly", "spot",
            "reservation", "capacity-block", "jax", "torch-neuronx", "us-east-1", "use1-az6", "use2-az1", "ap-south-2",
            "trn1.2xlarge", "trn2.3xlarge", "trn2u.48xlarge", "inf1.xlarge", "inf2.48xlarge", "p5.48xlarge", "10.0.0.0/24",
            "10.0.0.0/32", "::/0", "cr-0123456789abcdef0", "ami-0123456789abcdef0", "yes", "no", "off", "..", "/", "a-a",
            [], {}, ["x"], [[]], {"a": 1}, {"a-a": {"kind": "reservation"}}, {"jax": "r.example/a:1"},
            {"X": "arn:aws:ssm:eu-west-1:999999999999:parameter/x"}, {"tensor": 7}, {"tensor": 64, "pipeline": 2},
        ]
    ),
    st.text(max_size=20),
    st.integers(),
    st.floats(),
)  # fmt: skip


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    if at:
        yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*at, key))


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """The full file with one to four values replaced, removed, renamed or copied elsewhere."""
    data = copy.deepcopy(FULL)
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(sorted(places(data), key=str)))
        parent: Any = data
        for part in path[:-1]:
            parent = parent[part]
        action = draw(st.sampled_from([REMOVE, "rename", "copy", "replace", "replace", "replace"]))
        if action == REMOVE:
            del parent[path[-1]]
        elif action == "rename" and isinstance(parent, dict):
            parent[draw(st.one_of(st.text(max_size=8), st.just(f"{path[-1]}s")))] = parent.pop(path[-1])
        elif action == "copy":
            source: Any = data
            for part in draw(st.sampled_from(sorted(places(data), key=str))):
                source = source[part]
            parent[path[-1]] = copy.deepcopy(source)
        else:
            parent[path[-1]] = copy.deepcopy(draw(VALUES))
        if not data:
            break
    return data


def outcome(text: bytes, file: Path) -> tuple[Finding, ...]:
    """All that the two verbs do with a file, but for printing it."""
    file.write_bytes(text)
    try:
        loaded = load_plan(file)
    except FindingsError as error:
        return error.findings
    document = plan_document(loaded.plan, loaded.cost, loaded.findings, load_catalog())
    json.dumps(document, allow_nan=False)
    assert plan_text(loaded.plan, loaded.cost, load_catalog())
    assert estimate(loaded.plan, load_catalog()).known_usd_per_hour >= 0
    return loaded.findings


def assert_well_said(findings: tuple[Finding, ...]) -> None:
    for finding in findings:
        assert finding.text().isprintable()
        assert finding.given or finding.message
        assert finding.fix or finding.allowed or finding.severity is not Severity.ERROR
        assert "None" not in finding.allowed + finding.fix
        json.dumps(finding.as_dict())


@settings(
    max_examples=EXAMPLES_MAX, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=mutated())
def test_a_mutilated_file_ends_in_findings_or_in_a_plan(data: dict[str, Any], tmp_path: Path) -> None:
    text = io.BytesIO()
    YAML(typ="safe", pure=True).dump(data, text)
    assert_well_said(outcome(text.getvalue(), tmp_path / "e.yaml"))


@settings(
    max_examples=EXAMPLES_MAX, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    starter=st.sampled_from(sorted(STARTERS)),
    start=st.integers(0, 2500),
    length=st.integers(0, 40),
    insertion=st.one_of(st.text(max_size=10), st.sampled_from(["\t", "\r", "&a ", "*a", "<<: ", "!!int ", "- ", ": ", "\n", "#"])),
)  # fmt: skip
def test_mutilated_text_ends_in_findings_or_in_a_plan(
    starter: str, start: int, length: int, insertion: str, tmp_path: Path
) -> None:
    text = starter_text(starter, name="pilot", file="e.yaml", schema="schema.json")
    spoilt = text[:start] + insertion + text[start + length :]
    assert_well_said(outcome(spoilt.encode("utf-8", "surrogatepass"), tmp_path / "e.yaml"))


@pytest.mark.parametrize("part", list(FULL))
@pytest.mark.parametrize("value", [None, [], {}, "x", 1, True])
def test_every_part_may_be_anything(part: str, value: object, tmp_path: Path) -> None:
    text = io.BytesIO()
    YAML(typ="safe", pure=True).dump({**FULL, part: value}, text)
    assert_well_said(outcome(text.getvalue(), tmp_path / "e.yaml"))


def test_the_file_that_is_mutilated_is_valid(tmp_path: Path) -> None:
    text = io.BytesIO()
    YAML(typ="safe", pure=True).dump(FULL, text)
    assert not [
        f.text() for f in outcome(text.getvalue(), tmp_path / "e.yaml") if f.severity is Severity.ERROR
    ]
