"""Image Builder's ways of refusing a request."""

from __future__ import annotations

from moto.core.exceptions import ServiceException


class InvalidRequestException(ServiceException):
    code = "InvalidRequestException"


class InvalidVersionNumberException(ServiceException):
    code = "InvalidVersionNumberException"


class ResourceNotFoundException(ServiceException):
    code = "ResourceNotFoundException"


class ResourceInUseException(ServiceException):
    code = "ResourceInUseException"


class ResourceDependencyException(ServiceException):
    code = "ResourceDependencyException"
