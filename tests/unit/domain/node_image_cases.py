"""Rows of the tables in test_rules.py and test_live_rules.py: node images of Slurm clusters."""

from __future__ import annotations

from typing import Any

from tests.live_answers import ami
from tests.unit.domain.slurm_cases import SLURM, second, slurm

PARENT = "ami-0aaaabbbbccccdddd"
EFS = {"shared_storage": {"kind": "efs"}}
OWN = "ami-0123456789abcdef0"


def two(**settings: Any) -> dict[str, Any]:
    """Two clusters of one version; `settings` are of the second."""
    return {**slurm(), "clusters.two": second(slurm={**EFS, **settings})}


CASES: dict[str, tuple[list[tuple[dict[str, Any], str]], list[dict[str, Any]]]] = {
    "NK660": (
        [
            (two(parent_ami=PARENT), "clusters.two.slurm.parent_ami"),
            ({**two(), SLURM: {**EFS, "parent_ami": PARENT}}, "clusters.two.slurm.parent_ami"),
        ],
        [
            {},
            slurm(parent_ami=PARENT),
            two(),
            two(version="26.05", parent_ami=PARENT),
            two(ami=OWN),
            {**two(parent_ami=PARENT), SLURM: {**EFS, "parent_ami": PARENT}},
        ],
    ),
}
LIVE_CASES: dict[str, Any] = {
    "NK661": (
        [
            ((slurm(ami=OWN), {"ami": ami(slurm_version="26.05")}), SLURM),
            ((slurm(), {"ami": ami(slurm_version="24.11")}), SLURM),
        ],
        [
            (slurm(ami=OWN), {"ami": ami(slurm_version="25.11")}),
            (slurm(version="26.05", ami=OWN), {"ami": ami(slurm_version="26.05")}),
            (slurm(ami=OWN), {"ami": ami()}),
            (slurm(), {"ami": None}),
            ({}, {"ami": ami(slurm_version="26.05")}),
        ],
    ),
}
