"""BERT-class models as traced graphs: torch-neuronx, or torch-neuron on Inf1.

One graph for each batch and length, as shapes are fixed (aws-neuron-sdk torch-neuronx tracing). Not run by this kit's
tests: no machine of theirs has a chip.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from encoder.backend import Row, Vector


class MissingError(Exception):
    """The image or the model lacks something; the text says what."""


class NeuronBackend:
    note = ""

    def __init__(self, framework: str, model: Path, artifacts: Path, cores: int) -> None:
        """Of several cores, each gets its own copy of a graph: torch-neuronx alone is known to place them."""
        if cores > 1 and framework == "torch-neuron":
            raise MissingError("torch-neuron is not known to place graphs on chosen cores: --cores 1")
        self._places = framework == "torch-neuronx"
        self._torch = _needed("torch")
        self._transformers = _needed("transformers")
        self._neuron = _needed("torch_neuron" if framework == "torch-neuron" else "torch_neuronx")
        self._traces = self._torch.neuron.trace if framework == "torch-neuron" else self._neuron.trace
        self._model_directory = model
        self._artifacts = artifacts
        self._graphs: dict[tuple[int, int, int], Any] = {}
        self._model: Any = None
        self._tokenizer = self._transformers.AutoTokenizer.from_pretrained(str(model))
        self.task = task_of(model)

    def tokens(self, text: str) -> list[int]:
        return list(self._tokenizer(text, truncation=False)["input_ids"])

    def warm(self, batch: int, length: int, core: int) -> None:
        path = self._artifacts / f"batch-{batch}-length-{length}.pt"
        if not path.exists():
            self._trace(path, batch, length)
        graph = self._torch.jit.load(str(path))
        if self._places:
            self._neuron.move_trace_to_device(graph, core)
        graph(*self._inputs([[0]], batch, length))
        self._graphs[(batch, length, core)] = graph

    def run(self, rows: Sequence[Row], batch: int, length: int, core: int) -> list[Vector]:
        with self._torch.no_grad():
            found = self._graphs[(batch, length, core)](*self._inputs(rows, batch, length))
        return [list(row) for row in found[: len(rows)].tolist()]

    def _inputs(self, rows: Sequence[Row], batch: int, length: int) -> tuple[Any, Any]:
        padding = int(self._tokenizer.pad_token_id or 0)
        missing = [[padding]] * (batch - len(rows))
        ids = [[*row, *[padding] * (length - len(row))] for row in (*rows, *missing)]
        mask = [[1] * len(row) + [0] * (length - len(row)) for row in (*rows, *missing)]
        return self._torch.tensor(ids), self._torch.tensor(mask)

    def _trace(self, path: Path, batch: int, length: int) -> None:
        """Whole or not at all: an interrupted trace leaves no file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        graph = self._traces(self._wrapped(), self._inputs([[0]], batch, length))
        partial = path.with_suffix(".partial")
        self._torch.jit.save(graph, str(partial))
        partial.rename(path)

    def _wrapped(self) -> Any:
        if self._model is None:
            kind = (
                self._transformers.AutoModelForSequenceClassification
                if self.task == "classification"
                else self._transformers.AutoModel
            )
            model = kind.from_pretrained(str(self._model_directory), torchscript=True).eval()
            self._model = _wrapper(self._torch, model, self.task)
        return self._model


def task_of(model: Path) -> str:
    """From the model's own config.json."""
    try:
        config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MissingError(f"{model / 'config.json'} cannot be read: {error}") from error
    names = config.get("architectures") or ()
    return "classification" if any("ForSequenceClassification" in name for name in names) else "embedding"


def _wrapper(torch: Any, model: Any, task: str) -> Any:
    """The mean over real tokens, of length 1; or the logits."""

    class Wrapped(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: Any, mask: Any) -> Any:
            found = self.model(input_ids=ids, attention_mask=mask)[0]
            if task == "classification":
                return found
            weights = mask.unsqueeze(-1).to(found.dtype)
            mean = (found * weights).sum(1) / weights.sum(1).clamp(min=1)
            return torch.nn.functional.normalize(mean, dim=-1)

    return Wrapped().eval()


def _needed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingError(
            f"the image has no {name}: {error}; take another image, or engine: custom"
        ) from error
