"""The container beside an engine."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace

import pytest

from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.render.engine import render
from stacks.domain.render.engine_container import EngineContainer
from stacks.domain.render.engines import engine_container
from stacks.domain.render.exporter import ExporterScript, exporter_container
from stacks.domain.render.travelling_program import travelling_program
from tests.environments import plan_of
from tests.unit.domain.fleet_cases import fleet as fleet_settings

SCRIPT = render(ExporterScript(travelling_program("exporter")))


@pytest.fixture(scope="module")
def fleet() -> FleetPlan:
    return plan_of(fleet_settings(first_token_seconds=700)).fleet("chat")


def engine_of() -> EngineContainer:
    plan = plan_of(fleet_settings())
    made = engine_container(plan, plan.fleet("chat"), plan.fleet("chat").slices[0])
    return replace(made, port=8083, metrics_path="/numbers")


def test_the_program_is_small_enough_for_a_command() -> None:
    assert len(travelling_program("exporter")) <= 8 * 1024


def test_without_its_variables_it_says_so() -> None:
    done = subprocess.run(
        ["sh", "-c", SCRIPT],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 64
    assert "NEURONKIT_" in done.stderr


def test_variables_are_those_of_the_engine(fleet: FleetPlan) -> None:
    engine = engine_of()
    made = exporter_container("pilot", fleet, engine, side="gpu", engine_host="engine")
    assert made is not None
    variables = dict(made.environment)
    assert variables["NEURONKIT_ENGINE_PORT"] == "8083"
    assert variables["NEURONKIT_ENGINE_HOST"] == "engine"
    assert variables["NEURONKIT_METRICS_PATH"] == "/numbers"
    assert variables["NEURONKIT_SIDE"] == "gpu"
    assert int(variables["NEURONKIT_STALL_SECONDS"]) >= 2 * fleet.settings.first_token_seconds


def test_the_image_of_a_user_may_do_without_python(fleet: FleetPlan) -> None:
    custom = replace(fleet, settings=fleet.settings.model_copy(update={"engine": "custom"}))
    kits = exporter_container("pilot", fleet, engine_of(), side="neuron", engine_host=None)
    users = exporter_container("pilot", custom, engine_of(), side="neuron", engine_host=None)
    assert kits is not None
    assert users is not None
    assert (kits.essential, users.essential) == (True, False)


def test_an_engine_without_metrics_has_none(fleet: FleetPlan) -> None:
    assert (
        exporter_container(
            "pilot", fleet, replace(engine_of(), metrics_path=None), side="neuron", engine_host=None
        )
        is None
    )
