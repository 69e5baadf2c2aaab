"""What every part of an environment file has in common: frozen, strict, no unknown keys."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Framework = Literal["jax", "torch-neuronx"]


class Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
