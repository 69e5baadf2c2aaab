"""What the containers of a fleet must say, whatever their text is."""

from __future__ import annotations

import base64
import io
import json
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from stacks.domain.errors import KitError
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.plan import Plan
from stacks.domain.render.engine_container import COMMAND_BYTES_MAX, EngineContainer, Mount, Ulimit
from stacks.domain.render.engines import (
    compile_container,
    compile_target,
    engine_container,
    fallback_container,
)
from stacks.domain.render.travelling_program import travelling_program
from stacks.domain.rendered_files import rendered_files
from stacks.domain.rendered_fleets import fleet_containers, fleet_texts
from stacks.domain.rules.fleet_engines import KIT_VARIABLES
from tests.environments import plan_of
from tests.unit.domain.fleet_cases import LLAMA, VLLM, custom, encoder, fleet, inf1, large, trn2

SECRET = "arn:aws:secretsmanager:us-east-2:111122223333:secret:hf-AbCdEf"
HF = {**LLAMA, "source": "hf:meta-llama/Llama-3.1-8B", "revision": "abc", "token": SECRET}
GPU = {"instance_type": "g5.12xlarge", "capacity": "hourly", "gpus_per_replica": 2}
CASES = {
    "nxdi": fleet(model=HF),
    "nxdi-slices": large(replicas={"maximum": 3}),
    "neuron": trn2(token_buckets=[512, 2048], sequence_buckets=[1, 8], engine_arguments=["--enable-auto-tool-choice"]),
    "neuron-cpu": trn2(compile_on="cpu", fallback=GPU),
    "neuron-029": trn2(image=f"{VLLM}:0.29.0.1.2.0-neuronx-py314-sdk2.33.0-ubuntu26.04"),
    "encoder": encoder(sequences=8),
    "inf1": inf1(),
    "custom": custom(command=["python3", "serve.py", "--greeting", "it's $5"], artifacts="none"),
}  # fmt: skip


def planned(changes: dict[str, Any]) -> tuple[Plan, FleetPlan]:
    plan = plan_of(changes)
    return plan, plan.fleet("chat")


def engine(changes: dict[str, Any], index: int = 0) -> EngineContainer:
    plan, found = planned(changes)
    return engine_container(plan, found, found.slices[index])


def last_command(container: EngineContainer) -> list[str]:
    return shlex.split(container.command[0].splitlines()[-1])


def option(container: EngineContainer, name: str) -> str | None:
    words = last_command(container)
    return words[words.index(name) + 1] if name in words else None


def variables(container: EngineContainer) -> dict[str, str]:
    return dict(container.environment)


@pytest.mark.parametrize("case", CASES)
def test_the_engine_becomes_the_first_process(case: str) -> None:
    for _, container in fleet_containers(*planned(CASES[case])):
        assert container.entry_point == ("sh", "-c")
        assert len(container.command) == 1
        assert last_command(container)[0] == "exec"


@pytest.mark.parametrize("case", CASES)
def test_commands_leave_room_in_the_task_definition(case: str) -> None:
    for _, container in fleet_containers(*planned(CASES[case])):
        assert len(container.command[0].encode()) < 32 * 1024 < COMMAND_BYTES_MAX


@pytest.mark.parametrize("case", CASES)
def test_shellcheck_has_nothing_to_say(case: str, tmp_path: Path) -> None:
    for path, text in fleet_texts(*planned(CASES[case])):
        if path.suffix != ".sh":
            continue
        file = tmp_path / path.name
        file.write_text(text)
        shellcheck = Path(sys.executable).with_name("shellcheck")
        found = subprocess.run([shellcheck, "-s", "sh", file], capture_output=True, text=True, check=False)
        assert (found.returncode, found.stdout) == (0, "")


def test_devices_of_slices_are_disjoint_and_keep_their_numbers() -> None:
    plan, found = planned(CASES["nxdi-slices"])
    containers = [engine_container(plan, found, place) for place in found.slices]
    assert [c.devices for c in containers] == [
        tuple(f"/dev/neuron{n}" for n in chips) for chips in (range(4), range(4, 8), range(8, 12))
    ]
    assert [c.port for c in containers] == [8080, 8081, 8082]
    assert [variables(c)["NEURON_RT_VISIBLE_CORES"] for c in containers] == ["0-7", "8-15", "16-23"]
    assert [option(c, "--port") for c in containers] == ["8080", "8081", "8082"]


