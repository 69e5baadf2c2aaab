"""Chips, GPUs, network cards, instance types and UltraServers: what they are, not where they are for sale now.

Three units that are never mixed: chips, physical cores (NeuronCores), and logical cores, which join
`logical_core_size` physical cores (LNC) into one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stacks.domain.catalog.prices import Price, best_price


@dataclass(frozen=True, slots=True)
class Chip:
    """A Neuron chip. What no source states is None; an announced chip has hardly more than a name."""

    name: str
    generation: str
    physical_cores: int | None
    core_version: str | None
    logical_core_sizes: tuple[int, ...]
    """Physical cores that may be joined into one logical core."""
    default_logical_core_size: int | None
    memory_gib: float | None
    memory_bandwidth_gb_per_second: float | None
    bf16_tflops: float | None
    fp8_tflops: float | None
    announced_only: bool
    source: str
    as_of: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Gpu:
    """Memory is what the EC2 API reports; the speeds are from secondary pages and dense."""

    name: str
    memory_gib: float
    memory_bandwidth_gb_per_second: float | None
    bf16_tflops: float | None
    fp8_tflops: float | None
    source: str
    as_of: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class NetworkCard:
    index: int
    interfaces_max: int
    """Slots for network interfaces of every kind, the primary one and a task's own included."""
    interface_types: frozenset[str]
    """Of "interface", "efa" and "efa-only"."""
    peak_gbps: float

    @property
    def takes_efa(self) -> bool:
        return "efa" in self.interface_types


@dataclass(frozen=True, slots=True)
class InstanceType:
    """`accelerators` counts chips on a Neuron type and GPUs on a GPU type; exactly one of `chip` and `gpu` is set."""

    name: str
    vcpus: int
    memory_gib: float
    chip: Chip | None
    gpu: Gpu | None
    accelerators: int
    network_cards: tuple[NetworkCard, ...]
    efa_interfaces_max: int
    zone_ids: Mapping[str, tuple[str, ...]] = field(hash=False)
    """By region; an account that is not allow-listed may see less."""
    purchase_options: frozenset[str]
    quota_code_on_demand: str | None
    quota_code_spot: str | None
    prices: tuple[Price, ...]
    instance_storage_gb: int
    sources: tuple[str, ...]
    as_of: str
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    api_known: bool
    """Whether an API definition or answer names the type; false for one that only its user can vouch for."""
    family_of_unlisted: str | None = None
    """Under which images and drivers list the chips of a type whose name only the user knows."""

    @property
    def family(self) -> str:
        return self.family_of_unlisted or self.name.partition(".")[0]

    @property
    def is_neuron(self) -> bool:
        return self.chip is not None

    @property
    def chips(self) -> int:
        """0 on a GPU type."""
        return self.accelerators if self.chip else 0

    @property
    def physical_cores(self) -> int:
        """0 on a GPU type."""
        if self.chip is None:
            return 0
        assert self.chip.physical_cores is not None, "the loader admits no announced chip in an instance type"
        return self.accelerators * self.chip.physical_cores

    @property
    def device_memory_gib(self) -> float:
        """All chips or GPUs together; for Neuron from the hardware pages, because the API is wrong about it."""
        memory_gib = self.chip.memory_gib if self.chip else self.gpu.memory_gib if self.gpu else None
        assert memory_gib is not None, "the loader admits no announced chip in an instance type"
        return self.accelerators * memory_gib

    @property
    def regions(self) -> tuple[str, ...]:
        return tuple(self.zone_ids)

    def logical_cores(self, logical_core_size: int | None = None) -> int | None:
        """At that LNC, or at the chip's default; None on a GPU type, at a size the chip does not
        have, and where nothing states the chip's default."""
        if self.chip is None:
            return None
        size = logical_core_size or self.chip.default_logical_core_size
        if size not in self.chip.logical_core_sizes:
            return None
        return self.physical_cores // size

    def price(self, kind: str, region: str) -> Price | None:
        """None: unknown."""
        return best_price(self.prices, kind, region)


@dataclass(frozen=True, slots=True)
class UltraServerFiles:
    """File names below /sys/class/neuron_device; `{nodes}` in one stands for the nodes of a group."""

    server_id: str
    node_id: str
    mode: str
    source: str


@dataclass(frozen=True, slots=True)
class UltraServer:
    """Servers joined by NeuronLink (or NVLink) that are bought as one. Trn3's members have no published type name."""

    name: str
    shape: str | None
    """The word by which an environment file names it while its members have no type name; else None."""
    ultraserver_type: str | None
    member_type: str | None
    members: int | None
    chip: Chip | None
    """None for a GPU UltraServer, whose `chips` are GPUs."""
    chips: int
    member_vcpus: int | None
    member_memory_gib: float | None
    member_network_gbps: float | None
    device_memory_gib: float | None
    bf16_tflops: float | None
    fp8_tflops: float | None
    partition_sizes: tuple[int, ...]
    """Members that may work as one group; empty where no source says."""
    sysfs: UltraServerFiles | None
    """Where a member's driver says its place; None where no source says."""
    modes: Mapping[int, tuple[int, ...]] = field(hash=False)
    """By the nodes of a group, the driver's modes that fit it, the better first; a size without a row is unknown."""
    link_between_members: str | None
    """What joins the chips of different members, with its source; None where sources disagree or are silent."""
    source: str
    as_of: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class UnverifiedType:
    """A name seen somewhere that is no usable type of the EC2 API, and what little is known of it."""

    name: str
    why: str
    vcpus: int | None
    memory_gib: float | None
    accelerators: int | None
    source: str
    as_of: str
