"""Starter environment files: commented, and without errors as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stacks.domain.render.engine import render


@dataclass(frozen=True, slots=True)
class Starter:
    """`name` names the environment, `file` is what the comments call the file, `schema` where its JSON Schema lies."""

    template: ClassVar[str]
    title: ClassVar[str]
    name: str
    file: str
    schema: str


@dataclass(frozen=True, slots=True)
class Trn1FirstHour(Starter):
    template: ClassVar[str] = "environments/trn1-first-hour.yaml.j2"
    title: ClassVar[str] = "one chip, on demand: a first real run for a few dollars"


@dataclass(frozen=True, slots=True)
class Trn1Pilot(Starter):
    template: ClassVar[str] = "environments/trn1-pilot.yaml.j2"
    title: ClassVar[str] = "4 nodes with 64 Trainium1 chips, on demand"


@dataclass(frozen=True, slots=True)
class Trn2Pilot(Starter):
    template: ClassVar[str] = "environments/trn2-pilot.yaml.j2"
    title: ClassVar[str] = "4 nodes with 64 Trainium2 chips, from a capacity block"


@dataclass(frozen=True, slots=True)
class Trn1Slurm(Starter):
    template: ClassVar[str] = "environments/trn1-slurm.yaml.j2"
    title: ClassVar[str] = "4 nodes with 64 Trainium1 chips under Slurm, on demand"


@dataclass(frozen=True, slots=True)
class Trn2Slurm(Starter):
    template: ClassVar[str] = "environments/trn2-slurm.yaml.j2"
    title: ClassVar[str] = "4 nodes with 64 Trainium2 chips under Slurm, from a capacity block"


@dataclass(frozen=True, slots=True)
class Trn2UltraServer(Starter):
    template: ClassVar[str] = "environments/trn2-ultraserver.yaml.j2"
    title: ClassVar[str] = "one Trn2 UltraServer, 64 chips, under Slurm, from a capacity block"


@dataclass(frozen=True, slots=True)
class Trn3UltraServer(Starter):
    template: ClassVar[str] = "environments/trn3-ultraserver.yaml.j2"
    title: ClassVar[str] = "one Trn3 UltraServer, 64 chips, under Slurm; the type's name is yours to fill in"


@dataclass(frozen=True, slots=True)
class Inf2Serving(Starter):
    template: ClassVar[str] = "environments/inf2-serving.yaml.j2"
    title: ClassVar[str] = "Llama 3.1 8B served on Inferentia2, with a GPU group for when it cannot"


@dataclass(frozen=True, slots=True)
class Trn2Serving(Starter):
    template: ClassVar[str] = "environments/trn2-serving.yaml.j2"
    title: ClassVar[str] = (
        "Llama 3.3 70B served on Trainium2, two replicas on one node, from a capacity block"
    )


@dataclass(frozen=True, slots=True)
class EncoderServing(Starter):
    template: ClassVar[str] = "environments/encoder-serving.yaml.j2"
    title: ClassVar[str] = "a BERT encoder served on Inferentia2, nothing running while nobody asks"


@dataclass(frozen=True, slots=True)
class Inf1Serving(Starter):
    template: ClassVar[str] = "environments/inf1-serving.yaml.j2"
    title: ClassVar[str] = "a BERT encoder served on Inferentia1, whose software has ended"


@dataclass(frozen=True, slots=True)
class DayNight(Starter):
    template: ClassVar[str] = "environments/day-night.yaml.j2"
    title: ClassVar[str] = "5 nodes of Trainium1 that serve Llama 3.1 8B by day, and train at night"


STARTERS: dict[str, type[Starter]] = {
    "trn1-first-hour": Trn1FirstHour,
    "trn1-pilot": Trn1Pilot,
    "trn2-pilot": Trn2Pilot,
    "trn1-slurm": Trn1Slurm,
    "trn2-slurm": Trn2Slurm,
    "trn2-ultraserver": Trn2UltraServer,
    "trn3-ultraserver": Trn3UltraServer,
    "inf2-serving": Inf2Serving,
    "trn2-serving": Trn2Serving,
    "encoder-serving": EncoderServing,
    "inf1-serving": Inf1Serving,
    "day-night": DayNight,
}


def starter_text(starter: str, *, name: str, file: str, schema: str) -> str:
    return render(STARTERS[starter](name, file, schema))
