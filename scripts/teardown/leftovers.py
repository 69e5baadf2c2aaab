"""The last word of a teardown, and the whole of `neuronkit leftovers`: what is left of ours, and why it stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scripts.aws import cloudformation, ec2
from scripts.aws.cloud import Cloud
from scripts.aws.cloudformation import Stack
from scripts.aws.translation import AwsError
from scripts.pcs_status import errors_in_words, pcs_resources
from scripts.teardown import order
from scripts.teardown.model import Inventory, Item, PaidUntil, Unanswered

_NO_REASON = "CloudFormation gave no reason; see the stack's events"


@dataclass(frozen=True, slots=True)
class Report:
    deleted: tuple[Item, ...]
    leftovers: tuple[Item, ...]
    suspects: tuple[Item, ...]
    kept: tuple[Item, ...]
    paid_until: tuple[PaidUntil, ...]
    not_checked: tuple[Unanswered, ...]

    @property
    def is_clean(self) -> bool:
        """Nothing of ours is left, and every question about it was answered."""
        return not self.leftovers and not self.not_checked

    def as_dict(self) -> dict[str, Any]:
        return {
            "deleted": [asdict(item) for item in self.deleted],
            "kept": [asdict(item) for item in self.kept],
            "suspects": [asdict(item) for item in self.suspects],
            "leftovers": [asdict(item) for item in self.leftovers],
            "paid_until": [asdict(paid) for paid in self.paid_until],
            "not_checked": [asdict(gap) for gap in self.not_checked],
        }

    def text(self) -> str:
        sections = (
            ("deleted", self.deleted),
            ("kept", self.kept),
            (
                "suspects (not surely ours, or not surely there; look at them yourself, the kit does not touch them)",
                self.suspects,
            ),
            ("LEFT OVER", self.leftovers),
        )
        lines = [line for title, items in sections for line in _section(title, items)]
        lines += [_paid_words(paid) for paid in self.paid_until]
        lines += [f"NOT CHECKED {gap.what}: {gap.why}" for gap in self.not_checked]
        return "\n".join(lines)


def _paid_words(paid: PaidUntil) -> str:
    name = f" ({paid.capacity})" if paid.capacity else ""
    return f"paid until {paid.until or 'unknown'}: {paid.id}{name}, {paid.state}"


def report(
    inventory: Inventory, deleted: Sequence[Item] = (), failures: Mapping[tuple[str, str], str] | None = None
) -> Report:
    return Report(
        deleted=tuple(deleted),
        leftovers=_leftovers(inventory, failures or {}),
        suspects=inventory.suspects,
        kept=inventory.kept,
        paid_until=inventory.paid,
        not_checked=inventory.unanswered,
    )


def explain_stack(cloud: Cloud, stack: Stack) -> str:
    """Which resources could not be deleted, why, and which foreign network interfaces hold them."""
    try:
        resources = cloudformation.resources(cloud, stack.id)
        reasons = [
            f"{resource.type} {resource.physical_id or resource.logical_id}: {resource.reason}"
            for resource in resources
            if resource.status == "DELETE_FAILED"
        ]
        reasons += errors_in_words(pcs_resources(cloud, resources))
        vpcs = [
            r.physical_id for r in resources if r.type == "AWS::EC2::VPC" and r.status != "DELETE_COMPLETE"
        ]
        interfaces = [interface for vpc in vpcs for interface in ec2.interfaces_in_vpc(cloud, vpc)]
        reasons += [_blocker(interface) for interface in interfaces if not interface.is_managed]
    except AwsError as error:
        reasons = [f"and why could not be asked: {error.message}"]
    return "; ".join(reasons) or stack.reason or _NO_REASON


def _blocker(interface: ec2.Ec2Resource) -> str:
    words = f" ({interface.description})" if interface.description else ""
    return (
        f"network interface {interface.id}{words}, {interface.state}, is in the VPC; if nothing needs it: "
        f"`aws ec2 delete-network-interface --network-interface-id {interface.id}`"
    )


def _leftovers(inventory: Inventory, failures: Mapping[tuple[str, str], str]) -> tuple[Item, ...]:
    items = [
        *(Item(order.JOB, job.id, job.name, job.state) for job in inventory.jobs),
        *(
            Item(
                order.STACK, stack.id, stack.name, stack.status, _why_of_stack(stack.is_protected, stack.name)
            )
            for stack in inventory.stacks
        ),
        *inventory.loose,
    ]
    return tuple(
        Item(
            item.kind,
            item.id,
            item.name,
            item.state,
            failures.get((item.kind, item.id)) or item.why or _why(item),
        )
        for item in items
    )


def _why_of_stack(is_protected: bool, name: str) -> str:
    if not is_protected:
        return "not deleted"
    return (
        "termination protection is on; if you mean it: `aws cloudformation update-termination-protection "
        f"--no-enable-termination-protection --stack-name {name}`"
    )


def _why(item: Item) -> str:
    if order.is_in_use(item):
        return f"in use ({item.state}): whatever uses it has to go first"
    if item.kind not in (order.JOB, order.STACK) and not order.can_delete(item.kind):
        return "the kit deletes nothing of this kind: delete it by hand"
    return "not deleted"


def _section(title: str, items: Sequence[Item]) -> list[str]:
    if not items:
        return []
    return [f"{title}:", *(f"  {item.label}{_tail(item)}" for item in items)]


def _tail(item: Item) -> str:
    parts = [part for part in (item.state, item.why) if part]
    return f": {'; '.join(parts)}" if parts else ""
