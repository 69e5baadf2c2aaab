"""Rows of the table in test_rules.py: engines, their arguments, and memory."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.domain.fleet_cases import (
    BERT,
    CHAT,
    LLAMA,
    VLLM,
    Rows,
    custom,
    encoder,
    fleet,
    inf1,
    large,
    trn2,
)

HF = {**LLAMA, "source": "hf:meta-llama/Llama-3.1-8B-Instruct"}
LARGE = {"name": "llama-70b", "source": "bucket:models/llama-70b", "family": "llama", "parameters_billions": 70, "layers": 80, "attention_heads": 64, "key_value_heads": 8, "head_size": 128}  # fmt: skip
TOKEN = "arn:aws:secretsmanager:us-east-2:111122223333:secret:hugging-face-AbCdEf"
NEWEST = f"{VLLM}:0.29.0.1.2.0-neuronx-py314-sdk2.33.0-ubuntu26.04"


def model(**changes: Any) -> dict[str, Any]:
    return {**LLAMA, **changes}


def arguments(*words: str, **settings: Any) -> dict[str, Any]:
    return trn2(engine_arguments=list(words), **settings)


def config(found: object, **settings: Any) -> dict[str, Any]:
    return arguments("--additional-config", json.dumps(found), **settings)


def neuron(**options: Any) -> dict[str, Any]:
    return {"neuron_config": options}


TP, BUCKETS, SEQUENCES = f"{CHAT}.tensor_parallel", f"{CHAT}.token_buckets", f"{CHAT}.sequence_buckets"
FIRST, SECOND = f"{CHAT}.engine_arguments[0]", f"{CHAT}.engine_arguments[1]"
FAMILY = f"{CHAT}.model.family"

CASES: Rows = {
    "NK750": (
        [
            (large(instance_type="inf2.24xlarge", tensor_parallel=12), TP),
            (large(tensor_parallel=16), TP),
            (large(tensor_parallel=12), TP),
            (fleet(instance_type="trn1.32xlarge", tensor_parallel=4), TP),
            (trn2(tensor_parallel=24), TP),
        ],
        [
            *(large(tensor_parallel=n) for n in (1, 2, 4, 8, 24)),
            *(trn2(tensor_parallel=n) for n in (1, 2, 4, 8, 16, 32, 64)),
            {}, encoder(), large(tensor_parallel=48),
        ],
    ),
    "NK751": (
        [(fleet(tensor_parallel=4), TP), (large(tensor_parallel=48), TP), (trn2(logical_core_size=2, tensor_parallel=128), TP)],
        [fleet(), large(tensor_parallel=24), trn2(logical_core_size=1, tensor_parallel=128)],
    ),
    "NK752": (
        [(large(tensor_parallel=24), TP), (trn2(tensor_parallel=64), TP), (fleet(model=model(attention_heads=33)), TP)],
        [fleet(), large(tensor_parallel=24, model=model(attention_heads=48)), large(tensor_parallel=24, model=model(attention_heads=None))],
    ),
    "NK753": (
        [
            (fleet(engine="vllm-neuron", image="registry.example.com/vllm:1"), f"{CHAT}.engine"),
            (inf1(engine="vllm-nxdi", image="registry.example.com/vllm:1", model=LLAMA), f"{CHAT}.engine"),
        ],
        [fleet(image="registry.example.com/vllm:1"), trn2(image="registry.example.com/vllm:1"), custom(), inf1()],
    ),
    "NK754": (
        [
            (trn2(model=model(family="mistral")), FAMILY),
            (fleet(model=model(family="deepseek")), FAMILY),
            (inf1(model={**BERT, "family": "albert"}), FAMILY),
            (encoder(instance_type="trn2.3xlarge"), FAMILY),
        ],
        [fleet(), fleet(model=model(family="mistral")), trn2(), trn2(model=model(family="gpt-oss")), encoder(), inf1(), custom(model=model(family="anything"))],
    ),
    "NK755": (
        [(large(model=model(parameters_billions=405)), FAMILY), (encoder(model=model(family="qwen3")), FAMILY)],
        [trn2(engine="vllm-nxdi", model=model(parameters_billions=405)), large(model=LARGE), encoder(), encoder(model={**BERT, "family": "e5"})],
    ),
    "NK756": (
        [
            (trn2(batched_tokens=4096, token_buckets=[512, 2048]), BUCKETS),
            (trn2(token_buckets=[512, 512]), BUCKETS),
            (trn2(sequence_buckets=[1, 4]), SEQUENCES),
            (trn2(tensor_parallel=32, token_buckets=[130, 4096]), BUCKETS),
            (trn2(tensor_parallel=32, token_buckets=[32]), BUCKETS),
        ],
        [
            trn2(), trn2(batched_tokens=2048, token_buckets=[512, 2048]), trn2(token_buckets=[512, 2048]), trn2(sequence_buckets=[1, 8]),
            trn2(tensor_parallel=32, token_buckets=[64, 4096]),
        ],
    ),
    "NK757": (
        [
            (fleet(batched_tokens=2048), f"{CHAT}.batched_tokens"),
            (fleet(token_buckets=[512]), BUCKETS),
            (custom(sequence_buckets=[8]), SEQUENCES),
            (arguments("--speculative-config", "{}", compile_on="cpu"), f"{CHAT}.compile_on"),
            (custom(engine_arguments=["--x"]), f"{CHAT}.engine_arguments"),
        ],
        [trn2(batched_tokens=2048), encoder(token_buckets=[512]), trn2(compile_on="cpu"), arguments("--speculative-config", "{}"), custom()],
    ),
    "NK758": (
        [
            (arguments("--device", "neuron"), FIRST),
            (arguments("--device=neuron"), FIRST),
            (arguments("--pipeline_parallel_size=2"), FIRST),
            (arguments("-pp", "2"), FIRST),
            (arguments("--pipeline-parallel-size", "2"), FIRST),
            (fleet(engine_arguments=["--override-neuron-config", "{}"]), FIRST),
            (arguments("--quantization", "neuron_quant"), FIRST),
            (arguments("--quantization=neuron_quant"), FIRST),
        ],
        [trn2(), arguments("--quantization", "fp8"), arguments("--hf-overrides", "{}"), encoder(engine_arguments=["--queue", "9"])],
    ),
    "NK759": (
        [
            (arguments("--port", "9000"), FIRST),
            (arguments("--max-model-len=100"), FIRST),
            (arguments("--tensor_parallel_size", "4"), FIRST),
            (arguments("--max_num-seqs=4"), FIRST),
            (arguments("--x", "--shutdown-timeout"), SECOND),
            (fleet(engine_arguments=["--num-gpu-blocks-override", "8"]), FIRST),
        ],
        [arguments("--enable-auto-tool-choice"), fleet(engine_arguments=["--enable-prefix-caching"])],
    ),
    "NK760": (
        [
            (config({"override_neuron_config": {}}), SECOND),
            (fleet(engine_arguments=["--additional-config", '{"override-neuron-config": {}}']), SECOND),
            (arguments("--additional-config", "{"), SECOND),
            (arguments("--additional-config", "[]"), SECOND),
            (arguments("--additional-config"), FIRST),
            (arguments("--additional-config={}"), FIRST),
            (arguments("--additional_config", "{}"), FIRST),
            (arguments("--additional-config.neuron_config.x", "1"), FIRST),
        ],
        [config(neuron()), fleet(engine_arguments=["--additional-config", '{"override_neuron_config": {}}']), trn2(), custom()],
    ),
    "NK761": (
        [
            (config(neuron(num_seqs_buckets=[8])), SECOND),
            (config(neuron(kv_segment_size_buckets=[256]), token_buckets=[256]), SECOND),
            (config(neuron(kv_segment_size_buckets=[512, 1024]), token_buckets=[512, 1024]), SECOND),
            (config(neuron(kv_segment_size_buckets=[1024]), token_buckets=[512]), SECOND),
            (config(neuron(decode_context_length_buckets=[1000])), SECOND),
            (config(neuron(decode_context_length_buckets=[2048, 1024])), SECOND),
            (config(neuron(decode_context_length_buckets=[4096])), SECOND),
        ],
        [
            config(neuron(kv_segment_size_buckets=[2048]), token_buckets=[2048]), config(neuron(decode_context_length_buckets=[1024, 2048])),
            config(neuron()), fleet(),
        ],
    ),
    "NK762": (
        [
            (fleet(model=LARGE), TP),
            (fleet(sequences=64), TP),
            (large(model=LARGE, tensor_parallel=8), TP),
            (trn2(model=LARGE, tensor_parallel=4), TP),
        ],
        [fleet(), large(model=LARGE, tensor_parallel=24), trn2(model=LARGE, tensor_parallel=8), encoder(), custom(model=LARGE)],
    ),
    "NK763": ([(trn2(tensor_parallel=1, sequences=64), f"{CHAT}.sequences")], [trn2(), trn2(sequences=64), trn2(model=model(layers=None), tensor_parallel=1, sequences=64)]),
    "NK764": (
        [
            (fleet(instance_type="inf2.xlarge"), f"{CHAT}.instance_type"),
            (fleet(instance_type="inf2.xlarge", model=model(parameters_billions=1)), f"{CHAT}.instance_type"),
            (fleet(instance_type="trn1.2xlarge", model=model(parameters_billions=12)), f"{CHAT}.instance_type"),
        ],
        [fleet(), encoder(instance_type="inf2.xlarge"), large()],
    ),
    "NK765": (
        [
            (fleet(sequences=1, engine_arguments=["--enable-prefix-caching"]), FIRST),
            (fleet(engine_arguments=["--enable-chunked-prefill"]), FIRST),
        ],
        [fleet(engine_arguments=["--enable-prefix-caching"]), fleet(sequences=1), arguments("--enable-chunked-prefill", sequences=1)],
    ),
    "NK294": (
        [
            *((arguments("--x", word), SECOND) for word in ("$KEY", "${KEY}", "$(KEY)")),
            (arguments("--x=$KEY"), FIRST),
            (custom(command=["serve", "--port", "$PORT"]), f"{CHAT}.command[2]"),
            ({"jobs.smoke.command": ["python3", "train.py", "$DATA"]}, "jobs.smoke.command[2]"),
            ({"jobs.smoke.compile_command": ["compile", "--to=${CACHE}"]}, "jobs.smoke.compile_command[1]"),
        ],
        [
            arguments("--x", "$5"), arguments("--x", "a$b"), arguments("--x", "$"), custom(command=["sh", "-c", "$RUN"]),
            {"jobs.smoke.command": ["/bin/bash", "-c", "exec train", "$DATA"]},
        ],
    ),
    "NK293": (
        [
            (arguments("--x", "y" * 9_000), f"{CHAT}.engine_arguments"),
            (arguments("--x", "'" * 2_000), f"{CHAT}.engine_arguments"),
            (fleet(environment={f"V{n}": "x" * 90 for n in range(100)}), f"{CHAT}.environment"),
            (fleet(secrets={f"V{n}": f"arn:aws:ssm:us-east-2:111122223333:parameter/p{n}" for n in range(300)}), f"{CHAT}.secrets"),
            (custom(command=["serve", "é" * 3_000]), f"{CHAT}.command"),
        ],
        [fleet(), arguments("--x", "y" * 7_000), fleet(environment={f"V{n}": "x" * 90 for n in range(80)}), custom(command=["serve", "y" * 15_000])],
    ),
    "NK766": (
        [(custom(command=[]), f"{CHAT}.command"), (fleet(command=["serve"]), f"{CHAT}.command")],
        [custom(command=["serve"]), fleet(), encoder()],
    ),
    "NK767": ([(encoder(tensor_parallel=2), TP)], [encoder(), fleet(tensor_parallel=2)]),
    "NK768": ([(trn2(image=NEWEST), f"{CHAT}.image")], [trn2(), trn2(image="registry.example.com/vllm:1"), fleet()]),
    "NK795": (
        [
            (fleet(model=HF), f"{CHAT}.model.source"),
            (fleet(model={**HF, "token": None}), f"{CHAT}.model.token"),
            (fleet(model=model(source="hf:Meta-Llama/Llama-2-7b")), f"{CHAT}.model.source"),
            (custom(model=model(source="hf:google/gemma-3-4b-it")), f"{CHAT}.model.source"),
        ],
        [
            fleet(), fleet(model={**HF, "token": TOKEN}), fleet(model=HF, secrets={"HF_TOKEN": TOKEN}),
            fleet(model=model(source="hf:meta-llamas/Llama-3.1-8B")), fleet(model=model(source="hf:Qwen/Qwen3-8B")),
            fleet(model=model(source="bucket:meta-llama/Llama-3.1-8B")),
        ],
    ),
    "NK769": (
        [(fleet(model=HF), f"{CHAT}.model.source")],
        [fleet(model={**HF, "revision": "0e9e39f249a16976918f6564b8830bc894c89659"}), fleet()],
    ),
}  # fmt: skip
