"""The id takes the place of the null; every other character of the file stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.domain.capacity_market.id_insertion import with_ids
from stacks.domain.environment.source import parse
from stacks.domain.errors import InputError
from stacks.domain.render.starters import starter_text

ID = "cr-0123456789abcdef0"
FILE = "pilot.yaml"


def text_with(entry: str) -> str:
    return f"# über\nname: pilot  # first\ncapacity:\n  other: {{kind: on-demand, id: null}}\n  block:{entry}\nend: null\n"


@pytest.mark.parametrize(
    ("entry", "written"),
    [
        ("\n    kind: capacity-block\n    id: null   # not bought", f"\n    kind: capacity-block\n    id: {ID}   # not bought"),
        ("\n    id: ~\n    kind: x", f"\n    id: {ID}\n    kind: x"),
        ("\n    id: Null", f"\n    id: {ID}"),
        ("\n    id: NULL", f"\n    id: {ID}"),
        ("\n    id:\n    kind: x", f"\n    id: {ID}\n    kind: x"),
        ("\n    id:   # later\n    kind: x", f"\n    id: {ID}   # later\n    kind: x"),
        ("\n    kind: x\n    id:", f"\n    kind: x\n    id: {ID}"),
        ('\n    "id": null', f'\n    "id": {ID}'),
        ("\n    'id' : null", f"\n    'id' : {ID}"),
        ("\n    id:\n      null", f"\n    id:\n      {ID}"),
        (" {kind: x, id: null}", f" {{kind: x, id: {ID}}}"),
        (" {id: , kind: x}", f" {{id: {ID} , kind: x}}"),
        (' {"kind":"x","id":null}', f' {{"kind":"x","id":{ID}}}'),
        (" # a block\n    # null\n    note: 'id: null'\n    id: null # null", f" # a block\n    # null\n    note: 'id: null'\n    id: {ID} # null"),
        ("\n    note: |\n      id: null\n    id: null", f"\n    note: |\n      id: null\n    id: {ID}"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_only_the_null_changes(entry: str, written: str, line_end: str, mark: str) -> None:
    before = mark + text_with(entry).replace("\n", line_end)
    after = mark + text_with(written).replace("\n", line_end)
    assert with_ids(before, FILE, "block", [ID]) == after


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("\n    kind: capacity-block", "has no capacity.block.id"),
        (" null", "has no capacity.block.id"),
        (f"\n    id: {ID}", "has an id already"),
        ("\n    id: ''", "has an id already"),
        ("\n    id: &nothing null", "cannot be replaced exactly"),
        ("\n    id: !!null null", "cannot be replaced exactly"),
        ("\n    id: &nothing null\n    zone: *nothing", "cannot be replaced exactly"),
        ("\n    zone: &nothing null\n    id: *nothing", "cannot be replaced exactly"),
        (" &one\n    id: null\n  two: *one", "cannot be replaced exactly"),
    ],
)
def test_what_cannot_be_replaced_exactly_is_refused(entry: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        with_ids(text_with(entry), FILE, "block", [ID])
    assert words in caught.value.message


def test_an_entry_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"has no capacity\.blok\.id"):
        with_ids(text_with("\n    id: null"), FILE, "blok", [ID])


def test_the_starters_null() -> None:
    text = starter_text("trn2-pilot", name="pilot", file=FILE, schema="schema.json")
    assert with_ids(text, FILE, "block", [ID]) == text.replace("id: null", f"id: {ID}", 1)


IDS = [ID, "cr-0123456789abcdef1"]
LIST = f"[{', '.join(IDS)}]"


@pytest.mark.parametrize(
    ("entry", "written"),
    [
        ("\n    kind: x\n    id: null   # not bought\n    # ids: [cr-…]", f"\n    kind: x\n    ids: {LIST}   # not bought\n    # ids: [cr-…]"),
        ("\n    id:   # later\n    kind: x", f"\n    ids: {LIST}   # later\n    kind: x"),
        ("\n    id:\n      null", f"\n    ids:\n      {LIST}"),
        ('\n    "id": null', f'\n    "ids": {LIST}'),
        ("\n    'id' : null", f"\n    'ids' : {LIST}"),
        (" {kind: x, id: null}  # soon", f" {{kind: x, ids: {LIST}}}  # soon"),
        (" {id: , kind: x}", f" {{ids: {LIST} , kind: x}}"),
        ("\n    id: null # one\n    ids: [ ] # several", f"\n    id: null # one\n    ids: {LIST} # several"),
        ("\n    ids: []\n    kind: x", f"\n    ids: {LIST}\n    kind: x"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_several_ids_are_a_list(entry: str, written: str, line_end: str) -> None:
    before = text_with(entry).replace("\n", line_end)
    assert with_ids(before, FILE, "block", IDS) == text_with(written).replace("\n", line_end)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("\n    kind: x", "has no capacity.block.id"),
        (f"\n    id: {ID}", "has an id already"),
        (f"\n    ids: [{ID}]", "is no plain empty list"),
        ("\n    ids:\n    id: null", "is no plain empty list"),
        ("\n    ids: &none []", "is no plain empty list"),
        ("\n    id: &nothing null", "cannot be replaced exactly"),
        ("\n    zone: &nothing null\n    id: *nothing", "cannot be replaced exactly"),
        (" &one\n    id: null\n  two: *one", "cannot be replaced exactly"),
    ],
)
def test_where_a_list_cannot_be_written_it_is_refused(entry: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        with_ids(text_with(entry), FILE, "block", IDS)
    assert words in caught.value.message


comments = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\x85\u2028\u2029\ufeff\ufffe\uffff"), max_size=12)  # fmt: skip


@given(st.lists(comments, min_size=1, max_size=5), comments)
def test_comments_of_any_words_stay(lines: list[str], behind: str) -> None:
    head = "".join(f"# {line}\n" for line in lines)
    before = f"{head}capacity:\n  block:\n    id: null # {behind}\n"
    after = with_ids(before, FILE, "block", [ID])
    assert after == f"{head}capacity:\n  block:\n    id: {ID} # {behind}\n"
    assert parse(after, FILE).data == {"capacity": {"block": {"id": ID}}}
