"""A lake that goes through histories, and what its tables must hold, worked out in plain Python and DuckDB.

The model knows what landed and what others did to the bronze tables; nothing in it knows how lakesmith or
Spark refresh.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
from harness import PROJECT_FILE, Harness, RunResult
from history_rows import COLUMNS, OWN_COLUMNS, Bronze, Newest, Row
from read_elsewhere import catalog_of
from shape import APPEND, UPSERT, Shape
from shapes import with_inputs

from lakesmith.catalog.record import Account
from lakesmith.errors import StateError
from lakesmith.execute import faults
from lakesmith.execute.events import TableFailed, TableRedone, TableStarted
from lakesmith.execute.rollback import prepare
from lakesmith.project.definitions import TableName
from lakesmith.spark.past import roll_back
from lakesmith.spark.start.session import SessionHandle

Rows = Counter[Row]


class Lake:
    """A project with these shapes (and what they read) and its model.

    ``refreshed``: by what strategies tables were, where any other would have been wrong. ``accounts``: of
    their last batches.
    """

    def __init__(
        self, root: Path, session: SessionHandle, shapes: Iterable[Shape], format_version: int = 3
    ) -> None:
        self.shapes = with_inputs(tuple(shapes))
        settings = f"defaults: {{format_version: {format_version}}}\n"
        project_file = ("lakesmith.yaml", PROJECT_FILE.format(name=root.name) + settings)
        self.project = Harness(
            root,
            session,
            dict([project_file, *_files(), *(file for shape in self.shapes for file in shape.files.items())]),
            approves=True,
        )
        self.bronze = {name: Bronze(name) for name in COLUMNS}
        self.newest = dict.fromkeys(COLUMNS, Newest())
        self.has_note = False
        self.loose: set[str] = set(self._derived())
        self.edited: set[str] = set()
        self.refreshed: dict[str, set[str]] = {}
        self.accounts: dict[str, Account] = {}
        for name in COLUMNS:
            (root / "landing" / name).mkdir(parents=True, exist_ok=True)

    # What is done to it

    def land(self, table: str, rows: Sequence[Row]) -> None:
        bronze = self.bronze[table]
        names = [*COLUMNS[table], *(["note"] if self.has_note and table == "orders" else [])]
        lines = [",".join("" if value is None else str(value) for value in row) for row in rows]
        path = f"landing/{table}/{len(bronze.landed):04}.csv"
        self.project.land(path, "\n".join([",".join(names), *lines]) + "\n")
        bronze.landed[path] = tuple(rows)

    def sql(self, text: str) -> None:
        self.project.spark.sql(text).collect()

    def call(self, procedure: str, table: str, more: str) -> None:
        self.sql(f"CALL lake.system.{procedure}(table => '{table}', {more})")

    def roll_back(self, table: str, snapshot: int, *, downstream: bool) -> None:
        """As the command does. What cannot be told of a table stays for the run to tell."""
        _, graph = self.project.load()
        name, now = TableName.parse(table), datetime.now(UTC)
        try:
            plan = prepare(self.project.lake(), graph, name, str(snapshot), now, downstream=downstream)
        except StateError as error:
            # Another tool took away what belonged to the table then.
            assert {problem.code for problem in error.problems} <= {"LS508", "LS540", "LS541", "LS542"}
            self.call("rollback_to_snapshot", table, f"snapshot_id => {snapshot}")
            return
        roll_back(self.project.handle, self.project.lake(), plan.rollback, hold=False)
        self.disturb(*(str(move.name) for move in plan.rollback.moves))

    def edit(self, shape: Shape, other: Shape) -> None:
        edited = replace(other, name=shape.name)
        for name in shape.files:
            (self.project.root / name).unlink()
        self.project.write(edited.files)
        self.shapes = (*(each for each in self.shapes if each is not shape), edited)
        self.disturb(shape.name)
        self.edited.add(shape.name)
        self.refreshed.pop(shape.name, None)

    def edit_keyed(self, table: str, newest: Newest) -> None:
        """The keyed table is defined otherwise: it and all that reads it may be refreshed in full."""
        self.newest[table] = newest
        self.project.write(newest.files(table))
        self.disturb(f"silver.{table}", *self.readers(f"silver.{table}"))

    def as_defined(self, shapes: Iterable[Shape]) -> tuple[Shape, ...]:
        """The same tables as they are defined now, and what they read."""
        wanted = {shape.name for shape in shapes}
        for shape in reversed(self.shapes):
            wanted |= shape.inputs if shape.name in wanted else set()
        return tuple(shape for shape in self.shapes if shape.name in wanted)

    def disturb(self, *tables: str) -> None:
        """Allows any strategy for the next refresh of these tables, and of those that append from them."""
        self.loose.update(tables)
        for shape in self.shapes:
            if shape.kinds == APPEND and shape.inputs & self.loose:
                self.loose.add(shape.name)

    def readers(self, table: str) -> set[str]:
        return {shape.name for shape in self.shapes if table in shape.inputs} | (
            {table.replace("bronze", "silver")} if table.startswith("bronze") else set()
        )

    def is_there(self, table: str) -> bool:
        state = self.project.lake().catalog.table(*table.split("."))
        return state is not None and state.head is not None

    def _is_ours(self, table: str) -> bool:
        """Whether main's head is what the last run that went well published."""
        record = (
            self.project.lake().facts(TableName.parse(table)).base.record
            if self.is_published(table)
            else None
        )
        return record is not None and record.account == self.accounts[table]

    def is_published(self, table: str) -> bool:
        head = self.project.state(table).head
        return head is not None and head.record is not None

    def before(self, table: str, back: int) -> int | None:
        """The snapshot of an earlier batch, ``back`` ones ago or the oldest there is."""
        state = self.project.state(table)
        found = [each.snapshot_id for each in state.ancestors(state.refs.get("main")) if each.record]
        if table.startswith("bronze"):
            found = [each for each in found if each in self.bronze[table[7:]].then]
        return found[min(back, len(found) - 1)] if found else None

    def remember(self, table: str) -> None:
        """Keeps what a bronze table holds at its head."""
        head = self.project.state(f"bronze.{table}").head
        if head is not None:
            self.bronze[table].then[head.snapshot_id] = (self.bronze[table].taken, self.bronze[table].rows)

    # Runs

    def sourced_and_keyed(self) -> list[str]:
        """The names of the tables below the shapes."""
        return [f"{layer}.{name}" for name in COLUMNS for layer in ("bronze", "silver")]

    def run(self, shapes: Sequence[Shape], check: bool = True) -> None:
        """Brings the tables up to the shapes up to date; they must be what they are defined to be."""
        names = [*self.sourced_and_keyed(), *(shape.name for shape in shapes)]
        result = self._run_well(names)
        for name, bronze in self.bronze.items():
            bronze.take()
            self.remember(name)
        self._check_kinds(result)
        self._check_accounts(result)
        self.loose -= set(names)
        if check:
            wrong = self.wrong(shapes)
            assert not wrong, "\n".join(wrong)

    def _run_well(self, names: Sequence[str]) -> RunResult:
        """Runs. Tables whose consumed input is unknown (LS501) are rebuilt, as the message advises."""
        result = self.project.run(*names)
        lost = [str(event.table) for event in result.events if isinstance(event, TableFailed)]
        if result.code and {problem.code for problem in result.problems} == {"LS501"}:
            assert not [table for table in lost if table.startswith("bronze")]
            self.disturb(*lost)
            result = self.project.run(*names, full=lost)
        assert result.code == 0, "\n".join(line for problem in result.problems for line in problem.lines())
        return result

    def run_disturbed(
        self, shapes: Sequence[Shape], point: str, nth: int, action: Callable[[str], None]
    ) -> None:
        """Runs, and does ``action`` when the ``nth`` table first passes ``point``, which may make it fail."""
        names = [*self.sourced_and_keyed(), *(shape.name for shape in shapes)]
        table = names[nth % len(names)]
        left, before = [action], {name: self._attempt(name) for name in self.bronze}
        faults.arrange(point, lambda: left.pop()(table) if left else None, table)
        try:
            result = self.project.run(*names)
        finally:
            faults.clear()
        self._check_accounts(result, also=frozenset({table}))
        self.disturb(table)
        for name, bronze in self.bronze.items():
            if self._attempt(name) != before[name]:
                bronze.take()
                self.remember(name)
        unasked = [
            each for each in result.problems if "arranged by a test" not in each.what and each.code != "LS501"
        ]
        assert not unasked, unasked

    def _attempt(self, table: str) -> str | None:
        """The last published batch of a bronze table."""
        record = self.project.lake().facts(TableName("bronze", table)).base.record
        return record.attempt if record else None

    def _check_kinds(self, result: RunResult) -> None:
        expected = {shape.name: shape.kinds for shape in self.shapes}
        expected |= {f"silver.{name}": UPSERT for name in COLUMNS}
        for name, record in result.published.items():
            if name in expected and name not in self.loose:
                self.refreshed.setdefault(name, set()).add(record.kind)
                allowed = expected[name] | {"advance"}
                assert record.kind in allowed, (
                    f"{name} was refreshed by {record.kind}: {_reason(result, name)}"
                )

    def _check_accounts(self, result: RunResult, also: frozenset[str] = frozenset()) -> None:
        """What each batch added and removed leads from the rows of the batch before to its own.

        ``also``: what others may have changed besides the loose ones.
        """
        for name, record in result.published.items():
            account, before = record.account, self.accounts.get(name)
            assert account.rows_before + account.inserted - account.deleted == account.rows_after, name
            others = name in self.loose | also or name.startswith("bronze")
            if before is not None and not others:
                assert account.rows_before == before.rows_after, name
            self.accounts[name] = account

    def _derived(self) -> list[str]:
        return [*(f"silver.{name}" for name in COLUMNS), *(shape.name for shape in self.shapes)]

    # What must be there

    def wrong(self, shapes: Sequence[Shape]) -> list[str]:
        """How tables differ from what the model makes of what landed, and what another run would publish."""
        expected = self._expected(shapes)
        differences = (_difference(name, self.found(name), rows) for name, rows in expected.items())
        found = [difference for difference in differences if difference]
        found += [
            f"{name} has {rows.total()} rows, by its record {self.accounts[name].rows_after}"
            for name, rows in expected.items()
            if name in self.accounts
            and self._is_ours(name)
            and self.accounts[name].rows_after != rows.total()
        ]
        names = [*self.sourced_and_keyed(), *(shape.name for shape in shapes)]
        again = {} if found else self.project.must_run(*names).published
        return [*found, *(f"{name} is published again" for name in again)]

    def found(self, table: str) -> Rows:
        own = OWN_COLUMNS.split(", ") if table.startswith("bronze") else []
        rows = catalog_of(self.project.root).load_table(table).scan().to_arrow()
        rows = rows.drop_columns(own) if own else rows
        if table in self.edited:
            rows = rows.select(self._in_order(table, rows.column_names))
        return Counter(zip(*(_plain(column.to_pylist()) for column in rows.columns), strict=True))

    def _in_order(self, table: str, there: Sequence[str]) -> list[str]:
        """The columns as the definition gives them: an edited table keeps those it had where they are."""
        analysis = self.project.load()[1].node(TableName.parse(table)).analysis
        given = (analysis and analysis.output_columns) or ()
        return [*given, *(name for name in there if name not in given)]

    def _expected(self, shapes: Sequence[Shape]) -> dict[str, Rows]:
        connection = duckdb.connect()
        for layer in ("bronze", "silver", "gold"):
            connection.execute(f"CREATE SCHEMA {layer}")
        expected: dict[str, Rows] = {}
        for name, bronze in self.bronze.items():
            expected[f"bronze.{name}"] = self._fill(connection, f"bronze.{name}", bronze.rows)
            expected[f"silver.{name}"] = self._fill(
                connection, f"silver.{name}", self.newest[name].of(bronze.rows)
            )
        for shape in shapes:
            connection.execute(f"CREATE TABLE {shape.name} AS {shape.expected}")
            expected[shape.name] = Counter(connection.execute(f"FROM {shape.name}").fetchall())
        return expected

    def _fill(self, connection: duckdb.DuckDBPyConnection, name: str, rows: Sequence[Row]) -> Rows:
        table = name.split(".")[1]
        columns = {**COLUMNS[table], **({"note": "string"} if self.has_note and table == "orders" else {})}
        connection.execute(
            f"CREATE TABLE {name} ({', '.join(f'{key} {kind}' for key, kind in columns.items())})"
        )
        padded = [(*row, *(None,) * (len(columns) - len(row))) for row in rows]
        if padded:
            connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", padded)
        return Counter(padded)


