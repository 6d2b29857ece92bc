"""Table rules that read other tables, against plain Python over the same rows."""

from dataclasses import dataclass

import pytest
from harness import Harness, MakeShop, RunResult
from test_metrics import NOW

from lakesmith.errors import Place, Problem, QualityError
from lakesmith.quality.dqdl import parse_rules
from lakesmith.quality.verdict import measured
from lakesmith.spark.validation.measure import Measurements, Subject
from lakesmith.spark.validation.references import References

ORDERS = [("1", "a", "5"), ("2", "a", "7"), ("3", "b", "1"), ("4", "", "2"), ("5", "q", "3")]
CUSTOMERS = [("a", "Oslo"), ("b", "Bergen"), ("c", "")]
COPIES = [("1", "a", "5"), ("2", "a", "8"), ("3", "b", "1"), ("4", "", "2")]

RULES = {
    'RowCountMatch "bronze.customers" > 0': 5 / 3,
    'SchemaMatch "bronze.customers" >= 0': 0.0,
    'SchemaMatch "bronze.copies" > 0': 1.0,
    'ReferentialIntegrity "customer" "bronze.customers.name" > 0': sum(
        customer in dict(CUSTOMERS) for _, customer, _ in ORDERS
    )
    / len(ORDERS),
    'ReferentialIntegrity "id,customer" "bronze.copies.{id,customer}" > 0': 3 / 5,
    'AggregateMatch "sum(price)" "sum(bronze.copies.price)" > 0': 18 / 16,
    'AggregateMatch "avg(price)" "avg(price)" > 0': 1.0,
    'DatasetMatch "bronze.copies" "id" > 0': 3 / 5,
    'DatasetMatch "bronze.copies" "id->id" "customer->customer" > 0': 4 / 5,
    'CustomSql "SELECT count(*) FROM primary p JOIN bronze.copies c ON p.id = c.id" > 0': 4.0,
    'CustomSql "SELECT * FROM primary WHERE price > 2" with threshold > 0.1': 3 / 5,
}
OTHER_TYPES = {
    'ReferentialIntegrity "id" "bronze.customers.name" >= 0': 0.0,
    'ReferentialIntegrity "id" "silver.odd.text" >= 0': 2 / 5,
    'ReferentialIntegrity "customer" "silver.odd.number" >= 0': 0.0,
    'DatasetMatch "silver.odd" "id->text" "id->text" >= 0': 2 / 5,
    'AggregateMatch "sum(customer)" "sum(price)" != 0': None,
}
ODD = """SELECT array(name) AS list, int(ascii(name) - 96) AS number, string(ascii(name) - 95) AS text
         FROM bronze.customers WHERE name < 'c'"""
TABLE = "source: {{files: {{path: landing/{name}/, format: csv}}}}\ncolumns: {{{columns}}}\n"
QUERY = "SELECT id, customer, price FROM bronze.orders"
COLUMNS = "id: bigint, customer: string, price: bigint"
FILES = {
    "tables/bronze/copies.yaml": TABLE.format(name="copies", columns=COLUMNS),
    "tables/bronze/customers.yaml": TABLE.format(name="customers", columns="name: string, city: string"),
    "tables/bronze/orders.yaml": TABLE.format(name="orders", columns=COLUMNS),
    "tables/silver/people.sql": "SELECT name FROM bronze.customers",
    "tables/silver/odd.sql": ODD,
    "tables/silver/orders.sql": QUERY,
    "tables/silver/orders.yaml": "on_failed_rule: warn\nrules: |\n  Rules = [ "
    + ",\n    ".join([*RULES, *OTHER_TYPES])
    + " ]\n",
    "tables/silver/counted.sql": QUERY,
    "tables/silver/counted.yaml": 'rules: |\n  Rules = [ RowCountMatch "silver.people" > 0 ]\n',
    # Comes before silver.people by its name.
    "tables/silver/known.sql": f"{QUERY} WHERE customer IN ('a', 'b', 'd', 'e')",
    "tables/silver/known.yaml": "rules: |\n"
    '  Rules = [ ReferentialIntegrity "customer" "silver.people.name" = 1 ]\n',
}


@dataclass(frozen=True)
class Referring:
    """``early``: a run before there are rows in any table that is named; ``first``: one of all tables."""

    shop: Harness
    early: RunResult
    first: RunResult


@pytest.fixture(scope="module")
def lake(make_lake: MakeShop) -> Referring:
    shop = make_lake(FILES)
    shop.land_rows("copies", 1, *map(",".join, COPIES))
    shop.land_rows("customers", 1, *map(",".join, CUSTOMERS))
    shop.land_rows("orders", 1, *map(",".join, ORDERS))
    return Referring(shop, shop.run("bronze.orders", "silver.counted"), shop.must_run())


