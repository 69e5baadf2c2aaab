import numpy as np
import pytest
from smokejob.corpus import load_corpus, windows_of_step
from smokejob.environment import SHIPPED_TEXT
from smokejob.errors import InputError
from smokejob.model import CONTEXT_BYTES


@pytest.fixture
def corpus():
    return load_corpus(SHIPPED_TEXT)


def test_shipped_text_is_plain_english(corpus):
    text = SHIPPED_TEXT.read_text(encoding="ascii")
    assert 30_000 < len(text) < 60_000
    assert text.count(" the ") > 300
    assert corpus.data.tobytes().decode() == text


def test_windows_are_cut_from_the_text(corpus):
    windows = windows_of_step(corpus, seed=1, step=7, count=50)
    content = corpus.data.tobytes()
    assert windows.inputs.shape == (50, CONTEXT_BYTES)
    for row, target in zip(windows.inputs, windows.targets, strict=True):
        assert row.tobytes() + bytes([target]) in content


def test_windows_depend_on_seed_and_step_only(corpus):
    first = windows_of_step(corpus, seed=1, step=7, count=50)
    windows_of_step(corpus, seed=1, step=8, count=50)
    again = windows_of_step(corpus, seed=1, step=7, count=50)
    np.testing.assert_array_equal(first.inputs, again.inputs)
    for seed, step in ((1, 8), (2, 7)):
        assert not np.array_equal(first.inputs, windows_of_step(corpus, seed, step, 50).inputs)


def test_every_part_of_the_text_can_be_drawn(tmp_path):
    path = tmp_path / "short.txt"
    path.write_bytes(bytes(range(CONTEXT_BYTES + 2)))
    windows = windows_of_step(load_corpus(path), seed=0, step=1, count=100)
    assert set(windows.targets.tolist()) == {CONTEXT_BYTES, CONTEXT_BYTES + 1}


@pytest.mark.parametrize("processes", [1, 2, 3, 4, 7])
def test_parts_of_all_ranks_are_the_whole(corpus, processes):
    windows = windows_of_step(corpus, seed=0, step=1, count=25)
    parts = [windows.part(rank, processes) for rank in range(processes)]
    np.testing.assert_array_equal(np.concatenate([part.inputs for part in parts]), windows.inputs)
    np.testing.assert_array_equal(np.concatenate([part.targets for part in parts]), windows.targets)
    sizes = [len(part.targets) for part in parts]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("content", [b"", b"x" * CONTEXT_BYTES], ids=["empty", "one window short"])
def test_text_that_is_too_short(tmp_path, content):
    path = tmp_path / "text"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"has {len(content)} bytes"):
        load_corpus(path)


def test_text_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        load_corpus(tmp_path / "none")
    with pytest.raises(InputError, match="Is a directory"):
        load_corpus(tmp_path)
