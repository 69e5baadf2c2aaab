"""EC2's word on an instance type: from moto's capture of the real answers, and answers that leave things out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from botocore.stub import Stubber

from scripts.aws.cloud import Cloud
from scripts.aws.ec2_types import find_type
from scripts.aws.translation import AwsError
from stacks.domain.live import LiveInstanceType

Stubbed = tuple[Cloud, Callable[[str], Stubber]]


def test_a_type_that_ec2_knows(cloud: Cloud) -> None:
    found = find_type(cloud, "trn2u.48xlarge")
    assert found == LiveInstanceType("trn2u.48xlarge", 192, 2048, 16, 16)


def test_a_type_that_ec2_does_not_know(cloud: Cloud) -> None:
    assert find_type(cloud, "trn3.48xlarge") is None


def test_what_an_answer_leaves_out_is_unknown(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("ec2").add_response(
        "describe_instance_types", {"InstanceTypes": [{"InstanceType": "trn3.48xlarge"}]}
    )
    assert find_type(cloud, "trn3.48xlarge") == LiveInstanceType("trn3.48xlarge", None, None, None, None)


def test_a_refusal_is_no_answer(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("ec2").add_client_error("describe_instance_types", "UnauthorizedOperation", "no")
    with pytest.raises(AwsError):
        find_type(cloud, "trn3.48xlarge")
