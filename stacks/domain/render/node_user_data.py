"""What a Batch node runs once at its first boot: ECS agent settings, and the pinned EFA driver where it has EFA.

Batch takes user data as a MIME multipart archive only, and adds a part of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stacks.domain.plan import ClusterPlan
from stacks.domain.render.engine import render
from stacks.domain.software import efa_installer

BYTES_MAX = 16 * 1024
"""EC2's limit on user data before base64."""

AGENT_SETTINGS = (
    # A job that is stopped gets this long to upload its last checkpoint; the agent's default is 30 s.
    ("ECS_CONTAINER_STOP_TIMEOUT", "2m"),
    # Images are named by digest: what is on the node is right, and need not be asked for again.
    ("ECS_IMAGE_PULL_BEHAVIOR", "prefer-cached"),
)


@dataclass(frozen=True, slots=True)
class NodeUserData:
    template: ClassVar[str] = "runtime/node-user-data.mime.j2"

    agent_settings: tuple[tuple[str, str], ...]
    installs_efa: bool
    efa_installer_url: str
    efa_checksum_line: str
    """As `sha256sum --check` reads it."""
    efa_interfaces: int


def node_user_data(cluster: ClusterPlan) -> str:
    installer = efa_installer()
    return render(
        NodeUserData(
            agent_settings=AGENT_SETTINGS,
            installs_efa=cluster.efa_interfaces_per_node > 0,
            efa_installer_url=installer.url,
            efa_checksum_line=f"{installer.sha256}  efa-installer.tar.gz",
            efa_interfaces=cluster.efa_interfaces_per_node,
        )
    )
