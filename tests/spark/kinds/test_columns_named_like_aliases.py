"""Users' columns and fields may have every name that the source gives to something of its own."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from harness import Harness, MakeShop
from nested import json_lines
from out_of_quarantine import replay
from words_of_source import words_of_source

from lakesmith.project.definitions import ADDED_COLUMNS, TableName, is_taken
from lakesmith.project.free_names import is_own
from lakesmith.quoting import quoted
from lakesmith.sources.model import FileIdentity
from lakesmith.spark.diff import Span, difference
from lakesmith.spark.kinds.persons_in_files import persons_in_files
from lakesmith.sql.erasure_filter import ErasureFilter

WORDS = [word for word in words_of_source() if not is_own(word)]
COLUMNS = [word for word in WORDS if not is_taken(word) and word not in ADDED_COLUMNS and word != "id"]
NAMES = ", ".join(map(quoted, COLUMNS))
OBJECT = f"struct<{','.join(f'{quoted(word)}:bigint' for word in WORDS)}>"

BRONZE = f"""
source:
  files: {{path: landing/t/, format: FORMAT}}
columns:
  id: bigint
  {"".join(f"{json.dumps(word)}: bigint{chr(10)}  " for word in COLUMNS)}
  nested: {json.dumps(OBJECT)}
  listed: {json.dumps(f"array<{OBJECT}>")}
  mapped: {json.dumps(f"map<string,{OBJECT}>")}
rules: |
  Rules = [ ColumnValues "n" < 900, IsComplete "bad" ]
"""
KEYED = """
key: [KEYS]
latest_by: ["at", "rows"]
delete_when: "`count` = 13"
rules: |
  Rules = [ ColumnValues "k0" < 800 ]
