"""CloudWatch Logs' vended log delivery: a source (whose logs), a destination (where to), and the delivery between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError

_SERVICE: Final = "logs"
DELIVERY: Final = "log delivery"
SOURCE: Final = "log delivery source"
DESTINATION: Final = "log delivery destination"


@dataclass(frozen=True, slots=True)
class DeliveryPart:
    kind: str
    id: str
    """What its deletion takes: the name, of a delivery the id."""
    arn: str
    tags: dict[str, str]


# Listing, its key, the id's key, deletion and its parameter.
_CALLS: Final[Mapping[str, tuple[str, str, str, str, str]]] = {
    DELIVERY: ("describe_deliveries", "deliveries", "id", "delete_delivery", "id"),
    SOURCE: ("describe_delivery_sources", "deliverySources", "name", "delete_delivery_source", "name"),
    DESTINATION: (
        "describe_delivery_destinations",
        "deliveryDestinations",
        "name",
        "delete_delivery_destination",
        "name",
    ),
}
KINDS: Final = tuple(_CALLS)


def delivery_parts(cloud: Cloud) -> tuple[DeliveryPart, ...]:
    """All of the account and region."""
    return tuple(
        _part(kind, id_key, raw)
        for kind, (operation, key, id_key, _, _) in _CALLS.items()
        for raw in cloud.pages(_SERVICE, operation, key)
    )


def delete(cloud: Cloud, kind: str, id_: str) -> None:
    """No error if it is gone. A source or destination goes only after its deliveries."""
    _, _, _, operation, parameter = _CALLS[kind]
    try:
        cloud.call(_SERVICE, operation, **{parameter: id_})
    except AwsError as error:
        if error.code != "ResourceNotFoundException":
            raise


def _part(kind: str, id_key: str, raw: Mapping[str, Any]) -> DeliveryPart:
    return DeliveryPart(kind, raw[id_key], raw["arn"], dict(raw.get("tags") or {}))
