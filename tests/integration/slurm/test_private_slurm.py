"""The private Slurm that jobs are tested on behaves as what it stands for, and leaves nothing behind."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scripts.local_cloud.slurm import requirements
from scripts.local_cloud.slurm.private_slurm import NODES_MAX, PrivateSlurm
from scripts.local_cloud.slurm.virtual_group import VirtualGroup
from stacks.domain.errors import WorldError
from tests.slurm import job_fields, needs_slurm, private_slurm, processes_of, submit, wait_for

pytestmark = needs_slurm

NODE = "trn2u-48xlarge-us1-3"


def on_node(slurm: PrivateSlurm, node: str, script: str) -> str:
    answer = slurm.run(["srun", "--nodes=1", f"--nodelist={node}", "bash", "-c", script])
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_a_node_has_the_devices_and_the_place_of_what_it_stands_for(slurm: PrivateSlurm) -> None:
    script = "hostname; ls /dev | grep -c '^neuron'; ls /dev/infiniband | wc -l; cd /sys/class/neuron_device; cat server_id_4 node_id_4"
    assert on_node(slurm, NODE, script).split() == [NODE, "16", "16", "server-1", "2"]


def test_the_login_node_has_no_devices_but_the_shared_files(slurm: PrivateSlurm) -> None:
    on_node(slurm, NODE, "echo from-the-node >/shared/note")
    answer = slurm.run(["sh", "-c", "ls /dev | grep -c '^neuron'; cat /shared/note"])
    assert answer.stdout.split() == ["0", "from-the-node"]


@pytest.mark.parametrize("framework", ["jax", "pytorch_[0-9]_[0-9]*"])
def test_activating_an_environment_gives_our_python(slurm: PrivateSlurm, framework: str) -> None:
    script = (
        f"source /opt/aws_neuronx_venv_{framework}/bin/activate; python3 -c 'import sys; print(sys.prefix)'"
    )
    assert on_node(slurm, NODE, script).strip() == sys.prefix


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--gres=neuron:17"], "Requested node configuration is not available"),
        (["--gres=gpu:1"], "Invalid generic resource"),
        (["--nodes=9"], "Requested node configuration is not available"),
        (["--cpus-per-task=97"], "Requested node configuration is not available"),
        (["--constraint=us7"], "Invalid feature specification"),
        (["--partition=other"], "invalid partition"),
    ],
)
def test_what_the_nodes_cannot_give_is_refused(slurm: PrivateSlurm, options: list[str], says: str) -> None:
    answer = slurm.run(["sbatch", "--test-only", *options, "--wrap=true"])
    assert answer.returncode != 0
    assert says in answer.stderr


def test_devices_in_use_are_not_given_twice(slurm: PrivateSlurm) -> None:
    holder = submit(slurm, "--gres=neuron:9", f"--nodelist={NODE}", wrap="sleep 600")
    wait_for("the first job runs", lambda: job_fields(slurm, holder)["JobState"] == "RUNNING")
    second = submit(slurm, "--gres=neuron:8", f"--nodelist={NODE}", wrap="true")
    wait_for("Slurm says why", lambda: job_fields(slurm, second)["Reason"] not in ("None", "Priority"))
    assert job_fields(slurm, second)["JobState"] == "PENDING"
    slurm.run(["scancel", holder])
    wait_for("the second job ends", lambda: job_fields(slurm, second)["JobState"] == "COMPLETED")


def test_a_constraint_places_a_job_in_one_whole_ultraserver(slurm: PrivateSlurm) -> None:
    holder = submit(slurm, "--exclusive", f"--nodelist={NODE}", wrap="sleep 600")
    wait_for("one node is busy", lambda: job_fields(slurm, holder)["JobState"] == "RUNNING")
    whole = submit(slurm, "--exclusive", "--nodes=4", "--constraint=[us0|us1]", wrap="true")
    wait_for("the job ends", lambda: job_fields(slurm, whole)["JobState"] == "COMPLETED")
    assert job_fields(slurm, whole)["NodeList"] == "trn2u-48xlarge-us0-[1-4]"
    slurm.run(["scancel", holder])


def test_a_lost_node_is_noticed_its_job_requeued_and_a_new_one_joins(slurm: PrivateSlurm) -> None:
    script = 'if [ -z "$SLURM_RESTART_COUNT" ]; then sleep 600; fi; echo "attempt $SLURM_RESTART_COUNT on $SLURMD_NODENAME"'
    job = submit(slurm, "--requeue", "--exclusive", "--nodes=1", wrap=script)
    wait_for("the job runs", lambda: job_fields(slurm, job)["JobState"] == "RUNNING")
    lost = job_fields(slurm, job)["NodeList"]
    slurm.kill_node(lost)
    wait_for("the job ran again", lambda: job_fields(slurm, job)["JobState"] == "COMPLETED")
    output = (slurm.shared_directory / f"{job}.out").read_text()
    assert "attempt 1" in output
    assert f"on {lost}\n" not in output
    slurm.start_node(lost)
    wait_for("the node is back", lambda: slurm.states()[lost] == "idle")
    assert on_node(slurm, lost, "hostname").strip() == lost


def test_64_nodes_beside_another_instance_and_nothing_left(slurm: PrivateSlurm) -> None:
    groups = [VirtualGroup(f"group{index}", 16, ("trn1",), 64, 16, 8) for index in range(4)]
    began = time.monotonic()
    with private_slurm(groups, "many") as many:
        assert time.monotonic() - began < 30
        answer = many.run(["srun", "--nodes=64", "--exclusive", "hostname"])
        assert sorted(answer.stdout.split()) == sorted(many.node_names), answer.stderr
        assert processes_of(many.directory)
        ending = time.monotonic()
        many.down()
        assert time.monotonic() - ending < 10
        assert processes_of(many.directory) == []
    assert set(slurm.states().values()) == {"idle"}


def test_the_death_of_whoever_started_it_ends_it(tmp_path: Path) -> None:
    directory = tmp_path / "slurm"
    program = (
        "import pathlib, time\n"
        "from scripts.local_cloud.slurm.private_slurm import PrivateSlurm\n"
        "from scripts.local_cloud.slurm.virtual_group import VirtualGroup\n"
        f"PrivateSlurm(pathlib.Path({str(directory)!r}), [VirtualGroup('group', 2)]).up()\n"
        "print('up', flush=True)\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    try:
        assert parent.stdout.readline() == "up\n"
        assert processes_of(directory)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        parent.stdout.close()
    wait_for("no daemon is left", lambda: processes_of(directory) == [], seconds=10)


def test_more_nodes_than_a_machine_takes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match=f"more than one machine's {NODES_MAX}"):
        PrivateSlurm(tmp_path / "slurm", [VirtualGroup("group", NODES_MAX + 1)]).up()


def test_a_machine_without_slurm_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = shutil.which
    monkeypatch.setattr(
        shutil, "which", lambda name, **options: None if name == "slurmctld" else real(name, **options)
    )
    with pytest.raises(requirements.SlurmMissingError, match="slurmctld") as refusal:
        PrivateSlurm(tmp_path / "slurm", [VirtualGroup("group", 1)]).up()
    assert "apt-get install" in refusal.value.hint


def test_a_directory_too_deep_for_a_socket_does_not_matter(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    with PrivateSlurm(deep, [VirtualGroup("group", 1)]) as running:
        answer = running.run(["srun", "hostname"])
        assert answer.stdout.strip() == "group-1", answer.stderr + (deep / "log/group-1.log").read_text()
