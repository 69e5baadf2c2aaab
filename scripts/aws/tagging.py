"""The Resource Groups Tagging API: everything in a region that carries a tag, of most services at once.

It may still list what was deleted minutes ago, and it knows no IAM and no untagged resource: a second opinion, not
the only one.
"""

from __future__ import annotations

from scripts.aws.cloud import Cloud


def arns_with_tag(cloud: Cloud, key: str, value: str) -> tuple[str, ...]:
    mappings = cloud.pages(
        "resourcegroupstaggingapi",
        "get_resources",
        "ResourceTagMappingList",
        TagFilters=[{"Key": key, "Values": [value]}],
    )
    return tuple(sorted(mapping["ResourceARN"] for mapping in mappings))
