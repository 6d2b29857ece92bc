"""Table rules stop a batch before readers see it, whatever the strategy, and remember what they measured."""

import statistics as stats
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from harness import Harness, MakeShop, RunResult, refresh_by_keys
from out_of_quarantine import out_of_quarantine, replay
from pyspark.sql import SparkSession
from test_metrics import NOW, nothing

import lakesmith
from lakesmith.catalog.record import Record
from lakesmith.errors import Place, QualityError
from lakesmith.execute.events import TableFailed
from lakesmith.plan.steps import Strategy
from lakesmith.quality.dqdl import parse_rules
from lakesmith.quality.verdict import measured
from lakesmith.spark.validation.measure import Measurements, Subject
from lakesmith.spark.validation.references import References

SOURCE = "source: {{files: {{path: landing/{name}/, format: csv}}}}\n"
COLUMNS = 'columns: {id: bigint, city: string, price: "decimal(9,2)"}\n'


def rules(*texts: str) -> str:
    return "rules: |\n  Rules = [\n    " + ",\n    ".join(texts) + " ]\n"


def bronze(name: str, *texts: str, more: str = "") -> dict[str, str]:
    return {f"tables/bronze/{name}.yaml": SOURCE.format(name=name) + COLUMNS + more + rules(*texts)}


STRATEGIES = {
    "append": "SELECT id, city, price FROM bronze.orders",
    "upsert": "SELECT id, city FROM bronze.orders",
    "sums": "SELECT city, count(*) AS n FROM bronze.orders GROUP BY city",
    "keys": "SELECT city, count(DISTINCT id) AS n FROM bronze.orders GROUP BY city",
    "full": "SELECT city, rank() OVER (ORDER BY city) AS n FROM bronze.orders",
}
ROWS = {"append": 4, "upsert": 4, "sums": 3, "keys": 3, "full": 4}
"""How many each of these tables has after the second batch."""
ORDERS = ["bronze.orders", *(f"silver.{name}" for name in STRATEGIES)]


def derived(condition: str, rows: Mapping[str, int]) -> dict[str, str]:
    return {
        f"tables/silver/{name}.yaml": "key: [id]\n" * (name == "upsert")
        + rules(f"RowCount {condition} {count}")
        for name, count in rows.items()
    }


@pytest.fixture(scope="module")
def shop(make_lake: MakeShop) -> Harness:
    """The project of all cases, each of which runs tables of its own."""
    return make_lake()


@dataclass(frozen=True)
class Moment:
    """A run, and the heads of ``bronze.orders`` and what is made of it when it had ended."""

    result: RunResult
    heads: dict[str, int]


def stopped(result: RunResult, table: str = "bronze.orders") -> list[tuple[str, str | None, str | None]]:
    (failed,) = (event for event in result.of(table) if isinstance(event, TableFailed))
    assert (result.code, failed.exit_code) == (3, 3)
    return [(problem.code, problem.found, problem.expected) for problem in failed.problems]


@pytest.fixture(scope="module")
def orders(shop: Harness) -> dict[str, Moment]:
    """``bronze.orders`` and what is made of it, by what has happened."""
    found: dict[str, Moment] = {}

    def run(name: str, *tables: str) -> None:
        result = shop.run(*tables)
        found[name] = Moment(result, {table: shop.head(table).snapshot_id for table in ORDERS})

    shop.write(bronze("orders", "RowCount < 4", 'IsComplete "city"', 'Completeness "price" >= 0.5'))
    shop.define({f"silver.{name}": query for name, query in STRATEGIES.items()})
    shop.write(derived("<", dict.fromkeys(STRATEGIES, 3)))
    with pytest.MonkeyPatch.context() as patch:
        refresh_by_keys(patch)
        shop.land_rows("orders", 1, "1,Oslo,5", "2,,7", "3,Bergen,")
        run("first", *ORDERS)
        shop.land_rows("orders", 2, "4,Hamar,5", "5,Hamar,5")
        run("stopped", "bronze.orders")
        run("stopped again", "bronze.orders")
        # The rule changes, and nothing was lost.
        shop.write(bronze("orders", "RowCount < 5"))
        run("derived stopped", *ORDERS)
        shop.write(derived("=", ROWS))
        run("passed", *ORDERS)
    return found


