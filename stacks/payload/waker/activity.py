"""What a fleet was asked for and works on, as the metrics tell it, late and with gaps."""

from __future__ import annotations

from dataclasses import dataclass

SCRAPES_PER_MINUTE = 3
"""Of four by each replica's exporter; a minute with fewer is not known."""
LAG_SECONDS = 90
"""By which metrics that travel in logs are late: younger minutes are not looked at."""


@dataclass(frozen=True, slots=True)
class Minute:
    """Of the engines' own metrics."""

    start: float
    busy: float
    """The most requests that any replica ran or kept waiting."""
    scrapes: float


@dataclass(frozen=True, slots=True)
class Activity:
    requests: float
    """That the load balancer saw in the time after which the fleet is idle, to whichever group."""
    minutes: tuple[Minute, ...]
    """The newest last."""

    def is_known(self, now: float, after: float, replicas: int) -> bool:
        """Every replica that runs has reported in the newest minute."""
        minutes = self._minutes(now, after)
        return bool(minutes) and minutes[-1].scrapes >= SCRAPES_PER_MINUTE * replicas

    def is_busy(self, now: float, after: float) -> bool:
        return any(minute.busy > 0 for minute in self._minutes(now, after))

    def _minutes(self, now: float, after: float) -> list[Minute]:
        whole = now - 60 - LAG_SECONDS
        return [minute for minute in self.minutes if after <= minute.start <= whole]
