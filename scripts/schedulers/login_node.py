"""How a text gets to where Slurm's commands are: to the login node by SSM, or to this very shell."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Literal, Protocol

from scripts.aws.cloud import Cloud
from scripts.schedulers.login_node_by_ssm import SsmTransport
from scripts.schedulers.remote_answer import Answer
from stacks.domain.errors import WorldError
from stacks.domain.plan import ClusterPlan
from stacks.domain.slurm import parent_image

TransportKind = Literal["ssm", "local"]
_LOCAL_SECONDS_MAX = 120.0


class Transport(Protocol):
    def run(self, script: str) -> Answer:
        """Runs a bash text where Slurm's commands are. Raises WorldError when it does not get there."""


@dataclass(frozen=True, slots=True)
class LocalTransport:
    """Slurm's commands are on this machine's PATH."""

    def run(self, script: str) -> Answer:
        if shutil.which("sbatch") is None:
            raise WorldError(
                "this shell has no Slurm: there is no sbatch on PATH",
                "run the command on a login node, or leave --transport local out to reach it by SSM",
            )
        # From a file: a text that is read from stdin could be eaten by the commands in it.
        with tempfile.NamedTemporaryFile("w", prefix="neuronkit-", suffix=".sh", encoding="utf-8") as file:
            file.write(script)
            file.flush()
            try:
                done = subprocess.run(
                    ["bash", file.name],
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    check=False,
                    timeout=_LOCAL_SECONDS_MAX,
                )
            except subprocess.TimeoutExpired:
                raise WorldError(
                    f"Slurm's commands have not ended within {_LOCAL_SECONDS_MAX:.0f} s",
                    "see whether `sinfo` answers; the same command continues from here",
                ) from None
        return Answer(done.stdout, done.stderr.decode(errors="replace"), done.returncode)


def open_transport(
    kind: TransportKind, cloud: Cloud, cluster: ClusterPlan, login_group_id: str | None
) -> Transport:
    """`login_group_id` is of the deployed cluster; only the local transport goes without. Raises WorldError."""
    if kind == "local":
        return LocalTransport()
    slurm = cluster.slurm
    if login_group_id is None or slurm is None:
        raise WorldError(
            f"cluster {cluster.name} has no login node: its stack is not deployed",
            "run `neuronkit deploy`, or use --transport local where this shell has Slurm",
        )
    mount = slurm.shared_storage.mount_point if slurm.shared_storage else None
    return SsmTransport(cloud, login_group_id, slurm.version, parent_image().user, mount)
