"""A declared Avro schema is the reader's: aliases, defaults and promotions count in files of every format."""

import csv
import io
import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import fastavro
from harness import MakeShop, in_order
from nested import json_lines, land_parquet, notes

POINT = {"type": "record", "name": "point", "fields": [{"name": "x", "type": "int"},
    {"name": "y", "type": "int", "default": 7}]}  # fmt: skip
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}
READER: dict[str, Any] = {
    "type": "record",
    "name": "row",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"], "default": None, "aliases": ["title", "full"]},
        {"name": "ratio", "type": "double"},
        {"name": "colour", "type": {"type": "enum", "name": "colour", "symbols": ["RED", "OTHER"],
            "default": "OTHER"}},
        {"name": "city", "type": "string", "default": "O'slo \\ø"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "open", "type": "boolean", "default": True},
        {"name": "share", "type": "float", "default": 0.5},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}, "default": 19844},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}, "default": 1700000000123},
        {"name": "price", "type": PRICE, "default": "\u0000\u0096"},
        {"name": "mark", "type": "bytes", "default": "\u00ff\u0001"},
        {"name": "tags", "type": {"type": "array", "items": "string"}, "default": ["a", "b"]},
        {"name": "counts", "type": {"type": "map", "values": "long"}, "default": {"k": 1}},
        {"name": "place", "type": POINT, "default": {"x": 1}},
        {"name": "back", "type": ["point", "null"], "default": {"x": 2, "y": 3}},
    ],
}  # fmt: skip
COLOUR = {"type": "enum", "name": "colour", "symbols": ["BLUE", "RED"]}
WRITERS: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    (
        {"id": "int", "full": "string", "ratio": "int", "colour": COLOUR},
        [
            {"id": 1, "full": "Ann", "ratio": 2, "colour": "RED"},
            {"id": 2, "full": "", "ratio": 3, "colour": "BLUE"},
        ],
    ),
    (
        {"id": "long", "title": "string", "ratio": "float", "colour": COLOUR, "city": "string"},
        [{"id": 3, "title": "Bo", "ratio": 0.25, "colour": "BLUE", "city": "Rome"}],
    ),
    (
        {"id": "long", "full": ["null", "int", "string"], "ratio": "double", "colour": COLOUR},
        [{"id": 5, "full": "Cy", "ratio": 1.5, "colour": "RED"}],
    ),
]


def avro(fields: dict[str, Any], rows: list[dict[str, Any]]) -> bytes:
    made = io.BytesIO()
    schema = {"type": "record", "name": "row", "fields": [{"name": n, "type": t} for n, t in fields.items()]}
    fastavro.writer(made, fastavro.parse_schema(schema), rows)
    return made.getvalue()


DEFAULTS: dict[str, Any] = {
    "city": "O'slo \\ø", "note": None, "open": True, "share": 0.5, "day": date(2024, 5, 1),
    "at": datetime.fromtimestamp(1700000000.123), "price": Decimal("1.50"), "mark": bytearray(b"\xff\x01"),
    "tags": ["a", "b"], "counts": {"k": 1}, "place": (1, 7), "back": (2, 3),
}  # fmt: skip
"""What the specification says that the schema's defaults are."""


def as_the_specification_has_it() -> list[tuple[Any, ...]]:
    """Returns what fastavro reads by the reader's schema, and the defaults, as they are in JSON."""
    rows: list[Any] = []
    for fields, content in WRITERS:
        missing = {name: value for name, value in DEFAULTS.items() if name not in fields}
        read = fastavro.reader(io.BytesIO(avro(fields, content)), fastavro.parse_schema(READER))
        rows += [{**dict(row), **missing} for row in read]  # type: ignore[call-overload]
    return [tuple(row[field["name"]] for field in READER["fields"]) for row in rows]


def test_a_declared_schema_is_the_readers(make_shop: MakeShop) -> None:
    shop = make_shop()
    shop.write({"schemas/row.avsc": json.dumps(READER)})
    flat = {
        **READER,
        "fields": [
            field for field in READER["fields"] if field["name"] not in ("tags", "counts", "place", "back")
        ],
    }
    shop.write({"schemas/flat.avsc": json.dumps(flat)})
    for name in ("avro", "json", "parquet", "csv"):
        schema = "flat" if name == "csv" else "row"
        table = (
            f"source:\n  files: {{path: landing/{name}/, format: {name}}}\n"
            f"avro_schema: schemas/{schema}.avsc\n"
        )
        shop.write({f"tables/bronze/{name}.yaml": table})
    for number, (fields, rows) in enumerate(WRITERS):
        shop.land(f"landing/avro/{number}.avro", avro(fields, rows))
        shop.land(f"landing/json/{number}.json", json_lines(*rows))
        land_parquet(shop, f"parquet/{number}", rows)
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([[*fields], *(row.values() for row in rows)])
        shop.land(f"landing/csv/{number}.csv", text.getvalue())
    # A null that a record says is none that it lacks.
    shop.land("landing/json/null.json", json_lines({"id": 4, "ratio": 1, "colour": "RED", "city": None}))
    result = shop.must_run()
    expected = as_the_specification_has_it()
    for name in ("avro", "parquet", "json"):
        rows = [row for row in shop.rows(f"bronze.{name}") if row[0] != 4]
        assert (name, rows) == (name, in_order(expected))
        assert not shop.quarantine(f"bronze.{name}")
    empty_is_null = [(*row[:1], row[1] or None, *row[2:12]) for row in expected]
    assert shop.rows("bronze.csv") == in_order(empty_is_null)
    assert shop.rows("bronze.json", "id", "name", "city", "day")[3] == (4, None, None, date(2024, 5, 1))
    assert "column name is read from 'full'" in notes(result, "bronze.avro")
    assert any(
        note.startswith("not in the files, their defaults in their rows: city, ")
        for note in notes(result, "bronze.avro")
    )

    # A field that gets another name takes its column along, and is read from earlier files.
    fields = [
        {**it, "name": "town", "aliases": ["city"]} if it["name"] == "city" else it for it in READER["fields"]
    ]
    shop.write({"schemas/row.avsc": json.dumps({**READER, "fields": fields})})
    shop.take("landing/avro/9.avro", avro(*WRITERS[1]), "bronze.avro")
    towns = shop.rows("bronze.avro", "id", "town")
    assert towns == [
        (1, DEFAULTS["city"]), (2, DEFAULTS["city"]), (3, "Rome"), (3, "Rome"), (5, DEFAULTS["city"]),
    ]  # fmt: skip
    assert "city" not in shop.frame("bronze.avro").columns
