"""A project to be killed, its landing files, and what its tables must hold, in plain Python.

The oracle knows the definitions in ``FILES`` and the landing files, and nothing of lakesmith.
"""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

FILES = {
    # Queries are not compiled, which takes a third of the time on a few rows: what is killed here is the
    # same.
    "lakesmith.yaml": "name: shop\ntargets: {local: {spark: {spark.sql.codegen.wholeStage: false,"
    " spark.sql.codegen.factoryMode: NO_CODEGEN}}}\n",
    "tables/bronze/orders.yaml": (
        "source:\n"
        '  files: {path: landing/orders/, pattern: "*.csv", format: csv, on_changed_file: replace}\n'
        "columns: {order_id: bigint, customer: string, amount: bigint, op: string, changed_at: timestamp}\n"
    ),
    "tables/silver/orders.yaml": (
        "key: [order_id]\n"
        "latest_by: [changed_at]\n"
        "delete_when: \"op = 'D'\"\n"
        'rules: |\n  Rules = [ IsComplete "customer", ColumnValues "amount" > 0 ]\n'
        "query: SELECT order_id, customer, amount, op, changed_at FROM bronze.orders\n"
    ),
    "tables/silver/order_log.yaml": (
        'rules: |\n  Rules = [ ColumnValues "amount" < 900 ]\n'
        "query: SELECT order_id, upper(customer) AS customer, amount FROM bronze.orders WHERE op <> 'D'\n"
    ),
    "tables/gold/by_customer.sql": (
        "SELECT customer, count(*) AS orders, sum(amount) AS amount FROM silver.orders GROUP BY customer\n"
    ),
}

VERSIONS = {
    "tables/silver/order_versions.yaml": (
        "key: [order_id]\n"
        "latest_by: [changed_at]\n"
        "delete_when: \"op = 'D'\"\n"
        "history: type2\n"
        "track: [customer, amount]\n"
        "query: SELECT order_id, customer, amount, op, changed_at FROM bronze.orders WHERE order_id < 20\n"
    )
}
"""A table more, for those tests that add it to ``FILES``."""

HEADER = "order_id,customer,amount,op,changed_at\n"
START = datetime(2024, 6, 3, tzinfo=UTC)
CUSTOMERS = ("Ada", "Böhm", "Cruz", "Dee", "Eve")
ORDER_IDS = 60
ROWS = 40


class Order(NamedTuple):
    """A row of a file that parses. ``batch`` took it, where that is known; ``position`` counts from 1."""

    order_id: int | None
    customer: str | None
    amount: int | None
    op: str
    changed_at: datetime
    batch: int
    file: str
    position: int

    @property
    def arrival(self) -> tuple[int, str, int]:
        """What settles a tie of ``changed_at``."""
        return self.batch, self.file, self.position


