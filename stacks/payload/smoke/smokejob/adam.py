"""Adam (Kingma and Ba, 2015) over flat vectors; plain arithmetic, so numpy and JAX share it."""

from typing import Any

LEARNING_RATE = 0.006
_FIRST_DECAY = 0.9
_SECOND_DECAY = 0.99
_EPSILON = 1e-8


def step_size(step: int) -> float:
    """The learning rate with both bias corrections of step 1, 2, … folded in."""
    return LEARNING_RATE * float((1 - _SECOND_DECAY**step) ** 0.5) / (1 - _FIRST_DECAY**step)


def adam_update(parameters: Any, first: Any, second: Any, gradient: Any, size: Any) -> tuple[Any, Any, Any]:
    """New parameters, first and second moment; the arguments are left as they are."""
    first = _FIRST_DECAY * first + (1 - _FIRST_DECAY) * gradient
    second = _SECOND_DECAY * second + (1 - _SECOND_DECAY) * (gradient * gradient)
    return parameters - size * first / (second**0.5 + _EPSILON), first, second
