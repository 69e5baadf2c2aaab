"""Rows of the table in test_rules.py: UltraServers, types that no API names, announced chips, cells, brought networks."""

from __future__ import annotations

from typing import Any

TYPE, JOB = "clusters.train.instance_type", "jobs.smoke"
HYDERABAD = {"region": "ap-south-2", "network.zone_id": "aps2-az1"}
BOUGHT = {"capacity.hourly": {"kind": "capacity-block", "id": "cr-0123456789abcdef0"}}
BROUGHT = {
    "network.vpc": "vpc-0123456789abcdef0",
    "network.subnet_id": "subnet-0123456789abcdef0",
    "network.security_group_id": "sg-0123456789abcdef0",
}


def ultraservers(nodes: int, **more: Any) -> dict[str, Any]:
    return {**HYDERABAD, TYPE: "trn2u.48xlarge", "clusters.train.nodes": nodes, **more}


def trn3(shape: str = "trn3-gen1", name: str = "trn3.48xlarge", /, **more: Any) -> dict[str, Any]:
    return {TYPE: name, "clusters.train.shape": shape, "clusters.train.logical_core_size": 2, **more}


def trainium4(**more: Any) -> dict[str, Any]:
    return {TYPE: "trn4.48xlarge", "clusters.train.shape": "trainium4", **more}


def with_job_nodes(nodes: int) -> dict[str, Any]:
    return {f"{JOB}.nodes": nodes}


GROUP = f"{JOB}.ultraserver_nodes"
IN_TWOS, ALONE = {GROUP: 2}, {GROUP: 1}
GEN2 = trn3("trn3-gen2", **{"clusters.train.nodes": 36})

