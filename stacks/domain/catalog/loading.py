"""From the data files beside this module to the frozen catalog.

`recorded.json` is written by `python -m scripts.record_catalog`; all other files are kept by hand.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from stacks.domain.catalog.contents import Catalog, Quota, Region
from stacks.domain.catalog.hardware import (
    Chip,
    Gpu,
    InstanceType,
    NetworkCard,
    UltraServer,
    UltraServerFiles,
    UnverifiedType,
)
from stacks.domain.catalog.prices import Price, ServicePrice

DATA = Path(__file__).parent / "data"
MIB_PER_GIB = 1024

Row = dict[str, Any]


def read_data(name: str) -> dict[str, list[Row]]:
    """One data file: lists of rows by name."""
    content: dict[str, list[Row]] = json.loads((DATA / name).read_text(encoding="utf-8"))
    return content


@functools.cache
def load_catalog() -> Catalog:
    hardware = read_data("chips.json")
    recorded = read_data("recorded.json")
    chips = {row["name"]: _chip(row) for row in hardware["chips"]}
    gpus = {row["name"]: row for row in hardware["gpus"]}
    types = _instance_types(recorded["types"], chips, gpus)
    regions = tuple(_region(row) for row in recorded["regions"])
    return Catalog(
        instance_types=types,
        chips=chips,
        gpus={t.gpu.name: t.gpu for t in types.values() if t.gpu},
        ultraservers=tuple(
            _ultraserver(row, chips) for row in read_data("ultraservers.json")["ultraservers"]
        ),
        unverified={row["name"]: UnverifiedType(**row) for row in read_data("unverified.json")["types"]},
        quotas={quota.code: quota for row in read_data("quotas.json")["quotas"] for quota in _quotas(row)},
        regions={region.name: region.zone_ids for region in regions},
        region_rows=regions,
        service_prices=tuple(ServicePrice(**row) for row in read_data("service_prices.json")["prices"]),
    )


def known_regions() -> tuple[str, ...]:
    """The AWS commercial regions in the data; a newer one may exist."""
    return tuple(load_catalog().regions)


def region_of_zone_id(zone_id: str) -> str | None:
    """us-east-2 for "use2-az3", also for a zone the data does not list; None for an unknown prefix or no zone id."""
    match = re.fullmatch(r"([a-z]+\d)-az\d+", zone_id)
    return _regions_by_zone_prefix().get(match.group(1)) if match else None


@functools.cache
def _regions_by_zone_prefix() -> dict[str, str]:
    return {
        zone.partition("-")[0]: region for region, zones in load_catalog().regions.items() for zone in zones
    }


def _instance_types(
    recorded: list[Row], chips: Mapping[str, Chip], gpus: Mapping[str, Row]
) -> dict[str, InstanceType]:
    by_name = {row["name"]: row for row in recorded}
    prices: dict[str, list[Price]] = {}
    for row in read_data("prices.json")["prices"]:
        prices.setdefault(row["type"], []).append(_price(row))
    quotas = {family: row for row in read_data("quotas.json")["quotas"] for family in row["families"]}
    return {
        row["name"]: _instance_type(
            row, by_name[row["name"]], chips, gpus, prices.get(row["name"], ()), quotas
        )
        for row in read_data("types.json")["types"]
    }


def _instance_type(
    row: Row,
    recorded: Row,
    chips: Mapping[str, Chip],
    gpus: Mapping[str, Row],
    prices: Iterable[Price],
    quotas: Mapping[str, Row],
) -> InstanceType:
    chip = chips[row["chip"]] if row["chip"] else None
    if chip and chip.announced_only:
        raise ValueError(f"{row['name']}: {chip.name} is only announced")
    quota = quotas[row["name"].partition(".")[0]]
    return InstanceType(
        name=row["name"],
        vcpus=recorded["vcpus"],
        memory_gib=recorded["memory_mib"] / MIB_PER_GIB,
        chip=chip,
        gpu=_gpu(gpus[row["gpu"]], recorded) if row["gpu"] else None,
        accelerators=row["accelerators"],
        network_cards=tuple(card for group in recorded["network_cards"] for card in _network_cards(group)),
        efa_interfaces_max=recorded["efa_interfaces_max"],
        zone_ids={region: tuple(zones) for region, zones in recorded["zone_ids"].items()},
        purchase_options=frozenset(recorded["purchase_options"]),
        quota_code_on_demand=quota["on_demand"],
        quota_code_spot=quota["spot"],
        prices=tuple(prices),
        instance_storage_gb=recorded["instance_storage_gb"],
        sources=tuple(dict.fromkeys((recorded["source"], row["source"], quota["source"]))),
        as_of=recorded["as_of"],
        notes=tuple(row["notes"]),
        warnings=tuple(row["warnings"]),
        api_known=True,
    )


def _chip(row: Row) -> Chip:
    return Chip(**{**row, "logical_core_sizes": tuple(row["logical_core_sizes"])})


def _gpu(row: Row, recorded: Row) -> Gpu:
    return Gpu(**row, memory_gib=recorded["gpu_memory_mib"] / MIB_PER_GIB)


def _network_cards(group: Row) -> list[NetworkCard]:
    """A row stands for the cards `first` to `last`, which are alike."""
    return [
        NetworkCard(index, group["interfaces_max"], frozenset(group["interface_types"]), group["peak_gbps"])
        for index in range(group["first"], group["last"] + 1)
    ]


def _price(row: Row) -> Price:
    regions = tuple(row["regions"]) if row["regions"] is not None else None
    return Price(**{**{k: v for k, v in row.items() if k != "type"}, "regions": regions})


def _quotas(row: Row) -> list[Quota]:
    return [
        Quota(row[kind], row[f"{kind}_name"], row["source"], row["as_of"], row["note"])
        for kind in ("on_demand", "spot")
        if row[kind]
    ]


def _region(row: Row) -> Region:
    return Region(row["name"], tuple(row["zone_ids"]), row["source"], row["as_of"])


def _ultraserver(row: Row, chips: Mapping[str, Chip]) -> UltraServer:
    chip = chips[row["chip"]] if row["chip"] else None
    files, source = row["sysfs"], row["sysfs_source"]
    known = {name: value for name, value in row.items() if name != "sysfs_source"}
    return UltraServer(
        **{
            **known,
            "chip": chip,
            "partition_sizes": tuple(row["partition_sizes"]),
            "sysfs": UltraServerFiles(**files, source=source) if files else None,
            "modes": {int(nodes): tuple(modes) for nodes, modes in row["modes"].items()},
        }
    )
