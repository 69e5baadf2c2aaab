import hashlib
import json
import shutil

import numpy as np
import pytest
from smokejob.checkpoints import (
    RunFacts,
    checkpoint_to_resume,
    prepare_directory,
    read_checkpoint,
    write_checkpoint,
)
from smokejob.errors import InputError, StorageError
from smokejob.model import PARAMETER_COUNT
from smokejob.state import TrainingState

FACTS = RunFacts(seed=7, global_batch=64, data_sha256="ab" * 32, processes=4, backend="numpy")


def a_state(step: int) -> TrainingState:
    random = np.random.default_rng(step)
    vectors = random.standard_normal((3, PARAMETER_COUNT)).astype(np.float32)
    return TrainingState(step, 1 / (step + 2), *vectors)


@pytest.fixture
def directory(tmp_path):
    """With checkpoints of steps 10 and 20."""
    for step in (10, 20):
        write_checkpoint(tmp_path, a_state(step), FACTS)
    return tmp_path


def newest(directory):
    messages: list[str] = []
    return checkpoint_to_resume(directory, None, messages.append), messages


def test_what_is_read_is_what_was_written(directory):
    checkpoint, messages = newest(directory)
    assert checkpoint.facts == FACTS
    assert (checkpoint.state.step, checkpoint.state.loss) == (20, 1 / 22)
    for name in ("parameters", "first_moment", "second_moment"):
        np.testing.assert_array_equal(getattr(checkpoint.state, name), getattr(a_state(20), name))
    assert messages == []


def test_description_is_for_other_programs_too(directory):
    content = (directory / "step-000020" / "state.npz").read_bytes()
    assert json.loads((directory / "step-000020" / "checkpoint.json").read_text()) == {
        "step": 20,
        "loss": 1 / 22,
        "seed": 7,
        "global_batch": 64,
        "data_sha256": "ab" * 32,
        "processes": 4,
        "backend": "numpy",
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def test_all_are_kept_and_a_step_can_be_chosen(directory):
    assert sorted(path.name for path in directory.iterdir()) == ["step-000010", "step-000020"]
    assert checkpoint_to_resume(directory, 10, print).state.step == 10
    assert checkpoint_to_resume(directory, 0, print) is None


def test_steps_are_ordered_as_numbers(directory):
    write_checkpoint(directory, a_state(1_000_000), FACTS)
    assert newest(directory)[0].state.step == 1_000_000


def test_a_step_that_is_reached_again_replaces_its_checkpoint(directory):
    changed = a_state(99)
    again = TrainingState(20, 0.25, changed.parameters, changed.first_moment, changed.second_moment)
    write_checkpoint(directory, again, FACTS)
    assert newest(directory)[0].state.loss == 0.25


def cut_state(path):
    content = (path / "state.npz").read_bytes()
    (path / "state.npz").write_bytes(content[: len(content) // 2])


def change_one_byte(path):
    content = bytearray((path / "state.npz").read_bytes())
    content[len(content) // 2] ^= 1
    (path / "state.npz").write_bytes(content)


def rewrite_description(path, **changes):
    description = json.loads((path / "checkpoint.json").read_text())
    (path / "checkpoint.json").write_text(json.dumps({**description, **changes}))


def another_model(path):
    np.savez(
        path / "state.npz", **dict.fromkeys(("parameters", "first_moment", "second_moment"), np.zeros(3))
    )
    rewrite_description(path, sha256=hashlib.sha256((path / "state.npz").read_bytes()).hexdigest())


def not_an_archive(path):
    (path / "state.npz").write_bytes(b"PK\x03\x04 and nothing more")
    rewrite_description(path, sha256=hashlib.sha256((path / "state.npz").read_bytes()).hexdigest())


DAMAGES = {
    "state cut short": cut_state,
    "one byte of the state changed": change_one_byte,
    "state missing": lambda path: (path / "state.npz").unlink(),
    "state empty": lambda path: (path / "state.npz").write_bytes(b""),
    "state is no archive": not_an_archive,
    "state of another model": another_model,
    "description missing": lambda path: (path / "checkpoint.json").unlink(),
    "description cut short": lambda path: (path / "checkpoint.json").write_text('{"step": 2'),
    "description is a list": lambda path: (path / "checkpoint.json").write_text("[]"),
    "description without loss": lambda path: rewrite_description(path, loss=None),
    "description of another step": lambda path: rewrite_description(path, step=10),
    "an empty directory": lambda path: (shutil.rmtree(path), path.mkdir()),
    "a file in its place": lambda path: (shutil.rmtree(path), path.write_text("")),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damage_is_told_and_the_older_one_used(directory, damage):
    damage(directory / "step-000020")
    checkpoint, messages = newest(directory)
    assert checkpoint.state.step == 10
    [message] = messages
    assert "skipping a damaged checkpoint" in message
    assert "step-000020" in message
    assert "\n" not in message


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damage_of_the_one_that_was_asked_for_is_an_error(directory, damage):
    damage(directory / "step-000020")
    with pytest.raises(InputError, match="cannot resume from step 20"):
        checkpoint_to_resume(directory, 20, print)


def test_asking_for_one_that_never_was_names_those_that_are(directory):
    with pytest.raises(InputError, match="steps with a checkpoint: 10, 20"):
        checkpoint_to_resume(directory, 30, print)


def test_nothing_there_is_a_fresh_start(tmp_path):
    assert newest(tmp_path) == (None, [])


def test_an_interrupted_write_is_no_checkpoint_and_goes(directory):
    shutil.copytree(directory / "step-000020", directory / "tmp-step-000030")
    assert newest(directory)[0].state.step == 20
    prepare_directory(directory)
    assert sorted(path.name for path in directory.iterdir()) == ["step-000010", "step-000020"]


def test_a_directory_that_cannot_be_used(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot use the checkpoint directory"):
        prepare_directory(tmp_path / "file" / "checkpoints")
    with pytest.raises(StorageError, match="cannot write the checkpoint"):
        write_checkpoint(tmp_path / "gone", a_state(1), FACTS)


def test_read_checkpoint_keeps_float32(directory):
    assert read_checkpoint(directory / "step-000010").state.parameters.dtype == np.float32
