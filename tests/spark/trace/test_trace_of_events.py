"""What the trace of an event says, against what a run then does with the same event."""

import hashlib
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from harness import Harness, MakeShop

from lakesmith.api.frames import exact
from lakesmith.execute.lake import Lake
from lakesmith.execute.opened import Opened
from lakesmith.project.definitions import ADDED_COLUMNS, TableName
from lakesmith.spark.ask import frame_result
from lakesmith.spark.trace.copy import EventText
from lakesmith.spark.trace.follow import follow
from lakesmith.spark.trace.stops import Stop

pytestmark = pytest.mark.in_turn("file", of=3)

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
Rows = Counter[str]

ORDERS = "source: {files: {path: landing/orders, format: csv}}\ncolumns: {id: bigint}\n"

SALES = {
    "tables/bronze/products.yaml": """
        source: {files: {path: landing/products, format: json}}
        columns: {id: bigint, name: string, at: timestamp}
        """,
    "tables/bronze/sales.yaml": """
        source: {http: {path: /sales}}
        columns: {price: {type: "decimal(10,2)", required: true}, at: timestamp, product: bigint}
        on_bad_row: quarantine
        """,
    "tables/silver/products.sql": "SELECT id, name, at FROM bronze.products",
    "tables/silver/products.yaml": "key: [id]\nlatest_by: [at]\ndelete_when: name = 'gone'\n",
    "tables/silver/sales.sql": """
        SELECT s.product, p.name, s.price, s.at FROM bronze.sales s
        LEFT JOIN silver.products p ON p.id = s.product WHERE s.price <> 0
        """,
    "tables/silver/sales.yaml": 'rules: |\n  Rules = [ ColumnValues "price" > 0 ]\n',
    "tables/gold/minutes.sql": """
        SELECT name, window(at, '1 minute').start AS begin, count(*) AS n, sum(price) AS total
        FROM silver.sales GROUP BY name, window(at, '1 minute')
        """,
    "tables/gold/closed.sql": """
        SELECT window(at, '1 minute').end AS until, count(*) AS n FROM silver.sales
        GROUP BY window(at, '1 minute')
        """,
    "tables/gold/closed.yaml": "emit: {closed: until, watermark: silver.sales.at, delay: 1 minute}\n",
    "tables/gold/ranked.sql": """
        SELECT product, price, row_number() OVER (PARTITION BY product ORDER BY price, at) AS place
        FROM silver.sales
        """,
    "tables/gold/gate.sql": "SELECT count(*) AS n FROM silver.sales",
    "tables/gold/gate.yaml": 'rules: |\n  Rules = [ Completeness "n" > 0.9 ]\n',
}


def _example(make_shop: MakeShop, name: str) -> Harness:
    files = sorted(path for path in (EXAMPLES / name).rglob("*") if path.is_file())
    texts = {str(path.relative_to(EXAMPLES / name)): path for path in files}
    wanted = ("tables/", "schemas/", "landing/", "lakesmith.yaml")
    return make_shop({n: path.read_text() for n, path in texts.items() if n.startswith(wanted)})


def _traced(shop: Harness, table: str, text: str) -> dict[str, Stop]:
    project, graph = shop.load()
    definition = graph.node(TableName.parse(table)).definition
    event = EventText(definition.name, definition.sources[0].name, text)
    before = _files(shop.root)
    stops = follow(shop.handle, Opened(project, graph, Lake.open(project)), event, exact, 200)
    assert _files(shop.root) == before, "the trace wrote to the project"
    return {each.table: each for each in stops}


def _files(root: Path) -> dict[str, str]:
    """Every file of the project with its content, those of the lake included; but the logs and caches."""
    found = (path for path in sorted(root.rglob("*")) if path.is_file())
    own = [path for path in found if not {"cache", "logs"} & set(path.relative_to(root).parts)]
    # SQLite's log is folded into the file when a reader closes it: the content counts.
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in own
        if not path.name.endswith(("-shm", "-wal", ".db"))
    } | {"entries": repr(_entries(root))}


