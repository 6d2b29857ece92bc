"""What comes from files: every format and name, columns that come and go, files that change later."""

import bz2
import gzip
import json
from pathlib import Path

import pytest
from harness import Harness, MakeShop
from landing_files import AVRO, avro_file

from lakesmith.execute.events import TableFailed
from lakesmith.spark.start.session import SessionHandle

pytestmark = pytest.mark.in_turn

SOURCE = """
    source:
      files: {{path: "{path}", pattern: "{pattern}", format: {format}{more}}}
    {columns}
    """
COLUMNS = "columns: {id: bigint, name: string}"
ROWS = [(1, "Åsa"), (2, None)]


def _source(path: str, format_: str, columns: str = COLUMNS, pattern: str = "*", more: str = "") -> str:
    return SOURCE.format(path=path, format=format_, columns=columns, pattern=pattern, more=more)


def _land_every_format(shop: Harness) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    shop.land("landing/tsv/a.tsv.gz", gzip.compress("name\tid\nÅsa\t1\n\t2\n".encode()))
    shop.land("landing/json/a.json", '{"id": 1, "name": "Åsa"}\n{"name": null, "id": 2}\n')
    shop.land("landing/avro/a.avro", avro_file(ROWS))
    shop.land("landing/inferred/a.csv", "id,name,when\n1,Åsa,2024-05-01\n2,,2024-05-02\n")
    path = shop.land("landing/parquet/a.parquet", b"")
    pq.write_table(pa.table({"name": ["Åsa", None], "id": pa.array([1, 2], pa.int32())}), path)
    shop.land("landing/to be 100% süß/a b%20c.csv", "id,name\n1,Åsa\n")
    shop.land("landing/to be 100% süß/ünter [x]/d'e#f?.csv", "id,name\n2,\n")
    for number in range(200):
        shop.land(f"landing/many/{number:03}.csv", f"id,name\n{number},n\n")


@pytest.mark.always
def test_every_format_and_name(tmp_path: Path, session: SessionHandle) -> None:
    files = {
        "tables/bronze/tsv.yaml": _source("landing/tsv/", "tsv"),
        "tables/bronze/json.yaml": _source("landing/json/", "json"),
        "tables/bronze/parquet.yaml": _source("landing/parquet/", "parquet"),
        "tables/bronze/avro.yaml": _source("landing/avro/", "avro", "avro_schema: row.avsc"),
        "tables/bronze/inferred.yaml": _source("landing/inferred/", "csv", ""),
        "tables/bronze/odd_names.yaml": _source("landing/to be 100% süß/", "csv", pattern="*.csv"),
        "tables/bronze/many.yaml": _source("landing/many/", "csv"),
        "row.avsc": json.dumps(AVRO),
    }
    shop = Harness(tmp_path / "a shop", session, files | {"lakesmith.yaml": "name: shop\n"})
    _land_every_format(shop)
    published = shop.must_run().published
    for table in ("tsv", "json", "parquet", "avro", "odd_names"):
        assert [(c.name, c.type) for c in shop.state(f"bronze.{table}").columns][:2] == [
            ("id", "bigint"),
            ("name", "string"),
        ]
        assert shop.rows(f"bronze.{table}") == ROWS, table
    assert shop.rows("bronze.many", "id") == [(number,) for number in range(200)]
    assert (published["bronze.many"].files, published["bronze.many"].account.read) == (200, 200)
    assert shop.rows("bronze.odd_names", "_source_file", "_source_position") == [
        ("landing/to be 100% süß/a b%20c.csv", 1),
        ("landing/to be 100% süß/ünter [x]/d'e#f?.csv", 1),
    ]
    _inferred_once(shop)


def _inferred_once(shop: Harness) -> None:
    """Types are inferred from the first files and pinned: what does not fit later is a bad row."""
    types = [(column.name, column.type) for column in shop.state("bronze.inferred").columns][:3]
    assert dict(types)["when"] == "date"
    shop.land("landing/inferred/b.csv", "when,id,name\n2024-05-03,3,Bo\nsoon,4,Cy\n")
    assert set(shop.must_run().published) == {"bronze.inferred"}
    assert [(column.name, column.type) for column in shop.state("bronze.inferred").columns][:3] == types
    assert shop.rows("bronze.inferred", "id", "name") == [(1, "Åsa"), (2, None), (3, "Bo")]
    assert len(shop.quarantine("bronze.inferred")) == 1


