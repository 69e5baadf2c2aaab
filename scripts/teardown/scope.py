"""Whose is it? Ours = tagged with the environment, or a member of its stacks. A name alone makes a suspect."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from scripts.teardown.model import Ownership
from stacks.domain.names import ENVIRONMENT_TAG

STACK_ID_TAG = "aws:cloudformation:stack-id"


@dataclass(frozen=True, slots=True)
class SlurmScope:
    """What the stacks say of AWS PCS, whose resources are asked about only where there is a reason to."""

    is_used: bool = False
    """By the file, by a stack of ours that is or was there, or by something that carries our tag."""
    living: frozenset[str] = frozenset()
    """Ids of the PCS clusters of living stacks: what PCS made for them is PCS's affair."""
    gone: frozenset[str] = frozenset()
    """Ids of PCS clusters and node groups of ours that CloudFormation has deleted: what still names them is left over."""
    stuck: frozenset[str] = frozenset()
    """ARNs of PCS resources that CloudFormation failed to delete: its known weakness, so the kit deletes them itself."""


@dataclass(frozen=True, slots=True)
class FleetScope:
    is_used: bool = False
    """By the file, or by a stack of ours that is or was there."""
    clusters: frozenset[str] = frozenset()
    """Names of the ECS clusters of living stacks."""
    groups: frozenset[str] = frozenset()
    """Names of the Auto Scaling groups of living stacks."""
    stuck: frozenset[str] = frozenset()
    """Physical ids of what CloudFormation failed to delete and the kit deletes itself."""
    log_groups: frozenset[str] = frozenset()
    """That Lambda and Container Insights made by themselves for what is or was in our stacks."""


@dataclass(frozen=True, slots=True)
class Scope:
    """`members` are physical ids of living stacks of ours: CloudFormation deletes them, we do not."""

    environment: str
    members: frozenset[str] = frozenset()
    stack_ids: frozenset[str] = frozenset()
    retained: frozenset[str] = frozenset()
    """Physical ids that CloudFormation left behind on purpose when it deleted, or began to delete, a stack of ours."""
    slurm: SlurmScope = field(default_factory=lambda: SlurmScope())
    fleets: FleetScope = field(default_factory=lambda: FleetScope())
    tagged_arns: tuple[str, ...] = field(default=())

    @property
    def prefix(self) -> str:
        return f"{self.environment}-"

    def has_tagged(self, service: str) -> bool:
        """Whether the tagging API lists anything of ours there; it may be gone."""
        return any(arn.split(":", 3)[2] == service for arn in self.tagged_arns)

    def is_member(self, tags: Mapping[str, str], *ids: str) -> bool:
        if any(id_ in self.retained for id_ in ids):
            return False
        return tags.get(STACK_ID_TAG) in self.stack_ids or any(id_ in self.members for id_ in ids)

    def ownership(self, tags: Mapping[str, str], *ids: str) -> Ownership | None:
        """None: somebody else's, who says so by tag, or no relation at all."""
        if tags.get(ENVIRONMENT_TAG) == self.environment or any(id_ in self.retained for id_ in ids):
            return Ownership.OURS
        if ENVIRONMENT_TAG not in tags and any(self.has_our_name(id_) for id_ in ids):
            return Ownership.SUSPECT
        return None

    def has_our_name(self, name: str) -> bool:
        """The environment's name as a whole part of a path: `NAME`, `NAME-x`, `/aws/NAME/x`."""
        return re.search(rf"(^|/){re.escape(self.environment)}($|[-/])", name) is not None