CASES: dict[str, tuple[list[tuple[dict[str, Any], str]], list[dict[str, Any]]]] = {
    "NK209": (
        [({**trn3(), "clusters.train.logical_core_size": None}, "clusters.train")],
        [{}, trn3(), {**trn3("trn3-gen2"), "clusters.train.logical_core_size": 1}, trainium4()],
    ),
    "NK225": (
        [
            ({**BROUGHT, "network.subnet_id": None}, "network.subnet_id"),
            ({**BROUGHT, "network.security_group_id": None}, "network.security_group_id"),
        ],
        [{}, BROUGHT],
    ),
    "NK226": (
        [
            ({"network.subnet_id": "subnet-0123456789abcdef0"}, "network.subnet_id"),
            ({**BROUGHT, "network.vpc": "new", "network.subnet_id": None}, "network.security_group_id"),
        ],
        [{}, BROUGHT],
    ),
    "NK227": ([({**BROUGHT, "network.cidr": "10.42.0.0/16"}, "network.cidr")], [{}, BROUGHT, {"network.cidr": "10.43.0.0/16"}]),
    "NK601": (
        [(trn3(), TYPE), (trn3("trn3-gen2", "trn3p.48xlarge"), TYPE), (trn3("trn3-gen1", "mine.large"), TYPE)],
        [{}, ultraservers(4), trainium4()],
    ),
    "NK602": (
        [
            ({"clusters.train.shape": "trn3-gen1"}, "clusters.train.shape"),
            (ultraservers(4, **{"clusters.train.shape": "trn3-gen2"}), "clusters.train.shape"),
            ({"clusters.train.shape": "trainium4"}, "clusters.train.shape"),
            ({TYPE: "p5.48xlarge", "clusters.train.shape": "trn3-gen1"}, "clusters.train.shape"),
        ],
        [{}, trn3(), trainium4()],
    ),
    "NK603": (
        [(trn3("trn3-gen1", "trn3p.48xlarge"), TYPE), (trn3("trn3-gen1", "trn3pds.48xlarge"), TYPE)],
        [{}, trn3("trn3-gen1", "trn3x.48xlarge")],
    ),
    "NK604": (
        [(ultraservers(n, **BOUGHT), "clusters.train.nodes") for n in (1, 2, 3, 6, 63)],
        [ultraservers(4, **BOUGHT), ultraservers(64, **BOUGHT), ultraservers(6), {**BOUGHT, "clusters.train.nodes": 6}],
    ),
    "NK605": (
        [(ultraservers(n), "clusters.train.nodes") for n in (1, 2, 3, 6)] + [(trn3("trn3-gen2", **{"clusters.train.nodes": 35}), "clusters.train.nodes")],
        [ultraservers(4), ultraservers(400), trn3("trn3-gen2", **{"clusters.train.nodes": 72}), {"clusters.train.nodes": 6}, ultraservers(6, **BOUGHT)],
    ),
    "NK606": (
        [
            (ultraservers(8, **with_job_nodes(2), **IN_TWOS), f"{JOB}.nodes"),
            (ultraservers(8, **with_job_nodes(6), **IN_TWOS), f"{JOB}.nodes"),
            (ultraservers(6, **IN_TWOS), f"{JOB}.cluster"),
        ],
        [
            ultraservers(8), ultraservers(8, **with_job_nodes(4)), ultraservers(8, **with_job_nodes(4), **IN_TWOS),
            ultraservers(8, **with_job_nodes(3), **ALONE), ultraservers(8, **with_job_nodes(3), **IN_TWOS),
            {"clusters.train.nodes": 8, **with_job_nodes(6)},
        ],
    ),
    "NK608": ([(trainium4(), "clusters.train.shape")], [{}, trn3()]),
    "NK609": ([(trainium4(), f"{JOB}.cluster")], [{}, trn3()]),
    "NK610": (
        [({"clusters.train.assumed_chips_per_node": 16}, "clusters.train.assumed_chips_per_node"),
         (trn3(**{"clusters.train.assumed_chips_per_node": 16}), "clusters.train.assumed_chips_per_node")],
        [{}, trainium4(**{"clusters.train.assumed_chips_per_node": 16})],
    ),
    "NK611": ([({"clusters.train.cells": 2}, "clusters.train.cells")], [{}, {"clusters.train.cells": 1}]),
    "NK612": (
        [(ultraservers(8, **{GROUP: n}), GROUP) for n in (3, 5, 8, 36)] + [(GEN2 | {GROUP: 1}, GROUP), (GEN2 | {GROUP: 12}, GROUP)],
        [{}, ultraservers(8), *(ultraservers(8, **{GROUP: n}) for n in (1, 2, 4)), *(GEN2 | {GROUP: n} for n in (2, 4, 36))],
    ),
    "NK613": (
        [(ultraservers(8, **with_job_nodes(n)), f"{JOB}.nodes") for n in (1, 2, 3, 6)]
        + [(ultraservers(n), f"{JOB}.cluster") for n in (1, 3, 6)]
        + [(ultraservers(8, **with_job_nodes(3), **IN_TWOS), f"{JOB}.nodes"), (GEN2 | {"clusters.train.nodes": 35}, f"{JOB}.cluster")],
        [
            ultraservers(4), ultraservers(8, **with_job_nodes(4)), ultraservers(6, **IN_TWOS), ultraservers(8, **with_job_nodes(2), **IN_TWOS),
            ultraservers(1, **ALONE), ultraservers(7, **ALONE), GEN2, {"clusters.train.nodes": 3}, ultraservers(8, **{GROUP: 3}),
        ],
    ),
    "NK614": ([({GROUP: n}, GROUP) for n in (1, 4)], [{}, ultraservers(4, **{GROUP: 4}), {TYPE: "no.type", GROUP: 4}]),
    "NK615": (
        [(GEN2, f"{JOB}.cluster"), (GEN2 | {GROUP: 4}, f"{JOB}.cluster")],
        [{}, ultraservers(4), ultraservers(4, **IN_TWOS), trn3(), trn3(**IN_TWOS)],
    ),
}  # fmt: skip
