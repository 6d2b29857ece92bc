"""Versions of a key with the same ``latest_by``: the same one wins, however the table is refreshed."""

import pytest
from foreign_rows import insertion
from harness import Harness

from lakesmith import limits
from lakesmith.spark.write.rows_at import rows_at

pytestmark = pytest.mark.in_turn

BRONZE = (
    "source:\n  files: {{path: landing/{name}/, format: csv}}\n"
    "columns: {{id: int, at: int, v: string, w: string}}\n"
)
KEYED = "key: [id]\nlatest_by: [at]\n"


def write_as_another(shop: Harness, columns: str, values: str) -> None:
    shop.spark.sql(insertion(shop.spark, "lake.bronze.a", columns, values))


FILES = {"tables/bronze/a.yaml": BRONZE.format(name="a")}


def kind(shop: Harness, table: str = "silver.t") -> str:
    return shop.record(table).kind


THROUGH = {
    "union": "SELECT * FROM bronze.a WHERE w = 'D' UNION ALL SELECT * FROM bronze.a WHERE w <> 'D'",
    "tables": "SELECT id, at, v, w FROM bronze.b UNION ALL (SELECT id, at, v, w FROM bronze.a)",
    "join": "SELECT a.id, a.at, a.v, a.w, n.v AS name FROM bronze.a LEFT JOIN bronze.names n ON n.id = a.id",
    "windows": "SELECT id, at, v, w, count(*) OVER (PARTITION BY id) AS n FROM bronze.a",
    "ctes": "WITH x AS (SELECT * FROM bronze.a), y AS (SELECT * FROM x WHERE id > 0)"
    " SELECT y.id, y.at, y.v, y.w FROM y LEFT SEMI JOIN x ON x.id = y.id AND x.at = y.at",
    "groups": "SELECT a.id, a.at, a.v, a.w, g.n FROM bronze.a JOIN"
    " (SELECT id, count(*) AS n FROM bronze.a GROUP BY id) g ON g.id = a.id",
    "exploded": "SELECT id, at, v, w, e FROM (SELECT * FROM bronze.a ORDER BY v) LATERAL VIEW"
    " explode(array(1)) AS e",
}
"""Queries that give each row of a once, in the words of which no order of arrival stands."""


@pytest.mark.parametrize("history", ["type1", "type2"])
def test_arrival_settles_ties_through_any_query_that_it_passes(
    shop: Harness, history: str, by_keys: None
) -> None:
    """In one file, between files and between batches: the last row counts, by keys and in a rebuild."""
    settings = KEYED + f"delete_when: w = 'D'\nhistory: {history}\n"
    shop.write({f"tables/bronze/{name}.yaml": BRONZE.format(name=name) for name in ("b", "names")})
    shop.write({f"tables/silver/{name}.sql": query for name, query in THROUGH.items()})
    shop.write({f"tables/silver/{name}.yaml": settings for name in THROUGH})
    python = "def py(bronze__a):\n    return bronze__a.select('id', 'at', 'v', 'w')\n"
    shop.write({"tables/silver/py.py": python, "tables/silver/py.yaml": f"{settings}deterministic: true\n"})
    names = [f"silver.{name}" for name in (*THROUGH, "py")]
    shop.land_rows("names", 1, "1,0,one,")
    shop.land_rows("b", 1, "4,10,z,I")
    shop.land_rows("a", 1, "1,10,z,I", "1,10,y,U", "2,10,z,D", "2,10,a,I", "3,10,z,I")
    shop.take_rows("a", 2, "1,10,x,U", "3,10,a,D", "5,10,z,I")
    first = [(1, "x"), (2, "a"), (5, "z")]
    for name in names:
        there = [*first[:2], (4, "z"), (5, "z")] if name == "silver.tables" else first
        assert current(shop, name, history) == there, name
    shop.land_rows("a", 3, "1,10,c,U", "2,10,z,D", "3,10,b,I")
    shop.take_rows("b", 2, "5,10,b,U", run=("bronze.b",))
    shop.take_rows("a", 4, "5,10,a,U", "1,10,b,U")
    then = [(1, "b"), (3, "b"), (5, "a")]
    assert {kind(shop, name) for name in names} >= {"keys", "upsert"}
    incremental = {name: shop.rows(name) for name in names}
    for name in names:
        there = [*then[:2], (4, "z"), (5, "a")] if name == "silver.tables" else then
        assert current(shop, name, history) == there, name
    shop.must_run(full=names)
    assert {name: shop.rows(name) for name in names} == incremental