def test_columns_that_come_and_go(make_shop: MakeShop) -> None:
    both = """
        source:
          web: {files: {path: landing/web/, format: csv, on_new_column: ignore}}
          shop: {files: {path: landing/shop/, format: json, on_new_column: evolve}}
        columns: {id: bigint, name: string}
        """
    strict = _source("landing/strict/", "csv")
    shop = make_shop(
        {
            "tables/bronze/both.yaml": both,
            "tables/bronze/strict.yaml": strict,
            "tables/silver/copy.yaml": "from: bronze.both\n",
            "tables/silver/keyed.yaml": "query: SELECT * EXCEPT (_ingested_at) FROM bronze.both\nkey: [id]\n",
        }
    )
    (shop.root / "landing/shop").mkdir(parents=True)
    shop.land("landing/web/1.csv", "id,name\n1,a\n")
    shop.take("landing/strict/1.csv", "name,id\na,1\n")

    # Each source has its own progress, and its own word on new columns; a missing one is null, and said.
    shop.land("landing/web/2.csv", "extra,id\nx,2\n")
    result = shop.take("landing/shop/1.json", '{"id": 3, "name": "c", "size": 9}\n{"id": 1, "size": 7}\n')
    notes = "; ".join(result.published["bronze.both"].notes)
    assert "extra" in notes
    assert "null in their rows: name, size (landing/web/2.csv)" in notes
    assert "new (on_new_column: evolve): size (among landing/shop/1.json)" in notes
    rows = [(1, None, 7), (1, "a", None), (2, None, None), (3, "c", 9)]
    assert shop.rows("bronze.both", "id", "name", "size") == rows
    assert result.published["silver.copy"].kind == "append"
    assert shop.rows("silver.copy", "id", "name", "size") == rows
    assert result.published["silver.keyed"].kind == "upsert"
    assert shop.rows("silver.keyed", "id", "name", "size") in ([(1, None, 7), (2, None, None), (3, "c", 9)],)
    assert result.published["bronze.both"].files == 2

    # A file with a column nobody asked for stops its table and leaves it as it was.
    shop.land("landing/strict/2.csv", "id,name,extra\n2,b,x\n")
    shop.land("landing/strict/3.csv", "extra,name,id\n")
    shop.land("landing/strict/4.csv", "11,a,b\n")
    result = shop.run()
    assert [(problem.code, problem.what, problem.found) for problem in result.problems] == [
        (
            "LS431",
            "source 'files': landing/strict/2.csv and 1 more: a column that the table does not have",
            "extra",
        ),
        ("LS431", "source 'files': landing/strict/4.csv: 3 columns that the table does not have", "11, a, b"),
    ]
    assert str(result.problems[0].place) == "tables/bronze/strict.yaml:2"
    hint = result.problems[1].hint or ""
    assert "if it has no header" in hint and "lakesmith files bronze.strict --skip FILE" in hint
    shop.write(
        {"tables/bronze/strict.yaml": _source("landing/strict/", "csv", more=", on_new_column: evolve")}
    )
    assert [(problem.code, problem.what) for problem in shop.run("bronze.strict").problems] == [
        ("LS435", "source 'files': landing/strict/4.csv: its first line names none of the table's columns")
    ]
    (shop.root / "landing/strict/3.csv").unlink()
    (shop.root / "landing/strict/4.csv").unlink()
    assert shop.rows("bronze.strict") == [(1, "a")]
    shop.redefine({"tables/bronze/strict.yaml": strict.replace("string}", "string, extra: string}")})
    assert shop.rows("bronze.strict") == [(1, "a", None), (2, "b", "x")]