def _entries(root: Path) -> list[Any]:
    import sqlite3

    with sqlite3.connect(root / ".lakesmith/catalog.db") as connection:
        return sorted(connection.execute("SELECT * FROM iceberg_tables").fetchall())


def _rows(shop: Harness, table: str) -> Rows:
    """The table's rows as JSON texts."""
    if shop.lake().catalog.table(*table.split(".")) is None:
        return Counter()
    names = [name for name in shop.frame(table).columns if name not in ADDED_COLUMNS]
    with frame_result(shop.handle, shop.frame(table).select(*names), None) as found:
        return Counter(json.dumps(dict(zip(names, map(exact, row), strict=True))) for row in found.rows)


def _bad(shop: Harness, table: str) -> int:
    return len(shop.quarantine(table)) if _rows(shop, table) or table in _built(shop) else 0


def _built(shop: Harness) -> set[str]:
    return {str(name) for name in shop.lake().own_states()}


def _agrees(shop: Harness, table: str, text: str, file: str) -> dict[str, Stop]:
    """Follows the event, then lands it and runs: every table has to change as the trace says."""
    stops = _traced(shop, table, text)
    before = {name: (_rows(shop, name), _bad(shop, name)) for name in stops}
    shop.land(file, text)
    shop.run()
    for name, stop in stops.items():
        (rows, bad), now = before[name], _rows(shop, name)
        gone = Counter(json.dumps(each.before) for each in stop.changes if each.before is not None)
        new = Counter(json.dumps(each.after) for each in stop.changes if each.after is not None)
        assert not stop.more
        # A row that was removed and added alike is no change, and the trace shows none.
        assert (gone - new, new - gone) == (rows - now, now - rows), f"{name}: {stop}"
        assert stop.outcomes.get("quarantined", 0) == _bad(shop, name) - bad, f"{name}: {stop}"
        account = shop.record(name).account if name in _built(shop) else None
        if account is not None and stop.strategy in ("append", "upsert", "files"):
            assert stop.outcomes.get("superseded", 0) == account.superseded, name
            assert stop.outcomes.get("filtered", 0) == account.filtered, name
    return stops


@pytest.mark.in_turn
def test_customer_orders_change_as_the_trace_says(make_shop: MakeShop) -> None:
    shop = _example(make_shop, "customer-orders")
    for file in sorted((EXAMPLES / "customer-orders/arrivals").glob("*.csv"))[:2]:
        shop.land(f"landing/orders/{file.name}", file.read_bytes())
    shop.must_run()
    known = shop.rows("silver.customers", "customer_id", "name", "email", "city")[0]
    head = "customer_id,name,email,city,processed_time\n"
    line = f"{known[0]},{known[1]},{known[2]},"
    events = {
        "replaced": f"{head}{line}Oslo,2031-01-01 00:00:00\n",
        "superseded": f"{head}{line}Rome,2001-01-01 00:00:00\n",
        "inserted": f"{head}99,Zoe,zoe@example.com,Oslo,2024-05-31 23:59:59\n",
        "quarantined": f"{head}99,Zoe,no address,Oslo,2024-05-31 23:59:59\n",
    }
    for number, (outcome, text) in enumerate(events.items()):
        stops = _agrees(shop, "bronze.orders", text, f"landing/orders/event_{number}.csv")
        assert stops["silver.customers"].outcomes == {outcome: 1}, stops["silver.customers"]
        assert stops["bronze.orders"].outcomes == {"inserted": 1}
    bad = f"{head}x,Zoe,zoe@example.com,Oslo,2024-05-31 23:59:59\n"
    stops = _agrees(shop, "bronze.orders", bad, "landing/orders/bad.csv")
    assert stops["bronze.orders"].outcomes == {"quarantined": 1}
    assert "bigint" in stops["bronze.orders"].bad[0].reasons[0]
    assert stops["silver.customers"].outcomes == {"unchanged": 1}


