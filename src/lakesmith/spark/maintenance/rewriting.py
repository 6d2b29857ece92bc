"""``lakesmith rewrite``: old data files into the table's present partitioning and order, in pieces. Iceberg
does the rewriting.

A piece takes the files with the least values of the column that the table is partitioned by, and all that
overlap them. What it has done stays: whoever comes next sees by the files which are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import functions as F

from lakesmith import limits
from lakesmith.errors import RunError
from lakesmith.execute.faults import reach
from lakesmith.project.definitions import TableName
from lakesmith.quoting import literal, quoted
from lakesmith.spark.iceberg.commits import JavaTables, physical
from lakesmith.spark.iceberg.ddl import partition_as_declared
from lakesmith.spark.iceberg.procedures import Rewritten, rewrite_data_files
from lakesmith.spark.maintenance.maintainer import Maintainer
from lakesmith.spark.maintenance.tasks import remove_left_deletes

_VOID: Final = "void"


@dataclass(frozen=True, slots=True)
class OldFile:
    """A data file to be rewritten, its size in bytes, and the ``least`` value of the column that pieces are
    cut by, as SQL writes it; None: not known, or all are NULL."""

    path: str
    size: int
    least: str | None = None


@dataclass(frozen=True, slots=True)
class Brought:
    """What was rewritten of a table, and in how many pieces."""

    table: TableName
    done: Rewritten
    pieces: int


def piece_of(files: Sequence[OldFile]) -> list[OldFile]:
    """The first of the files, as many as make a piece; those without a least value by themselves."""
    chosen: list[OldFile] = []
    size = 0
    for file in files:
        size += file.size
        if chosen and (size > limits.PIECE_BYTES or (chosen[0].least is None) != (file.least is None)):
            break
        chosen.append(file)
    return chosen


def rewrite(maintainer: Maintainer, name: TableName, everything: bool) -> Brought:
    """Rewrites files of earlier partitionings, or ``everything``. Raises LakesmithError with the root cause,
    RunStopped; finished pieces stay."""
    return maintainer.explained(lambda: _Rewriting(maintainer, name, everything).do())


class _Rewriting:
    def __init__(self, maintainer: Maintainer, name: TableName, everything: bool) -> None:
        self._maintainer = maintainer
        self._name = name
        self._spark = maintainer.session.spark
        self._settings = maintainer.lake.project.table(name).maintenance
        self._columns = maintainer.sort_columns(self._settings, name)
        self._everything = everything
        maintainer.piece(name, self._partition)
        self._column = self._cut_by()

    def _partition(self) -> None:
        table, state = self._maintainer.lake.project.table(self._name), self._maintainer.state(self._name)
        partition_as_declared(self._spark, table, state)

    def do(self) -> Brought:
        wanted = {file.path for file in self._files()} if self._everything else None
        done, pieces = Rewritten(), 0
        while old := self._old(wanted):
            self._maintainer.say(f"{self._name}: {len(old):,} data files are left to rewrite")
            new = self._do_piece(self._where(piece_of(old)))
            if self._old(wanted) == old:
                # Bounds that tell nothing: all at once.
                new = self._do_piece(None)
            if self._old(wanted) == old:
                raise _no_progress(self._name, len(old))
            done, pieces = Rewritten(done.files + new.files, done.into + new.into), pieces + 1
        return Brought(self._name, done, pieces)

    def _old(self, wanted: set[str] | None) -> list[OldFile]:
        files = self._files(of_earlier_specs=wanted is None)
        return [file for file in files if wanted is None or file.path in wanted]

    def _do_piece(self, where: str | None) -> Rewritten:
        done = self._maintainer.piece(self._name, lambda: self._piece(where))
        reach("rewrite-piece", str(self._name))
        return done

    def _piece(self, where: str | None) -> Rewritten:
        target = self._settings.target_file_size
        options = {
            "rewrite-all": "true",
            "target-file-size-bytes": str(target),
            "max-file-group-size-bytes": str(max(limits.PIECE_BYTES, 2 * target)),
        }
        order = self._settings.strategy
        done = rewrite_data_files(self._spark, self._name, options, order, self._columns, where)
        remove_left_deletes(self._spark, self._maintainer.lake, self._name)
        return done

    def _where(self, files: Sequence[OldFile]) -> str | None:
        """Returns the condition for the files' rows and those of all overlapping files."""
        if self._column is None:
            return None
        column = ".".join(map(quoted, self._column.split(".")))
        if files[0].least is None:
            return f"{column} IS NULL"
        kind = self._spark.table(physical(self._name)).select(column).schema[0].dataType.simpleString()
        # A file whose least value lies between these two has a row there.
        least, last = (f"CAST({literal(each.least or '')} AS {kind})" for each in (files[0], files[-1]))
        return f"{column} >= {least} AND {column} <= {last}"

    def _cut_by(self) -> str | None:
        """Returns the column to cut pieces by: of the partitioning, else of the sort order."""
        table = JavaTables(self._spark).load(self._name)
        for field in table.spec().fields():
            if str(field.transform()) != _VOID:
                return str(table.schema().findColumnName(field.sourceId()))
        return next(iter(self._columns), None)

    def _files(self, of_earlier_specs: bool = False) -> list[OldFile]:
        """Returns the data files, those with the least values first."""
        files = self._spark.table(f"{physical(self._name)}.data_files")
        if of_earlier_specs:
            files = files.where(F.col("spec_id") != _spec(self._spark, self._name))
        least = F.lit(None)
        if self._column is not None:
            least = F.col("readable_metrics").getField(self._column).getField("lower_bound")
        rows = files.orderBy(least.asc_nulls_first(), "file_path").select(
            "file_path", "file_size_in_bytes", least.cast("string")
        )
        return [OldFile(str(row[0]), int(row[1]), row[2]) for row in rows.collect()]


def _spec(spark: Any, name: TableName) -> int:
    return int(JavaTables(spark).load(name).spec().specId())


def _no_progress(name: TableName, files: int) -> RunError:
    return RunError.of(
        "LS636",
        f"{name} was rewritten, and {files} of its files are as they were",
        expected="new files in place of them",
        hint="another writer may have brought them back; look at `lakesmith history`, and try again",
    )