@dataclass
class Shop:
    """The project in ``root`` and everything that ever landed in it: path to texts, the newest last."""

    root: Path
    seed: int = 1
    files: Mapping[str, str] = field(default_factory=lambda: FILES)
    landed: dict[str, list[str]] = field(default_factory=dict)
    is_grown: bool = False
    """Whether a test has seen all of its tables published."""

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._lines: list[str] = []
        for name, text in self.files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (self.root / "landing/orders").mkdir(parents=True, exist_ok=True)

    def land(self) -> str:
        """Lands a file with bad rows, deletes, late versions and rows of the last file. Returns its path."""
        again = self._random.sample(self._lines, min(3, len(self._lines)))
        lines = [self._line() for _ in range(ROWS)]
        # The same version of the same order by another customer: the one that arrives later wins.
        ties = [line.replace(line.split(",")[1], "Tie", 1) for line in again if line.split(",")[1]]
        self._lines = [line for line in lines if line.split(",")[0] and "oops" not in line]
        return self._write(f"landing/orders/{len(self.landed):05}.csv", [*lines, *again, *ties])

    def replace(self) -> str:
        """Changes a file in place: same name, other content. Its rows are all good, and tie with none.

        It is not the newest, which no run may have read.
        """
        path = self._random.choice(list(self.landed)[:-1] or list(self.landed))
        return self._write(path, [self._line(always_good=True) for _ in range(ROWS // 2)])

    def text_of(self, path: str, size: int) -> str:
        """The content a file had when it had ``size`` bytes."""
        (text,) = [text for text in self.landed[path] if len(text.encode()) == size]
        return text

    def newest(self) -> dict[str, str]:
        return {path: texts[-1] for path, texts in self.landed.items()}

    def _write(self, path: str, lines: list[str]) -> str:
        text = HEADER + "\n".join(lines) + "\n"
        while any(len(text.encode()) == len(other.encode()) for other in self.landed.get(path, [])):
            text += "\n"
        self.landed.setdefault(path, []).append(text)
        # Under a name that is not looked at, then renamed: a run never meets half of a file.
        hidden = self.root / "landing/.next"
        hidden.write_text(text)
        hidden.rename(self.root / path)
        return path

    def _line(self, always_good: bool = False) -> str:
        chance = 1.0 if always_good else self._random.random()
        order_id: object = self._random.randrange(ORDER_IDS)
        customer, amount = self._random.choice(CUSTOMERS), str(self._random.randrange(1, 1000))
        if chance < 0.05:
            amount = "oops"
        elif chance < 0.10:
            amount = "0"
        elif chance < 0.14:
            customer = ""
        elif chance < 0.17:
            order_id = ""
        op = self._random.choices("IUD", (5, 4, 2))[0]
        changed_at = START + timedelta(milliseconds=self._random.randrange(10**9))
        return f"{order_id},{customer},{amount},{op},{changed_at:%Y-%m-%d %H:%M:%S.%f}"


class Parsed(NamedTuple):
    """What a sourced table makes of files: good rows, and file and position of the bad ones."""

    good: list[Order]
    bad: list[tuple[str, int]]


def bronze(files: dict[str, str]) -> Parsed:
    """The rows of ``files``. The batch is not known: 0."""
    parsed = Parsed([], [])
    for path, text in files.items():
        rows = [line for line in text.splitlines()[1:] if line]
        for position, line in enumerate(rows, 1):
            order_id, customer, amount, op, changed_at = line.split(",")
            if amount == "oops":
                parsed.bad.append((path, position))
                continue
            values = (int(order_id) if order_id else None, customer or None, int(amount), op)
            moment = datetime.fromisoformat(changed_at).replace(tzinfo=UTC)
            parsed.good.append(Order(*values, moment, 0, path, position))
    return parsed


class Silver(NamedTuple):
    """What a derived table makes of rows. ``gone`` maps deleted keys to the version that deleted them."""

    rows: Counter[tuple[object, ...]]
    bad: Counter[tuple[object, ...]]
    gone: dict[int, datetime]


def silver_orders(orders: Iterable[Order]) -> Silver:
    """The newest good version of each order, unless it deletes it; rules are never asked of deletes."""
    newest: dict[int, Order] = {}
    bad: Counter[tuple[object, ...]] = Counter()
    for order in orders:
        breaks_rule = order.op != "D" and (order.customer is None or not order.amount)
        if order.order_id is None or breaks_rule:
            bad[order[:5]] += 1
            continue
        known = newest.get(order.order_id)
        if known is None or (order.changed_at, order.arrival) >= (known.changed_at, known.arrival):
            newest[order.order_id] = order
    rows = Counter(order[:5] for order in newest.values() if order.op != "D")
    gone = {key: order.changed_at for key, order in newest.items() if order.op == "D"}
    return Silver(rows, bad, gone)


def silver_order_versions(orders: Iterable[Order]) -> Silver:
    """All versions of the first orders, as rows with the time each held."""
    keys: dict[int, dict[datetime, Order]] = {}
    for order in sorted(orders, key=lambda order: order.arrival):
        if order.order_id is not None and order.order_id < 20:
            keys.setdefault(order.order_id, {})[order.changed_at] = order
    rows: Counter[tuple[object, ...]] = Counter()
    gone: dict[int, datetime] = {}
    for key, versions in keys.items():
        past = [versions[at] for at in sorted(versions)]
        rows.update(_rows_of(past))
        if past[-1].op == "D":
            gone[key] = past[-1].changed_at
    return Silver(rows, Counter(), gone)


def _rows_of(past: list[Order]) -> Iterator[tuple[object, ...]]:
    since: datetime | None = None
    for order, following in zip(past, [*past[1:], None], strict=True):
        if order.op == "D":
            since = None
            continue
        since = since or order.changed_at
        goes_on = following is not None and following.op != "D" and following[1:3] == order[1:3]
        if not goes_on:
            yield (*order[:5], since, following.changed_at if following else None, following is None)
            since = None


def silver_order_log(orders: Iterable[Order]) -> Silver:
    """Every row that is no delete; those of 900 and more are bad."""
    rows: Counter[tuple[object, ...]] = Counter()
    bad: Counter[tuple[object, ...]] = Counter()
    for order in orders:
        if order.op == "D":
            continue
        values = (order.order_id, order.customer.upper() if order.customer else None, order.amount)
        good = order.amount is not None and order.amount < 900
        (rows if good else bad)[values] += 1
    return Silver(rows, bad, {})


def gold_by_customer(orders: Iterable[tuple[object, ...]]) -> Counter[tuple[object, ...]]:
    counts: Counter[object] = Counter()
    amounts: Counter[object] = Counter()
    for _, customer, amount, *_ in orders:
        counts[customer] += 1
        amounts[customer] += amount  # type: ignore[assignment]
    return Counter((customer, counts[customer], amounts[customer]) for customer in counts)
