"""``verify`` on values without equality: maps, numbers with a point, and these inside others."""

import json
from pathlib import Path

import pytest
from harness import Harness, MakeShop

from lakesmith.execute.verify import Verdict
from lakesmith.spark.start.session import SessionHandle

FILES = {
    "tables/bronze/orders.yaml": """
        source:
          files: {path: landing/orders/, format: csv}
        columns: {id: int, "a`b": double}
        """,
    "tables/silver/copy.yaml": "from: bronze.orders\n",
    "tables/silver/deep.sql": """
        SELECT id,
          map('x', `a``b`, 'y', 1.5D) AS flat,
          named_struct('c.d', map('x', `a``b`, 'y', 2D), 'variant_no', id) AS boxed,
          array(map('x', `a``b`), map('y', -`a``b`)) AS listed,
          map('m', named_struct('f', float(`a``b`))) AS both,
          IF(id = 2, NULL, named_struct('n', IF(id = 3, NULL, `a``b`))) AS missing
        FROM bronze.orders
        """,
}
HEADER = "id,a`b\n"
TURNED = """
    UPDATE lake.silver.deep SET
      flat = map('y', 1.5D, 'x', flat['x'] * (1 + 1e-14D)),
      boxed = named_struct('c.d', map('y', 2D, 'x', boxed.`c.d`['x'] * (1 - 1e-14D)), 'variant_no', id),
      listed = array(map('x', listed[0]['x'] * (1 + 1e-14D)), listed[1]),
      both = map('m', named_struct('f', float(both['m'].f * 1.0000001D)))
    """


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, session: SessionHandle) -> Harness:
    shop = Harness(Path(tmp_path_factory.mktemp("nested")) / "shop", session, FILES)
    shop.take("landing/orders/1.csv", HEADER + "1,0.7\n2,3.25\n3,-0.0\n")
    return shop


def differing(shop: Harness, change: str) -> tuple[Verdict, int, int]:
    """What ``verify`` says once somebody has made the change, which is then taken back."""
    before = shop.state("silver.deep").refs["main"]
    shop.spark.sql(change)
    found = shop.verify("silver.deep")["silver.deep"]
    shop.spark.sql(f"CALL lake.system.rollback_to_snapshot('silver.deep', {before})")
    return found.verdict, found.missing, found.unexpected


def test_a_column_with_a_backquote_in_its_name(shop: Harness) -> None:
    assert shop.rows("silver.copy", "id", "`a``b`") == [(1, 0.7), (2, 3.25), (3, 0.0)]
    shop.must_verify("silver.copy")


def test_nested_values_are_as_their_query_makes_them(shop: Harness) -> None:
    found = shop.verify("silver.deep")["silver.deep"]
    assert (found.verdict, found.rows, found.why) == (Verdict.SAME, 3, None)


def test_the_order_of_a_map_and_the_last_digits_make_no_difference(shop: Harness) -> None:
    assert differing(shop, TURNED) == (Verdict.SAME, 0, 0)


@pytest.mark.parametrize(
    "change",
    [
        "flat = map('x', flat['x'], 'y', 1.500001D) WHERE id = 1",
        "flat = map('x', flat['x']) WHERE id = 1",
        "boxed = named_struct('c.d', map('x', 0D, 'y', 2D), 'variant_no', id) WHERE id = 1",
        "boxed = named_struct('c.d', boxed.`c.d`, 'variant_no', 9) WHERE id = 1",
        "listed = array(listed[1], listed[0]) WHERE id = 1",
        "both = map('m', named_struct('f', float(0.71))) WHERE id = 1",
        "missing = NULL WHERE id = 3",
        "missing = named_struct('n', CAST(NULL AS DOUBLE)) WHERE id = 2",
    ],
)
def test_each_other_difference_inside_values_is_found(shop: Harness, change: str) -> None:
    assert differing(shop, f"UPDATE lake.silver.deep SET {change}") == (Verdict.DIFFERS, 1, 1)


def test_the_rows_that_differ_are_told_as_a_person_writes_them(shop: Harness) -> None:
    before = shop.state("silver.deep").refs["main"]
    shop.spark.sql("UPDATE lake.silver.deep SET flat = map('x', 9D) WHERE id = 2")
    found = shop.verify("silver.deep")["silver.deep"]
    shop.spark.sql(f"CALL lake.system.rollback_to_snapshot('silver.deep', {before})")
    told = {(each.expected, each.found): json.loads(each.row) for each in found.examples}
    assert told == {(1, 0): {**TWO, "flat": {"x": 3.25, "y": 1.5}}, (0, 1): {**TWO, "flat": {"x": 9.0}}}


TWO = {
    "id": 2, "boxed": {"c.d": {"x": 3.25, "y": 2.0}, "variant_no": 2}, "listed": [{"x": 3.25}, {"y": -3.25}],
    "both": {"m": {"f": 3.25}}, "missing": None,
}  # fmt: skip

EDGE = 123456789.25
"""Eleven digits: to ten it is rounded up or down by what is far behind them."""


def test_a_value_on_the_edge_of_a_rounding_is_the_same_from_either_side(make_shop: MakeShop) -> None:
    files = {
        "tables/bronze/orders.yaml": FILES["tables/bronze/orders.yaml"],
        "tables/silver/sums.sql": "SELECT id, `a``b` AS total, `a``b` * 2 AS twice, 0.10BD AS exact"
        " FROM bronze.orders",
    }
    shop = make_shop(files)
    shop.take("landing/orders/1.csv", HEADER + f"1,{EDGE}\n2,{EDGE}\n2,{EDGE}\n3,7.5\n")
    below, above = EDGE * (1 - 1e-14), EDGE * (1 + 1e-14)
    assert f"{below:.9e}" != f"{above:.9e}"
    for side in (below, above):
        shop.spark.sql(f"UPDATE lake.silver.sums SET total = {side!r}D, twice = {2 * side!r}D WHERE id < 3")
        found = shop.verify("silver.sums")["silver.sums"]
        assert (found.verdict, found.rows, found.missing, found.unexpected) == (Verdict.SAME, 4, 0, 0)
    shop.spark.sql("DELETE FROM lake.silver.sums WHERE id = 1")
    shop.spark.sql("UPDATE lake.silver.sums SET twice = 15.001D WHERE id = 3")
    found = shop.verify("silver.sums")["silver.sums"]
    assert (found.rows, found.missing, found.unexpected) == (3, 2, 1)
    assert {
        (json.loads(e.row)["id"], json.loads(e.row)["twice"], e.expected, e.found) for e in found.examples
    } == {(1, 246913578.5, 1, 0), (3, 15.0, 1, 0), (3, 15.001, 0, 1)}
