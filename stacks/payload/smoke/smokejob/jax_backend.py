"""The same training with JAX: data parallel over all devices of all processes.

Parameters are replicated, the windows are split over a mesh of all devices, and XLA adds the collectives. JAX's own
coordinator serves its collectives only; stop signals, checkpoints and the death of a peer go over the group's
connections, as with numpy.

NEVER RUN ON NEURON: this was run on CPU devices only (one and two processes, gloo collectives, JAX 0.10.0). The
bootstrap's NEURON_PJRT_* and NEURON_RT_* variables are taken as they are.
"""

import socket
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from smokejob.adam import adam_update, step_size
from smokejob.corpus import Windows
from smokejob.environment import JobEnvironment
from smokejob.errors import TrainingError
from smokejob.group import Group
from smokejob.model import BYTE_VALUES, by_name
from smokejob.state import TrainingState
from smokejob.watch import PeerWatch

_LOST_PEER_SECONDS = 2.0
_NOTHING = np.zeros(0, dtype=np.float32)


def start_jax(group: Group, environment: JobEnvironment) -> "JaxBackend":
    """Raises TrainingError where JAX cannot bring its processes together or has no device."""
    watch = PeerWatch(group)
    try:
        if group.processes > 1:
            _bring_together(group, environment, watch)
        return JaxBackend(group, watch)
    except RuntimeError as error:
        raise TrainingError(f"JAX did not start: {_first_line(error)}") from error


def _bring_together(group: Group, environment: JobEnvironment, watch: PeerWatch) -> None:
    coordinator = environment.jax_coordinator
    if group.is_main and not coordinator:
        coordinator = _free_place(environment.main_address)
    told, _ = group.share({"coordinator": coordinator}, _NOTHING)
    watch.start()
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(
        told["coordinator"],
        group.processes,
        group.rank,
        cluster_detection_method="deactivate",  # Slurm's variables must not overrule the bootstrap's
    )


class JaxBackend:
    def __init__(self, group: Group, watch: PeerWatch) -> None:
        self._group = group
        self._watch = watch
        devices = jax.devices()
        self.device = str(devices[0].platform)
        self.description = f"jax {jax.__version__} on {len(devices)} {self.device} device(s), {jax.local_device_count()} here"
        mesh = Mesh(np.array(devices), ("data",))
        self._replicated = NamedSharding(mesh, PartitionSpec())
        self._split = NamedSharding(mesh, PartitionSpec("data"))
        self._device_count = len(devices)
        self._update = jax.jit(_update, out_shardings=self._replicated)

    def load(self, state: TrainingState) -> None:
        vectors = (state.parameters, state.first_moment, state.second_moment)
        self._vectors = tuple(self._placed(vector, self._replicated) for vector in vectors)

    def train_step(self, step: int, windows: Windows, signal_number: int) -> tuple[float, int]:
        inputs, targets, weights = padded(windows, self._device_count)
        batch = [self._placed(array, self._split) for array in (inputs, targets, weights)]
        try:
            *self._vectors, loss = self._update(*self._vectors, *batch, np.float32(step_size(step)))
            mean_loss = float(loss)
        except RuntimeError as error:
            # The death of a peer is what breaks most collectives; then that is the news, not the broken collective.
            self._group.raise_if_lost(_LOST_PEER_SECONDS)
            raise TrainingError(f"JAX failed in step {step}: {_first_line(error)}") from error
        return mean_loss, self._group.total(_NOTHING, 0.0, signal_number).signal_number

    def state(self, step: int, loss: float) -> TrainingState:
        return TrainingState(
            step, loss, *(np.asarray(vector.addressable_data(0)) for vector in self._vectors)
        )

    def close(self) -> None:
        self._watch.stop()
        if self._group.processes > 1:
            jax.distributed.shutdown()

    def _placed(self, array: np.ndarray[Any, Any], sharding: Any) -> Any:
        """Every process has the whole array; each of its devices takes the part that the sharding gives it."""
        return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index])


def padded(windows: Windows, multiple: int) -> tuple[Any, Any, Any]:
    """Inputs, targets and weights, filled up to a `multiple` of rows that weigh nothing; the weights' sum is 1."""
    count = len(windows.targets)
    missing = -count % multiple
    weights = np.full(count, 1 / count, dtype=np.float32)
    return (
        np.pad(windows.inputs, ((0, missing), (0, 0))).astype(np.int32),
        np.pad(windows.targets, (0, missing)).astype(np.int32),
        np.pad(weights, (0, missing)),
    )


def _update(
    parameters: Any, first: Any, second: Any, inputs: Any, targets: Any, weights: Any, size: Any
) -> Any:
    loss, gradient = jax.value_and_grad(_mean_loss)(parameters, inputs, targets, weights)
    return (*adam_update(parameters, first, second, gradient, size), loss)


def _mean_loss(vector: Any, inputs: Any, targets: Any, weights: Any) -> Any:
    """`model.loss_sum_and_gradient`'s loss. Bytes become one-hot products: accelerators like those better than
    gathers, whose gradient is a scatter."""
    parts = by_name(vector)
    embedded = (jax.nn.one_hot(inputs, BYTE_VALUES) @ parts["embedding"]).reshape(inputs.shape[0], -1)
    hidden = jnp.tanh(embedded @ parts["hidden_weights"] + parts["hidden_bias"])
    log_probabilities = jax.nn.log_softmax(hidden @ parts["output_weights"] + parts["output_bias"])
    return -jnp.sum(jax.nn.one_hot(targets, BYTE_VALUES) * log_probabilities * weights[:, None])


def _free_place(address: str) -> str:
    if ":" in address:
        with socket.create_server((address, 0), family=socket.AF_INET6) as server:
            return f"[{address}]:{server.getsockname()[1]}"
    with socket.create_server((address, 0)) as server:
        return f"{address}:{server.getsockname()[1]}"


def _first_line(error: RuntimeError) -> str:
    return (str(error).splitlines() or ["no reason given"])[0]
