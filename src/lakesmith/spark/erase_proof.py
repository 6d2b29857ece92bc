"""Looks into every file that is left of tables that people were erased from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from lakesmith.catalog.metadata import plain_location
from lakesmith.catalog.state import MAIN, TableState
from lakesmith.execute.erase import Erasure, columns_of
from lakesmith.execute.lake import LEDGER_PIN, Lake
from lakesmith.project.definitions import TableName
from lakesmith.project.layout import RESERVED_LAYER
from lakesmith.quoting import quoted
from lakesmith.sources.ledger_table import EMPTY_TAG
from lakesmith.spark.batch.sidecar import SidecarKind
from lakesmith.spark.erase import beside
from lakesmith.spark.iceberg.commits import physical
from lakesmith.spark.iceberg.refs import explaining
from lakesmith.spark.iceberg.unnamed_files import TableFolder, UnnamedFile
from lakesmith.spark.kinds.erase import in_quarantine
from lakesmith.spark.maintenance.orphans import require_no_other
from lakesmith.spark.start.session import SessionHandle
from lakesmith.sql.erasure_filter import ErasureFilter

_VECTORS: Final = "-deletes.puffin"
_PARQUET: Final = ".parquet"
_MAGIC: Final = 4
"""Bytes with which a Parquet file begins: one that is killed at once has these alone, or none."""
_DELETED: Final = 2
"""The status of a manifest's entry whose file went with that snapshot (Iceberg's spec, "Manifests")."""
_KEEPS_FOLDERS: Final = "s3tables"
"""The catalog whose tables' folders nobody may list; it removes files that no snapshot names by itself."""
_WAY_OUT: Final = (
    "lakesmith maintain --remove-orphans removes such files once they are old enough; call this again then"
)


@dataclass(frozen=True, slots=True)
class Proof:
    """What was found afterwards: ``left`` in words, empty if all is gone. ``files`` and ``rows`` of the
    tables, ``unnamed_files`` in their folders (None: not listable)."""

    files: int
    rows: int
    unnamed_files: int | None = 0
    left: tuple[str, ...] = field(default=())


def prove(session: SessionHandle, lake: Lake, erasure: Erasure) -> Proof:
    """Proves that no file of the tables has the rows: files that tables name, and others in their folders."""
    spark, left = session.spark, list[str]()
    files = rows = unnamed = 0
    is_listed = lake.project.target.type != _KEEPS_FOLDERS
    with explaining(session, lake.project.secrets):
        for name in (each for table in erasure.tables for each in (table, *beside(table))):
            state = lake.catalog.table(name.layer, name.name)
            if state is None or state.head is None:
                continue
            look = _Look(spark, name, state, erasure.persons)
            rows += spark.table(physical(name)).count()
            files += len(look.folder.named_data)
            left += look.left_in_table()
            if is_listed:
                lost = _Lost(look)
                left += lost.left()
                unnamed += lost.files
    return Proof(files, rows, unnamed if is_listed else None, tuple(left))


class _Look:
    def __init__(
        self, spark: SparkSession, name: TableName, state: TableState, persons: ErasureFilter
    ) -> None:
        self.spark, self.name, self._state = spark, name, state
        self.folder = TableFolder(spark, name)
        self._conditions = list(_conditions(name, columns_of(state), persons))
        self._is_ledger = _is_sidecar(name, LEDGER_PIN)
        self.can_tell = (
            self._is_ledger or _is_sidecar(name, SidecarKind.QUARANTINE) or persons.within(columns_of(state))
        )

    def theirs(self, rows: DataFrame) -> int:
        """Returns how many rows are the persons', or mention one of their files; 0 if nothing can tell."""
        return rows.where(" OR ".join(self._conditions)).count() if self._conditions else 0

    def others(self, rows: DataFrame) -> int:
        """How many different rows the table does not have."""
        live = self.spark.table(physical(self.name))
        return rows.select(*map(quoted, live.columns)).subtract(live).count()

    def left_in_table(self) -> Iterator[str]:
        """What is wrong with what the table names."""
        name, table = self.name, physical(self.name)
        kept = {self._state.refs[MAIN], *(self._state.refs[EMPTY_TAG] for _ in [0] if self._is_ledger)}
        if set(self._state.snapshots) != kept:
            yield f"{name} still has older snapshots"
        if hidden := self._count(f"SELECT count(*) FROM {table}.delete_files"):
            yield (
                f"{name} has {hidden} files of deletes, which may hide rows that are still in its data files"
            )
        if gone := self._count(f"SELECT count(*) FROM {table}.entries WHERE status = {_DELETED}"):
            yield (
                f"{name} has manifests that name {gone} files that went, with the least and greatest "
                "values in them"
            )
        if found := self.theirs(self.spark.table(table)):
            yield f"{name} still has {found} rows of theirs, or from files whose names tell of them"

    def _count(self, query: str) -> int:
        return int(self.spark.sql(query).collect()[0][0])


