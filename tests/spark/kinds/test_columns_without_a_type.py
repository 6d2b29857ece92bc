"""A column of nothing but nulls has no type in its file: it waits for one, and takes none from chance."""

from datetime import date
from typing import Any

from harness import MakeShop
from nested import land_parquet, made, notes, reasons, source, types
from out_of_quarantine import replay

INFERRED = "source:\n  files: {path: landing/NAME/, format: FORMAT, on_new_column: POLICY}\n"
WAITING = "only nulls in the files so far, so they have no type; new once a file says one: "
NULLS: list[dict[str, Any]] = [
    {"id": 1, "n": None, "l": [], "s": {"a": None, "b": 1}, "o": {"x": None}, "ever": None},
    {"id": 2, "n": None, "l": [None], "s": None, "o": None, "ever": None},
]
VALUES: list[dict[str, Any]] = [
    {
        "id": 3,
        "n": date(2024, 2, 29),
        "l": [{"q": 1}],
        "s": {"a": "t", "b": 2},
        "o": {"x": [1.5]},
        "ever": None,
    }
]
TYPED = {
    "n": "date", "l": "array<struct<q:bigint>>", "s": "struct<b:bigint,a:string>",
    "o": "struct<x:array<double>>",
}  # fmt: skip


def table(name: str, format_: str = "parquet", policy: str = "evolve") -> dict[str, str]:
    text = INFERRED.replace("NAME", name).replace("FORMAT", format_).replace("POLICY", policy)
    return {f"tables/bronze/{name}.yaml": text}


def test_a_column_of_nulls_waits_for_a_type(make_shop: MakeShop) -> None:
    names = ("one_batch", "nulls_first", "values_first", "closed", "avro")
    shop = make_shop()
    for name in names:
        policy = "ignore" if name == "closed" else "evolve"
        shop.write(table(name, "avro" if name == "avro" else "parquet", policy))
    land_parquet(shop, "one_batch/1", NULLS)
    land_parquet(shop, "one_batch/2", VALUES)
    land_parquet(shop, "nulls_first/1", NULLS)
    land_parquet(shop, "values_first/2", VALUES)
    land_parquet(shop, "closed/1", NULLS)
    avro = "SELECT 1 AS id, NULL AS n, named_struct('a', NULL, 'b', 1) AS s"
    first = shop.take("landing/avro/1.avro", made(shop, "avro", avro))
    assert types(shop, "bronze.nulls_first") == {"s": "struct<b:bigint>"}
    assert [note for note in notes(first, "bronze.nulls_first") if note.startswith(WAITING)] == [
        WAITING + "n, l, o, ever",
        WAITING + "s.a",
    ]
    assert [note for note in notes(first, "bronze.one_batch") if note.startswith(WAITING)] == [
        WAITING + "ever"
    ]
    # Where nothing may come in later, a text holds whatever comes.
    assert types(shop, "bronze.closed") == {
        "n": "string", "l": "array<string>", "s": "struct<b:bigint>", "o": "struct<x:string>",
        "ever": "string",
    }  # fmt: skip

    land_parquet(shop, "nulls_first/2", VALUES)
    land_parquet(shop, "values_first/1", NULLS)
    land_parquet(shop, "closed/2", [{"id": 3, "n": 5, "l": [7], "s": None, "o": None, "ever": True}])
    shop.take(
        "landing/avro/2.avro",
        made(shop, "avro", "SELECT 2 AS id, 2.5D AS n, named_struct('a', 3L, 'b', 2) AS s"),
    )
    for name in ("one_batch", "nulls_first", "values_first"):
        assert {
            column: kind for column, kind in types(shop, f"bronze.{name}").items() if column in TYPED
        } == {**TYPED, "s": "struct<a:string,b:bigint>" if name != "nulls_first" else TYPED["s"]}
        rows = shop.rows(f"bronze.{name}", "id", "n", "s.a", "s.b", "o.x")
        assert rows == [
            (1, None, None, 1, None),
            (2, None, None, None, None),
            (3, date(2024, 2, 29), "t", 2, [1.5]),
        ]
        assert shop.rows(f"bronze.{name}", "id", "l")[-1] == (3, [(1,)])
        assert not shop.quarantine(f"bronze.{name}")
    # What is in a list of no type is known only where the type is known first.
    assert [row[1] for row in shop.rows("bronze.values_first", "id", "l")][:2] == [[], [None]]
    assert [row[1] for row in shop.rows("bronze.nulls_first", "id", "l")][:2] == [None, None]
    assert shop.rows("bronze.closed", "id", "n", "l", "ever")[-1] == (3, "5", ["7"], "true")
    assert shop.rows("bronze.avro", "id", "n", "s.a") == [(1, None, None), (2, 2.5, 3)]


DECLARED = {"n": "date", "l": "array<int>", "s": "struct<a:int,b:int>", "o": "struct<x:array<int>>"}


def test_declared_columns_take_nulls_of_no_type_and_give_them_back_from_quarantine(
    make_shop: MakeShop,
) -> None:
    shop = make_shop(source("t", "parquet", "ignore", DECLARED))
    land_parquet(shop, "t/1", [*NULLS, {**NULLS[0], "id": 3, "s": {"a": None, "b": 2**40}}])
    shop.must_run()
    expected = [(1, None, [], (None, 1)), (2, None, [None], None)]
    assert shop.rows("bronze.t", "id", "n", "l", "s") == expected
    assert reasons(shop, "bronze.t") == {3: [f"s.b: not an int: '{2**40}'"]}
    shop.write(source("t", "parquet", "ignore", {**DECLARED, "s": "struct<a:int,b:bigint>"}))
    replay(shop, table="bronze.t")
    assert shop.rows("bronze.t", "id", "n", "l", "s") == [*expected, (3, None, [], (None, 2**40))]