def problem_of(shop: Harness, text: str) -> Problem:
    """Why a rule of ``silver.orders`` cannot be measured, as a batch says: see the rule of ``counted``."""
    rows = shop.frame("silver.orders")
    subject = Subject(
        rows, tuple(rows.columns), len(ORDERS), References(shop.load()[0], rows, len(ORDERS), "referring")
    )
    (rule,) = parse_rules(f"Rules = [\n {text} ]", Place("t.yaml", 1))
    with pytest.raises(QualityError) as raised:
        Measurements(subject, NOW.timestamp()).take([(rule, tuple(measured(rule, NOW).values()))])
    (problem,) = raised.value.problems
    assert str(problem.place) == "t.yaml:2"
    return problem


def test_references_are_measured_as_python_does(lake: Referring) -> None:
    gates = lake.first.published["silver.orders"].gates
    assert {text: (gate.metric, gate.outcome) for text, gate in gates.items() if text not in OTHER_TYPES} == {
        text: (metric, "passed") for text, metric in RULES.items()
    }


def test_keys_of_other_types_are_compared_as_they_are_or_refused(lake: Referring) -> None:
    gates = lake.first.published["silver.orders"].gates
    assert {text: gates[text].metric for text in OTHER_TYPES} == OTHER_TYPES
    assert problem_of(lake.shop, 'ReferentialIntegrity "id" "silver.odd.list" = 1').code == "LS802"


def test_rows_and_what_they_refer_to_arrive_in_one_run(lake: Referring) -> None:
    """The table that a rule names is refreshed first: alone the rule would see it as it was."""
    shop, order = lake.shop, list(lake.first.published)
    assert order.index("silver.people") < order.index("silver.known")
    known = shop.count("silver.known")
    assert known == sum(customer in ("a", "b") for _, customer, _ in ORDERS)
    tables = ("bronze.customers", "bronze.orders", "silver.people", "silver.known")
    shop.land_rows("customers", 2, "d,Moss")
    shop.take_rows("orders", 2, "9,d,1", run=tables)
    assert shop.count("silver.known") == known + 1
    shop.land_rows("orders", 3, "10,e,1")
    assert [problem.code for problem in shop.run(*tables).problems] == ["LS805"]


def test_a_rule_that_names_a_table_without_rows_says_so(lake: Referring) -> None:
    (problem,) = lake.early.problems
    assert (lake.early.code, problem.code, str(problem.place)) == (3, "LS802", "tables/silver/counted.yaml:2")
    assert problem.hint == "refresh it first: lakesmith run silver.people"
    assert lake.first.published["silver.counted"].account.inserted == len(ORDERS)


def test_a_query_of_a_rule_writes_nothing(lake: Referring) -> None:
    before = lake.shop.head("bronze.copies").snapshot_id
    for query in (
        "DROP TABLE bronze.copies",
        "DELETE FROM bronze.copies",
        "SELECT 1 FROM primary; DROP TABLE bronze.copies",
        "WITH x AS (SELECT * FROM primary) INSERT INTO bronze.copies SELECT * FROM x",
        "SELECT reflect('java.lang.System', 'exit', 0) FROM primary",
        "SELECT count(*) FROM text.`/etc/hostname`",
    ):
        assert problem_of(lake.shop, f'CustomSql "{query}" > 0').code == "LS802", query
    assert lake.shop.head("bronze.copies").snapshot_id == before
    assert lake.shop.count("bronze.copies") == len(COPIES)


def test_a_column_that_the_other_table_lacks_is_said(lake: Referring) -> None:
    """DatasetMatch compares all columns if none is named."""
    problem = problem_of(lake.shop, 'DatasetMatch "silver.people" "customer->name" >= 0')
    assert (problem.code, "names the column 'id', which is not there" in problem.what) == ("LS802", True)


def test_what_a_rule_names_and_is_not_there_is_said(lake: Referring) -> None:
    wrong = {
        'RowCountMatch "bronze.copy" = 1': "names the table 'bronze.copy'",
        'ReferentialIntegrity "id" "bronze.copies.{idd}" = 1': "names the column 'idd'",
        'AggregateMatch "max(price)" "sum(price)" = 1': "cannot be read: 'max(price)'",
        'CustomSql "SELECT city FROM primary" = 1': "cannot be read: ",
        'CustomSql "SELECT id FROM primary" = 1': "cannot be read: its query gives 2 rows",
        'CustomSql "SELECT max(customer) FROM primary" = 1': "cannot be read: its query gives 'q'",
        'CustomSql "SELECT current_date()" = 1': "cannot be read: its query gives '2",
        'CustomSql "SELECT count(*) FROM silver.peple" = 1': "there is no table 'silver.peple'",
    }
    for text, said in wrong.items():
        problem = problem_of(lake.shop, text)
        assert (problem.code, said in problem.what) == ("LS802", True), text
