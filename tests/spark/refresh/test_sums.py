"""Tables of sums refreshed from changes alone equal what DuckDB makes of their inputs."""

import random
from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest
from harness import Harness, MakeShop, RunResult
from pyspark.sql import SparkSession
from soaking import SOAK, seeds
from titled import titled

from lakesmith.errors import Place
from lakesmith.execute.events import PhaseStarted
from lakesmith.project.definitions import SqlQuery, TableName
from lakesmith.spark.catalyst import means
from lakesmith.spark.catalyst.proofs import proofs_of
from lakesmith.spark.catalyst.summable import additive
from lakesmith.spark.catalyst.tree import Occurrence, Occurrences
from lakesmith.spark.query import table_query
from lakesmith.spark.refresh import by_keys, touched_keys
from lakesmith.spark.start.session import SessionHandle

pytestmark = pytest.mark.in_turn

SEEDS = seeds(314159)

SALES = """
source:
  files: {path: landing/sales/, format: csv}
columns: {id: int, shop: string, cents: int, amount: "decimal(10,2)", sold: timestamp}
"""
SHOPS = """
source:
  files: {path: landing/shops/, format: csv}
columns: {shop: string, city: string}
"""

TITLED = titled(Path(__file__).with_name("sums.sql"))
TABLES = [(title.split(": "), query) for title, query in TITLED if title != "duckdb"]
QUERIES = {name: query for (name, _), query in TABLES if name}
FOR_DUCKDB = {"sliding": dict(TITLED)["duckdb"]}
ROLES = {query: roles for (_, roles), query in TABLES if roles != "?"}
"""How a change of sales is added to each column of a query."""


@pytest.fixture
def shop(make_shop: MakeShop, by_keys: None) -> Harness:
    files = {"tables/bronze/sales.yaml": SALES, "tables/bronze/shops.yaml": SHOPS}
    golds = {f"tables/gold/{name}.sql": query for name, query in QUERIES.items()}
    shop = make_shop({**files, **golds})
    shop.land("landing/shops/1.csv", "shop,city\na,Oslo\nb,Rome\nc,Oslo\n")
    return shop


def _land(shop: Harness, number: int, rows: str) -> None:
    shop.land(f"landing/sales/{number}.csv", "id,shop,cents,amount,sold\n" + rows)


def _random_rows(dice: random.Random, first: int, count: int) -> str:
    lines = []
    for key in range(first, first + count):
        at = datetime(2024, 6, 3) + timedelta(minutes=dice.randrange(150))
        amount = dice.choice(
            ["", *(f"{dice.randrange(-3, 4)}.{dice.choice(('00', '50'))}" for _ in range(4))]
        )
        lines.append(f"{key},{dice.choice('abcd')},{dice.choice(['', 1, 2, 3, 4, 5])},{amount},{at}")
    return "\n".join(lines) + "\n"


def _expected(shop: Harness) -> dict[str, Counter[tuple[Any, ...]]]:
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA bronze")
    types = {
        "sales": "id int, shop text, cents int, amount decimal(10,2), sold timestamp",
        "shops": "shop text, city text",
    }
    for name, columns in types.items():
        connection.execute(f"CREATE TABLE bronze.{name} ({columns})")
        names = [column.split()[0] for column in columns.split(", ")]
        if rows := shop.rows(f"bronze.{name}", *names):
            connection.executemany(f"INSERT INTO bronze.{name} VALUES ({', '.join('?' * len(names))})", rows)
    queries = {**QUERIES, **FOR_DUCKDB}
    return {name: Counter(connection.execute(query).fetchall()) for name, query in queries.items()}


def _check(shop: Harness) -> None:
    for name, rows in _expected(shop).items():
        assert Counter(map(tuple, shop.frame(f"gold.{name}").collect())) == rows, name


def _said(result: RunResult, table: str) -> list[str]:
    return [event.phase for event in result.of(table) if isinstance(event, PhaseStarted)]


@pytest.mark.always
@pytest.mark.parametrize("seed", SEEDS)
def test_any_history(shop: Harness, seed: int) -> None:
    dice = random.Random(seed)
    statements = (
        "DELETE FROM lake.bronze.sales WHERE id % 7 = {0}",
        "UPDATE lake.bronze.sales SET amount = -amount, shop = 'b' WHERE id % 9 = {0}",
        "DELETE FROM lake.bronze.sales WHERE shop = 'd'",
        "UPDATE lake.bronze.sales SET amount = NULL, cents = NULL WHERE id % 5 = {0}",
        "UPDATE lake.bronze.shops SET city = 'Riga' WHERE shop = 'b'",
    )
    _land(shop, 1, _random_rows(dice, 0, 30))
    shop.must_run()
    for number in range(2, 3 if not SOAK else 12):
        for _ in range(3):
            shop.spark.sql(dice.choice(statements).format(dice.randrange(5))).collect()
        if dice.random() < 0.6:
            _land(shop, number, _random_rows(dice, 100 * number, 5))
        published = shop.must_run().published
        kinds = {record.kind for name, record in published.items() if name.startswith("gold")}
        assert kinds <= {"sums", "append", "advance", "keys"}
        by_keys = {name for name, record in published.items() if record.kind == "keys"}
        assert by_keys <= {"gold.by_city"}, "both of its inputs may have changed"
        _check(shop)


