"""The containers of a fleet: its engine on each slice, the task that compiles once, and the GPU side.

AWS's images run their entry points as a first process that does not pass SIGTERM on (aws-neuron/deep-learning-containers
@2be9ed1 vllm_entrypoint.py; aws/deep-learning-containers@e0ecede dockerd_entrypoint.sh): each container brings its own.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import ClassVar

from stacks.domain.errors import InputError
from stacks.domain.fleet_plan import PORT_FIRST, FallbackPlan, FleetPlan, Slice
from stacks.domain.pinned import ImagePlan
from stacks.domain.plan import Plan
from stacks.domain.render.artifact_key import Ingredients, artifact_key, ingredients
from stacks.domain.render.encoder import encoder_arguments, encoder_cores
from stacks.domain.render.engine import render
from stacks.domain.render.engine_container import (
    ARTIFACTS_PATH,
    ARTIFACTS_VOLUME,
    COMMAND_BYTES_MAX,
    COMMAND_SHELL,
    EngineContainer,
    Mount,
    Ulimit,
)
from stacks.domain.render.travelling_program import travelling_program
from stacks.domain.render.vllm import (
    NATIVE_BACKEND_SINCE,
    gpu_arguments,
    neuron_arguments,
    shape_arguments,
    vllm_version,
)
from stacks.domain.serving import recipe

LOCAL_PATH = "/var/tmp/neuronkit"  # noqa: S108
COMPILED_PATH = f"{LOCAL_PATH}/compiled"
"""The engine's own: its locks do not work over NFS, so that what is shared is copied here before it starts."""
METRICS_PATH = f"{LOCAL_PATH}/metrics"
SHARED_MEMORY_MIB = 10_240
"""aws-neuron-sdk@81ce03ae names 10 GB in its disaggregated inference tutorial; for more than one core derived."""
MEMORY_SHARE = 0.85
MODEL_WAIT_SECONDS = 3600
SECURITY_NOTE = (
    "vLLM on Neuron needs SYS_ADMIN and IPC_LOCK (aws-neuron-sdk@81ce03ae quickstart-deploy-dlc): SYS_ADMIN is close to "
    "root on the host, so nothing else runs on these nodes"
)
ENCODER_NOTE = "IPC_LOCK pins the memory that the chips read (ECS developer guide, ecs-inference-task-def)"


@dataclass(frozen=True, slots=True)
class VllmServe:
    template: ClassVar[str] = "serving/vllm-serve.sh.j2"

    program: str
    empties_metrics: bool
    model_words: tuple[str, ...]
    shares_artifacts: bool
    artifact_words: tuple[str, ...]
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EncoderServe:
    template: ClassVar[str] = "serving/encoder.sh.j2"

    program: str
    empties_metrics: bool
    model_words: tuple[str, ...]
    shares_artifacts: bool
    artifact_words: tuple[str, ...]
    server: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CustomServe:
    template: ClassVar[str] = "serving/custom.sh.j2"

    program: str
    empties_metrics: bool
    model_words: tuple[str, ...]
    shares_artifacts: bool
    artifact_words: tuple[str, ...]
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compile:
    template: ClassVar[str] = "serving/compile.sh.j2"

    program: str
    empties_metrics: bool
    model_words: tuple[str, ...]
    shares_artifacts: bool
    artifact_words: tuple[str, ...]
    is_encoder: bool
    server: str
    compile_words: tuple[str, ...]
    arguments: tuple[str, ...]


def engine_container(plan: Plan, fleet: FleetPlan, place: Slice) -> EngineContainer:
    """One replica on its slice of a node."""
    return _neuron_container(plan, fleet, place, _serve_script(fleet, place), {})


def compile_container(plan: Plan, fleet: FleetPlan) -> EngineContainer | None:
    """Runs once and ends; without devices it needs no chips. None where nothing is compiled beforehand."""
    if not shares_artifacts(fleet):
        return None
    place = fleet.slices[0]
    on_cpu = compiles_on_cpu(fleet)
    variables = _cpu_compile_variables(fleet) if on_cpu else {}
    container = _neuron_container(plan, fleet, place, _compile_script(fleet, place), variables)
    return _without_devices(container) if on_cpu else container


