"""Histories of a lake: what lands, what other tools do, what fails. Steps are printable frozen data."""

from dataclasses import dataclass
from typing import Any, Protocol

from foreign_rows import insertion
from history_lake import Lake
from history_rows import ADDED, CHANGED, COLUMNS, KEYS, Newest, changed, row_of
from hypothesis import strategies as st
from maintaining import must_maintain, soon
from shape import Shape
from shapes import BY_NAME

TABLES = tuple(COLUMNS)
POINTS = (
    "after-branch", "after-merge", "after-data", "after-check", "before-publish", "before-swap",
    "after-publish", "after-sidecars",
)  # fmt: skip
"""Where a batch of any kind may fail."""


class Step(Protocol):
    """Something that happens to a lake. ``due``: the shapes that are to be brought up to date after it."""

    def do(self, lake: Lake, due: tuple[Shape, ...]) -> None:
        """Makes it happen."""


@dataclass(frozen=True)
class Land:
    """Lands versions (key, seq) of a table's rows in ``files`` files: new, late, deleting ones, or none."""

    table: str
    versions: tuple[tuple[int | str, int], ...] = ()
    files: int = 1

    def do(self, lake: Lake, due: tuple[Shape, ...]) -> None:
        later = ADDED if lake.has_note and self.table == "orders" else 0
        rows = [row_of(self.table, key, seq + later) for key, seq in self.versions]
        for number in range(self.files):
            lake.land(self.table, rows[number :: self.files])


@dataclass(frozen=True)
class LandAgain:
    """The rows of the file that landed last once more, in a file of another name."""

    table: str

    def do(self, lake: Lake, due: tuple[Shape, ...]) -> None:
        landed = list(lake.bronze[self.table].landed.values())
        rows = landed[-1] if landed else ()
        if not lake.has_note or all(len(row) > len(COLUMNS[self.table]) for row in rows):
            lake.land(self.table, rows)


@dataclass(frozen=True)
class AddColumn:
    """From here on files of orders have one column more."""

    def do(self, lake: Lake, due: tuple[Shape, ...]) -> None:
        if not lake.has_note:
            lake.has_note = True
            lake.disturb(*lake.readers("bronze.orders"), *lake.readers("silver.orders"))
            lake.land("orders", [row_of("orders", KEYS["orders"][0], ADDED)])


@dataclass(frozen=True)
class RunBelow:
    """A run of the tables below the shapes alone, which are then behind by more than one batch."""

    def do(self, lake: Lake, due: tuple[Shape, ...]) -> None:
        lake.run((), check=False)


@dataclass(frozen=True)
class Compact:
    table: str

    def do(self, lake: Lake, due: tuple[Shape, ...]) -> None:
        if lake.is_there(self.table):
            lake.call("rewrite_data_files", self.table, "options => map('rewrite-all', 'true')")


@dataclass(frozen=True)
class Maintain:
    """``lakesmith maintain`` of a table: whatever it takes away, no reader is disturbed."""

    table: str

    def do(self, lake: Lake, due: tuple[Shape, ...]) -> None:
        with soon():
            must_maintain(lake.project, only=self.table)


@dataclass(frozen=True)
class Expire:
    """Expires all snapshots that no reference holds, also those that readers still stand on."""

    table: str

    def do(self, lake: Lake, due: tuple[Shape, ...]) -> None:
        if not lake.is_there(self.table) or (
            self.table.startswith("bronze") and not lake.is_published(self.table)
        ):
            return  # A sourced table would not know what it has consumed: that is for test_other_hands.
        lake.call(
            "expire_snapshots", self.table, "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1"
        )
        lake.disturb(*lake.readers(self.table))


@dataclass(frozen=True)
class RollBack:
    """Rolls a table back by ``back`` batches: by Spark, or as the command does, alone or with those below."""

    table: str
    back: int = 1
    how: str = "spark"

    def do(self, lake: Lake, due: tuple[Shape, ...]) -> None:
        target = lake.before(self.table, self.back) if lake.is_there(self.table) else None
        if target is None:
            return
        if self.how == "spark":
            lake.call("rollback_to_snapshot", self.table, f"snapshot_id => {target}")
        else:
            lake.roll_back(self.table, target, downstream=self.how == "below")
        lake.disturb(self.table)
        if self.table.startswith("bronze"):
            bronze = lake.bronze[self.table.removeprefix("bronze.")]
            bronze.taken, bronze.rows = bronze.then[target]
            lake.disturb(*lake.readers(self.table))


@dataclass(frozen=True)
class WriteBelow:
    """Another tool inserts, deletes or updates the rows of a key in a bronze table: they count."""

    table: str
    change: str
    key: int | str
    seq: int = 0

    def do(self, lake: Lake, due: tuple[Shape, ...]) -> None:
        name, bronze = f"bronze.{self.table}", lake.bronze[self.table]
        if not lake.is_there(name):
            return
        columns = tuple(COLUMNS[self.table])
        where = f"{columns[0]} = {self.key!r}"
        if self.change == "insert":
            row = row_of(self.table, self.key, self.seq)
            values = ", ".join(map(_literal, row, COLUMNS[self.table].values()))
            lake.sql(insertion(lake.project.spark, f"lake.{name}", ", ".join(columns), f"({values})"))
            bronze.rows = (*bronze.rows, row)
        elif self.change == "delete":
            lake.sql(f"DELETE FROM lake.{name} WHERE {where}")
            bronze.rows = tuple(row for row in bronze.rows if row[0] != self.key)
        else:
            lake.sql(f"UPDATE lake.{name} SET {CHANGED[self.table]}, seq = seq + 1000 WHERE {where}")
            bronze.rows = tuple(
                changed(self.table, row) if row[0] == self.key else row for row in bronze.rows
            )
        lake.disturb(*lake.readers(name))