def current(shop: Harness, name: str, history: str) -> list[tuple[object, ...]]:
    where = "" if history == "type1" else " WHERE is_current"
    return sorted(map(tuple, shop.spark.sql(f"SELECT id, v FROM lake.{name}{where}").collect()))


@pytest.mark.parametrize(
    ("first", "then", "history"), [("p", "q", "type1"), ("q", "p", "type1"), ("q", "p", "type2")]
)
def test_where_arrival_is_not_known_maps_settle_ties_as_well(
    shop: Harness, first: str, then: str, history: str
) -> None:
    python = """
        from pyspark.sql import functions as F

        def t(bronze__a):
            return bronze__a.select("id", "at", F.create_map(F.lit("v"), "v").alias("m"))
    """
    python = python.replace("bronze__a", "silver__plain")
    shop.write({"tables/silver/plain.sql": "SELECT id, at, v FROM bronze.a"})
    shop.write(
        {
            "tables/silver/t.py": python,
            "tables/silver/t.yaml": f"{KEYED}history: {history}\ndeterministic: true\n",
        }
    )
    shop.take_rows("a", 1, f"1,5,{first},")
    shop.take_rows("a", 2, f"1,5,{then},")
    assert kind(shop) == "upsert"
    said = "1 tie of latest_by was settled by the values, as arrival does not tell the rows apart"
    assert said in shop.record("silver.t").notes
    assert shop.rows("silver.t", "m") == [({"v": "q"},)]
    shop.land_rows("a", 3, "1,5,q,")
    assert "silver.t" in shop.must_run().published
    assert (shop.record("silver.t").account.updated, shop.rows("silver.t", "m")) == (0, [({"v": "q"},)])


@pytest.mark.parametrize(("v", "w", "history"), [("p", "q", "type1"), ("q", "p", "type2")])
def test_of_two_versions_out_of_one_row_the_greatest_values_win(
    shop: Harness, v: str, w: str, history: str
) -> None:
    both = "SELECT id, at, v FROM bronze.a UNION ALL SELECT id, at, w FROM bronze.a"
    shop.write({"tables/silver/t.sql": both, "tables/silver/t.yaml": f"{KEYED}history: {history}\n"})
    shop.take_rows("a", 1, f"1,5,{v},{w}")
    shop.take_rows("a", 2, f"2,5,{w},{v}")
    assert shop.rows("silver.t", "id", "v") == [(1, "q"), (2, "q")]
    shop.must_run(full=["silver.t"])
    assert shop.rows("silver.t", "id", "v") == [(1, "q"), (2, "q")]


@pytest.mark.parametrize(("batch", "history"), [("NULL", "type1"), ("1L", "type1"), ("NULL", "type2")])
def test_a_row_that_another_wrote_with_no_or_an_old_batch_wins_no_tie(
    shop: Harness, batch: str, history: str
) -> None:
    shop.write(
        {
            "tables/silver/t.sql": "SELECT id, at, v FROM bronze.a",
            "tables/silver/t.yaml": KEYED + f"history: {history}\n",
        }
    )
    for number in (1, 2):
        shop.take_rows("a", number, f"1,5,batch {number},", f"{number},6,x,")
    write_as_another(shop, "id, at, v, _batch", f"(1, 5, 'foreign', {batch}), (1, 6, 'y', {batch})")
    shop.must_run()
    incremental = shop.rows("silver.t")
    shop.must_run(full=["silver.t"])
    assert incremental == shop.rows("silver.t")
    assert "foreign" not in str(incremental)


