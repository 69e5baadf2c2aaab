import math

import numpy as np
import pytest
from smokejob.adam import LEARNING_RATE, adam_update, step_size
from smokejob.model import (
    BYTE_VALUES,
    CONTEXT_BYTES,
    PARAMETER_COUNT,
    SHAPES,
    by_name,
    initial_parameters,
    loss_sum_and_gradient,
)


def some_windows(count: int):
    """Bytes that repeat within a window, so that embedding rows collect several contributions."""
    random = np.random.default_rng(5)
    rows = random.integers(97, 105, size=(count, CONTEXT_BYTES + 1), dtype=np.uint8)
    return rows[:, :-1], rows[:, -1]


@pytest.mark.parametrize("name", SHAPES)
def test_gradient_agrees_with_finite_differences(name):
    parameters = initial_parameters(3).astype(np.float64)
    by_name(parameters)["hidden_bias"][:] = 0.1
    inputs, targets = some_windows(9)
    _, gradient = loss_sum_and_gradient(parameters, inputs, targets)
    slopes = by_name(gradient)[name].ravel()
    weights = by_name(parameters)[name].reshape(-1)
    largest = np.argsort(-np.abs(slopes))[:20]
    step = 1e-5
    for place in largest:
        before = weights[place]
        weights[place] = before + step
        above, _ = loss_sum_and_gradient(parameters, inputs, targets)
        weights[place] = before - step
        below, _ = loss_sum_and_gradient(parameters, inputs, targets)
        weights[place] = before
        assert slopes[place] == pytest.approx((above - below) / (2 * step), rel=1e-5, abs=1e-7)
    assert np.abs(slopes[largest]).min() > 1e-4


def test_bytes_that_do_not_occur_have_no_embedding_gradient():
    inputs, targets = some_windows(9)
    _, gradient = loss_sum_and_gradient(initial_parameters(3), inputs, targets)
    absent = sorted(set(range(BYTE_VALUES)) - set(inputs.ravel().tolist()))
    assert len(absent) >= BYTE_VALUES - 8
    assert not by_name(gradient)["embedding"][absent].any()


def test_sums_over_shares_are_the_whole():
    parameters = initial_parameters(1).astype(np.float64)
    inputs, targets = some_windows(10)
    whole_loss, whole_gradient = loss_sum_and_gradient(parameters, inputs, targets)
    parts = [
        loss_sum_and_gradient(parameters, inputs[part], targets[part]) for part in (slice(0, 3), slice(3, 10))
    ]
    assert sum(loss for loss, _ in parts) == pytest.approx(whole_loss)
    np.testing.assert_allclose(sum(gradient for _, gradient in parts), whole_gradient, atol=1e-12)


def test_untrained_model_is_about_as_surprised_as_chance():
    inputs, targets = some_windows(500)
    loss, _ = loss_sum_and_gradient(initial_parameters(0), inputs, targets)
    assert loss / 500 == pytest.approx(math.log(BYTE_VALUES), abs=0.7)


def test_named_parts_are_the_whole_vector():
    vector = np.zeros(PARAMETER_COUNT)
    for part in by_name(vector).values():
        part += 1
    assert (vector == 1).all()
    assert 90_000 < PARAMETER_COUNT < 120_000


def test_adam_is_the_published_recurrence():
    random = np.random.default_rng(0)
    ours = np.array([1.0, -2.0, 3.0])
    first = second = np.zeros(3)
    theirs, mean, variance = ours.copy(), np.zeros(3), np.zeros(3)
    for step in range(1, 6):
        gradient = random.standard_normal(3)
        ours, first, second = adam_update(ours, first, second, gradient, step_size(step))
        mean = 0.9 * mean + 0.1 * gradient
        variance = 0.99 * variance + 0.01 * gradient**2
        theirs -= LEARNING_RATE * (mean / (1 - 0.9**step)) / np.sqrt(variance / (1 - 0.99**step))
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
