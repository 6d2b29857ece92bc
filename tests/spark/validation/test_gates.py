"""Table rules stop a batch before readers see it, whatever the strategy, and remember what they measured."""

import statistics as stats
from collections.abc import Sequence

import pytest
from harness import Harness, MakeShop, RunResult
from out_of_quarantine import out_of_quarantine, replay

import lakesmith
from lakesmith.plan.steps import Strategy

pytestmark = pytest.mark.in_turn("file", of=3)

ORDERS = """
    source: {{files: {{path: landing/orders/, format: csv}}}}
    columns: {{id: bigint, city: string, price: "decimal(9,2)"}}
    {more}
    rules: |
      Rules = [
        {rules} ]
"""


def orders(*rules: str, more: str = "") -> str:
    return ORDERS.format(rules=",\n        ".join(rules), more=more)


def shop_with(make_shop: MakeShop, *rules: str, more: str = "") -> Harness:
    return make_shop({"tables/bronze/orders.yaml": orders(*rules, more=more)})


def stopped(result: RunResult) -> list[tuple[str, str | None, str | None]]:
    assert result.code == 3
    return [(problem.code, problem.found, problem.expected) for problem in result.problems]


def test_a_rule_that_fails_publishes_nothing_until_the_input_is_right(make_shop: MakeShop) -> None:
    shop = shop_with(make_shop, "RowCount < 4", 'IsComplete "city"', 'Completeness "price" >= 0.5')
    shop.take_rows("orders", 1, "1,Oslo,5", "2,,7", "3,Bergen,")
    before = shop.head("bronze.orders").snapshot_id
    assert shop.record("bronze.orders").gates == {
        "RowCount < 4": ("passed", 2.0, "< 4"),
        'Completeness "price" >= 0.5': ("passed", 0.5, ">= 0.5"),
    }
    assert [row["reasons"] for row in shop.quarantine("bronze.orders")] == [['IsComplete "city"']]
    shop.land_rows("orders", 2, "4,Oslo,1", "5,Oslo,1")
    for _ in range(2):
        assert stopped(shop.run()) == [("LS805", "RowCount is 4", "< 4")]
        assert shop.head("bronze.orders").snapshot_id == before
    # The rule changes, and nothing was lost.
    shop.write({"tables/bronze/orders.yaml": orders("RowCount < 5")})
    shop.must_run()
    assert [row[0] for row in shop.rows("bronze.orders")] == [1, 3, 4, 5]


def test_a_rule_that_warns_publishes_with_a_note(make_shop: MakeShop) -> None:
    shop = shop_with(make_shop, 'IsUnique "id"', more="on_failed_rule: warn")
    result = shop.take_rows("orders", 1, "1,Oslo,5", "1,Bergen,7")
    record = result.published["bronze.orders"]
    assert record.gates == {'IsUnique "id"': ("failed", 0.0, "no value twice")}
    assert record.notes == ('the rule IsUnique "id" failed: 0% of rows are unique',)
    assert shop.count("bronze.orders") == 2


STRATEGIES: Sequence[tuple[str, dict[str, str]]] = (
    ("append", {"tables/silver/t.sql": "SELECT id, city FROM bronze.orders"}),
    (
        "upsert",
        {"tables/silver/t.sql": "SELECT id, city FROM bronze.orders", "tables/silver/t.yaml": "key: [id]"},
    ),
    ("sums", {"tables/silver/t.sql": "SELECT city, count(*) AS n FROM bronze.orders GROUP BY city"}),
    (
        "keys",
        {"tables/silver/t.sql": "SELECT city, count(DISTINCT id) AS n FROM bronze.orders GROUP BY city"},
    ),
    ("full", {"tables/silver/t.sql": "SELECT city, rank() OVER (ORDER BY city) AS n FROM bronze.orders"}),
)


