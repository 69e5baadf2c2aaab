"""Which engine serves which model on which type, and over how many cores."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.environment import Fleet
from stacks.domain.findings import Severity, closest, one_of
from stacks.domain.fleet_plan import fleet_logical_core_size
from stacks.domain.rules.node_blocks import fleet_type
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.serving import ModelSupport, engine_on, engines, model_support, serving_degrees
from stacks.domain.software import sdks

DEGREES_SOURCE = "aws-neuron-sdk@81ce03ae libraries/nxd-inference feature and API guides; vLLM Neuron 0.24 has no table of its own"
MODELS_SOURCE = "aws-neuron-sdk@81ce03ae vllm-neuron/docs/model-recipes, nxd-inference model-reference.rst; neuronx-distributed-inference@4bcdc54 MODEL_TYPES"
HUGE_LLAMA_BILLIONS = 405
"""model-reference.rst: needs Trn2."""
DESIGN_SOURCE = "this kit: design"


def degree_is_legal(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        table = serving_degrees().get(fleet.instance_type)
        if table is None or fleet.engine not in ("vllm-neuron", "vllm-nxdi"):
            continue
        if fleet.tensor_parallel in table.degrees or fleet.tensor_parallel > table.logical_cores:
            continue
        near = sorted(sorted(table.degrees, key=lambda d: abs(d - fleet.tensor_parallel))[:2])
        yield Problem(
            ("fleets", name, "tensor_parallel"),
            str(fleet.tensor_parallel),
            f"{one_of(list(map(str, table.degrees)))} on {fleet.instance_type}",
            "the serving stacks refuse this degree: the chips' ring cannot be cut so",
            f"write {' or '.join(map(str, near))}",
        )


def types_without_table(facts: Facts) -> Iterator[str]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.engine.startswith("vllm-") and fleet.instance_type not in serving_degrees():
            yield f"whether fleet {name} may have TP {fleet.tensor_parallel}: no table of degrees names {fleet.instance_type}"


def degree_is_on_the_node(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        instance_type = fleet_type(facts, name)
        if instance_type is None:
            continue
        cores = instance_type.logical_cores(fleet_logical_core_size(fleet, instance_type))
        if cores is None or fleet.tensor_parallel <= cores:
            continue
        larger = [row for row in serving_degrees().values() if fleet.tensor_parallel in row.degrees]
        best = min(larger, key=lambda row: row.logical_cores, default=None)
        yield Problem(
            ("fleets", name, "tensor_parallel"),
            str(fleet.tensor_parallel),
            f"at most {cores} on {fleet.instance_type}",
            f"{fleet.instance_type} has {cores} logical cores, and a replica is on one node",
            f"write a smaller degree, or take {best.type}" if best else "write a smaller degree",
        )


def heads_divide(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        heads = fleet.model.attention_heads
        if heads is None or heads % fleet.tensor_parallel == 0:
            continue
        table = serving_degrees().get(fleet.instance_type)
        good = [d for d in (table.degrees if table else range(1, heads + 1)) if heads % d == 0]
        near = min(good, key=lambda d: abs(d - fleet.tensor_parallel))
        yield Problem(
            ("fleets", name, "tensor_parallel"),
            str(fleet.tensor_parallel),
            f"a divisor of {heads} attention heads",
            f"{heads} attention heads cannot be shared by {fleet.tensor_parallel} cores",
            f"write {near}",
        )


def heads_not_given(facts: Facts) -> Iterator[str]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.model.attention_heads is None and fleet.tensor_parallel > 1:
            yield f"whether TP {fleet.tensor_parallel} divides the heads of fleet {name}: model.attention_heads is not given"


def engine_runs_on_the_type(facts: Facts) -> Iterator[Problem]:
    """With an image of the user's; without one, there is no image of the kit's either, which another rule says."""
    for name, fleet in facts.environment.fleets.items():
        instance_type = fleet_type(facts, name)
        if instance_type is None or fleet.engine == "custom" or fleet.image is None:
            continue
        if engine_on(fleet.engine, instance_type.family):
            continue
        others = list(dict.fromkeys(e.engine for e in engines() if instance_type.family in e.families))
        families = sorted({f for e in engines() if e.engine == fleet.engine for f in e.families})
        yield Problem(
            ("fleets", name, "engine"),
            fleet.engine,
            f"{fleet.engine} runs on {', '.join(families)}",
            f"it has no code for the chips of {instance_type.family}, whatever the image",
            f"write {one_of(others)}, or take a type of {families[0]}"
            if others
            else f"take a type of {families[0]}",
        )


def model_is_listed(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        instance_type = fleet_type(facts, name)
        if instance_type is None or fleet.engine == "custom" or _excluded(fleet, instance_type.family):
            continue
        listed = [row for row in model_support() if row.engine == fleet.engine]
        here = [row for row in listed if instance_type.family in row.families]
        if any(row.model_family == fleet.model.family for row in here):
            continue
        yield Problem(
            ("fleets", name, "model", "family"),
            repr(fleet.model.family),
            f"{one_of(sorted({row.model_family for row in here}))} with {fleet.engine} on {instance_type.family}"
            if here
            else "",
            "not listed is not impossible: no source says that it works",
            _nearest_support(fleet, instance_type.family),
        )


def _nearest_support(fleet: Fleet, family: str) -> str:
    """Another engine on the same type goes before another type, and a likely misspelling before both."""
    rows = model_support()
    same = [row for row in rows if row.model_family == fleet.model.family]
    if not same:
        near = closest(fleet.model.family, {row.model_family for row in rows})
        return (
            f"did you mean {near}?"
            if near
            else "try one replica, or serve it on GPUs: fallback with mode: model"
        )
    here = [row for row in same if family in row.families]
    row = (here or same)[0]
    where = "on this type" if here else f"on {', '.join(sorted(row.families))}"
    return f"engine: {row.engine} lists it {where}; or serve it on GPUs: fallback with mode: model"


def model_is_not_excluded(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        instance_type = fleet_type(facts, name)
        why = _excluded(fleet, instance_type.family) if instance_type else ""
        if instance_type is not None and why:
            yield Problem(
                ("fleets", name, "model", "family"),
                repr(fleet.model.family),
                message=why,
                fix=_nearest_support(fleet, instance_type.family)
                if fleet.engine == "encoder"
                else "take a type of Trn2, or serve it on GPUs: fallback with mode: model",
            )


def _excluded(fleet: Fleet, family: str) -> str:
    """Empty: no source excludes it."""
    model = fleet.model
    is_huge_llama = model.family == "llama" and model.parameters_billions >= HUGE_LLAMA_BILLIONS
    if fleet.engine == "vllm-nxdi" and is_huge_llama and not family.startswith("trn2"):
        return f"a Llama of {model.parameters_billions:g} billion parameters needs Trn2"
    if fleet.engine == "encoder" and _generates(model_support(), model.family):
        return f"{model.family} generates text; the encoder server answers with vectors and classes only"
    return ""


def _generates(rows: tuple[ModelSupport, ...], family: str) -> bool:
    named = [row for row in rows if row.model_family == family]
    return bool(named) and all(row.engine.startswith("vllm-") for row in named)


def custom_has_a_command(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.engine == "custom" and not fleet.command:
            yield Problem(
                ("fleets", name, "command"),
                "no command",
                "a list: the program and its arguments",
                "an image's own entry point may not pass SIGTERM on, so the kit starts the program itself",
                "write the command that serves HTTP on $PORT, with the model at $MODEL_DIR",
            )
        elif fleet.engine != "custom" and fleet.command:
            yield Problem(
                ("fleets", name, "command"),
                " ".join(fleet.command),
                "a command with engine: custom only",
                f"the kit writes the command of {fleet.engine}",
                "leave it out; further options of the engine go into engine_arguments",
            )


def encoders_take_one_core(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.engine == "encoder" and fleet.tensor_parallel > 1:
            yield Problem(
                ("fleets", name, "tensor_parallel"),
                str(fleet.tensor_parallel),
                "1 with engine: encoder",
                "a traced graph is on one core; each core of the chip has its own copy",
                "write 1",
            )


def weights_stay_the_same(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        model = fleet.model
        if model.source.startswith("hf:") and model.revision is None:
            yield Problem(
                ("fleets", name, "model", "source"),
                model.source,
                message="without a revision it is the newest of the day of the first start: fleets made on different days differ",
                fix="add revision with a commit of the repository",
            )


def newest_engines_are_said(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        image, family = facts.selection.fleet_images.get(name), fleet_type(facts, name)
        row = engine_on(fleet.engine, family.family) if family else None
        if fleet.engine != "vllm-neuron" or image is None or image.known is None or row is None:
            continue
        if image.known.sdk not in (row.sdk, *_older_sdks(row.sdk)):
            yield Problem(
                ("fleets", name, "image"),
                repr(image.uri),
                f"the image of SDK {row.sdk}",
                "of this version only parts of the documentation were read: arguments and compiling may differ",
                "leave the key out, or start one replica before you rely on it",
            )


def _older_sdks(sdk: str) -> tuple[str, ...]:
    versions = [known.version for known in sdks()]
    return tuple(versions[versions.index(sdk) :]) if sdk in versions else ()


RULES = (
    Rule("NK750", Severity.ERROR, "tensor degree that the type cannot do", "the engine fails at start, after the node was paid and the model fetched", DEGREES_SOURCE, degree_is_legal, unknown=types_without_table, can_be_forced=True),
    Rule("NK751", Severity.ERROR, "more cores than the type has", "the engine fails at start", DEGREES_SOURCE, degree_is_on_the_node),
    Rule("NK752", Severity.ERROR, "heads that do not divide", "attention is split by heads: the engine fails at start", "aws-neuron-sdk@81ce03ae libraries/nxd-inference API guide", heads_divide, unknown=heads_not_given),
    Rule("NK753", Severity.ERROR, "engine that does not run on the type", "it crashes at start, whatever the image", "vllm-project/vllm#6640, #11189; aws-neuron/deep-learning-containers@2be9ed1 README.md", engine_runs_on_the_type),
    Rule("NK754", Severity.WARNING, "model that no source lists here", "not listed is not impossible, and not promised", MODELS_SOURCE, model_is_listed),
    Rule("NK755", Severity.ERROR, "model that cannot be served so", "a source excludes it", MODELS_SOURCE, model_is_not_excluded),
    Rule("NK766", Severity.ERROR, "command and engine do not go together", "the container would start nothing, or something else than the file says", DESIGN_SOURCE, custom_has_a_command),
    Rule("NK767", Severity.ERROR, "encoder over several cores", "the server would not split a layer", "aws-neuron-sdk@81ce03ae torch-neuronx tracing", encoders_take_one_core),
    Rule("NK768", Severity.WARNING, "engine newer than what was checked", "not checked is not fine", "awsdocs-neuron.readthedocs-hosted.com v2.33.0 (parts)", newest_engines_are_said),
    Rule("NK769", Severity.WARNING, "model without a revision", "what was tested is not what serves tomorrow", "field lesson: reproducible weights", weights_stay_the_same),
)  # fmt: skip
