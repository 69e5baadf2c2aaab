"""The catalog against the captured API answers, its own arithmetic, and what it must not claim."""

import json
import math
import re
from typing import Any

import pytest
from botocore.session import Session

from scripts.record_catalog import read_instance_types
from stacks.domain.catalog import Catalog, InstanceType, Price, known_regions, load_catalog, region_of_zone_id
from stacks.domain.catalog.loading import DATA
from stacks.domain.catalog.prices import best_price

CATALOG = load_catalog()
TYPES = list(CATALOG.instance_types.values())
NEURON_TYPES = [t for t in TYPES if t.is_neuron]
API = {name: row for name, row in read_instance_types().items() if name in CATALOG.instance_types}
EVERY_TYPE = pytest.mark.parametrize("t", TYPES, ids=lambda t: t.name)
EVERY_NEURON_TYPE = pytest.mark.parametrize("t", NEURON_TYPES, ids=lambda t: t.name)


def instance_type(name: str) -> InstanceType:
    return CATALOG.instance_types[name]


def data_rows() -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{path.name}:{table}", row)
        for path in sorted(DATA.glob("*.json"))
        for table, rows in json.loads(path.read_text(encoding="utf-8")).items()
        for row in rows
    ]


class TestEveryRow:
    def test_has_a_source_and_a_date(self) -> None:
        bare = [
            (where, row)
            for where, row in data_rows()
            if not row.get("source")
            or not re.fullmatch(r"20\d\d(-[01]\d(-[0-3]\d)?)?", row.get("as_of") or "")
        ]
        assert bare == []


class TestAgainstTheCapturedApi:
    @EVERY_TYPE
    def test_vcpus_memory_and_storage(self, t: InstanceType) -> None:
        api = API[t.name]
        assert t.vcpus == api["VCpuInfo"]["DefaultVCpus"]
        assert t.memory_gib * 1024 == api["MemoryInfo"]["SizeInMiB"]
        assert t.instance_storage_gb == api.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0)
        assert t.purchase_options == set(api["SupportedUsageClasses"])

    @EVERY_TYPE
    def test_network_cards(self, t: InstanceType) -> None:
        network = API[t.name]["NetworkInfo"]
        assert t.efa_interfaces_max == network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0)
        assert [(c.index, c.interfaces_max, c.interface_types, c.peak_gbps) for c in t.network_cards] == [
            (
                card["NetworkCardIndex"],
                card["MaximumNetworkInterfaces"],
                frozenset(card["InterfaceTypes"]),
                card["PeakBandwidthInGbps"],
            )
            for card in network["NetworkCards"]
        ]

    @EVERY_NEURON_TYPE
    def test_chips_and_cores_where_the_api_has_them(self, t: InstanceType) -> None:
        devices = API[t.name].get("NeuronInfo", {}).get("NeuronDevices", [])
        if not devices:
            assert t.name == "trn2u.48xlarge"
            assert any("NeuronInfo" in warning for warning in t.warnings)
            return
        assert t.chips == devices[0]["Count"]
        assert t.physical_cores == devices[0]["Count"] * devices[0]["CoreInfo"]["Count"]

    @pytest.mark.parametrize("t", [t for t in TYPES if not t.is_neuron], ids=lambda t: t.name)
    def test_gpus(self, t: InstanceType) -> None:
        gpu = API[t.name]["GpuInfo"]["Gpus"][0]
        assert t.accelerators == gpu["Count"]
        assert t.device_memory_gib == API[t.name]["GpuInfo"]["TotalGpuMemoryInMiB"] / 1024
        assert (t.chips, t.physical_cores, t.logical_cores()) == (0, 0, None)

    @pytest.mark.parametrize("name", ["trn2.3xlarge", "trn2.48xlarge"])
    def test_trainium2_memory_is_not_what_the_api_says(self, name: str) -> None:
        """The API reports 512 GiB a device; the hardware pages say 96. A model sized from the API would not fit."""
        t = instance_type(name)
        reported_gib = API[name]["NeuronInfo"]["NeuronDevices"][0]["MemoryInfo"]["SizeInMiB"] / 1024
        assert reported_gib == 512
        assert t.device_memory_gib == t.chips * 96
        assert any("96 GiB" in warning for warning in t.warnings)

    @pytest.mark.parametrize(
        "t", [t for t in NEURON_TYPES if t.family not in ("trn2", "trn2u")], ids=lambda t: t.name
    )
    def test_memory_of_the_other_chips_is_what_the_api_says(self, t: InstanceType) -> None:
        device = API[t.name]["NeuronInfo"]["NeuronDevices"][0]
        assert t.device_memory_gib == t.chips * device["MemoryInfo"]["SizeInMiB"] / 1024


