"""Reading what a deployed template says in so many words; an intrinsic function says nothing here, but a reference does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Template = Mapping[str, Any]


def of_type(template: Template, type_name: str) -> Iterator[tuple[str, Template]]:
    """Logical ids and properties."""
    for logical_id, resource in template.get("Resources", {}).items():
        if resource.get("Type") == type_name:
            yield logical_id, resource.get("Properties", {})


def count(templates: Mapping[str, Template], type_name: str) -> int:
    return sum(len(list(of_type(template, type_name))) for template in templates.values())


def properties_of(template: Template, logical_id: str | None) -> Template:
    """Empty where there is no such resource."""
    found: Template = template.get("Resources", {}).get(logical_id, {}).get("Properties", {})
    return found


def referred(value: Any) -> str | None:
    """The logical id behind a Ref or a GetAtt."""
    if not isinstance(value, Mapping):
        return None
    attribute = value.get("Fn::GetAtt")
    target = attribute[0] if isinstance(attribute, list) and attribute else value.get("Ref")
    return target if isinstance(target, str) else None


def root_volume_gib(launch_template_data: Template) -> int | None:
    mappings = launch_template_data.get("BlockDeviceMappings") or [{}]
    size = mappings[0].get("Ebs", {}).get("VolumeSize")
    return size if isinstance(size, int) else None


def capacity(launch_template_data: Template, template: Template) -> tuple[str, str]:
    """Kind and id, as the launch templates of the kit's clusters have them; a reservation may be in a resource group."""
    target = launch_template_data.get("CapacityReservationSpecification", {}).get(
        "CapacityReservationTarget", {}
    )
    group = properties_of(template, referred(target.get("CapacityReservationResourceGroupArn")))
    members = [str(arn) for arn in group.get("Resources") or ()]
    id_ = str(target.get("CapacityReservationId", "")) or "".join(members[:1]).rpartition("/")[2]
    market = launch_template_data.get("InstanceMarketOptions", {}).get("MarketType")
    if market in ("capacity-block", "spot"):
        return market, id_
    return ("reservation", id_) if id_ else ("on-demand", "")
