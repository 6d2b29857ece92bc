"""Rows keep what was looked up when they arrived, in a real PostgreSQL; ``as_of: now`` is any input."""

import shutil
from collections.abc import Iterator
from decimal import Decimal

import pytest
from harness import Harness, MakeShop, fail

from lakesmith.errors import ProjectError
from lakesmith.execute.events import TableCurrent, TableFailed, TableHeld
from lakesmith.execute.verify import Verdict
from postgres_server import do, running

pytestmark = pytest.mark.in_turn("file", of=3)

FILES = {
    "tables/bronze/sales.yaml": """
        source: {files: {path: landing/sales/, format: csv}}
        columns: {sale_id: bigint, product_id: bigint, price: "decimal(10,2)"}
        """,
    "tables/bronze/products.yaml": """
        source:
          postgres: {connection: SHOP_DATABASE, table: products, key: [product_id], refresh: 0 seconds}
        columns: {product_id: bigint, name: string, weight: "decimal(12,3)", since: timestamp}
        """,
    "tables/silver/products.yaml": """
        query: SELECT product_id, name, weight, since, _change, _read_at FROM bronze.products
        key: [product_id]
        latest_by: [_read_at]
        delete_when: _change = 'delete'
        """,
    "tables/silver/enriched.yaml": """
        query: |
          SELECT s.sale_id, s.price, p.name
          FROM bronze.sales s LEFT JOIN silver.products p ON p.product_id = s.product_id
        lookups: {silver.products: {as_of: arrival}}
        """,
    "tables/silver/by_sale.yaml": """
        query: |
          SELECT s.sale_id, s.price, p.name
          FROM bronze.sales s JOIN silver.products p ON p.product_id = s.product_id
        key: [sale_id]
        latest_by: [price]
        lookups: {silver.products: {as_of: arrival}}
        """,
    "tables/gold/as_they_are.yaml": """
        query: |
          SELECT s.sale_id, p.name
          FROM bronze.sales s LEFT JOIN silver.products p ON p.product_id = s.product_id
        lookups: {silver.products: {as_of: now}}
        """,
}
HEADER = "sale_id,product_id,price\n"


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with running() as url:
        yield url


@pytest.fixture
def shop(make_shop: MakeShop, postgres: str, monkeypatch: pytest.MonkeyPatch) -> Harness:
    do(
        postgres,
        "DROP TABLE IF EXISTS products",
        "CREATE TABLE products (product_id bigint PRIMARY KEY, name text, weight numeric, since timestamptz)",
        "INSERT INTO products VALUES (1, 'pen', 0.015, '2024-05-01 12:00+02'), (2, 'ink \"blue\"', 1.5,"
        " NULL)",
    )
    monkeypatch.setenv("SHOP_DATABASE", postgres)
    return make_shop(FILES)


