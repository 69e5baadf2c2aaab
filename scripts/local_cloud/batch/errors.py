"""Batch's way of refusing a request."""

from __future__ import annotations

import uuid

from moto.core.exceptions import ServiceException


class ClientException(ServiceException):
    code = "ClientException"

    def __init__(self, message: str) -> None:
        super().__init__(f"Error executing request, Exception : {message}, RequestId: {uuid.uuid4()}")
