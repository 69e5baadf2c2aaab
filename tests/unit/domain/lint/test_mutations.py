"""However a valid file is mutilated: lint ends in findings or in none, every finding has its words, and it ends soon."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stacks.domain.lint import BYTES_MAX, Linted
from tests.unit.domain.lint.inputs import (
    compute_environment,
    data,
    job_definition,
    linted,
    node_group,
    pod,
    sbatch,
    security_group,
    used_template,
    user_data,
    workers,
)

DIRECTORY = Path(__file__).parents[3] / "data" / "lint"
STRUCTURED = [
    used_template(node_group(), data(UserData={"Fn::Base64": {"Fn::Sub": user_data("#!/bin/bash\necho x")}})),
    used_template(compute_environment(), data("trn1.32xlarge")), security_group(), job_definition(), pod(), workers("MPIJob", 4), workers("PyTorchJob", 2),
]  # fmt: skip
TEXTS = [
    f.read_text(encoding="utf-8") for f in sorted([*DIRECTORY.glob("bad/*"), *DIRECTORY.glob("good/*")])
] + [sbatch(), user_data("#!/bin/bash\necho x")]
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(
        [
            None, True, False, 0, 1, -1, 3, 16, 10**6, 10**30, 0.5, 1e308, "", " ", "\n", "a\nb", "é", "\u202e", "x" * 300, "16", "-1", "0:", "trn2.48xlarge",
            "trn3.48xlarge", "inf1.xlarge", "p5.48xlarge", "capacity-block", "efa", "efa-only", "0.0.0.0/0", [], {}, ["x"], [[]], [{}], [None], {"a": 1},
            {"Ref": "Nodes"}, {"Ref": "Nothing"}, {"Ref": []}, {"Ref": "AWS::NoValue"}, {"Fn::Sub": "${a}"}, {"Fn::Sub": []}, {"Fn::Sub": ["${a}", {"a": {"Ref": "b"}}]},
            {"Fn::If": ["x", 1, 2]}, {"Fn::If": []}, {"Fn::Join": ["", ["a", {"Ref": "b"}]]}, {"Fn::Join": [{}, {}]}, {"Fn::GetAtt": ["User", "x"]}, {"Fn::GetAtt": {}},
            {"Fn::Base64": {"Fn::Join": ["\n", ["#!/bin/bash", {"Ref": "x"}]]}}, {"Fn::Select": [9, ["a"]]}, {"Fn::Split": ["", "a"]}, {"Fn::FindInMap": ["a", "b", "c"]},
        ]
    ),
    st.text(max_size=20),
    st.integers(),
)  # fmt: skip


def assert_well_said(result: Linted) -> None:
    for finding in result.findings:
        assert finding.text().isprintable()
        assert finding.message
        assert finding.fix or finding.allowed or finding.given
        assert "None" not in finding.allowed + finding.fix
        json.dumps(finding.as_dict())
    json.dumps([n.as_dict() for n in result.not_checked])


def places(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if at:
        yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*at, key))


@st.composite
def mutated(draw: st.DrawFn) -> str:
    document = json.loads(draw(st.sampled_from(STRUCTURED)))
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(sorted(places(document), key=str) or [()]))
        if not path:
            break
        parent: Any = document
        for part in path[:-1]:
            parent = parent[part]
        if draw(st.booleans()):
            parent[path[-1]] = copy.deepcopy(draw(VALUES))
        else:
            del parent[path[-1]]
    return json.dumps(document)


@settings(max_examples=200, deadline=None)
@given(text=mutated())
def test_mutilated_values(text: str) -> None:
    assert_well_said(linted(text))


@settings(max_examples=150, deadline=None)
@given(
    text=st.sampled_from(TEXTS),
    start=st.integers(0, 3000),
    length=st.integers(0, 60),
    insertion=st.one_of(st.text(max_size=10), st.sampled_from(["\t", "\r", "&a ", "*a", "<<: ", "!!int ", "!Ref ", "!GetAtt", "- ", ": ", "\n", "#", "'", '"', "${", "<<E", "[", "{"])),
)  # fmt: skip
def test_mutilated_text(text: str, start: int, length: int, insertion: str) -> None:
    spoilt = text[:start] + insertion + text[start + length :]
    assert_well_said(linted(spoilt.encode("utf-8", "surrogatepass")))


@settings(max_examples=100, deadline=None)
@given(content=st.binary(max_size=200), named=st.booleans())
def test_any_bytes(content: bytes, named: bool) -> None:
    assert_well_said(linted(content, named=named))


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        "[" * 1_000_000, "[]" * 500_000, "[" * 100 + "[]," * 300_000, "#!/bin/bash\nneuron " + "${a" * 300_000, "#!/bin/bash\nneuron " + 'A="' * 300_000,
        "\n" * 1_000_000 + "x", " " * 1_000_000 + "x", "#!/bin/bash\nneuron " + "://a:" * 200_000, "x" * (BYTES_MAX + 1), "Resources: " + "a" * 1_000_000,
        "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n" + "--b\n" * 100_000, "&a [*a, *a]", "apiVersion: v1\nkind: Pod\nspec: &a {containers: [*a]}",
    ],
    ids=range(13),
)  # fmt: skip
def test_hostile_text_ends_soon(text: str) -> None:
    assert_well_said(linted(text))