def test_a_rule_that_fails_publishes_nothing_until_the_input_is_right(
    shop: Harness, orders: dict[str, Moment]
) -> None:
    first = orders["first"].result.published["bronze.orders"]
    assert first.gates == {
        "RowCount < 4": ("passed", 2.0, "< 4"),
        'Completeness "price" >= 0.5': ("passed", 0.5, ">= 0.5"),
    }
    assert first.checks == {'IsComplete "city"': 1}
    for again in ("stopped", "stopped again"):
        assert stopped(orders[again].result) == [("LS805", "RowCount is 4", "< 4")]
        assert orders[again].heads == orders["first"].heads
    rows = shop.frame("bronze.orders", as_of=orders["passed"].heads["bronze.orders"]).select("id").collect()
    assert sorted(row.id for row in rows) == [1, 3, 4, 5]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_gate_holds_for_every_strategy(shop: Harness, orders: dict[str, Moment], strategy: str) -> None:
    table = f"silver.{strategy}"
    before, after, passed = (orders[name] for name in ("first", "derived stopped", "passed"))
    assert stopped(after.result, table) == [("LS805", f"RowCount is {ROWS[strategy]}", "< 3")]
    assert after.heads[table] == before.heads[table]
    assert shop.frame(table, as_of=after.heads[table]).count() == 2
    assert passed.result.published[table].kind == strategy
    assert shop.frame(table, as_of=passed.heads[table]).count() == ROWS[strategy]


def test_a_gate_sees_the_columns_that_the_publish_leaves(shop: Harness, orders: dict[str, Moment]) -> None:
    before = shop.rows("silver.append")
    assert before == [(1, "Oslo", 5), (3, "Bergen", None), (4, "Hamar", 5), (5, "Hamar", 5)]
    shop.define({"silver.append": "SELECT id, cast(price AS string) AS price FROM bronze.orders"})
    fit = 'ColumnCount = 2, ColumnDataType "price" = "Double" with threshold > 0, Mean "price" = 5'
    shop.write({"tables/silver/append.yaml": rules(fit, 'ColumnExists "city"')})
    result = shop.run("silver.append", approve=["silver.append"])
    assert stopped(result, "silver.append") == [("LS805", "it is not so", "the column")]
    assert shop.rows("silver.append") == before
    shop.write({"tables/silver/append.yaml": rules(fit)})
    gates = shop.must_run("silver.append", approve=["silver.append"]).published["silver.append"].gates
    assert [gate.metric for gate in gates.values()] == [2, 0.75, 5]
    assert shop.rows("silver.append") == [(1, "5.00"), (3, None), (4, "5.00"), (5, "5.00")]


def test_a_gate_stops_rows_that_come_back_from_quarantine(shop: Harness, orders: dict[str, Moment]) -> None:
    before = orders["passed"].heads["bronze.orders"]
    assert [row["reasons"] for row in shop.quarantine("bronze.orders")] == [['IsComplete "city"']]
    result = out_of_quarantine(shop, "bronze.orders", Strategy.REPLAY)
    assert stopped(result) == [("LS805", "RowCount is 5", "< 5")]
    assert (shop.head("bronze.orders").snapshot_id, shop.count("bronze.orders")) == (before, 4)
    assert len(shop.quarantine("bronze.orders")) == 1
    shop.write(bronze("orders", "RowCount = 5"))
    assert replay(shop).published["bronze.orders"].gates == {"RowCount = 5": ("passed", 5.0, "= 5")}
    assert (shop.count("bronze.orders"), shop.quarantine("bronze.orders")) == (5, [])


OSLO = 'ColumnValues "city" in ["oslo"] with threshold >= 0.5'


@pytest.fixture(scope="module")
def warned(shop: Harness) -> Record:
    """The first batch of ``bronze.warned``: 4 rows."""
    texts = ('IsUnique "id"', OSLO, f'{OSLO} with ignoreCase = "true"', "RowCount > max(last(5))")
    shop.write(bronze("warned", *texts, more="on_failed_rule: warn\n"))
    shop.land_rows("warned", 1, "1,Oslo,5", "1,oslo,5", "2,Bergen,5", "2,Bergen,5")
    return shop.must_run("bronze.warned").published["bronze.warned"]


def test_a_rule_that_warns_publishes_with_a_note(shop: Harness, warned: Record) -> None:
    assert warned.gates['IsUnique "id"'] == ("failed", 0.0, "no value twice")
    assert warned.notes == (
        'the rule IsUnique "id" failed: 0% of rows are unique',
        f"the rule {OSLO} failed: 25% of rows pass",
    )
    assert warned.account.inserted == 4


