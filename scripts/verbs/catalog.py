"""`neuronkit catalog`: what the bundled data knows of instance types and software, with sources and dates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import click

from scripts.console import Console
from stacks.domain import compatibility, software
from stacks.domain.catalog import Catalog, InstanceType, NetworkCard, Price, UltraServer, load_catalog
from stacks.domain.errors import InputError

UNKNOWN = "unknown"


@click.command()
@click.argument("instance_type", required=False, metavar="[TYPE]")
@click.option(
    "--software", "of_software", is_flag=True, help="SDKs, images, AMIs and the EFA installer instead."
)
def command(instance_type: str | None, of_software: bool) -> None:
    """Instance types, chips, images and their sources; with TYPE everything about one instance type."""
    console: Console = click.get_current_context().obj
    if of_software:
        console.result(software_data(), software_text())
    elif instance_type is None:
        console.result(catalog_data(load_catalog()), catalog_text(load_catalog()))
    else:
        found = find_type(load_catalog(), instance_type)
        console.result(type_data(found), type_text(found, load_catalog()))


def find_type(catalog: Catalog, name: str) -> InstanceType:
    """Raises InputError with what is known of the name, or with the nearest one that exists."""
    found = catalog.get(name.lower())
    if found is not None:
        return found
    seen = catalog.unverified.get(name.lower())
    if seen is not None:
        raise InputError(f"{name}: {seen.why}", hint=f"the name was seen in {seen.source} ({seen.as_of})")
    nearest = catalog.closest(name)
    raise InputError(
        f"no instance type {name} in the catalog",
        hint=f"the nearest one is {nearest}" if nearest else "`neuronkit catalog` lists them all",
    )


def catalog_data(catalog: Catalog) -> dict[str, Any]:
    return {
        "instance_types": [type_data(t)["instance_type"] for t in catalog.instance_types.values()],
        "ultraservers": plain(catalog.ultraservers),
        "chips": plain(list(catalog.chips.values())),
        "not_usable": plain(list(catalog.unverified.values())),
        "quotas": plain(list(catalog.quotas.values())),
        "regions": plain(catalog.region_rows),
        "service_prices": plain(catalog.service_prices),
    }


def type_data(instance_type: InstanceType) -> dict[str, Any]:
    """The row with what follows from it; a count that is not known is null."""
    derived = {
        "chips": instance_type.chips,
        "physical_cores": instance_type.physical_cores,
        "logical_cores": instance_type.logical_cores(),
        "device_memory_gib": instance_type.device_memory_gib,
    }
    return {"instance_type": {**plain(instance_type), **derived}}


def software_data() -> dict[str, Any]:
    return {
        "sdks": plain(software.sdks()),
        "images": plain(software.images()),
        "ecs_neuron_amis": [
            {**plain(ami), "ssm_parameter": ami.ssm_parameter} for ami in software.ecs_neuron_amis()
        ],
        "efa_installer": plain(software.efa_installer()),
        "runtime_variables": plain(software.runtime_variables()),
        "stacks": plain(compatibility.software_stacks()),
        "hosts": plain(compatibility.hosts()),
        "image_on_driver": [
            {"image": p.image.uri, "driver": p.driver, "starts": p.verdict.accepted, "why": p.verdict.why}
            for p in compatibility.pairs()
        ],
        "tensor_degrees": plain(compatibility.tensor_degrees()),
        "precisions": plain(compatibility.precisions()),
    }


def catalog_text(catalog: Catalog) -> str:
    head = (
        "type",
        "vCPU",
        "GiB",
        "accelerators",
        "cores phys/logical",
        "device GiB",
        "EFA",
        "on-demand $/h",
        "offered in",
    )
    rows = [_type_row(t) for t in catalog.instance_types.values()]
    ultraservers = [_ultraserver_row(u) for u in catalog.ultraservers]
    return "\n\n".join(
        (
            table(head, rows),
            table(("UltraServer", "accelerators", "members", "vCPU", "GiB", "network Gbps"), ultraservers),
            "Existence, offers and prices are three facts of different dates; `neuronkit catalog TYPE` says which,"
            " and from where.\nLogical cores are at the chip's default size (LNC).",
        )
    )


def type_text(instance_type: InstanceType, catalog: Catalog) -> str:
    t = instance_type
    blocks = [
        table((t.name, ""), _facts(t, catalog)),
        table(("region", "zone ids that offer it"), [(r, ", ".join(z)) for r, z in t.zone_ids.items()]),
        table(("price", "$/h", "region", "as of", "source"), [_price_row(p) for p in t.prices]),
        *(f"warning: {warning}" for warning in t.warnings),
        *(f"note: {note}" for note in t.notes),
        "Sources, as of " + t.as_of + ":\n" + "\n".join(f"  {source}" for source in t.sources),
    ]
    return "\n\n".join(blocks)


def software_text() -> str:
    sdks = [(s.version, s.date, s.driver, s.runtime, s.state) for s in software.sdks()]
    images = [(i.framework, i.purpose, i.sdk, i.runtime, i.state, i.uri) for i in software.images()]
    installer = software.efa_installer()
    return "\n\n".join(
        (
            table(("stack", "SDK", "families", "lifecycle", "as of"), _stack_rows()),
            table(("host", "scheduler", "versions", "driver", "lifecycle", "as of"), _host_rows()),
            table(("SDK", "released", "driver", "runtime", "state"), sdks),
            table(("framework", "for", "SDK", "runtime", "state", "image"), images),
            table(("driver*", "dates of the ECS Neuron AMI"), _amis_by_driver()),
            "* derived from the AMI's date and the SDKs' release dates, not read from the AMI\n"
            f"SSM parameter: {software.ECS_NEURON_AMI_PARAMETER.format(date='DATE')}",
            table(("image on driver", *_drivers()), _pair_rows()),
            "?: no source says whether it starts, and `check` lists it as not checked",
            f"EFA installer {installer.version}: {installer.url}\n  sha256 {installer.sha256}",
        )
    )


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns as wide as their widest cell; an empty table says so, None is "unknown"."""
    cells = [[UNKNOWN if cell is None else str(cell) for cell in row] for row in rows]
    if not cells:
        return f"{head[0]}: {UNKNOWN}"
    widths = [max(len(row[column]) for row in (list(head), *cells)) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (list(head), *cells)
    )


