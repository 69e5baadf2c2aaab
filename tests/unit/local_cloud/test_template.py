from __future__ import annotations

import pytest

from scripts.local_cloud.cloudformation import template
from scripts.local_cloud.cloudformation.template_source import bucket_and_key

YAML = """
Resources:
  A:
    Type: AWS::SNS::Topic
    DependsOn: B
    Properties: {TopicName: !Sub "${B.TopicName}-${AWS::Region}", DisplayName: !GetAtt C.TopicName}
  B: {Type: AWS::SNS::Topic, Properties: {DisplayName: 2026-11-30}}
  C: {Type: AWS::SNS::Topic}
"""


def test_yaml_with_short_tags_is_read_as_json_would_be() -> None:
    parsed = template.parse(YAML)
    assert parsed["Resources"]["A"]["Properties"] == {
        "TopicName": {"Fn::Sub": "${B.TopicName}-${AWS::Region}"},
        "DisplayName": {"Fn::GetAtt": ["C", "TopicName"]},
    }
    assert parsed["Resources"]["B"]["Properties"]["DisplayName"] == "2026-11-30"


def test_dependencies_come_first() -> None:
    graph = template.dependencies(template.parse(YAML))
    assert graph == {"A": {"B", "C"}, "B": set(), "C": set()}
    assert template.creation_order(graph) == ["B", "C", "A"]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:4000/bucket/a/b.json", ("bucket", "a/b.json")),
        ("http://bucket.localhost:4000/a/b.json", ("bucket", "a/b.json")),
        ("https://s3.us-east-1.amazonaws.com/bucket/a%20b.json", ("bucket", "a b.json")),
        ("https://bucket.with.dots.s3.us-east-1.amazonaws.com/a/b.json", ("bucket.with.dots", "a/b.json")),
        ("https://bucket.s3.amazonaws.com/b.json", ("bucket", "b.json")),
    ],
)
def test_template_urls(url: str, expected: tuple[str, str]) -> None:
    assert bucket_and_key(url) == expected
