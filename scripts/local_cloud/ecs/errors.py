"""Refusals of the ECS API."""

from __future__ import annotations

from scripts.local_cloud.own_service import ServiceException


class ClientException(ServiceException):
    code = "ClientException"


class InvalidParameterException(ServiceException):
    code = "InvalidParameterException"


class ClusterNotFoundException(ServiceException):
    code = "ClusterNotFoundException"

    def __init__(self) -> None:
        super().__init__("Cluster not found.")


class ServiceNotFoundException(ServiceException):
    code = "ServiceNotFoundException"

    def __init__(self) -> None:
        super().__init__("Service not found.")


class ServiceNotActiveException(ServiceException):
    code = "ServiceNotActiveException"

    def __init__(self) -> None:
        super().__init__("Service was not ACTIVE.")


class ConflictException(ServiceException):
    code = "ConflictException"


class ResourceInUseException(ServiceException):
    code = "ResourceInUseException"


class ClusterContainsServicesException(ServiceException):
    code = "ClusterContainsServicesException"

    def __init__(self) -> None:
        super().__init__("The Cluster cannot be deleted while Services are active.")


class ClusterContainsTasksException(ServiceException):
    code = "ClusterContainsTasksException"

    def __init__(self) -> None:
        super().__init__("The Cluster cannot be deleted while Tasks are active.")


class ClusterContainsContainerInstancesException(ServiceException):
    code = "ClusterContainsContainerInstancesException"

    def __init__(self) -> None:
        super().__init__("The Cluster cannot be deleted while Container Instances are active or draining.")


class ClusterContainsCapacityProviderException(ClientException):
    """ECS's model has a code of this name, but ECS answers with the general one (terraform-provider-aws#45794)."""

    def __init__(self) -> None:
        super().__init__(
            "The Cluster cannot be deleted while Cluster Scoped Capacity Providers are attached to the cluster."
        )
