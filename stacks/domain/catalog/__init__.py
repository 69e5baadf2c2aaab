"""Hardware, regions, quotas and prices as data, with a source and a date on every row."""

from stacks.domain.catalog.contents import Catalog, Quota, Region
from stacks.domain.catalog.hardware import Chip, Gpu, InstanceType, NetworkCard, UltraServer, UnverifiedType
from stacks.domain.catalog.loading import known_regions, load_catalog, region_of_zone_id
from stacks.domain.catalog.prices import Price, ServicePrice

__all__ = [
    "Catalog",
    "Chip",
    "Gpu",
    "InstanceType",
    "NetworkCard",
    "Price",
    "Quota",
    "Region",
    "ServicePrice",
    "UltraServer",
    "UnverifiedType",
    "known_regions",
    "load_catalog",
    "region_of_zone_id",
]
