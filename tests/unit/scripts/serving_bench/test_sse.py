"""Whatever the pieces, the events are those of the whole."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.serving_bench import sse
from scripts.serving_bench.failures import GARBAGE, RequestFailedError
from scripts.serving_bench.sse import EventStream

ends = st.sampled_from(["\n", "\r\n", "\r"])
texts = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\r\n"), max_size=12)


@st.composite
def written_events(draw: st.DrawFn) -> tuple[bytes, list[str]]:
    """A stream with comments, other fields and any line ends, and the data that is in it."""
    written, data = [draw(st.sampled_from(["", "\ufeff"]))], []
    for lines in draw(st.lists(st.lists(texts, min_size=1, max_size=3), max_size=5)):
        end = draw(ends)
        for line in lines:
            for noise in draw(
                st.lists(
                    st.sampled_from([": ping", "event: x", "id: 1", "retry: 5", "nonsense", ":"]), max_size=2
                )
            ):
                written.append(noise + end)
            written.append(f"data: {line}{end}")
        written.append(end * draw(st.integers(1, 3)))
        data.append("\n".join(lines))
    return "".join(written).encode(), data


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    marks = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[begin:end] for begin, end in itertools.pairwise(marks)]


@given(written_events(), st.lists(st.integers(0, 10_000), max_size=20))
def test_pieces_cut_anywhere_give_the_events_of_the_whole(
    written: tuple[bytes, list[str]], places: list[int]
) -> None:
    stream, data = written
    events = EventStream()
    assert [one for piece in cut(stream, places) for one in events.feed(piece)] == data


@given(st.binary(max_size=300), st.lists(st.integers(0, 10_000), max_size=20))
def test_of_any_bytes_the_pieces_do_not_matter(stream: bytes, places: list[int]) -> None:
    whole, parts = EventStream(), EventStream()
    assert [one for piece in cut(stream, places) for one in parts.feed(piece)] == list(whole.feed(stream))


def test_an_event_that_the_end_cuts_is_none() -> None:
    assert list(EventStream().feed(b"data: one\n\ndata: two\n")) == ["one"]


def test_only_one_blank_after_the_colon_is_of_the_field() -> None:
    assert list(EventStream().feed(b"data:  a\ndata:b\ndata\n\n")) == [" a\nb\n"]


def test_a_stream_without_blank_lines_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "EVENT_BYTES_MAX", 1000)
    events = EventStream()
    for _ in range(1000):
        assert list(events.feed(b"x")) == []
    with pytest.raises(RequestFailedError) as caught:
        list(events.feed(b"x"))
    assert caught.value.kind == GARBAGE
    for _ in range(20):
        assert list(EventStream().feed(b"data: " + b"y" * 900 + b"\n\n"))