@pytest.mark.parametrize(("strategy", "files"), STRATEGIES, ids=[name for name, _ in STRATEGIES])
def test_a_gate_holds_for_every_strategy(
    make_shop: MakeShop, strategy: str, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness import refresh_by_keys

    refresh_by_keys(monkeypatch)
    settings = files.get("tables/silver/t.yaml", "") + "\nrules: |\n  Rules = [ RowCount < 3 ]\n"
    shop = shop_with(make_shop, "RowCount > 0")
    shop.write({**files, "tables/silver/t.yaml": settings})
    shop.take_rows("orders", 1, "1,Oslo,5", "2,Bergen,7")
    before, rows = shop.head("silver.t").snapshot_id, shop.rows("silver.t")
    shop.land_rows("orders", 2, "3,Hamar,5")
    assert stopped(shop.run()) == [("LS805", "RowCount is 3", "< 3")]
    assert (shop.head("silver.t").snapshot_id, shop.rows("silver.t")) == (before, rows)
    shop.write({"tables/silver/t.yaml": settings.replace("< 3", "= 3")})
    result = shop.must_run()
    assert result.published["silver.t"].kind == strategy
    assert shop.count("silver.t") == 3


def test_last_takes_what_there_is_and_follows_a_rollback(make_shop: MakeShop) -> None:
    # No history counts as 0; two runs behind it, last(5) has two values.
    shop = shop_with(make_shop, "RowCount > avg(last(5))")
    shop.take_rows("orders", 1, "1,Oslo,5", "2,Oslo,5")
    first = shop.head("bronze.orders").snapshot_id
    shop.take_rows("orders", 2, "3,Oslo,5", "4,Oslo,5")
    assert shop.record("bronze.orders").metrics == {"RowCount": (4.0, 2.0)}
    shop.write({"tables/bronze/orders.yaml": orders("RowCount > sum(last(5))")})
    shop.land_rows("orders", 3, "5,Oslo,5", "6,Oslo,5")
    assert stopped(shop.run()) == [("LS805", "RowCount is 6", "> 6")]
    shop.land_rows("orders", 4, "7,Oslo,5")
    assert shop.must_run().published["bronze.orders"].metrics == {"RowCount": (7.0, 4.0, 2.0)}
    # Other tools roll back to the first batch: what was measured since is forgotten, and measured again.
    shop.spark.sql(f"CALL lake.system.rollback_to_snapshot('bronze.orders', {first})").collect()
    assert shop.must_run().published["bronze.orders"].metrics == {"RowCount": (7.0, 2.0)}


def test_a_gate_sees_the_columns_that_the_publish_leaves(make_shop: MakeShop) -> None:
    shop = shop_with(make_shop, "RowCount > 0")
    shop.define({"silver.t": "SELECT id, city, price FROM bronze.orders"})
    shop.write({"tables/silver/t.yaml": "rules: |\n  Rules = [ ColumnCount = 3 ]\n"})
    shop.take_rows("orders", 1, "1,Oslo,5")
    shop.define({"silver.t": "SELECT id, cast(price AS string) AS price FROM bronze.orders"})
    rules = 'ColumnCount = 2, ColumnDataType "price" = "Double" with threshold > 0, Mean "price" = 5'
    shop.write({"tables/silver/t.yaml": f'rules: |\n  Rules = [ {rules}, ColumnExists "city" ]\n'})
    assert stopped(shop.run(approve=["silver.t"])) == [("LS805", "it is not so", "the column")]
    assert shop.rows("silver.t") == [(1, "Oslo", 5)]
    shop.write({"tables/silver/t.yaml": f"rules: |\n  Rules = [ {rules} ]\n"})
    assert [gate.metric for gate in shop.must_run(approve=["silver.t"]).published["silver.t"].gates.values()]
    assert shop.rows("silver.t") == [(1, "5.00")]


def test_what_cannot_be_measured_fails_and_says_why(make_shop: MakeShop) -> None:
    not_finite = "CustomSql \"SELECT cast('Infinity' AS double)\" > 0"
    shop = shop_with(
        make_shop,
        *('Mean "price" > 1', not_finite, "RowCount > 1 / last()", "RowCount = 0 where \"city = 'x'\""),
    )
    shop.land_rows("orders", 1, "1,Oslo,")
    no_value = ": there is no value to measure"
    assert stopped(shop.run()) == [
        ("LS805", f'Mean "price"{no_value}', "at least one row with a value"),
        ("LS805", f"{not_finite.removesuffix(' > 0')}{no_value}", "at least one row with a value"),
        ("LS805", "RowCount is 1; its condition divides by zero", "> a value from earlier metrics"),
    ]


def test_a_filter_that_fails_on_a_value_is_named(make_shop: MakeShop) -> None:
    shop = shop_with(make_shop, 'RowCount > 0 where "cast(city AS int) > 1"')
    shop.land_rows("orders", 1, "1,Oslo,5")
    result = shop.run()
    assert [problem.code for problem in result.problems] == ["LS803"]
    assert result.problems[0].what.startswith("the `where` of the rule RowCount > 0 where")


def test_a_rule_that_cannot_be_computed_says_which_where_and_why(make_shop: MakeShop) -> None:
    failing = {
        'CustomSql "SELECT 1/0" = 1': ("LS802", "fails on a value", "Division by zero"),
        "CustomSql \"SELECT raise_error('no')\" = 1": ("LS802", "fails on a value", "no"),
        "CustomSql \"SELECT * FROM primary WHERE to_date(city, 'yyyy') > '2024-01-01'\"": (
            "LS802", "fails on a value", "Oslo"),
        "Mean \"price\" > 1 where \"to_date(city, 'yyyy') > '2024-01-01'\"": ("LS803", "where", "Oslo"),
        'Mean "price" > 1 where "price / (id - 1) > 1"': ("LS803", "where", "Division by zero"),
        'IsUnique "price" where "element_at(array(1), cast(id as int) + 5) = 1"': ("LS803", "where", "index"),
    }  # fmt: skip
    shop = shop_with(make_shop, "RowCount > 0")
    for number, (rule, (code, what, found)) in enumerate(failing.items()):
        shop.write({"tables/bronze/orders.yaml": orders("RowCount > 0", rule)})
        shop.land_rows("orders", number, "1,Oslo,5")
        result = shop.run()
        (problem,) = result.problems
        assert (result.code, problem.code, problem.rule) == (3, code, rule), rule
        assert rule in problem.what and what in problem.what and problem.hint, rule
        assert found in (problem.found or ""), rule
        assert str(problem.place) == "tables/bronze/orders.yaml:7"


def test_a_rule_that_does_not_fit_is_refused_at_its_place(make_shop: MakeShop) -> None:
    shop = make_shop(
        {
            "tables/bronze/orders.yaml": "source: {files: {path: landing/orders/, format: csv}}\n"
            'rules: |\n  Rules = [ Mean "prize" > 1,\n  RowCountMatch "bronze.order" = 1 ]\n'
        }
    )
    shop.land("landing/orders/1.csv", "id,price\n1,2\n")
    result = shop.run()
    assert (result.code, [problem.lines()[0] for problem in result.problems]) == (
        3,
        [
            "LS802 tables/bronze/orders.yaml:3: the rule Mean \"prize\" > 1 names the column 'prize', which "
            "the rows do not have"
        ],
    )


def test_a_gate_stops_rows_that_come_back_from_quarantine(make_shop: MakeShop) -> None:
    shop = shop_with(make_shop, 'ColumnValues "price" > 0', "RowCount < 3")
    shop.take_rows("orders", 1, "1,Oslo,5", "2,Oslo,-7", "3,Bergen,-8")
    before = shop.head("bronze.orders").snapshot_id
    shop.write({"tables/bronze/orders.yaml": orders('ColumnValues "price" > -10', "RowCount < 3")})
    result = out_of_quarantine(shop, "bronze.orders", Strategy.REPLAY)
    assert stopped(result) == [("LS805", "RowCount is 3", "< 3")]
    assert (shop.head("bronze.orders").snapshot_id, shop.count("bronze.orders")) == (before, 1)
    assert len(shop.quarantine("bronze.orders")) == 2
    shop.write({"tables/bronze/orders.yaml": orders('ColumnValues "price" > -10', "RowCount = 3")})
    assert replay(shop).published["bronze.orders"].gates == {"RowCount = 3": ("passed", 3.0, "= 3")}
    assert (shop.count("bronze.orders"), shop.quarantine("bronze.orders")) == (3, [])


def test_an_anomaly_stops_a_batch_once_there_is_a_history(make_shop: MakeShop) -> None:
    shop = shop_with(make_shop, 'DetectAnomalies "Mean" "price"')
    means = []
    for number, price in enumerate((10, 11, 9, 10), 1):
        shop.take_rows("orders", number, f"{number},Oslo,{price}")
        means.insert(0, stats.fmean((10, 11, 9, 10)[:number]))
    assert shop.record("bronze.orders").metrics == {'Mean "price"': tuple(map(pytest.approx, means))}
    away, mean = 3 * stats.pstdev(means), stats.fmean(means)
    # A price that brings the mean of five rows just beyond the bound, and one just within.
    beyond, within = (round(5 * (mean + away + by) - 40, 2) for by in (0.05, -0.05))
    shop.land_rows("orders", 5, f"5,Oslo,{beyond}")
    ((code, found, expected),) = stopped(shop.run())
    assert (code, found) == ("LS805", f'Mean "price" is {(40 + beyond) / 5:.6g}')
    assert expected is not None and expected.endswith("from 4 earlier metrics")
    assert shop.count("bronze.orders") == 4
    (shop.root / "landing/orders/5.csv").unlink()
    shop.take_rows("orders", 6, f"6,Oslo,{within}")
    assert shop.record("bronze.orders").gates['DetectAnomalies "Mean" "price"'][0] == "passed"


def test_metrics_go_back_with_a_rollback(make_shop: MakeShop) -> None:
    shop = shop_with(make_shop, "RowCount > max(last(5))", more="on_failed_rule: warn")
    for number in (1, 2, 3):
        shop.take_rows("orders", number, *(f"{number}{row},Oslo,5" for row in range(number)))
    assert shop.record("bronze.orders").metrics == {"RowCount": (6.0, 3.0, 1.0)}
    back = next(
        each.snapshot_id
        for each in shop.state("bronze.orders").snapshots.values()
        if each.record and each.record.batch == 1
    )
    with lakesmith.open(shop.root, spark=shop.spark) as lake:
        lake.rollback("bronze.orders", str(back)).apply()
    assert shop.record("bronze.orders").metrics == {"RowCount": (1.0,)}
    (shop.root / "landing/orders/3.csv").unlink()
    record = shop.must_run().published["bronze.orders"]
    # Had the 6 rows of the batch that was undone counted, the rule would have failed.
    assert (record.gates["RowCount > max(last(5))"], record.metrics) == (
        ("passed", 3.0, "> 1"),
        {"RowCount": (3.0, 1.0)},
    )


def test_two_rules_that_differ_in_case_alone_have_histories_of_their_own(make_shop: MakeShop) -> None:
    rules = [
        f'ColumnValues "city" in ["oslo"] with threshold >= 0.5{tag}'
        for tag in ("", ' with ignoreCase = "true"')
    ]
    shop = shop_with(make_shop, *rules, more="on_failed_rule: warn")
    shop.take_rows("orders", 1, "1,Oslo,5", "2,oslo,5", "3,Bergen,5", "4,Bergen,5")
    assert sorted(shop.record("bronze.orders").metrics.values()) == [(0.25,), (0.5,)]
    assert [each.outcome for each in shop.record("bronze.orders").gates.values()] == ["failed", "passed"]
