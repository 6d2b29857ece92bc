"""Stories on real Iceberg: what they find right and wrong, and that nothing of the real lake is touched."""

from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from lakesmith.api.testing.runner import StoryRunner
from lakesmith.api.testing.story_run import StoryResult
from lakesmith.spark.start.session import SessionHandle

FILES = {
    "lakesmith.yaml": """
        name: shop
        default_target: prod
        targets:
          prod: {catalog: {type: glue, warehouse: "s3://${BUCKET}/lake", glue.region: eu-west-1}}
        vars: {smallest: "0"}
        """,
    "tables/bronze/orders.yaml": """
        source: {files: {path: "s3://shop/orders/", format: csv}}
        columns: {order_id: bigint, status: string, amount: 'decimal(10,2)', changed_at: timestamp}
        export: {format: csv, to: "s3://shop/exports/"}
        """,
    "tables/silver/orders.yaml": """
        key: [order_id]
        latest_by: [changed_at]
        delete_when: status = 'gone'
        rules: |
          Rules = [ ColumnValues "amount" > ${vars.smallest} ]
        query: SELECT order_id, status, amount, changed_at FROM bronze.orders
        """,
    "tables/gold/by_status.sql": "SELECT status, count(*) AS n, sum(amount) AS amount, current_date() AS day"
    " FROM silver.orders GROUP BY status",
    "tables/bronze/products.yaml": """
        source: {postgres: {connection: DB, table: public.products, key: [product_id]}}
        columns: {product_id: bigint, name: string}
        """,
    "tables/silver/products.yaml": """
        key: [product_id]
        latest_by: [_read_at]
        delete_when: _change = 'delete'
        query: SELECT product_id, name, _read_at, _change FROM bronze.products
        """,
    "tables/bronze/sales.yaml": """
        source: {http: {path: /sales, tokens: [SALES_TOKEN]}}
        columns: {product_id: bigint, price: 'decimal(10,2)'}
        """,
    "tables/silver/sales.yaml": """
        lookups: {silver.products: {as_of: arrival}}
        query: SELECT s.product_id, p.name, s.price FROM bronze.sales s
          LEFT JOIN silver.products p ON s.product_id = p.product_id
        """,
    "tables/bronze/clicks.yaml": """
        source: {kafka: {connection: BROKERS, topic: clicks}}
        columns: {click_id: bigint, page: string}
        """,
    "tables/silver/clicks.yaml": """
        key: [click_id]
        latest_by: [at]
        delete_when: _tombstone
        query: SELECT coalesce(click_id, CAST(_key AS bigint)) AS click_id, page, _tombstone,
          _source_position AS at FROM bronze.clicks
        """,
}
GOOD = """
stories:
  - story: the newest version counts, and a late one changes nothing
    now: "2026-01-05 12:00:00"
    batches:
      - given:
          bronze.orders: |
            order_id,status,amount,changed_at
            1,new,5,2026-01-05 10:00:00
            1,paid,5.50,2026-01-05 11:00:00
            2,new,-1,2026-01-05 11:00:00
        expect:
          silver.orders:
            rows: [{order_id: 1, status: paid, amount: 5.5}]
            quarantine: [{reason: amount, order_id: 2}]
            balance: {read: 3, quarantined: 1}
          gold.by_status: [{status: paid, n: 1, amount: "5.50", day: "2026-01-05"}]
      - given:
          bronze.orders: [{order_id: 1, status: gone, amount: 1, changed_at: "2026-01-05 09:00:00"}]
        expect:
          silver.orders: {count: 1, strategy: upsert}
          gold.by_status: {strategy: advance}
      - given:
          bronze.orders: [{order_id: 1, status: gone, amount: 1, changed_at: "2026-01-05 12:00:00"}]
        expect: {silver.orders: [], gold.by_status: []}
  - story: with another variable the row is good
    variables: {smallest: -2}
    given:
      bronze.orders: [{order_id: 2, status: new, amount: -1, changed_at: "2026-01-05 09:00:00"}]
    expect: {silver.orders: {count: 1, quarantine: 0}}
  - story: sales have the product of their arrival
    batches:
      - given:
          bronze.products: [{product_id: 1, name: tea}]
          bronze.sales: [{product_id: 1, price: 2.5}]
        expect: {silver.sales: [{product_id: 1, name: tea, price: 2.5}]}
      - given: {bronze.products: [{product_id: 2, name: milk}]}
        expect: {silver.products: [{product_id: 2, name: milk}]}
  - story: a tombstone takes a click back
    batches:
      - given: {bronze.clicks: [{click_id: 1, page: a, _key: "1"}]}
        expect: {silver.clicks: [{click_id: 1, page: a}]}
      - given: {bronze.clicks: [{_key: "1", _tombstone: true}]}
        expect: {silver.clicks: []}
  - story: a table given directly has one row for each key
    columns: {silver.orders: {order_id: bigint, status: string, amount: "decimal(10,2)"}}
    given: {silver.orders: [{order_id: 1, status: a, amount: 1}, {order_id: 1, status: b, amount: 2}]}
    expect: {gold.by_status: [{status: b, n: 1, amount: 2}]}
"""
WRONG = """
stories:
  - story: all of it is wrong
    given:
      bronze.orders: |
        order_id,status,amount,changed_at
        1,paid,5.50,2026-01-05 11:00:00
        2,new,-1,2026-01-05 11:00:00
    expect:
      silver.orders:
        rows: [{order_id: 1, status: new, amount: 5.5}]
        count: 2
        quarantine: 0
        balance: {read: 4}
        strategy: upsert
  - story: a file that cannot be read
    given:
      bronze.orders: |
        order_id,other
        1,x
    expect: {silver.orders: {count: 1}}
  - story: and it was expected
    given:
      bronze.orders: |
        order_id,other
        1,x
    expect: {bronze.orders: {error: LS431}}
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("stories") / "shop"
    for name, text in {**FILES, "tests/good.yaml": GOOD, "tests/wrong.yaml": WRONG}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(dedent(text).removeprefix("\n"))
    return root


@pytest.fixture(scope="module")
def results(root: Path, session: SessionHandle) -> Iterator[dict[str, StoryResult]]:
    """All stories of both files; the project's target is a bucket that nobody can reach."""
    before = sorted(path for path in root.rglob("*") if ".lakesmith" not in path.parts)
    left = root / ".lakesmith/stories/999999999/1"
    left.mkdir(parents=True)
    with StoryRunner(root, None, session.spark) as runner:
        found = {each.title: runner.run(each) for each in runner.stories()}
        assert list((root / ".lakesmith/stories").rglob("catalog.db")), "their lakes are here meanwhile"
        assert not left.exists(), "a killed process left it"
    assert sorted(path for path in root.rglob("*") if ".lakesmith" not in path.parts) == before
    yield found


