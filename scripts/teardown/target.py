"""The environment file -> what to remove. Without lock, rules or catalog: they may have moved on since the deploy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.bootstrapping import bootstrap_stack_name
from scripts.teardown.model import Target
from stacks.domain.environment import CdkSettings, read, read_source
from stacks.domain.findings import Finding, FindingsError
from stacks.domain.names import stack_names

_DECISIVE = ("name", "region", "account", "cdk")
_CAPACITY_ID = re.compile(r"cr-[0-9a-f]{8,17}")


@dataclass(frozen=True, slots=True)
class TargetFile:
    target: Target
    region: str
    account: str | None
    misread: tuple[Finding, ...] = ()
    """Errors in parts of the file that decide nothing here."""

    @property
    def warning(self) -> str:
        """Empty when there is nothing wrong."""
        if not self.misread:
            return ""
        errors = f"{len(self.misread)} errors" if len(self.misread) > 1 else "an error"
        return (
            f"warning: the file has {errors} (`neuronkit check FILE` shows them); what is there is found by the tag "
            f"neuronkit:environment={self.target.environment} nevertheless"
        )


def read_target(file: Path) -> TargetFile:
    """A typo elsewhere must not keep what costs money: only the name, the region, the account and `cdk` have to be right.

    Raises FindingsError when they are not, or the file is no YAML.
    """
    source = read_source(file)
    misread: tuple[Finding, ...] = ()
    try:
        read(source)
    except FindingsError as error:
        if any(_is_decisive(finding) for finding in error.findings):
            raise
        misread = tuple(error.findings)
    data = source.data
    return TargetFile(_target(data), data["region"], data.get("account"), misread)


def _is_decisive(finding: Finding) -> bool:
    return re.split(r"[.\[]", finding.path)[0] in ("", *_DECISIVE)


def _target(data: Mapping[str, Any]) -> Target:
    return Target(
        environment=data["name"],
        # With the network's name, whatever the file says now: it may have said `vpc: new` when it was deployed.
        # A network that the user brought is in no stack, so nothing here can name it.
        # With the image's name likewise: it needs nobody's lock to be deleted.
        stacks=stack_names(
            data["name"],
            tuple(_entries(data, "clusters")),
            tuple(_entries(data, "fleets")),
            tuple(_entries(data, "shifts")),
            image=True,
        ),
        bootstrap_stack=bootstrap_stack_name(CdkSettings.model_validate(data.get("cdk") or {}).qualifier),
        capacities=tuple(
            (name, id_)
            for name, capacity in _entries(data, "capacity").items()
            for id_ in _CAPACITY_ID.findall(f"{capacity.get('id')} {capacity.get('ids')}")
        ),
        uses_slurm=any(
            cluster.get("scheduler") == "slurm" or "slurm" in cluster
            for cluster in _entries(data, "clusters").values()
        ),
        uses_fleets=bool(_entries(data, "fleets")),
    )


def _entries(data: Mapping[str, Any], section: str) -> dict[str, Mapping[str, Any]]:
    entries = data.get(section)
    if not isinstance(entries, Mapping):
        return {}
    return {name: entry for name, entry in entries.items() if isinstance(entry, Mapping)}
