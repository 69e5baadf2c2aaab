from __future__ import annotations

from typing import Any

import pytest

from scripts.local_cloud.cloudformation.resource_type import ResourceError
from scripts.local_cloud.cloudformation.types.s3_lifecycle import lifecycle_rules


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"Status": "Enabled"}, {"ID": "rule-0", "Filter": {"Prefix": ""}, "Status": "Enabled"}),
        (
            {"Id": "a", "Status": "Enabled", "Prefix": "runs/", "ExpirationInDays": "90"},
            {"ID": "a", "Status": "Enabled", "Filter": {"Prefix": "runs/"}, "Expiration": {"Days": 90}},
        ),
        (
            {"Id": "a", "Status": "Enabled", "Prefix": "p", "TagFilters": [{"Key": "k", "Value": "v"}]},
            {
                "ID": "a",
                "Status": "Enabled",
                "Filter": {"And": {"Prefix": "p", "Tags": [{"Key": "k", "Value": "v"}]}},
            },
        ),
        (
            {
                "Id": "a",
                "Status": "Enabled",
                "Transitions": [{"TransitionInDays": 30, "StorageClass": "GLACIER"}],
            },
            {
                "ID": "a",
                "Status": "Enabled",
                "Filter": {"Prefix": ""},
                "Transitions": [{"Days": 30, "StorageClass": "GLACIER"}],
            },
        ),
    ],
)
def test_rules(rule: dict[str, Any], expected: dict[str, Any]) -> None:
    assert lifecycle_rules([rule]) == [expected]


def test_a_rule_that_would_lose_something_is_refused() -> None:
    with pytest.raises(ResourceError, match="ExpirationDate is not emulated"):
        lifecycle_rules([{"Status": "Enabled", "ExpirationDate": "2030-01-01"}])
