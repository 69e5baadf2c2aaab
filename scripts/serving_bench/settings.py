"""What a load test is asked to do. Everything has a bound."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import urlsplit

from stacks.domain.errors import InputError

CHAT: Final = "/v1/chat/completions"
COMPLETIONS: Final = "/v1/completions"
EMBEDDINGS: Final = "/v1/embeddings"
STREAMING: Final = (CHAT, COMPLETIONS)
KNOWN_PATHS: Final = (*STREAMING, EMBEDDINGS)

Arrivals = Literal["poisson", "constant"]
_PORTS: Final = {"http": 80, "https": 443}
_HIDE_IT: Final = (
    "put it into an environment variable and name that with --token-env: arguments are seen by everybody"
)
_SECRET_HEADERS: Final = ("authorization", "proxy-authorization", "api-key", "x-api-key", "cookie")
_OWN_HEADERS: Final = ("host", "content-length", "transfer-encoding", "connection")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go. `target` is path and query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


@dataclass(frozen=True, slots=True)
class Load:
    """Open loop where there is a rate; else closed, with `concurrency` requests at once."""

    rate_per_second: float | None
    arrivals: Arrivals
    concurrency: int
    in_flight_max: int
    """Of the open loop: beyond it, requests wait here, and their latency counts from when they were meant to start."""
    seconds: float
    requests: int
    warm_up: int
    seed: int
    timeout_seconds: float

    @property
    def is_open(self) -> bool:
        return self.rate_per_second is not None


@dataclass(frozen=True, slots=True)
class Headers:
    """Never printed: values may be secrets."""

    pairs: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    token: str | None = field(default=None, repr=False)

    def all(self) -> tuple[tuple[str, str], ...]:
        return (*self.pairs, *((("Authorization", f"Bearer {self.token}"),) if self.token else ()))

    def without_secrets(self, text: str) -> str:
        """For what a server says, which may be what it was sent."""
        values = sorted((v for v in (self.token, *(v for _, v in self.pairs)) if v), key=len, reverse=True)
        for value in values:
            text = text.replace(value, "***")
        return text


def parse_endpoint(url: str, path: str | None) -> Endpoint:
    """`path` goes before the URL's; with neither: chat completions. Raises InputError."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InputError(f"{url!r} is no URL: {error}", "write it like http://HOST:8080") from None
    if parts.scheme not in _PORTS or not parts.hostname or port == 0:
        raise InputError(f"{url!r} is no http or https URL", "write it like http://HOST:8080")
    if parts.username is not None:
        raise InputError("the URL has a name or password in it", _HIDE_IT)
    own = parts.path.rstrip("/") + (f"?{parts.query}" if parts.query else "")
    target = path or own or CHAT
    if own in ("/v1",) and path is None:
        target = CHAT
    if not target.startswith("/") or not target.isascii() or any(c <= " " for c in target):
        raise InputError(
            f"{target!r} is no path", "a path begins with / and has neither blanks nor other than ASCII"
        )
    return Endpoint(parts.scheme, _host(parts.hostname), port or _PORTS[parts.scheme], target)


def _host(name: str) -> str:
    """As it stands in DNS and in a header: a name in other letters has another form there."""
    try:
        host = name.encode("idna").decode("ascii")
    except UnicodeError:
        host = ""
    if not re.fullmatch(r"[A-Za-z0-9._-]+|[0-9a-f:.]+(%[A-Za-z0-9._-]+)?", host):
        raise InputError(f"{name!r} is no host", "write the URL like http://HOST:8080")
    return host


def parse_headers(lines: tuple[str, ...], token: str | None) -> Headers:
    """Raises InputError, without the value."""
    pairs = []
    for line in lines:
        name, colon, value = line.partition(":")
        name, value = name.strip(), value.strip()
        if not colon or not re.fullmatch(r"[A-Za-z0-9_-]+", name) or not _is_sendable(value):
            raise InputError(f"--header {name!r}: not of the form 'Name: value'", "one header an option")
        if name.lower() in _SECRET_HEADERS:
            raise InputError(f"--header {name}: a secret in the arguments", _HIDE_IT)
        if name.lower() in _OWN_HEADERS:
            raise InputError(f"--header {name}: the load test writes this header itself", "leave it out")
        pairs.append((name, value))
    if token is not None and not (token and _is_sendable(token)):
        raise InputError("the token is empty, or cannot stand in a header", "a token is one word of ASCII")
    return Headers(tuple(pairs), token)


def _is_sendable(value: str) -> bool:
    return value.isascii() and value.isprintable()
