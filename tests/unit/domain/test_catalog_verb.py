"""`neuronkit catalog`: tables for people, one document for programs, and a name for what is not there."""

import json
import re

import pytest

from scripts.cli import run
from scripts.verbs.catalog import find_type, plain, table, type_text
from stacks.domain.catalog import load_catalog
from stacks.domain.errors import InputError


def test_the_list_says_unknown_where_no_price_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["catalog"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    assert "21.50 us-east-1" in lines["trn1.32xlarge"]
    assert "unknown" in lines["trn2.48xlarge"]
    assert "128/64" in lines["trn2.48xlarge"]


def test_the_list_as_json_holds_every_type_with_unknown_as_null(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["catalog", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    by_name = {row["name"]: row for row in document["instance_types"]}
    assert set(by_name) == set(load_catalog().instance_types)
    assert (by_name["trn2.48xlarge"]["chips"], by_name["trn2.48xlarge"]["logical_cores"]) == (16, 64)
    assert by_name["p6-b300.48xlarge"]["quota_code_spot"] is None


def test_one_type_shows_prices_with_their_sources_and_the_warning(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["catalog", "trn2.48xlarge"]) == 0
    text = capsys.readouterr().out
    assert "logical cores, LNC 2 (default)  64" in text
    assert "not primary" in text
    assert "warning: DescribeInstanceTypes reports" in text
    assert "use2-az3" in text


def test_a_card_without_efa_is_said() -> None:
    catalog = load_catalog()
    assert "0: 4 slots, no EFA; 1-16: 4 slots" in type_text(
        catalog.instance_types["p6-b300.48xlarge"], catalog
    )


def test_a_type_without_prices_says_unknown() -> None:
    catalog = load_catalog()
    assert "price: unknown" in type_text(catalog.instance_types["trn2u.48xlarge"], catalog)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("inf2.4xlarge", "the nearest one is inf2.8xlarge"),
        ("trn3.48xlarge", "no API definition names a Trn3 type"),
        ("banana", "`neuronkit catalog` lists them all"),
    ],
)
def test_an_unknown_type_ends_with_2_and_a_way_on(
    name: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["catalog", name]) == 2
    output = capsys.readouterr()
    assert words in output.err
    assert output.out == ""


def test_an_unknown_type_as_json_is_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--json", "catalog", "inf2.4xlarge"]) == 2
    assert json.loads(capsys.readouterr().out)["hint"] == "the nearest one is inf2.8xlarge"


def test_case_does_not_matter() -> None:
    assert find_type(load_catalog(), "TRN1.32xlarge").name == "trn1.32xlarge"
    with pytest.raises(InputError):
        find_type(load_catalog(), "trn1")


def test_software_lists_images_amis_and_the_installer(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["catalog", "--software"]) == 0
    text = capsys.readouterr().out
    assert "sdk2.32.0-ubuntu24.04" in text
    assert "2.28     20260525" in text
    assert "derived from the AMI's date" in text
    assert run(["catalog", "--software", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document) == {
        "sdks", "images", "ecs_neuron_amis", "efa_installer", "runtime_variables", "stacks", "hosts", "image_on_driver",
        "tensor_degrees", "precisions",
    }  # fmt: skip
    assert document["ecs_neuron_amis"][-1]["ssm_parameter"].startswith("/aws/service/ecs/optimized-ami/")


def test_software_shows_the_matrix(capsys: pytest.CaptureFixture[str]) -> None:
    run(["catalog", "--software"])
    text = capsys.readouterr().out
    assert re.search(
        r"torch-neuronx training 2\.30\.0 +refused +refused +refused +\? +starts +refused +refused", text
    )
    assert re.search(r"NxD Training .* maintenance", text)
    assert re.search(r"TorchNeuron native .* beta", text)
    run(["catalog", "--software", "--json"])
    pairs = json.loads(capsys.readouterr().out)["image_on_driver"]
    assert {pair["starts"] for pair in pairs} == {True, False, None}
    assert all(pair["why"] for pair in pairs)


def test_a_table_is_as_wide_as_its_cells_and_empty_is_unknown() -> None:
    assert table(("a", "b"), [("long", None), ("x", 1)]) == "a     b\nlong  unknown\nx     1"
    assert table(("price", "of"), []) == "price: unknown"


def test_plain_is_stable() -> None:
    assert plain({"a": frozenset({"z", "b"}), "c": (1, None)}) == {"a": ["b", "z"], "c": [1, None]}