def test_a_replica_alone_on_its_node_sees_all_cores() -> None:
    assert "NEURON_RT_VISIBLE_CORES" not in variables(engine(fleet()))


def test_vllm_has_what_ecs_must_grant() -> None:
    container = engine(fleet())
    assert set(container.capabilities) == {"SYS_ADMIN", "IPC_LOCK"}
    assert "SYS_ADMIN" in container.security_note
    assert Ulimit("memlock", -1, -1) in container.ulimits
    assert container.shared_memory_mib == 10_240
    assert engine(large(tensor_parallel=1)).shared_memory_mib is None
    assert container.mounts == (Mount("artifacts", "/neuronkit/artifacts"),)


def test_an_encoder_has_no_right_to_administer_its_host() -> None:
    assert engine(encoder()).capabilities == ("IPC_LOCK",)


def test_times_agree() -> None:
    changes = trn2(longest_request_seconds=600)
    container, times = engine(changes), planned(changes)[1].times
    assert int(variables(container)["VLLM_HTTP_TIMEOUT_KEEP_ALIVE"]) > times.idle_timeout
    assert option(container, "--shutdown-timeout") == "600"
    assert container.stop_timeout_seconds >= 630


@pytest.mark.parametrize("changes", [fleet(), trn2(image="registry.example.com/mine:latest-build")])
def test_a_version_that_may_not_know_a_shutdown_timeout_gets_none(changes: dict[str, Any]) -> None:
    assert option(engine(changes), "--shutdown-timeout") is None


def test_nxdi_computes_its_blocks() -> None:
    assert option(engine(fleet(sequences=6)), "--num-gpu-blocks-override") == "6"
    cached = fleet(sequences=6, context_tokens=1000, engine_arguments=["--enable-prefix-caching"])
    assert option(engine(cached), "--num-gpu-blocks-override") == str(32 * 6)
    assert "--no-enable-prefix-caching" in last_command(engine(fleet()))
    assert "--no-enable-prefix-caching" not in last_command(engine(cached))


def test_nxdi_spells_its_override_as_the_plugin_reads_it() -> None:
    given = ["--additional-config", '{"override_neuron_config": {"enable_bucketing": false}}']
    words = last_command(engine(fleet(engine_arguments=given)))
    assert words.count("--additional-config") == 1
    found = words[words.index("--additional-config") + 1]
    assert json.loads(found) == {"override_neuron_config": {"enable_bucketing": False}}
    assert "--device" not in words


def test_the_files_config_and_its_buckets_become_one_option() -> None:
    given = ["--additional-config", '{"neuron_config": {"kv_segment_size_buckets": [2048]}}']
    words = last_command(engine(trn2(token_buckets=[2048], engine_arguments=given)))
    assert words.count("--additional-config") == 1
    assert json.loads(words[words.index("--additional-config") + 1]) == {
        "neuron_config": {"num_batched_tokens_buckets": [2048], "kv_segment_size_buckets": [2048]}
    }


def test_the_largest_bucket_is_the_limit() -> None:
    assert option(engine(CASES["neuron"]), "--max-num-batched-tokens") == "2048"
    assert option(engine(trn2()), "--max-num-batched-tokens") is None


def test_the_backend_is_named_where_unset_means_cold() -> None:
    assert variables(engine(CASES["neuron-029"]))["VLLM_NEURON_BACKEND"] == "neuron_native"
    assert "VLLM_NEURON_BACKEND" not in variables(engine(trn2()))


def test_no_efa_is_said_to_the_engine_that_looks_for_it() -> None:
    assert variables(engine(trn2()))["NEURON_SKIP_EFA_AFFINITY"] == "1"


def test_metrics_of_a_former_process_are_removed() -> None:
    container = engine(fleet())
    assert variables(container)["PROMETHEUS_MULTIPROC_DIR"].startswith("/var/tmp/")
    assert 'rm -rf "$PROMETHEUS_MULTIPROC_DIR"' in container.command[0]


