"""boto3 clients with which the local cloud calls its own API, as CloudFormation and ECS call AWS's.

Going through the API means that planted faults strike, that botocore refuses what the real API would refuse, and
that whatever a stack makes is exactly what a user's call would have made.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

import boto3
from botocore.config import Config

from scripts.local_cloud.accounts import SECRET, access_key

SERVER_USER_AGENT = "neuronkit-local-cloud"
_lock = threading.Lock()


class Clients:
    def __init__(self, endpoint_url: str) -> None:
        self.endpoint_url = endpoint_url
        # botocore's session is not safe to make clients from in several threads; clients themselves are.
        self._client = lru_cache(maxsize=None)(self._make)

    def client(self, service: str, account: str, region: str) -> Any:
        with _lock:
            return self._client(service, account, region)

    def _make(self, service: str, account: str, region: str) -> Any:
        return _session().client(
            service,
            region_name=region,
            endpoint_url=self.endpoint_url,
            aws_access_key_id=access_key(account),
            aws_secret_access_key=SECRET,
            config=Config(
                retries={"total_max_attempts": 1},
                read_timeout=600,
                max_pool_connections=50,
                proxies={},
                user_agent_extra=SERVER_USER_AGENT,
            ),
        )


@lru_cache(maxsize=1)
def _session() -> boto3.Session:
    return boto3.Session()
