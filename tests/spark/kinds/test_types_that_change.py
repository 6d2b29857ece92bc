"""``on_type_change``: values that do not have their column's type, and what rejected rows alone have."""

import pyarrow as pa
import pytest
from harness import MakeShop
from nested import found, json_lines, land_parquet, notes
from out_of_quarantine import replay

pytestmark = pytest.mark.in_turn

TABLE = "source: {{files: {{path: landing/{}/, format: {}, on_type_change: {}}}}}\n"


def narrow(last: object) -> pa.Schema:
    """The types of a first file; ``last`` is that of its last column."""
    inside = pa.struct([("n", pa.list_(pa.int32()))])
    return pa.schema([("id", pa.int32()), ("d", pa.decimal128(5, 2)), ("s", inside), ("x", last)])


def wide(last: object) -> pa.Schema:
    inside = pa.struct([("n", pa.list_(pa.int64()))])
    return pa.schema([("id", pa.int64()), ("d", pa.decimal128(9, 2)), ("s", inside), ("x", last)])


def test_inferred_types_widen_where_iceberg_can(make_shop: MakeShop) -> None:
    files = {
        f"tables/bronze/{it}.yaml": TABLE.format("in", "parquet", it)
        for it in ("widen", "quarantine", "fail")
    }
    files["tables/bronze/implied.yaml"] = "source: {files: {path: landing/in/, format: parquet}}\n"
    files["tables/bronze/declared.yaml"] = (
        TABLE.format("in", "parquet", "widen") + "columns: {id: int, x: float}\n"
    )
    files["tables/bronze/declared.yaml"] = files["tables/bronze/declared.yaml"].replace(
        "}}", ", on_new_column: ignore}}"
    )
    shop = make_shop(files)
    first = {"id": 1, "d": None, "s": {"n": [1]}, "x": 0.5}
    land_parquet(shop, "in/1", [first], narrow(pa.float32()))
    shop.must_run()
    second = {"id": 2**40, "d": None, "s": {"n": [2**40, None]}, "x": 0.1}
    land_parquet(shop, "in/2", [second, {**first, "id": 2}], wide(pa.float64()))
    result = shop.run()
    said = [
        f"{it} (on_type_change: widen)"
        for it in (
            "id: int -> bigint",
            "d: decimal(5,2) -> decimal(9,2)",
            "s.n.element: int -> bigint",
            "x: float -> double",
        )
    ]
    for table in ("bronze.widen", "bronze.implied"):
        assert notes(result, table)[:4] == said
        assert shop.rows(table, "id", "s", "x") == [
            (1, ([1],), 0.5),
            (2, ([1],), 0.5),
            (2**40, ([2**40, None],), 0.1),
        ]
        assert shop.quarantine(table) == []
    assert shop.rows("bronze.quarantine", "id") == shop.rows("bronze.declared", "id") == [(1,), (2,)]
    assert [note.partition(" in ")[0] for note in notes(result, "bronze.quarantine")] == [
        "id is not of its inferred type int",
        "s.n.element is not of its inferred type int",
    ]
    assert notes(result, "bronze.declared") == ["left out (on_new_column: ignore): d, s"]
    problems = [(it.code, it.expected, it.found) for it in result.problems]
    assert problems == [
        ("LS437", "id int (on_type_change: fail)", f"'{2**40}' in row 1, and 0 more like it"),
        ("LS437", "s.n.element int (on_type_change: fail)", f"'{2**40}' in row 1, and 0 more like it"),
    ]
    assert shop.rows("bronze.fail", "id") == [(1,)]

    # What waited in quarantine comes back once the type is wide enough for it.
    shop.write({"tables/bronze/quarantine.yaml": TABLE.format("in", "parquet", "widen")})
    land_parquet(shop, "in/3", [{**second, "id": 2**41}], wide(pa.float64()))
    shop.must_run("bronze.quarantine")
    replay(shop, table="bronze.quarantine")
    assert shop.rows("bronze.quarantine", "id", "x") == [(1, 0.5), (2, 0.5), (2**40, 0.1), (2**41, 0.1)]


