"""One maintainer for all maintenance of tables: its session, its turns, and how a piece of work is done.

A piece is done under the project's lock, in commits that Iceberg makes. What a piece has done stays if a
later one fails, is stopped or killed. Whoever comes next continues from there: nothing is remembered but the
table itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from lakesmith.catalog.state import TableState
from lakesmith.errors import RunError
from lakesmith.execute.engine import RunStopped
from lakesmith.execute.faults import note_jvm, reach
from lakesmith.execute.lake import Lake
from lakesmith.execute.locking import Turns
from lakesmith.execute.maintenance import Measured, Orders, summary_health
from lakesmith.project.definitions import Maintenance, TableName
from lakesmith.spark.iceberg.commits import JavaTables
from lakesmith.spark.iceberg.procedures import manifests_of
from lakesmith.spark.jvm.failures import FAILURES, explain_failure
from lakesmith.spark.start.session import SessionHandle

T = TypeVar("T")

_TRIES: Final = 5
_FIRST_PAUSE_SECONDS: Final = 0.5
_CONFLICTS: Final = ("ValidationException", "CommitFailedException")
"""What a piece fails with if another tool has committed to the same files meanwhile."""


@dataclass(frozen=True)
class Maintainer:
    """Maintains tables in one Spark session. ``say`` is called with what is being done, in words."""

    session: SessionHandle
    lake: Lake
    turns: Turns
    orders: Orders = field(default_factory=Orders)
    say: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        note_jvm(self.session.jvm_pid)
        self.turns.jvm_pid = self.session.jvm_pid

    def explained(self, work: Callable[[], T]) -> T:
        """Returns the result of ``work``. Raises LakesmithError with the root cause, RunStopped."""
        try:
            self.session.enter()
            return work()
        except FAILURES as error:
            if self.turns.stop.is_set():
                raise RunStopped([]) from error
            secrets = self.lake.project.secrets
            raise RunError(explain_failure(error, self.session.log_path, secrets)) from error

    def piece(self, table: TableName, action: Callable[[], T]) -> T:
        """Does a piece of work on a table in its turn, again if another tool was quicker."""
        for attempt in range(_TRIES):
            try:
                with self.turns.take():
                    reach("maintain-begin", str(table))
                    return action()
            except (Py4JError, PySparkException) as error:
                if attempt == _TRIES - 1 or not any(kind in str(error) for kind in _CONFLICTS):
                    raise
            time.sleep(_FIRST_PAUSE_SECONDS * 2**attempt)
        raise AssertionError("the last try returns or raises")

    def state(self, name: TableName) -> TableState:
        """Returns the table's state now. Raises RunError LS633 if it was dropped."""
        state = self.lake.catalog.table(name.layer, name.name)
        if state is None:
            raise RunError.of("LS633", f"{name} was dropped during its maintenance")
        return state

    def sort_columns(self, settings: Maintenance, name: TableName) -> tuple[str, ...]:
        """Returns the sort columns as the table spells them. Raises RunError LS630 for others."""
        there = {column.name.lower(): column.name for column in self.state(name).columns}
        missing = [column for column in settings.columns if column.lower() not in there]
        if missing:
            place = self.lake.project.table(name).place
            what = f"{name} cannot be sorted by {', '.join(missing)}"
            expected = f"maintain.columns among {', '.join(there.values())}"
            raise RunError.of("LS630", what, place, expected, ", ".join(settings.columns))
        return tuple(there[column.lower()] for column in settings.columns)

    def measured(self, name: TableName) -> Measured:
        health = summary_health(self.state(name))
        return Measured(
            health.data_files,
            health.data_bytes,
            health.delete_files,
            health.deleted_rows,
            len(manifests_of(self.session.spark, name)),
            health.snapshots,
            # The shorter of two: the first may load classes that were never used.
            min(self._planning_seconds(name) for _ in range(2)),
        )

    def _planning_seconds(self, name: TableName) -> float:
        table = JavaTables(self.session.spark).load(name)
        jvm = self.session.spark._jvm
        began = time.monotonic()
        planned = table.newScan().planFiles()
        try:
            jvm.com.google.common.collect.Iterables.size(planned)  # type: ignore[union-attr]
        finally:
            planned.close()
        return time.monotonic() - began
