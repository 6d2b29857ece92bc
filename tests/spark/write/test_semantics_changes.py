"""Changed definitions: what only looks different does nothing, everything else rebuilds the table, once."""

import pytest
from harness import Harness, MakeShop

pytestmark = pytest.mark.in_turn

EVENTS = """
    source:
      files: {path: landing/events/, pattern: "*.csv", format: csv}
    columns: {id: int, email: string, seq: int, op: string, price: int}
    """
STATE = """
    key: [{key}]
    latest_by: [seq]
    delete_when: "op = 'D'"
    """


@pytest.fixture
def shop(make_shop: MakeShop) -> Harness:
    shop = make_shop({"tables/bronze/events.yaml": EVENTS}, approves=True)
    shop.land("landing/events/1.csv", "id,email,seq,op,price\n1,a,1,I,5\n2,b,1,I,6\n2,b,2,D,\n3,c,1,I,-7\n")
    return shop


def _rebuilt_once(shop: Harness, *tables: str) -> None:
    """The next run rebuilds these tables and no others; the run after it does nothing."""
    published = shop.must_run().published
    assert {name: record.kind for name, record in published.items()} == dict.fromkeys(tables, "full")
    assert not shop.must_run().published


def test_a_plain_table(shop: Harness) -> None:
    plain, below = "tables/silver/plain.sql", "tables/gold/below.yaml"
    shop.redefine(
        {plain: "SELECT id, email, price FROM bronze.events WHERE op = 'I'", below: "from: silver.plain\n"}
    )

    # Comments, layout and a description: no row is computed again, positions move.
    shop.write({plain: "-- orders\nselect id,\n  email, price\nfrom bronze.events where op='I'"})
    described = shop.redefine({"tables/silver/plain.yaml": "description: Plain\ntags: [a]\n"}).published
    assert {table: record.kind for table, record in described.items()} == dict.fromkeys(
        ("silver.plain", "gold.below"), "advance"
    )

    # A new column and another filter; the table below follows.
    shop.write({plain: "SELECT id, email, price, seq + 1 AS next FROM bronze.events WHERE op <> 'D'"})
    _rebuilt_once(shop, "silver.plain", "gold.below")
    assert shop.rows("gold.below") == [(1, "a", 5, 2), (2, "b", 6, 2), (3, "c", -7, 2)]

    # A column goes, here and below.
    shop.write({plain: "SELECT id, price FROM bronze.events WHERE op <> 'D'"})
    _rebuilt_once(shop, "silver.plain", "gold.below")
    for table in ("silver.plain", "gold.below"):
        assert [column.name for column in shop.state(table).columns] == ["id", "price"]
        assert shop.rows(table) == [(1, 5), (2, 6), (3, -7)]

    # A rule.
    shop.write({"tables/silver/plain.yaml": 'rules: |\n  Rules = [ ColumnValues "price" > 0 ]\n'})
    _rebuilt_once(shop, "silver.plain", "gold.below")
    assert shop.rows("gold.below") == [(1, 5), (2, 6)]
    assert [row["row"] for row in shop.quarantine("silver.plain")] == ['{"id":3,"price":-7}']

    # A column's type, to one that the old widens to, and to one that it does not; the tables below too.
    for kind, value in (("bigint", 5), ("string", "5")):
        shop.write({plain: f"SELECT id, CAST(price AS {kind}) AS price FROM bronze.events WHERE id = 1"})
        _rebuilt_once(shop, "silver.plain", "gold.below")
        for table in ("silver.plain", "gold.below"):
            assert [(column.name, column.type) for column in shop.state(table).columns] == [
                ("id", "int"),
                ("price", kind),
            ]
            assert shop.rows(table) == [(1, value)]


