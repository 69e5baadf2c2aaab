"""What one check sees, and what the file says: the input of a decision."""

from __future__ import annotations

from dataclasses import dataclass

ERRORS_REQUESTS_MINIMUM = 10
"""Fewer answers say nothing about a side."""


@dataclass(frozen=True, slots=True)
class Settings:
    mode: str
    """ "overflow", "weighted" or "model"."""
    weight_percent: int
    back: str
    """ "gradual" or "at-once"."""
    gpu_minimum: int
    gpu_maximum: int
    waiting_per_replica: float
    drain_seconds: float
    start_seconds: float
    """The slowest start: so long a deployment or a wake is no failure."""
    sleeps: bool
    model_reason: str = ""

    @property
    def base_share(self) -> int:
        """GPU's percentage while nothing is wrong."""
        return {"overflow": 0, "weighted": self.weight_percent, "model": 100}[self.mode]


@dataclass(frozen=True, slots=True)
class Side:
    """Neuron's services together, or GPU's. Metrics that are missing are None."""

    healthy: int
    desired: int
    running: int
    pending: int = 0
    deploying: bool = False
    refused: str = ""
    """What ECS or EC2 said when it did not place or start something; "" when it did not say so lately."""
    withdrawn: bool = False
    """Its maximum is 0: a shift has the capacity."""
    stalled: int = 0
    """Healthy targets whose engines make no progress."""
    waiting: float | None = None
    requests: float | None = None
    errors: float | None = None
    """5xx of the targets, in the same minutes as `requests`."""

    @property
    def erring(self) -> bool:
        if self.requests is None or self.errors is None or self.requests < ERRORS_REQUESTS_MINIMUM:
            return False
        return self.errors * 2 >= self.requests

    @property
    def serving(self) -> int:
        return 0 if self.erring else max(0, self.healthy - self.stalled)

    @property
    def has_tasks(self) -> bool:
        return self.running + self.pending > 0

    @property
    def may_come(self) -> bool:
        return self.desired > 0 or self.has_tasks


@dataclass(frozen=True, slots=True)
class Weights:
    """Of the rule's forward action: 0 to 999 each."""

    neuron: int
    gpu: int
    waker: int = 0

    @property
    def share(self) -> int | None:
        """GPU's percentage; None where neither side has a weight."""
        total = self.neuron + self.gpu
        return round(100 * self.gpu / total) if total else None


@dataclass(frozen=True, slots=True)
class Override:
    mode: str = "auto"
    """ "auto", "neuron" or "gpu"."""
    until: float | None = None
    """Seconds since 1970; None: until it is taken back."""
    complaint: str = ""
    """Why the parameter could not be read; then the mode is "auto"."""

    def at(self, now: float) -> str:
        expired = self.until is not None and now >= self.until
        return "auto" if expired else self.mode


@dataclass(frozen=True, slots=True)
class Observation:
    neuron: Side
    gpu: Side
    weights: Weights
    override: Override = Override()
