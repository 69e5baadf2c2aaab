"""Types that no EC2 API names yet: the file names them, and its `shape` says what a node is made of.

A Trn3 node becomes an instance type like the catalog's, with what the UltraServer pages give divided by its members.
What no source states stays unknown. One thing has to be assumed before a launch template can be written, the network
cards: as many of the listed UltraServer member's cards as make the speed (one for each chip, as on every Trn2 type).
"""

from __future__ import annotations

from dataclasses import replace

from stacks.domain.catalog import Catalog, Chip, InstanceType, NetworkCard, UltraServer
from stacks.domain.environment import Cluster, Environment

ASSUMED_CARDS = "network cards are assumed: as many cards of the kind that listed UltraServer members have as make the speed"


def with_named_types(environment: Environment, catalog: Catalog) -> Catalog:
    """The catalog with the types that only the file names. A name that it has already keeps its row."""
    named = {
        cluster.instance_type: made
        for cluster in environment.clusters.values()
        if catalog.get(cluster.instance_type) is None and (made := _made_of_shape(cluster, catalog))
    }
    return replace(catalog, instance_types={**catalog.instance_types, **named}) if named else catalog


def projected_chip(cluster: Cluster, catalog: Catalog) -> Chip | None:
    """The chip of a cluster that can only be projected: announced, with nothing to build a node from."""
    chip = catalog.chips.get(cluster.shape or "")
    return chip if chip is not None and chip.announced_only else None


def ultraserver_of(instance_type: InstanceType, shape: str | None, catalog: Catalog) -> UltraServer | None:
    """The UltraServer whose member the type is, by its name or by the file's word for it."""
    return catalog.ultraserver_of_member(instance_type.name) or (
        None if instance_type.api_known else catalog.ultraserver_of_shape(shape)
    )


def _made_of_shape(cluster: Cluster, catalog: Catalog) -> InstanceType | None:
    ultraserver = catalog.ultraserver_of_shape(cluster.shape)
    if ultraserver is None or cluster.shape is None:
        return None
    vcpus, memory_gib = ultraserver.member_vcpus, ultraserver.member_memory_gib
    members, chip = ultraserver.members, ultraserver.chip
    if vcpus is None or memory_gib is None or members is None or chip is None:
        raise ValueError(f"{ultraserver.name}: a row with a shape is complete")
    cards = _assumed_cards(ultraserver, catalog)
    return InstanceType(
        name=cluster.instance_type,
        vcpus=vcpus,
        memory_gib=memory_gib,
        chip=chip,
        gpu=None,
        accelerators=ultraserver.chips // members,
        network_cards=cards,
        efa_interfaces_max=len(cards),
        zone_ids={},
        purchase_options=frozenset(),
        quota_code_on_demand=None,
        quota_code_spot=None,
        prices=(),
        instance_storage_gb=0,
        sources=(ultraserver.source,),
        as_of=ultraserver.as_of,
        notes=(ultraserver.note,),
        warnings=(ASSUMED_CARDS,),
        api_known=False,
        family_of_unlisted=cluster.shape.partition("-")[0],
    )


def _assumed_cards(ultraserver: UltraServer, catalog: Catalog) -> tuple[NetworkCard, ...]:
    listed = next(t for u in catalog.ultraservers if u.member_type and (t := catalog.get(u.member_type)))
    card = listed.network_cards[0]
    gbps = ultraserver.member_network_gbps or 0
    return tuple(replace(card, index=index) for index in range(int(gbps // card.peak_gbps)))
