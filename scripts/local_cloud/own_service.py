"""Base of the services that the local cloud answers itself instead of moto.

Requests are parsed and answers are written by botocore's model of the service, through moto's parser and serializer:
an operation is a method in snake case that takes `self.params` and returns an `ActionResult` around a plain dict.
"""

from __future__ import annotations

from typing import Any, ClassVar

from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult, BaseResponse, EmptyResult
from moto.core.utils import get_service_model

__all__ = ["ActionResult", "EmptyResult", "OwnService", "ServiceException"]


class OwnService(BaseResponse):
    service: ClassVar[str]

    def __init__(self) -> None:
        super().__init__(service_name=self.service)
        self.automated_parameter_parsing = True
        # Class-level state of the base: the answers of one service must not rewrite those of another.
        self.response_headers: dict[str, Any] = {}

    def arguments(self) -> dict[str, Any]:
        """The request's parameters, those of the URL included, without the ones that were left out."""
        merged = {**self.params, **self.uri_match}
        return {name: value for name, value in merged.items() if value is not None}

    def known_operations(self) -> list[str]:
        return list(get_service_model(self.service).operation_names)
