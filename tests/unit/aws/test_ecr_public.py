"""The registry protocol, with the network replaced by a table of answers."""

from __future__ import annotations

import io
import json
import urllib.error
import urllib.request
from email.message import Message
from types import TracebackType
from typing import Any

import pytest

from scripts.aws import ecr_public
from stacks.domain.errors import InputError, WorldError

URI = "public.ecr.aws/neuron/jax-training-neuronx:0.10.0"
MANIFEST = "https://public.ecr.aws/v2/neuron/jax-training-neuronx/manifests/0.10.0"
TOKEN = "https://public.ecr.aws/token/?service=public.ecr.aws&scope=aws"
DIGEST = "sha256:" + "b" * 64
CHALLENGE = {
    "WWW-Authenticate": 'Bearer realm="https://public.ecr.aws/token/",service="public.ecr.aws",scope="aws"'
}


class Answer(io.BytesIO):
    def __init__(self, headers: dict[str, str], body: bytes) -> None:
        super().__init__(body)
        self.headers = message(headers)

    def __enter__(self) -> Answer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def message(headers: dict[str, str]) -> Message:
    result = Message()
    for name, value in headers.items():
        result[name] = value
    return result


class Registry:
    """Without a token: the challenge. With the right one: the digest, or a status."""

    def __init__(
        self, status: int = 200, digest: str = DIGEST, challenge: dict[str, str] | None = None
    ) -> None:
        self.status = status
        self.digest = digest
        self.challenge = CHALLENGE if challenge is None else challenge
        self.asked: list[tuple[str, str]] = []

    def __call__(self, request: urllib.request.Request, timeout: float) -> Answer:
        assert timeout > 0
        self.asked.append((request.get_method(), request.full_url))
        if request.full_url == TOKEN:
            return Answer({}, json.dumps({"token": "t"}).encode())
        assert "manifest.list.v2" in str(request.get_header("Accept"))
        if request.get_header("Authorization") != "Bearer t":
            raise self._error(401, self.challenge)
        if self.status != 200:
            raise self._error(self.status, {})
        return Answer({"Docker-Content-Digest": self.digest}, b"")

    def _error(self, status: int, headers: dict[str, str]) -> urllib.error.HTTPError:
        return urllib.error.HTTPError(MANIFEST, status, "no", message(headers), None)


def install(monkeypatch: pytest.MonkeyPatch, registry: Any) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", registry)


def test_an_anonymous_token_gets_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry()
    install(monkeypatch, registry)
    assert ecr_public.digest(URI) == DIGEST
    assert registry.asked == [("HEAD", MANIFEST), ("GET", TOKEN), ("HEAD", MANIFEST)]


REFUSALS = [
    (Registry(status=404), InputError, "there is no image"),
    (Registry(status=403), InputError, "does not show"),
    (Registry(status=500), WorldError, "answered 500"),
    (Registry(digest="latest"), WorldError, "gave no digest"),
    (Registry(challenge={}), InputError, "does not show"),
    (Registry(challenge={"WWW-Authenticate": 'Bearer realm="http://evil/"'}), WorldError, "only https"),
]


@pytest.mark.parametrize(("registry", "kind", "words"), REFUSALS)
def test_a_refusal_is_worded(
    monkeypatch: pytest.MonkeyPatch, registry: Registry, kind: type[Exception], words: str
) -> None:
    install(monkeypatch, registry)
    with pytest.raises(kind) as caught:
        ecr_public.digest(URI)
    assert words in f"{caught.value} {getattr(caught.value, 'hint', '')}"


def test_without_a_network_it_says_which_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(request: Any, timeout: float) -> Answer:
        raise urllib.error.URLError("Name or service not known")

    install(monkeypatch, no_network)
    with pytest.raises(WorldError, match=r"public\.ecr\.aws: Name or service not known"):
        ecr_public.digest(URI)


@pytest.mark.parametrize("uri", ["public.ecr.aws/neuron/jax", "localhost:5000/jax"])
def test_an_image_without_a_tag_is_wrong_input(uri: str) -> None:
    with pytest.raises(InputError, match="no tag"):
        ecr_public.split(uri)


def test_a_registry_may_have_a_port() -> None:
    assert ecr_public.split("localhost:5000/a/b:1") == ("localhost:5000", "a/b", "1")
