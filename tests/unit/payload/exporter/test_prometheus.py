"""The text that engines answer, and what is taken from it."""

from __future__ import annotations

import contextlib

import pytest
from exporter.names import Reading, reading
from exporter.prometheus import NotMetricsError, Sample, parse
from hypothesis import given
from hypothesis import strategies as st

VLLM = """# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a/b"} 3.0
vllm:num_requests_running{engine="1",model_name="a/b"} 1.0
vllm:num_requests_waiting{engine="0",model_name="a/b"} 2.0
vllm:prompt_tokens_total{engine="0",model_name="a/b"} 1.2e+03
vllm:generation_tokens_total{engine="0",model_name="a/b"} 300.0
vllm:request_success_total{engine="0",finished_reason="stop",model_name="a/b"} 7.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="a/b"} 2.0
"""


@pytest.mark.parametrize(
    ("line", "sample"),
    [
        ("up 1", Sample("up", {}, 1.0)),
        ("up{} 1", Sample("up", {}, 1.0)),
        ("a:b_c 1.5e-3 1700000000000", Sample("a:b_c", {}, 0.0015)),
        ('a{le="+Inf"} 4', Sample("a", {"le": "+Inf"}, 4.0)),
        ('a{x="1", y="2",} 4', Sample("a", {"x": "1", "y": "2"}, 4.0)),
        (r'a{x="say \"}\" \\ \n"} 4', Sample("a", {"x": 'say "}" \\ \n'}, 4.0)),
        ("a +Inf", Sample("a", {}, float("inf"))),
    ],
)
def test_a_line(line: str, sample: Sample) -> None:
    assert parse(f"# TYPE x counter\n\n{line}\n") == [sample]


@pytest.mark.parametrize(
    "text",
    [
        "<html>",
        "a",
        "a b",
        "{} 1",
        'a{x="1} 1',
        "a{x=1} 1",
        "9a 1",
        "a 1\nnonsense",
        '{"json": 1}',
        "a 1 2 3",
    ],
)
def test_what_is_no_metrics_is_refused_as_a_whole(text: str) -> None:
    with pytest.raises(NotMetricsError):
        parse(text)


def test_not_a_number_is_no_value() -> None:
    assert parse("a NaN\nb 1") == [Sample("b", {}, 1.0)]


@given(
    st.dictionaries(st.from_regex(r"[a-z_]{1,5}", fullmatch=True), st.text(max_size=8), max_size=3),
    st.floats(allow_nan=False),
)
def test_what_is_written_by_the_format_is_read_back(labels: dict[str, str], value: float) -> None:
    def escaped(text: str) -> str:
        return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

    usable = {k: v for k, v in labels.items() if len((v + "x").splitlines()) == 1}
    inside = ",".join(f'{name}="{escaped(text)}"' for name, text in usable.items())
    assert parse(f"name{{{inside}}} {value!r}") == [Sample("name", usable, value)]


@given(st.text())
def test_any_text_is_metrics_or_refused(text: str) -> None:
    with contextlib.suppress(NotMetricsError):
        parse(text)


def test_what_vllm_tells_is_summed_over_its_engines() -> None:
    assert reading(parse(VLLM)) == Reading(running=4, waiting=2, tokens=1500, finished=9)


@pytest.mark.parametrize(
    ("more", "field", "value"),
    [
        ("vllm:kv_cache_usage_perc 0.5", "cache_usage", 0.5),
        ("vllm:gpu_cache_usage_perc 0.25", "cache_usage", 0.25),
        ("vllm:gpu_cache_usage_perc 0.25\nvllm:kv_cache_usage_perc 0.5", "cache_usage", 0.5),
        ("vllm_neuron:startup_time_seconds 312", "startup_seconds", 312),
        (
            'vllm_neuron:compilation_time_seconds{bucket_name="a"} 10\nvllm_neuron:compilation_time_seconds{bucket_name="b"} 5',
            "compilation_seconds",
            15,
        ),
    ],
)
def test_old_and_new_names(more: str, field: str, value: float) -> None:
    found = reading(parse(VLLM + more))
    assert found is not None
    assert getattr(found, field) == value


def test_counters_without_total_are_the_same() -> None:
    assert reading(parse(VLLM.replace("_total", ""))) == reading(parse(VLLM))


def test_the_encoder_of_the_kit() -> None:
    text = "neuronkit_requests_running 2\nneuronkit_requests_waiting 3\nneuronkit_inputs_total 40\nneuronkit_batches_total 9"
    assert reading(parse(text)) == Reading(running=2, waiting=3, tokens=40, finished=9)


def test_an_answer_without_requests_is_no_engine() -> None:
    assert reading(parse("python_info 1")) is None
