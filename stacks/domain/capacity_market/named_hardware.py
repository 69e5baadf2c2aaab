"""Hardware that only the file and the user name: it counts in searches as what its shape says."""

from __future__ import annotations

from dataclasses import replace

from stacks.domain.capacity_market.wanted import Options
from stacks.domain.catalog import Catalog
from stacks.domain.environment import Environment
from stacks.domain.unlisted_types import with_named_types


def with_named_hardware(environment: Environment, catalog: Catalog, options: Options) -> Catalog:
    """The catalog with the file's own instance types, and with the shape's UltraServer under the name that the user gives."""
    catalog = with_named_types(environment, catalog)
    name = options.ultraserver_type
    if name is None or catalog.ultraserver(name) is not None:
        return catalog
    for cluster_name, cluster in environment.clusters.items():
        shaped = catalog.ultraserver_of_shape(cluster.shape)
        if shaped is not None and options.cluster in (None, cluster_name):
            named = replace(shaped, ultraserver_type=name, member_type=cluster.instance_type)
            return replace(catalog, ultraservers=(named, *catalog.ultraservers))
    return catalog
