"""A next-byte language model: embeddings of the last bytes, one hidden layer, a distribution over the next byte.

(The feed-forward language model of Bengio et al., 2003.) Parameters, gradients and optimizer moments are flat vectors,
so that one array is summed, sent and saved; `by_name` gives the views with shapes. float32 in training, float64
in the gradient check.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[Any]

CONTEXT_BYTES = 16
BYTE_VALUES = 256
EMBEDDING_WIDTH = 32
HIDDEN_WIDTH = 128
SHAPES: dict[str, tuple[int, ...]] = {
    "embedding": (BYTE_VALUES, EMBEDDING_WIDTH),
    "hidden_weights": (CONTEXT_BYTES * EMBEDDING_WIDTH, HIDDEN_WIDTH),
    "hidden_bias": (HIDDEN_WIDTH,),
    "output_weights": (HIDDEN_WIDTH, BYTE_VALUES),
    "output_bias": (BYTE_VALUES,),
}
PARAMETER_COUNT = sum(math.prod(shape) for shape in SHAPES.values())


def by_name(vector: Any) -> dict[str, Any]:
    """Named parts of a flat vector, numpy's or JAX's; numpy's are views, so writing to them writes to the vector."""
    parts, offset = {}, 0
    for name, shape in SHAPES.items():
        parts[name] = vector[offset : offset + math.prod(shape)].reshape(shape)
        offset += math.prod(shape)
    return parts


def initial_parameters(seed: int) -> Vector:
    """Weights scaled by their fan-in, biases zero."""
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed])))
    vector = np.zeros(PARAMETER_COUNT, dtype=np.float32)
    parts = by_name(vector)
    parts["embedding"][:] = random.standard_normal(SHAPES["embedding"])
    for name in ("hidden_weights", "output_weights"):
        parts[name][:] = random.standard_normal(SHAPES[name]) / math.sqrt(SHAPES[name][0])
    return vector


def loss_sum_and_gradient(
    parameters: Vector, inputs: NDArray[Any], targets: NDArray[Any]
) -> tuple[float, Vector]:
    """Cross-entropy in nats and its gradient, both summed over the windows: sums of shares add up to the whole's."""
    weights = by_name(parameters)
    rows = np.arange(len(targets))
    embedded = weights["embedding"][inputs].reshape(len(targets), -1)
    hidden = np.tanh(embedded @ weights["hidden_weights"] + weights["hidden_bias"])
    logits = hidden @ weights["output_weights"] + weights["output_bias"]
    logits -= logits.max(axis=1, keepdims=True)
    exponentials = np.exp(logits)
    totals = exponentials.sum(axis=1, keepdims=True)
    losses = np.log(totals[:, 0]) - logits[rows, targets]

    gradient = np.zeros_like(parameters)
    slopes = by_name(gradient)
    d_logits = exponentials / totals
    d_logits[rows, targets] -= 1
    d_hidden = (d_logits @ weights["output_weights"].T) * (1 - hidden * hidden)
    d_embedded = d_hidden @ weights["hidden_weights"].T
    slopes["output_weights"][:] = hidden.T @ d_logits
    slopes["output_bias"][:] = d_logits.sum(axis=0)
    slopes["hidden_weights"][:] = embedded.T @ d_hidden
    slopes["hidden_bias"][:] = d_hidden.sum(axis=0)
    np.add.at(slopes["embedding"], inputs.ravel(), d_embedded.reshape(-1, EMBEDDING_WIDTH))
    return float(losses.sum(dtype=np.float64)), gradient
