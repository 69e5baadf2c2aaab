"""Writes `stacks/domain/catalog/data/recorded.json` again from the API captures that the installed moto carries.

    python -m scripts.record_catalog --as-of 2026-10-01

It needs the `local` extra. Run it after an update of moto or after a new row in types.json, and read the diff. moto's data files have no
date of their own: take that of the newest dated thing beside them (the bundled ECS AMI).
The chip counts and memory of Neuron devices are not recorded: the API is wrong about them (types.json, chips.json).
"""

from __future__ import annotations

import argparse
import gzip
import importlib.metadata
import json
import re
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import moto
from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend

from stacks.domain.catalog.loading import DATA, read_data

TARGET = DATA / "recorded.json"
NEURON_AMI_NAME = r"al2023-ami-ecs-neuron-hvm-2023\.0\.(\d{8})-kernel-6\.1-x86_64"
COMMERCIAL_REGION_PREFIXES = ("af-", "ap-", "ca-", "eu-", "il-", "me-", "mx-", "sa-", "us-east-", "us-west-")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--as-of", required=True, help="date of the captures, YYYY-MM-DD")
    TARGET.write_text(recording(parser.parse_args().as_of), encoding="utf-8")


def recording(as_of: str) -> str:
    """The file's text: the same installed moto and date give the same bytes."""
    captured = read_instance_types()
    offered = offered_zone_ids()
    types = [recorded_type(captured[row["name"]], offered, as_of) for row in read_data("types.json")["types"]]
    return as_text(
        {
            "types": types,
            "regions": recorded_regions(offered, as_of),
            "ecs_neuron_amis": recorded_amis(ecs_neuron_ami_dates(), as_of),
        }
    )


def recorded_type(
    api: dict[str, Any], offered: dict[str, dict[str, list[str]]], as_of: str
) -> dict[str, Any]:
    """`api` is one answer of DescribeInstanceTypes."""
    network = api["NetworkInfo"]
    gpus = api.get("GpuInfo", {}).get("Gpus", [])
    return {
        "name": api["InstanceType"],
        "vcpus": api["VCpuInfo"]["DefaultVCpus"],
        "memory_mib": api["MemoryInfo"]["SizeInMiB"],
        "gpu_memory_mib": gpus[0]["MemoryInfo"]["SizeInMiB"] if gpus else None,
        "efa_interfaces_max": network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0),
        "network_cards": grouped_cards(network["NetworkCards"]),
        "instance_storage_gb": api.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0),
        "purchase_options": sorted(api["SupportedUsageClasses"]),
        "zone_ids": {
            region: zones
            for region, by_type in offered.items()
            if (zones := by_type.get(api["InstanceType"], []))
        },
        "source": f"{moto_name()} captures of EC2 DescribeInstanceTypes and DescribeInstanceTypeOfferings",
        "as_of": as_of,
    }


def grouped_cards(cards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each run of cards that are alike."""
    rows = []
    for (interfaces_max, types, peak_gbps), group in groupby(cards, key=_card_kind):
        indexes = [card["NetworkCardIndex"] for card in group]
        rows.append(
            {
                "first": indexes[0],
                "last": indexes[-1],
                "interfaces_max": interfaces_max,
                "interface_types": list(types),
                "peak_gbps": peak_gbps,
            }
        )
    return rows


def recorded_regions(offered: dict[str, dict[str, list[str]]], as_of: str) -> list[dict[str, Any]]:
    """moto's own list of zones, with what the captured offerings show beyond it; commercial regions only."""
    zones = {
        region: {zone.zone_id for zone in listed}
        | {z for found in offered.get(region, {}).values() for z in found}
        for region, listed in RegionsAndZonesBackend.zones.items()
        if region.startswith(COMMERCIAL_REGION_PREFIXES)
    }
    source = f"{moto_name()} zone list and captures of DescribeInstanceTypeOfferings"
    return [
        {"name": region, "zone_ids": sorted(zones[region]), "source": source, "as_of": as_of}
        for region in sorted(zones)
    ]


def recorded_amis(dates_by_region: dict[str, set[str]], as_of: str) -> list[dict[str, Any]]:
    """The dates that most regions have: one that a single region has is being rolled out, or was withdrawn."""
    counts = Counter(date for dates in dates_by_region.values() for date in dates)
    source = f"{moto_name()} capture of the SSM parameters of the ECS-optimized AMIs"
    return [
        {"date": date, "source": source, "as_of": as_of}
        for date in sorted(counts)
        if counts[date] > len(dates_by_region) / 2
    ]


def ecs_neuron_ami_dates() -> dict[str, set[str]]:
    """By region, of the AMIs on Amazon Linux 2023 (x86_64)."""
    folder = moto_folder() / "ssm" / "resources" / "ecs" / "optimized_amis"
    return {
        path.name.partition(".")[0]: _neuron_dates(_read_json(path))
        for path in sorted(folder.glob("*.json.gz"))
    }


def _neuron_dates(parameters: dict[str, Any]) -> set[str]:
    node: Any = parameters
    for part in ("aws", "service", "ecs", "optimized-ami", "amazon-linux-2023", "neuron"):
        node = node.get(part, {})
    return {match.group(1) for name in node if (match := re.fullmatch(NEURON_AMI_NAME, name))}


def offered_zone_ids() -> dict[str, dict[str, list[str]]]:
    """Zone ids by region and instance type."""
    offered: dict[str, dict[str, list[str]]] = {}
    folder = moto_folder() / "ec2" / "resources" / "instance_type_offerings" / "availability-zone-id"
    for path in sorted(folder.glob("*.json.gz")):
        by_type = offered.setdefault(path.name.partition(".")[0], {})
        for row in _read_json(path):
            by_type.setdefault(row["InstanceType"], []).append(row["Location"])
    return {
        region: {name: sorted(zones) for name, zones in by_type.items()}
        for region, by_type in offered.items()
    }


def read_instance_types() -> dict[str, Any]:
    """Answers of DescribeInstanceTypes by type."""
    types: dict[str, Any] = _read_json(moto_folder() / "ec2" / "resources" / "instance_types.json.gz")
    return types


def moto_folder() -> Path:
    return Path(moto.__file__).parent


def moto_name() -> str:
    return f"moto {importlib.metadata.version('moto')}"


def as_text(tables: dict[str, list[dict[str, Any]]]) -> str:
    """JSON with one row a line, so that a diff shows the rows that changed."""
    parts = [f"  {json.dumps(name)}: [\n{_lines(rows)}\n  ]" for name, rows in tables.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(rows: list[dict[str, Any]]) -> str:
    return ",\n".join("    " + json.dumps(row, ensure_ascii=False) for row in rows)


def _read_json(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


def _card_kind(card: dict[str, Any]) -> tuple[int, tuple[str, ...], float]:
    return card["MaximumNetworkInterfaces"], tuple(card["InterfaceTypes"]), card["PeakBandwidthInGbps"]


if __name__ == "__main__":
    main()