class TestUnits:
    @pytest.mark.parametrize(
        ("name", "chips", "physical", "default", "lnc1", "lnc2", "memory_gib"),
        [
            ("inf1.xlarge", 1, 4, 4, 4, None, 8),
            ("inf2.48xlarge", 12, 24, 24, 24, None, 384),
            ("trn1.2xlarge", 1, 2, 2, 2, None, 32),
            ("trn1.32xlarge", 16, 32, 32, 32, None, 512),
            ("trn2.3xlarge", 1, 8, 4, 8, 4, 96),
            ("trn2.48xlarge", 16, 128, 64, 128, 64, 1536),
            ("trn2u.48xlarge", 16, 128, 64, 128, 64, 1536),
        ],
    )
    def test_chips_physical_and_logical_cores_are_three_counts(
        self,
        name: str,
        chips: int,
        physical: int,
        default: int,
        lnc1: int,
        lnc2: int | None,
        memory_gib: float,
    ) -> None:
        t = instance_type(name)
        assert (t.chips, t.physical_cores, t.device_memory_gib) == (chips, physical, memory_gib)
        assert (t.logical_cores(), t.logical_cores(1), t.logical_cores(2)) == (default, lnc1, lnc2)

    def test_a_default_that_nothing_states_is_unknown(self) -> None:
        trainium3 = CATALOG.chips["trainium3"]
        assert trainium3.default_logical_core_size is None
        assert trainium3.logical_core_sizes == (1, 2)

    def test_an_announced_chip_is_in_no_instance_type(self) -> None:
        assert CATALOG.chips["trainium4"].announced_only
        assert all(t.chip is None or not t.chip.announced_only for t in TYPES)

    @pytest.mark.parametrize("u", [u for u in CATALOG.ultraservers if u.chip], ids=lambda u: u.name)
    def test_an_ultraserver_is_the_sum_of_its_members(self, u: Any) -> None:
        assert u.chips % u.members == 0
        assert u.device_memory_gib == u.chips * u.chip.memory_gib
        assert math.isclose(u.bf16_tflops, u.chips * u.chip.bf16_tflops, rel_tol=0.001)
        assert math.isclose(u.fp8_tflops, u.chips * u.chip.fp8_tflops, rel_tol=0.001)
        if u.member_type:
            member = instance_type(u.member_type)
            assert (u.members * member.chips, member.vcpus) == (u.chips, u.member_vcpus)


