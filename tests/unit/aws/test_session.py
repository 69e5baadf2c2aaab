"""Which account a command acts on, and that it refuses any other than the file's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore import exceptions as botocore_errors
from moto import mock_aws

from scripts.aws import session, sts
from scripts.aws.cloud import Cloud
from scripts.aws.session import open_cloud
from scripts.aws.translation import AwsError, CredentialsError
from scripts.console import Console
from scripts.local_cloud.process import LocalCloud
from stacks.domain.errors import InputError, WorldError
from tests.unit.aws.conftest import ACCOUNT, REGION


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        yield


def test_the_callers_account_is_the_files(keys: None) -> None:
    cloud = open_cloud(Console(), REGION, ACCOUNT)
    assert (cloud.account, cloud.region, cloud.is_local) == (ACCOUNT, REGION, False)


def test_another_account_is_refused_and_both_are_named(keys: None) -> None:
    with pytest.raises(WorldError) as caught:
        open_cloud(Console(), REGION, "210987654321")
    assert "210987654321" in caught.value.message
    assert ACCOUNT in caught.value.message
    assert "--profile" in caught.value.hint


def test_a_file_without_account_is_refused_with_what_to_write(keys: None) -> None:
    with pytest.raises(InputError) as caught:
        open_cloud(Console(), REGION, None)
    assert f'account: "{ACCOUNT}"' in caught.value.hint
    assert caught.value.exit_code == 2


def test_what_changes_nothing_takes_the_account_that_there_is(keys: None) -> None:
    assert open_cloud(Console(), REGION, None, account_required=False).account == ACCOUNT


def test_without_credentials_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY", raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(CredentialsError, match="no AWS credentials"):
        open_cloud(Console(), REGION, ACCOUNT)


def test_an_unknown_profile_is_wrong_input() -> None:
    with pytest.raises(InputError, match="no-such-profile"):
        open_cloud(Console(profile="no-such-profile"), REGION, ACCOUNT)


def test_an_expired_sso_login_says_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "config"
    config.write_text(
        "[profile work]\nsso_session = corp\nsso_account_id = 123456789012\nsso_role_name = dev\n"
        "[sso-session corp]\nsso_region = us-east-1\nsso_start_url = https://example.awsapps.com/start\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(CredentialsError) as caught:
        open_cloud(Console(profile="work"), REGION, ACCOUNT)
    assert "aws sso login --profile work" in caught.value.hint


class FakeCloud:
    """Stands for a region that refuses the token."""

    region = "eu-south-2"

    def __init__(self, *, accepted_elsewhere: bool) -> None:
        self._accepted = accepted_elsewhere

    def call(self, service: str, operation: str) -> dict[str, Any]:
        raise CredentialsError("no", code="InvalidClientTokenId", action="sts:GetCallerIdentity")

    @property
    def session(self) -> FakeCloud:
        return self

    def client(self, service: str, region_name: str) -> FakeCloud:
        assert region_name == "us-east-1"
        return self

    def get_caller_identity(self) -> None:
        if not self._accepted:
            raise botocore_errors.NoCredentialsError


def test_a_region_that_is_not_enabled_is_told_apart_from_wrong_keys() -> None:
    with pytest.raises(AwsError, match="region eu-south-2 is not enabled in this account") as caught:
        sts.caller(FakeCloud(accepted_elsewhere=True))  # type: ignore[arg-type]
    assert "enable-region --region-name eu-south-2" in caught.value.hint
    with pytest.raises(CredentialsError):
        sts.caller(FakeCloud(accepted_elsewhere=False))  # type: ignore[arg-type]


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    started: list[Path] = []

    def start(state_dir: Path) -> LocalCloud:
        started.append(state_dir)
        return LocalCloud("http://localhost:4000", 1, tmp_path, tmp_path / "log")

    monkeypatch.setattr(session.process, "start", start)
    return started


def open_local(account: str | None) -> Cloud:
    return open_cloud(Console(local=True, profile="never-looked-at"), REGION, account)


def test_local_starts_the_local_cloud_and_says_that_it_is_one(
    local: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    cloud = open_local(None)
    assert local == [session.process.default_state_dir()]
    assert capsys.readouterr().err == "local cloud: emulated on this machine, nothing is bought\n"
    assert (cloud.is_local, cloud.account, cloud.endpoint_url) == (True, ACCOUNT, "http://localhost:4000")


def test_local_takes_the_files_account(local: list[Path]) -> None:
    cloud = open_local("210987654321")
    assert cloud.account == "210987654321"
    assert "210987654321" in cloud.session.get_credentials().access_key


def test_local_ignores_the_users_profiles(local: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "does-not-exist")
    client = open_local(None).client("s3")
    assert client.meta.endpoint_url == "http://localhost:4000"
    assert client.meta.config.proxies == {}
    assert client.meta.config.s3 == {"addressing_style": "path"}