def test_the_token_is_a_reference() -> None:
    container = engine(fleet(model=HF))
    assert ("HF_TOKEN", SECRET) in container.secrets
    assert SECRET not in container.command[0]
    assert "--revision abc" in container.command[0]


def test_only_a_model_of_the_bucket_needs_the_bucket() -> None:
    assert engine(fleet()).needs_bucket
    assert not engine(fleet(model=HF)).needs_bucket


def test_the_compile_task_on_cpus_has_no_chips_and_no_rights() -> None:
    container = compile_container(*planned(CASES["neuron-cpu"]))
    assert container is not None
    assert (container.devices, container.capabilities, container.security_note) == ((), (), "")
    assert variables(container)["VLLM_NEURON_CPU_COMPILE"] == "1"
    assert variables(container)["NEURON_PLATFORM_TARGET_OVERRIDE"] == "trn2"
    assert "VLLM_NEURON_CPU_COMPILE" not in variables(engine(CASES["neuron-cpu"]))


@pytest.mark.parametrize("case", ["nxdi", "encoder", "neuron"])
def test_the_compile_task_of_other_engines_has_the_chips_of_a_replica(case: str) -> None:
    container = compile_container(*planned(CASES[case]))
    assert container is not None
    assert container.devices == engine(CASES[case]).devices


@pytest.mark.parametrize(
    "changes",
    [trn2(compile_on="start"), trn2(artifacts="none"), CASES["custom"]],
    ids=["start", "none", "custom"],
)
def test_nothing_is_compiled_beforehand(changes: dict[str, Any]) -> None:
    assert compile_container(*planned(changes)) is None
    assert 'engine.pyz" load' not in engine(changes).command[0]


def test_the_compile_task_saves_where_the_replicas_load() -> None:
    compiles = compile_container(*planned(CASES["neuron"]))
    assert compiles is not None
    words = shlex.split(compiles.command[0], comments=True)
    load = shlex.split(engine(CASES["neuron"]).command[0], comments=True)
    for name in ("--shared", "--local", "--manifest"):
        assert words[words.index(name) + 1] == load[load.index(name) + 1]
    assert variables(compiles)["VLLM_CACHE_ROOT"] == words[words.index("--local") + 1]


def test_the_gpu_side_answers_alike() -> None:
    plan, found = planned(CASES["neuron-cpu"])
    gpu, neuron = fallback_container(plan, found), engine(CASES["neuron-cpu"])
    for name in ("--served-model-name", "--max-model-len", "--max-num-seqs", "--shutdown-timeout"):
        assert option(gpu, name) == option(neuron, name) is not None
    assert option(gpu, "--tensor-parallel-size") == "2"
    assert (gpu.gpus, gpu.devices, gpu.capabilities) == (2, (), ())
    assert variables(gpu)["OPT_OUT_TRACKING"] == "true"
    assert not any(name.startswith("NEURON") for name in variables(gpu))
    assert gpu.shared_memory_mib == 10_240


def test_the_gpu_side_gets_no_option_of_neurons() -> None:
    given = ["--additional-config", '{"neuron_config": {}}', "--enable-auto-tool-choice"]
    plan, found = planned(trn2(engine_arguments=given, fallback=GPU))
    words = last_command(fallback_container(plan, found))
    assert "--enable-auto-tool-choice" in words
    assert "--additional-config" not in words


def test_a_fleet_without_fallback_is_refused() -> None:
    with pytest.raises(KitError, match="no fallback"):
        fallback_container(*planned(fleet()))


def test_a_command_that_does_not_fit_is_refused() -> None:
    with pytest.raises(KitError, match="bytes"):
        engine(trn2(engine_arguments=["x" * COMMAND_BYTES_MAX]))


def test_a_custom_engine_gets_port_and_model() -> None:
    container = engine(CASES["custom"])
    assert variables(container)["PORT"] == "8080"
    assert last_command(container) == ["exec", "python3", "serve.py", "--greeting", "it's $5"]
    assert 'export MODEL_DIR="$model"' in container.command[0]
    assert container.mounts == ()


