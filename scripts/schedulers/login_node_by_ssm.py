"""The login node of a PCS cluster by SSM Run Command: one bash text there, its whole output back.

SSM keeps 24,000 characters of an output. So it comes compressed, as base64, in parts: what does not fit into the first
answer stays in a file on the node until it is fetched.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import re
import shlex
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from scripts.aws import ec2_nodes, ssm
from scripts.aws.cloud import Cloud
from scripts.aws.ssm import Invocation
from scripts.aws.translation import AwsError
from scripts.schedulers.remote_answer import Answer
from stacks.domain.errors import WorldError
from stacks.domain.names import PCS_NODE_GROUP_TAG

PART_CHARACTERS: Final = 20_000
ANSWER_SECONDS_MAX: Final = 90.0
"""How long one text may take, delivery included."""
DELIVERY_SECONDS_MAX: Final = 30
"""SSM's least."""
NOT_MOUNTED: Final = 73
_FILE = re.compile(r"/tmp/neuronkit-out\.[A-Za-z0-9]{10}")  # noqa: S108  made by mktemp -d on the node
_HEADER = re.compile(rf"^neuronkit (\d+) (\d+) ({_FILE.pattern}) ([A-Za-z0-9+/=]*)$")
# $1: the text, compressed, as base64. Prints a header, stderr's end as base64, and the output's first part.
# A text that came in part is never run, and an output that went in part is no answer: a full disk or a kill shows.
_WRAPPER = f"""set -u -o pipefail
find /tmp -maxdepth 1 -user "$(id -un)" -name 'neuronkit-out.*' -mmin +60 -exec rm -rf {{}} +
HOME=$(getent passwd "$(id -u)" | cut -d: -f6)
export HOME
directory=$(mktemp -d /tmp/neuronkit-out.XXXXXXXXXX) || exit 1
code=0
printf %s "$1" | base64 -d | gzip -dc >"$directory/text" || exit 1
bash "$directory/text" </dev/null >"$directory/out" 2>"$directory/err" || code=$?
gzip -c "$directory/out" | base64 -w0 >"$directory/parts" || exit 1
size=$(stat -c %s "$directory/parts") || exit 1
printf 'neuronkit %s %s %s %s\\n' "$code" "$size" "$directory" "$(tail -c 1500 "$directory/err" | base64 -w0)"
head -c {PART_CHARACTERS} "$directory/parts"
if (( size <= {PART_CHARACTERS} )); then rm -rf "$directory"; fi
"""
_PATH = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass
class SsmTransport:
    """`login_group_id` is PCS's; its instance is looked up once."""

    cloud: Cloud
    login_group_id: str
    slurm_version: str
    user: str
    mount_point: str | None
    """Of the shared file system, which has to be there."""
    pause: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    _instance_id: str | None = field(default=None, init=False)

    def run(self, script: str) -> Answer:
        content = base64.b64encode(gzip.compress(script.encode(), mtime=0)).decode()
        return self._whole(self._send(self._as_user(_WRAPPER, content, with_mount=True)))

    def _whole(self, invocation: Invocation) -> Answer:
        header, _, part = invocation.stdout.partition("\n")
        match = _HEADER.match(header)
        if match is None:
            raise self._spoiled(invocation)
        code, size, directory, stderr = match.groups()
        parts = [part.strip()]
        while (got := sum(map(len, parts))) < int(size):
            last = got + PART_CHARACTERS >= int(size)
            parts.append(self._part(directory, got, last=last))
        try:
            stdout = _unpacked("".join(parts))
        except (binascii.Error, OSError, EOFError, zlib.error) as error:
            raise WorldError(
                "the login node's answer came through damaged", "give the same command again"
            ) from error
        return Answer(stdout, base64.b64decode(stderr).decode(errors="replace"), int(code))

    def _part(self, directory: str, start: int, *, last: bool) -> str:
        text = f"tail -c +{start + 1} {directory}/parts | head -c {PART_CHARACTERS}"
        if last:
            text += f"; rm -rf {directory}"
        part = self._send(self._as_user(text, "", with_mount=False)).stdout.strip()
        if not part:
            raise WorldError("the rest of the login node's answer is gone", "give the same command again")
        return part

    def _as_user(self, text: str, argument: str, *, with_mount: bool) -> str:
        """For sh, as root."""
        command = shlex.join(["runuser", "-u", self.user, "--", "bash", "-c", text, "neuronkit", argument])
        path = f"PATH=/opt/aws/pcs/scheduler/slurm-{self.slurm_version}/bin:$PATH:{_PATH}\nexport PATH\n"
        check = self._mount_check() if with_mount else ""
        return f"{path}{check}cd /tmp\n{command}"

    def _mount_check(self) -> str:
        """Without it, directories would be made on the login node's own disk, where no node sees them."""
        if self.mount_point is None:
            return ""
        return f"mountpoint -q {shlex.quote(self.mount_point)} || exit {NOT_MOUNTED}\n"

    def _spoiled(self, invocation: Invocation) -> WorldError:
        if invocation.response_code == NOT_MOUNTED:
            return WorldError(
                f"the shared file system is not mounted at {self.mount_point} on the login node {self._instance_id}",
                "PCS mounts it when the node starts: see /var/log/amazon/pcs/lifecycle/actions on the node, then "
                f"`aws ec2 terminate-instances --instance-ids {self._instance_id}` makes PCS start another",
            )
        words = " ".join(f"{invocation.stderr} {invocation.stdout}".split())[-300:]
        return WorldError(
            f"the login node {self._instance_id} did not do what it was told: {words or invocation.details}",
            f"look at it: `aws ssm start-session --target {self._instance_id}`",
        )

    def _send(self, text: str) -> Invocation:
        instance_id = self._login_node()
        try:
            command_id = ssm.send_command(
                self.cloud, instance_id, text, DELIVERY_SECONDS_MAX, int(ANSWER_SECONDS_MAX)
            )
        except AwsError as error:
            if error.code in ("InvalidInstanceId", "InvalidInstanceIdException"):
                raise self._silent(instance_id, "SSM does not know it or its agent is offline") from error
            raise
        return self._wait(instance_id, command_id)

    def _wait(self, instance_id: str, command_id: str) -> Invocation:
        began, wait = self.clock(), 0.02 if self.cloud.is_local else 0.25
        while True:
            self.pause(wait)
            invocation = ssm.find_invocation(self.cloud, command_id, instance_id)
            if invocation is not None and invocation.has_ended:
                break
            if self.clock() - began > ANSWER_SECONDS_MAX:
                raise self._timed_out(instance_id, invocation)
            wait = min(wait * 1.5, 0.2 if self.cloud.is_local else 2.0)
        if invocation.was_run:
            return invocation
        if "execution" in invocation.details.lower():
            raise self._timed_out(instance_id, invocation)
        raise self._silent(instance_id, f"SSM says {invocation.details}")

    def _timed_out(self, instance_id: str, invocation: Invocation | None) -> WorldError:
        if invocation is None or invocation.status in ("Pending", "Delayed"):
            return self._silent(instance_id, f"it has not taken a command within {ANSWER_SECONDS_MAX:.0f} s")
        return WorldError(
            f"the login node {instance_id} has not finished a command within {ANSWER_SECONDS_MAX:.0f} s",
            "Slurm's controller may not answer: see the cluster's state with `neuronkit status FILE`; the same command continues "
            "from here",
        )

    def _silent(self, instance_id: str, why: str) -> WorldError:
        return WorldError(
            f"the login node {instance_id} does not answer: {why}",
            "a node that has just started needs some minutes; else look at "
            f"`aws ssm describe-instance-information --filters Key=InstanceIds,Values={instance_id}`, or let PCS replace it: "
            f"`aws ec2 terminate-instances --instance-ids {instance_id}`",
        )

    def _login_node(self) -> str:
        if self._instance_id is None:
            self._instance_id = running_login_node(self.cloud, self.login_group_id)
        return self._instance_id


def _unpacked(parts: str) -> bytes:
    """For Python, nothing at all is a whole archive; from gzip, even of nothing, it is not."""
    if not parts:
        raise EOFError
    return gzip.decompress(base64.b64decode(parts, validate=True))


def running_login_node(cloud: Cloud, login_group_id: str) -> str:
    """Raises WorldError with the state of what is there instead."""
    nodes = ec2_nodes.with_tag(cloud, PCS_NODE_GROUP_TAG, login_group_id)
    for node in nodes:
        if node.state == "running":
            return node.id
    if not nodes:
        raise WorldError(
            f"there is no login node: no instance is tagged {PCS_NODE_GROUP_TAG}={login_group_id}",
            "PCS starts it by itself, which takes some minutes after a deploy; `neuronkit status FILE` shows the cluster's state",
        )
    node = nodes[0]
    fix = {
        "pending": "it is starting: give the same command again in a minute",
        "stopped": f"start it: `aws ec2 start-instances --instance-ids {node.id}`",
    }.get(node.state, "PCS starts another by itself: give the same command again in some minutes")
    raise WorldError(f"the login node {node.id} is {node.state}", fix)