@pytest.mark.parametrize(
    "title",
    [
        "the newest version counts, and a late one changes nothing",
        "with another variable the row is good",
        "sales have the product of their arrival",
        "a tombstone takes a click back",
        "a table given directly has one row for each key",
        "and it was expected",
    ],
)
def test_a_story_that_is_true_passes(results: dict[str, StoryResult], title: str) -> None:
    assert results[title].failures == ()


def test_each_thing_that_is_not_as_expected_is_said(results: dict[str, StoryResult]) -> None:
    found = {each.what: each.lines for each in results["all of it is wrong"].failures}
    assert found == {
        "its strategy": ("full, expected upsert",),
        "its row balance": ("read is 2, expected 4",),
        "number of rows": ("1, expected 2",),
        "rows": ("~ order_id 1: status is 'paid', expected 'new' (string)",),
        "rows in quarantine": found["rows in quarantine"],
    }
    assert found["rows in quarantine"][0] == "1 in quarantine, expected 0"


def test_a_batch_that_fails_is_told_with_its_error(results: dict[str, StoryResult]) -> None:
    (failed, unbuilt) = results["a file that cannot be read"].failures
    assert (failed.table, failed.what) == ("bronze.orders", "the batch failed")
    assert failed.lines[0].startswith("LS431 ")
    assert (unbuilt.table, unbuilt.lines) == ("silver.orders", ("bronze.orders failed",))


def test_nothing_is_left_of_the_lakes(root: Path, results: dict[str, StoryResult]) -> None:
    assert results
    assert [path for path in (root / ".lakesmith").rglob("*") if path.name == "catalog.db"] == []
