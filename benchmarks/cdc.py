"""Change capture end to end: a large table, then batches of changes; whole processes, against a job written
by hand.

    python benchmarks/cdc.py            5,000,000 rows, then 3 batches of 10,000
    python benchmarks/cdc.py --small       20,000 rows, then 3 batches of 2,000

Both contestants get the same files in folders of their own and take turns. At the end both are compared with
what DuckDB makes of the same files.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
from cdc_data import COLUMNS, Changes, write_first

BATCH_GOAL, IDLE_GOAL = 1 / 3, 1 / 16

PROJECT = {
    "lakesmith.yaml": "name: cdc\ndefault_target: local\ntargets:\n  local: {}\n",
    "tables/bronze/orders.yaml": 'source:\n  files: {path: landing/, pattern: "*.csv", format: '
    "csv}\ncolumns:\n" + "".join(f'  {name}: "{kind}"\n' for name, kind in COLUMNS.items()),
    "tables/silver/orders.yaml": "key: [order_id]\nlatest_by: [changed_at]\ndelete_when: \"op = 'D'\"\n",
    "tables/silver/orders.sql": f"SELECT {', '.join(COLUMNS)} FROM bronze.orders\n",
    "tables/gold/sales_by_region_category.sql": """
SELECT region, category, count(*) AS orders, sum(quantity) AS pieces, sum(amount) AS sales
FROM silver.orders GROUP BY region, category
""",
    "tables/gold/orders_by_day.sql": """
SELECT to_date(changed_at) AS day, op, count(*) AS orders, max(changed_at) AS newest
FROM silver.orders GROUP BY to_date(changed_at), op
""",
}

ORACLE_OF = {
    "bronze.orders": "files",
    "silver.orders": "silver",
    "gold.sales_by_region_category": "sales_by_region_category",
    "gold.orders_by_day": "orders_by_day",
}

ORACLE = """
CREATE TABLE files AS SELECT * FROM read_csv('{landing}/*.csv', header = true, columns = {{
    op: 'VARCHAR', changed_at: 'TIMESTAMP', order_id: 'BIGINT', customer_id: 'BIGINT', region: 'VARCHAR',
    category: 'VARCHAR', quantity: 'INTEGER', amount: 'DECIMAL(12,2)'}});
CREATE TABLE silver AS SELECT * EXCLUDE n FROM (
    SELECT *, row_number() OVER (PARTITION BY order_id ORDER BY changed_at DESC) AS n FROM files)
    WHERE n = 1 AND op <> 'D';
CREATE TABLE sales_by_region_category AS SELECT region, category, count(*)::BIGINT AS orders,
    sum(quantity)::BIGINT AS pieces, sum(amount)::DECIMAL(22,2) AS sales FROM silver GROUP BY ALL;
CREATE TABLE orders_by_day AS SELECT changed_at::DATE AS day, op, count(*)::BIGINT AS orders,
    max(changed_at) AS newest FROM silver GROUP BY ALL;
"""


def write_project(root: Path, files: Mapping[str, str] = PROJECT) -> None:
    """Writes the files of a project."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@dataclass(frozen=True)
class Sides:
    """Where both contestants work, and how the peer is called."""

    ours: Path
    theirs: Path
    peer: tuple[str, ...]

    @classmethod
    def prepare(cls, work: Path, options: argparse.Namespace) -> Sides:
        """Makes the project and the peer's folder."""
        ours, theirs = work / "lakesmith", work / "by-hand"
        write_project(ours)
        theirs.mkdir()
        words = [
            "--landing",
            "landing",
            "--warehouse",
            f"{theirs}/warehouse",
            "--checkpoint",
            "checkpoint.json",
        ]
        mode = ["--merge-mode", options.merge_mode]
        return cls(
            ours, theirs, tuple(common.spark_submit(options.jars, "handwritten_cdc.py", *words, *mode))
        )

    def deliver(self, files: list[Path]) -> None:
        """Gives both the same files."""
        for file in files:
            common.deliver(file, self.ours / "landing", self.theirs / "landing")

    def run(
        self, what: str, rounds: int, goal: float | None = None, before: Callable[[], None] | None = None
    ) -> common.Comparison:
        """Runs both as whole processes, in turns."""
        contestants = (
            lambda: common.timed(common.lakesmith("run"), self.ours),
            lambda: common.timed(self.peer, self.theirs),
        )
        ours, theirs = common.take_turns(contestants, rounds, before)
        return common.Comparison(what, ours, theirs, goal)


