"""An account in moto, in this process, and botocore's Stubber for what moto does not know."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from scripts.aws.cloud import Cloud

REGION = "us-east-2"
ACCOUNT = "123456789012"


def cloud_in(region: str = REGION, account: str | None = ACCOUNT) -> Cloud:
    session = boto3.Session(aws_access_key_id="testing", aws_secret_access_key="testing", region_name=region)
    return Cloud(region, account, is_local=False, session=session)


@pytest.fixture(autouse=True)
def no_aws_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    # moto would read thousands of images for every test that touches EC2.
    monkeypatch.setenv("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere/config")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere/credentials")


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    """Answered by moto."""
    with mock_aws():
        yield cloud_in()


@pytest.fixture
def stubbed() -> Iterator[tuple[Cloud, Callable[[str], Stubber]]]:
    """A cloud whose services answer what the test has queued, and nothing else; all of it must be used."""
    cloud = cloud_in()
    stubbers: dict[str, Stubber] = {}

    def stub(service: str, attempts: int | None = None) -> Stubber:
        if service not in stubbers:
            client = cloud.client(service) if attempts is None else cloud.client(service, attempts=attempts)
            stubbers[service] = Stubber(client)
            stubbers[service].activate()
        return stubbers[service]

    yield cloud, stub
    for stubber in stubbers.values():
        stubber.assert_no_pending_responses()
