"""The description of a rule that names another group: EC2 shows it, moto keeps it and does not show it."""

from __future__ import annotations

from moto.ec2.models.security_groups import SecurityGroupRule


def show_descriptions() -> None:
    def description(self: SecurityGroupRule) -> str | None:
        return self.ip_range.get("Description") or self.source_group.get("Description")

    SecurityGroupRule.description = property(description)  # type: ignore[assignment]