def plain(value: Any) -> Any:
    """Dataclasses, sets and mappings as what JSON has; sets sorted, so that the document is stable."""
    if is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def _stack_rows() -> list[tuple[object, ...]]:
    return [
        (
            stack.name,
            f"{stack.sdk_min or ''} - {stack.sdk_max or ''}".strip(),
            " ".join(sorted(stack.families)),
            stack.lifecycle,
            stack.as_of,
        )
        for stack in compatibility.software_stacks()
    ]


def _host_rows() -> list[tuple[object, ...]]:
    return [(h.name, h.scheduler, h.versions, h.drivers, h.lifecycle, h.as_of) for h in compatibility.hosts()]


def _drivers() -> tuple[str, ...]:
    return tuple(dict.fromkeys(pair.driver for pair in compatibility.pairs()))


def _pair_rows() -> list[tuple[object, ...]]:
    words = {True: "starts", False: "refused", None: "?"}
    return [
        (image, *(words[pair.verdict.accepted] for pair in row))
        for image, row in groupby(compatibility.pairs(), key=lambda pair: _image_name(pair.image))
    ]


def _image_name(image: software.Image) -> str:
    return f"{image.framework} {image.purpose} {image.sdk}"


def _amis_by_driver() -> list[tuple[str, str]]:
    """Those of a known driver."""
    known = [(ami.driver, ami.date) for ami in software.ecs_neuron_amis() if ami.driver]
    return [
        (driver, " ".join(date for _, date in dates)) for driver, dates in groupby(known, key=itemgetter(0))
    ]