@pytest.mark.in_turn
def test_a_story(shop: Harness, postgres: str) -> None:
    ran = shop.take("landing/sales/1.csv", HEADER + "1,1,2.00\n2,2,3.00\n3,9,4.00\n")
    # Sale 3 is of a product that nobody knows; where it is only joined, it is left out.
    assert ran.published["silver.enriched"].unknown == {"silver.products": 1}
    assert ran.published["silver.enriched"].notes == ("1 row found nothing in silver.products",)
    assert ran.published["silver.by_sale"].unknown == {"silver.products": 0}
    assert shop.rows("silver.products", "product_id", "name", "weight") == [
        (1, "pen", Decimal("0.015")),
        (2, 'ink "blue"', Decimal("1.500")),
    ]
    first = [(1, "pen"), (2, 'ink "blue"'), (3, None)]
    assert shop.rows("silver.enriched", "sale_id", "name") == first

    # What changes there changes no row that has arrived; the next rows have it.
    do(
        postgres,
        "UPDATE products SET name = 'quill' WHERE product_id = 1",
        "DELETE FROM products WHERE product_id = 2",
        "INSERT INTO products VALUES (9, 'cap', 1, now())",
    )
    ran = shop.must_run()
    assert {"bronze.products", "silver.products", "gold.as_they_are"} == set(ran.published)
    assert shop.rows("silver.enriched", "sale_id", "name") == first
    assert shop.rows("gold.as_they_are") == [(1, "quill"), (2, None), (3, "cap")]
    ran = shop.take("landing/sales/2.csv", HEADER + "4,1,5.00\n5,2,6.00\n6,9,7.00\n1,1,1.00\n")
    assert ran.published["silver.enriched"].kind == "append"
    assert ran.published["silver.enriched"].unknown == {"silver.products": 1}
    assert ran.published["silver.by_sale"].kind == "upsert"
    later = [(1, "quill"), (4, "quill"), (5, None), (6, "cap")]
    assert shop.rows("silver.enriched", "sale_id", "name") == sorted([*first, *later], key=str)
    account = ran.published["silver.by_sale"].account
    assert (account.read, account.filtered, account.superseded, account.inserted) == (4, 1, 1, 2)
    # An older version of sale 1 came late: its row stays, with the name that it arrived with.
    assert shop.rows("silver.by_sale", "sale_id", "name") == [
        (1, "pen"), (2, 'ink "blue"'), (4, "quill"), (6, "cap"),
    ]  # fmt: skip

    shop.must_verify("silver.enriched", "silver.by_sale", "silver.products", "gold.as_they_are")

    # Nothing new anywhere: nothing to do.
    assert not shop.must_run().published


@pytest.mark.in_turn
def test_verify_finds_a_name_of_another_time(shop: Harness, postgres: str) -> None:
    """It is compared with what was current at the row's arrival, not with any name the product ever had."""
    shop.take("landing/sales/1.csv", HEADER + "1,1,2.00\n")
    do(postgres, "UPDATE products SET name = 'quill' WHERE product_id = 1")
    shop.must_run()
    shop.take("landing/sales/2.csv", HEADER + "2,1,2.00\n")
    shop.must_verify("silver.enriched")
    shop.spark.sql("UPDATE lake.silver.enriched SET name = 'quill' WHERE sale_id = 1")
    found = shop.verify("silver.enriched")["silver.enriched"]
    assert (found.verdict, found.missing, found.unexpected) == (Verdict.DIFFERS, 1, 1)