@dataclass(frozen=True)
class WriteAbove:
    """Another tool doubles a row of a derived table, or deletes all: the table is built anew."""

    table: str
    change: str

    def do(self, lake: Lake, due: tuple[Shape, ...]) -> None:
        if not lake.is_there(self.table):
            return
        name = f"lake.{self.table}"
        insert = f"INSERT INTO {name} SELECT * FROM {name} LIMIT 1"
        lake.sql(insert if self.change == "insert" else f"DELETE FROM {name}")
        lake.disturb(self.table)


@dataclass(frozen=True)
class Edit:
    """The definition of a gold table that no other reads becomes that of another shape."""

    nth: int
    to: str

    def do(self, lake: Lake, due: tuple[Shape, ...]) -> None:
        read = {name for shape in lake.shapes for name in shape.inputs}
        free = [shape for shape in lake.shapes if shape.name.startswith("gold") and shape.name not in read]
        if free and BY_NAME[self.to].inputs <= read:
            lake.edit(free[self.nth % len(free)], BY_NAME[self.to])


@dataclass(frozen=True)
class EditKeyed:
    """A keyed table is defined otherwise: what it leaves out, and whether deleted keys go."""

    table: str
    newest: Newest

    def do(self, lake: Lake, due: tuple[Shape, ...]) -> None:
        lake.edit_keyed(self.table, self.newest)


@dataclass(frozen=True)
class Fail:
    """A run in which a batch fails at ``point``: that of the ``nth`` of the tables that are due."""

    point: str
    nth: int = 0

    def do(self, lake: Lake, due: tuple[Shape, ...]) -> None:
        lake.run_disturbed(due, self.point, self.nth, _fail)


@dataclass(frozen=True)
class CompactWithin:
    """A run in which another tool compacts a table just as its own batch passes ``point``."""

    point: str
    nth: int = 0

    def do(self, lake: Lake, due: tuple[Shape, ...]) -> None:
        lake.run_disturbed(due, self.point, self.nth, lambda table: Compact(table).do(lake, due))


def _fail(_table: str) -> None:
    raise OSError("arranged by a test")


def _literal(value: Any, kind: str) -> str:
    return "NULL" if value is None else f"CAST('{value}' AS {kind})"


History = tuple[Step, ...]


_WRITTEN_IN_SQL = [name for name, shape in BY_NAME.items() if name.startswith("gold") and not shape.python]


def steps(derived: tuple[str, ...]) -> st.SearchStrategy[Step]:
    """Any step on a lake with these derived tables but ``AddColumn``, after which most tables are rebuilt."""
    table, above = st.sampled_from(TABLES), st.sampled_from(derived)
    anywhere = st.one_of(table.map(lambda name: f"bronze.{name}"), above)
    nth = st.integers(0, 20)
    landing = table.flatmap(_landings)
    return st.one_of(
        landing,
        landing,
        landing,
        st.builds(LandAgain, table),
        st.builds(Land, table, st.just(()), st.just(1)),
        st.builds(RunBelow),
        st.builds(Compact, anywhere),
        st.builds(Maintain, anywhere),
        st.builds(Expire, anywhere),
        st.builds(RollBack, anywhere, st.integers(0, 2), st.sampled_from(("spark", "alone", "below"))),
        table.flatmap(_writes),
        st.builds(EditKeyed, table, st.builds(Newest, st.booleans(), st.booleans())),
        st.builds(Edit, nth, st.sampled_from(_WRITTEN_IN_SQL)),
        st.builds(WriteAbove, above, st.sampled_from(("insert", "delete"))),
        st.builds(Fail, st.sampled_from(POINTS), nth),
        st.builds(CompactWithin, st.sampled_from(("after-data", "before-swap")), nth),
    )


def _landings(table: str) -> st.SearchStrategy[Step]:
    version = st.tuples(st.sampled_from(KEYS[table]), st.integers(0, 24))
    versions = st.lists(version, min_size=2, max_size=8).map(tuple)
    return st.builds(Land, st.just(table), versions, st.integers(1, 3))


def _writes(table: str) -> st.SearchStrategy[Step]:
    change, key = st.sampled_from(("insert", "delete", "update")), st.sampled_from(KEYS[table])
    return st.builds(WriteBelow, st.just(table), change, key, st.integers(0, 24))


def histories(
    derived: tuple[str, ...], more: st.SearchStrategy[Step] | None = None
) -> st.SearchStrategy[History]:
    """Some orders, and what happens then: any of ``steps``, or of ``more``."""
    step = steps(derived) if more is None else st.one_of(steps(derived), more)
    others = st.lists(step, min_size=2, max_size=5).map(tuple)
    return st.tuples(_landings("orders"), others).map(lambda drawn: (drawn[0], *drawn[1]))


def begin(lake: Lake) -> None:
    """Some rows of everything, and the first run."""
    for table, keys in KEYS.items():
        Land(table, tuple((key, 1) for key in keys), 2).do(lake, ())
    lake.run(lake.shapes)


def play(lake: Lake, history: History, due: tuple[Shape, ...]) -> list[str]:
    """Each step of the history, and a run; what of all that is due is not right after it."""
    for step in history:
        step.do(lake, lake.as_defined(due))
    due = lake.as_defined(due)
    lake.run(due, check=False)
    return lake.wrong(due)


def by_steps(history: History, each: bool) -> tuple[History, ...]:
    """The history as it is, or each of its steps as a history of its own, with a run after it."""
    return tuple((step,) for step in history) if each else (history,)
