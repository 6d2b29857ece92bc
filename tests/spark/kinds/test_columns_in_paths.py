"""Columns that only the names of folders say: ``dt=2024-05-01/station=7/a.csv``."""

import json
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from harness import Harness, MakeShop, in_order
from nested import land_parquet, made, notes
from out_of_quarantine import replay

FORMATS = ("csv", "bare", "json", "parquet", "avro")
TABLE = """
    source:
      files: {path: landing/NAME/, OPTIONS}
    columns: {id: int, dt: date, station: int, city: string, price: "decimal(5,2)"}
    """
OPTIONS = {"csv": "format: csv, date_format: dd.MM.yyyy", "bare": "format: csv, header: false"}
LAID_OUT: list[tuple[str, tuple[Any, ...]]] = [
    ("dt=2024-05-01/station=7/city=S%C3%A3o%20Paulo%2F+x/price=1.50",
        (date(2024, 5, 1), 7, "São Paulo/+x", Decimal("1.50"))),
    ("dt=__HIVE_DEFAULT_PARTITION__/STATION=8/x=1/city=100%/price=2", (None, 8, "100%", Decimal("2.00"))),
    ("city=in/dt=2024-02-29/station=1/station=9", (date(2024, 2, 29), 9, "in", None)),
    ("plain", (None, None, None, None)),
]  # fmt: skip
BAD = "dt=2024-02-30/station=seven/city=x/price=1.239"
WIDE = "dt=2024-05-02/station=3000000000/city=x/price=1"
WRONG = [
    "dt: not a date: '2024-02-30'",
    "station: not an int: 'seven'",
    "price: not a decimal(5,2): '1.239' (it has more than 2 digits after the point)",
]
TOO_WIDE = ["station: not an int: '3000000000'"]


def land(shop: Harness, name: str, folder: str, id_: int) -> None:
    path = f"{name}/{folder}/{id_}"
    match name:
        case "csv":
            shop.land(f"landing/{path}.csv", f"id\n{id_}\n")
        case "bare":  # has a field for each column that its path has not
            there = sum(f"{column}=" in folder.lower() for column in ("dt", "station", "city", "price"))
            commas = "," * (4 - there)
            shop.land(f"landing/{path}.csv", f"{id_}{commas}\n")
        case "json":
            shop.land(f"landing/{path}.json", f'{{"id": {id_}}}\n')
        case "parquet":
            land_parquet(shop, path, [{"id": id_}])
        case _:
            shop.land(f"landing/{path}.avro", made(shop, "avro", f"SELECT {id_} AS id"))


@pytest.mark.in_turn
def test_columns_that_only_paths_have(make_shop: MakeShop) -> None:
    shop = make_shop()
    expected = []
    for name in FORMATS:
        options = OPTIONS.get(name, f"format: {name}")
        shop.write({f"tables/bronze/{name}.yaml": TABLE.replace("NAME", name).replace("OPTIONS", options)})
    for id_, (folder, values) in enumerate([*LAID_OUT, (BAD, ()), (WIDE, ())], 1):
        expected += [(id_, *values)] if values else []
        for name in FORMATS:
            land(shop, name, folder, id_)
    # What the record, or the file, has counts; a null in it too.
    shop.land("landing/csv/station=3/own.csv", "id,station\n11,4\n12,\n")
    own = [{"id": 11, "Station": 4}, {"id": 12, "station": None}, {"id": 13}]
    result = shop.take("landing/json/station=3/own.json", "".join(f"{json.dumps(row)}\n" for row in own))
    for name in FORMATS:
        rows = [row for row in shop.rows(f"bronze.{name}") if row[0] < 10]
        assert (name, rows) == (name, in_order(expected))
        assert in_order([row["reasons"] for row in shop.quarantine(f"bronze.{name}")]) == in_order(
            [WRONG, TOO_WIDE]
        )
    assert shop.rows("bronze.csv", "id", "station")[-2:] == [(11, 4), (12, None)]
    assert shop.rows("bronze.json", "id", "station")[-3:] == [(11, 4), (12, None), (13, 3)]
    assert "in the files and in their paths; the files count: station" in notes(result, "bronze.csv")
    null = [note for note in result.published["bronze.parquet"].notes if "null in their rows" in note]
    assert sorted(null) == [
        "not in the files, null in their rows: dt, station, city, price (landing/parquet/plain/4.parquet)",
        f"not in the files, null in their rows: price (landing/parquet/{LAID_OUT[2][0]}/3.parquet)",
    ]

    # Out of quarantine they are as their paths have them.
    for name in FORMATS:
        file = shop.root / f"tables/bronze/{name}.yaml"
        shop.write(
            {f"tables/bronze/{name}.yaml": file.read_text().replace("station: int", "station: bigint")}
        )
        replay(shop, table=f"bronze.{name}")
        assert (6, date(2024, 5, 2), 3000000000, "x", Decimal("1.00")) in shop.rows(f"bronze.{name}"), name
        still = [text.replace("an int", "a bigint") for text in WRONG]
        assert [row["reasons"] for row in shop.quarantine(f"bronze.{name}")] == [still]
