"""Digests of images in public registries (ECR Public and any other that speaks the registry protocol, version 2)."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from email.message import Message

from stacks.domain.errors import InputError, WorldError

_TIMEOUT_SECONDS = 20.0
# An index for several machine types, or one image: whatever a pull of the tag would get.
_ACCEPTED = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
_CHALLENGE_PART = re.compile(r'(\w+)="([^"]*)"')
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def digest(uri: str) -> str:
    """`registry/repository:tag` -> `sha256:…`. Asks anonymously. InputError when there is no such image."""
    registry, repository, tag = split(uri)
    url = f"https://{registry}/v2/{repository}/manifests/{tag}"
    try:
        headers = _head_with_token(url)
    except urllib.error.HTTPError as error:
        raise _refusal(error, uri, registry) from error
    except (urllib.error.URLError, TimeoutError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise WorldError(
            f"no answer from the registry {registry}: {reason}", "check the network and try again"
        ) from error
    found = headers.get("Docker-Content-Digest", "")
    if not _DIGEST.fullmatch(found):
        raise WorldError(
            f"the registry {registry} gave no digest for {uri}", "pin the image with @sha256:… in the file"
        )
    return found


def split(uri: str) -> tuple[str, str, str]:
    """Registry, repository and tag."""
    registry, _, rest = uri.partition("/")
    repository, separator, tag = rest.rpartition(":")
    if not separator or "/" in tag:
        raise InputError(f"image {uri} has no tag", "write registry/repository:tag")
    return registry, repository, tag


def _head_with_token(url: str) -> Message:
    try:
        return _request(url, {"Accept": _ACCEPTED}, "HEAD")[0]
    except urllib.error.HTTPError as error:
        challenge = error.headers.get("WWW-Authenticate", "")
        if error.code != 401 or not challenge.lower().startswith("bearer"):
            raise
    headers = {"Accept": _ACCEPTED, "Authorization": f"Bearer {_token(challenge)}"}
    return _request(url, headers, "HEAD")[0]


def _token(challenge: str) -> str:
    parts = dict(_CHALLENGE_PART.findall(challenge))
    realm = parts.pop("realm", "")
    if not realm.startswith("https://"):
        raise WorldError(f"the registry asks for a token from {realm!r}", "only https is accepted")
    query = urllib.parse.urlencode({name: parts[name] for name in ("service", "scope") if name in parts})
    answer = json.loads(_request(f"{realm}?{query}", {}, "GET")[1])
    return str(answer.get("token") or answer.get("access_token") or "")


def _request(url: str, headers: Mapping[str, str], method: str) -> tuple[Message, bytes]:
    request = urllib.request.Request(url, headers=dict(headers), method=method)  # noqa: S310 - https only
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response:  # noqa: S310
        return response.headers, response.read()


def _refusal(error: urllib.error.HTTPError, uri: str, registry: str) -> InputError | WorldError:
    if error.code == 404:
        return InputError(f"there is no image {uri}", "correct the image or its tag; see `neuronkit catalog`")
    if error.code in (401, 403):
        return InputError(
            f"the registry {registry} does not show {uri} to everybody ({error.code})",
            "use a public image or one in ECR, or pin it with @sha256:… in the file",
        )
    return WorldError(
        f"the registry {registry} answered {error.code} for {uri}", "try again in a few minutes"
    )