def test_files_that_change_after_they_were_taken(make_shop: MakeShop) -> None:
    policies = ("replace", "ignore", "fail")
    table = """
        source:
          files: {{path: landing/{0}/, format: csv, on_changed_file: {0}}}
        columns: {{id: bigint, name: string}}
        """
    files = {f"tables/bronze/{policy}.yaml": table.format(policy) for policy in policies}
    files["tables/silver/plain.sql"] = "SELECT id, upper(name) AS name FROM bronze.replace"
    files["tables/silver/keyed.yaml"] = "query: SELECT id, name FROM bronze.replace\nkey: [id]\n"
    shop = make_shop(files)
    for policy in policies:
        shop.land(f"landing/{policy}/1.csv", "id,name\n1,a\n2,b\n3,gone\n")
        shop.land(f"landing/{policy}/2.csv", "id,name\n9,z\n")
    shop.must_run()

    for policy in policies:
        shop.land(f"landing/{policy}/1.csv", "id,name\n1,a\n2,new\n4,more\n5,yet\n")
        shop.land(f"landing/{policy}/3.csv", "id,name\n10,y\n")
    result = shop.run()
    assert result.code == 1
    assert [problem.code for problem in result.problems] == ["LS410"]
    assert "landing/fail/1.csv" in result.problems[0].what
    was, new = (
        [(1, "a"), (2, "b"), (3, "gone"), (9, "z")],
        [(1, "a"), (2, "new"), (4, "more"), (5, "yet"), (9, "z")],
    )
    assert shop.rows("bronze.fail") == was
    assert shop.rows("bronze.ignore") == [*was, (10, "y")]
    assert shop.rows("bronze.replace") == [*new, (10, "y")]
    account = result.published["bronze.replace"].account
    assert (account.read, account.inserted, account.deleted) == (5, 5, 3)
    for name in ("silver.plain", "silver.keyed"):
        assert result.published[name].kind == "full"
    assert shop.rows("silver.keyed") == [*new, (10, "y")]
    assert shop.rows("silver.plain") == [(id_, name.upper()) for id_, name in [*new, (10, "y")]]

    # Twice the same file, and both at once.
    shop.land("landing/replace/1.csv", "id,name\n1,again\n")
    shop.take("landing/replace/2.csv", "id,name\n9,zz\n", "bronze.replace", "silver.plain", "silver.keyed")
    assert shop.rows("silver.keyed") == [(1, "again"), (9, "zz"), (10, "y")]
    assert not shop.must_run("bronze.replace", "silver.plain", "silver.keyed").published


def test_odd_columns_and_nested_values(make_shop: MakeShop) -> None:
    """Names that are no identifiers or the engine's own, structs, lists and maps, with a key below."""
    shop = make_shop(
        {
            "tables/bronze/odd.yaml": """
                source:
                  files: {path: landing/odd/, format: json}
                columns:
                  Id: bigint
                  "order id": string
                  "a.b": int
                  größe: "decimal(10,2)"
                  _delete: boolean
                  _rank: int
                  _version: int
                  parts: "array<struct<Name:string,n:int>>"
                  tags: "map<string,int>"
                """,
            "tables/silver/odd.yaml": """
                query: SELECT * EXCEPT (_source_modified_at, _ingested_at) FROM bronze.odd
                key: [ID, "order id"]
                latest_by: [_version]
                delete_when: _delete
                """,
            "tables/silver/plain.yaml": "from: bronze.odd\n",
        }
    )
    line = '{{"Id":{},"order id":"o`1","a.b":3,"größe":1.50,"_delete":{},"_rank":4,"_version":{},'
    line += '"parts":[{{"Name":"x","n":1}}],"tags":{{"a":1}}}}\n'
    shop.take("landing/odd/1.json", line.format(1, "false", 1) + line.format(2, "false", 1))
    row = (1, "o`1", 3, 1, [("x", 1)], {"a": 1})
    columns = ("Id", "`order id`", "`a.b`", "_version", "parts", "tags")
    result = shop.take("landing/odd/2.json", line.format(1, "false", 1) + line.format(2, "true", 2))
    assert result.published["silver.odd"].kind == "upsert"
    assert shop.rows("silver.odd", *columns) == [row]
    assert len(shop.rows("silver.plain", *columns)) == 4
    shop.take("landing/odd/3.json", line.format(2, "false", 1) + line.format(1, "true", 1))
    assert shop.rows("silver.odd", *columns) == []
    shop.must_run(full=["silver.odd", "silver.plain"])
    assert shop.rows("silver.odd", *columns) == []


