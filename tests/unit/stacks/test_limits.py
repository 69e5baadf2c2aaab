"""CloudFormation's limits hold for every stack of the kit, also with the most and longest tags that a file may have."""

from __future__ import annotations

import json

import pytest

from stacks.domain.rules.names_and_tags import (
    TAG_KEY_CHARACTERS_MAX,
    TAG_VALUE_CHARACTERS_MAX,
    TAGS_MAX,
)
from tests import synthesized

RESOURCES_MAX, OUTPUTS_MAX, TEMPLATE_BYTES_MAX = 500, 200, 1_000_000
LONGEST_TAG_BYTES = TAG_KEY_CHARACTERS_MAX + TAG_VALUE_CHARACTERS_MAX * 3 + len('{"Key": "", "Value": ""}, ')
"""Keys are counted as ASCII, values as three-byte characters; the file cannot hold more of them than NK260 lets pass."""


@pytest.mark.parametrize(("plan", "stack"), synthesized.every_stack())
def test_a_stack_stays_far_below_the_limits(plan: str, stack: str) -> None:
    template = synthesized.template(plan, stack)
    assert len(template["Resources"]) <= RESOURCES_MAX / 10
    assert len(template.get("Outputs", {})) <= OUTPUTS_MAX / 10
    text = json.dumps(template, indent=1)
    times_tagged = text.count("neuronkit:environment")
    assert len(text.encode()) + times_tagged * TAGS_MAX * LONGEST_TAG_BYTES < TEMPLATE_BYTES_MAX
