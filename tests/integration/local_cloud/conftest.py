"""One local cloud for all tests of this directory; each test has an account of its own in it."""

from __future__ import annotations

import itertools
import json
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import botocore.loaders
import botocore.session
import pytest

from scripts.local_cloud import process
from scripts.local_cloud.accounts import access_key
from tests.integration.local_cloud.batch_world import BatchWorld

REGION = "us-west-2"
# Reading AWS's models is most of the cost of a client; they are the same for every account.
_loader = botocore.loaders.create_loader()
_accounts = itertools.count(200000000001)


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[process.LocalCloud]:
    state_dir = tmp_path_factory.mktemp("local-cloud")
    yield process.start(state_dir)
    process.stop(state_dir)


@pytest.fixture
def account() -> str:
    return str(next(_accounts))


@pytest.fixture
def session(cloud: process.LocalCloud, account: str) -> boto3.Session:
    return session_for(cloud, account)


def session_for(cloud: process.LocalCloud, account: str, region: str = REGION) -> boto3.Session:
    core = botocore.session.get_session()
    core.register_component("data_loader", _loader)
    session = boto3.Session(
        botocore_session=core,
        aws_access_key_id=access_key(account),
        aws_secret_access_key="local",
        region_name=region,
    )
    make = session.client
    session.client = lambda service, **options: make(service, endpoint_url=cloud.endpoint_url, **options)  # type: ignore[method-assign]
    return session


@pytest.fixture
def admin(cloud: process.LocalCloud) -> Iterator[Callable[..., Any]]:
    """`admin("POST", "faults", {…})`; whatever a test planted is cleared after it."""

    def call(method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"{cloud.endpoint_url}/neuronkit/{path}", data=data, method=method)
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)

    yield call
    call("DELETE", "faults")
    call("POST", "settings", {"settle_seconds": 5, "time_scale": 1})


@pytest.fixture(scope="module")
def world(cloud: process.LocalCloud) -> BatchWorld:
    """One for a module: a test that changes what others use makes an environment or a queue of its own."""
    return BatchWorld(session_for(cloud, str(next(_accounts))))
