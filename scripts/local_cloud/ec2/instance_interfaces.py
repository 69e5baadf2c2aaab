"""The network interfaces of an instance go with it; moto keeps those that it was not told to delete."""

from __future__ import annotations

from collections.abc import Iterable

from moto.ec2.models import EC2Backend


def release(backend: EC2Backend, instance_ids: Iterable[str]) -> None:
    ended = set(instance_ids)
    for eni in list(backend.enis.values()):
        if eni.instance is not None and eni.instance.id in ended:
            backend.enis.pop(eni.id, None)
            backend.tags.pop(eni.id, None)