def _reason(result: RunResult, name: str) -> str:
    said = [event for event in result.of(name) if isinstance(event, TableStarted | TableRedone)]
    return "; ".join(
        event.reason if isinstance(event, TableRedone) else str(event.step.reason) for event in said
    )


def _plain(values: list[Any]) -> list[Any]:
    """Timestamps without their zone, which is UTC."""
    return [value.replace(tzinfo=None) if isinstance(value, datetime) else value for value in values]


def _difference(name: str, found: Rows, expected: Rows) -> str | None:
    pairs = list(zip(_sorted(found), _sorted(expected), strict=False))
    if found == expected or (found.total() == expected.total() and all(_close(*pair) for pair in pairs)):
        return None
    return f"{name}: missing {_sorted(expected - found)}, unexpected {_sorted(found - expected)}"


def _sorted(rows: Rows) -> list[Row]:
    """By the values that are exact first."""
    return sorted(rows.elements(), key=lambda row: (repr([v for v in row if not _is_number(v)]), repr(row)))


def _is_number(value: Any) -> bool:
    return isinstance(value, float | Decimal)


def _close(one: Row, other: Row) -> bool:
    """Equal, but for doubles, which depend on the order of what was added up."""
    for left, right in zip(one, other, strict=True):
        inexact = isinstance(left, float) or isinstance(right, float)
        if left is None or right is None or not inexact:
            if left != right:
                return False
        elif not math.isclose(left, right, rel_tol=1e-6, abs_tol=2e-6):
            return False
    return True


def _files() -> list[tuple[str, str]]:
    files = []
    for name, columns in COLUMNS.items():
        declared = ", ".join(f"{column}: '{kind}'" for column, kind in columns.items())
        files += [
            (
                f"tables/bronze/{name}.yaml",
                f"source:\n  files: {{path: landing/{name}/, format: csv, on_new_column: evolve}}\n"
                f"columns: {{{declared}}}\n",
            ),
            *Newest().files(name).items(),
        ]
    return files
