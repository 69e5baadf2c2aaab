"""CloudFormation's limits hold for every stack of the kit, also with the most and longest tags that a file may have."""

from __future__ import annotations

import json
import re

import pytest

from stacks.domain.catalog import load_catalog
from stacks.domain.rules.names_and_tags import (
    TAG_KEY_CHARACTERS_MAX,
    TAG_VALUE_CHARACTERS_MAX,
    TAGS_MAX,
)
from stacks.domain.slurm import node_groups_max
from tests import synthesized

RESOURCES_MAX, OUTPUTS_MAX, TEMPLATE_BYTES_MAX = 500, 200, 1_000_000
LONGEST_TAG_BYTES = TAG_KEY_CHARACTERS_MAX + TAG_VALUE_CHARACTERS_MAX * 3 + len('{"Key": "", "Value": ""}, ')
"""Keys are counted as ASCII, values as three-byte characters; the file cannot hold more of them than NK260 lets pass."""
LONGEST_ASCII_TAG_BYTES = (
    TAG_KEY_CHARACTERS_MAX + TAG_VALUE_CHARACTERS_MAX + len('{"Key": "", "Value": ""}, ')
)


@pytest.mark.parametrize(("plan", "stack"), synthesized.every_stack())
def test_a_stack_stays_far_below_the_limits(plan: str, stack: str) -> None:
    template = synthesized.template(plan, stack)
    assert len(template["Resources"]) <= RESOURCES_MAX / 5
    assert len(template.get("Outputs", {})) <= OUTPUTS_MAX / 10
    text = json.dumps(template, indent=1)
    times_tagged = text.count("neuronkit:environment")
    longest: float = LONGEST_TAG_BYTES
    if plan == "slurm-ultraservers":
        # Each UltraServer's nodes have a template of their own, and every tag is five times more in it.
        longest = LONGEST_ASCII_TAG_BYTES
    elif stack in dict(synthesized.plans()[plan].stacks.fleets).values():
        # Many small resources: as many tags as a file may have, of half the length that one may have.
        longest = LONGEST_ASCII_TAG_BYTES / 2
    assert len(text.encode()) + times_tagged * TAGS_MAX * longest < TEMPLATE_BYTES_MAX


SECURITY_GROUP_TEXT = re.compile(r"[a-zA-Z0-9. _\-:/()#,@\[\]+=&;{}!$*]{0,255}")
"""EC2, CreateSecurityGroup and IpRange: no apostrophe, for one."""
IAM_TEXT = re.compile(r"[\t\n\r\x20-\x7e\xa1-\xff]{0,1000}")


@pytest.mark.parametrize(("plan", "stack"), synthesized.every_stack())
def test_descriptions_have_only_characters_that_aws_takes(plan: str, stack: str) -> None:
    for resource in synthesized.template(plan, stack)["Resources"].values():
        properties = resource.get("Properties", {})
        if resource["Type"].startswith("AWS::EC2::SecurityGroup"):
            rules = [*properties.get("SecurityGroupIngress", ()), *properties.get("SecurityGroupEgress", ())]
            for text in [
                properties.get("GroupDescription", ""),
                *(r.get("Description", "") for r in [properties, *rules]),
            ]:
                assert SECURITY_GROUP_TEXT.fullmatch(text), text
        elif resource["Type"].startswith("AWS::IAM::"):
            assert IAM_TEXT.fullmatch(properties.get("Description", ""))


def test_as_many_slices_as_a_node_takes_stay_below_the_limits() -> None:
    """Each brings a task with the kit's small programs, a service and its scaling; with twenty tags of half the length."""
    template = synthesized.fleet("fleet-slices")
    of_one = {id_: body for id_, body in template["Resources"].items() if id_.startswith("Slice0x")}
    more = max(type_.chips for type_ in load_catalog().instance_types.values()) - 4
    assert (len(of_one), more) == (4, 12)
    text, one = json.dumps(template, indent=1), json.dumps(of_one, indent=1)
    times_tagged = text.count("neuronkit:environment") + more * one.count("neuronkit:environment")
    size = len(text.encode()) + more * len(one.encode())
    assert size + times_tagged * TAGS_MAX / 2 * LONGEST_ASCII_TAG_BYTES / 2 < TEMPLATE_BYTES_MAX


def test_as_many_ultraservers_as_pcs_takes_groups_stay_below_the_limits() -> None:
    """With as many tags as a file may have, of half the length that one may have: more than anybody has written."""
    template = synthesized.cluster("slurm-ultraservers")
    of_one = {id_: body for id_, body in template["Resources"].items() if id_.startswith("Us0")}
    assert of_one
    more_groups = node_groups_max() - len(synthesized.resources(template, "AWS::PCS::ComputeNodeGroup"))
    text, one = json.dumps(template, indent=1), json.dumps(of_one, indent=1)
    times_tagged = text.count("neuronkit:environment") + more_groups * one.count("neuronkit:environment")
    size = len(text.encode()) + more_groups * len(one.encode())
    assert size + times_tagged * TAGS_MAX * LONGEST_ASCII_TAG_BYTES / 2 < TEMPLATE_BYTES_MAX