def measure(sides: Sides, work: Path, options: argparse.Namespace) -> list[common.Comparison]:
    """The first load, the batches, and runs with nothing new."""
    changes = Changes(options.rows, options.seed, options.odd)

    def next_batch() -> None:
        sides.deliver(changes.write_batch(work / "files" / "changes", options.changes))

    sides.deliver(write_first(work / "files" / "first", options.rows))
    return [
        sides.run(f"first load of {options.rows:,} rows", 1),
        sides.run(f"batch of {options.changes:,} changes", options.rounds, BATCH_GOAL, next_batch),
        sides.run("nothing new", options.rounds, IDLE_GOAL),
    ]


def differences(sides: Sides, tables: Iterable[str] = ORACLE_OF) -> list[str]:
    """A sentence for each contestant and table: how it differs from what DuckDB makes of all files."""
    import duckdb

    database = duckdb.connect()
    database.execute(ORACLE.format(landing=sides.ours / "landing")).fetchall()
    return [
        f"{who} {table}: {_difference(database, ORACLE_OF[table], _read(sides, who, table))}"
        for who in ("lakesmith", "by hand")
        for table in tables
    ]


def _read(sides: Sides, who: str, table: str) -> Any:
    layer, name = table.split(".")
    if who == "lakesmith":
        return common.jdbc_table(sides.ours, layer, name)
    return common.hadoop_table(sides.theirs / "warehouse", layer, name)


def _difference(database: Any, oracle: str, found: Any) -> str:
    """Rows too many and rows missing, multiplicities counted; in silver also keys that should be gone."""
    database.register("found_rows", found)
    described = database.execute(f"DESCRIBE {oracle}").fetchall()
    columns = ", ".join(f"{name}::{kind} AS {name}" for name, kind, *_ in described)
    database.execute(f"CREATE OR REPLACE TEMP TABLE found AS SELECT {columns} FROM found_rows").fetchall()

    def count(query: str) -> int:
        return int(database.execute(f"SELECT count(*) FROM ({query})").fetchall()[0][0])

    more = count(f"FROM found EXCEPT ALL FROM {oracle}")
    fewer = count(f"FROM {oracle} EXCEPT ALL FROM found")
    if more == fewer == 0:
        return f"{found.num_rows:,} rows, as they should be"
    text = f"{more:,} rows wrong, {fewer:,} missing"
    if oracle == "silver":
        returned = count("SELECT order_id FROM found EXCEPT SELECT order_id FROM silver")
        text += f"; {returned:,} of the keys should be gone"
    return text


def main() -> None:
    """The command line."""
    parser = common.arguments("Change capture end to end against a job written by hand.")
    parser.add_argument("--rows", type=int, help="rows of the first load")
    parser.add_argument("--changes", type=int, help="changes of a batch")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument(
        "--odd", type=float, default=0.01, help="share of changes out of order; 0: an orderly stream"
    )
    parser.add_argument("--merge-mode", choices=("copy-on-write", "merge-on-read"), default="merge-on-read")
    options = parser.parse_args()
    options.rows = options.rows or (20_000 if options.small else 5_000_000)
    options.changes = options.changes or (2_000 if options.small else 10_000)
    options.rounds = options.rounds or 3
    with common.workspace(options) as work:
        sides = Sides.prepare(work, options)
        comparisons = measure(sides, work, options)
        facts = {
            "rows": options.rows,
            "changes": options.changes,
            "odd": options.odd,
            "merge": options.merge_mode,
        }
        common.show(common.Outcome("cdc", tuple(comparisons), facts, tuple(differences(sides))), options.json)


if __name__ == "__main__":
    main()
