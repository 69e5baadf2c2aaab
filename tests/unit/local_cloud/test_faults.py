from __future__ import annotations

import threading
import time

import pytest

from scripts.local_cloud.faults import Faults


def test_a_fault_on_a_call_counts_down() -> None:
    faults = Faults()
    faults.plant({"service": "ec2", "action": "CreateVpc", "error_code": "X", "times": 2})
    assert faults.take_call("ec2", "DescribeVpcs") is None
    assert faults.take_call("s3", "CreateVpc") is None
    assert [faults.take_call("ec2", "createvpc") is not None for _ in range(3)] == [True, True, False]
    assert not faults.concerns_service("ec2")


def test_a_fault_without_times_strikes_until_it_is_cleared() -> None:
    faults = Faults()
    planted = faults.plant({"service": "ec2", "error_code": "X", "times": None})
    assert all(faults.take_call("ec2", "Any") for _ in range(5))
    assert faults.clear(planted.id) == 1
    assert faults.take_call("ec2", "Any") is None


def test_a_resource_fault_strikes_creates_unless_it_says_otherwise() -> None:
    faults = Faults()
    faults.plant({"resource_type": "AWS::EC2::VPC"})
    faults.plant({"logical_id": "Nat", "action": "delete"})
    assert faults.take_resource("AWS::EC2::VPC", "V", "delete") is None
    assert faults.take_resource("AWS::EC2::NatGateway", "Nat", "create") is None
    assert faults.take_resource("AWS::EC2::VPC", "V", "create") is not None
    assert faults.take_resource("AWS::EC2::NatGateway", "Nat", "delete") is not None


def test_a_hang_ends_when_it_is_cleared() -> None:
    faults = Faults()
    fault = faults.plant({"service": "ec2", "hang": True})
    waiting = threading.Thread(target=fault.wait)
    waiting.start()
    time.sleep(0.05)
    assert waiting.is_alive()
    faults.clear()
    waiting.join(2)
    assert not waiting.is_alive()


@pytest.mark.parametrize(
    "wrong", [{}, {"action": "create"}, {"service": "ec2", "colour": 1}, {"service": "ec2", "id": 3}]
)
def test_nonsense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="a fault"):
        Faults().plant(wrong)


def test_a_hang_strikes_as_often_as_it_says_and_can_still_be_cleared() -> None:
    faults = Faults()
    fault = faults.plant({"service": "ec2", "hang": True})
    assert faults.take_call("ec2", "Any") is fault
    assert faults.take_call("ec2", "Any") is None
    assert faults.clear(fault.id) == 1
