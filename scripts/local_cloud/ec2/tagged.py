"""What the Resource Groups Tagging API finds in EC2, including the types that moto leaves out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from moto.core.resource_tagging import TaggedResource
from moto.ec2.models import EC2Backend

from scripts.local_cloud.ec2.capacity_blocks import blocks_of
from scripts.local_cloud.ec2.placement_groups import groups_of


def with_more_types(
    original: Callable[[EC2Backend], Iterator[TaggedResource]],
) -> Callable[[EC2Backend], Iterator[TaggedResource]]:
    def iter_tagged_resources(self: EC2Backend) -> Iterator[TaggedResource]:
        yield from original(self)
        for kind, resource_id, name in _more(self):
            arn = f"arn:{self.partition}:ec2:{self.region_name}:{self.account_id}:{kind}/{name}"
            yield TaggedResource(arn, dict(self.tags.get(resource_id, {})), f"ec2:{kind}")

    return iter_tagged_resources


def _more(backend: EC2Backend) -> Iterator[tuple[str, str, str]]:
    """Type, the id that carries the tags, and the id in the ARN."""
    for template_id in list(backend.launch_templates):
        yield "launch-template", template_id, template_id
    for endpoint_id in list(backend.vpc_end_points):
        yield "vpc-endpoint", endpoint_id, endpoint_id
    for address in list(backend.addresses):
        if address.allocation_id:
            yield "elastic-ip", address.allocation_id, address.allocation_id
    for group in list(groups_of(backend).values()):
        yield "placement-group", group.id, group.name
    for block_id in list(blocks_of(backend)):
        yield "capacity-reservation", block_id, block_id
