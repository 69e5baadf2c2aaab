"""Which API call a request is: service and operation, from its signature and its body."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from moto.core.request import Request
from moto.core.routing import get_service_router
from werkzeug.exceptions import NotFound

_SCOPE = re.compile(r"Credential=(?P<key>[^/]+)/[^/]+/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request")
# Signing names that differ from botocore's service names, as far as our services use them.
_SERVICE_NAMES = {
    "elasticfilesystem": "efs",
    "monitoring": "cloudwatch",
    "servicequotas": "service-quotas",
    "tagging": "resourcegroupstaggingapi",
}


@dataclass(frozen=True)
class Call:
    service: str
    region: str
    access_key: str
    environ: dict[str, Any]

    def action(self) -> str:
        """The operation's name, or "" if it cannot be told. Costs a routing table for REST services."""
        target = self.environ.get("HTTP_X_AMZ_TARGET")
        if target:
            return str(target).rsplit(".", 1)[-1]
        body = _peek(self.environ)
        if self.environ.get("CONTENT_TYPE", "").startswith("application/x-www-form-urlencoded"):
            return parse_qs(body.decode(errors="replace")).get("Action", [""])[0]
        try:
            operation, _ = get_service_router(self.service).match(Request(dict(self.environ)))
        except (NotFound, NotImplementedError):
            return ""
        return str(operation.name)


def identify(environ: dict[str, Any]) -> Call | None:
    """None for a request without a signature: those are moto's own business."""
    scope = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
    if scope is None:
        return None
    service = scope.group("service").lower()
    return Call(_SERVICE_NAMES.get(service, service), scope.group("region"), scope.group("key"), environ)


def read_body(environ: dict[str, Any]) -> bool:
    """Takes the whole body off the socket, so that no lock is held while a slow client sends it.

    False if the client went away in the middle: half an object must not be stored.
    """
    length = int(environ.get("CONTENT_LENGTH") or 0)
    if not length:
        return True
    body = environ["wsgi.input"].read(length)
    environ["wsgi.input"] = io.BytesIO(body)
    return len(body) == length


def _peek(environ: dict[str, Any]) -> bytes:
    stream = environ["wsgi.input"]
    if not isinstance(stream, io.BytesIO):
        return b""
    return stream.getvalue()
