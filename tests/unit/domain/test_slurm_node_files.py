"""What a Slurm node runs: user data at its first boot, and the setup script before slurmd at every boot."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import message_from_string
from pathlib import Path

import pytest

from stacks.domain.plan import ClusterPlan
from stacks.domain.render.node_bootstrap import TORCH_ROOT_COMMUNICATION_PORT
from stacks.domain.render.node_user_data import BYTES_MAX
from stacks.domain.render.slurm_node_setup import (
    MOUNT_ATTEMPTS,
    RESERVED_PORTS,
    compute_node_setup,
    login_node_setup,
)
from stacks.domain.render.slurm_node_user_data import slurm_node_user_data
from tests.environments import plan_of

LUSTRE = {"kind": "lustre", "capacity_gib": 1200, "mount_point": "/fsx"}
CHANGES = {
    "trn1": {},
    "trn1-lustre": {"clusters.train.slurm": {"shared_storage": LUSTRE}},
    "trn1-small": {"clusters.train.instance_type": "trn1.2xlarge", "clusters.train.nodes": 1},
    "trn2-lnc1": {"clusters.train.instance_type": "trn2.48xlarge", "clusters.train.logical_core_size": 1},
}
every_cluster = pytest.mark.parametrize("name", CHANGES)


def cluster_of(name: str) -> ClusterPlan:
    slurm = {"clusters.train.scheduler": "slurm", "clusters.train.slurm": {"shared_storage": {"kind": "efs"}}}
    return plan_of({**slurm, **CHANGES[name]}).cluster("train")


def scripts(name: str) -> Iterator[str]:
    yield compute_node_setup(cluster_of(name))
    yield login_node_setup(cluster_of(name))
    yield user_data_script(name)


def user_data_script(name: str) -> str:
    archive = message_from_string(slurm_node_user_data(cluster_of(name)))
    assert archive.get_content_type() == "multipart/mixed"
    (part,) = archive.get_payload()
    assert part.get_content_type() == "text/x-shellscript"  # type: ignore[union-attr]
    payload = part.get_payload()  # type: ignore[union-attr]
    assert isinstance(payload, str)
    return payload


class TestUserData:
    @every_cluster
    def test_it_is_small_ascii_and_has_its_closing_boundary(self, name: str) -> None:
        """PCS joins it with a part of its own; an archive that does not end swallows that."""
        text = slurm_node_user_data(cluster_of(name))
        assert text.isascii()
        assert len(text) < BYTES_MAX
        (boundary,) = re.findall('boundary="(.*)"', text)
        assert text.endswith(f"\n\n--{boundary}--\n")

    @every_cluster
    def test_the_driver_is_loaded_before_its_devices_are_waited_for(self, name: str) -> None:
        script = user_data_script(name)
        assert script.startswith("#!/bin/bash\n")
        assert script.index("modprobe neuron") < script.index("find /dev")
        assert f'"$found" -lt {cluster_of(name).chips_per_node} ]]' in script


@every_cluster
def test_bash_and_shellcheck_accept_the_scripts(name: str, tmp_path: Path) -> None:
    file = tmp_path / "script.sh"
    shellcheck = shutil.which("shellcheck", path=str(Path(sys.executable).parent)) or "shellcheck"
    for script in scripts(name):
        file.write_text(script)
        for command in (["bash", "-n", file], [shellcheck, file]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr


@every_cluster
def test_nothing_is_installed_at_boot(name: str) -> None:
    """Half an hour is all that a node has, and what is installed by hand computes wrong numbers."""
    for script in scripts(name):
        assert not re.search(r"\b(apt|apt-get|pip|curl|wget|dnf|installer)\b", script)


@dataclass
class Machine:
    """A root directory of its own, and tools that write down how they were called."""

    root: Path
    bodies: dict[str, str] = field(default_factory=dict)

    def devices(self, *, neuron: int, efa: int) -> None:
        (self.root / "dev/infiniband").mkdir(parents=True, exist_ok=True)
        for index in range(neuron):
            (self.root / f"dev/neuron{index}").touch()
        for index in range(efa):
            (self.root / f"dev/infiniband/uverbs{index}").touch()

    def run(self, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        for path in ("/dev", "/etc/sysctl.d", "/opt/aws/neuron"):
            script = script.replace(path, f"{self.root}{path}")
        (self.root / "etc/sysctl.d").mkdir(parents=True, exist_ok=True)
        (self.root / "opt/aws/neuron").mkdir(parents=True, exist_ok=True)
        tools = self.root / "bin"
        tools.mkdir(exist_ok=True)
        for name in ("modprobe", "sysctl", "mountpoint", "mount", "install", "sleep"):
            body = self.bodies.get(name, "exit 1" if name == "mountpoint" else "")
            file = tools / name
            file.write_text(f'#!/bin/bash\necho "{name} $*" >>{self.root}/calls\n{body}\n')
            file.chmod(0o755)
        return subprocess.run(
            ["bash", "-c", script, "node-setup", *arguments],
            env={"PATH": f"{tools}:{os.defpath}"},
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def calls(self) -> list[str]:
        file = self.root / "calls"
        return file.read_text().splitlines() if file.exists() else []

    def called(self, name: str) -> list[str]:
        return [call for call in self.calls if call.split()[0] == name]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


class TestSetupOfComputeNodes:
    def test_efs_is_mounted_with_tls_and_jobs_may_write_there(self, machine: Machine) -> None:
        machine.devices(neuron=16, efa=8)
        done = machine.run(compute_node_setup(cluster_of("trn1")), "fs-0123")
        assert done.returncode == 0, done.stderr
        assert machine.called("mount") == ["mount -t efs -o tls fs-0123:/ /shared"]
        assert machine.calls[-1] == "install -d -o ubuntu -g ubuntu /shared/neuronkit"

    def test_lustre_is_mounted_with_locks_for_files_of_many_nodes(self, machine: Machine) -> None:
        machine.devices(neuron=16, efa=8)
        done = machine.run(compute_node_setup(cluster_of("trn1-lustre")), "fs-1.fsx.aws", "abcdef")
        assert done.returncode == 0, done.stderr
        assert machine.called("mount") == ["mount -t lustre -o noatime,flock fs-1.fsx.aws@tcp:/abcdef /fsx"]

    def test_the_ports_of_jobs_are_kept_free(self, machine: Machine) -> None:
        machine.devices(neuron=16, efa=8)
        machine.run(compute_node_setup(cluster_of("trn1")), "fs-0123")
        text = (machine.root / "etc/sysctl.d/90-neuronkit.conf").read_text()
        assert text == "net.ipv4.ip_local_reserved_ports = 41000,41001,41002,62182\n"
        assert TORCH_ROOT_COMMUNICATION_PORT in RESERVED_PORTS
        assert len(machine.called("sysctl")) == 1

    def test_cores_are_joined_as_planned_where_they_can_be(self, machine: Machine) -> None:
        machine.devices(neuron=16, efa=16)
        machine.run(compute_node_setup(cluster_of("trn2-lnc1")), "fs-0123")
        text = (machine.root / "opt/aws/neuron/logical_nc_config").read_text()
        assert text == "NEURON_LOGICAL_NC_CONFIG=1\n"
        assert "logical_nc_config" not in compute_node_setup(cluster_of("trn1"))

    def test_a_missing_device_stops_the_node_and_is_named(self, machine: Machine) -> None:
        machine.devices(neuron=15, efa=8)
        done = machine.run(compute_node_setup(cluster_of("trn1")), "fs-0123")
        assert done.returncode != 0
        assert "16 Neuron devices expected, 15 found" in done.stderr
        assert machine.called("mount") == []

    def test_devices_may_come_late(self, machine: Machine) -> None:
        machine.devices(neuron=15, efa=8)
        machine.bodies["sleep"] = f"touch {machine.root}/dev/neuron15"
        assert machine.run(compute_node_setup(cluster_of("trn1")), "fs-0123").returncode == 0
        assert len(machine.called("sleep")) == 1

    def test_a_driver_that_cannot_be_loaded_stops_the_node(self, machine: Machine) -> None:
        machine.devices(neuron=16, efa=8)
        machine.bodies["modprobe"] = "exit 1"
        assert machine.run(compute_node_setup(cluster_of("trn1")), "fs-0123").returncode != 0
        assert machine.calls == ["modprobe neuron"]

    @pytest.mark.parametrize("efa", [0, 7, 9])
    def test_another_number_of_efa_devices_stops_the_node(self, machine: Machine, efa: int) -> None:
        machine.devices(neuron=16, efa=efa)
        done = machine.run(compute_node_setup(cluster_of("trn1")), "fs-0123")
        assert done.returncode != 0
        assert f"8 EFA devices expected, {efa} found" in done.stderr

    def test_a_type_without_efa_has_none(self, machine: Machine) -> None:
        machine.devices(neuron=1, efa=0)
        assert machine.run(compute_node_setup(cluster_of("trn1-small")), "fs-0123").returncode == 0


class TestMount:
    def test_at_the_next_boot_or_a_second_run_it_is_there_already(self, machine: Machine) -> None:
        machine.bodies["mountpoint"] = "exit 0"
        assert machine.run(login_node_setup(cluster_of("trn1")), "fs-0123").returncode == 0
        assert machine.called("mount") == []

    def test_a_name_that_is_not_known_yet_is_tried_again(self, machine: Machine) -> None:
        machine.bodies["mount"] = f'[[ "$(grep -c "^mount " {machine.root}/calls)" -ge 3 ]]'
        assert machine.run(login_node_setup(cluster_of("trn1")), "fs-0123").returncode == 0
        assert len(machine.called("mount")) == 3

    def test_what_cannot_be_mounted_ends_the_node_and_is_named(self, machine: Machine) -> None:
        machine.bodies["mount"] = "exit 32"
        done = machine.run(login_node_setup(cluster_of("trn1")), "fs-0123")
        assert done.returncode != 0
        assert "fs-0123 cannot be mounted at /shared" in done.stderr
        assert len(machine.called("mount")) == MOUNT_ATTEMPTS
        assert "neuronkit" not in "".join(machine.calls), "nothing is made below an empty mount point"

    def test_the_login_node_does_nothing_else(self, machine: Machine) -> None:
        assert machine.run(login_node_setup(cluster_of("trn2-lnc1")), "fs-0123").returncode == 0
        assert {call.split()[0] for call in machine.calls} == {"mountpoint", "install", "mount"}
