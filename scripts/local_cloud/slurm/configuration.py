"""slurm.conf and gres.conf of a private Slurm. Known to Slurm 22.05 and later; no topology plugin, as on PCS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.local_cloud.slurm.virtual_group import VirtualGroup

CONTROLLER = "login-1"
"""The controller and the login node share a host name and a view of the files."""
NODES_MOUNT = "/virtual-nodes"
"""Where a node finds its own files: slurmd's sockets need a short path, and the directory may be a deep one."""
_REAL_MEMORY_MIB = 2_000_000


@dataclass(frozen=True, slots=True)
class Configuration:
    directory: Path
    groups: tuple[VirtualGroup, ...]
    partitions: Mapping[str, Sequence[str]]
    """Group names by partition."""
    controller_port: int
    loopback: str
    """The first three bytes of the nodes' addresses."""
    munge_socket: Path
    node_loss_seconds: int
    """How long a node may be silent before its jobs are requeued."""

    def addresses(self) -> dict[str, str]:
        names = [name for group in self.groups for name in group.node_names()]
        return {name: f"{self.loopback}.{number}" for number, name in enumerate(names, start=1)}

    def slurm_conf(self) -> str:
        return "\n".join([*self._controller(), *self._behaviour(), *self._nodes(), *self._partitions(), ""])

    def gres_conf(self) -> str:
        return "".join(
            f"NodeName={_span(group.name, 1, group.nodes)} Name=neuron File={_devices(group.counted)}\n"
            for group in self.groups
            if group.counted
        )

    def _controller(self) -> Iterator[str]:
        state, logs = self.directory / "state", self.directory / "log"
        yield "ClusterName=private"
        yield f"SlurmctldHost={CONTROLLER}(127.0.0.1)"
        yield f"SlurmctldPort={self.controller_port}"
        yield from ("SlurmUser=root", "SlurmdUser=root", "AuthType=auth/munge", "CredType=cred/munge")
        # A requeued job may start once the credential of its last run has expired.
        yield f"AuthInfo=socket={self.munge_socket},cred_expire=5"
        yield f"StateSaveLocation={state}"
        yield f"SlurmctldPidFile={state}/slurmctld.pid"
        yield f"SlurmctldLogFile={logs}/slurmctld.log"
        yield f"SlurmdSpoolDir={NODES_MOUNT}/%n/spool"
        yield f"SlurmdPidFile={NODES_MOUNT}/%n/slurmd.pid"
        yield f"SlurmdLogFile={logs}/%n.log"
        yield f"TaskProlog={self.directory}/etc/task_prolog"
        yield f"JobCompType=jobcomp/filetxt\nJobCompLoc={logs}/completed.txt"

    def _behaviour(self) -> Iterator[str]:
        yield from ("ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "MpiDefault=none")
        yield from ("JobAcctGatherType=jobacct_gather/none", "AccountingStorageType=accounting_storage/none")
        yield from ("SwitchType=switch/none", "PropagateResourceLimits=NONE", "ReturnToService=2")
        # How soon a lost node is noticed depends on both: 6 s and 3 s make about 10 s.
        yield f"SlurmctldTimeout=30\nSlurmdTimeout={self.node_loss_seconds}"
        yield "MessageTimeout=3\nBatchStartTimeout=30\nKillWait=30\nUnkillableStepTimeout=60"
        yield "InactiveLimit=0\nMinJobAge=3600\nWaittime=0\nJobRequeue=1"
        yield "SchedulerType=sched/backfill"
        yield (
            "SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1,bf_max_job_test=50"
        )
        # The nodes have the CPUs of the instance they stand for, not this machine's.
        yield "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nSlurmdParameters=config_overrides"
        if any(group.counted for group in self.groups):
            yield "GresTypes=neuron"

    def _nodes(self) -> Iterator[str]:
        first = 1
        for group in self.groups:
            names = _span(group.name, 1, group.nodes)
            last = first + group.nodes - 1
            words = [
                f"NodeName={names} NodeHostname={names} NodeAddr={_span(self.loopback, first, last, '.')}",
                f"Port=[{self.controller_port + first}-{self.controller_port + last}]",
                f"CPUs={group.cpus} Boards=1 SocketsPerBoard=1 CoresPerSocket={group.cpus} ThreadsPerCore=1",
                f"RealMemory={_REAL_MEMORY_MIB} Weight={group.weight} State=UNKNOWN",
                *([f"Feature={','.join(group.features)}"] if group.features else []),
                *([f"Gres=neuron:{group.counted}"] if group.counted else []),
            ]
            yield " ".join(words)
            first = last + 1

    def _partitions(self) -> Iterator[str]:
        for number, (partition, names) in enumerate(self.partitions.items()):
            members = [_span(group.name, 1, group.nodes) for group in self.groups if group.name in names]
            default = "YES" if number == 0 else "NO"
            yield f"PartitionName={partition} Nodes={','.join(members)} Default={default} MaxTime=INFINITE State=UP"


def _span(name: str, first: int, last: int, joint: str = "-") -> str:
    return f"{name}{joint}[{first}-{last}]" if last > first else f"{name}{joint}{first}"


def _devices(count: int) -> str:
    return f"/dev/neuron[0-{count - 1}]" if count > 1 else "/dev/neuron0"