def fallback_container(plan: Plan, fleet: FleetPlan) -> EngineContainer:
    """The same model under the same name and limits, on GPUs; expects a fleet that has a fallback."""
    fallback = fleet.fallback
    if fallback is None:
        raise InputError(f"fleet {fleet.name} has no fallback", f"add one under fleets.{fleet.name}.fallback")
    script = VllmServe(
        program=travelling_program("engine"),
        empties_metrics=True,
        model_words=_model_words(fleet),
        shares_artifacts=False,
        artifact_words=(),
        arguments=gpu_arguments(fleet, fallback, PORT_FIRST),
    )
    variables = {**_vllm_variables(fleet), "OPT_OUT_TRACKING": "true"}
    return _container(
        plan, fleet, _image(fleet, fallback.image), render(script), variables, _gpu_hardware(fallback)
    )


def shares_artifacts(fleet: FleetPlan) -> bool:
    """Whether a task compiles before the replicas start, and they only read."""
    settings = fleet.settings
    return settings.artifacts != "none" and settings.compile_on != "start" and settings.engine != "custom"


def compiles_on_cpu(fleet: FleetPlan) -> bool:
    """vLLM Neuron alone can (compilation/cpu_compilation); the others take a node of the fleet."""
    return (
        shares_artifacts(fleet)
        and fleet.settings.compile_on == "cpu"
        and fleet.settings.engine == "vllm-neuron"
    )


@dataclass(frozen=True, slots=True)
class _Hardware:
    devices: tuple[str, ...]
    gpus: int
    capabilities: tuple[str, ...]
    shared_memory_mib: int | None
    memory_reservation_mib: int
    port: int
    security_note: str


def _gpu_hardware(fallback: FallbackPlan) -> _Hardware:
    memory_mib = int(fallback.memory_gib_per_node * 1024 * MEMORY_SHARE / fallback.replicas_per_node)
    shared = SHARED_MEMORY_MIB if fallback.gpus_per_replica > 1 else None
    return _Hardware((), fallback.gpus_per_replica, (), shared, memory_mib, PORT_FIRST, "")


def _neuron_container(
    plan: Plan, fleet: FleetPlan, place: Slice, script: str, more: dict[str, str]
) -> EngineContainer:
    is_vllm = fleet.settings.engine.startswith("vllm-")
    hardware = _Hardware(
        devices=tuple(f"/dev/neuron{index}" for index in place.devices),
        gpus=0,
        capabilities=("IPC_LOCK", "SYS_ADMIN") if is_vllm else ("IPC_LOCK",),
        shared_memory_mib=SHARED_MEMORY_MIB if _may_share_memory(fleet) else None,
        memory_reservation_mib=place.memory_mib,
        port=place.port,
        security_note=SECURITY_NOTE if is_vllm else ENCODER_NOTE,
    )
    variables = {**_neuron_variables(fleet, place), **more}
    return _container(plan, fleet, _image(fleet, fleet.image), script, variables, hardware)


def _may_share_memory(fleet: FleetPlan) -> bool:
    """ECS refuses it on Managed Instances (ECS developer guide, managed-instances-tasks-services)."""
    return fleet.settings.tensor_parallel > 1 and fleet.settings.runs_on == "ec2"


