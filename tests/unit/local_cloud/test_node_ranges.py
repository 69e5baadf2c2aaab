from __future__ import annotations

import pytest

from scripts.local_cloud.batch.errors import ClientException
from scripts.local_cloud.batch.node_ranges import NodeRange, check_cover, parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0:3", NodeRange(0, 3)), ("2", NodeRange(2, 2)), ("1:", NodeRange(1, None)), (":2", NodeRange(0, 2))],
)
def test_every_form_is_read(text: str, expected: NodeRange) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize("text", ["", ":", "a", "1-2", "1:2:3", "-1", "2:1", " 1", "1,2", "0:3 "])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ClientException, match="is not valid"):
        parse(text)


def test_an_open_range_follows_the_number_of_nodes() -> None:
    assert list(parse("2:").nodes(5)) == [2, 3, 4]
    check_cover([parse("0:1"), parse("2:")], 3)
    check_cover([parse("0:1"), parse("2:")], 30)
    with pytest.raises(ClientException, match="exceeds the number of nodes"):
        check_cover([parse("0:1"), parse("2:")], 2)
