"""Table rules that read other tables, against plain Python over the same rows."""

import pytest
from harness import Harness, MakeShop

pytestmark = pytest.mark.in_turn("file", of=3)

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
ODD = """SELECT array(name) AS list, int(ascii(name) - 96) AS number, string(ascii(name) - 95) AS text
         FROM bronze.customers WHERE name < 'c'"""
TABLE = "source: {{files: {{path: landing/{name}/, format: csv}}}}\ncolumns: {{{columns}}}\n"


def csv(header: str, rows: list[tuple[str, ...]]) -> str:
    return "\n".join([header, *map(",".join, rows), ""])


def shop_with(make_shop: MakeShop, rules: str) -> Harness:
    columns = "id: bigint, customer: string, price: bigint"
    shop = make_shop(
        {
            "tables/bronze/copies.yaml": TABLE.format(name="copies", columns=columns),
            "tables/bronze/customers.yaml": TABLE.format(
                name="customers", columns="name: string, city: string"
            ),
            "tables/silver/orders.sql": "SELECT id, customer, price FROM bronze.orders",
            "tables/silver/orders.yaml": f"rules: |\n  {rules}\n",
            "tables/bronze/orders.yaml": TABLE.format(name="orders", columns=columns),
        }
    )
    shop.land("landing/copies/1.csv", csv("id,customer,price", COPIES))
    shop.land("landing/customers/1.csv", csv("name,city", CUSTOMERS))
    (shop.root / "landing/orders").mkdir(parents=True)
    shop.must_run()
    return shop


def test_references_are_measured_as_python_does(make_shop: MakeShop) -> None:
    shop = shop_with(make_shop, "Rules = [ " + ",\n    ".join(RULES) + " ]")
    shop.land("landing/orders/1.csv", csv("id,customer,price", ORDERS))
    shop.must_run()
    assert {text: gate.metric for text, gate in shop.record("silver.orders").gates.items()} == RULES


def test_rows_and_what_they_refer_to_arrive_in_one_run(make_shop: MakeShop) -> None:
    """The table that a rule names is refreshed first: alone the rule would see it as it was."""
    rule = 'Rules = [ ReferentialIntegrity "customer" "silver.people.name" = 1 ]'
    shop = shop_with(make_shop, rule)
    shop.define({"silver.people": "SELECT name FROM bronze.customers"})
    known = ORDERS[:3]
    shop.land("landing/orders/1.csv", csv("id,customer,price", known))
    assert set(shop.must_run().published) == {"bronze.orders", "silver.people", "silver.orders"}
    shop.land("landing/customers/2.csv", csv("name,city", [("d", "Moss")]))
    shop.land("landing/orders/2.csv", csv("id,customer,price", [("9", "d", "1")]))
    shop.must_run()
    assert shop.count("silver.orders") == len(known) + 1
    shop.land("landing/orders/3.csv", csv("id,customer,price", [("10", "e", "1")]))
    assert [problem.code for problem in shop.run().problems] == ["LS805"]


def test_a_rule_that_names_a_table_without_rows_says_so(make_shop: MakeShop) -> None:
    shop = shop_with(make_shop, 'Rules = [ RowCountMatch "silver.people" > 0 ]')
    shop.define({"silver.people": "SELECT name FROM bronze.customers"})
    shop.land("landing/orders/1.csv", csv("id,customer,price", ORDERS))
    result = shop.run("bronze.orders", "silver.orders")
    assert [(problem.code, problem.hint) for problem in result.problems] == [
        ("LS802", "refresh it first: lakesmith run silver.people")
    ]
    shop.must_run()
    assert shop.count("silver.orders") == len(ORDERS)


def test_keys_of_other_types_are_compared_as_they_are_or_refused(make_shop: MakeShop) -> None:
    shop = shop_with(make_shop, "Rules = [ RowCount > 0 ]")
    shop.land("landing/orders/1.csv", csv("id,customer,price", ORDERS))
    shop.define({"silver.odd": ODD})
    shop.must_run()
    measured = {
        'ReferentialIntegrity "id" "bronze.customers.name" >= 0': 0.0,
        'ReferentialIntegrity "id" "silver.odd.text" >= 0': 2 / 5,
        'ReferentialIntegrity "customer" "silver.odd.number" >= 0': 0.0,
        'DatasetMatch "silver.odd" "id->text" "id->text" >= 0': 2 / 5,
        'AggregateMatch "sum(customer)" "sum(price)" != 0': None,
    }
    for rule, expected in measured.items():
        shop.write({"tables/silver/orders.yaml": f"on_failed_rule: warn\nrules: |\n  Rules = [ {rule} ]\n"})
        shop.must_run(full=["silver.orders"])
        assert shop.record("silver.orders").gates[rule][1] == expected, rule
    unfit = 'ReferentialIntegrity "id" "silver.odd.list" = 1'
    shop.write({"tables/silver/orders.yaml": f"rules: |\n  Rules = [ {unfit} ]\n"})
    assert [problem.code for problem in shop.run(full=["silver.orders"]).problems] == ["LS802"]


def test_a_query_of_a_rule_writes_nothing(make_shop: MakeShop) -> None:
    shop = shop_with(make_shop, "Rules = [ RowCount > 0 ]")
    shop.land("landing/orders/1.csv", csv("id,customer,price", ORDERS))
    before = shop.head("bronze.copies").snapshot_id
    for query in (
        "DROP TABLE bronze.copies",
        "DELETE FROM bronze.copies",
        "SELECT 1 FROM primary; DROP TABLE bronze.copies",
        "WITH x AS (SELECT * FROM primary) INSERT INTO bronze.copies SELECT * FROM x",
        "SELECT reflect('java.lang.System', 'exit', 0) FROM primary",
        "SELECT count(*) FROM text.`/etc/hostname`",
    ):
        shop.write({"tables/silver/orders.yaml": f'rules: |\n  Rules = [ CustomSql "{query}" > 0 ]\n'})
        result = shop.run()
        assert (result.code, [problem.code for problem in result.problems]) == (3, ["LS802"]), query
    assert shop.head("bronze.copies").snapshot_id == before and shop.count("bronze.copies") == len(COPIES)


def test_a_column_that_the_other_table_lacks_is_said(make_shop: MakeShop) -> None:
    """DatasetMatch compares all columns if none is named."""
    shop = shop_with(make_shop, 'Rules = [ DatasetMatch "silver.people" "customer->name" >= 0 ]')
    shop.define({"silver.people": "SELECT name FROM bronze.customers"})
    shop.land("landing/orders/1.csv", csv("id,customer,price", ORDERS))
    (problem,) = shop.run().problems
    assert (problem.code, "names the column 'id', which is not there" in problem.what) == ("LS802", True)


def test_what_a_rule_names_and_is_not_there_is_said(make_shop: MakeShop) -> None:
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
    shop = shop_with(make_shop, "Rules = [ RowCount > 0 ]")
    shop.land("landing/orders/1.csv", csv("id,customer,price", ORDERS))
    for rule, said in wrong.items():
        shop.write({"tables/silver/orders.yaml": f"rules: |\n  Rules = [ {rule} ]\n"})
        result = shop.run()
        assert (result.code, [problem.code for problem in result.problems]) == (3, ["LS802"]), rule
        assert said in result.problems[0].what
        assert result.problems[0].place is not None and result.problems[0].place.line == 2
