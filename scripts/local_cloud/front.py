"""The server's front: checks the host, applies planted faults, and hands each request to whoever answers it.

`/neuronkit/…` is the admin interface (`admin.py`), CloudFormation and Batch are answered by the local cloud itself,
everything else by moto.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from typing import Any
from xml.sax.saxutils import escape

from flask import Flask
from moto.core.utils import convert_to_flask_response
from moto.moto_server.werkzeug_app import (
    HTTP_METHODS,
    BackendRequest,
    DomainDispatcherApplication,
    create_backend_app,
)
from werkzeug.wrappers import Response

from scripts.local_cloud import admin, runtime
from scripts.local_cloud.aws_lambda import invocation
from scripts.local_cloud.call import Call, identify, read_body
from scripts.local_cloud.faults import Fault
from scripts.local_cloud.own_service import OwnService

WsgiApp = Callable[[dict[str, Any], Any], Iterable[bytes]]
_HOSTS = ("localhost", "127.0.0.1", "[::1]")


class Front:
    def __init__(self, own_services: dict[str, type[OwnService]]) -> None:
        self._own = {name: _own_app(service) for name, service in own_services.items()}
        self._moto = DomainDispatcherApplication(create_backend_app)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        answer: WsgiApp
        if not _local_host(environ.get("HTTP_HOST", "")):
            answer = Response("the local cloud answers to localhost only\n", status=403)
        elif environ.get("PATH_INFO", "").startswith("/neuronkit/"):
            answer = admin.answer
        else:
            answer = self._api
        try:
            return answer(environ, start_response)
        except Exception as error:
            logging.getLogger(__name__).exception(
                "%s %s", environ.get("REQUEST_METHOD"), environ.get("PATH_INFO")
            )
            return _failure(identify(environ), "InternalFailure", f"{type(error).__name__}: {error}", 501)(
                environ, start_response
            )

    def _api(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        call = identify(environ)
        if not read_body(environ):
            return _failure(call, "IncompleteBody", "the client went away", 400)(environ, start_response)
        fault = _fault(call)
        if fault is not None:
            fault.wait()
            if fault.error_code:
                failure = _failure(call, fault.error_code, fault.message, fault.status_code)
                return failure(environ, start_response)
        if call is not None and call.service in self._own:
            return self._own[call.service](environ, start_response)
        if call is not None and invocation.is_one(call):
            return invocation.answer(call)(environ, start_response)
        with runtime.current().moto_lock:
            return list(self._moto(environ, start_response))


def _local_host(host: str) -> bool:
    """Keeps web pages away that resolve their own name to this machine."""
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    return name in _HOSTS or name.endswith(".localhost")


def _fault(call: Call | None) -> Fault | None:
    faults = runtime.current().faults
    if call is None or not faults.concerns_service(call.service):
        return None
    return faults.take_call(call.service, call.action())


def _failure(call: Call | None, code: str, message: str, status: int) -> Response:
    """An error in a form that botocore reads, whatever the service's protocol is."""
    content_type = call.environ.get("CONTENT_TYPE", "") if call else ""
    if call is not None and call.service == "ec2":
        body = f"<Response><Errors><Error><Code>{code}</Code><Message>{escape(message)}</Message></Error></Errors></Response>"
        return Response(body, status=status, mimetype="text/xml")
    if call is not None and call.service == "s3":
        body = f"<Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>"
        return Response(body, status=status, mimetype="text/xml")
    if content_type.startswith("application/x-www-form-urlencoded"):
        error = f"<Error><Type>Sender</Type><Code>{code}</Code><Message>{escape(message)}</Message></Error>"
        return Response(f"<ErrorResponse>{error}</ErrorResponse>", status=status, mimetype="text/xml")
    body = json.dumps({"__type": code, "message": message})
    return Response(body, status=status, mimetype="application/json", headers={"x-amzn-errortype": code})


def _own_app(service: type[OwnService]) -> Flask:
    app = Flask(service.__name__)
    # Exceptions travel to Front, which logs them and answers in the service's protocol.
    app.config["PROPAGATE_EXCEPTIONS"] = True
    app.request_class = BackendRequest
    view = convert_to_flask_response(service.dispatch)
    for rule in ("/", "/<path:path>"):
        app.add_url_rule(rule, endpoint=rule, methods=HTTP_METHODS, view_func=lambda path="": view(path))
    return app