def test_a_lookup_that_is_not_there_holds_nothing_up(shop: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own run fails and says so; rows go on with what was read before."""
    shop.take("landing/sales/1.csv", HEADER + "1,1,2.00\n")
    monkeypatch.setenv("SHOP_DATABASE", "postgresql://till:hush@127.0.0.1:9/shop")
    shop.land("landing/sales/2.csv", HEADER + "2,1,3.00\n")
    result = shop.run()
    assert result.code == 1
    (failed,) = (event for event in result.events if isinstance(event, TableFailed))
    assert (str(failed.table), failed.problems[0].code) == ("bronze.products", "LS438")
    assert "hush" not in str(failed.problems[0])
    held = {str(event.table) for event in result.events if isinstance(event, TableHeld)}
    assert held == {"silver.products", "gold.as_they_are"}
    assert shop.rows("silver.enriched", "sale_id", "name") == [(1, "pen"), (2, "pen")]


@pytest.mark.in_turn
def test_what_was_read_is_kept_on_the_way(shop: Harness, postgres: str) -> None:
    """A batch that does not come to its end leaves the landing file; the next run takes it, once."""
    from lakesmith.execute import faults

    faults.arrange("after-data", fail, "bronze.products")
    assert shop.run("bronze.products").code == 1
    faults.clear()
    do(postgres, "DELETE FROM products WHERE product_id = 2")
    shop.must_run("bronze.products")
    assert shop.rows("bronze.products", "product_id", "_change") == [(1, "insert"), (2, "insert")]
    shop.must_run("bronze.products")
    assert shop.rows("bronze.products", "product_id", "_change") == [
        (1, "insert"),
        (2, "delete"),
        (2, "insert"),
    ]


HEALED = {
    "tables/silver/enriched.yaml": """
        query: |
          SELECT s.sale_id, s.product_id, p.name
          FROM bronze.sales s LEFT JOIN silver.products p ON p.product_id = s.product_id
        lookups: {silver.products: {as_of: arrival}}
        """,
    "tables/silver/healed.sql": """
        SELECT e.sale_id, e.product_id, coalesce(e.name, p.name) AS name
        FROM silver.enriched AS e LEFT JOIN silver.products AS p ON p.product_id = e.product_id
        """,
}


def test_a_table_behind_it_heals_what_was_unknown(shop: Harness, postgres: str, by_keys: None) -> None:
    """The page's recipe: known values stay, unknown ones are filled in when they appear, by changed keys."""
    shop.write(HEALED)
    shop.take("landing/sales/1.csv", HEADER + "1,1,2.00\n2,9,3.00\n3,8,4.00\n", "+silver.healed")
    do(
        postgres,
        "UPDATE products SET name = 'quill' WHERE product_id = 1",
        "INSERT INTO products VALUES (9, 'cap', 1, now())",
    )
    ran = shop.must_run("+silver.healed")
    assert ran.published["silver.healed"].kind == "keys"
    assert "silver.enriched" not in ran.published
    assert shop.rows("silver.healed", "sale_id", "name") == [(1, "pen"), (2, "cap"), (3, None)]
    shop.take("landing/sales/2.csv", HEADER + "4,9,5.00\n5,1,5.00\n", "+silver.healed")
    healed = [(1, "pen"), (2, "cap"), (3, None), (4, "cap"), (5, "quill")]
    assert shop.rows("silver.healed", "sale_id", "name") == healed
    shop.must_verify("silver.healed")


STARS = """
    WITH sold AS (SELECT sale_id, product_id AS of FROM bronze.sales),
         named AS (SELECT *, upper(name) AS loud
            FROM sold LEFT JOIN silver.products p ON p.product_id = sold.of)
    SELECT * FROM named WHERE sale_id < 3
    """


def _forget(shop: Harness) -> None:
    """The machine that read last is gone, with what it knew of the database, as after each job on AWS."""
    shutil.rmtree(shop.root / ".lakesmith/intake")


def test_another_machine_knows_from_the_lake_what_was_read(shop: Harness, postgres: str) -> None:
    do(postgres, "INSERT INTO products VALUES (3, 'nib', 'NaN', now())")
    assert shop.must_run("bronze.products").published["bronze.products"].account.quarantined == 1
    _forget(shop)
    assert shop.must_run("bronze.products").published == {}, "nothing has changed, in quarantine neither"
    do(
        postgres,
        "UPDATE products SET name = 'quill' WHERE product_id = 1",
        "DELETE FROM products WHERE product_id = 2",
        "UPDATE products SET weight = 2 WHERE product_id = 3",
        "INSERT INTO products VALUES (9, 'cap', 1, now())",
    )
    _forget(shop)
    assert shop.must_run("bronze.products").published["bronze.products"].account.read == 4
    changes = shop.rows("bronze.products", "product_id", "_change")
    assert sorted(changes)[-2:] == [(3, "update"), (9, "insert")]
    assert {(1, "update"), (2, "delete")} < set(changes) and len(changes) == 6
    _forget(shop)
    assert shop.must_run("bronze.products").published == {}


def test_a_table_of_an_earlier_version_reads_its_rows_once_more(shop: Harness) -> None:
    shop.must_run("bronze.products")
    shop.spark.sql("ALTER TABLE lake.bronze.products DROP COLUMN _row_hash")
    _forget(shop)
    again = shop.must_run("bronze.products").published["bronze.products"]
    assert (again.kind, again.account.read) == ("files", 2)
    _forget(shop)
    assert shop.must_run("bronze.products").published == {}


def test_what_counts_the_unknown_is_no_column(shop: Harness) -> None:
    query = "".join(f"  {line}\n" for line in STARS.strip().splitlines())
    shop.write(
        {
            "tables/silver/enriched.yaml": f"query: |\n{query}lookups: {{silver.products: {{as_of:"
            " arrival}}\n"
        }
    )
    shop.land("landing/sales/1.csv", HEADER + "1,1,2.00\n2,8,3.00\n3,9,4.00\n")
    ran = shop.must_run("silver.enriched", "+silver.enriched")
    assert ran.published["silver.enriched"].unknown == {"silver.products": 1}
    assert shop.rows("silver.enriched", "sale_id", "loud") == [(1, "PEN"), (2, None)]
    columns = [column.name for column in shop.state("silver.enriched").columns]
    assert not [name for name in columns if "_lakesmith" in name], columns
    shop.must_verify("silver.enriched")


@pytest.mark.parametrize(
    ("query", "what"),
    [
        ("SELECT s.sale_id FROM bronze.sales s", "does not read silver.products"),
        (
            "SELECT s.sale_id FROM bronze.sales s LEFT JOIN silver.products p ON p.name = s.price",
            "silver.products is not joined by the whole of its key",
        ),
        (
            "SELECT p.name, count(*) AS n FROM bronze.sales s LEFT JOIN silver.products p"
            " ON p.product_id = s.product_id GROUP BY 1",
            "more than rows",
        ),
        (
            "SELECT s.sale_id FROM bronze.sales s JOIN bronze.products b ON b.product_id = s.product_id "
            "LEFT JOIN silver.products p ON p.product_id = s.product_id",
            "joins bronze.products, which is none of its lookups",
        ),
    ],
)
def test_what_cannot_be_looked_up_is_refused(shop: Harness, query: str, what: str) -> None:
    text = f"query: {query}\nlookups: {{silver.products: {{as_of: arrival}}}}\n"
    shop.write({"tables/silver/enriched.yaml": text})
    with pytest.raises(ProjectError) as caught:
        shop.load()
    (problem,) = caught.value.problems
    assert problem.code == "LS137" and what in problem.what
    assert str(problem.place) == "tables/silver/enriched.yaml:2"


def test_a_lookup_without_a_key_is_refused(shop: Harness) -> None:
    shop.write({"tables/silver/products.yaml": "query: SELECT product_id, name FROM bronze.products\n"})
    with pytest.raises(ProjectError, match="has no key"):
        shop.load()


@pytest.mark.in_turn
def test_a_row_that_is_ahead_of_time_is_said_and_hides_no_change(shop: Harness, postgres: str) -> None:
    """One is of 2056, and one, of infinity, is in quarantine: no timestamp holds it."""
    do(
        postgres,
        "DROP TABLE IF EXISTS dated",
        "CREATE TABLE dated (id bigint, at timestamptz)",
        "INSERT INTO dated VALUES (1, now() - interval '3 days'), (2, '2056-01-01'), (3, 'infinity')",
    )
    dated = """
        source:
          postgres: {connection: SHOP_DATABASE, table: dated, key: [id], growing: at, refresh: 0 seconds}
        columns: {id: bigint, at: timestamp}
        """
    shop.write({"tables/bronze/dated.yaml": dated})
    said = "2 rows of dated are ahead in at (infinity) of the server's clock"
    assert said in str(shop.must_run("bronze.dated").published["bronze.dated"].notes)
    assert shop.rows("bronze.dated", "id") == [(1,), (2,)]
    assert len(shop.quarantine("bronze.dated")) == 1
    do(postgres, "INSERT INTO dated VALUES (4, now() - interval '1 day')")
    shop.must_run("bronze.dated")
    assert shop.rows("bronze.dated", "id") == [(1,), (2,), (4,)]
    (current,) = [event for event in shop.must_run("bronze.dated").events if isinstance(event, TableCurrent)]
    assert said in str(current.notes)
    do(postgres, "UPDATE dated SET at = now() WHERE id > 1")
    assert shop.must_run("bronze.dated").published["bronze.dated"].notes == ()
    assert shop.rows("bronze.dated", "id") == [(1,), (2,), (2,), (3,), (4,), (4,)]
