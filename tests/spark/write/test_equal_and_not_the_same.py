"""Values that are equal and not the same (0.0 and -0.0, maps in another order), and texts that are none: what
is told by them, and what is computed of them, has to be what a rebuild gives.
"""

import pytest
from harness import MakeShop, ProjectHarness

pytestmark = pytest.mark.in_turn

BRONZE = (
    "source:\n  files: {{path: landing/{name}/, format: csv}}\n"
    "columns: {{id: int, n: int, x: double, hex: string}}\n"
)
TEXT = "concat('x', x) AS t"
FULL = {
    "counted_beside": f"SELECT {TEXT}, id, c FROM (SELECT x, id, count(*) OVER (PARTITION BY x) AS c"
    " FROM bronze.a)",
    "grouped_below": f"SELECT {TEXT}, m FROM (SELECT x, avg(n) AS m FROM bronze.a GROUP BY x)",
    "distinct_below": f"SELECT {TEXT}, floor(x) AS f FROM (SELECT DISTINCT x FROM bronze.a)",
    "beside_its_group": "SELECT concat('x', x) AS t, avg(n) AS m FROM bronze.a GROUP BY x",
    "map_below": "SELECT to_json(m) AS t, c FROM (SELECT map(x, 1, 7D, 1) AS m, avg(n) AS c FROM bronze.a"
    " GROUP BY map(x, 1, 7D, 1))",
}
KEYS = {
    "ranked": f"SELECT {TEXT}, x, id, nth FROM"
    " (SELECT x, id, row_number() OVER (PARTITION BY x ORDER BY id) AS nth FROM bronze.a) WHERE nth <= 2",
    "by_itself": f"SELECT {TEXT}, x, m FROM (SELECT x, avg(n) AS m FROM bronze.a GROUP BY x) WHERE x < 5",
    "by_number_too": f"SELECT {TEXT}, n FROM (SELECT x, n FROM bronze.a UNION SELECT x, n FROM bronze.b)",
    "by_floor": "SELECT floor(x) AS f, avg(n) AS m FROM bronze.a WHERE NOT isnan(x) GROUP BY floor(x)",
    "by_its_text": "SELECT concat('x', x) AS t, x, avg(n) AS m FROM bronze.a GROUP BY x, concat('x', x)",
    "joined": "SELECT concat('x', a.x) AS t, a.id, b.m FROM bronze.a AS a"
    " JOIN (SELECT x, avg(n) AS m FROM bronze.b GROUP BY x) AS b ON a.x = b.x",
    "no_texts": "SELECT CAST(unhex(hex) AS string) AS t, avg(n) AS m FROM bronze.a"
    " GROUP BY CAST(unhex(hex) AS string)",
}
SUMS = {
    "no_texts_summed": "SELECT CAST(unhex(hex) AS string) AS t, sum(n) AS s, count(*) AS c FROM bronze.a"
    " GROUP BY CAST(unhex(hex) AS string)"
}


@pytest.fixture
def shop(make_shop: MakeShop, by_keys: None) -> ProjectHarness:
    files = {f"tables/bronze/{name}.yaml": BRONZE.format(name=name) for name in "ab"}
    return make_shop(files)


def test_what_is_computed_of_values_that_rows_are_grouped_by(shop: ProjectHarness) -> None:
    queries = {**FULL, **KEYS, **SUMS}
    shop.write({f"tables/gold/{name}.sql": query for name, query in queries.items()})
    texts = [f"é{number:03}".encode().hex() for number in range(220)] + ["😀".encode().hex(), "80", "ff"]
    for batch, zero in enumerate(("0.0", "-0.0", "0.0")):
        rows = (f"{100 * batch + at},{at % 3},{x},41" for at, x in enumerate((zero, zero, "1.5", "NaN")))
        others = (f"{1000 + at},{at + batch},8.5,{text}" for at, text in enumerate(texts))
        shop.land_rows("a", batch, *rows, *others)
        published = shop.take_rows("b", batch, f"{batch},{batch},{zero},41").published
        assert shop.differing({f"gold.{name}": query for name, query in queries.items()}) == []
    kinds = {name: published[f"gold.{name}"].kind for name in queries}
    expected = ((FULL, "full"), (KEYS, "keys"), (SUMS, "sums"))
    assert kinds == {name: kind for names, kind in expected for name in names}


@pytest.mark.parametrize("history", ["type1", "type2"])
def test_a_tie_that_changes_the_sign_of_a_zero_is_a_change(shop: ProjectHarness, history: str) -> None:
    shop.write(
        {
            "tables/silver/kept.yaml": "query: SELECT id, n, x FROM bronze.a\nkey: [id]\nlatest_by: [n]\n"
            f"history: {history}\n",
            "tables/gold/shown.sql": "SELECT id, concat('x', x) AS t FROM silver.kept",
        }
    )
    shop.take_rows("a", 1, "1,1,0.0,", "2,1,-0.0,", "3,1,0.0,", run=("bronze.a", "silver.*", "gold.*"))
    shop.land_rows("a", 2, "1,1,-0.0,", "2,1,0.0,", "3,1,0.0,")
    record = shop.must_run("bronze.a", "silver.*", "gold.*").published["silver.kept"]
    assert (record.kind, record.account.updated) == ("upsert", 2)
    assert shop.rows("gold.shown") == [(1, "x-0.0"), (2, "x0.0"), (3, "x0.0")]


def test_bad_rows_of_keys_that_are_no_text_are_found_again(shop: ProjectHarness) -> None:
    """They are kept as JSON, which has one sign for all bytes that are no text."""
    query = "SELECT CAST(unhex(hex) AS string) AS k, n, x FROM bronze.a"
    rules = 'rules: |\n  Rules = [ ColumnValues "x" > 0 ]\n'
    shop.write({"tables/silver/ruled.yaml": f"query: {query}\nkey: [k]\nlatest_by: [n]\n{rules}"})
    shop.take_rows("a", 1, "1,1,0.0,fe", "2,1,0.0,ff", "3,2,0.0,ff", run=("bronze.a", "silver.*"))
    shop.spark.sql("UPDATE lake.bronze.a SET x = 9 WHERE id = 2").collect()
    shop.must_run("bronze.a", "silver.*")
    assert shop.count("silver.ruled") == 1
    assert sorted(row["row"] for row in shop.quarantine("silver.ruled")) == [
        '{"k":"�","n":1,"x":0.0}',
        '{"k":"�","n":2,"x":0.0}',
    ]