def _type_row(t: InstanceType) -> tuple[object, ...]:
    return (
        t.name,
        t.vcpus,
        f"{t.memory_gib:g}",
        _accelerators(t),
        f"{t.physical_cores}/{t.logical_cores()}" if t.is_neuron else "-",
        _gib(t.device_memory_gib),
        t.efa_interfaces_max or "-",
        _listed_price(t.prices),
        f"{len(t.regions)} regions" if len(t.regions) > 3 else ", ".join(t.regions),
    )


def _ultraserver_row(u: UltraServer) -> tuple[object, ...]:
    accelerators = f"{u.chips} x {u.chip.name}" if u.chip else f"{u.chips} GPUs"
    members = f"{u.members or UNKNOWN} x {u.member_type or 'type not published'}"
    return (u.name, accelerators, members, u.member_vcpus, u.member_memory_gib, u.member_network_gbps)


def _facts(t: InstanceType, catalog: Catalog) -> list[tuple[str, object]]:
    return [
        ("vCPU", t.vcpus),
        ("memory", f"{t.memory_gib:g} GiB"),
        ("accelerators", _accelerators(t)),
        ("device memory", f"{_gib(t.device_memory_gib)} GiB"),
        *_core_facts(t),
        ("EFA interfaces", t.efa_interfaces_max),
        ("network cards", _cards(t.network_cards)),
        ("instance storage", f"{t.instance_storage_gb} GB" if t.instance_storage_gb else "none"),
        ("can be bought", ", ".join(sorted(t.purchase_options))),
        ("quota, on-demand", _quota(t.quota_code_on_demand, catalog)),
        ("quota, spot", _quota(t.quota_code_spot, catalog)),
    ]


def _core_facts(t: InstanceType) -> list[tuple[str, object]]:
    if t.chip is None:
        return []
    logical = [
        (
            f"logical cores, LNC {size}{' (default)' if size == t.chip.default_logical_core_size else ''}",
            t.logical_cores(size),
        )
        for size in t.chip.logical_core_sizes
    ]
    return [("physical cores", t.physical_cores), *logical]


def _accelerators(t: InstanceType) -> str:
    device = t.chip or t.gpu
    return f"{t.accelerators} x {device.name if device else UNKNOWN}"


def _gib(gib: float) -> str:
    return f"{gib:.1f}".removesuffix(".0")


def _cards(cards: Sequence[NetworkCard]) -> str:
    """Runs of cards that are alike: `0: 4 slots, no EFA; 1-16: 4 slots`."""
    runs: list[list[NetworkCard]] = []
    for card in cards:
        if runs and (runs[-1][0].interfaces_max, runs[-1][0].takes_efa) == (
            card.interfaces_max,
            card.takes_efa,
        ):
            runs[-1].append(card)
        else:
            runs.append([card])
    return "; ".join(_card_run(run) for run in runs)


def _card_run(run: Sequence[NetworkCard]) -> str:
    indexes = f"{run[0].index}" if len(run) == 1 else f"{run[0].index}-{run[-1].index}"
    return f"{indexes}: {run[0].interfaces_max} slots{'' if run[0].takes_efa else ', no EFA'}"


def _quota(code: str | None, catalog: Catalog) -> str | None:
    return f"{code} ({catalog.quotas[code].name}, vCPU)" if code else None


def _listed_price(prices: Iterable[Price]) -> str | None:
    """The newest on-demand price of a primary source, with its first region."""
    listed = [p for p in prices if p.kind == "on-demand" and p.primary and p.regions]
    best = max(listed, key=lambda p: p.as_of, default=None)
    return f"{best.usd_per_hour:.2f} {best.regions[0]}" if best and best.regions else None


def _price_row(p: Price) -> tuple[object, ...]:
    regions = ", ".join(p.regions) if p.regions else "not stated"
    note = f"; {p.note}" if p.note else ""
    return (p.kind, f"{p.usd_per_hour:.4f}", regions, p.as_of, p.source + note)
