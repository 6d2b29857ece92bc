"""Small hand-made pasts of tables, as planning is given them."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from lakesmith.catalog.progress import find_progress
from lakesmith.catalog.record import Account, Pin, Record
from lakesmith.catalog.state import Snapshot, TableState
from lakesmith.errors import LakesmithError
from lakesmith.plan.facts import TableFacts


@dataclass
class Table:
    """A table that is built commit by commit; snapshot ids count up from 1, and every commit goes to main."""

    name: str
    uuid: str = ""
    snapshots: dict[int, Snapshot] = field(default_factory=dict)
    main: int | None = None
    rows: int = 0
    size: int = 0
    of_files: bool = False

    def add(self, rows: int, size: int = 0, **counts: int) -> int:
        """Somebody appends rows, in files of ``size`` bytes."""
        self.rows += rows
        self.size += size
        added = {"added-data-files": 1, "added-records": rows, "added-files-size": size}
        return self._commit("append", {**added, **_dashed(counts)})

    def change(self, operation: str = "overwrite", rows: int = 0) -> int:
        """Somebody changes or removes rows."""
        self.rows += rows
        return self._commit(operation, {"deleted-data-files": 1, "added-data-files": 1})

    def compact(self) -> int:
        """Somebody rewrites the data files; the rows stay as they are."""
        return self._commit("replace", {"deleted-data-files": 2, "added-data-files": 1})

    def publish(self, fingerprint: str = "v1", rows: int = 0, **inputs: Table) -> int:
        """A batch: its rows, and its record, which pins the inputs at their heads."""
        if rows:
            self.add(rows)
        pins = {table.name: Pin(table.uuid or table.name, table.main) for table in inputs.values()}
        batch = len(self.snapshots) + 1
        kind = "files" if self.of_files or self.name.startswith("bronze.") else "full"
        record = Record(f"attempt-{batch}", None, batch, kind, 0, fingerprint, Account(), inputs=pins)
        return self._commit("append", {}, record.to_summary())

    def _commit(self, operation: str, counts: dict[str, int], summary: dict[str, str] | None = None) -> int:
        number = len(self.snapshots) + 1
        totals = {"total-records": self.rows, "total-data-files": 1, "total-files-size": self.size}
        texts = {key: str(count) for key, count in {**totals, **counts}.items()} | (summary or {})
        self.snapshots[number] = Snapshot(number, self.main, number, number * 1000, operation, "", texts)
        self.main = number
        return number

    def facts(self, *expired: int) -> TableFacts:
        """The table as it is, without the expired snapshots."""
        state = TableState(
            name=self.name,
            uuid=self.uuid or self.name,
            location="/lake",
            metadata_location="/lake/metadata/1.json",
            format_version=3,
            columns=(),
            snapshots={key: value for key, value in self.snapshots.items() if key not in expired},
            refs={} if self.main is None else {"main": self.main},
            tags=frozenset(),
            published=tuple((number, number * 1000) for number in self.snapshots),
            properties={},
        )
        try:
            return TableFacts(state, find_progress(state))
        except LakesmithError as error:
            return TableFacts(state, problem=error.problems[0])


def _dashed(counts: dict[str, int]) -> dict[str, int]:
    return {key.replace("_", "-"): count for key, count in counts.items()}


@pytest.fixture
def orders() -> Table:
    """An input with one batch of 10 rows."""
    table = Table("bronze.orders")
    table.publish(rows=10)
    return table


@pytest.fixture
def cities() -> Table:
    """Another input with one batch of 3 rows."""
    table = Table("bronze.cities")
    table.publish(rows=3)
    return table


@pytest.fixture
def customers() -> Table:
    """The derived table that is planned: not there yet."""
    return Table("silver.customers")


@pytest.fixture
def new_table() -> type[Table]:
    """Makes tables that are not there yet."""
    return Table
