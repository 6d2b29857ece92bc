"""``lakesmith check``: rules of tables apart from loading, and what is kept of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from harness import Harness, MakeShop
from rewinding import rewinding

FILES = {
    "tables/bronze/orders.yaml": """
        source: {files: {path: landing/orders/, format: csv}}
        columns: {id: bigint, city: string}
        rules: |
          Rules = [ RowCount > 0, IsComplete "city" ]
        """,
    "tables/silver/cities.sql": "SELECT city, count(*) AS n FROM bronze.orders GROUP BY city",
    "tables/silver/cities.yaml": 'rules: |\n  Rules = [ ColumnValues "n" < 3 with threshold > 0.5 ]\n',
    "tables/gold/none.sql": "SELECT city FROM silver.cities",
}


@pytest.fixture(scope="module")
def taken(make_lake: MakeShop) -> Callable[[], Harness]:
    shop = make_lake(FILES)
    shop.take_rows("orders", 1, "1,Oslo", "2,Oslo", "3,Bergen", "4,")
    return rewinding(shop)


@pytest.fixture
def checked(taken: Callable[[], Harness], monkeypatch: pytest.MonkeyPatch) -> Harness:
    shop = taken()
    monkeypatch.setattr("lakesmith.spark.open.open_session", lambda *_, **__: shop.handle)
    return shop


def kept(shop: Harness) -> list[tuple[object, ...]]:
    frame = shop.spark.sql("SELECT source, table, batch, outcome, metric, rule FROM lake.lakesmith.checks")
    return sorted(tuple(row) for row in frame.collect())


OF_BATCHES = [
    ("batch", "bronze.orders", 1, "passed", 3.0, "RowCount > 0"),
    ("batch", "silver.cities", 1, "passed", 1.0, 'ColumnValues "n" < 3 with threshold > 0.5'),
]
FIRST = [
    ("check", "bronze.orders", 1, "passed", 0.0, 'IsComplete "city"'),
    ("check", "bronze.orders", 1, "passed", 3.0, "RowCount > 0"),
    ("check", "silver.cities", 1, "passed", 1.0, 'ColumnValues "n" < 3 with threshold > 0.5'),
]


def test_results_are_said_and_kept_once(checked: Harness, cli: Any, tmp_path: Path) -> None:
    code, out, _ = cli("check", "--project", checked.root)
    assert code == 0
    assert out.splitlines() == [
        "bronze.orders",
        '  passed  IsComplete "city"  0 rows break it',
        "  passed  RowCount > 0       RowCount is 3",
        "silver.cities",
        '  passed  ColumnValues "n" < 3 with threshold > 0.5  100% of rows pass',
        "3 rules passed",
    ]
    assert kept(checked) == sorted([*OF_BATCHES, *FIRST])
    thresholds = checked.spark.sql("SELECT threshold FROM lake.lakesmith.checks WHERE source = 'batch'")
    assert sorted(row[0] for row in thresholds.collect()) == ["> 0", "> 0.5"]
    query = "SELECT count(*) AS n FROM lakesmith.checks WHERE outcome = 'passed'"
    assert json.loads(cli("query", query, "--project", checked.root, "--json")[1]) == [{"n": 5}]
    # Rules that other hands break, and a rule that does not fit.
    checked.spark.sql("INSERT INTO lake.silver.cities VALUES ('Hamar', 9), ('Moss', 9)").collect()
    checked.spark.sql("UPDATE lake.bronze.orders SET city = NULL WHERE id = 1").collect()
    junit = tmp_path / "junit.xml"
    code, out, _ = cli("check", "--project", checked.root, "--json", "--junit", junit)
    assert code == 3
    orders, cities = json.loads(out)["tables"]
    assert [each["passed"] for each in orders["results"]] == [False, True]
    assert [(each["passed"], each["metric"], each["expected"]) for each in cities["results"]] == [
        (False, 0.5, "> 0.5")
    ]
    assert len(kept(checked)) == len(OF_BATCHES) + 2 * len(FIRST)
    suites = ET.parse(junit).getroot()
    assert [(each.get("name"), each.get("tests"), each.get("failures")) for each in suites] == [
        ("bronze.orders", "2", "1"),
        ("silver.cities", "1", "1"),
    ]
    (status,) = json.loads(cli("status", "silver.cities", "--project", checked.root, "--json")[1])["tables"]
    assert "1 of its 1 rules failed in the last lakesmith check" in status["notes"]
    failure = suites.find("testsuite[@name='silver.cities']/testcase/failure")
    assert failure is not None and failure.get("message") == "50% of rows pass; expected > 0.5"


def test_the_files_of_many_checks_are_put_together(
    checked: Harness, cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakesmith.spark.check.MOST_FILES", 1)
    monkeypatch.setattr("lakesmith.spark.check.KEPT_SNAPSHOTS", 1)
    for _ in range(3):
        assert cli("check", "--project", checked.root)[0] == 0
    assert kept(checked) == sorted([*OF_BATCHES, *FIRST * 3])
    head = checked.state("lakesmith.checks").head
    assert head is not None and head.count("total-data-files") == 2


def test_a_rule_that_does_not_fit_is_a_problem_and_an_unbuilt_table_is_none(
    checked: Harness, cli: Any
) -> None:
    checked.write(
        {
            "tables/bronze/orders.yaml": FILES["tables/bronze/orders.yaml"].replace(
                "RowCount > 0", 'Mean "price" > 0'
            ),
            "tables/bronze/new.yaml": FILES["tables/bronze/orders.yaml"].replace(
                "landing/orders", "landing/new"
            ),
        }
    )
    assert cli("check", "bronze.*", "--project", checked.root)[0] == 2
    checked.write(
        {
            "tables/bronze/orders.yaml": FILES["tables/bronze/orders.yaml"].replace(
                "RowCount > 0", 'RowCountMatch "bronze.order" = 1'
            )
        }
    )
    code, out, _ = cli("check", "bronze.*", "--project", checked.root)
    assert code == 3
    assert "bronze.new: not checked, it has no rows yet" in out
    assert "names the table 'bronze.order', which the project does not have" in out


def test_rows_are_not_compared_with_their_own_metrics(checked: Harness, cli: Any) -> None:
    """Though the newest batch changed no row, and measured none."""
    checked.write({"tables/silver/cities.yaml": "rules: |\n  Rules = [ RowCount > last() ]\n"})
    checked.take_rows("orders", 2, "5,Hamar")
    checked.spark.sql(
        "CALL lake.system.rewrite_data_files(table => 'bronze.orders', options => map('rewrite-all', 'true'))"
    ).collect()
    assert checked.must_run().published["silver.cities"].kind == "advance"
    code, out, _ = cli("check", "silver.cities", "--project", checked.root)
    assert (code, out.splitlines()[1].split()[0]) == (0, "passed"), out
