from pathlib import Path

import pytest
from smokejob.environment import read_environment
from smokejob.errors import InputError

NODE_2_OF_4 = {
    "NEURONKIT_NODES": "4",
    "NEURONKIT_NODE_RANK": "2",
    "NEURONKIT_MAIN_ADDRESS": "10.0.1.5",
    "NEURONKIT_METRICS_FILE": "/run/metrics.jsonl",
    "NEURONKIT_CHECKPOINT_DIR": "/run/checkpoints",
    "NEURONKIT_RUN_ID": "smoke-1",
}


def test_nothing_set_is_one_process_with_the_shipped_text():
    environment = read_environment({})
    assert (environment.rank, environment.processes, environment.rendezvous_port) == (0, 1, 41001)
    assert environment.resume_step is None
    assert len(environment.data_file.read_bytes()) > 30_000


def test_a_node_of_several():
    environment = read_environment(NODE_2_OF_4)
    assert (environment.rank, environment.processes) == (2, 4)
    assert (environment.main_address, environment.run_id) == ("10.0.1.5", "smoke-1")
    assert environment.metrics_file == Path("/run/metrics.jsonl")
    assert environment.checkpoint_dir == Path("/run/checkpoints")


def test_process_variables_win_over_the_nodes():
    environment = read_environment(
        {**NODE_2_OF_4, "NEURONKIT_PROCESSES": "8", "NEURONKIT_PROCESS_RANK": "5", "NEURONKIT_NODE_RANK": ""}
    )
    assert (environment.rank, environment.processes) == (5, 8)


@pytest.mark.parametrize(("text", "coordinator"), [("", None), ("10.0.1.5:41001", "10.0.1.5:41001")])
def test_jax_coordinator_goes_by_jaxs_own_name(text, coordinator):
    assert read_environment({"JAX_COORDINATOR_ADDRESS": text}).jax_coordinator == coordinator


@pytest.mark.parametrize(("text", "step"), [("", None), ("0", 0), ("40", 40)])
def test_resume_step(text, step):
    assert read_environment({"NEURONKIT_RESUME_STEP": text}).resume_step == step


@pytest.mark.parametrize("name", sorted(NODE_2_OF_4.keys() - {"NEURONKIT_NODES"}))
@pytest.mark.parametrize("missing", [None, ""], ids=["not set", "empty"])
def test_several_processes_need_every_variable(name, missing):
    variables = {key: value for key, value in NODE_2_OF_4.items() if key != name}
    if missing is not None:
        variables[name] = missing
    with pytest.raises(InputError, match=f"{name} is missing"):
        read_environment(variables)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"NEURONKIT_NODES": "0"}, "NEURONKIT_NODES is 0, not from 1"),
        ({"NEURONKIT_NODES": "four"}, "NEURONKIT_NODES is 'four', not a whole number"),
        ({"NEURONKIT_NODE_RANK": "4"}, "rank 4 must be below the number of processes, 4"),
        ({"NEURONKIT_NODE_RANK": "-1"}, "NEURONKIT_NODE_RANK is -1, not from 0"),
        ({"NEURONKIT_NODE_RANK": "1.0"}, "NEURONKIT_NODE_RANK is '1.0'"),
        ({"NEURONKIT_PROCESS_RANK": "9"}, "rank 9 must be below"),
        ({"NEURONKIT_RENDEZVOUS_PORT": "70000"}, "NEURONKIT_RENDEZVOUS_PORT is 70000, not from 1 to 65535"),
        ({"NEURONKIT_RESUME_STEP": "last"}, "NEURONKIT_RESUME_STEP is 'last'"),
    ],
)
def test_wrong_values_are_named(changes, message):
    with pytest.raises(InputError, match=message):
        read_environment({**NODE_2_OF_4, **changes})


def test_all_that_is_wrong_comes_in_one_line():
    with pytest.raises(InputError) as raised:
        read_environment({"NEURONKIT_NODES": "2", "NEURONKIT_NODE_RANK": "x"})
    message = str(raised.value)
    assert "\n" not in message
    for name in ("NODE_RANK", "MAIN_ADDRESS", "RUN_ID", "METRICS_FILE", "CHECKPOINT_DIR"):
        assert f"NEURONKIT_{name}" in message