def test_two_rules_that_differ_in_case_alone_have_histories_of_their_own(warned: Record) -> None:
    found = {text: gate.outcome for text, gate in warned.gates.items() if text.startswith(OSLO)}
    assert list(found.values()) == ["failed", "passed"]
    assert sorted(metrics for name, metrics in warned.metrics.items() if "city" in name) == [(0.25,), (0.5,)]


def test_metrics_go_back_with_a_rollback(shop: Harness, warned: Record) -> None:
    def row_counts() -> tuple[float, ...]:
        return shop.record("bronze.warned").metrics["RowCount"]

    for number in (2, 3):
        rows = [f"{number}{row},Oslo,5" for row in range(number)]
        shop.take_rows("warned", number, *rows, run=("bronze.warned",))
    assert row_counts() == (9.0, 6.0, 4.0)
    back = next(
        each.snapshot_id
        for each in shop.state("bronze.warned").snapshots.values()
        if each.record and each.record.batch == 1
    )
    with lakesmith.open(shop.root, spark=shop.spark) as lake:
        lake.rollback("bronze.warned", str(back)).apply()
    assert row_counts() == (4.0,)
    (shop.root / "landing/warned/3.csv").unlink()
    record = shop.must_run("bronze.warned").published["bronze.warned"]
    # Had the 9 rows of the batch that was undone counted, the rule would have failed.
    assert record.gates["RowCount > max(last(5))"] == ("passed", 6.0, "> 4")
    assert record.metrics["RowCount"] == (6.0, 4.0)


ANOMALY = 'DetectAnomalies "Mean" "price"'


@pytest.fixture(scope="module")
def history(shop: Harness) -> dict[str, RunResult]:
    """Batches of ``bronze.history``, whose rules ask for earlier metrics, by what is special about them."""
    found: dict[str, RunResult] = {}

    def run(name: str, rule: str, *prices: float) -> None:
        shop.write(bronze("history", rule, ANOMALY))
        if prices:
            shop.land_rows("history", len(found), *(f"{len(found)},Oslo,{price}" for price in prices))
        found[name] = shop.run("bronze.history")

    # No history counts as 0; two runs behind it, last(5) has two values.
    run("first", "RowCount > avg(last(5))", 10, 11)
    first = shop.head("bronze.history").snapshot_id
    run("second", "RowCount > avg(last(5))", 9, 10)
    run("stopped", "RowCount > sum(last(5))", 10, 10)
    run("third", "RowCount > sum(last(5))", 11)
    run("fourth", "RowCount > 0", 10, 10)
    run("beyond", "RowCount > 0", last_price(by=0.05))
    (shop.root / "landing/history/5.csv").unlink()
    run("within", "RowCount > 0", last_price(by=-0.05))
    shop.spark.sql(f"CALL lake.system.rollback_to_snapshot('bronze.history', {first})").collect()
    run("rolled back", "RowCount > sum(last(5))")
    return found


MEANS = (91 / 9, 71 / 7, 10.0, 10.5)
"""Of the four batches that were published first, the newest first."""


def last_price(by: float) -> float:
    """A price that brings the mean of all ten rows so far beyond the bound of the usual."""
    return round(10 * (stats.fmean(MEANS) + 3 * stats.pstdev(MEANS) + by) - 91, 2)


def metrics(result: RunResult, name: str = "RowCount") -> tuple[float, ...]:
    return result.published["bronze.history"].metrics[name]


def test_last_takes_what_there_is_and_follows_a_rollback(history: dict[str, RunResult]) -> None:
    assert metrics(history["second"]) == (4.0, 2.0)
    assert stopped(history["stopped"], "bronze.history") == [("LS805", "RowCount is 6", "> 6")]
    assert metrics(history["third"]) == (7.0, 4.0, 2.0)
    # Other tools rolled back to the first batch: what was measured since is forgotten, and measured again.
    assert metrics(history["rolled back"]) == (10.0, 2.0)


def test_an_anomaly_stops_a_batch_once_there_is_a_history(history: dict[str, RunResult]) -> None:
    assert metrics(history["fourth"], 'Mean "price"') == tuple(map(pytest.approx, MEANS))
    # A price that brings the mean of ten rows just beyond the bound, and one just within.
    ((code, found, expected),) = stopped(history["beyond"], "bronze.history")
    assert (code, found) == ("LS805", f'Mean "price" is {(91 + last_price(by=0.05)) / 10:.6g}')
    assert expected is not None and expected.endswith("from 4 earlier metrics")
    within = history["within"].published["bronze.history"]
    assert (within.gates[ANOMALY].outcome, within.metrics["RowCount"]) == (
        "passed",
        (10.0, 9.0, 7.0, 4.0, 2.0),
    )


