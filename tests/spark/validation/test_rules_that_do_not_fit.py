"""Rules that do not fit the rows: each is reported at its place, with the column and its type."""

import pytest
from harness import Harness, MakeShop, RunResult

from lakesmith.errors import Problem
from lakesmith.execute.events import TableFailed

ORDERS = """\
source:
  files: {path: landing/orders/, pattern: "*.csv", format: csv}
columns: {id: bigint, name: string, day: date, tags: string}
"""
QUERY = "SELECT id, name, day, split(tags, ';') AS tags FROM bronze.orders"
KINDS = {"sourced": ("bronze", ORDERS), "plain": ("silver", ""), "keyed": ("silver", "key: [id]\n")}
"""The layer of each kind of table, and its settings."""

COMPARED = 'ColumnValues "day" > 5'
PARTS = '(ColumnValues "id" > 0) and (ColumnValues "tags" = "2024-01-31")'
UNKNOWN = 'IsComplete "name" where "nme = 1"'
CAST = 'IsComplete "day" where "id > 0 and name > 5"'
CALLED = {
    "sourced": "to_date(name, 'yyyy') > '2024-01-01'",
    "plain": "to_timestamp(name, 'HH:mm') IS NOT NULL",
    "keyed": "element_at(tags, int(id) + 5) = 'a'",
}
CONDITIONS = {"name > 5": "casts", "to_date(name, 'yyyy') > '2024-01-01'": "calls"}


def calling(kind: str) -> str:
    return f'IsComplete "day" where "{CALLED[kind]}"'


TABLES = {
    **{f"unfit_{kind}": (kind, [COMPARED]) for kind in ("sourced", "keyed")},
    "unfit_plain": ("plain", [COMPARED, PARTS, UNKNOWN]),
    **{f"cast_{kind}": (kind, [CAST]) for kind in ("sourced", "keyed")},
    **{f"call_{kind}": (kind, ['IsComplete "tags" where "id > 0"', calling(kind)]) for kind in KINDS},
    "good": ("plain", ['ColumnValues "name" > 5']),
}
"""Kinds of tables, and their rules beside IsComplete."""


@pytest.fixture(scope="module")
def shop(make_lake: MakeShop) -> Harness:
    shop = make_lake({"tables/bronze/orders.yaml": ORDERS})
    for name, (kind, rules) in TABLES.items():
        layer, text = KINDS[kind]
        lines = "".join(f"    {rule},\n" for rule in ['IsComplete "id"', *rules]).removesuffix(",\n")
        shop.write({f"tables/{layer}/{name}.yaml": f"{text}rules: |\n  Rules = [\n{lines}\n  ]\n"})
        if kind != "sourced":
            shop.define({f"{layer}.{name}": QUERY})
    for condition, name in CONDITIONS.items():
        shop.define({f"silver.{name}": f"SELECT id, name FROM bronze.orders WHERE {condition}"})
        shop.write(
            {f"tables/silver/{name}.yaml": f'rules: |\n  Rules = [ IsComplete "name" where "{condition}" ]\n'}
        )
    shop.land("landing/orders/1.csv", "id,name,day,tags\n1,7,2024-01-31,a;b\n2,six,2024-02-01,c\n")
    return shop


@pytest.fixture(scope="module")
def run(shop: Harness) -> RunResult:
    return shop.run()


def problem_of(run: RunResult, shop: Harness, table: str, rule: str) -> Problem:
    """The problem of one rule of a table, whose other problems are those of its other rules."""
    layer = KINDS[TABLES[table][0]][0]
    (failed,) = (event for event in run.of(f"{layer}.{table}") if isinstance(event, TableFailed))
    assert failed.exit_code == 3
    unfit = TABLES[table][1][-1:] if table.startswith("call") else TABLES[table][1]
    assert [problem.rule for problem in failed.problems] == unfit
    problem = failed.problems[unfit.index(rule)]
    file = f"tables/{layer}/{table}.yaml"
    (line,) = (at for at, text in enumerate((shop.root / file).read_text().split("\n"), 1) if rule in text)
    assert str(problem.place) == f"{file}:{line}"
    return problem


@pytest.mark.parametrize("kind", KINDS)
def test_a_rule_on_a_column_of_a_type_it_cannot_compare(run: RunResult, shop: Harness, kind: str) -> None:
    problem = problem_of(run, shop, f"unfit_{kind}", COMPARED)
    assert problem.code == "LS802"
    assert problem.what == f"the rule {COMPARED} cannot be evaluated: it does not fit the type of day"
    assert problem.found == "day date"
    assert problem.expected == "a column of numbers: of a numeric type, boolean, timestamp, or string"


def test_of_a_rule_of_several_parts_the_column_that_does_not_fit_is_named(
    run: RunResult, shop: Harness
) -> None:
    problem = problem_of(run, shop, "unfit_plain", PARTS)
    assert problem.found == "tags array<string>"
    assert problem.expected == "a column of dates: date, timestamp, timestamp_ntz, or string"


def test_a_value_that_is_no_number_breaks_its_rule_and_not_the_run(run: RunResult, shop: Harness) -> None:
    assert "silver.good" in run.published
    assert shop.rows("silver.good", "name") == [("7",)]
    assert [row["reasons"] for row in shop.quarantine("silver.good")] == [['ColumnValues "name" > 5']]


def test_a_filter_that_names_no_column_of_the_rows(run: RunResult, shop: Harness) -> None:
    problem = problem_of(run, shop, "unfit_plain", UNKNOWN)
    assert problem.code == "LS802"
    assert "`where` of the rule IsComplete" in problem.what
    assert "`nme` cannot be resolved" in (problem.found or "")


@pytest.mark.parametrize("kind", ["sourced", "keyed"])
def test_a_filter_that_fails_on_a_value(run: RunResult, shop: Harness, kind: str) -> None:
    problem = problem_of(run, shop, f"cast_{kind}", CAST)
    assert problem.code == "LS803"
    assert 'IsComplete "day" where' in problem.what
    assert "'six'" in (problem.found or "")
    assert "try_cast" in (problem.hint or "")


@pytest.mark.parametrize(
    ("kind", "found"),
    [("sourced", "'7'"), ("plain", "'7'"), ("keyed", "index")],
    ids=["date, sourced", "time, plain", "element, keyed"],
)
def test_a_filter_is_named_where_spark_says_no_place(
    run: RunResult, shop: Harness, kind: str, found: str
) -> None:
    problem = problem_of(run, shop, f"call_{kind}", calling(kind))
    assert problem.code == "LS803"
    assert found in (problem.found or "")
    assert "try_" in (problem.hint or "")


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_query_that_fails_on_a_value_is_not_taken_for_a_rule(run: RunResult, condition: str) -> None:
    (failed,) = (
        event for event in run.of(f"silver.{CONDITIONS[condition]}") if isinstance(event, TableFailed)
    )
    assert (failed.exit_code, failed.problems[0].code) == (1, "LS601")
