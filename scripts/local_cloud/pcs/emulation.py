"""The private Slurm behind a PCS cluster that has a queue with nodes."""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import threading
from pathlib import Path

from botocore.exceptions import ClientError

from scripts.local_cloud import runtime
from scripts.local_cloud.accounts import SECRET, access_key
from scripts.local_cloud.pcs.resources import Cluster, NodeGroup
from scripts.local_cloud.pcs.virtual_nodes import virtual_group
from scripts.local_cloud.slurm.private_slurm import PrivateSlurm
from scripts.local_cloud.slurm.virtual_group import VirtualGroup
from stacks.domain.errors import WorldError

DEFAULT_MOUNT = "/shared"
_MOUNT_FLAG = "--mount-point"
# Shell that sets the variable mount_point to a plain path, as a set-up script of one's own may do.
_MOUNT_LINE = re.compile(r"""^(?:readonly )?mount_point=["']?(/[\w./-]+)["']?\s*$""", re.MULTILINE)
# What of the user's machine a node may need to reach anything.
_INHERITED = ("LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
STAND_INS = "stand-ins"
"""Commands of a real login node that a private Slurm's lacks, below its directory."""
_RUNUSER = """#!/bin/sh
# As root of the emulation: there is one user only.
user=
while [ $# -gt 0 ]; do
  case $1 in
    -u) user=$2; shift 2 ;;
    --) shift; break ;;
    *) echo "neuronkit local cloud: runuser $1 is not emulated" >&2; exit 1 ;;
  esac
done
echo "neuronkit local cloud: not changed to the user $user, who does not exist here" >&2
exec "$@"
"""
_running: dict[str, PrivateSlurm] = {}
_lock = threading.RLock()


def slurm_of(cluster_id: str) -> PrivateSlurm | None:
    return _running.get(cluster_id)


def refresh(account: str, region: str, cluster: Cluster) -> None:
    """Starts the cluster's Slurm, anew where its nodes or queues are others: jobs of the old one are then gone.

    Raises WorldError where it cannot be started.
    """
    with _lock:
        wanted = _groups_in_queues(cluster)
        if not wanted:
            end(cluster.id)
            return
        groups = [virtual_group(account, region, group) for group in wanted]
        mount = next(
            (m for m in (_mount_point(account, region, group) for group in wanted) if m), DEFAULT_MOUNT
        )
        _check_devices(groups)
        partitions, running = _partitions(cluster), _running.get(cluster.id)
        if running is not None and running.consists_of(groups, partitions, mount):
            return
        kept = end(cluster.id, keep_files=True)
        slurm = PrivateSlurm(
            _directory(cluster.id),
            groups,
            partitions,
            shared_mount=mount,
            node_environment=environment(account, region),
            programs_at=f"/opt/aws/pcs/scheduler/slurm-{cluster.version}/bin",
        )
        slurm.up()
        _bring_back(kept, slurm)
        _write_stand_ins(slurm.directory / STAND_INS)
        _running[cluster.id] = slurm


def end(cluster_id: str, *, keep_files: bool = False) -> Path | None:
    """Without `keep_files`, what is on the shared file system goes as well."""
    with _lock:
        slurm = _running.pop(cluster_id, None)
        if slurm is None:
            return None
        slurm.down()
        if not keep_files:
            shutil.rmtree(slurm.directory, ignore_errors=True)
            return None
        kept = slurm.directory.with_name(f"{slurm.directory.name}.shared")
        slurm.shared_directory.rename(kept)
        return kept


def end_all() -> None:
    for cluster_id in list(_running):
        try:
            end(cluster_id)
        except OSError:
            logging.getLogger(__name__).exception("the Slurm of %s", cluster_id)


def environment(account: str, region: str) -> dict[str, str]:
    """What a process on a node has to have to reach this cloud instead of AWS, which an instance role stands for."""
    server = runtime.current()
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return {
        **inherited,
        "AWS_ACCESS_KEY_ID": access_key(account),
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_ENDPOINT_URL": server.endpoint_url,
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }


def programs() -> str:
    """Where `aws` and Python are."""
    return str(Path(sys.executable).parent)


def _directory(cluster_id: str) -> Path:
    return runtime.current().state_dir / "slurm" / cluster_id


def _groups_in_queues(cluster: Cluster) -> list[NodeGroup]:
    """Also the ones that several queues share, once."""
    ids = {group_id for queue in cluster.queues.values() for group_id in queue.group_ids}
    return [
        group
        for group in cluster.groups.values()
        if group.id in ids and group.scaling["maxInstanceCount"] > 0
    ]


def _partitions(cluster: Cluster) -> dict[str, list[str]]:
    partitions = {
        queue.name: [
            cluster.groups[group_id].name
            for group_id in queue.group_ids
            if cluster.groups[group_id].scaling["maxInstanceCount"] > 0
        ]
        for queue in cluster.queues.values()
    }
    return {name: members for name, members in partitions.items() if members}


def _check_devices(groups: list[VirtualGroup]) -> None:
    """PCS takes any count; the node then drains itself, which would look here like a Slurm that never comes up."""
    for group in groups:
        if group.counted > group.neuron_devices:
            raise WorldError(
                f"the nodes of {group.name} have {group.neuron_devices} Neuron devices, Gres counts {group.counted}: on AWS "
                "they would be drained (INVALID_REG)",
                "count what the instance type has",
            )


def _mount_point(account: str, region: str, group: NodeGroup) -> str | None:
    """Life cycle scripts do not run on virtual nodes; where they would mount the shared files is read off them."""
    for stage in (group.request.get("nodeLifecycleActions") or {}).get("stages", {}).values():
        for action in stage:
            arguments = list(action.get("arguments") or ())
            if _MOUNT_FLAG in arguments[:-1]:
                return str(arguments[arguments.index(_MOUNT_FLAG) + 1])
            found = _MOUNT_LINE.search(_script(account, region, action["scriptSource"]["scriptLocation"]))
            if found:
                return found.group(1)
    return None


def _script(account: str, region: str, location: str) -> str:
    """Empty where it cannot be read: nothing of it would run anyway."""
    if not location.startswith("s3://"):
        return ""
    bucket, _, key = location.removeprefix("s3://").partition("/")
    client = runtime.current().clients.client("s3", account, region)
    try:
        return str(client.get_object(Bucket=bucket, Key=key)["Body"].read().decode(errors="replace"))
    except ClientError:
        return ""


def _bring_back(kept: Path | None, slurm: PrivateSlurm) -> None:
    """The directory itself is bound into the nodes already, so its content moves."""
    if kept is None:
        return
    for entry in kept.iterdir():
        entry.rename(slurm.shared_directory / entry.name)
    kept.rmdir()


def _write_stand_ins(directory: Path) -> None:
    directory.mkdir(exist_ok=True)
    (directory / "runuser").write_text(_RUNUSER)
    (directory / "runuser").chmod(0o755)