def test_a_row_that_another_wrote_and_that_ties_with_none_comes_by_its_key(shop: Harness) -> None:
    shop.write({"tables/silver/t.sql": "SELECT id, at, v FROM bronze.a", "tables/silver/t.yaml": KEYED})
    shop.take_rows("a", 1, "1,5,first,", "2,5,first,")
    write_as_another(shop, "id, at, v", "(1, 6, 'newer'), (2, 4, 'older')")
    shop.must_run()
    assert (kind(shop), shop.rows("silver.t", "id", "v")) == ("upsert", [(1, "newer"), (2, "first")])


def test_a_deleted_key_does_not_come_back_by_a_tie_that_another_wrote(shop: Harness) -> None:
    keyed = KEYED + "delete_when: w = 'D'\n"
    shop.write({"tables/silver/t.sql": "SELECT id, at, v, w FROM bronze.a", "tables/silver/t.yaml": keyed})
    shop.take_rows("a", 1, "1,5,gone,D", "2,5,there,")
    write_as_another(shop, "id, at, v", "(1, 5, 'foreign')")
    shop.must_run()
    assert shop.rows("silver.t", "id", "v") == [(2, "there")]


def test_batches_of_two_tables_do_not_order_their_rows(shop: Harness) -> None:
    shop.write(
        {
            "tables/bronze/b.yaml": BRONZE.format(name="b"),
            "tables/silver/both.sql": "SELECT * FROM bronze.a UNION ALL SELECT * FROM bronze.b",
            "tables/gold/t.sql": "SELECT id, at, v FROM silver.both",
            "tables/gold/t.yaml": KEYED,
        }
    )
    for number in (1, 2, 3):
        shop.land_rows("a", number, f"1,{number},a {number},")
        shop.take_rows("b", 1, "2,0,b,")
    shop.take_rows("b", 2, "1,3,b 2,")
    incremental = shop.rows("gold.t", "v")
    shop.must_run(full=["gold.t"])
    assert incremental == shop.rows("gold.t", "v") == [("a 3",), ("b",)]


def test_a_tie_after_the_snapshot_that_was_read_has_expired(shop: Harness) -> None:
    shop.write({"tables/silver/t.sql": "SELECT id, at, v FROM bronze.a", "tables/silver/t.yaml": KEYED})
    shop.take_rows("a", 1, "1,5,first,")
    read = shop.record("silver.t").inputs["bronze.a"].snapshot
    shop.take_rows("a", 2, "1,5,second,", run=("bronze.a",))
    shop.spark.sql(
        "CALL lake.system.expire_snapshots(table => 'bronze.a',"
        f" snapshot_ids => ARRAY({read}), older_than => TIMESTAMP '1970-01-01 00:00:00')"
    )
    shop.must_run()
    assert (kind(shop), shop.rows("silver.t", "v")) == ("full", [("second",)])


@pytest.mark.parametrize("arrival", [True, False])
def test_keys_and_times_that_are_spelled_otherwise_in_the_settings(shop: Harness, arrival: bool) -> None:
    python = "def t(bronze__a):\n    return bronze__a.select('id', 'at', 'v', 'w')\n"
    query = (
        {"tables/silver/t.sql": "SELECT id, at, v, w FROM bronze.a"}
        if arrival
        else {"tables/silver/t.py": python}
    )
    settings = "key: [Id]\nlatest_by: [At]\ndelete_when: w = 'D'\n" + "deterministic: true\n" * (not arrival)
    shop.write({**query, "tables/silver/t.yaml": settings})
    shop.take_rows("a", 1, "1,5,p,", "2,5,p,", "3,1,gone,D")
    shop.take_rows("a", 2, "1,5,q,", "2,6,,D", "3,0,late,")
    assert (kind(shop), shop.rows("silver.t", "id", "v")) == ("upsert", [(1, "q")])