def _conditions(name: TableName, columns: frozenset[str], persons: ErasureFilter) -> Iterator[str]:
    """Returns SQL conditions for the persons' rows and for rows that name their files."""
    if _is_sidecar(name, SidecarKind.QUARANTINE):
        yield f"({in_quarantine(persons)})"
    elif persons.within(columns):
        yield f"({persons.condition()})"
    files = {"path"} if _is_sidecar(name, LEDGER_PIN) else {"source_file", "_source_file"}
    yield from (persons.named_in(column) for column in sorted(files & columns))


def _is_sidecar(name: TableName, kind: str) -> bool:
    return name.layer == RESERVED_LAYER and name.name.endswith(f"__{kind}")


class _Lost:
    """At files in the folder that no snapshot names. One whose rows are nobody's of them holds nothing; where
    nothing tells whose they are, the table must have the same rows."""

    def __init__(self, look: _Look) -> None:
        self._look, self._folder = look, look.folder
        self._data = self._folder.unnamed_data()
        self._manifests = self._folder.unnamed_manifests()
        self.files = len(self._data) + len(self._manifests)

    def left(self) -> Iterator[str]:
        """What they hold or may hold. Manifests of commits that can no more be made are removed."""
        wrong = {file.path: why for file in self._data if (why := self._of_data(file))}
        clean = self._folder.named.union(_plain(file for file in self._data if file.path not in wrong))
        for file in self._manifests:
            others = self._others(file, clean)
            if others is None:
                wrong[file.path] = "cannot be read"
            elif not others:
                # Its bounds are values of files that are there and clean.
                clean = clean.union(_plain([file]))
            elif all(map(self._folder.has, others)):
                wrong[file.path] = f"has the least and greatest values of {len(others)} others"
            else:
                # Nobody can commit it: all manifests it may have been made from were rewritten, and who is
                # at a commit begins from those.
                look, metadata = self._look, self._folder.metadata_files()
                require_no_other(look.spark, self._folder.table, look.name, metadata)
                self._folder.remove(file)
        for path, why in wrong.items():
            yield f"{self._look.name}: {path}, which no snapshot names, {why}; {_WAY_OUT}"

    def _of_data(self, file: UnnamedFile) -> str | None:
        # Vectors hold places of rows, and no values: what a killed writer left of them tells nothing of
        # anybody.
        if file.size <= _MAGIC or file.path.endswith(_VECTORS):
            return None
        if not file.path.endswith(_PARQUET):
            return "is not looked into"
        try:
            with self._folder.rows([file]) as rows:
                found = self._look.theirs(rows) if self._look.can_tell else self._look.others(rows)
        except (PySparkException, Py4JJavaError):
            return "cannot be read"
        if not found:
            return None
        theirs = (
            "of theirs"
            if self._look.can_tell
            else "that the table does not have, and nothing tells whose they are"
        )
        return f"has {found} rows {theirs}"

    def _others(self, file: UnnamedFile, clean: frozenset[str]) -> frozenset[str] | None:
        """Returns files of a manifest that are not ``clean``; None if it cannot be read."""
        try:
            return self._folder.names_in(file) - clean
        except (ValueError, EOFError):
            return None


def _plain(files: Iterable[UnnamedFile]) -> Sequence[str]:
    return [plain_location(file.path) for file in files]