def _container(
    plan: Plan, fleet: FleetPlan, image: str, script: str, variables: dict[str, str], hardware: _Hardware
) -> EngineContainer:
    settings = fleet.settings
    if len(script.encode()) > COMMAND_BYTES_MAX:
        raise InputError(
            f"the command of fleet {fleet.name} has {len(script.encode())} bytes; a task definition leaves {COMMAND_BYTES_MAX}",
            "shorten engine_arguments, or put a long one into a file of the image",
        )
    token = {"HF_TOKEN": settings.model.token} if settings.model.token else {}
    known = None if hardware.gpus else recipe(settings.engine, settings.model.family)
    needed = dict(known.variables) if known else {}
    region = {"AWS_DEFAULT_REGION": plan.region, "AWS_REGION": plan.region}
    return EngineContainer(
        image=image,
        entry_point=COMMAND_SHELL,
        command=(script,),
        environment=tuple(sorted({**needed, **settings.environment, **region, **variables}.items())),
        secrets=tuple(sorted({**settings.secrets, **token}.items())),
        devices=hardware.devices,
        gpus=hardware.gpus,
        capabilities=hardware.capabilities,
        ulimits=(Ulimit("memlock", -1, -1), Ulimit("nofile", 65_536, 65_536)),
        shared_memory_mib=hardware.shared_memory_mib,
        memory_reservation_mib=hardware.memory_reservation_mib,
        port=hardware.port,
        stop_timeout_seconds=fleet.times.stop,
        health_path="/ready" if settings.engine == "encoder" and not hardware.gpus else "/health",
        metrics_path="/metrics",
        mounts=(Mount(ARTIFACTS_VOLUME, ARTIFACTS_PATH),) if settings.artifacts == "efs" else (),
        needs_bucket=settings.model.source.startswith("bucket:"),
        security_note=hardware.security_note,
    )


def _without_devices(container: EngineContainer) -> EngineContainer:
    """A compiler needs neither chips nor rights on the host."""
    return replace(container, devices=(), capabilities=(), security_note="")


def _image(fleet: FleetPlan, image: ImagePlan | None) -> str:
    if image is None:
        raise InputError(
            f"no container image is known for fleet {fleet.name}", f"name one under fleets.{fleet.name}.image"
        )
    return image.pinned_uri


def _serve_script(fleet: FleetPlan, place: Slice) -> str:
    engine = fleet.settings.engine
    program, model, artifacts = travelling_program("engine"), _model_words(fleet), _artifact_words(fleet)
    shares = shares_artifacts(fleet)
    if engine == "custom":
        return render(CustomServe(program, False, model, shares, artifacts, fleet.settings.command))
    if engine == "encoder":
        server, arguments = travelling_program("encoder"), encoder_arguments(fleet, place.port, COMPILED_PATH)
        return render(EncoderServe(program, False, model, shares, artifacts, server, arguments))
    return render(VllmServe(program, True, model, shares, artifacts, neuron_arguments(fleet, place.port)))


def _compile_script(fleet: FleetPlan, place: Slice) -> str:
    is_encoder = fleet.settings.engine == "encoder"
    path = "ready" if is_encoder else "health"
    limit = sum(part.high_seconds for part in fleet.start) + fleet.times.grace
    return render(
        Compile(
            program=travelling_program("engine"),
            empties_metrics=not is_encoder,
            model_words=_model_words(fleet),
            shares_artifacts=False,
            artifact_words=(),
            is_encoder=is_encoder,
            server=travelling_program("encoder") if is_encoder else "",
            compile_words=(
                *_artifact_words(fleet),
                *("--ready", f"http://127.0.0.1:{place.port}/{path}", "--seconds", str(limit)),
            ),
            arguments=encoder_arguments(fleet, place.port, COMPILED_PATH)
            if is_encoder
            else neuron_arguments(fleet, place.port),
        )
    )


def _model_words(fleet: FleetPlan) -> tuple[str, ...]:
    model = fleet.settings.model
    shared = fleet.settings.artifacts == "efs"
    root = f"{ARTIFACTS_PATH if shared else LOCAL_PATH}/models"
    return (
        *("--source", model.source),
        *(("--revision", model.revision) if model.revision else ()),
        *("--directory", f"{root}/{model_directory(model.source, model.revision)}"),
        *("--wait-seconds", str(MODEL_WAIT_SECONDS)),
    )


def model_directory(source: str, revision: str | None) -> str:
    """A name of its own for each source and revision."""
    digest = hashlib.sha256(json.dumps([source, revision]).encode()).hexdigest()[:12]
    return f"{re.sub(r'[^A-Za-z0-9.-]+', '-', source).strip('-')[-60:]}-{digest}"


