"""Names that look the same: an accent is part of a letter, or a character of its own, as macOS writes it."""

import json
from unicodedata import normalize

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from harness import Harness, MakeShop
from nested import json_lines, notes

from lakesmith.project.definitions import TableName
from lakesmith.serve.intake.events import EventReader
from lakesmith.serve.intake.frames import Frame
from lakesmith.serve.intake.segments import Segments

COMPOSED, APART = normalize("NFC", "größe"), normalize("NFD", "größe")
assert COMPOSED != APART

ALL = f"""
    source: {{{{files: {{{{path: landing/{{name}}/, pattern: "*", format: {{format}}}}}}}}}}
    columns: {{{{id: bigint, {COMPOSED}: string, s: "struct<`{COMPOSED}`:bigint>"}}}}
"""
FLAT = ALL.split("columns:")[0] + f"columns: {{{{id: bigint, {COMPOSED}: string}}}}\n"


def _parquet(name: str, rows: list[tuple[int, str]]) -> bytes:
    sink = pa.BufferOutputStream()
    columns = {"id": [id_ for id_, _ in rows], name: [text for _, text in rows]}
    structs = pa.array([{name: id_ * 10} for id_, _ in rows], pa.struct([(name, pa.int64())]))
    pq.write_table(pa.table({**columns, "s": structs}), sink)
    return bytes(sink.getvalue())


def _land(shop: Harness, number: int, name: str) -> None:
    rows = [(number, "a"), (number + 1, "b")]
    shop.land(f"landing/csv/{number}.csv", f"{name},id\n" + "".join(f"{text},{id_}\n" for id_, text in rows))
    shop.land(
        f"landing/tsv/{number}.tsv", f"{name}\tid\n" + "".join(f"{text}\t{id_}\n" for id_, text in rows)
    )
    objects = ({"id": id_, name: text, "s": {name: id_ * 10}} for id_, text in rows)
    shop.land(f"landing/json/{number}.json", json_lines(*objects))
    shop.land(f"landing/parquet/{number}.parquet", _parquet(name, rows))


@pytest.mark.in_turn
def test_a_column_is_found_however_its_name_is_composed_and_is_one_if_it_is_new(make_shop: MakeShop) -> None:
    formats = {"csv": FLAT, "tsv": FLAT, "json": ALL, "parquet": ALL}
    shop = make_shop(
        {f"tables/bronze/{name}.yaml": text.format(name=name, format=name) for name, text in formats.items()}
        | {
            f"tables/bronze/{name}_new.yaml": text.format(name=name, format=name).split("columns:")[0]
            for name, text in formats.items()
        }
    )
    _land(shop, 1, APART)
    shop.must_run()
    _land(shop, 3, COMPOSED)
    shop.must_run()
    for name, text in formats.items():
        for table in (name, f"{name}_new"):
            rows = shop.rows(f"bronze.{table}", "id", f"`{COMPOSED}`")
            assert rows == [(1, "a"), (2, "b"), (3, "a"), (4, "b")], table
            if text is ALL:
                assert [row[0][0] for row in shop.rows(f"bronze.{table}", "s")] == [10, 20, 30, 40], table


def test_where_both_are_in_a_file_the_same_one_counts_and_the_other_is_told_apart(
    make_shop: MakeShop,
) -> None:
    table = FLAT.format(name="csv", format="csv")
    shop = make_shop({"tables/bronze/orders.yaml": table})
    shop.land("landing/csv/1.csv", f"id,{COMPOSED},{APART}\n1,a,b\n")
    (problem,) = shop.run().problems
    assert problem.code == "LS431" and problem.found == f"{APART} (U+0308 U+00DF)"
    ignored = table.replace("format: csv", "format: csv, on_new_column: ignore")
    result = shop.redefine({"tables/bronze/orders.yaml": ignored})
    assert shop.rows("bronze.orders", "id", COMPOSED) == [(1, "a")]
    assert any(
        f"left out (on_new_column: ignore): {APART} (U+0308 U+00DF)" in note
        for note in notes(result, "bronze.orders")
    )
    shop.redefine(
        {"tables/bronze/orders.yaml": table.replace("format: csv", "format: csv, on_new_column: evolve")}
    )
    shop.land("landing/csv/2.csv", f"id,{COMPOSED},{APART}\n2,a,b\n")
    (problem,) = shop.run().problems
    assert problem.code == "LS432" and problem.found == f"{APART} (U+0308 U+00DF)"