def test_a_keyed_table_with_tombstones(shop: Harness) -> None:
    query, settings = "tables/silver/state.sql", "tables/silver/state.yaml"
    shop.redefine({query: "SELECT id, email, seq, op FROM bronze.events", settings: STATE.format(key="id")})
    assert shop.rows("silver.state", "id", "email") == [(1, "a"), (3, "c")]

    # Another key.
    shop.write({settings: STATE.format(key="id, email")})
    _rebuilt_once(shop, "silver.state")
    shop.land("landing/events/2.csv", "id,email,seq,op\n2,b,1,I\n2,other,1,I\n1,a,3,D\n")
    assert shop.must_run().published["silver.state"].kind == "upsert"
    assert shop.rows("silver.state", "id", "email") == [(2, "other"), (3, "c")]

    # Another type of the column that orders versions.
    shop.write({query: "SELECT id, email, CAST(seq AS bigint) AS seq, op FROM bronze.events"})
    _rebuilt_once(shop, "silver.state")
    shop.write({query: "SELECT id, email, date_add(DATE'2024-01-01', seq) AS seq, op FROM bronze.events"})
    _rebuilt_once(shop, "silver.state")
    shop.land("landing/events/3.csv", "id,email,seq,op\n1,a,2,I\n2,b,3,I\n3,c,2,D\n")
    assert shop.must_run().published["silver.state"].kind == "upsert"
    assert shop.rows("silver.state", "id", "email") == [(2, "b"), (2, "other")]


def test_a_column_that_partitions_the_table_stays(shop: Harness) -> None:
    query = "tables/silver/plain.sql"
    shop.redefine(
        {query: "SELECT id, email FROM bronze.events", "tables/silver/plain.yaml": "partition_by: [email]\n"}
    )
    rows = shop.rows("silver.plain")
    shop.approves = True
    for text in ("SELECT id FROM bronze.events", "SELECT id, length(email) AS email FROM bronze.events"):
        shop.write({query: text, "tables/silver/plain.yaml": "tags: [a]\n"})
        assert [problem.code for problem in shop.run().problems] == ["LS507"]
        assert shop.rows("silver.plain") == rows


def test_a_column_cannot_change_its_type_and_begin_to_partition_the_table_at_once(shop: Harness) -> None:
    query, settings = "tables/silver/plain.sql", "tables/silver/plain.yaml"
    shop.redefine({query: "SELECT id, email FROM bronze.events"})
    shop.approves = True
    retyped = {query: "SELECT id, length(email) AS email FROM bronze.events"}
    shop.write({**retyped, settings: "partition_by: ['bucket(4, email)']\n"})
    assert [problem.code for problem in shop.run().problems] == ["LS507"]
    shop.redefine({settings: "tags: [a]\n"})
    shop.redefine({settings: "partition_by: ['bucket(4, email)']\n"}, full=["silver.plain"])
    assert shop.state("silver.plain").partitioning == ("bucket(4, email)",)


def test_a_declared_type_that_the_query_does_not_give_is_refused(shop: Harness) -> None:
    shop.write(
        {
            "tables/silver/plain.sql": "SELECT id, price / 2 AS half FROM bronze.events",
            "tables/silver/plain.yaml": "columns: {half: int}\n",
        }
    )
    result = shop.run()
    assert result.code == 1
    (problem,) = result.problems
    assert (problem.code, problem.expected, problem.found) == ("LS609", "int", "double")


def test_what_the_project_keeps_beside_its_tables_is_part_of_a_python_table(shop: Harness) -> None:
    """And its functions reach Spark's workers."""
    rules = """
        from pyspark.sql import functions as F

        def wanted(n):
            return {}

        def keep(frame):
            return frame.where(F.udf(wanted, "boolean")("id")).select("id")
        """
    shop.redefine(
        {
            "tables/silver/py.py": "from helpers.rules import keep\n\ndef py(events):\n"
            "    return keep(events)\n",
            "tables/silver/py.yaml": "inputs: {events: bronze.events}\ndeterministic: true\n",
            "helpers/rules.py": rules.format("n == 1"),
        }
    )
    assert shop.rows("silver.py") == [(1,)]
    shop.write({"helpers/rules.py": rules.format("n == 3")})
    _rebuilt_once(shop, "silver.py")
    assert shop.rows("silver.py") == [(3,)]