def fleet_ingredients(fleet: FleetPlan) -> Ingredients:
    """What the compiled graphs of a fleet depend on."""
    return ingredients(fleet, _shapes(fleet))


def _shapes(fleet: FleetPlan) -> tuple[str, ...]:
    if fleet.settings.engine == "encoder":
        return encoder_arguments(fleet, 0, "")
    return shape_arguments(fleet)


def _artifact_words(fleet: FleetPlan) -> tuple[str, ...]:
    if not shares_artifacts(fleet):
        return ()
    found = fleet_ingredients(fleet)
    return (
        *("--shared", f"{ARTIFACTS_PATH}/compiled/{artifact_key(found)}", "--local", COMPILED_PATH),
        *("--manifest", json.dumps(found, sort_keys=True, separators=(",", ":"))),
    )


def _neuron_variables(fleet: FleetPlan, place: Slice) -> dict[str, str]:
    engine = fleet.settings.engine
    size = fleet.settings.logical_core_size
    variables = {"NEURON_LOGICAL_NC_CONFIG": str(size)} if size else {}
    if len(fleet.slices) > 1:
        variables["NEURON_RT_VISIBLE_CORES"] = visible_cores(fleet, place)
    if engine == "custom":
        return {**variables, "PORT": str(place.port)}
    if engine == "encoder":
        return variables
    # vLLM waits ten minutes for its engine by default; a compile takes longer (tutorial-gpt-oss sets it, too).
    variables |= {**_vllm_variables(fleet), "VLLM_ENGINE_READY_TIMEOUT_S": str(fleet.times.grace)}
    if engine == "vllm-nxdi":
        # Unset, the plugin removes what it finds beside a local model and compiles at each start
        # (vllm-project/vllm-neuron@a5ef7c8 neuronx_distributed_model_loader.py).
        return {**variables, "NEURON_COMPILED_ARTIFACTS": COMPILED_PATH}
    # The fleet's nodes have no EFA interface: without this the server does not start.
    variables |= {"NEURON_SKIP_EFA_AFFINITY": "1", "VLLM_CACHE_ROOT": COMPILED_PATH}
    if "NEURON_RT_VISIBLE_CORES" in variables:
        # The plugin's own word for the cores of a server among several (tutorial-gpt-oss).
        variables["NEURON_VISIBLE_DEVICES"] = variables["NEURON_RT_VISIBLE_CORES"]
    version = vllm_version(fleet.image.uri) if fleet.image else None
    if version is not None and version >= NATIVE_BACKEND_SINCE:
        # Unset, the native route runs with its cache of traces off, and each start traces again.
        variables["VLLM_NEURON_BACKEND"] = "neuron_native"
    return variables


def _vllm_variables(fleet: FleetPlan) -> dict[str, str]:
    return {
        "PROMETHEUS_MULTIPROC_DIR": METRICS_PATH,
        "VLLM_HTTP_TIMEOUT_KEEP_ALIVE": str(fleet.times.keep_alive),
    }


def visible_cores(fleet: FleetPlan, place: Slice) -> str:
    """As the host counts them: devices keep their numbers in the container."""
    first = place.devices[0] * (fleet.logical_cores_per_node // fleet.chips_per_node)
    count = encoder_cores(fleet) if fleet.settings.engine == "encoder" else fleet.settings.tensor_parallel
    last = first + count - 1
    return str(first) if first == last else f"{first}-{last}"


def _cpu_compile_variables(fleet: FleetPlan) -> dict[str, str]:
    return {
        "VLLM_NEURON_CPU_COMPILE": "1",
        "NEURON_PLATFORM_TARGET_OVERRIDE": compile_target(fleet.instance_type),
    }


def compile_target(instance_type: str) -> str:
    """The compiler's word for the chip, such as trn2 for types of trn2u, too."""
    match = re.match(r"[a-z]+[0-9]+", instance_type)
    return match.group() if match else instance_type.partition(".")[0]