def test_types_of_texts_are_inferred_with_care_and_never_widened(make_shop: MakeShop) -> None:
    files = {
        f"tables/bronze/{format_}_{it}.yaml": TABLE.format(format_, format_, it)
        for it in ("widen", "fail")
        for format_ in ("csv", "json")
    }
    shop = make_shop(files)
    shop.land(
        "landing/csv/1.csv",
        "qty,long,near,id\n1,12345678901234567890,0.12345678901234567,0.123456789012345678\n",
    )
    shop.take(
        "landing/json/1.json",
        '{"qty": 1, "long": 12345678901234567890, "in": {"long": 12345678901234567890}}\n',
    )
    types = {
        table: [column.type for column in shop.state(f"bronze.{table}_widen").columns][:4]
        for table in ("csv", "json")
    }
    assert types["csv"] == ["bigint", "string", "double", "string"]
    assert sorted(types["json"][:3]) == ["bigint", "decimal(38,0)", "struct<long:decimal(38,0)>"]
    shop.land("landing/csv/2.csv", "qty,long,near,id\n1.5,x,1,x\n2,x,1,x\n")
    shop.land(
        "landing/json/2.json",
        json_lines({"qty": 1.5}, {"qty": 2, "in": {"long": 2 * 10**37}}, {"in": {"long": "x"}}),
    )
    result = shop.run()
    note = "qty is not of its inferred type bigint in 1 row"
    assert notes(result, "bronze.csv_widen")[0].startswith(note)
    assert [
        it.partition(" in 1 row")[0] for it in notes(result, "bronze.json_widen") if "inferred" in it
    ] == ["in.long is not of its inferred type decimal(38,0)", "qty is not of its inferred type bigint"]
    assert [row["reasons"] for row in shop.quarantine("bronze.json_widen")] == [
        ["qty: not a bigint: '1.5'"],
        ["in.long: not a decimal(38,0): 'x'"],
    ]
    assert {it.code for it in result.problems} == {"LS437"}
    (problem,) = [it for it in result.problems if "csv" in it.what]
    assert (problem.what, problem.found) == (
        "values of qty in landing/csv/2.csv are not of its type, so nothing of bronze.csv_fail was published",
        "'1.5' in row 1, and 0 more like it",
    )
    assert "lakesmith files bronze.csv_fail --skip landing/csv/2.csv" in (problem.hint or "")


def test_columns_and_fields_of_json_come_in_with_rows_that_do(make_shop: MakeShop) -> None:
    table = "source: {files: {path: landing/, format: json}}\n"
    shop = make_shop({"tables/bronze/t.yaml": table})
    shop.take("landing/1.json", json_lines({"id": 1, "in": {"x": 1}}))
    bad = {"id": "no number", "new": 1, "in": {"x": 1, "y": 1}}
    result = shop.take("landing/2.json", json_lines(bad, bad))
    assert not any("evolve" in note or "added" in note for note in notes(result, "bronze.t"))
    assert [column.name for column in shop.state("bronze.t").columns][:2] == ["id", "in"]
    assert shop.state("bronze.t").columns[1].type == "struct<x:bigint>"
    good = {"id": 3, "good": "2024-01-01", "in": {"x": 1, "z": 1}}
    shop.land("landing/3.json", json_lines(bad, good, {**bad, "good": "no date"}))
    result = shop.take("landing/4.json", json_lines({"id": 4, "good": None}))
    assert "new (on_new_column: evolve): good" in notes(result, "bronze.t")
    assert "new (on_new_column: evolve): in.z bigint" in notes(result, "bronze.t")
    kinds = {column.name: column.type for column in shop.state("bronze.t").columns}
    assert (kinds["id"], kinds["in"], kinds["good"]) == ("bigint", "struct<x:bigint,z:bigint>", "date")
    assert shop.rows("bronze.t", "id", "in.z") == [(1, None), (3, 1), (4, None)]
    assert found(result) == {}
