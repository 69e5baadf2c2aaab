"""Interfaces of a launch template, over every type of the catalog and in the cases that failed elsewhere."""

from collections import Counter

import pytest

from stacks.domain.catalog import InstanceType, load_catalog
from stacks.domain.errors import InputError
from stacks.domain.network_interfaces import NetworkInterface, arrange, ip_addresses_per_node

TYPES = load_catalog().instance_types
ROOM = (0, 1)


def rows(interfaces: tuple[NetworkInterface, ...]) -> list[tuple[int, int, str]]:
    return [(i.card_index, i.device_index, i.interface_type) for i in interfaces]


@pytest.mark.parametrize("efa_only", [True, False])
@pytest.mark.parametrize("room", ROOM)
@pytest.mark.parametrize("t", TYPES.values(), ids=lambda t: t.name)
class TestEveryType:
    def test_as_many_efa_interfaces_as_the_type_takes(
        self, t: InstanceType, room: int, efa_only: bool
    ) -> None:
        interfaces = arrange(t, task_interfaces_on_primary_card=room, efa_only=efa_only)
        assert sum(i.takes_efa for i in interfaces) == t.efa_interfaces_max

    def test_what_ec2_refuses_is_not_asked_for(self, t: InstanceType, room: int, efa_only: bool) -> None:
        interfaces = arrange(t, task_interfaces_on_primary_card=room, efa_only=efa_only)
        cards = {card.index: card for card in t.network_cards}
        assert rows(interfaces)[0][:2] == (0, 0)
        assert interfaces[0].interface_type != "efa-only"
        assert len({(i.card_index, i.device_index) for i in interfaces}) == len(interfaces)
        for interface in interfaces:
            card = cards[interface.card_index]
            assert interface.interface_type in card.interface_types
            assert interface.device_index < card.interfaces_max

    def test_no_card_is_overfull_and_the_room_stays_free(
        self, t: InstanceType, room: int, efa_only: bool
    ) -> None:
        used = Counter(
            i.card_index for i in arrange(t, task_interfaces_on_primary_card=room, efa_only=efa_only)
        )
        assert used[0] + room <= t.network_cards[0].interfaces_max
        assert all(used[card.index] <= card.interfaces_max for card in t.network_cards)


@pytest.mark.parametrize(
    ("name", "room", "efa_only", "first", "addresses"),
    [
        # P-03: device 0..7 on 8 cards was refused; the device index counts on each card.
        ("trn1.32xlarge", 0, True, [(0, 0, "interface"), (0, 1, "efa-only"), (1, 0, "efa-only")], 1),
        ("trn1.32xlarge", 1, True, [(0, 0, "interface"), (0, 1, "efa-only"), (1, 0, "efa-only")], 1),
        ("trn1.32xlarge", 3, True, [(0, 0, "interface"), (0, 1, "efa-only"), (1, 0, "efa-only")], 1),
        ("trn1.32xlarge", 4, True, [(0, 0, "efa"), (1, 0, "efa-only"), (2, 0, "efa-only")], 1),
        ("trn2.48xlarge", 0, True, [(0, 0, "interface"), (0, 1, "efa-only"), (1, 0, "efa-only")], 1),
        # Two slots a card: one for the task's own interface leaves one, which is primary and EFA at once.
        ("trn2.48xlarge", 1, True, [(0, 0, "efa"), (1, 0, "efa-only"), (2, 0, "efa-only")], 1),
        # P-02: with `efa` everywhere a node takes 16 addresses.
        ("trn2.48xlarge", 0, False, [(0, 0, "efa"), (1, 1, "efa"), (2, 1, "efa")], 16),
        ("trn2.3xlarge", 1, True, [(0, 0, "efa")], 1),
        # P-01: 17 cards, 16 of them with EFA, and not the first.
        ("p6-b300.48xlarge", 1, True, [(0, 0, "interface"), (1, 0, "efa-only"), (2, 0, "efa-only")], 1),
        ("p6-b300.48xlarge", 0, False, [(0, 0, "interface"), (1, 1, "efa"), (2, 1, "efa")], 17),
        ("inf2.xlarge", 1, True, [(0, 0, "interface")], 1),
        ("inf2.xlarge", 1, False, [(0, 0, "interface")], 1),
        ("trn1.2xlarge", 0, True, [(0, 0, "interface")], 1),
    ],
)
def test_the_arrangement(
    name: str, room: int, efa_only: bool, first: list[tuple[int, int, str]], addresses: int
) -> None:
    interfaces = arrange(TYPES[name], task_interfaces_on_primary_card=room, efa_only=efa_only)
    assert rows(interfaces)[:3] == first
    assert ip_addresses_per_node(interfaces) == addresses


@pytest.mark.parametrize(("name", "room"), [("trn2.48xlarge", 2), ("trn2.3xlarge", 2), ("inf2.xlarge", 4)])
def test_more_room_than_there_are_slots_is_an_error_with_the_numbers(name: str, room: int) -> None:
    with pytest.raises(
        InputError, match=f"{name} has {TYPES[name].network_cards[0].interfaces_max} interface slots"
    ) as e:
        arrange(TYPES[name], task_interfaces_on_primary_card=room)
    assert f"at most {room - 1} can" in e.value.hint