def test_a_record_with_two_keys_that_look_like_a_column_is_in_quarantine(make_shop: MakeShop) -> None:
    shop = make_shop(
        {"tables/bronze/orders.yaml": FLAT.format(name="json", format="json, on_new_column: ignore")}
    )
    records = [{"id": 1, APART: "a"}, {"id": 2, APART.upper(): "b"}, {"id": 3, APART: "c", "Größe": "d"}]
    shop.take("landing/json/1.json", json_lines(*records))
    assert shop.rows("bronze.orders", "id", COMPOSED) == [(1, "a"), (2, "b")]
    (bad,) = shop.quarantine("bronze.orders")
    assert json.loads(bad["raw"]) == records[2]


def test_a_table_keeps_a_name_that_is_not_composed(make_shop: MakeShop) -> None:
    shop = make_shop(
        {"tables/bronze/orders.yaml": FLAT.format(name="csv", format="csv").replace(COMPOSED, APART)}
    )
    shop.take("landing/csv/1.csv", f"id,{APART}\n1,a\n")
    shop.take("landing/csv/2.csv", f"id,{COMPOSED}\n2,b\n")
    assert shop.rows("bronze.orders", "id", APART) == [(1, "a"), (2, "b")]


def test_keys_orders_and_queries_find_a_column_however_its_name_is_composed(make_shop: MakeShop) -> None:
    source = FLAT.format(name="csv", format="csv")
    shop = make_shop(
        {
            "tables/bronze/composed.yaml": source,
            "tables/bronze/apart.yaml": source.replace(COMPOSED, APART),
            "tables/silver/copied.yaml": f"from: bronze.composed\nkey: [{APART}]\nlatest_by: [id]\n",
            "tables/silver/a.yaml": f"key: [{APART}]\nlatest_by: [id]\n",
            "tables/silver/a.sql": f"SELECT id, `{APART}` FROM bronze.composed WHERE `{APART}` <> 'no'",
            "tables/silver/b.sql": f"SELECT id, `{COMPOSED}` || '{COMPOSED}' AS x FROM bronze.apart",
        }
    )
    shop.take("landing/csv/1.csv", f"id,{APART}\n1,a\n2,no\n")
    shop.take("landing/csv/2.csv", f"id,{COMPOSED}\n3,a\n")
    assert shop.rows("silver.copied", "id", COMPOSED) == [(2, "no"), (3, "a")]
    assert shop.rows("silver.a", "id", APART) == [(3, "a")]
    # A text in the query stays as it is: only names are matched.
    assert shop.rows("silver.b", "x") == [(f"a{COMPOSED}",), (f"a{COMPOSED}",), (f"no{COMPOSED}",)]


def test_an_event_is_accepted_and_read_however_its_keys_are_composed(make_shop: MakeShop) -> None:
    columns = f"columns: {{id: bigint, {COMPOSED}: {{type: string, required: true}}}}\n"
    table = f"source: {{http: {{path: /x}}}}\n{columns}"
    shop = make_shop({"tables/bronze/orders.yaml": table})
    reader = EventReader(shop.load()[0].table(TableName("bronze", "orders")).columns)
    body = json_lines({"id": 1, APART: "a"}, {"id": 2, COMPOSED: "b"})
    events = reader.read(body.encode())
    assert events.faults == ()
    segments = Segments(shop.root / ".lakesmith/intake/bronze.orders/http")
    segments.open()
    segments.append([Frame(events.as_lines())])
    segments.seal()
    segments.close()
    shop.must_run()
    assert shop.rows("bronze.orders", "id", COMPOSED) == [(1, "a"), (2, "b")]
    (fault,) = reader.read(json_lines({COMPOSED: "a", APART: "b"}).encode()).faults
    assert fault.reason.startswith("unknown (U+0308 U+00DF); the columns are")
