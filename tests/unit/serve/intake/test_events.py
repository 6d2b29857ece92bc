"""The events of a body, and what is wrong with them."""

import pytest

from lakesmith.project.definitions import Column
from lakesmith.serve.intake.events import MOST_REASONS, EventReader

READER = EventReader(
    [
        Column("price", "decimal(10,2)", required=True), Column("sale_time", "timestamp"),
        Column("product_id", "bigint"), Column("tags", "array<string>"),
    ]
)  # fmt: skip
SALE = '{"price": 1.50, "sale_time": "2026-11-23T10:15:00Z", "product_id": 7}'


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (SALE, [SALE]),
        (f" [{SALE} , {SALE}]\n", [SALE, SALE]),
        (f"{SALE}\n\n{SALE}\r\n", [SALE, SALE]),
        ('{"price":\n 1.0}', ['{"price":  1.0}']),
        ('{"price": 12345678.9000000000000}', ['{"price": 12345678.9000000000000}']),
        ('{"price": 1, "tags": ["a\\nb"]}', ['{"price": 1, "tags": ["a\\nb"]}']),
        ('{"price": 1, "product_id": null}', ['{"price": 1, "product_id": null}']),
        (f'{{"price": 1, "tags": ["{"1" * 2000}"]}}', [f'{{"price": 1, "tags": ["{"1" * 2000}"]}}']),
        (r'{"price": 1, "tags": ["\ud83d\ude00"]}', [r'{"price": 1, "tags": ["\ud83d\ude00"]}']),
        (f'{{"price": 1, "tags": [{"[]," * 200}[]]}}', [f'{{"price": 1, "tags": [{"[]," * 200}[]]}}']),
    ],
    ids=[
        "one", "array", "lines", "over lines", "digits", "escaped break", "null", "digits in a text",
        "a pair", "wide",
    ],
)  # fmt: skip
def test_events_are_kept_as_they_were_written(body: str, lines: list[str]) -> None:
    events = READER.read(body.encode())
    assert (list(events.lines), events.faults, events.broken) == (lines, (), False)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "the body has no event"),
        (b"[]", "the body has no event"),
        (b'{"price": 1', "not JSON: "),
        (b'[{"price": 1} {"price": 1}]', "not JSON: Expecting ',' or ']'"),
        (b'[{"price": 1}] []', "not JSON: Extra data"),
        (b'{"price": NaN}', "not JSON: NaN is not a JSON value"),
        (b'{"price": "\xff"}', "not valid UTF-8 at byte 11"),
        (b"[" * 100_000, "nested too deeply"),
        (b"7", "expected a JSON object, found a number"),
        (b'[{"price": 1}, "x"]', "expected a JSON object, found a text"),
        (b'{"price": 1e99999999999999999999}', "a number out of all range"),
        (b'{"tags": ' + b"[" * 100 + b"]" * 100 + b"}", "nested more than 100 levels deep"),
        (b'{"price": ' + b"1" * 1000 + b"}", "a number of 1000 characters or more"),
        (b'{"price": 1.' + b"1" * 400 + b"e" + b"0" * 598 + b"1}", "a number out of all range"),
        (b'{"price": 1e-9999}', "a number out of all range"),
        (b'{"price": "1e9999"}', "a number out of all range"),
        (b'{"tags": {"a": [1e99999999]}}', "a number out of all range"),
        (rb'{"tags": ["\ud800"]}', "half of a surrogate pair"),
        (rb'{"\udc00": 1}', "half of a surrogate pair"),
        (rb'{"price": "\ud800", "price": 1}', "half of a surrogate pair"),
    ],
)
def test_a_body_that_is_no_events_is_broken(body: bytes, reason: str) -> None:
    events = READER.read(body)
    assert events.broken
    assert any(fault.reason.startswith(reason) for fault in events.faults), events.faults


@pytest.mark.parametrize(
    ("event", "column", "reason"),
    [
        ('{"product_id": 1}', "price", "required, and not there"),
        ('{"price": null}', "price", "required, and not there"),
        ('{"price": "1,5"}', "price", 'not a value of type decimal(10,2): "1,5"'),
        (
            '{"price": 1.505}',
            "price",
            "not a value of type decimal(10,2): 1.505 (it has more than 2 digits after",
        ),
        ('{"price": 1, "product_id": 1.5}', "product_id", "not a value of type bigint: 1.5"),
        ('{"price": 1, "product_id": 9223372036854775808}', "product_id", "not a value of type bigint: "),
        ('{"price": 1, "product_id": true}', "product_id", "not a value of type bigint: true"),
        ('{"price": 1, "sale_time": "yesterday"}', "sale_time", "not a value of type timestamp: "),
        ('{"price": 1, "tags": {}}', "tags", "not a value of type array<string>: {}"),
        ('{"price": 1, "colour": 2}', "colour", "unknown; the columns are price, sale_time, "),
        ('{"price": 1, "price": 2}', "price", "named twice"),
    ],
)
def test_each_fault_is_told_with_its_column(event: str, column: str, reason: str) -> None:
    events = READER.read(f"[{SALE}, {event}]".encode())
    assert not events.broken
    (fault,) = events.faults
    assert (fault.event, fault.column) == (1, column)
    assert fault.reason.startswith(reason)


ID = EventReader(
    [Column("id", "decimal(38,0)"), Column("name", "string"), Column("n", "int")], ["id", "name"]
)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"id": 1, "name": "a"}', '{"name": "a", "n": 2, "id": 1.00}', True),
        ('{"id": 100, "name": "a"}', '{"id": 1e2, "name": "\\u0061"}', True),
        ('{"id": 100, "name": "5"}', '{"id": "100", "name": 5}', True),
        ('{"id": 1, "name": "7.5"}', '{"id": 1, "name": 7.50}', True),
        ('{"id": 1, "name": "a"}', '{"id": 1, "name": "A"}', False),
        ('{"id": 1, "name": "1"}', '{"id": 11, "name": ""}', False),
        (f'{{"id": {"9" * 37}8, "name": ""}}', f'{{"id": {"9" * 38}, "name": ""}}', False),
    ],
)
def test_numbers_are_one_id_by_their_value_and_texts_as_they_read(one: str, other: str, same: bool) -> None:
    ids = ID.read(f"{one}\n{other}".encode()).ids
    assert (ids[0] == ids[1]) is same
    assert all(each is not None and len(each) == 16 for each in ids)


def test_what_has_faults_has_no_id_and_without_one_none_is_taken() -> None:
    assert ID.read(b'{"id": 1, "name": "a", "n": "x"}').ids == (None,)
    events = ID.read(b'{"id": 1}')
    assert (events.broken, events.faults[0].column) == (True, "name")


@pytest.mark.timeout(20)
def test_a_mean_body_takes_no_time() -> None:
    """Of a MiB: what takes the square of that would take minutes."""
    for part in ('"a": 1,', '"x": [1],', f'"price": {"1" * 249},', '"tags": ["\\u0061"],'):
        body = "{" + part * (1_000_000 // len(part)) + '"price": 1}'
        assert READER.read(body.encode()).faults


def test_reasons_are_told_up_to_a_number() -> None:
    events = READER.read(("{}\n" * 1000).encode())
    assert len(events.faults) == MOST_REASONS
    assert len(events.lines) == 1000
