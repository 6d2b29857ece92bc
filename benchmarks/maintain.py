"""2,000 small files put together: ``lakesmith maintain`` beside Iceberg's procedures called by hand, and
planning before and after.

    python benchmarks/maintain.py            2,000 files of 5,000 rows
    python benchmarks/maintain.py --small      200 files

All in one Spark session, after a round that is not counted. lakesmith's time is that of the whole maintenance
of the table: measured before and after, in pieces under the lock, and expiry. By hand are
``rewrite_data_files``, ``rewrite_manifests`` and ``expire_snapshots`` of a copy.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import common

from lakesmith.execute.locking import Turns
from lakesmith.execute.maintenance import Maintained, verdicts
from lakesmith.execute.opened import read_project
from lakesmith.execute.run import Run
from lakesmith.plan.maintenance import Care
from lakesmith.project.definitions import TableName

GOAL = 1 / 0.7
PLANNING_GOAL = 1 / 5
COMMITS = 40
TABLE = "source: {files: {path: landing/, format: csv}}\ncolumns: {id: bigint, city: string, price: double}\n"
SETTINGS = "maintain: {older_than: 1 hour}\n"
ROWS_A_FILE = 5_000
BY_HAND = (
    "CALL lake.system.rewrite_data_files(table => '{}', options => map('target-file-size-bytes', "
    "'134217728'))",
    "CALL lake.system.rewrite_manifests('{}')",
    "CALL lake.system.expire_snapshots(table => '{}', older_than => TIMESTAMP '{}', retain_last => 1)",
)


class Bench:
    """A project with a table for each round, and copies of them for the peer."""

    def __init__(self, root: Path, rounds: int, files: int) -> None:
        from lakesmith.spark.open import open_session

        self.files = files
        for number in range(rounds + 1):
            path = root / f"tables/bronze/sales_{number}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(TABLE + SETTINGS)
        (root / "lakesmith.yaml").write_text("name: bench\nengine: {keep_warm: 0 s}\n")
        (root / "landing").mkdir()
        (root / "landing/first.csv").write_text("id,city,price\n0,Oslo,1.5\n")
        self.opened = read_project(root, None)
        self.handle = open_session(self.opened.project)
        self.spark: Any = self.handle.spark
        self.found: list[Maintained] = []
        self._publish()
        self.spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.peer")

    def _publish(self) -> None:
        from lakesmith.spark.engine import SparkEngine

        engine = SparkEngine(self.handle, self.opened.lake, keeps_session=True)
        Run(self.opened.decider(), self.opened.names(()), lambda _lock, _little: engine, lambda _: None).run()

    def fill(self, number: int) -> None:
        """Writes the files of a round, to the table and to the peer's copy."""
        ours, theirs = f"lake.bronze.sales_{number}", f"lake.peer.sales_{number}"
        self.spark.sql(
            f"CREATE TABLE {theirs} USING iceberg TBLPROPERTIES ('format-version' = '3') AS SELECT * FROM "
            f"{ours}"
        )
        self.spark.conf.set("spark.sql.adaptive.enabled", "false")
        each = self.files // COMMITS
        for commit in range(COMMITS):
            begin = commit * each * ROWS_A_FILE
            rows = self.spark.range(begin, begin + each * ROWS_A_FILE, 1, each).selectExpr(
                "id",
                "concat('city ', id % 977) AS city",
                "rand(7) AS price",
                "CAST(NULL AS STRING) AS _source_file",
                "CAST(NULL AS BIGINT) AS _source_position",
                "CAST(NULL AS TIMESTAMP) AS _source_modified_at",
                "CAST(NULL AS TIMESTAMP) AS _ingested_at",
                "CAST(NULL AS STRING) AS _batch",
            )
            for table in (ours, theirs):
                columns = [
                    f"CAST({f.name} AS {f.dataType.simpleString()}) AS {f.name}"
                    for f in self.spark.table(table).schema
                ]
                rows.selectExpr(*columns).writeTo(table).append()
        self.spark.conf.set("spark.sql.adaptive.enabled", "true")

    def ours(self, number: int) -> float:
        """Seconds of lakesmith's maintenance."""
        from lakesmith.spark.maintenance.maintainer import Maintainer
        from lakesmith.spark.maintenance.tasks import maintain

        lake = self.opened.lake
        begin = time.perf_counter()
        (care,) = verdicts(lake, [TableName("bronze", f"sales_{number}")])
        if not isinstance(care, Care) or not care.todo:
            raise common.BenchmarkError(f"nothing to do: {care}")
        done = maintain(Maintainer(self.handle, lake, Turns(lake, "maintain")), care)
        self.found.append(done)
        return time.perf_counter() - begin

    def theirs(self, number: int) -> float:
        """Seconds of Iceberg's procedures."""
        begin = time.perf_counter()
        now = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() - 3600))
        for call in BY_HAND:
            self.spark.sql(call.format(f"peer.sales_{number}", now)).collect()
        return time.perf_counter() - begin

    def same(self, number: int) -> bool:
        """Whether both have the same rows."""
        query = "SELECT count(*), sum(id), sum(hash(city)), round(sum(price), 3) FROM lake.{}.sales_{}"
        rows = [self.spark.sql(query.format(layer, number)).collect() for layer in ("bronze", "peer")]
        return bool(rows[0] == rows[1])


def main() -> None:
    """Runs it."""
    options = common.arguments(__doc__ or "").parse_args()
    rounds, files = options.rounds or (1 if options.small else 2), 200 if options.small else 2_000
    with common.workspace(options) as work:
        bench = Bench(work, rounds, files)
        try:
            show(bench, rounds, options.json)
        finally:
            bench.handle.stop()


def show(bench: Bench, rounds: int, as_json: bool) -> None:
    """Measures, and prints what was found."""
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(rounds + 1):
        bench.fill(number)
        sides = [(bench.ours, ours), (bench.theirs, theirs)]
        for side, seconds in sides if number % 2 else reversed(sides):
            seconds.append(side(number))
        if not bench.same(number):
            raise common.BenchmarkError("the two tables differ")
    counted = bench.found[1:]
    planning = common.Comparison(
        "planning a scan, after and before",
        tuple(done.after.planning_seconds for done in counted),
        tuple(done.before.planning_seconds for done in counted),
        PLANNING_GOAL,
    )
    whole = common.Comparison("maintain", tuple(ours[1:]), tuple(theirs[1:]), GOAL)
    last = counted[-1]
    facts = {
        "files": f"{last.before.data_files} -> {last.after.data_files}",
        "manifests": f"{last.before.manifests} -> {last.after.manifests}",
        "bytes": last.before.data_bytes,
    }
    common.show(common.Outcome("maintain", (whole, planning), facts, ("both have the same rows",)), as_json)


if __name__ == "__main__":
    main()
