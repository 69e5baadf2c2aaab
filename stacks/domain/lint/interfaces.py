"""The network interfaces of a launch template against the cards of its instance type.

Public files have three right forms: device 0 on every card; 0 on card 0 and 1 elsewhere; on card 0 a plain
interface at device 0 and an `efa-only` one at device 1, device 0 elsewhere.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from stacks.domain.catalog import InstanceType
from stacks.domain.lint.report import Report
from stacks.domain.lint.tree import Node

EFA_KINDS = ("efa", "efa-only")
USUAL_DEVICE_INDEXES = (0, 1)


@dataclass(frozen=True, slots=True)
class Interface:
    node: Node
    card: int
    device: int
    kind: str

    @property
    def takes_efa(self) -> bool:
        return self.kind in EFA_KINDS

    @property
    def is_primary(self) -> bool:
        return self.card == self.device == 0


def read(nodes: Node, report: Report) -> tuple[Interface, ...] | None:
    """None where the list, or what decides of one of its members, is not known."""
    found = []
    for node in nodes.elements():
        card, device, kind = (node.get(key) for key in ("NetworkCardIndex", "DeviceIndex", "InterfaceType"))
        parts = (card, device, kind)
        if node.unknown or any(p.unknown for p in parts) or (device.number is None and not device.missing):
            report.skip("NK410", node.place, "the interface depends on what the file does not say")
            return None
        found.append(Interface(node, card.number or 0, device.number or 0, kind.text or "interface"))
    if nodes.unknown:
        report.skip("NK410", nodes.place, "the interfaces depend on what the file does not say")
        return None
    return tuple(found)


def check(
    found: tuple[Interface, ...],
    nodes: Node,
    instance_type: InstanceType | None,
    report: Report,
    *,
    may_lack_efa: bool,
) -> None:
    _check_primary(found, nodes, report)
    _check_termination(found, report)
    _check_public_address(found, report)
    _check_addresses(found, report)
    _check_devices(found, instance_type, report)
    if instance_type is None:
        report.skip(
            "NK410",
            nodes.place,
            "the instance type is not known: the number of EFA interfaces was not checked",
        )
        return
    if not may_lack_efa or any(interface.takes_efa for interface in found):
        _check_count(found, nodes, instance_type, report)
    _check_cards(found, instance_type, report)


def _check_primary(found: tuple[Interface, ...], nodes: Node, report: Report) -> None:
    primary = next((i for i in found if i.is_primary), None)
    if primary is None:
        report.add("NK417", nodes.place, message="no interface at card 0, device 0", fix="add it, first")
    elif primary.kind == "efa-only":
        report.add(
            "NK417",
            primary.node.get("InterfaceType").place,
            given="efa-only",
            allowed="interface or efa",
            message="it carries no addresses",
            fix="write interface, and efa-only at device 1",
        )


def _check_termination(found: tuple[Interface, ...], report: Report) -> None:
    staying = [
        i for i in found
        if not i.is_primary and not i.node.get("DeleteOnTermination").unknown and i.node.get("DeleteOnTermination").flag is not True
    ]  # fmt: skip
    if staying:
        report.add(
            "NK413",
            staying[0].node.place,
            given=f"{len(staying)} of {len(found)} interfaces",
            allowed="DeleteOnTermination: true",
            fix="write it on each secondary interface",
        )


def _check_public_address(found: tuple[Interface, ...], report: Report) -> None:
    for interface in found if len(found) > 1 else ():
        public = interface.node.get("AssociatePublicIpAddress")
        if public.flag:
            report.add(
                "NK416",
                public.place,
                given="true",
                allowed="false",
                message=f"there are {len(found)} interfaces",
                fix="use NAT, or an Elastic IP on device 0",
            )


def _check_addresses(found: tuple[Interface, ...], report: Report) -> None:
    with_address = [i for i in found if i.kind == "efa"]
    if len(with_address) > 1:
        report.add(
            "NK418",
            with_address[0].node.place,
            given=f"{len(with_address)} interfaces of type efa",
            allowed="efa-only beside the primary",
            message=f"each node takes {len(with_address)} addresses",
            fix="write efa-only on the other cards",
        )


def _check_devices(found: tuple[Interface, ...], instance_type: InstanceType | None, report: Report) -> None:
    slots = {card.index: card.interfaces_max for card in instance_type.network_cards} if instance_type else {}
    wrong = [i for i in found if _is_wrong(i, slots)]
    if wrong:
        first = wrong[0]
        given = f"{first.device} on card {first.card}" + (
            f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        )
        report.add(
            "NK411",
            first.node.get("DeviceIndex").place,
            given=given,
            allowed="0 or 1 on each card",
            fix="write 0 on card 0 and 1 on the others, or 0 on every card",
        )


def _is_wrong(interface: Interface, slots: dict[int, int]) -> bool:
    if interface.device < 0:
        return True
    if interface.device in USUAL_DEVICE_INDEXES:
        return interface.device >= slots.get(interface.card, len(USUAL_DEVICE_INDEXES))
    # Beyond 1 only a card of many slots, and further plain interfaces on it, make sense.
    too_many = interface.device >= slots.get(interface.card, interface.device + 1)
    return too_many or interface.takes_efa or interface.card > 0


def _check_count(
    found: tuple[Interface, ...], nodes: Node, instance_type: InstanceType, report: Report
) -> None:
    given, most = sum(i.takes_efa for i in found), instance_type.efa_interfaces_max
    if given == 0:
        check_absence(nodes, instance_type, report)
    elif given != most:
        report.add(
            "NK410",
            nodes.place,
            given=f"{given} EFA interfaces",
            allowed=str(most),
            message=f"{instance_type.name} has {most}",
            fix="declare one for each card that takes EFA" if most else "remove them",
        )


def check_absence(place: Node, instance_type: InstanceType, report: Report) -> None:
    """No EFA interface at all: right for one node, so a warning."""
    if instance_type.efa_interfaces_max > 1 and instance_type.is_neuron:
        report.add(
            "NK419",
            place.place,
            given="0 EFA interfaces",
            allowed=str(instance_type.efa_interfaces_max),
            message=f"{instance_type.name} has {instance_type.efa_interfaces_max}",
            fix="declare one for each card, unless each job has one node",
        )


def _check_cards(found: tuple[Interface, ...], instance_type: InstanceType, report: Report) -> None:
    cards = {card.index: card for card in instance_type.network_cards}
    counts = Counter(i.card for i in found)
    taken: set[tuple[int, int]] = set()
    for interface in found:
        card = cards.get(interface.card)
        place = interface.node.get("NetworkCardIndex").place
        if card is None:
            report.add(
                "NK412",
                place,
                given=f"card {interface.card}",
                allowed=f"0 to {max(cards)}",
                message=f"{instance_type.name} has {len(cards)} network cards",
            )
        elif interface.takes_efa and not card.takes_efa:
            report.add(
                "NK412",
                place,
                given=f"{interface.kind} on card {interface.card}",
                message="this card takes no EFA",
                fix="write interface",
            )
        elif (interface.card, interface.device) in taken:
            report.add(
                "NK412",
                place,
                given=f"card {interface.card}, device {interface.device}",
                message="the place is taken by another interface",
                fix="give each its own",
            )
        elif counts[interface.card] > card.interfaces_max:
            report.add(
                "NK412",
                place,
                given=f"{counts[interface.card]} interfaces on card {interface.card}",
                allowed=f"at most {card.interfaces_max}",
            )
            counts[interface.card] = 0
        taken.add((interface.card, interface.device))