def test_what_cannot_be_measured_fails_and_says_why(shop: Harness) -> None:
    not_finite = "CustomSql \"SELECT cast('Infinity' AS double)\""
    texts = (
        'Mean "price" > 1',
        f"{not_finite} > 0",
        "RowCount > 1 / last()",
        "RowCount = 0 where \"city = 'x'\"",
    )
    shop.write(bronze("unmeasured", *texts))
    shop.land_rows("unmeasured", 1, "1,Oslo,")
    no_value = ": there is no value to measure"
    assert stopped(shop.run("bronze.unmeasured"), "bronze.unmeasured") == [
        ("LS805", f'Mean "price"{no_value}', "at least one row with a value"),
        ("LS805", f"{not_finite}{no_value}", "at least one row with a value"),
        ("LS805", "RowCount is 1; its condition divides by zero", "> a value from earlier metrics"),
    ]


def test_a_filter_that_fails_on_a_value_is_named(shop: Harness) -> None:
    shop.write(bronze("filtered", "RowCount > 0", 'RowCount > 0 where "cast(city AS int) > 1"'))
    shop.land_rows("filtered", 1, "1,Oslo,5")
    result = shop.run("bronze.filtered")
    assert (result.code, [problem.code for problem in result.problems]) == (3, ["LS803"])
    assert result.problems[0].what.startswith("the `where` of the rule RowCount > 0 where")
    assert str(result.problems[0].place) == "tables/bronze/filtered.yaml:6"


FAILING = {
    'CustomSql "SELECT 1/0" = 1': ("LS802", "fails on a value", "Division by zero"),
    "CustomSql \"SELECT raise_error('no')\" = 1": ("LS802", "fails on a value", "no"),
    "CustomSql \"SELECT * FROM primary WHERE to_date(city, 'yyyy') > '2024-01-01'\"": (
        "LS802", "fails on a value", "Oslo"),
    "Mean \"price\" > 1 where \"to_date(city, 'yyyy') > '2024-01-01'\"": ("LS803", "where", "Oslo"),
    'Mean "price" > 1 where "price / (id - 1) > 1"': ("LS803", "where", "Division by zero"),
    'IsUnique "price" where "element_at(array(1), cast(id as int) + 5) = 1"': ("LS803", "where", "index"),
}  # fmt: skip


def test_a_rule_that_cannot_be_computed_says_which_where_and_why(spark: SparkSession) -> None:
    """The test above has a batch that ends so."""
    rows = spark.sql("SELECT 1L AS id, 'Oslo' AS city, CAST(5 AS decimal(9,2)) AS price")
    subject = Subject(rows, tuple(rows.columns), 1, References(nothing(), rows, 1, "cannot_be_computed"))
    for text, (code, what, found) in FAILING.items():
        parsed = parse_rules(f"Rules = [\n  RowCount > 0,\n  {text} ]", Place("t.yaml", 5))
        with pytest.raises(QualityError) as raised:
            Measurements(subject, NOW.timestamp()).take(
                (rule, tuple(measured(rule, NOW).values())) for rule in parsed
            )
        (problem,) = raised.value.problems
        assert (problem.code, problem.rule) == (code, text)
        assert text in problem.what and what in problem.what and problem.hint, text
        assert found in (problem.found or ""), text
        assert str(problem.place) == "t.yaml:7"


def test_a_rule_that_does_not_fit_is_refused_at_its_place(shop: Harness) -> None:
    shop.write(
        {
            "tables/bronze/refused.yaml": SOURCE.format(name="refused")
            + 'rules: |\n  Rules = [ Mean "prize" > 1,\n  RowCountMatch "bronze.order" = 1 ]\n'
        }
    )
    shop.land("landing/refused/1.csv", "id,price\n1,2\n")
    result = shop.run("bronze.refused")
    assert (result.code, [problem.lines()[0] for problem in result.problems]) == (
        3,
        [
            "LS802 tables/bronze/refused.yaml:3: the rule Mean \"prize\" > 1 names the column 'prize', which "
            "the rows do not have"
        ],
    )
