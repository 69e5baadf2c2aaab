"""Faults that tests plant: an API call that fails or hangs, a resource that CloudFormation cannot create.

A fault counts down `times` (None: for ever) each time it strikes. `hang` holds the call until the fault is cleared
or the server ends.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any


class PlantedFaultError(Exception):
    """A resource fault struck: the message is what the stack's events will say."""


@dataclass
class Fault:
    id: int
    service: str | None = None
    action: str | None = None
    resource_type: str | None = None
    logical_id: str | None = None
    error_code: str | None = None
    message: str = "a fault planted in the local cloud"
    status_code: int = 400
    times: int | None = 1
    delay_seconds: float = 0.0
    hang: bool = False
    exit_code: int | None = None
    cleared: threading.Event = field(default_factory=threading.Event)

    def describe(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "cleared" and value is not None}

    def wait(self) -> None:
        """The delay, or the hang, of one stroke; ends early when the fault is cleared."""
        if self.hang:
            self.cleared.wait()
        elif self.delay_seconds:
            self.cleared.wait(self.delay_seconds)


class Faults:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []
        self._last_id = 0

    def plant(self, description: dict[str, Any]) -> Fault:
        unknown = set(description) - set(Fault.__dataclass_fields__) | set(description) & {"id", "cleared"}
        if unknown:
            raise ValueError(f"a fault has no {', '.join(sorted(unknown))}")
        if not description.get("service") and not (
            description.get("resource_type") or description.get("logical_id")
        ):
            raise ValueError("a fault names a service (and action), or a resource_type or logical_id")
        with self._lock:
            self._last_id += 1
            fault = Fault(id=self._last_id, **description)
            self._faults.append(fault)
            return fault

    def clear(self, fault_id: int | None = None) -> int:
        """Drops one fault or all; what hangs on them goes on. Returns how many there were."""
        with self._lock:
            dropped = [fault for fault in self._faults if fault_id in (None, fault.id)]
            self._faults = [fault for fault in self._faults if fault not in dropped]
        for fault in dropped:
            fault.cleared.set()
        return len(dropped)

    def list(self) -> list[dict[str, Any]]:
        with self._lock:
            return [fault.describe() for fault in self._faults]

    def concerns_service(self, service: str) -> bool:
        with self._lock:
            return any(fault.service == service for fault in self._faults)

    def take_call(self, service: str, action: str) -> Fault | None:
        """The fault that strikes this API call, counted down."""
        return self._take(
            lambda fault: (
                fault.service == service and _same(fault.action, action) and fault.resource_type is None
            )
        )

    def take_resource(self, resource_type: str, logical_id: str, verb: str) -> Fault | None:
        """`verb` is create, update or delete; a fault without `action` strikes create only."""
        return self._take(
            lambda fault: (
                fault.service is None
                and fault.resource_type in (None, resource_type)
                and fault.logical_id in (None, logical_id)
                and (fault.action or "create").lower() == verb
            )
        )

    def _take(self, strikes: Any) -> Fault | None:
        with self._lock:
            for fault in self._faults:
                if not strikes(fault) or fault.times == 0:
                    continue
                if fault.times is not None:
                    fault.times -= 1
                    # A used-up fault on which calls still hang has to stay in the list: that is how it is cleared.
                    if fault.times == 0 and not fault.hang:
                        self._faults.remove(fault)
                return fault
        return None


def _same(wanted: str | None, action: str) -> bool:
    return wanted is None or wanted.lower() == action.lower()
