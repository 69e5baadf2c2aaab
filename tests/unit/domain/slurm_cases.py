"""Rows of the tables in test_rules.py and test_live_rules.py: Slurm on AWS PCS."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.unit.domain.ultraserver_cases import BOUGHT, HYDERABAD, TYPE, trn3

TRAIN, JOB = "clusters.train", "jobs.smoke"
SLURM = f"{TRAIN}.slurm"
IDS = [f"cr-0123456789abcdef{n}" for n in range(4)]
RESERVED = {"capacity.hourly": {"kind": "reservation", "id": IDS[0]}}


def slurm(**settings: Any) -> dict[str, Any]:
    """The base file under Slurm; `settings` of its block."""
    block = {"shared_storage": {"kind": "efs"}, **settings}
    return {f"{TRAIN}.scheduler": "slurm", SLURM: {k: v for k, v in block.items() if v is not None}}


def lustre(capacity_gib: int | None) -> dict[str, Any]:
    return slurm(shared_storage={"kind": "lustre", "capacity_gib": capacity_gib})


def mounted(directory: str) -> dict[str, Any]:
    return slurm(shared_storage={"kind": "efs", "mount_point": directory})


def ultraservers(nodes: int, **more: Any) -> dict[str, Any]:
    return {**slurm(), **HYDERABAD, TYPE: "trn2u.48xlarge", f"{TRAIN}.nodes": nodes, **more}


def bought(*ids: str) -> dict[str, Any]:
    return {"capacity.hourly": {"kind": "capacity-block", "ids": list(ids)}}


def second(**more: Any) -> dict[str, Any]:
    return {"scheduler": "slurm", "instance_type": "trn1.32xlarge", "nodes": 4, "capacity": "hourly", "slurm": {"shared_storage": {"kind": "efs"}}, **more}  # fmt: skip


def spot(**more: Any) -> dict[str, Any]:
    return {
        **slurm(),
        "capacity.hourly.kind": "spot",
        **{f"{JOB}.{key}": value for key, value in more.items()},
    }


Rows = dict[str, tuple[list[tuple[dict[str, Any], str]], list[dict[str, Any]]]]

CASES: Rows = {
    "NK620": ([({SLURM: {"idle_minutes": 5}}, SLURM), ({SLURM: {}}, SLURM)], [{}, slurm(), {SLURM: None}]),
    "NK621": (
        [({**slurm(), "name": "a" * 30, f"{TRAIN}": second(), f"clusters.{'b' * 10}": second()}, f"clusters.{'b' * 10}")],
        [slurm(), {**slurm(), "name": "a" * 30, f"clusters.{'b' * 9}": second()}, {"name": "a" * 30, f"clusters.{'b' * 10}": {**second(scheduler="batch"), "slurm": None}}],
    ),
    "NK622": (
        [({"clusters.ab": second()}, "clusters.ab"), ({f"clusters.{'b' * 26}": second()}, f"clusters.{'b' * 26}")],
        [slurm(), {"clusters.abc": second()}, {f"clusters.{'b' * 25}": second()}],
    ),
    "NK623": (
        [
            ({**slurm(), **trn3("trn3-gen1", "trn3ultra-preview.48xlarge")}, TYPE),
            ({**slurm(), **trn3("trn3-gen1", "trn3_x.48xlarge")}, TYPE),
        ],
        [slurm(), ultraservers(4), {**slurm(), **trn3()}, trn3("trn3-gen1", "trn3ultra-preview.48xlarge")],
    ),
    "NK624": (
        [(slurm(minimum_nodes=n), f"{SLURM}.minimum_nodes") for n in (1, 3, 5)]
        + [(ultraservers(8, **{SLURM: {"shared_storage": {"kind": "efs"}, "minimum_nodes": 4}}), f"{SLURM}.minimum_nodes")],
        [slurm(), slurm(minimum_nodes=0), slurm(minimum_nodes=4), {**slurm(), **BOUGHT}, {}],
    ),
    "NK625": (
        [
            ({**slurm(controller_size="SMALL"), f"{TRAIN}.nodes": 32}, f"{SLURM}.controller_size"),
            ({**slurm(controller_size="MEDIUM"), f"{TRAIN}.nodes": 512}, f"{SLURM}.controller_size"),
            ({**slurm(), f"{TRAIN}.nodes": 2048}, f"{TRAIN}.nodes"),
            ({**slurm(controller_size="LARGE"), f"{TRAIN}.nodes": 2048}, f"{TRAIN}.nodes"),
            ({**slurm(controller_size="SMALL"), f"{TRAIN}.nodes": 2048}, f"{TRAIN}.nodes"),
        ],
        [slurm(), {**slurm(controller_size="SMALL"), f"{TRAIN}.nodes": 31}, {**slurm(), f"{TRAIN}.nodes": 2047}, {f"{TRAIN}.nodes": 2048}],
    ),
    "NK626": ([(ultraservers(40), f"{TRAIN}.nodes")], [ultraservers(36), ultraservers(4), slurm(), {**slurm(), f"{TRAIN}.nodes": 100}]),
    "NK627": (
        [(slurm(version=v), f"{SLURM}.version") for v in ("22.05", "23.11", "25.12", "27.05")],
        [slurm(version=v) for v in ("24.05", "25.11", "26.05")],
    ),
    "NK628": ([(slurm(version=v), f"{SLURM}.version") for v in ("24.05", "24.11", "25.05")], [slurm(), slurm(version="26.05")]),
    "NK630": (
        [(slurm(gres=n), f"{SLURM}.gres") for n in (1, 8, 15, 17, 32)]
        + [({**slurm(gres=n), TYPE: "trn2.48xlarge"}, f"{SLURM}.gres") for n in (64, 128)],
        [slurm(), slurm(gres=0), slurm(gres=16), {**slurm(gres=16), TYPE: "trn2.48xlarge"}],
    ),
    "NK631": (
        [(slurm(version="25.05"), f"{SLURM}.version"), (slurm(version="24.11", gres=16), f"{SLURM}.version")],
        [slurm(), slurm(version="26.05"), slurm(version="25.05", gres=0)],
    ),
    "NK632": (
        [({**slurm(), **trn3()}, TYPE), ({**slurm(), TYPE: "inf2.24xlarge"}, TYPE)],
        [slurm(), {TYPE: "inf2.24xlarge"}, {**slurm(), TYPE: "trn2.48xlarge"}],
    ),
    "NK633": (
        [(slurm(shared_storage=None), SLURM), ({f"{TRAIN}.scheduler": "slurm"}, TRAIN)],
        [slurm(), lustre(1200), {}],
    ),
    "NK634": (
        [(lustre(n), f"{SLURM}.shared_storage.capacity_gib") for n in (None, 1201, 2399, 3600, 5000)]
        + [(slurm(shared_storage={"kind": "efs", "capacity_gib": 1200}), f"{SLURM}.shared_storage.capacity_gib")],
        [slurm(), lustre(1200), lustre(2400), lustre(9600)],
    ),
    "NK635": (
        [(mounted(d), f"{SLURM}.shared_storage.mount_point") for d in ("/opt", "/usr", "/tmp", "/var", "/usr/lib", "/dev/shm", "/etc/x", "/proc/1", "/root/x", "/opt/aws", "/var/lib/x")],
        [slurm(), *map(mounted, ("/fsx", "/var/shared", "/mnt", "/opt/shared", "/opt/aws2", "/shared/usr", "/tmp/shared", "/home"))],
    ),
    "NK636": (
        [({**slurm(), "region": "us-west-1", "network.zone_id": "usw1-az1"}, "region")],
        [slurm(), {"region": "us-west-1", "network.zone_id": "usw1-az1"}, {**slurm(), "region": "sa-east-1", "network.zone_id": "sae1-az1"}],
    ),
    "NK637": ([(slurm(runs_in=r), f"{SLURM}.runs_in") for r in ("pyxis", "apptainer")], [slurm(), slurm(runs_in="virtual-environment")]),
    "NK638": (
        [(slurm(runs_in="pyxis", virtual_environments={"jax": "/opt/jax"}), f"{SLURM}.virtual_environments")],
        [slurm(virtual_environments={"jax": "/opt/jax"}), slurm(runs_in="pyxis")],
    ),
    "NK639": (
        [({**slurm(), "software.ami": "ami-0123456789abcdef0"}, "software.ami")],
        [slurm(), slurm(ami="ami-0123456789abcdef0"), {"software.ami": "ami-0123456789abcdef0"}, {"clusters.other": second(), "software.ami": "ami-0123456789abcdef0"}],
    ),
    "NK640": (
        [(slurm(ami="ami-0123456789abcdef0", parent_ami="ami-0123456789abcdef1"), f"{SLURM}.parent_ami")],
        [slurm(), slurm(parent_ami="ami-0123456789abcdef1"), slurm(ami="ami-0123456789abcdef0")],
    ),
    "NK659": (
        [(slurm(ami="ami-0123456789abcdef0"), f"{SLURM}.ami")],
        [slurm(), {"software.ami": "ami-0123456789abcdef0"}],
    ),
    "NK641": (
        [({f"clusters.more-{n}": second() for n in range(6)}, "clusters"), ({**slurm(), f"{TRAIN}.cells": 6}, "clusters")],
        [{f"clusters.more-{n}": second() for n in range(5)}, {f"{TRAIN}.cells": 6}],
    ),
    "NK642": ([({**slurm(), **BOUGHT}, f"{TRAIN}.capacity")], [slurm(), BOUGHT, {**slurm(), **RESERVED}]),
    "NK643": ([({**slurm(), **RESERVED}, f"{TRAIN}.capacity")], [slurm(), RESERVED, {**slurm(), **BOUGHT}]),
    "NK644": (
        [
            (ultraservers(8, **{"capacity.hourly": {"kind": "capacity-block", "id": IDS[2], "ids": IDS[:2]}}), "capacity.hourly.ids"),
            (ultraservers(8, **{"capacity.hourly": {"kind": "on-demand", "ids": IDS[:2]}}), "capacity.hourly.ids"),
            ({**slurm(), **bought(*IDS[:2])}, "capacity.hourly.ids"),
            ({**HYDERABAD, TYPE: "trn2u.48xlarge", f"{TRAIN}.nodes": 8, **bought(*IDS[:2])}, "capacity.hourly.ids"),
            (ultraservers(8, **bought(IDS[0], IDS[0])), "capacity.hourly.ids"),
        ],
        [slurm(), ultraservers(8, **bought(*IDS[:2])), ultraservers(8), ultraservers(4, **BOUGHT)],
    ),
    "NK645": (
        [
            (ultraservers(8, **BOUGHT), "capacity.hourly.id"),
            (ultraservers(8, **bought(*IDS[:1])), "capacity.hourly.ids"),
            (ultraservers(8, **bought(*IDS[:3])), "capacity.hourly.ids"),
        ],
        [ultraservers(8, **bought(*IDS[:2])), ultraservers(4, **BOUGHT), ultraservers(4, **bought(IDS[0])), ultraservers(8), {**slurm(), **BOUGHT}],
    ),
    "NK646": (
        [(spot(), JOB), (spot(attempts=3), JOB), (spot(checkpoint_minutes=10), JOB)],
        [slurm(), spot(attempts=3, checkpoint_minutes=10), {"capacity.hourly.kind": "spot"}],
    ),
    "NK650": (
        [
            (slurm(cluster_settings={"TopologyPlugin": "topology/tree"}), f"{SLURM}.cluster_settings.TopologyPlugin"),
            (slurm(cluster_settings={"MaxTime": "60"}), f"{SLURM}.cluster_settings.MaxTime"),
            (slurm(cluster_settings={"minjobage": "60"}), f"{SLURM}.cluster_settings.minjobage"),
            (slurm(node_settings={"GresTypes": "neuron"}), f"{SLURM}.node_settings.GresTypes"),
            (slurm(queue_settings={"ResumeTimeout": "60"}), f"{SLURM}.queue_settings.ResumeTimeout"),
        ],
        [slurm(), slurm(cluster_settings={"MinJobAge": "600"}, node_settings={"Weight": "1"}, queue_settings={"MaxTime": "1-0"})],
    ),
    "NK651": (
        [
            (slurm(version="25.05", cluster_settings={"MetricsType": "x"}), f"{SLURM}.cluster_settings.MetricsType"),
            (slurm(version="24.11", node_settings={"Sockets": "2"}), f"{SLURM}.node_settings.Sockets"),
            (slurm(version="25.05", cluster_settings={"SelectTypeParameters": "CR_Socket"}), f"{SLURM}.cluster_settings.SelectTypeParameters"),
        ],
        [
            slurm(cluster_settings={"MetricsType": "x", "SelectTypeParameters": "CR_Socket_Memory"}, node_settings={"Sockets": "2"}),
            slurm(version="25.05", cluster_settings={"SelectTypeParameters": "CR_Core"}),
        ],
    ),
    "NK652": (
        [(slurm(node_settings={name: "x"}), f"{SLURM}.node_settings.{name}") for name in ("Gres", "Features")],
        [slurm(), slurm(node_settings={"Weight": "5"})],
    ),
    "NK653": (
        [(slurm(queue_settings={name: "normal"}), f"{SLURM}.queue_settings.{name}") for name in ("AllowQos", "DenyQos")],
        [slurm(), slurm(queue_settings={"PriorityTier": "2"})],
    ),
    "NK654": ([(slurm(node_settings={"RealMemory": "500"}), f"{SLURM}.node_settings.RealMemory")], [slurm(), slurm(node_settings={"MemSpecLimit": "500"})]),
    "NK655": (
        [(slurm(cluster_settings={"MinJobAge": v}), f"{SLURM}.cluster_settings.MinJobAge") for v in ("0", "4", "-1", "five", "٥٥")],
        [slurm(), slurm(cluster_settings={"MinJobAge": "5"}), slurm(cluster_settings={"MinJobAge": "300"})],
    ),
    "NK656": (
        [
            (slurm(queue_settings={"QOS": "high"}), f"{SLURM}.queue_settings.QOS"),
            (slurm(cluster_settings={"AccountingStorageEnforce": "qos"}), f"{SLURM}.cluster_settings.AccountingStorageEnforce"),
        ],
        [slurm(), slurm(accounting=True, queue_settings={"QOS": "high"})],
    ),
    "NK657": (
        [(slurm(queue_settings={"MaxTime": t}), f"{JOB}.time_limit_minutes") for t in ("29", "29:59", "0:29:59", "0-0", "0-0:29", "00:10")],
        [slurm(), *(slurm(queue_settings={"MaxTime": t}) for t in ("30", "30:00", "0:30:00", "1-0", "UNLIMITED", "0-0:30:00"))],
    ),
    "NK663": (
        [
            *((slurm(queue_settings={"MaxTime": t}), f"{SLURM}.queue_settings.MaxTime") for t in ("x", "1-", "1:2:3:4", "30 min", "٣٠", "9" * 5000, "-2")),
            (slurm(queue_settings={"DefaultTime": "half"}), f"{SLURM}.queue_settings.DefaultTime"),
        ],
        [slurm(), *(slurm(queue_settings={"MaxTime": t}) for t in ("30", "1-0", "UNLIMITED", "infinite", "-1")), slurm(cluster_settings={"Licenses": "x"})],
    ),
    "NK662": (
        [(slurm(login_instance_type=t), f"{SLURM}.login_instance_type") for t in ("", "large", "$(id)", "M7i.large", "m7g.large", "c7gn.xlarge", "t4g.small", "a1.large", "im4gn.large")],
        [slurm(), *(slurm(login_instance_type=t) for t in ("m7i.large", "c6a.large", "g4dn.xlarge", "m7i-flex.large", "u-6tb1.56xlarge", "trn1.2xlarge", "x8.2xlarge"))],
    ),
    "NK658": (
        [(slurm(cluster_settings={"Licenses": v}), f"{SLURM}.cluster_settings.Licenses") for v in ("", " ", "a\nb")],
        [slurm(), slurm(cluster_settings={"Licenses": "a:1"})],
    ),
}  # fmt: skip


def on(year: int, month: int, day: int) -> dict[str, Any]:
    return {"as_of": datetime(year, month, day, tzinfo=UTC)}


LiveCase = tuple[dict[str, Any], dict[str, Any]]
OLD = slurm(version="25.05", gres=0)

LIVE_CASES: dict[str, tuple[list[tuple[LiveCase, str]], list[LiveCase]]] = {
    "NK648": (
        [((OLD, on(2026, 11, 30)), f"{SLURM}.version"), ((OLD, on(2027, 2, 1)), f"{SLURM}.version")],
        [(OLD, on(2026, 11, 29)), (slurm(), on(2029, 1, 1)), ({}, {})],
    ),
    "NK649": (
        [
            ((OLD, on(2026, 11, 29)), f"{SLURM}.version"),
            ((OLD, on(2026, 9, 1)), f"{SLURM}.version"),
            (({**OLD, "lifetime_days": 200}, on(2026, 6, 1)), f"{SLURM}.version"),
        ],
        [(OLD, on(2026, 8, 31)), (OLD, on(2026, 11, 30)), (slurm(), on(2027, 5, 30)), ({}, {})],
    ),
}  # fmt: skip
