"""Which world a command acts on: AWS with a profile, or the local cloud; and that it is the file's account."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

import boto3
import botocore.session
from botocore.exceptions import BotoCoreError

from scripts.aws import sts
from scripts.aws.cloud import Cloud
from scripts.aws.translation import translate
from scripts.console import Console
from scripts.local_cloud import process
from scripts.local_cloud.accounts import DEFAULT_ACCOUNT
from stacks.domain.errors import InputError, WorldError

LOCAL_CLOUD_LINE: Final = "local cloud: emulated on this machine, nothing is bought"


def open_cloud(console: Console, region: str, account: str | None, *, account_required: bool = True) -> Cloud:
    """`account` is the file's. Raises KitError when the credentials are of another account, or there are none."""
    if console.local:
        return _open_local(console, region, account or DEFAULT_ACCOUNT)
    cloud = _aws(console.profile, region)
    caller = sts.caller(cloud)
    if account is None and account_required:
        raise InputError(
            f"the file names no account; your credentials are of account {caller.account} ({caller.arn})",
            f'write `account: "{caller.account}"` into the file if that is the one you mean',
        )
    if account is not None and account != caller.account:
        raise WorldError(
            f"the file is for account {account}, but your credentials are of account {caller.account} ({caller.arn})",
            "choose the right --profile, or correct `account` in the file",
        )
    return Cloud(region, caller.account, is_local=False, session=cloud.session, profile=cloud.profile)


def _open_local(console: Console, region: str, account: str) -> Cloud:
    """Starts the local cloud if it does not run yet."""
    console.progress(LOCAL_CLOUD_LINE)
    local = process.start(process.default_state_dir())
    environment = local.environment(account)
    session = _isolated_session(environment)
    return Cloud(
        region=region,
        account=account,
        is_local=True,
        session=session,
        endpoint_url=local.endpoint_url,
        local_environment=tuple(sorted(environment.items())),
    )


def _aws(profile: str | None, region: str) -> Cloud:
    profile = profile or os.environ.get("AWS_PROFILE") or None
    try:
        session = boto3.Session(profile_name=profile, region_name=region)
    except BotoCoreError as error:
        raise translate(
            error, service="sts", operation="GetCallerIdentity", region=region, profile=profile
        ) from error
    return Cloud(region, None, is_local=False, session=session, profile=profile)


def _isolated_session(environment: Mapping[str, str]) -> boto3.Session:
    """Nothing of the user's own profiles can leak in: no profile, and configuration files that do not exist."""
    core = botocore.session.Session(
        session_vars={
            "profile": (None, None, None, None),
            "config_file": (None, None, environment["AWS_CONFIG_FILE"], None),
            "credentials_file": (None, None, environment["AWS_SHARED_CREDENTIALS_FILE"], None),
        }
    )
    return boto3.Session(
        aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
        botocore_session=core,
    )
