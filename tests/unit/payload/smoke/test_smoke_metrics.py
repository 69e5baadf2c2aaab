import json

import pytest
from smokejob.errors import InputError
from smokejob.metrics import MetricsFile, step_line


def steps_in(path):
    return [json.loads(line)["step"] for line in path.read_text().splitlines()]


def test_lines_are_there_at_once(tmp_path):
    path = tmp_path / "run" / "metrics.jsonl"
    metrics = MetricsFile(path, 0)
    metrics.write({"step": 1, "loss": 5.5})
    assert path.read_text() == '{"step": 1, "loss": 5.5}\n'


@pytest.mark.parametrize(
    ("content", "done_steps", "kept"),
    [
        ("", 4, []),
        ('{"step": 1}\n{"step": 2}\n{"step": 3}\n', 2, [1, 2]),
        ('{"step": 1}\n{"step": 2}\n{"st', 2, [1, 2]),
        ('{"step": 1}\n{"step": 2}', 2, [1, 2]),
        ('{"step": 1}\nnot JSON\n[]\n{"step": 2}\n', 9, [1, 2]),
        ('{"step": 1}\n', 0, []),
    ],
    ids=["empty", "later steps", "torn line", "no last newline", "strange lines", "starting anew"],
)
def test_a_resumed_run_continues_where_its_checkpoint_is(tmp_path, content, done_steps, kept):
    path = tmp_path / "metrics.jsonl"
    path.write_text(content)
    MetricsFile(path, done_steps).write({"step": 99})
    assert steps_in(path) == [*kept, 99]
    assert [file.name for file in tmp_path.iterdir()] == ["metrics.jsonl"]


def test_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="cannot write the metrics file"):
        MetricsFile(tmp_path, 0)


def test_step_line_is_fixed():
    assert step_line(12, 60, 2.94812, 4096, 0.0309) == "step 12/60 loss 2.9481 tokens 4096 0.031s"
