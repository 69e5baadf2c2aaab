import pytest
from smokejob.errors import InputError
from smokejob.options import parse_options


def test_defaults():
    options = parse_options([])
    assert (options.steps, options.checkpoint_every, options.seed, options.backend) == (60, 20, 0, "auto")
    assert options.fail_at_step is None
    assert options.step_seconds == 0


def test_batch_size_is_the_global_one():
    assert parse_options(["--batch-size", "512"]).global_batch == 512


@pytest.mark.parametrize(
    "arguments",
    [
        ["--steps", "0"],
        ["--steps", "-3"],
        ["--steps", "many"],
        ["--steps", "1_0"],
        ["--batch-size", "0"],
        ["--checkpoint-every", "0"],
        ["--backend", "torch"],
        ["--step-seconds", "-1"],
        ["--step-seconds", "nan"],
        ["--step-seconds", "21"],
        ["--rendezvous-seconds", "0"],
        ["--peer-seconds", "inf"],
        ["--no-such-option"],
        ["stray"],
    ],
    ids=" ".join,
)
def test_bad_arguments_are_one_line(arguments):
    with pytest.raises(InputError) as raised:
        parse_options(arguments)
    assert "\n" not in str(raised.value)
    assert arguments[-1] in str(raised.value)