NUMBERS = b"id,name\n" + b"".join(b"%d,%x\n" % (n, n * 7919 % 99991) for n in range(20_000))


def test_files_of_two_delimiters_where_columns_are_inferred(make_shop: MakeShop) -> None:
    source = "source: {files: {path: landing/, format: csv}}\n"
    shop = make_shop({"tables/bronze/a.yaml": source})
    for name, text in (
        ("1", "id,city\n1,a\n"),
        ("2", "zip,price\n2,b\n"),
        ("3", "id;city\n3;c\n"),
        ("4", "City,zip\nd,4\n"),
    ):
        shop.land(f"landing/{name}.csv", text)
    (problem,) = shop.run().problems
    assert (problem.code, problem.found) == ("LS435", "id;city")
    assert "landing/3.csv: its first line names none of the table's columns" in problem.what
    assert "another delimiter" in (problem.hint or "")


SKIP = ", on_bad_file: skip"


def _parquet(rows: int) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    table = pa.table({"id": list(range(rows)), "name": [str(n) for n in range(rows)]})
    pq.write_table(table, sink, use_dictionary=False, write_page_checksum=True)
    return bytes(sink.getvalue())


def _bad_contents() -> dict[str, tuple[str, bytes, bytes, int]]:
    """By table: the ending of its files, a whole one, one that is not, and the rows of the whole one."""
    parquet, avro = _parquet(5000), avro_file(ROWS)
    torn = parquet[:2000] + bytes(len(parquet) - 2400 - 2000) + parquet[-2400:]
    packed = gzip.compress(NUMBERS)
    return {
        "cut_gzip": ("csv.gz", packed, packed[: len(packed) // 2], 20_000),
        "other_sum": ("csv.gz", packed, packed[:-8] + b"12345678", 20_000),
        "glued_gzip": ("csv.gz", packed, packed + b"seventeen bytes!\n", 20_000),
        "glued_bzip2": (
            "csv.bz2",
            bz2.compress(NUMBERS),
            bz2.compress(NUMBERS) + b"seventeen bytes!\n",
            20_000,
        ),
        "cut_bzip2": ("csv.bz2", bz2.compress(NUMBERS), bz2.compress(NUMBERS)[:-40], 20_000),
        "no_footer": ("parquet", parquet, parquet[: len(parquet) // 2], 5000),
        "torn_page": ("parquet", parquet, torn, 5000),
        "cut_avro": ("avro", avro, avro[:-20], 2),
    }


def test_a_file_that_cannot_be_read_is_left_out_on_record_and_taken_once_it_is_whole(
    make_shop: MakeShop,
) -> None:
    bad = _bad_contents()
    formats = {name: ending.split(".")[0] for name, (ending, *_) in bad.items()}
    files = {
        f"tables/bronze/{name}.yaml": _source(f"landing/{name}/", formats[name], more=SKIP) for name in bad
    }
    files["tables/bronze/stops.yaml"] = _source("landing/cut_gzip/", "csv")
    files["tables/bronze/json.yaml"] = _source("landing/json/", "json", "", more=SKIP)
    shop = make_shop(files)
    for name, (ending, whole, broken, _) in bad.items():
        shop.land(f"landing/{name}/a.{ending}", whole)
        shop.land(f"landing/{name}/b.{ending}", broken)
    shop.land("landing/json/a.json.gz", gzip.compress(b'{"id": 1}\n' * 90_000)[:-30])
    result = shop.run()
    by_table = {event.table.name: event.problems for event in result.events if isinstance(event, TableFailed)}
    assert sorted(by_table) == ["json", "stops"], by_table
    (stopped,), (nothing,) = by_table["stops"], by_table["json"]
    assert (stopped.code, nothing.code) == ("LS422", "LS429")
    assert "landing/cut_gzip/b.csv.gz: it is damaged" in stopped.what
    assert "lakesmith files bronze.stops --skip landing/cut_gzip/b.csv.gz" in (stopped.hint or "")
    assert "on_bad_file: skip" in (stopped.hint or "")
    for name, (ending, _, _, rows) in bad.items():
        assert shop.count(f"bronze.{name}") == rows, name
        path = f"landing/{name}/b.{ending}"
        assert f"{path} was left out (on_bad_file: skip)" in " ".join(shop.record(f"bronze.{name}").notes)
        assert shop.record(f"bronze.{name}").files == 1
    _tells_and_takes_it(shop, bad)


def _tells_and_takes_it(shop: Harness, bad: dict[str, tuple[str, bytes, bytes, int]]) -> None:
    names = [f"bronze.{name}" for name in bad]
    again = shop.must_run(*names)
    assert not again.published
    for name, (ending, whole, broken, _) in bad.items():
        told = [note for event in again.of(f"bronze.{name}") for note in getattr(event, "notes", ())]
        assert any(f"landing/{name}/b.{ending}" in note and "--forget" in note for note in told), told
        shop.land(f"landing/{name}/b.{ending}", whole)
        shop.land(f"landing/{name}/c.{ending}", broken)
    shop.must_run(*names)
    for name, (_, _, _, rows) in bad.items():
        assert shop.count(f"bronze.{name}") == 2 * rows, name
    # None of the new files can be read: that alone is a batch as well.
    shop.land("landing/cut_gzip/d.csv.gz", bad["cut_gzip"][2])
    assert shop.must_run("bronze.cut_gzip").published["bronze.cut_gzip"].kind == "ledger"
    assert shop.must_run("bronze.cut_gzip").published == {}


def test_a_taken_file_that_is_broken_by_a_rewrite_keeps_its_rows_until_it_is_whole(
    make_shop: MakeShop,
) -> None:
    more = f"{SKIP}, on_changed_file: replace"
    shop = make_shop({"tables/bronze/orders.yaml": _source("landing/orders/", "csv", more=more)})
    shop.take("landing/orders/a.csv.gz", gzip.compress(b"id,name\n1,a\n2,b\n"))
    shop.land("landing/orders/a.csv.gz", gzip.compress(NUMBERS)[:-30])
    shop.take("landing/orders/b.csv", "id,name\n3,c\n")
    assert shop.rows("bronze.orders", "id") == [(1,), (2,), (3,)]
    assert "the rows that were taken of it before stay" in " ".join(shop.record("bronze.orders").notes)
    shop.take("landing/orders/a.csv.gz", gzip.compress(b"id,name\n4,d\n"))
    assert shop.rows("bronze.orders", "id") == [(3,), (4,)]


def test_an_empty_text_is_a_key_and_no_null_unless_a_folder_says_so(make_shop: MakeShop) -> None:
    table = {
        "tables/bronze/orders.yaml": _source("landing/orders/", "csv"),
        "tables/silver/orders.yaml": "key: [name]\nfrom: bronze.orders\n",
    }
    shop = make_shop(table)
    shop.take("landing/orders/a.csv", 'id,name\n1,""\n2,\n"",x\n')
    assert shop.rows("bronze.orders", "id", "name") == [(None, "x"), (1, ""), (2, None)]
    assert shop.rows("silver.orders", "id", "name") == [(None, "x"), (1, "")]
    shop.write({"tables/bronze/_defaults.yaml": "source: {files: {quoted_empty: null}}\n"})
    shop.take("landing/orders/b.csv", 'id,name\n3,""\n')
    assert shop.rows("bronze.orders", "id", "name") == [(None, "x"), (1, ""), (2, None), (3, None)]
    assert len(shop.quarantine("silver.orders")) == 2


def test_a_damaged_file_is_named_with_its_way_out(make_shop: MakeShop) -> None:
    shop = make_shop({"tables/bronze/orders.yaml": _source("landing/orders/", "csv")})
    whole = gzip.compress(("id,name\n" + "".join(f"{i},{i * i}\n" for i in range(50_000))).encode())
    shop.land("landing/orders/1.csv", "id,name\n1,a\n")
    # Its end is a beginning once more, so that nothing but reading it all finds it out.
    shop.land("landing/orders/cut [2].csv.gz", whole[:-5000] + b"\0" * 5000)
    (problem,) = shop.run().problems
    said = "\n".join(problem.lines())
    assert (problem.code, "landing/orders/cut [2].csv.gz: " in problem.what) == ("LS422", True), said
    assert "--skip landing/orders/cut [2].csv.gz" in said, said
