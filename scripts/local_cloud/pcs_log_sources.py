"""AWS PCS as a source of vended logs, which moto's list of services lacks, and CloudWatch Logs' refusal to delete what a
delivery uses. Nothing is ever delivered here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from moto.core.resource_tagging import TaggedResource
from moto.logs.exceptions import ConflictException, ValidationException
from moto.logs.models import DeliverySource, LogsBackend

_LOG_TYPES = ("PCS_SCHEDULER_LOGS", "PCS_JOBCOMP_LOGS", "PCS_SCHEDULER_AUDIT_LOGS")
"""CloudWatch Logs API, PutDeliverySource."""


def allow() -> None:
    changed: dict[str, Callable[..., Any]] = {
        "put_delivery_source": _with_pcs(LogsBackend.put_delivery_source),
        "delete_delivery_source": _unless_used(_uses_source, LogsBackend.delete_delivery_source),
        "delete_delivery_destination": _unless_used(
            _uses_destination, LogsBackend.delete_delivery_destination
        ),
        "iter_tagged_resources": _with_deliveries(LogsBackend.iter_tagged_resources),
    }
    for name, method in changed.items():
        setattr(LogsBackend, name, method)


def _with_pcs(put: Callable[..., DeliverySource]) -> Callable[..., DeliverySource]:
    def put_delivery_source(
        self: LogsBackend, name: str, resource_arn: str, log_type: str, tags: dict[str, str]
    ) -> DeliverySource:
        if resource_arn.split(":")[2] != "pcs":
            return put(self, name, resource_arn, log_type, tags)
        if log_type not in _LOG_TYPES:
            raise ValidationException(f"LogType {log_type}: for PCS one of {', '.join(_LOG_TYPES)}")
        made = DeliverySource(self.account_id, self.region_name, name, resource_arn, log_type, tags)
        self.delivery_sources[name] = made
        if tags:
            self.tag_resource(made.arn, tags)
        return made

    return put_delivery_source


def _unless_used(
    uses: Callable[[LogsBackend, str], bool], delete: Callable[[LogsBackend, str], None]
) -> Callable[[LogsBackend, str], None]:
    def delete_unless_used(self: LogsBackend, name: str) -> None:
        if uses(self, name):
            raise ConflictException(f"{name} is used by a delivery")
        delete(self, name)

    return delete_unless_used


def _uses_source(backend: LogsBackend, name: str) -> bool:
    return any(delivery.delivery_source_name == name for delivery in backend.deliveries.values())


def _uses_destination(backend: LogsBackend, name: str) -> bool:
    found = backend.delivery_destinations.get(name)
    return found is not None and any(
        delivery.delivery_destination_arn == found.arn for delivery in backend.deliveries.values()
    )


def _with_deliveries(
    find: Callable[[LogsBackend], Iterator[TaggedResource]],
) -> Callable[[LogsBackend], Iterator[TaggedResource]]:
    def iter_tagged_resources(self: LogsBackend) -> Iterator[TaggedResource]:
        yield from find(self)
        arns = [
            *(source.arn for source in self.delivery_sources.values()),
            *(destination.arn for destination in self.delivery_destinations.values()),
            *(delivery.arn for delivery in self.deliveries.values()),
        ]
        for arn in arns:
            yield TaggedResource(arn, self.tagger.get_tag_dict_for_resource(arn), "logs:delivery")

    return iter_tagged_resources