def test_what_is_added_up(shop: Harness) -> None:
    occurrences = {name: Occurrence(TableName("bronze", name)) for name in ("sales", "shops")}
    _land(shop, 1, "1,a,1,1.00,2024-06-03 00:00:00\n")
    shop.must_run("bronze.*")
    assert {query: _roles(shop.spark, query, occurrences) for query in ROLES} == ROLES


def _roles(spark: SparkSession, query: str, occurrences: Occurrences) -> str:
    for name in occurrences:
        spark.table(f"lake.bronze.{name}").alias(name).createOrReplaceTempView(f"told_{name}")
        query = query.replace(f"bronze.{name}", f"told_{name}")
    found = additive(spark.sql(query), occurrences, TableName("bronze", "sales"))
    return " ".join(each.role.value for each in found) if found else "none"


ROWS = """\
1,a,1,1.00,2024-06-03 00:00:00
2,a,2,2.00,2024-06-03 00:10:00
5,a,2,3.00,2024-06-03 00:20:00
3,b,3,3.00,2024-06-03 00:00:00
4,b,3,,2024-06-03 00:00:00
"""


@pytest.mark.parametrize(
    ("statement", "table"),
    [
        ("DELETE FROM lake.bronze.sales WHERE id = 1", "by_shop"),
        ("UPDATE lake.bronze.sales SET amount = 9 WHERE id = 1", "sums_alone"),
        ("DELETE FROM lake.bronze.sales WHERE id = 3", "by_shop"),
        ("DELETE FROM lake.bronze.sales WHERE shop = 'b'", "by_shop"),
        ("DELETE FROM lake.bronze.sales WHERE id = 2", "extremes"),
        ("UPDATE lake.bronze.sales SET amount = 0.5 WHERE id = 1", "extremes"),
    ],
    ids=[
        "some rows stay", "another value", "null is left", "a group goes", "not the least", "a lesser comes",
    ],
)  # fmt: skip
def test_groups_that_the_changes_tell_are_not_looked_at(shop: Harness, statement: str, table: str) -> None:
    assert not _is_computed_from_rows(shop, statement, table)


@pytest.mark.parametrize(
    ("statement", "table"),
    [
        ("DELETE FROM lake.bronze.sales WHERE id = 3", "sums_alone"),
        ("DELETE FROM lake.bronze.sales WHERE id = 1", "extremes"),
        ("DELETE FROM lake.bronze.sales WHERE shop = 'b'", "least_alone"),
    ],
    ids=["zero or null", "the least goes", "all rows or some"],
)
def test_groups_that_the_changes_do_not_tell_are_computed_from_their_rows(
    shop: Harness, statement: str, table: str
) -> None:
    assert _is_computed_from_rows(shop, statement, table)


def _is_computed_from_rows(shop: Harness, statement: str, table: str) -> bool:
    """Whether a table, which is right after one change, was computed from rows that did not change."""
    _land(shop, 1, ROWS)
    names = ("bronze.*", f"gold.{table}")
    shop.must_run(*names)
    shop.spark.sql(statement).collect()
    result = shop.must_run(*names)
    assert result.published[f"gold.{table}"].kind == "sums"
    assert Counter(shop.rows(f"gold.{table}")) == _expected(shop)[table]
    return any("from their rows" in phase for phase in _said(result, f"gold.{table}"))


def test_sums_that_are_as_large_as_their_type_allows(shop: Harness) -> None:
    """What is in between may be larger than what comes out."""
    query = (
        "SELECT shop, sum(CAST(amount AS bigint) * 9000000000000000000) AS total, count(*) AS n"
        " FROM bronze.sales GROUP BY shop"
    )
    shop.write({"tables/gold/large.sql": query})
    _land(shop, 1, "1,a,1,1.00,2024-06-03 00:00:00\n")
    shop.must_run("bronze.*", "gold.large")
    _land(shop, 2, "2,a,1,1.00,2024-06-03 00:00:00\n")
    shop.must_run("bronze.*")
    shop.spark.sql("DELETE FROM lake.bronze.sales WHERE id = 1").collect()
    assert shop.must_run("bronze.*", "gold.large").published["gold.large"].kind == "sums"
    assert shop.rows("gold.large") == [("a", Decimal(9 * 10**18), 1)]


