"""The answers that tests replay are held against botocore's output shapes: names, types and listed words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest
from botocore.model import ServiceModel, Shape
from botocore.validate import ParamValidator

from stacks.domain.capacity_market.standing import INTERCONNECT_WORDS, STATE_WORDS
from stacks.domain.reservations import KNOWN_STATES
from tests.unit.aws.capacity_answers import NAMES, answer_of, operation_of


@pytest.fixture(scope="module")
def ec2_model() -> ServiceModel:
    return botocore.session.get_session().get_service_model("ec2")


def unlisted_words(value: Any, shape: Shape) -> Iterator[str]:
    if shape.type_name == "structure":
        for name, item in value.items():
            yield from unlisted_words(item, shape.members[name])
    elif shape.type_name == "list":
        for item in value:
            yield from unlisted_words(item, shape.member)
    elif getattr(shape, "enum", None) and value not in shape.enum:
        yield value


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_has_its_operations_shape(name: str, ec2_model: ServiceModel) -> None:
    shape = ec2_model.operation_model(operation_of(name)).output_shape
    report = ParamValidator().validate(answer_of(name), shape)
    assert not report.has_errors(), report.generate_report()


@pytest.mark.parametrize("name", NAMES)
def test_only_answers_that_say_so_hold_words_that_no_enumeration_lists(
    name: str, ec2_model: ServiceModel
) -> None:
    shape = ec2_model.operation_model(operation_of(name)).output_shape
    assert bool(list(unlisted_words(answer_of(name), shape))) == name.endswith("-unknown-words")


def test_the_validation_sees_a_wrong_name_and_a_wrong_type(ec2_model: ServiceModel) -> None:
    shape = ec2_model.operation_model("DescribeCapacityBlockOfferings").output_shape
    for wrong in (
        {"CapacityBlockOfferings": [{"Fee": "1"}]},
        {"CapacityBlockOfferings": [{"UpfrontFee": 1.5}]},
    ):
        assert ParamValidator().validate(wrong, shape).has_errors()


def test_our_states_are_botocores(ec2_model: ServiceModel) -> None:
    states = {
        *ec2_model.shape_for("CapacityReservationState").enum,
        *ec2_model.shape_for("CapacityBlockResourceState").enum,
    }
    assert states == KNOWN_STATES == set(STATE_WORDS)
    assert set(ec2_model.shape_for("CapacityBlockInterconnectStatus").enum) == set(INTERCONNECT_WORDS)
