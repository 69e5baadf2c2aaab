"""Places, intrinsic functions, kinds, encodings: what has to be right before anything is checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stacks.domain.catalog import load_catalog
from stacks.domain.lint import BYTES_MAX, Input, lint
from tests.unit.domain.lint.inputs import (
    data,
    ids,
    job_definition,
    launch_template,
    linted,
    pod,
    resource,
    sbatch,
    template,
)

ROOT = Path(__file__).parents[4]
GOLDENS = ROOT / "tests" / "golden"
YAML = """\
Parameters:
  Block: {Type: String, Default: ''}
Conditions:
  HasBlock: !Not [!Equals [!Ref Block, '']]
  IsLarge: !Equals [!Ref Size, large]
Resources:
  Nodes:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        InstanceType: trn1.2xlarge
        MetadataOptions: {HttpTokens: %s}
        CapacityReservationSpecification: !If
          - HasBlock
          - CapacityReservationTarget: {CapacityReservationId: !Ref Block}
          - !Ref AWS::NoValue
        UserData:
          Fn::Base64: !Sub |

            #!/bin/bash
            curl https://x.example/tool-latest.tgz
"""


def places(text: str) -> list[tuple[str, int | None, int | None]]:
    return [(f.id, f.line, f.column) for f in linted(text).findings]


def test_places_are_those_of_the_file_also_inside_user_data() -> None:
    assert places(YAML % "optional") == [("NK430", 12, 39), ("NK432", 21, 18)]
    assert places((YAML % "optional").replace("\n", "\r\n")) == [("NK430", 12, 39), ("NK432", 21, 18)]


def test_a_script_in_json_has_the_place_of_its_string() -> None:
    text = json.dumps({"Resources": {"N": resource("AWS::EC2::LaunchTemplate", LaunchTemplateData=data("trn1.2xlarge", UserData={"Fn::Base64": "#!/bin/sh\ncurl https://x.example/a-latest.tgz"}))}}, indent=1)  # fmt: skip
    line = next(n for n, words in enumerate(text.splitlines(), 1) if "Fn::Base64" in words)
    assert [(i, n) for i, n, _ in places(text)] == [("NK432", line)]


def test_the_branch_that_defaults_choose_is_looked_at_and_the_other_is_not_checked() -> None:
    result = linted(YAML % "required")
    assert [f.id for f in result.findings] == ["NK432"]
    assert any(n.id == "NK402" and "HasBlock" in n.why and ":15 " in n.why for n in result.not_checked)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"Ref": "Tokens"}, []),
        ({"Fn::If": ["IsLarge", "optional", "required"]}, []),
        ({"Fn::ImportValue": "x"}, []),
        ({"Ref": "Defaulted"}, ["NK430"]),
        ({"Fn::Sub": "${Defaulted}"}, ["NK430"]),
        ({"Fn::Join": ["", ["opt", "ional"]]}, ["NK430"]),
        ({"Fn::FindInMap": ["Map", "a", "b"]}, ["NK430"]),
        ({"Fn::Select": [1, ["required", "optional"]]}, ["NK430"]),
        ({"Fn::If": ["Yes", "optional", "required"]}, ["NK430"]),
        ({"Fn::If": ["No", "optional", "required"]}, []),
        ({"Fn::If": ["Itself", "optional", "required"]}, []),
    ],
)
def test_only_what_the_file_decides_is_judged(value: object, found: list[str]) -> None:
    nodes = resource(
        "AWS::EC2::LaunchTemplate",
        LaunchTemplateData=data("trn1.2xlarge", MetadataOptions={"HttpTokens": value}),
    )
    text = template(
        {"Nodes": nodes},
        Parameters={"Tokens": {"Type": "String"}, "Defaulted": {"Type": "String", "Default": "optional"}},
        Mappings={"Map": {"a": {"b": "optional"}}},
        Conditions={
            "IsLarge": {"Fn::Equals": [{"Ref": "Tokens"}, "large"]}, "Yes": {"Fn::Or": [{"Condition": "No"}, {"Fn::Equals": ["a", "a"]}]},
            "No": {"Fn::Not": [{"Fn::Equals": [{"Ref": "Defaulted"}, "optional"]}]}, "Itself": {"Condition": "Itself"},
        },
    )  # fmt: skip
    assert [i for i in ids(text) if i == "NK430"] == found


@pytest.mark.parametrize(
    "text",
    [
        launch_template(),
        job_definition(),
        pod(),
        sbatch(),
        json.dumps(data()),
        json.dumps({"LaunchTemplateData": data()}),
    ],
)
def test_a_file_is_recognised_by_what_it_says(text: str) -> None:
    result = lint([Input("directory/no-name", text.encode(), named=False)], load_catalog())
    assert (result.files, result.skipped) == (1, [])


@pytest.mark.parametrize(
    "text",
    [
        "hello: world",
        "#!/bin/sh\necho x",
        "",
        "\0",
        "a: [",
        "x" * (BYTES_MAX + 1),
        "apiVersion: v1\nx: {{ if }}\n{{ end }}",
    ],
)
def test_a_file_of_another_kind_in_a_directory_is_only_skipped(text: str) -> None:
    result = lint([Input("f", text.encode(), named=False)], load_catalog())
    assert result.findings == ()
    assert [s.file for s in result.skipped] == ["f"]
    assert result.skipped[0].why


@pytest.mark.parametrize(
    "spoil",
    [
        lambda b: b"\xef\xbb\xbf" + b,
        lambda b: b.replace(b"\n", b"\r\n"),
        lambda b: b.decode().encode("utf-16"),
    ],
)
def test_other_encodings_are_read_all_the_same(spoil: object) -> None:
    found = ids(spoil((YAML % "optional").encode()))  # type: ignore[operator]
    assert {"NK430", "NK432"} <= set(found)
    assert set(found) <= {"NK430", "NK432", "NK005"}


@pytest.mark.parametrize(
    "text",
    ['"""Python: a module."""\nx = """\nResources:\n"""\ny = {\n', "import x\nTEXT = 'x'\napiVersion: [\n"],
)
def test_what_only_quotes_yaml_is_skipped(text: str) -> None:
    result = lint([Input("f", text.encode(), named=False)], load_catalog())
    assert (result.findings, len(result.skipped)) == ((), 1)


@pytest.mark.parametrize(
    "text", ["# x\napiVersion: v1\nkind: [\n", '{"Resources": \n', "---\nResources:\n  a: [\n"]
)
def test_what_was_meant_as_yaml_and_is_broken_is_found_in_directories_too(text: str) -> None:
    assert [f.id for f in lint([Input("f", text.encode(), named=False)], load_catalog()).findings] == [
        "NK007"
    ]


def test_several_documents_and_base64_user_data() -> None:
    assert ids(pod() + "\n---\n" + pod(resources={"aws.amazon.com/neurondevice": 1})) == ["NK450"]
    import base64

    script = base64.b64encode(b"#!/bin/bash\ncurl https://x.example/tool-latest.tgz\n").decode()
    assert ids(json.dumps(data(UserData=script))) == ["NK432"]


def own_files() -> list[Path]:
    templates = GOLDENS.glob("stacks/__snapshots__/test_templates/test_template*.json")
    rendered = GOLDENS.glob("render/__snapshots__/test_rendered_files/test_job_definition*.json")
    user_data = GOLDENS.glob("stacks/__snapshots__/test_node_user_data/*.mime")
    return sorted([*templates, *rendered, *user_data])


@pytest.mark.parametrize("file", own_files(), ids=lambda f: f.name)
def test_what_the_kit_makes_itself_is_clean(file: Path) -> None:
    """But for a block that is not bought yet, and for a type that only its user vouches for."""
    text = file.read_text(encoding="utf-8")
    found = [f for f in linted(text).findings if f.severity != "info"]
    allowed = {
        "NK426": "cr-NOT-BOUGHT" in text,
        "NK204": any(name in text for name in load_catalog().unverified),
    }
    assert [f.text() for f in found if not allowed.get(f.id)] == []


def test_there_are_files_of_our_own() -> None:
    assert len(own_files()) > 15


@pytest.mark.parametrize(
    "file", sorted((ROOT / "tests" / "data" / "lint" / "good").iterdir()), ids=lambda f: f.name
)
def test_good_files_are_clean(file: Path) -> None:
    result = linted(file.read_text(encoding="utf-8"))
    assert [f.text() for f in result.findings if f.severity != "info"] == []
    assert result.files == 1


SERVING = """\
Resources:
  Nodes:
    Type: AWS::EC2::LaunchTemplate
    Properties: {LaunchTemplateData: {InstanceType: trn1.32xlarge, MetadataOptions: {HttpTokens: required}}}
  Group:
    Type: AWS::AutoScaling::AutoScalingGroup
    Properties: {LaunchTemplate: {LaunchTemplateId: !Ref Nodes, Version: !GetAtt Nodes.LatestVersionNumber}}
  Provider:
    Type: AWS::ECS::CapacityProvider
    Properties: {AutoScalingGroupProvider: {AutoScalingGroupArn: !Ref %s}}
"""


@pytest.mark.parametrize(("group", "is_found"), [("Group", False), ("AnotherGroup", True)])
def test_nodes_of_ecs_tasks_need_no_efa(group: str, is_found: bool) -> None:
    assert ("NK419" in ids(SERVING % group)) is is_found