class TestPrices:
    @pytest.mark.parametrize("name", ["trn2.3xlarge", "trn2.48xlarge", "trn2u.48xlarge"])
    def test_trn2_has_no_on_demand_price_anywhere(self, name: str) -> None:
        assert [instance_type(name).price("on-demand", region) for region in known_regions()] == [None] * len(
            known_regions()
        )

    def test_no_price_is_zero(self) -> None:
        assert all(price.usd_per_hour > 0 for t in TYPES for price in t.prices)
        assert all(price.usd > 0 for price in CATALOG.service_prices)

    def test_a_price_is_of_its_region_only(self) -> None:
        trn1 = instance_type("trn1.32xlarge")
        price = trn1.price("on-demand", "us-west-2")
        assert price is not None
        assert (price.usd_per_hour, price.primary) == (21.5, True)
        assert trn1.price("on-demand", "ap-south-1") is None

    def test_existence_does_not_depend_on_a_price(self) -> None:
        assert instance_type("trn2u.48xlarge").prices == ()
        assert instance_type("trn2u.48xlarge").regions == ("ap-south-2",)

    def test_the_stated_region_then_a_primary_source_then_the_newest_date_decide(self) -> None:
        def price(usd: float, regions: tuple[str, ...] | None, primary: bool, as_of: str) -> Price:
            return Price("spot", usd, regions, as_of, "somewhere", primary)

        anywhere = price(1, None, True, "2026-10-03")
        hearsay = price(2, ("us-east-2",), False, "2026-10-03")
        older = price(3, ("us-east-2",), True, "2026-01")
        newer = price(4, ("us-east-2", "us-east-1"), True, "2026-07-20")
        elsewhere = price(5, ("us-west-2",), True, "2026-10-03")
        assert best_price([anywhere, hearsay, older, newer, elsewhere], "spot", "us-east-2") == newer
        assert best_price([anywhere, hearsay, elsewhere], "spot", "us-east-2") == hearsay
        assert best_price([anywhere, elsewhere], "spot", "us-east-2") == anywhere
        assert best_price([elsewhere], "spot", "us-east-2") is None
        assert best_price([newer], "on-demand", "us-east-2") is None

    def test_service_prices_are_known_where_a_source_says_so(self) -> None:
        price = CATALOG.service_price("nat-gateway", "us-east-2")
        assert price is not None
        assert (price.usd, price.unit) == (0.045, "hour")
        assert CATALOG.service_price("nat-gateway", "ap-south-2") is None

    @EVERY_TYPE
    def test_quota_codes_have_names(self, t: InstanceType) -> None:
        assert t.quota_code_on_demand in CATALOG.quotas
        assert t.quota_code_spot is None or t.quota_code_spot in CATALOG.quotas

    def test_an_unknown_quota_code_is_unknown(self) -> None:
        assert instance_type("p6-b300.48xlarge").quota_code_spot is None


class TestLookup:
    @pytest.mark.parametrize(
        ("given", "nearest"),
        [
            ("inf2.4xlarge", "inf2.8xlarge"),
            ("trn1.24xlarge", "trn1.32xlarge"),
            ("TRN1.32XLARGE", "trn1.32xlarge"),
            ("trn2.24xlarge", "trn2.48xlarge"),
            ("tnr2.48xlarge", "trn2.48xlarge"),
            ("trn2.48xlrage", "trn2.48xlarge"),
            ("ml.trn1.32xlarge", "trn1.32xlarge"),
            ("trn1.0xlarge", "trn1.2xlarge"),
            ("banana", None),
            ("", None),
        ],
    )
    def test_the_nearest_type(self, given: str, nearest: str | None) -> None:
        assert CATALOG.closest(given) == nearest

    def test_get(self) -> None:
        assert CATALOG.get("trn1.32xlarge") is instance_type("trn1.32xlarge")
        assert CATALOG.get("trn3.48xlarge") is None

    def test_names_that_are_no_usable_type_are_kept_apart(self) -> None:
        assert {"trn3.48xlarge", "p6e-gb200.36xlarge"} <= set(CATALOG.unverified)
        assert not set(CATALOG.unverified) & set(CATALOG.instance_types)

    def test_it_is_loaded_once(self) -> None:
        assert load_catalog() is CATALOG
        assert isinstance(CATALOG, Catalog)


class TestRegions:
    @pytest.mark.parametrize(
        ("zone_id", "region"),
        [
            ("use2-az3", "us-east-2"),
            ("aps2-az1", "ap-south-2"),
            ("apse4-az3", "ap-southeast-4"),
            ("use1-az9", "us-east-1"),
            ("us-east-2a", None),
            ("use1-bos1-az1", None),
            ("zzz9-az1", None),
            ("", None),
        ],
    )
    def test_the_region_of_a_zone_id(self, zone_id: str, region: str | None) -> None:
        assert region_of_zone_id(zone_id) == region

    def test_every_listed_zone_id_leads_back_to_its_region(self) -> None:
        assert {z: region_of_zone_id(z) for zones in CATALOG.regions.values() for z in zones} == {
            z: region for region, zones in CATALOG.regions.items() for z in zones
        }

    def test_every_commercial_region_is_known(self) -> None:
        assert set(Session().get_available_regions("ec2")) <= set(known_regions())

    @EVERY_TYPE
    def test_offers_are_in_listed_zones(self, t: InstanceType) -> None:
        assert all(set(zones) <= set(CATALOG.regions[region]) for region, zones in t.zone_ids.items())
        assert t.zone_ids