@pytest.mark.in_turn
def test_a_superseded_row_is_shown_beside_the_newer_one(make_shop: MakeShop) -> None:
    shop = _example(make_shop, "customer-orders")
    head = "customer_id,name,email,city,processed_time\n"
    shop.take("landing/orders/a.csv", f"{head}1,Ann,ann@example.com,Oslo,2024-06-02 00:00:00\n")
    late = f"{head}1,Ann,ann@example.com,Rome,2024-06-01 00:00:00\n"
    stop = _traced(shop, "bronze.orders", late)["silver.customers"]
    assert [row["city"] for row in stop.arrived] == ["Rome"]
    assert [row["city"] for row in stop.current] == ["Oslo"]
    assert "newer by processed_time" in stop.why
    new = f"{head}1,Ann,ann@example.com,Rome,2024-06-03 00:00:00\n"
    (change,) = _traced(shop, "bronze.orders", new)["silver.customers"].changes
    assert change.kind == "replaced" and change.columns == ("city", "processed_time")


def test_invoices_change_as_the_trace_says(make_shop: MakeShop) -> None:
    shop = _example(make_shop, "invoices")
    shop.must_run()
    arrival = next((EXAMPLES / "invoices/arrivals").iterdir())
    head, *lines = arrival.read_text().splitlines(keepends=True)
    for number in range(0, len(lines), max(1, len(lines) // 2)):
        text = head + "".join(lines[number : number + 3])
        _agrees(shop, "bronze.invoices", text, f"landing/invoices/20240604-{number:04}.tsv")


def _sales(make_shop: MakeShop) -> Harness:
    shop = make_shop(SALES)
    shop.land("landing/products/1.json", '{"id": 1, "name": "tea", "at": "2024-06-01T00:00:00Z"}\n')
    shop.land(f"{_intake(shop)}/1.jsonl", _sale(10, 1, "08:00:10") + _sale(20, 2, "08:00:50"))
    return shop


def _intake(shop: Harness) -> str:
    """The folder of the events of bronze.sales."""
    return shop.load()[0].table(TableName("bronze", "sales")).sources[0].path


def _sale(price: float, product: int, time: str) -> str:
    return json.dumps({"price": price, "at": f"2024-06-03T{time}Z", "product": product}) + "\n"


@pytest.mark.in_turn
def test_sales_change_as_the_trace_says(make_shop: MakeShop) -> None:
    shop = _sales(make_shop)
    shop.must_run()
    folder = _intake(shop)
    chance = random.Random(7)
    events = [
        _sale(30, 1, "08:00:30"),
        _sale(5, 1, "08:05:00"),
        _sale(-1, 1, "08:05:00"),
        _sale(0, 1, "08:06:00"),
    ]
    events += [
        _sale(chance.randint(1, 9), chance.randint(1, 3), f"08:{chance.randint(0, 9):02}:30")
        for _ in range(1)
    ]
    for number, text in enumerate(events):
        stops = _agrees(
            shop,
            "bronze.sales",
            text,
            f"{folder}/20260101T00000000000{number}-0000000a-000000{number + 1}.jsonl",
        )
        if number == 0:
            minutes = stops["gold.minutes"].changes
            assert [each.kind for each in minutes] == ["replaced"] and minutes[0].columns == ("n", "total")
    renamed = '{"id": 1, "name": "mint", "at": "2024-06-02T00:00:00Z"}\n'
    stops = _agrees(shop, "bronze.products", renamed, "landing/products/2.json")
    assert stops["silver.products"].outcomes == {"replaced": 1}
    deleted = '{"id": 1, "name": "gone", "at": "2024-06-03T00:00:00Z"}\n'
    stops = _agrees(shop, "bronze.products", deleted, "landing/products/3.json")
    assert stops["silver.products"].outcomes == {"deleted": 1}


def test_changes_in_a_database_and_events_that_look_them_up_are_followed(make_shop: MakeShop) -> None:
    shop = _example(make_shop, "retail-sales")
    row = {"product_id": 1, "name": "tea", "category": "drinks", "_change": "insert"}
    more = {"_read_at": "2026-01-01T00:00:00+00:00", "_row_key": '{"product_id": 1}'}
    stops = _traced(shop, "bronze.products", json.dumps({**row, **more}))
    assert stops["bronze.products"].outcomes == stops["silver.products"].outcomes == {"inserted": 1}
    assert stops["silver.products"].changes[0].after["name"] == "tea"  # type: ignore[index]


@pytest.mark.in_turn
def test_tables_that_are_behind_do_not_get_into_the_trace(make_shop: MakeShop) -> None:
    shop = _sales(make_shop)
    shop.must_run("bronze.*", "silver.products")
    stops = _traced(shop, "bronze.sales", _sale(30, 1, "08:00:30"))
    assert stops["silver.sales"].outcomes == {"inserted": 1}
    assert [each.after for each in stops["silver.sales"].changes] == [
        {"product": 1, "name": "tea", "price": "30.00", "at": "2024-06-03T08:00:30Z"}
    ]


def test_a_project_that_never_ran_is_followed_too(make_shop: MakeShop) -> None:
    shop = _example(make_shop, "customer-orders")
    head = "customer_id,name,email,city,processed_time\n"
    stops = _traced(shop, "bronze.orders", f"{head}1,Ann,ann@example.com,Oslo,2024-06-02 00:00:00\n")
    assert {name: dict(stop.outcomes) for name, stop in stops.items()} == {
        "bronze.orders": {"inserted": 1},
        "silver.customer_history": {"inserted": 1},
        "silver.customers": {"inserted": 1},
        "gold.customers_by_city_month": {"inserted": 1},
    }


def test_a_python_table_with_modules_is_followed(make_shop: MakeShop) -> None:
    files = {
        "tables/bronze/orders.yaml": ORDERS,
        "tables/silver/doubled.py": """
            from helpers.math import twice

            def doubled(bronze__orders):
                return bronze__orders.select(twice("id").alias("id"))
            """,
        "tables/silver/doubled.yaml": "deterministic: true\n",
        "helpers/__init__.py": "",
        "helpers/math.py": """
            from pyspark.sql import functions as F

            def twice(name):
                return F.col(name) * 2
            """,
    }
    shop = make_shop(files)
    shop.take("landing/orders/1.csv", "id\n1\n")
    stops = _agrees(shop, "bronze.orders", "id\n21\n", "landing/orders/2.csv")
    assert [each.after for each in stops["silver.doubled"].changes] == [{"id": 42}]


def test_what_stops_a_batch_is_said_and_what_is_below_is_not_reached(make_shop: MakeShop) -> None:
    shop = make_shop(
        {
            "tables/bronze/orders.yaml": ORDERS,
            "tables/silver/few.sql": "SELECT id FROM bronze.orders",
            "tables/silver/few.yaml": "rules: |\n  Rules = [ RowCount < 2 ]\n",
            "tables/gold/all.sql": "SELECT count(*) AS n FROM silver.few",
        }
    )
    shop.take("landing/orders/1.csv", "id\n1\n")
    stops = _traced(shop, "bronze.orders", "id\n2\n")
    assert {name: list(stop.outcomes) for name, stop in stops.items()} == {
        "bronze.orders": ["inserted"],
        "silver.few": ["stopped"],
        "gold.all": ["not reached"],
    }
    assert "RowCount" in "".join(stops["silver.few"].problems[0].lines())
    unknown = _traced(shop, "bronze.orders", "id,more\n2,3\n")
    assert list(unknown["bronze.orders"].outcomes) == ["failed"]


def test_the_time_limit_ends_it_and_says_so(make_shop: MakeShop) -> None:
    shop = make_shop(SALES)
    project, graph = shop.load()
    event = EventText(TableName("bronze", "products"), "files", '{"id": 1}\n')
    stops = follow(shop.handle, Opened(project, graph, Lake.open(project)), event, exact, 0.0)
    assert {tuple(each.outcomes) for each in stops} == {("not reached",)}
    assert "0 seconds were not enough" in stops[0].why
