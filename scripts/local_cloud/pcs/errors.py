"""Refusals of the PCS API."""

from __future__ import annotations

from scripts.local_cloud.own_service import ServiceException


class ValidationException(ServiceException):
    code = "ValidationException"

    def __init__(self, message: str, reason: str = "other") -> None:
        super().__init__(message)
        self.reason = reason


class ConflictException(ServiceException):
    code = "ConflictException"

    def __init__(self, message: str, resource_id: str, resource_type: str) -> None:
        super().__init__(message)
        self.resource_id = resource_id
        self.resource_type = resource_type


class ResourceNotFoundException(ServiceException):
    code = "ResourceNotFoundException"

    def __init__(self, resource_id: str, resource_type: str) -> None:
        super().__init__(f"The {resource_type} {resource_id} was not found.")
        self.resource_id = resource_id
        self.resource_type = resource_type


class ServiceQuotaExceededException(ServiceException):
    code = "ServiceQuotaExceededException"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.service_code = "pcs"