AVERAGES = (
    "SELECT shop, sum(amount) AS total, count(amount) AS n, avg(amount) AS mean, CAST(avg(amount) AS"
    " decimal(6,2)) AS rounded,"
    " CAST(sum(cents) AS decimal(20,3)) AS cents, count(cents) AS known, avg(cents) AS middle"
    " FROM bronze.sales GROUP BY shop"
)


def test_an_average_is_what_spark_makes_of_the_rows(shop: Harness) -> None:
    """Spark averages decimals of few digits by doubles: here 0.000437, where 0.07 / 160 is 0.0004375."""
    shop.write({"tables/gold/averages.sql": AVERAGES})
    rows = "".join(f"{key},a,1,{'0.07' if key == 0 else '0.00'},2024-06-03 00:00:00\n" for key in range(159))
    _land(shop, 1, rows)
    shop.must_run("bronze.*", "gold.averages")
    _land(shop, 2, "200,a,1,0.00,2024-06-03 00:00:00\n")
    assert shop.must_run("bronze.*", "gold.averages").published["gold.averages"].kind == "sums"
    found = shop.rows("gold.averages", "shop", "total", "n", "mean", "middle")
    assert found == [("a", Decimal("0.07"), 160, Decimal("0.000437"), 1.0)]


@pytest.mark.parametrize("seed", SEEDS)
def test_averages_in_any_history(shop: Harness, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of up to nine values by sums, larger ones from their rows."""
    monkeypatch.setattr(means, "_EXACT_UP_TO", 9 * 2**31)
    shop.write({"tables/gold/averages.sql": AVERAGES})
    dice = random.Random(seed)
    names = ("bronze.*", "gold.averages")
    for number in range(1, 5 if not SOAK else 20):
        _land(shop, number, _random_rows(dice, 100 * number, 12))
        shop.must_run("bronze.*")
        if number > 1:
            at = dice.randrange(9)
            shop.spark.sql(
                f"UPDATE lake.bronze.sales SET amount = amount + 0.01 WHERE id % 9 = {at}"
            ).collect()
            shop.spark.sql(f"DELETE FROM lake.bronze.sales WHERE id % 7 = {at % 7}").collect()
        assert shop.must_run(*names).published["gold.averages"].kind == ("sums" if number > 1 else "full")
        shop.frame("bronze.sales").createOrReplaceTempView("rows_now")
        wanted = shop.spark.sql(AVERAGES.replace("bronze.sales", "rows_now")).collect()
        assert Counter(shop.rows("gold.averages")) == Counter(map(tuple, wanted))


@pytest.mark.parametrize(
    "kind", ["decimal(10,2)", "decimal(11,0)", "decimal(11,11)", "decimal(5,3)", "int", "tinyint"]
)
def test_a_sum_and_a_count_give_the_average_that_spark_gives(session: SessionHandle, kind: str) -> None:
    """Of thousands of groups, to the last bit, in whatever parts they are added up."""
    spark = session.spark
    digits = int(kind[8:].partition(",")[0]) if kind.startswith("decimal") else 0
    scale = int(kind.partition(",")[2].rstrip(")") or 0)
    most = 10**digits - 1 if digits else {"int": 2**31 - 1, "tinyint": 127}[kind]
    drawn = f"CAST(floor((rand(5) - 0.5) * 2 * {most}) AS decimal(20,0)) / {10**scale}"
    rows = spark.range(0, 60_000, 1, 4).selectExpr(
        "id % 7919 % CAST(4 + id % 37 * 200 AS bigint) AS k", f"CAST({drawn} AS {kind}) AS v"
    )
    rows = rows.persist()
    rows.createOrReplaceTempView("drawn")
    found = spark.sql("SELECT k, sum(v) AS s, count(v) AS n, avg(v) AS m FROM drawn GROUP BY k")
    occurrences = {"drawn": Occurrence(TableName("bronze", "drawn"))}
    added = additive(found, occurrences, TableName("bronze", "drawn"))
    assert added is not None
    mean = added[3].mean
    assert mean is not None and mean.most > 60_000
    odd = found.where(f"NOT (m <=> {mean.of('s', 'n')})").count()
    assert (odd, found.count() > 3000) == (0, True)
    rows.unpersist()


def test_a_constant_map_beside_sums(shop: Harness) -> None:
    """Spark does not join by maps, so such sums are computed from the rows of their groups."""
    query = "SELECT shop, map('a', 1) AS kinds, count(*) AS n FROM bronze.sales GROUP BY shop"
    shop.write({"tables/gold/mapped.sql": query})
    _land(shop, 1, "1,a,1,1.00,2024-06-03 00:00:00\n")
    shop.must_run("bronze.*", "gold.mapped")
    _land(shop, 2, "2,a,1,1.00,2024-06-03 00:00:00\n3,b,1,1.00,2024-06-03 00:00:00\n")
    assert shop.must_run("bronze.*", "gold.mapped").published["gold.mapped"].kind == "keys"
    assert Counter(map(str, shop.rows("gold.mapped"))) == Counter(
        ["('a', {'a': 1}, 2)", "('b', {'a': 1}, 1)"]
    )


def test_rows_that_were_only_added_are_found_without_a_look_at_all_files(
    shop: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("bronze.*", "gold.by_shop", "gold.extremes", "gold.sliding")
    _land(shop, 1, ROWS)
    shop.must_run(*names)
    for number in (2, 3):
        _land(shop, number, _random_rows(random.Random(number), 100 * number, 9))
        shop.must_run("bronze.sales")
    shop.spark.sql(
        "CALL lake.system.rewrite_data_files(table => 'bronze.sales', options => map('rewrite-all', 'true'))"
    ).collect()
    with monkeypatch.context() as patch:
        patch.setattr(touched_keys, "changed_rows", None)
        published = shop.must_run(*names).published
    assert {published[name].kind for name in names[1:]} == {"sums"}
    assert [published["gold.by_shop"].account.read, published["gold.by_shop"].account.deleted] == [18, 0]
    for name in ("by_shop", "extremes", "sliding"):
        assert Counter(shop.rows(f"gold.{name}")) == _expected(shop)[name]


def test_what_was_proved_of_a_query_is_not_proved_again(
    shop: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("bronze.*", "gold.by_shop")
    for number in (1, 2):
        _land(shop, number, _random_rows(random.Random(number), 100 * number, 9))
        shop.must_run(*names)
    _land(shop, 3, ROWS)
    with monkeypatch.context() as patch:
        patch.setattr(table_query, "key_columns", None)
        patch.setattr(by_keys, "additive", None)
        assert shop.must_run(*names).published["gold.by_shop"].kind == "sums"
    assert Counter(shop.rows("gold.by_shop")) == _expected(shop)["by_shop"]


@pytest.mark.parametrize(
    ("query", "kind", "same"),
    [
        ("SELECT 1", "id int", True), ("SELECT 2", "id int", False), ("SELECT 1", "id bigint", False),
        ("SELECT 1", "id int NOT NULL", False), ("SELECT 1", "id int, more int", False),
    ],
)  # fmt: skip
def test_what_was_proved_holds_for_one_text_over_the_same_columns(
    session: SessionHandle, query: str, kind: str, same: bool
) -> None:
    spark, place, name = session.spark, Place("gold/a.sql", 1), TableName("bronze", "sales")
    first = proofs_of(spark, SqlQuery("SELECT 1", place), {name: spark.createDataFrame([], "id int")})
    other = proofs_of(spark, SqlQuery(query, place), {name: spark.createDataFrame([], kind)})
    assert first.once(f"{query} {kind}", lambda: "proved") == "proved"
    assert other.once(f"{query} {kind}", lambda: "anew") == ("proved" if same else "anew")


def test_without_a_rule_of_the_optimizer_averages_are_computed_from_rows(session: SessionHandle) -> None:
    """What is kept for one session is not taken for another."""
    query = "SELECT k, sum(v) AS s, count(v) AS n, avg(v) AS m FROM drawn GROUP BY k"
    other = session.spark.newSession()
    rules = "org.apache.spark.sql.catalyst.optimizer.DecimalAggregates"
    other.conf.set("spark.sql.optimizer.excludedRules", rules)
    name, found = TableName("bronze", "drawn"), []
    for spark in (session.spark, other):
        rows = spark.createDataFrame([], "k int, v decimal(5,2)")
        rows.createOrReplaceTempView("drawn")
        proofs = proofs_of(spark, SqlQuery(query, Place("gold/a.sql", 1)), {name: rows})
        frame, occurrences = spark.sql(query), {"drawn": Occurrence(name)}
        found.append(proofs.once("it", partial(additive, frame, occurrences, name)))
    assert [each is not None for each in found] == [True, False]


def test_of_a_function_nothing_is_kept(session: SessionHandle) -> None:
    proofs = proofs_of(session.spark, None, {})
    assert [proofs.once("it", lambda: 1), proofs.once("it", lambda: 2)] == [1, 2]


def test_what_is_raised_is_not_kept(session: SessionHandle) -> None:
    proofs = proofs_of(session.spark, SqlQuery("SELECT 'raised'", Place("gold/a.sql", 1)), {})
    with pytest.raises(ZeroDivisionError):
        proofs.once("it", lambda: 1 // 0)
    assert proofs.once("it", lambda: 1) == 1
