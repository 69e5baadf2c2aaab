"""`make docs`: docs/permissions.md, what each command needs of IAM, and policies to paste."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from scripts import permission_needs as needs
from scripts.markdown_table import table
from scripts.permission_needs import CommandNeeds
from scripts.permission_policies import policy

DOCUMENT = Path(__file__).parent.parent / "docs" / "permissions.md"
HEAD = """# Permissions

Written by `make docs` from `scripts/permission_needs.py`: do not edit. A test holds it against the calls in the code, and against a list of IAM's
actions. **None of it was tried on a real account**, and the local cloud enforces no permissions. When one is missing, the error names it.

`check`, `plan`, `synth`, `render`, `lint` and `init` ask AWS nothing without the options below. `bootstrap` needs an administrator, once.
What a deploy makes, CloudFormation makes with the roles of the CDK's bootstrap stack. The roles of jobs, nodes and controllers are in the
templates: `synth` writes them.
"""
POLICY_HEAD = """## Policies to paste

Replace `ACCOUNT`, `ENVIRONMENT` (the name in the file) and `hnb659fds` (where the file has a `cdk.qualifier`); other partitions than `aws` have
another second word in each ARN. What is bound by name is bound by its beginning: an environment `pilot` may touch stacks and the bucket of a
`pilot-2`. CloudFormation shortens long names: where a role or the bucket does not begin with all of `ENVIRONMENT-`, shorten it here as well.

`Read` is for the whole account, because most of these actions cannot be narrowed down. `Tagged` asks for the environment's tag. `Write` is what is
left: mostly things that AWS Batch, PCS and ECS make by themselves, without the tag at times. The kit deletes of these only what carries
the tag or belongs to the environment's stacks, but IAM cannot know the latter.
"""
POLICIES: Final = (
    (
        "Plan, deploy, run",
        (
            needs.LOCK,
            needs.LIVE,
            needs.AGAINST,
            needs.DEPLOY,
            needs.LAUNCH,
            needs.LOGS,
            needs.STATUS,
            needs.OVERRIDE,
            needs.CAPACITY,
            needs.IMAGE,
        ),
    ),
    ("Buy capacity blocks: money at once", (needs.BUY,)),
    ("Look for leftovers, destroy", (needs.LEFTOVERS, needs.DESTROY)),
)


def permissions_document() -> str:
    return "\n".join((HEAD, *(_section(one) for one in needs.ALL), POLICY_HEAD, *_policies()))


def _section(one: CommandNeeds) -> str:
    rows = (
        (need.why, ", ".join(f"`{action}`" for action in need.every_action), need.only_with)
        for need in one.needs
    )
    return f"## {one.commands}\n\n{table(('for', 'actions', 'only with'), rows)}\n"


def _policies() -> Iterable[str]:
    for title, commands in POLICIES:
        yield f"### {title}\n\n```json\n{json.dumps(policy(commands), indent=1)}\n```\n"


if __name__ == "__main__":
    DOCUMENT.write_text(permissions_document(), encoding="utf-8")