@pytest.mark.parametrize("history", ["type1", "type2"])
def test_keys_that_are_equal_by_a_collation(shop: Harness, history: str) -> None:
    collated = "SELECT at, w, v COLLATE UTF8_LCASE AS v FROM bronze.a"
    shop.write(
        {
            "tables/silver/t.sql": collated,
            "tables/silver/t.yaml": f"key: [v]\nlatest_by: [at]\nhistory: {history}\n",
        }
    )
    shop.land_rows("a", 1, "1,5,c,")
    if history == "type2":
        (problem,) = shop.run().problems
        assert (problem.code, "collation" in problem.what) == ("LS615", True)
        return
    shop.must_run()
    shop.take_rows("a", 2, "1,6,C,")
    assert (kind(shop), shop.rows("silver.t", "at")) == ("full", [(6,)])


TYPES = {
    "flag": ("boolean", "true", "false"),
    "real": ("double", "-0.0", "0.0"),
    "price": ("decimal(20,3)", "1.500", "1.501"),
    "day": ("date", "0001-01-01", "9999-12-31"),
    "instant": ("timestamp", "1883-11-18 12:00:00.000001", "9999-12-31 23:59:59.999999"),
    "wall": ("timestamp_ntz", "0001-01-01 00:00:00", "2024-03-31 02:30:00"),
    "text": ("string", "ü😀", "ü"),
    "nothing": ("string", "", "x"),
    "small": ("float", "NaN", "1.5"),
}


def test_a_tie_is_unchanged_if_each_value_is(shop: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ties are settled by reading their places; the scan must say the same."""
    found = []
    shop.land_rows("a", 1, "1,10,z,I")
    for budget in (limits.BYTES_READ_BY_PLACE, 0):
        monkeypatch.setattr(limits, "BYTES_READ_BY_PLACE", budget)
        name = f"t{budget}"
        columns = ", ".join(f'{each}: "{kind}"' for each, (kind, *_) in TYPES.items())
        shop.write(
            {
                f"tables/bronze/{name}.yaml": f"source:\n  files: {{path: landing/{name}/, format: csv}}\n"
                f"columns: {{id: int, at: int, {columns}}}\n",
                f"tables/silver/{name}.yaml": KEYED,
                f"tables/silver/{name}.sql": f"SELECT id, at, {', '.join(TYPES)} FROM bronze.{name}",
            }
        )
        header = ",".join(("id", "at", *TYPES))
        same = [value for _, value, _ in TYPES.values()]
        rows = [f"{number},1,{','.join(same)}" for number in range(len(TYPES) + 2)]
        shop.land(f"landing/{name}/1.csv", "\n".join([header, *rows]) + "\n")
        shop.must_run()
        changed = [rows[-1]]
        for number, (_, _, other) in enumerate(TYPES.values()):
            values = [*same[:number], other, *same[number + 1 :]]
            changed.append(f"{number},1,{','.join(values)}")
        shop.land(f"landing/{name}/2.csv", "\n".join([header, *changed]) + "\n")
        record = shop.must_run().published[f"silver.{name}"]
        assert record.kind == "upsert"
        account = record.account
        found.append((account.unchanged, account.updated, account.inserted))
    assert found == [(1, len(TYPES), 0)] * 2


def test_places_are_read_where_types_and_ids_are_the_tables(
    shop: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file from before a column came, or was widened, is left to the scan."""
    read = []

    def noted(*given: object) -> object:
        rows = rows_at(*given)  # type: ignore[arg-type]
        read.append(rows is not None)
        return rows

    monkeypatch.setattr("lakesmith.spark.write.merge_outcomes.rows_at", noted)
    shop.write(
        {**FILES, "tables/silver/t.yaml": KEYED, "tables/silver/t.sql": "SELECT id, at, v FROM bronze.a"}
    )
    shop.take_rows("a", 1, "1,10,a,x", "2,10,b,x")
    shop.take_rows("a", 2, "1,10,a,x")
    assert (read, shop.record("silver.t").account.unchanged) == ([True], 1)
    shop.write({"tables/bronze/a.yaml": FILES["tables/bronze/a.yaml"].replace("at: int", "at: bigint")})
    shop.take_rows("a", 3, "1,10,a,x", "2,10,c,x")
    account = shop.record("silver.t").account
    assert shop.rows("silver.t", "id", "v") in ([(1, "a"), (2, "c")], [(2, "c"), (1, "a")])
    assert read == [True] or read[1:] == [False], account
