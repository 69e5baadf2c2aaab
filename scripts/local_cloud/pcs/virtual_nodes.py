"""What a virtual node of a compute node group has: the hardware of its instance type, and what the group says."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from moto.ec2.models.instance_types import INSTANCE_TYPES

from scripts.local_cloud.pcs import instances, service_rules
from scripts.local_cloud.pcs.resources import NodeGroup
from scripts.local_cloud.slurm.virtual_group import VirtualGroup
from stacks.domain.catalog import UltraServer, load_catalog

CPUS_OF_UNLISTED = 64
"""A type that no EC2 data knows (a member of a Trn3 UltraServer, named by its user): some number has to be said."""


def virtual_group(account: str, region: str, group: NodeGroup) -> VirtualGroup:
    """All nodes that the group may grow to: the emulation has no boot to wait for."""
    counted = service_rules.gres_of(group.configuration).get("neuron", 0)
    nodes = group.scaling["maxInstanceCount"]
    interfaces = instances.launch_template(account, region, group).get("NetworkInterfaces") or ()
    return VirtualGroup(
        name=group.name,
        nodes=nodes,
        features=tuple(filter(None, service_rules.setting_of(group.configuration, "Features").split(","))),
        cpus=cpus_of(group.instance_type),
        neuron_devices=devices_of(group.instance_type, counted),
        efa_devices=sum(str(item.get("InterfaceType", "")).startswith("efa") for item in interfaces),
        gres=counted,
        weight=int(service_rules.setting_of(group.configuration, "Weight") or 1),
        place_files=tuple(_place_files(group, index) for index in range(nodes)),
    )


def cpus_of(instance_type: str) -> int:
    """PCS starts nodes with one thread a core."""
    known = INSTANCE_TYPES.get(instance_type)
    return int(known["VCpuInfo"]["DefaultCores"]) if known else CPUS_OF_UNLISTED


def devices_of(instance_type: str, counted: int) -> int:
    known = load_catalog().get(instance_type)
    if known is not None:
        return known.chips
    return 0 if instance_type in INSTANCE_TYPES else counted


def _place_files(group: NodeGroup, index: int) -> Mapping[str, str]:
    """Of one node: a group's nodes fill UltraServers in turn, and the smaller groups within them."""
    ultraserver = _ultraserver(group.instance_type)
    return dict(_files(ultraserver, group.id, index)) if ultraserver else {}


def _ultraserver(instance_type: str) -> UltraServer | None:
    """The shape whose members these are; all shapes of Trn3 name their files alike."""
    unlisted = instance_type not in INSTANCE_TYPES
    for ultraserver in load_catalog().ultraservers:
        if ultraserver.sysfs is None:
            continue
        if ultraserver.member_type == instance_type or (unlisted and ultraserver.member_type is None):
            return ultraserver
    return None


def _files(ultraserver: UltraServer, group_id: str, index: int) -> Iterator[tuple[str, str]]:
    assert ultraserver.sysfs is not None
    for size in ultraserver.partition_sizes:
        server = hashlib.sha256(f"{group_id}/{size}/{index // size}".encode()).hexdigest()[:16]
        yield ultraserver.sysfs.server_id.replace("{nodes}", str(size)), server
        yield ultraserver.sysfs.node_id.replace("{nodes}", str(size)), str(index % size)
    modes = sorted({mode for fitting in ultraserver.modes.values() for mode in fitting})
    yield ultraserver.sysfs.mode, ",".join(map(str, modes))
