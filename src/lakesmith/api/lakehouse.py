"""A project as an object: for notebooks, orchestrators, programs and the command line.

with lakesmith.open("shop") as shop:
    shop.run()
    print(shop.table("gold.sales").pandas())
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from lakesmith.api.access import Access, Host
from lakesmith.api.changing import Changing
from lakesmith.api.testing.calls import Testing
from lakesmith.api.tracing import Tracing
from lakesmith.plan.cost import DataSize
from lakesmith.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakesmith.alerts.overview import CurrentAlerts, TestedChannels
    from lakesmith.api.checking import Checked
    from lakesmith.api.comparing import Diff, Verified, VerifyListener
    from lakesmith.api.doctor import Checks
    from lakesmith.api.dropping import Dropped, DropPreview
    from lakesmith.api.explaining import Explained
    from lakesmith.api.files import FileChange, Files, FilesChanged
    from lakesmith.api.frames import Rows
    from lakesmith.api.quarantine import QuarantineDropPreview, QuarantineRows, QuarantineSummary
    from lakesmith.api.reading import History, Status
    from lakesmith.api.results import Change
    from lakesmith.api.running import Plan
    from lakesmith.execute.events import Listener, RunResult
    from lakesmith.page.overview import Overview
    from lakesmith.plan.steps import BadRows


class Lakehouse(Changing, Tracing, Testing):
    """A project on one of its targets. Each call reads the project's files and the lake's state again.

    The Spark session starts when a call first needs it, and stays until ``close`` or the end of the ``with``
    block. A process has one Spark session; a caller that has one passes it as ``spark``. Every call raises
    ``LakesmithError`` with its ``problems``. Ctrl-C, or another exception in the caller's thread, ends the
    call under way: it is raised once the call has ended, after ten seconds, or at a second one.
    """

    def __init__(
        self,
        folder: str | Path,
        target: str | None = None,
        spark: SparkSession | None = None,
        host: Host | None = None,
    ) -> None:
        self.access = Access(folder, target, spark, host)

    def __enter__(self) -> Lakehouse:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def folder(self) -> Path:
        """The project's folder."""
        return self.access.folder

    @property
    def lost_spark(self) -> bool:
        """Whether Spark has ended by itself; the next call that needs it starts another one."""
        return self.access.lost_spark

    def tables(self, *select: str) -> Mapping[str, tuple[str, ...]]:
        """Returns the selected tables in dependency order, each with the tables it reads.

        Example:
            print(shop.tables("gold.*"))
        """
        opened = self.access.opened()
        return {str(name): tuple(map(str, opened.graph.node(name).inputs)) for name in opened.names(select)}

    def plan(self, *select: str) -> Plan:
        """Returns what a run would do with the selected tables, and what it costs. Starts no Spark.

        Example:
            for each in shop.plan().tables:
                print(each.decision.name)
        """
        from lakesmith.api.running import plan

        return plan(self.access, select)

    def status(self, *select: str) -> Status:
        """Returns which of the selected tables are up to date, which are behind and why. Starts no Spark.

        Example:
            print([each.why for each in shop.status("silver.*").tables])
        """
        from lakesmith.api.reading import status

        return status(self.access, select)

    def overview(self, *select: str) -> Overview:
        """Returns the selected tables as the web page shows them: what is wrong, and the rows that moved.

        Example:
            print(shop.overview("+gold.customers_by_city_month").findings)
        """
        from lakesmith.page.overview import overview_of

        opened = self.access.opened()
        return overview_of(opened, opened.names(select))

    def run(
        self,
        *select: str,
        full_refresh: Sequence[str] = (),
        approve: Sequence[str] = (),
        wait: float = 0.0,
        on_event: Listener | None = None,
    ) -> RunResult:
        """Refreshes the selected tables.

        Args:
            select: patterns as the command has them: ``silver.*``, ``+gold.sales``; none: all tables.
            full_refresh: tables to be rebuilt.
            approve: tables that may lose what their change takes away (``LS524``).
            wait: seconds to wait for another run of the project.
            on_event: is called with each event of ``lakesmith.events``, from several threads.

        Raises:
            RunFailed: tables failed; its ``result`` has the other tables too, which were published.
            LockedError: another run holds the project.

        Example:
            result = shop.run("silver.*")
            print(list(result.published), list(result.current))
        """
        from lakesmith.api.running import run

        return run(self.access, select, full_refresh, approve, wait, on_event)

    def query(self, sql: str, as_of: str | None = None) -> Rows:
        """Returns the rows of a SELECT over the lake's tables, now or as of a time, tag or snapshot.

        Raises UsageError LS24x if the text is no such query, LS23x if ``as_of`` is no point in time.

        Example:
            print(shop.query("SELECT count(*) AS n FROM silver.customers").arrow().to_pylist())
        """
        from lakesmith.api.frames import Rows, ask

        opened = self.access.opened()
        question = ask(opened, sql, as_of)
        session = self.access.do(lambda: self.access.session(opened, question.size, reads=True))
        return Rows(session, question, tuple(opened.project.secrets), self.access)

    def diff(self, table: str, begin: str, end: str | None = None, *, limit: int | None = None) -> Diff:
        """Returns the rows that changed in a table between two points of its past: snapshots, tags or times.

        ``end``: None: now. ``limit``: the most rows; None: all. Raises UsageError LS201, LS205, LS221 (an
        external table), LS230, LS231 (no such point), LS255 (never written), RunError LS622 and with Spark's
        root cause.

        Example:
            oldest = shop.history("silver.customers").points[-1]
            print(shop.diff("silver.customers", str(oldest.snapshot_id)).counts)
        """
        from lakesmith.api.comparing import diff

        return diff(self.access, table, begin, end, limit)

    def verify(self, *select: str, on_event: VerifyListener = lambda _: None) -> Verified:
        """Recomputes the selected derived tables from the snapshots they have consumed, and compares.

        Starts Spark only if there is something to compute. ``on_event`` is called as each table begins.

        Example:
            assert not shop.verify("gold.*").is_wrong
        """
        from lakesmith.api.comparing import verify

        return verify(self.access, select, on_event)

    def check(self, *select: str, on_event: Callable[[str], None] = lambda _: None) -> Checked:
        """Checks all rules of the selected tables as they are published, and keeps the results in
        ``lakesmith.checks``. ``on_event`` is called with what is done.

        Example:
            assert not shop.check("gold.*").has_failed
        """
        from lakesmith.api.checking import check

        return check(self.access, select, on_event)

    def history(self, table: str, *, limit: int | None = 20) -> History:
        """Returns the newest ``limit`` (None: all) points of a table's past. Raises UsageError LS201, LS205.

        Example:
            for point in shop.history("silver.customers", limit=5).points:
                print(point.snapshot_id, point.text)
        """
        from lakesmith.api.reading import history

        return history(self.access, table, limit)

    def table(self, name: str, as_of: str | None = None) -> Rows:
        """Returns the rows of a table of the project, now or as of a time, tag or snapshot.

        Raises UsageError LS201 if it is not declared, LS240 if it was not built, and as ``query``.

        Example:
            print(shop.table("silver.customers").arrow().num_rows)
        """
        found = self.access.opened().one(name)
        return self.query(f"SELECT * FROM {quoted(found.layer)}.{quoted(found.name)}", as_of)

    def session(self) -> SparkSession:
        """Returns the Spark session, with the lake as its current catalog. Tables change by ``run`` alone.

        Example:
            print(shop.session().table("silver.customers").count())
        """
        return self.access.do(self._spark)

    def files(self, table: str) -> Files:
        """Returns the landing files of a sourced table: state, batch and time of each. Starts no Spark.

        Raises UsageError LS215 for a table without a source.

        Example:
            for line in shop.files("bronze.orders").report.lines:
                print(line.path, line.state)
        """
        from lakesmith.api.files import files

        return files(self.access, table)

    def change_files(
        self,
        table: str,
        *,
        skip: Sequence[str] = (),
        forget: Sequence[str] = (),
        on_event: Listener = lambda _: None,
    ) -> Change[FileChange, FilesChanged]:
        """Prepares to skip files from now on (their rows stay), and to forget files (their rows are deleted).

        Raises UsageError LS210 to LS215; ``apply`` also LockedError LS701, RunError LS612 and with Spark's
        root cause.

        Example:
            change = shop.change_files("bronze.orders", skip=["orders_20240531_22.csv"])
            print(change.to_dict())  # change.apply() skips the file from now on
        """
        from lakesmith.api.files import change_files

        return change_files(self.access, table, skip, forget, on_event)

    def explain(self, table: str) -> Explained:
        """Returns how a table is refreshed, why not better, and the places of its settings.

        Example:
            print(shop.explain("gold.customers_by_city_month").refresh.how)
        """
        from lakesmith.api.explaining import explain

        return explain(self.access, table)

    def doctor(self, *, start: bool = False, files: bool = False) -> Checks:
        """Looks for what is missing on this machine and in this project, and for rows that an earlier version
        read wrongly. ``start``: also starts Spark. ``files``: also reads the landing files it read.

        Example:
            print([check.hint for check in shop.doctor().checks if check.hint])
        """
        from lakesmith.api.doctor import check

        return check(self.access, start, files)

    def alerts(self) -> CurrentAlerts:
        """Returns the alerts that fire by the last runs, and who was notified. Starts no Spark.

        Example:
            print([each.finding.table for each in shop.alerts().firing])
        """
        from lakesmith.alerts.overview import current_alerts

        return current_alerts(self.access.opened().project)

    def test_alerts(self, *channels: str) -> TestedChannels:
        """Sends a message to each channel, or to those named, to try them. Raises UsageError LS262.

        Example:
            print(shop.test_alerts("team").channels)
        """
        from lakesmith.alerts.overview import test_channels

        return test_channels(self.access.opened().project, channels)

    def quarantine(self) -> QuarantineSummary:
        """Returns how many bad rows each table has, and why. Starts no Spark.

        Example:
            print(shop.quarantine().to_dict())
        """
        from lakesmith.api.quarantine import summaries

        return summaries(self.access)

    def quarantine_rows(
        self, table: str, chosen: BadRows | None = None, *, limit: int | None = 20
    ) -> QuarantineRows:
        """Returns the first ``limit`` (None: all) bad rows of a table, with everything that is wrong with
        each.

        ``chosen``: only those that a batch found, with a reason, or of a landing file. Starts no Spark.

        Example:
            for row, line in shop.quarantine_rows("silver.customers").rows:
                print(row.reasons, row.file, line)
        """
        from lakesmith.api.quarantine import rows
        from lakesmith.plan.steps import BadRows

        return rows(self.access, table, chosen or BadRows(), limit)

    def quarantine_replay(
        self,
        table: str,
        chosen: BadRows | None = None,
        *,
        wait: float = 0.0,
        on_event: Listener | None = None,
    ) -> RunResult:
        """Validates bad rows again by the table's present definition: good ones go into the table, once.

        A derived table is recomputed from its inputs. Raises UsageError LS226 if only some of its rows are
        asked for, and as ``run``.

        Example:
            shop.quarantine_replay("bronze.orders")
        """
        from lakesmith.api.quarantine import replay
        from lakesmith.plan.steps import BadRows

        return replay(self.access, table, chosen or BadRows(), wait, on_event)

    def quarantine_drop(
        self,
        table: str,
        chosen: BadRows | None = None,
        *,
        wait: float = 0.0,
        on_event: Listener | None = None,
    ) -> Change[QuarantineDropPreview, RunResult]:
        """Prepares to drop bad rows for good, on record; ``apply`` raises as ``run``.

        Example:
            change = shop.quarantine_drop("bronze.orders", lakesmith.BadRows(batch=1))
            print(change.preview.rows)
            change.apply()
        """
        from lakesmith.api.quarantine import drop
        from lakesmith.plan.steps import BadRows

        return drop(self.access, table, chosen or BadRows(), wait, on_event)

    def drop(self, table: str, *, purge: bool = False) -> Change[DropPreview, Dropped]:
        """Prepares to drop a table with its sidecars; ``purge`` deletes its files too.

        Raises UsageError LS250 (no such table), StateError LS503 (another project's), LS513 (another change
        was begun and not finished), EnvironmentProblem LS328 (a catalog of its own).

        Example:
            change = shop.drop("gold.customers_by_city_month")
            print(change.preview.next_run)  # change.apply() drops the table
        """
        from lakesmith.api.dropping import drop

        return drop(self.access, table, purge)

    def close(self) -> None:
        """Ends Spark, if it was started. The next call that needs it starts it again.

        Example:
            shop.close()
        """
        self.access.close()

    def _spark(self) -> SparkSession:
        from lakesmith.catalog.protocol import CATALOG_NAME

        spark = self.access.session(self.access.opened(), size=DataSize.LARGE).spark
        spark.sql(f"USE {CATALOG_NAME}")
        return spark


def open_lakehouse(
    folder: str | Path = ".", target: str | None = None, spark: SparkSession | None = None
) -> Lakehouse:
    """Opens the project in ``folder`` on a target (None: its default). Raises ProjectError with all problems.

    ``spark``: a session of the caller. Work is done in a child of it with settings of its own, and it is
    never stopped.
    """
    lake = Lakehouse(folder, target, spark)
    lake.access.opened()
    return lake
