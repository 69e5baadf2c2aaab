"""Names that the kit makes out of a file's names: the longest that a file may hold still fit AWS's limits."""

from __future__ import annotations

import re

from stacks.domain.environment.model import ENVIRONMENT_NAME_PATTERN, PART_NAME_PATTERN
from stacks.domain.names import job_definition_name, stack_names

LONGEST = "a" * 30
STACK_NAME_MAX, BATCH_NAME_MAX, RUN_DIGITS = 128, 128, 6
"""CloudFormation user guide, cloudformation-limits; botocore 1.44.8 batch (jobDefinitionName, jobName: 128 characters)."""


def test_thirty_characters_are_the_most() -> None:
    for pattern in (ENVIRONMENT_NAME_PATTERN, PART_NAME_PATTERN):
        assert re.fullmatch(pattern, LONGEST)
        assert not re.fullmatch(pattern, LONGEST + "a")


def test_the_longest_names_fit() -> None:
    assert max(map(len, stack_names(LONGEST, (LONGEST,)).all)) <= STACK_NAME_MAX
    assert len(job_definition_name(LONGEST, LONGEST)) <= BATCH_NAME_MAX
    assert len(f"{LONGEST}-{'9' * RUN_DIGITS}") <= BATCH_NAME_MAX
