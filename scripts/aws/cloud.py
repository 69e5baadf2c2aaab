"""The account and region a command acts on. The only place that makes boto3 clients and calls them.

Every call goes through `Cloud.call` or `Cloud.pages`: retries are botocore's (adaptive), errors are translated here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from scripts.aws.translation import translate
from stacks.domain.errors import KitError

AWS_POLL_SECONDS: Final = 5.0
LOCAL_POLL_SECONDS: Final = 0.2
ATTEMPTS_MAX: Final = 8
# They would send a child process to another account than the one that was checked.
_KEY_VARIABLES: Final = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
)
_PROFILE_VARIABLES: Final = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN")


@dataclass(frozen=True)
class Cloud:
    """One account in one region. `account` is None only where the caller asked for no check."""

    region: str
    account: str | None
    is_local: bool
    session: boto3.Session = field(repr=False, compare=False)
    profile: str | None = None
    endpoint_url: str | None = None
    local_environment: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    attempts: int = ATTEMPTS_MAX
    """How often a call is tried before its failure counts."""
    _clients: dict[tuple[str, int], Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    _making: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        return "the local cloud" if self.is_local else "AWS"

    @property
    def poll_seconds(self) -> float:
        return LOCAL_POLL_SECONDS if self.is_local else AWS_POLL_SECONDS

    def client(self, service: str, *, attempts: int | None = None) -> Any:
        attempts = attempts or self.attempts
        # Clients may be shared between threads; making one may not.
        with self._making:
            if (service, attempts) not in self._clients:
                self._clients[service, attempts] = self._make_client(service, attempts)
        return self._clients[service, attempts]

    def call(self, service: str, operation: str, /, **parameters: Any) -> dict[str, Any]:
        """One API call; `operation` in boto3's spelling. Raises KitError."""
        return self._call(self.client(service), service, operation, parameters)

    def call_once(self, service: str, operation: str, /, **parameters: Any) -> dict[str, Any]:
        """Without retries: for what must not happen twice because an answer was lost on its way."""
        return self._call(self.client(service, attempts=1), service, operation, parameters)

    def _call(
        self, client: Any, service: str, operation: str, parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = getattr(client, operation)(**parameters)
        except ParamValidationError:
            raise
        except (ClientError, BotoCoreError) as error:
            raise self._translated(error, service, operation) from error
        return answer

    def pages(self, service: str, operation: str, key: str, /, **parameters: Any) -> Iterator[Any]:
        """Every item under `key` of every page. Raises KitError."""
        client = self.client(service)
        if not client.can_paginate(operation):
            yield from self.call(service, operation, **parameters).get(key) or ()
            return
        try:
            for page in client.get_paginator(operation).paginate(**parameters):
                yield from page.get(key) or ()
        except ParamValidationError:
            raise
        except (ClientError, BotoCoreError) as error:
            raise self._translated(error, service, operation) from error

    def child_environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """What to set over `base` for a process (the CDK CLI) that has to act on this very account and region.

        An empty value switches off what would lead it elsewhere: the AWS SDKs read it as not set.
        """
        own = {"AWS_REGION": self.region, "AWS_DEFAULT_REGION": self.region}
        if self.is_local:
            misleading = [
                *_PROFILE_VARIABLES,
                *(name for name in base if name.startswith("AWS_ENDPOINT_URL_")),
            ]
            return {**dict.fromkeys(misleading, ""), **dict(self.local_environment), **own}
        if self.profile:
            return {**dict.fromkeys(_KEY_VARIABLES, ""), "AWS_PROFILE": self.profile, **own}
        return own

    def _make_client(self, service: str, attempts: int) -> Any:
        try:
            return self.session.client(
                service,
                region_name=self.region,
                endpoint_url=self.endpoint_url,
                config=_client_config(attempts, is_local=self.is_local),
            )
        except BotoCoreError as error:
            raise self._translated(error, service, "a call") from error

    def _translated(self, error: ClientError | BotoCoreError, service: str, operation: str) -> KitError:
        name = error.operation_name if isinstance(error, ClientError) else _aws_spelling(operation)
        return translate(error, service=service, operation=name, region=self.region, profile=self.profile)


def _client_config(attempts: int, *, is_local: bool) -> Config:
    common: dict[str, Any] = {
        "retries": {"mode": "adaptive", "total_max_attempts": attempts},
        "user_agent_extra": "neuronkit",
        "connect_timeout": 10,
        "read_timeout": 60,
    }
    if is_local:
        # "localhost" has no names below it, and no proxy is to see these calls.
        common |= {"s3": {"addressing_style": "path"}, "proxies": {}}
    return Config(**common)


def _aws_spelling(operation: str) -> str:
    return "".join(part.capitalize() for part in operation.split("_"))