"""
KEYS = {f"by_{part}": COLUMNS[part::4] for part in range(4)}
TABLES = {
    "tables/silver/now.yaml": KEYED.replace("KEYS", "id"),
    "tables/silver/versions.yaml": KEYED.replace("KEYS", "id") + "history: type2\n",
    **{f"tables/silver/{name}.yaml": f"key: {json.dumps(key)}\n" for name, key in KEYS.items()},
    **{f"tables/silver/{name}.sql": f"SELECT {NAMES}, nested FROM bronze.t" for name in KEYS},
    "tables/gold/grouped.yaml": "{}\n",
    "tables/gold/few.yaml": 'key: ["n", "r"]\n',
    "tables/silver/now.sql": f"SELECT id, {NAMES}, nested, listed FROM bronze.t",
    "tables/silver/versions.sql": f"SELECT id, {NAMES}, nested, mapped FROM bronze.t",
    "tables/gold/grouped.sql": f"SELECT {NAMES}, nested.bad AS nested_bad, count(*) AS quantity_"
    " FROM silver.now GROUP BY ALL",
    "tables/gold/few.sql": "SELECT `n`, `r`, count(*) AS `rows`, sum(`k`) AS `there`, max(`at`) AS `count`"
    " FROM silver.now GROUP BY `n`, `r`",
}

VERIFIED = ["silver.now", "silver.versions", *(f"silver.{name}" for name in KEYS), "gold.grouped", "gold.few"]


def row(id_: int, value: int, **other: int) -> dict[str, Any]:
    """A row in which every column and field has a value of its own."""
    fields = {word: value + at for at, word in enumerate(WORDS)}
    columns = {word: value + at % 7 for at, word in enumerate(COLUMNS)}
    return {
        "id": id_, **columns, "n": value % 3, "r": value % 2, "count": 1, "at": value, **other,
        "nested": fields, "listed": [fields, None], "mapped": {"k": fields},
    }  # fmt: skip


FIRST = [row(1, 100), row(2, 200), row(3, 300), row(4, 400, n=901), row(5, 500)]
SECOND = [row(1, 110), row(2, 190), row(3, 310, count=13), row(6, 600, k0=801), row(7, 700)]
NOW = [FIRST[4], SECOND[0], FIRST[1], SECOND[4]]


def land(shop: Harness, format_: str, number: int, rows: list[dict[str, Any]]) -> None:
    if format_ == "json":
        shop.land(f"landing/t/{number}.json", json_lines(*rows))
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    plain = [{**each, "mapped": list(each["mapped"].items())} for each in rows]
    fields = pa.struct([(word, pa.int64()) for word in WORDS])
    nested = {"nested": fields, "listed": pa.list_(fields), "mapped": pa.map_(pa.string(), fields)}
    schema = pa.schema([("id", pa.int64()), *((word, pa.int64()) for word in COLUMNS), *nested.items()])
    pq.write_table(pa.Table.from_pylist(plain, schema), shop.land(f"landing/t/{number}.parquet", b""))


def stored(shop: Harness, table: str, *columns: str) -> list[dict[str, Any]]:
    """Rows as dictionaries, in the order of their ids and versions."""
    frame = shop.frame(table).select("id", *map(quoted, columns))
    return sorted((each.asDict(recursive=True) for each in frame.collect()), key=_order)


def expected(rows: list[dict[str, Any]], *columns: str) -> list[dict[str, Any]]:
    return sorted(({name: each[name] for name in ("id", *columns)} for each in rows), key=_order)


def _order(row: dict[str, Any]) -> tuple[int, int]:
    return row["id"], row.get("at", 0)


@pytest.mark.in_turn(of=3)
@pytest.mark.parametrize("format_", ["json", "parquet"])
def test_every_name_of_the_source_may_be_a_column_and_a_field(make_shop: MakeShop, format_: str) -> None:
    shop = make_shop({"tables/bronze/t.yaml": BRONZE.replace("FORMAT", format_), **TABLES})
    land(shop, format_, 1, FIRST)
    shop.must_run()
    land(shop, format_, 2, SECOND)
    shop.must_run()
    good = [each for each in FIRST + SECOND if each["n"] < 900]
    assert stored(shop, "bronze.t", *COLUMNS, "nested", "listed", "mapped") == expected(
        good, *COLUMNS, "nested", "listed", "mapped"
    )
    assert stored(shop, "silver.now", *COLUMNS, "nested", "listed") == expected(
        NOW, *COLUMNS, "nested", "listed"
    )
    assert [each["reasons"] for each in shop.quarantine("bronze.t")] == [['ColumnValues "n" < 900']]
    assert [each["reasons"] for each in shop.quarantine("silver.now")] == [['ColumnValues "k0" < 800']]
    groups = Counter((each["n"], each["r"]) for each in NOW)
    assert {row[:2]: row[2] for row in shop.rows("gold.few", "n", "r", "`rows`")} == groups
    shop.must_verify(*VERIFIED)
    shop.write({"tables/bronze/t.yaml": BRONZE.replace("FORMAT", format_).replace("900", "999")})
    replay(shop, table="bronze.t")
    shop.must_run()
    assert stored(shop, "silver.now", *COLUMNS) == expected([*NOW, FIRST[3]], *COLUMNS)


@pytest.mark.parametrize("word", ["bad", "v", "r", "_bad"])
def test_a_bad_row_of_json_has_its_reasons_whatever_its_fields_are_called(
    make_shop: MakeShop, word: str
) -> None:
    """The fields are declared, so that each row is parsed again to say what is wrong."""
    kind = f"struct<{quoted(word)}:bigint,other:struct<{quoted(word)}:date>>"
    columns = (
        f"columns: {{id: bigint, {json.dumps(word)}: bigint, s: {json.dumps(kind)}, l: 'array<{kind}>'}}\n"
    )
    shop = make_shop(
        {"tables/bronze/t.yaml": f"source:\n  files: {{path: landing/t/, format: json}}\n{columns}"}
    )
    shop.take(
        "landing/t/1.json",
        json_lines(
            {"id": 1, word: 5, "s": {word: 1, "other": {word: "2024-01-01"}}, "l": [{word: 7}]},
            {"id": 2, word: "x"},
            {"id": 3, "s": {word: "x"}},
            {"id": 4, "s": {word: 1.0, "other": {word: "then"}}},
            {"id": 5, "l": [{word: "x"}]},
        ),
    )
    found = [row["reasons"] for row in shop.quarantine("bronze.t")]
    assert found == [
        [f"{word}: not a bigint: 'x'"],
        [f"s.{word}: not a bigint: 'x'"],
        [f's: not a {kind.replace("`", "")}: \'{{"{word}":1.0,"other":{{"{word}":"then"}}}}\''],
        [f'l: not an array<{kind.replace("`", "")}>: \'[{{"{word}":"x"}}]\''],
    ]
    assert shop.count("bronze.t") == 1


def test_names_of_lakesmith_s_own_are_refused_wherever_a_user_writes_them(make_shop: MakeShop) -> None:
    source = "source:\n  files: {path: landing/NAME/, format: json}\n"
    shop = make_shop({f"tables/bronze/{name}.yaml": source.replace("NAME", name) for name in ("a", "b")})
    shop.land("landing/a/1.json", '{"id":1,"_lakesmith_bad":2}\n')
    shop.land("landing/b/1.json", '{"id":1,"o":[{"_Lakesmith_bad":2}]}\n')
    assert sorted((problem.code, problem.what) for problem in shop.run().problems) == [
        ("LS624", "bronze.a cannot have a column _lakesmith_bad: the name is lakesmith's or Iceberg's own"),
        ("LS624", "bronze.b cannot have a field _Lakesmith_bad in the column o: the name is lakesmith's own"),
    ]


def test_people_are_found_in_files_by_columns_called_raw_and_row(make_shop: MakeShop) -> None:
    """``raw`` and ``row`` are columns of the quarantine, too."""
    columns = "columns: {id: bigint, raw: string, row: string}\n"
    shop = make_shop(
        {"tables/bronze/t.yaml": "source:\n  files: {path: landing/t/, format: csv}\n" + columns}
    )
    shop.take("landing/t/1.csv", "id,raw,row\n1,ada,x\n2,bo,ada\nno,cy,ada\n3,dee,y\n")
    definition = shop.load()[0].table(TableName("bronze", "t"))
    (file,) = Path(shop.root / "landing/t").iterdir()
    name = "landing/t/1.csv"
    identity = FileIdentity(name, file.stat().st_size, file.stat().st_mtime_ns)
    for column, count in (("raw", 2), ("row", 2)):
        persons = ErasureFilter((column,), (("ada",),))
        listed = [(definition.sources[0], (identity,))]
        found = persons_in_files(shop.handle, shop.lake(), definition, listed, persons)
        assert (found.records, found.unread) == ({name: (count, 4)}, []), column


def test_differences_of_a_table_with_a_column_called_change(make_shop: MakeShop) -> None:
    shop = make_shop({
        "tables/bronze/t.yaml": "source:\n  files: {path: landing/t/, format: csv}\n"
        "columns: {id: bigint, _change: string, w: bigint, c: bigint}\n",
    })  # fmt: skip
    shop.take("landing/t/1.csv", "id,_change,w,c\n1,insert,1,1\n")
    before = shop.state("bronze.t").refs["main"]
    shop.take("landing/t/2.csv", "id,_change,w,c\n2,delete,2,2\n")
    span = Span(TableName("bronze", "t"), before, shop.state("bronze.t").refs["main"], ("id",))
    with difference(shop.handle, span, ()) as found:
        assert [(row[0], row.id, row._change, row.w) for row in found.rows.collect()] == [
            ("inserted", 2, "delete", 2)
        ]
