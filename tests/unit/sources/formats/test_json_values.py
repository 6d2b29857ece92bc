"""JSON as a stream of values: every value is one record, whatever stands between them; what is no JSON is
one as well."""

import itertools
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from lakesmith.sources.formats.json_values import is_stream, json_values

CASES: list[tuple[str, str, bool, list[str]]] = [
    ("one a line", '{"a":1}\n\n{"a":2}', False, ['{"a":1}', '{"a":2}']),
    ("glued", '{"a":1}{"a":"}{"} {"a":3}', True, ['{"a":1}', '{"a":"}{"}', '{"a":3}']),
    ("glued further down", '{"a":1}\n{"a":2}{"a":3}\n', True, ['{"a":1}', '{"a":2}', '{"a":3}']),
    ("with commas", '{"a":1},\n{"a":2},\n', True, ['{"a":1}', '{"a":2}']),
    ("over several lines", '{\n "a": [\n1]\n}\n{"a":2}\n', True, ['{\n "a": [\n1]\n}', '{"a":2}']),
    ("not indented", '{"a":\n{"b":1}\n}', True, ['{"a":\n{"b":1}\n}']),
    ("an array", '[{"a":1},\n{"a":[2]}]', True, ['{"a":1}', '{"a":[2]}']),
    ("arrays, and no objects", '[]\n[1, [2]]{"a":3}', True, ["1", "[2]", '{"a":3}']),
    ("an array that was cut off", '[{"a":1},{"a":2', True, ['{"a":1}', '{"a":2', "["]),
    ("a byte order mark", '\ufeff{"a":1}', False, ['{"a":1}']),
    ("cut lines", '{"a":1\n{"a": "x\n{"a":3}', False, ['{"a":1', '{"a": "x', '{"a":3}']),
    ("a line that is cut where an object may follow", '{"a":[\n{"a":2}\n{"a":3}', False,
     ['{"a":[\n{"a":2}', '{"a":3}']),
    ("text after a value", '{"a":1}x{"a":2}\n{"a":3}', False, ['{"a":1}', 'x{"a":2}', '{"a":3}']),
    ("a broken one of several in a line", '{"a":1}{"a":}{"a":3}\n{"a":4}', True,
     ['{"a":1}', '{"a":}{"a":3}', '{"a":4}']),
    (
        "a broken one in an indented array",
        '[\n  {\n    "a": {\n    }\n  },\n  {\n    "a": ,\n    "b": {\n    }\n  },\n  {\n    "a": 3\n  }\n]',
        True,
        ['{\n    "a": {\n    }\n  }', '{\n    "a": ,\n    "b": {\n    }\n  },', '{\n    "a": 3\n  }'],
    ),
    ("nothing", " \n", False, []),
    ("no JSON at all", "a;b\n1;2\n", False, ["a;b\n1;2"]),
    ("nested beyond all bounds", "[" * 100_000 + '\n{"a":1}', True, ["[" * 99_999, '{"a":1}', "["]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "stream", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_each_value_is_a_record(text: str, stream: bool, expected: list[str]) -> None:
    assert list(json_values(text.split("\n"))) == expected
    assert is_stream(text, whole=True) is stream
    assert is_stream(text.replace("\n", "\r\n"), whole=True) is stream


def _value(some: random.Random, depth: int = 0) -> Any:
    kind = some.randrange(6) if depth < 4 else 0
    if kind < 3:
        return some.choice([1, -1.5, 'a"}{[', "\n\\", None, True, "é,", "😀"])
    if kind == 3:
        return [_value(some, depth + 1) for _ in range(some.randrange(4))]
    return {some.choice("ab{}") + str(at): _value(some, depth + 1) for at in range(some.randrange(4))}


def _written(some: random.Random, rows: list[Any]) -> str:
    indent = some.choice([None, 0, 2])
    if some.randrange(2):
        return json.dumps(rows, indent=indent, ensure_ascii=some.random() < 0.5)
    return "".join(
        json.dumps(row, indent=indent) + some.choice(["", "\n", " ", ",\n", "\n\n"]) for row in rows
    )


def test_what_was_written_is_found_and_what_is_cut_is_never_taken_for_another() -> None:
    some = random.Random(7)
    for _ in range(1500):
        rows = [{"id": at, "v": _value(some)} for at in range(some.randrange(1, 8))]
        text = _written(some, rows)
        assert [json.loads(value) for value in json_values(text.split("\n"))] == rows, text
        cut = text[: some.randrange(len(text))]
        found = [_loaded(value) for value in json_values(cut.split("\n"))]
        whole = [row for row in found if isinstance(row, dict)]
        assert whole == rows[: len(whole)], cut
        assert len(whole) == len(rows) or len(found) > len(whole) or cut.rstrip(" \n,")[-1:] in ("}", ""), cut


def _loaded(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return None


def test_no_more_is_read_than_a_value_takes() -> None:
    read = itertools.count()

    def lines() -> Iterator[str]:
        yield "["
        while True:
            next(read)
            yield '{"a":'
            yield '"' + "x" * 100 + '"},'

    found = list(itertools.islice(json_values(lines()), 3000))
    assert {len(value) for value in found} == {len(found[0])}
    assert next(read) < 5000


def test_the_start_of_a_file_tells_as_soon_as_it_can() -> None:
    assert is_stream('{"a": "' + "x" * 100, whole=False) is None
    assert is_stream('{"a": 1}\n{"b": "' + "x" * 100, whole=False) is False
    assert is_stream('{"a": 1}{"b": "' + "x" * 100, whole=False) is True
    assert is_stream('{\n"a": "' + "x" * 100, whole=False) is None
    assert is_stream('{\n"a": 1,\n"b": "' + "x" * 100, whole=False) is True
