"""A small project with a table of each kind, its orders, and what its tables must hold, in plain Python."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

ORDERS: Final = {
    "tables/bronze/orders.yaml": """
        source:
          files: {path: "${vars.landing}/orders/", pattern: "*.csv", on_changed_file: replace}
        columns: {order_id: bigint, customer: string, amount: bigint, version: bigint}
        """
}
LINES: Final = {"tables/silver/lines.sql": "SELECT order_id, amount * 2 AS twice FROM bronze.orders\n"}
NEWEST: Final = {
    "tables/silver/newest.yaml": """
        key: [order_id]
        latest_by: [version]
        delete_when: "amount = -1"
        query: SELECT order_id, customer, amount, version FROM bronze.orders
        """
}
RULES: Final = {
    "tables/silver/good.yaml": """
        rules: |
          Rules = [ ColumnValues "amount" > 0 ]
        query: SELECT order_id, customer, amount FROM bronze.orders
        """
}
VERSIONS: Final = {
    "tables/silver/versions.yaml": """
        key: [order_id]
        latest_by: [at]
        history: type2
        track: [amount]
        query: SELECT order_id, amount, timestamp_seconds(version) AS at FROM bronze.orders
        """
}
SHARES: Final = {
    "tables/gold/shares.sql": (
        "SELECT order_id, customer, count(*) OVER (PARTITION BY customer) AS orders FROM bronze.orders\n"
    )
}
BEST: Final = {
    "tables/gold/best.sql": "SELECT max_by(customer, amount) AS best, count(*) AS n FROM bronze.orders\n"
}
PYTHON: Final = {
    "tables/silver/halves.yaml": "deterministic: true\n",
    "tables/silver/halves.py": """
        from pyspark.sql import functions as F

        def halves(bronze__orders):
            return bronze__orders.select("order_id", (F.col("amount") % 2).alias("odd"))
        """,
}
SUMS: Final = {
    "tables/gold/sums.sql": "SELECT customer, count(*) AS orders, sum(amount) AS amount FROM bronze.orders"
    " GROUP BY customer\n"
}
SHOP: Final = ORDERS | LINES | NEWEST


class Order(NamedTuple):
    """A row of a landing file."""

    order_id: int
    customer: str
    amount: int
    version: int


Orders = tuple[Order, ...]


def csv(*orders: Order) -> str:
    lines = [",".join(map(str, order)) for order in orders]
    return "\n".join([",".join(Order._fields), *lines]) + "\n"


def json_lines(*orders: Order) -> str:
    return "".join(json.dumps(order._asdict()) + "\n" for order in orders)


FIRST: Final = (Order(1, "Ada", 5, 1), Order(2, "Bo", 7, 1), Order(3, "Ada", 11, 1))
SECOND: Final = (Order(2, "Bo", 8, 2), Order(4, "Cy", 13, 1), Order(3, "Ada", -1, 2))
LATE: Final = (Order(2, "Bo", 99, 0), Order(5, "Bo", 1, 1))


def lines(orders: Iterable[Order]) -> list[tuple[int, int]]:
    return sorted((order.order_id, 2 * order.amount) for order in orders)


def newest(orders: Iterable[Order]) -> list[Order]:
    found: dict[int, Order] = {}
    for order in orders:
        known = found.get(order.order_id)
        if known is None or order.version >= known.version:
            found[order.order_id] = order
    return sorted(order for order in found.values() if order.amount != -1)


def versions(orders: Iterable[Order]) -> list[tuple[int, int, int, int | None]]:
    """silver.versions: key, amount, from and to when it held, of orders whose versions differ."""
    keys: dict[int, dict[int, int]] = defaultdict(dict)
    for order in orders:
        keys[order.order_id][order.version] = order.amount
    rows = []
    for key, known in keys.items():
        past = sorted(known)
        for since, until in zip(past, [*past[1:], None], strict=True):
            rows.append((key, known[since], since, until))
    return sorted(rows, key=lambda row: (row[0], row[2]))


def shares(orders: Iterable[Order]) -> list[tuple[int, str, int]]:
    count = Counter(order.customer for order in orders)
    return sorted((order.order_id, order.customer, count[order.customer]) for order in orders)


def sums(orders: Iterable[Order]) -> list[tuple[str, int, int]]:
    groups: dict[str, list[int]] = defaultdict(list)
    for order in orders:
        groups[order.customer].append(order.amount)
    return sorted((customer, len(amounts), sum(amounts)) for customer, amounts in groups.items())


EXPECTED: Final[Mapping[str, Callable[[Iterable[Order]], list[Any]]]] = {
    "bronze.orders": sorted, "silver.lines": lines, "silver.newest": newest, "gold.shares": shares,
    "gold.sums": sums,
}  # fmt: skip
"""What the tables of the project hold of the orders that landed."""
