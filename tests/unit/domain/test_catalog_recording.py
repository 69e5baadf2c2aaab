"""The recorded half of the catalog is what the script makes of the installed moto's captures."""

import json

from scripts.record_catalog import TARGET, grouped_cards, recorded_amis, recording


def test_recording_again_changes_nothing() -> None:
    text = TARGET.read_text(encoding="utf-8")
    as_of = json.loads(text)["types"][0]["as_of"]
    assert recording(as_of) == text


def test_cards_that_are_alike_share_a_row() -> None:
    def card(index: int, types: list[str]) -> dict[str, object]:
        return {
            "NetworkCardIndex": index,
            "MaximumNetworkInterfaces": 4,
            "InterfaceTypes": types,
            "PeakBandwidthInGbps": 100.0,
        }

    plain, with_efa = ["interface"], ["interface", "efa", "efa-only"]
    rows = grouped_cards([card(0, plain), card(1, with_efa), card(2, with_efa)])
    assert [(row["first"], row["last"], row["interface_types"]) for row in rows] == [
        (0, 0, plain),
        (1, 2, with_efa),
    ]


def test_an_ami_that_few_regions_have_is_left_out() -> None:
    dates = {"us-east-1": {"20260901", "20260929"}, "us-east-2": {"20260901"}, "us-west-2": {"20260901"}}
    assert [row["date"] for row in recorded_amis(dates, "2026-10-01")] == ["20260901"]
