"""A ``delete_when`` that fits no row: reported at its place in the project, and nothing is written."""

from dataclasses import dataclass, replace

import pytest
from harness import Harness, MakeShop, RunResult

from lakesmith.errors import Problem, QualityError
from lakesmith.execute.events import TableFailed
from lakesmith.project.definitions import TableName
from lakesmith.spark.validation.rules import delete_condition

ORDERS = """\
source:
  files: {path: landing/orders/, pattern: "*.csv", format: csv}
columns: {id: bigint, day: date, op: string}
"""
QUERY = "SELECT id, day, op FROM bronze.orders"
FAILING = {
    "second": "id > 0 and op > 5",
    "first": "id > 0 and op > 5",
    "called": "id > 0 and to_date(op, 'yyyy') > '2024-01-01'",
}


def declared(delete_when: str) -> str:
    return f"key: [id]\nlatest_by: [day]\ndelete_when: {delete_when}\n"


@dataclass(frozen=True)
class Deleting:
    """A run of all tables, of which silver.second had taken rows before, and one after their conditions were
    corrected. ``kept``: what the tables of ``FAILING`` held in between."""

    shop: Harness
    run: RunResult
    kept: dict[str, list[tuple[object, ...]]]

    def failed(self, table: str) -> TableFailed:
        (failed,) = (event for event in self.run.of(table) if isinstance(event, TableFailed))
        return failed

    def problem(self, table: str) -> Problem:
        """The one problem of a table, which an error of quality stopped."""
        failed = self.failed(table)
        assert (failed.exit_code, len(failed.problems)) == (3, 1), failed.problems
        return failed.problems[0]


@pytest.fixture(scope="module")
def deleting(make_lake: MakeShop) -> Deleting:
    tables = [f"silver.{name}" for name in FAILING]
    shop = make_lake(
        {
            "tables/bronze/orders.yaml": ORDERS,
            "tables/gold/_defaults.yaml": "delete_when: op\n",
            "tables/gold/orders.yaml": f"key: [id]\nquery: {QUERY}\n",
            "tables/silver/without.yaml": declared('"NULL"'),
            "tables/silver/query.yaml": declared("op > 5"),
            **{f"tables/silver/{name}.yaml": declared(text) for name, text in FAILING.items()},
            **{f"tables/silver/{name}.sql": QUERY for name in ("without", *FAILING)},
            "tables/silver/called.sql": f"{QUERY} WHERE id = 3",
            "tables/silver/query.sql": f"{QUERY} WHERE op > 5",
        }
    )
    shop.take("landing/orders/1.csv", "id,day,op\n1,2024-01-31,3\n2,2024-01-31,7\n", "+silver.second")
    shop.land("landing/orders/2.csv", "id,day,op\n3,2024-01-31,six\n")
    run = shop.run()
    kept = {table: shop.rows(table, "id", "op") for table in tables}
    shop.write(
        {f"tables/silver/{name}.yaml": declared("id > 0 and try_cast(op AS int) > 5") for name in FAILING}
    )
    shop.must_run(*tables)
    return Deleting(shop, run, kept)


@pytest.mark.parametrize(
    ("delete_when", "what", "found"),
    [
        ("day > 5", "cannot be evaluated", "DATATYPE_MISMATCH"),
        ("opp = 'D'", "cannot be evaluated", "`opp` cannot be resolved"),
        ("explode(array(true))", "cannot be evaluated", "UNSUPPORTED_GENERATOR"),
        ("op", "is no condition", "a value of type string"),
        ("id + 1", "is no condition", "a value of type bigint"),
    ],
)
def test_it_is_found_before_a_row_is_written(
    deleting: Deleting, delete_when: str, what: str, found: str
) -> None:
    """By the plan of the rows. In a batch: the test of a folder's, below."""
    declared = deleting.shop.load()[0].table(TableName("silver", "without"))
    rows = deleting.shop.frame("bronze.orders").select("id", "day", "op")
    with pytest.raises(QualityError) as raised:
        delete_condition(rows, rows.columns, replace(declared, delete_when=delete_when))
    (problem,) = raised.value.problems
    assert problem.code == "LS804"
    assert problem.what == f"the delete_when of silver.without, {delete_when}, {what}"
    assert str(problem.place) == "tables/silver/without.yaml:3"
    assert problem.expected == "a condition over the query's columns: id, day, op"
    assert found in (problem.found or "")


@pytest.mark.parametrize(
    ("batch", "delete_when"),
    [
        ("first", "id > 0 and op > 5"),
        ("second", "id > 0 and op > 5"),
        ("first", "id > 0 and to_date(op, 'yyyy') > '2024-01-01'"),
    ],
)
def test_it_fails_on_a_value_of_a_rebuild_or_of_new_rows(
    deleting: Deleting, batch: str, delete_when: str
) -> None:
    name = batch if FAILING[batch] == delete_when else "called"
    problem = deleting.problem(f"silver.{name}")
    assert problem.code == "LS804"
    assert problem.what == f"the delete_when of silver.{name}, {delete_when}, fails on a value"
    assert str(problem.place) == f"tables/silver/{name}.yaml:3"
    assert "'six'" in (problem.found or "")
    assert "try_cast" in (problem.hint or "")
    assert deleting.kept[f"silver.{name}"] == ([] if batch == "first" else [(1, "3")])
    # Once it is corrected:
    assert deleting.shop.rows(f"silver.{name}", "id", "op") == [
        *([] if name == "called" else [(1, "3")]),
        (3, "six"),
    ]


def test_it_is_told_where_the_folder_declares_it(deleting: Deleting) -> None:
    problem = deleting.problem("gold.orders")
    assert (problem.code, str(problem.place)) == ("LS804", "tables/gold/_defaults.yaml:1")
    assert problem.what == "the delete_when of gold.orders, op, is no condition"
    assert not deleting.shop.state("gold.orders").snapshots


def test_a_condition_without_a_value_deletes_nothing(deleting: Deleting) -> None:
    assert deleting.shop.rows("silver.without", "id", "op") == [(1, "3"), (2, "7"), (3, "six")]


def test_a_query_that_fails_on_a_value_is_not_taken_for_it(deleting: Deleting) -> None:
    failed = deleting.failed("silver.query")
    assert (failed.exit_code, failed.problems[0].code) == (1, "LS601")
