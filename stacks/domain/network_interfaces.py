"""Which network interfaces a node's launch template asks for, on which card and device index.

EC2's current pattern (EC2 user guide, efa-acc-inst-types): the primary interface carries the addresses, and each
card that takes EFA adds one `efa-only` interface, which takes no IP address. The interface at card 0, device 0 is
the primary one; it may not be `efa-only`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from stacks.domain.catalog import InstanceType, NetworkCard
from stacks.domain.errors import InputError

InterfaceKind = Literal["interface", "efa", "efa-only"]


@dataclass(frozen=True, slots=True)
class NetworkInterface:
    card_index: int
    device_index: int
    """Counts on each card from 0, not over the instance."""
    interface_type: InterfaceKind

    @property
    def takes_efa(self) -> bool:
        return self.interface_type != "interface"

    @property
    def takes_ip_address(self) -> bool:
        return self.interface_type != "efa-only"


def arrange(
    instance_type: InstanceType, *, task_interfaces_on_primary_card: int = 0, efa_only: bool = True
) -> tuple[NetworkInterface, ...]:
    """One EFA interface on each card that takes one, primary first.

    `task_interfaces_on_primary_card` slots of card 0 stay free, for the interface that `awsvpc` networking gives a
    task. Where plain and `efa-only` do not both fit beside them, the primary interface itself becomes `efa`
    (derived from the slots per card; not seen on hardware).
    `efa_only=False` is the form of AWS's older Neuron samples, and of AWS PCS, which takes nothing else: `efa` at
    device 0 on card 0 and at device 1 on the others, with an IP address for each.
    """
    primary, *others = instance_type.network_cards
    return (
        *_on_primary_card(primary, instance_type, task_interfaces_on_primary_card, efa_only),
        *(_on_other_card(card, efa_only) for card in others if card.takes_efa),
    )


def ip_addresses_per_node(interfaces: Iterable[NetworkInterface]) -> int:
    """Addresses that the subnet gives to the instance itself; a task's own interface takes one more each."""
    return sum(interface.takes_ip_address for interface in interfaces)


def is_more_than_the_usual(interfaces: Sequence[NetworkInterface]) -> bool:
    """Than the single plain interface that every instance gets anyway: a Batch node's launch template names them then, with
    the nodes' security group on each, and none is left for the compute environment."""
    return len(interfaces) > 1 or any(interface.takes_efa for interface in interfaces)


def _on_primary_card(
    card: NetworkCard, instance_type: InstanceType, reserved_slots: int, efa_only: bool
) -> tuple[NetworkInterface, ...]:
    free_slots = card.interfaces_max - reserved_slots
    if free_slots < 1:
        raise InputError(
            f"{instance_type.name} has {card.interfaces_max} interface slots on its primary network card: "
            f"{reserved_slots} of them cannot stay free",
            hint=f"at most {card.interfaces_max - 1} can, because the node's own interface takes one",
        )
    if not card.takes_efa:
        return (NetworkInterface(card.index, 0, "interface"),)
    if efa_only and free_slots >= 2:
        return (NetworkInterface(card.index, 0, "interface"), NetworkInterface(card.index, 1, "efa-only"))
    return (NetworkInterface(card.index, 0, "efa"),)


def _on_other_card(card: NetworkCard, efa_only: bool) -> NetworkInterface:
    if efa_only:
        return NetworkInterface(card.index, 0, "efa-only")
    return NetworkInterface(card.index, 1, "efa")
