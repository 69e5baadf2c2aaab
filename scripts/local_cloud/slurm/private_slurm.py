"""A Slurm of one's own on this machine: munged, slurmctld and one slurmd for each virtual node, all in one directory.

A virtual node is a set of namespaces with its own host name, processes, devices and UltraServer place; nothing in it is
an instance, and its devices are /dev/null. Nothing of /etc/slurm, /run or /var is read or written, and everything ends
with the process that called `up()`. Several can run at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts.local_cloud.slurm import keeper, requirements
from scripts.local_cloud.slurm.configuration import CONTROLLER, NODES_MOUNT, Configuration
from scripts.local_cloud.slurm.ports import PortBlock, claim_ports
from scripts.local_cloud.slurm.virtual_group import VirtualGroup
from stacks.domain.errors import WorldError

EMULATED_ENVIRONMENTS = ("aws_neuronx_venv_jax_emulated", "aws_neuronx_venv_pytorch_2_9_emulated")
NODES_MAX = 128
"""A sensible load for one machine; also what one block of ports and loopback addresses takes."""
_UP_SECONDS = 60.0
_DOWN_SECONDS = 5.0
_ORDER_SECONDS = 30.0
_POLL_SECONDS = 0.05
_SOCKET_PATH_MAX = 100


class PrivateSlurm:
    """`node_environment`: variables that every task on a node gets, besides those it is submitted with.

    `programs_at`: a directory in which nodes find Slurm's commands, too, as where PCS installs them.
    """

    def __init__(
        self,
        directory: Path,
        groups: Sequence[VirtualGroup],
        partition: str | Mapping[str, Sequence[str]] = "all",
        *,
        shared_mount: str = "/shared",
        node_environment: Mapping[str, str] | None = None,
        node_loss_seconds: int = 6,
        programs_at: str | None = None,
    ) -> None:
        self.directory = directory.resolve()
        self.groups = tuple(groups)
        names = [group.name for group in groups]
        self.partitions = {partition: names} if isinstance(partition, str) else dict(partition)
        self.shared_mount = shared_mount
        self.shared_directory = self.directory / "shared"
        self._node_environment = dict(node_environment or {})
        self._node_loss_seconds = node_loss_seconds
        self._programs_at = programs_at
        self._process: subprocess.Popen[bytes] | None = None
        self._keeper_pid = 0
        self._ports: PortBlock | None = None
        self._socket_directory: Path | None = None

    @property
    def node_names(self) -> tuple[str, ...]:
        return tuple(name for group in self.groups for name in group.node_names())

    @property
    def environment(self) -> dict[str, str]:
        """For Slurm's commands in this machine's own shell."""
        return {"SLURM_CONF": str(self.directory / "etc" / "slurm.conf"), "PATH": requirements.search_path()}

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def consists_of(
        self, groups: Sequence[VirtualGroup], partitions: Mapping[str, Sequence[str]], shared_mount: str
    ) -> bool:
        """Whether it runs, and one made of these would be no other."""
        made_of = (tuple(groups), dict(partitions), shared_mount)
        return self.running and made_of == (self.groups, self.partitions, self.shared_mount)

    def up(self) -> None:
        """Returns when every node is idle. Raises SlurmMissingError, or WorldError with the daemons' words."""
        requirements.check()
        if len(self.node_names) > NODES_MAX:
            raise WorldError(
                f"a private Slurm of {len(self.node_names)} virtual nodes is more than one machine's {NODES_MAX}",
                f"emulate a smaller cluster: at most {NODES_MAX} nodes, the login node not counted",
            )
        try:
            self._ports = claim_ports(len(self.node_names) + 1)
            self._launch(self._lay_out())
            self._wait_until_idle()
        except BaseException:
            self.down()
            raise

    def down(self) -> None:
        """Ends everything, within a bounded time; the directory stays, with its logs."""
        process, self._process = self._process, None
        if process is not None:
            _end(process)
        if self._ports is not None:
            self._ports.release()
            self._ports = None
        if self._socket_directory is not None:
            shutil.rmtree(self._socket_directory, ignore_errors=True)
            self._socket_directory = None

    def __enter__(self) -> PrivateSlurm:
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    def kill_node(self, name: str, *, noticed: bool = False) -> None:
        """As an instance that is lost: slurmd and all tasks end at once.

        Slurm finds out by its own time-outs, unless it is told at once (`noticed`).
        """
        self._order({"kill": name})
        if noticed:
            self.run(["scontrol", "update", f"NodeName={name}", "State=DOWN", "Reason=instance lost"])

    def start_node(self, name: str) -> None:
        """A new machine of that name, in place of a lost one (or of the one that is there)."""
        self._order({"start": name})

    def login_command(self, argv: Sequence[str]) -> tuple[str, ...]:
        """What runs `argv` as on the login node: the nodes' files and the shared directory, no devices."""
        if not self.running:
            raise WorldError("the private Slurm is not running", f"its logs are in {self.directory / 'log'}")
        own_user = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")
        enter = ("nsenter", *own_user, "--mount", "--uts", "--pid", f"--target={self._keeper_pid}")
        return (*enter, "chroot", str(self._view(CONTROLLER)), *argv)

    def run(self, argv: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        """A short command on the login node, with its output as text; `check` is off."""
        environment = {**os.environ, **self.environment, **options.pop("env", {})}
        return subprocess.run(
            self.login_command(argv), env=environment, capture_output=True, text=True, check=False, **options
        )

    def states(self) -> dict[str, str]:
        """Slurm's word for each node, such as "idle" or "down*"."""
        answer = subprocess.run(
            ["sinfo", "--noheader", "--Node", "--format=%N %T"],
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )
        return dict(line.split()[:2] for line in answer.stdout.splitlines())

    def _view(self, name: str) -> Path:
        return self.directory / "views" / name

    def _lay_out(self) -> dict[str, Any]:
        assert self._ports is not None
        shutil.rmtree(self.directory, ignore_errors=True)
        for name in ("etc", "state", "log", "munge", "shared", "empty", "nodes"):
            (self.directory / name).mkdir(parents=True, mode=0o755)
        (self.directory / "shared").chmod(0o1777)
        configuration = Configuration(
            directory=self.directory,
            groups=self.groups,
            partitions=self.partitions,
            controller_port=self._ports.first,
            loopback=self._ports.loopback,
            munge_socket=self._munge_socket(),
            node_loss_seconds=self._node_loss_seconds,
        )
        etc = self.directory / "etc"
        (etc / "slurm.conf").write_text(configuration.slurm_conf())
        (etc / "gres.conf").write_text(configuration.gres_conf())
        (etc / "cgroup.conf").write_text("CgroupAutomount=no\n")
        self._write_task_prolog(etc / "task_prolog")
        self._write_emulated_environments()
        self._link_programs()
        return {
            "host_name": CONTROLLER,
            "views": [self._view_of(CONTROLLER, None), *(self._view_of(g.name, g) for g in self.groups)],
            "daemons": self._daemons(configuration.munge_socket),
            "nodes": self._lay_out_nodes(configuration.addresses()),
        }

    def _munge_socket(self) -> Path:
        """In the directory, unless that is too deep for a socket's path."""
        socket = self.directory / "munge" / "socket"
        if len(str(socket)) <= _SOCKET_PATH_MAX:
            return socket
        self._socket_directory = Path(tempfile.mkdtemp(prefix="neuronkit-munge-"))
        self._socket_directory.chmod(0o755)
        return self._socket_directory / "socket"

    def _write_task_prolog(self, path: Path) -> None:
        """Slurm takes the lines `export NAME=value` of its output into each task's environment."""
        lines = [
            f"printf 'export %s=%s\\n' {name} {shlex.quote(value)}"
            for name, value in self._node_environment.items()
        ]
        programs = str(Path(sys.executable).parent)
        lines.append(
            f'case ":$PATH:" in *:{programs}:*) ;; *) printf \'export PATH=%s\\n\' "{programs}:$PATH" ;; esac'
        )
        path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
        path.chmod(0o755)

    def _write_emulated_environments(self) -> None:
        """Neuron's virtual environments as a DLAMI has them, holding this machine's Python instead."""
        for name in EMULATED_ENVIRONMENTS:
            binaries = self.directory / "environments" / name / "bin"
            binaries.mkdir(parents=True)
            (binaries / "activate").write_text(
                f'export VIRTUAL_ENV=/opt/{name}\nexport PATH="/opt/{name}/bin:{Path(sys.executable).parent}:$PATH"\n'
            )
            for python in ("python", "python3"):
                (binaries / python).write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
                (binaries / python).chmod(0o755)

    def _link_programs(self) -> None:
        (self.directory / "programs").mkdir()
        for name in requirements.COMMANDS:
            found = shutil.which(name, path=requirements.search_path())
            if found:
                (self.directory / "programs" / name).symlink_to(found)

    def _view_of(self, name: str, group: VirtualGroup | None) -> dict[str, Any]:
        devices: dict[str, Any] = {}
        environments: dict[str, Any] = {}
        if group is not None:
            devices = {f"neuron{number}": "/dev/null" for number in range(group.neuron_devices)}
            devices["infiniband"] = {f"uverbs{number}": "/dev/null" for number in range(group.efa_devices)}
            environments = {one: str(self.directory / "environments" / one) for one in EMULATED_ENVIRONMENTS}
        tree: dict[str, Any] = {
            "dev": devices,
            "opt": environments,
            "sys": {"class": {"neuron_device": str(self.directory / "empty")}},
            NODES_MOUNT.removeprefix("/"): str(self.directory / "nodes"),
        }
        _plant(tree, self.shared_mount, str(self.shared_directory))
        if self._programs_at:
            _plant(tree, self._programs_at, str(self.directory / "programs"))
        return {"root": str(self._view(name)), "tree": tree}

    def _daemons(self, munge_socket: Path) -> list[dict[str, Any]]:
        munge, logs = self.directory / "munge", self.directory / "log"
        (munge / "key").write_bytes(secrets.token_bytes(128))
        (munge / "key").chmod(0o400)
        places = {"key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        options = [f"--{option}={munge / name}" for option, name in places.items()]
        munged = [
            _daemon("munged"),
            "--foreground",
            "--force",
            f"--socket={munge_socket}",
            "--num-threads=4",
            *options,
        ]
        conf = str(self.directory / "etc" / "slurm.conf")
        return [
            {"command": munged, "output": str(logs / "munged.out"), "socket": str(munge_socket)},
            {"command": [_daemon("slurmctld"), "-D", "-f", conf], "output": str(logs / "slurmctld.out")},
        ]

    def _lay_out_nodes(self, addresses: Mapping[str, str]) -> list[dict[str, Any]]:
        conf = str(self.directory / "etc" / "slurm.conf")
        nodes = []
        for group in self.groups:
            for index, name in enumerate(group.node_names()):
                home = self.directory / "nodes" / name
                (home / "spool").mkdir(parents=True)
                (home / "neuron_device").mkdir()
                for file, text in group.files_of(index).items():
                    (home / "neuron_device" / file).write_text(f"{text}\n")
                (home / "hosts").write_text(f"127.0.0.1 localhost\n{addresses[name]} {name}\n")
                command = [_daemon("slurmd"), "-D", "-N", name, "-f", conf]
                root = str(self._view(group.name))
                nodes.append({"name": name, "directory": str(home), "root": root, "command": command})
        return nodes

    def _launch(self, specification: Mapping[str, Any]) -> None:
        assert self._ports is not None
        command = ["unshare", *requirements.namespaces(), sys.executable, "-I", keeper.__file__]
        with (self.directory / "log" / "keeper.out").open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                env=self._daemon_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                pass_fds=(self._ports.descriptor,),
            )
        self._order(specification)
        self._keeper_pid = _only_child(self._process.pid)

    def _daemon_environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("LANG", "LC_ALL", "HOME") if name in os.environ}
        return {**kept, **self.environment}

    def _order(self, order: Mapping[str, Any]) -> None:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise WorldError("the private Slurm is not running", "start it first")
        try:
            process.stdin.write(json.dumps(order).encode() + b"\n")
            process.stdin.flush()
            ready = select.select([process.stdout], [], [], _ORDER_SECONDS)[0]
            line = process.stdout.readline() if ready else b""
        except BrokenPipeError:
            line = b""
        answer = json.loads(line) if line else {"error": "its keeper does not answer"}
        if "error" in answer:
            raise WorldError(f"the private Slurm failed: {answer['error']}", self._log_tail("keeper.out"))

    def _wait_until_idle(self) -> None:
        deadline = time.monotonic() + _UP_SECONDS
        names = set(self.node_names)
        while True:
            states = self.states()
            if names <= {name for name, state in states.items() if state == "idle"}:
                return
            if not self.running or time.monotonic() > deadline:
                raise WorldError(
                    f"the private Slurm did not come up in {_UP_SECONDS:.0f} s: {states or 'no controller answers'}",
                    self._log_tail("slurmctld.out") + self._log_tail("slurmctld.log"),
                )
            time.sleep(_POLL_SECONDS)

    def _log_tail(self, name: str) -> str:
        path = self.directory / "log" / name
        lines = path.read_text(errors="replace").splitlines()[-10:] if path.exists() else []
        return f"the end of {path}:\n" + "\n".join(lines)


def _plant(tree: dict[str, Any], path: str, content: str) -> None:
    *parents, last = Path(path).parts[1:]
    for name in parents:
        tree = tree.setdefault(name, {})
    tree[last] = content


def _daemon(name: str) -> str:
    return shutil.which(name, path=requirements.search_path()) or name


def _end(process: subprocess.Popen[bytes]) -> None:
    """The keeper ends when its input does; the kernel then ends all of its process-id namespace."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    try:
        process.wait(_DOWN_SECONDS)
    except subprocess.TimeoutExpired:
        # `unshare --kill-child` takes the namespace with it.
        process.send_signal(signal.SIGKILL)
        process.wait(_DOWN_SECONDS)


def _only_child(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0])