def test_encoders_are_ready_when_warm() -> None:
    container = engine(CASES["encoder"])
    assert container.health_path == "/ready"
    assert (option(container, "--batches"), option(container, "--lengths")) == ("1,2,4,8", "128,256,512")
    assert option(container, "--backend") == "torch-neuronx"
    assert option(engine(inf1()), "--backend") == "torch-neuron"


@pytest.mark.parametrize(
    ("name", "target"), [("trn2u.48xlarge", "trn2"), ("trn2.3xlarge", "trn2"), ("inf2.xlarge", "inf2")]
)
def test_the_compilers_word_for_a_chip(name: str, target: str) -> None:
    assert compile_target(name) == target


@pytest.mark.parametrize("name", ["engine", "encoder"])
def test_a_travelling_program_has_all_its_modules_and_always_the_same_bytes(name: str) -> None:
    text = travelling_program(name)
    travelling_program.cache_clear()
    assert travelling_program(name) == text
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(text))) as archive:
        names = set(archive.namelist())
    modules = {p.name for p in Path("stacks/payload", name).glob("*.py")} - {"__main__.py"}
    assert names == {"__main__.py", f"{name}/__init__.py", *(f"{name}/{module}" for module in modules)}


def test_every_variable_of_the_kit_is_refused_in_a_file() -> None:
    """A file's value would be lost; what a recipe sets, it may set."""
    for case in CASES.values():
        for _, container in fleet_containers(*planned(case)):
            assert set(variables(container)) <= KIT_VARIABLES


def test_a_recipe_says_what_a_family_needs_and_the_file_goes_before_it() -> None:
    gpt = {**LLAMA, "family": "gpt-oss"}
    container = engine(trn2(model=gpt))
    assert json.loads(option(container, "--hf-overrides") or "") == {"quantization_config": {}}
    assert variables(container)["VLLM_NEURON_COMPILATION_TIMEOUT"] == "1200"
    own = engine(
        trn2(
            model=gpt,
            engine_arguments=["--hf-overrides", "{}"],
            environment={"VLLM_NEURON_COMPILATION_TIMEOUT": "9"},
        )
    )
    assert last_command(own).count("--hf-overrides") == 1
    assert option(own, "--hf-overrides") == "{}"
    assert variables(own)["VLLM_NEURON_COMPILATION_TIMEOUT"] == "9"


def test_both_sides_embed() -> None:
    plan, found = planned(trn2(model={**LLAMA, "family": "qwen3-embedding"}, fallback=GPU))
    for container in (engine_container(plan, found, found.slices[0]), fallback_container(plan, found)):
        assert option(container, "--runner") == "pooling"
    assert "VLLM_NEURON_COMPILATION_TIMEOUT" not in variables(fallback_container(plan, found))


@pytest.mark.parametrize("case", ["nxdi", "neuron"])
def test_the_engine_may_take_as_long_as_the_load_balancer_waits(case: str) -> None:
    assert (
        int(variables(engine(CASES[case]))["VLLM_ENGINE_READY_TIMEOUT_S"])
        == planned(CASES[case])[1].times.grace
    )


def test_the_plugins_word_for_cores_is_the_runtimes() -> None:
    container = engine(trn2(replicas={"maximum": 4}), 3)
    assert (
        variables(container)["NEURON_VISIBLE_DEVICES"]
        == variables(container)["NEURON_RT_VISIBLE_CORES"]
        == "24-31"
    )


def test_render_writes_the_fleets_files() -> None:
    plan = plan_of({**CASES["neuron-cpu"], "clusters": {}, "jobs": {}})
    files = {str(file.path): file for file in rendered_files(plan, None, lambda _: Path())}
    assert {
        "fleets/chat/engine-0.sh",
        "fleets/chat/compile-container.json",
        "fleets/chat/fallback.sh",
    } <= set(files)
    assert files["fleets/chat/engine-0.sh"].is_executable
    assert json.loads(files["fleets/chat/fallback-container.json"].text)["resourceRequirements"] == [
        {"type": "GPU", "value": "2"}
    ]
