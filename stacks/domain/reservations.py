"""A capacity reservation or capacity block as EC2 describes it, and the moments at its end that matter.

EC2 takes nodes back before a block ends: from 30 minutes before for instances, from 60 for UltraServers.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

CAPACITY_BLOCK = "capacity-block"
RECLAIM_MINUTES = 30
ULTRASERVER_RECLAIM_MINUTES = 60
RECLAIM_SOURCE = "EC2 user guide, capacity-blocks-using; 60 minutes: stated for P6e-GB200 UltraServers"
DRAIN_MARGIN_MINUTES = 10
"""What a drain needs besides one checkpoint: EKS also scales down 40 minutes before the end (amazon-eks-user-guide@4d52b4d)."""

BEFORE_ITS_TIME = frozenset({"scheduled", "payment-pending", "pending", "assessing", "delayed"})
OVER = frozenset({"expired", "cancelled", "cancelling", "failed", "payment-failed", "unsupported"})
KNOWN_STATES = frozenset({"active", "unavailable"}) | BEFORE_ITS_TIME | OVER
"""botocore 1.44.8, CapacityReservationState and CapacityBlockResourceState. AWS may add others: they are shown as they are."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """What EC2 left out of its answer is None, or "" for a word. Times carry a zone."""

    id: str
    kind: str
    """EC2's ReservationType: "capacity-block", or "default" for an on-demand reservation."""
    instance_type: str
    zone_id: str
    total: int
    available: int
    """Instances that are not in use now."""
    state: str
    start: datetime | None = None
    end: datetime | None = None
    tenancy: str = ""
    platform: str = ""
    block_id: str = ""
    """Of a capacity block: `cb-…`."""
    ultraserver_type: str = ""
    """ "" where the block is one of plain instances."""
    interconnect: str = ""
    """EC2's InterconnectStatus: ok, impaired, insufficient-data; "" where it was not asked or not answered."""
    unavailable: int | None = None
    """Instances of the block that EC2 itself cannot give."""
    launch_status: str = ""
    """Of UltraServers: launchable or unlaunchable."""
    tags: tuple[tuple[str, str], ...] = ()

    @property
    def is_block(self) -> bool:
        return self.kind == CAPACITY_BLOCK

    @property
    def is_ultraserver(self) -> bool:
        return bool(self.ultraserver_type)

    @property
    def is_over(self) -> bool:
        """For good: nothing will start in it any more."""
        return self.state in OVER

    def tag(self, key: str) -> str | None:
        return dict(self.tags).get(key)

    @property
    def is_known_state(self) -> bool:
        return self.state in KNOWN_STATES

    @property
    def used(self) -> int:
        return max(0, self.total - self.available)


@dataclass(frozen=True, slots=True)
class Moments:
    """The three that matter before a block's end, in their order; then the end itself."""

    no_new_jobs: datetime
    """A job that starts later cannot save even one checkpoint interval of work."""
    drain: datetime
    """Save a checkpoint and stop: the last moment at which that is done in time."""
    reclaim: datetime
    """EC2 begins to terminate instances."""
    end: datetime


def reclaim_window(*, is_ultraserver: bool) -> timedelta:
    return timedelta(minutes=ULTRASERVER_RECLAIM_MINUTES if is_ultraserver else RECLAIM_MINUTES)


def moments(end: datetime, *, is_ultraserver: bool, checkpoint_seconds: float) -> Moments:
    """`checkpoint_seconds`: the longest time from one checkpoint of a job to the next."""
    checkpoint = timedelta(seconds=checkpoint_seconds)
    reclaim = end - reclaim_window(is_ultraserver=is_ultraserver)
    drain = reclaim - checkpoint - timedelta(minutes=DRAIN_MARGIN_MINUTES)
    return Moments(drain - checkpoint, drain, reclaim, end)
