"""The environment file: its shape (model), its places (source), and reading one into the other (reader)."""

from stacks.domain.environment.fleet_settings import Fallback, Fleet, Shift, Window
from stacks.domain.environment.model import (
    Capacity,
    CdkSettings,
    Cluster,
    Environment,
    Job,
    Network,
    Parallelism,
    Software,
    Storage,
)
from stacks.domain.environment.partial import well_shaped_part
from stacks.domain.environment.reader import Loaded, read, read_source
from stacks.domain.environment.slurm_settings import SharedStorage, SlurmSettings
from stacks.domain.environment.source import Path, Position, Source, format_path

__all__ = [
    "Capacity",
    "CdkSettings",
    "Cluster",
    "Environment",
    "Fallback",
    "Fleet",
    "Job",
    "Loaded",
    "Network",
    "Parallelism",
    "Path",
    "Position",
    "SharedStorage",
    "Shift",
    "SlurmSettings",
    "Software",
    "Source",
    "Storage",
    "Window",
    "format_path",
    "read",
    "read_source",
    "well_shaped_part",
]
