"""The parts of a table's definition: its columns, its query, its windows, its maintenance."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from lakesmith.errors import Place, did_you_mean
from lakesmith.project.declaring import (
    Choice,
    ColumnName,
    ColumnNames,
    ColumnOfTable,
    Rows,
    TableReference,
    WrongValue,
    duration,
    given,
    limited,
    setting,
    size,
)
from lakesmith.project.free_names import is_own
from lakesmith.project.schedules import SCHEDULE_FORMS, Schedule, schedule_of
from lakesmith.quoting import quoted_if_odd

ADDED_COLUMNS: Final = {
    "_source_file": ("string", "the landing file the row came from"),
    "_source_position": ("bigint", "the row's position in its file, from 1"),
    "_source_modified_at": ("timestamp", "when the file was last written"),
    "_ingested_at": ("timestamp", "when the batch that took the row began"),
    "_batch": ("bigint", "the number of the batch that took the row"),
}
"""The columns that lakesmith adds to the rows of a sourced table: their names, types and descriptions."""

_TAKEN_COLUMNS: Final = frozenset(
    {
        "_file",
        "_pos",
        "_deleted",
        "_partition",
        "_spec_id",
        "_row_id",
        "_last_updated_sequence_number",
        "_reasons",
        "_raw",
        "_raw_columns",
        "_raw_types",
        "_rounded",
    }
)
"""Reserved names: Iceberg's metadata columns (its spec: reserved field ids), and columns that batches add."""

VALID_FROM: Final = "valid_from"
VALID_TO: Final = "valid_to"
IS_CURRENT: Final = "is_current"

VALIDITY_COLUMNS: Final = (VALID_FROM, VALID_TO, IS_CURRENT)
"""Additional columns of a table that keeps versions: valid from, valid until, and whether it is current."""


def is_taken(column: str) -> bool:
    """Returns whether Iceberg or lakesmith reserves a column's name, in any case."""
    folded = column.lower()
    return folded in _TAKEN_COLUMNS or is_own(folded)


class OnBadRow(StrEnum):
    """What a bad row, which breaks a rule or cannot be parsed, does to its batch."""

    QUARANTINE = "quarantine"
    FAIL = "fail"


class OnFailedRule(StrEnum):
    """What a table rule that fails does to the batch."""

    STOP = "stop"
    WARN = "warn"


class History(StrEnum):
    """How many versions of a key a table keeps."""

    TYPE1 = "type1"
    TYPE2 = "type2"


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A table's logical name, ``layer.name``, such as ``bronze.orders``."""

    layer: str
    name: str

    def __str__(self) -> str:
        return f"{self.layer}.{self.name}"

    @classmethod
    def parse(cls, text: str) -> TableName:
        """Parses ``layer.name``. Raises ValueError unless there are exactly two parts."""
        layer, dot, name = text.partition(".")
        if not dot or not layer or not name or "." in name:
            raise ValueError(f"not a table name of the form layer.name: {text!r}")
        return cls(layer, name)


@dataclass(frozen=True, slots=True)
class Column:
    """A column in its long form.

    ``name``: its key. ``type`` is a Spark SQL type in lower case, None where the query gives it. An Avro
    schema also gives ``aliases``, more earlier names; ``default``, SQL of the value where a file or record
    lacks the field; and ``symbols`` of an enum that has a default, which is the first of them and replaces
    unknown texts. ``is_inferred``: the type, or a field in it, is that of the files' values.
    """

    name: str
    type: str | None = setting(None)
    """The column's Spark SQL type, such as `bigint`, `decimal(10,2)` or `array<string>`. A derived table may
    leave it to the query."""
    doc: str | None = setting(None)
    """What the column means; written into the Iceberg table."""
    required: bool = setting(usual=False)
    """Whether a row without a value here is a bad row (see `on_bad_row`)."""
    place: Place | None = None
    renamed_from: str | None = setting(None, min_length=1)
    """What the column was called before. The table's column is renamed with its next batch, in metadata
    alone, and keeps its values and its past. Files may use either name."""
    aliases: tuple[str, ...] = ()
    default: str | None = None
    symbols: tuple[str, ...] = ()
    is_inferred: bool = False
    pii: bool = setting(usual=False)
    """Whether the column has personal data: `lakesmith test --create` masks its values."""

    @property
    def earlier(self) -> tuple[str, ...]:
        """The earlier names that it had, or may have in files."""
        return (*((self.renamed_from,) if self.renamed_from else ()), *self.aliases)


TOMBSTONE: Final = "_tombstone"
KAFKA_COLUMNS: Final = (
    ("_key", "string"),
    ("_headers", "array<struct<name:string,value:string>>"),
    (TOMBSTONE, "boolean"),
)
"""Additional columns of a table with a topic: the record's key and headers, and whether it has no value."""

READ_COLUMNS: Final = (
    ("_change", "string"),
    ("_read_at", "timestamp"),
    ("_row_key", "string"),
    ("_row_hash", "string"),
)
"""Additional columns of a table read from PostgreSQL: ``insert``, ``update`` or ``delete``, the time of the
reading, the key as JSON, and a hash of the row's values, by which it is known again."""


def fixed_point(given: str | int) -> str:
    """Reads a point in time that never moves, unlike a tag: a snapshot's id or a time."""
    from datetime import datetime

    text = str(given)
    try:
        if not text.isdecimal():
            datetime.fromisoformat(text)
    except ValueError:
        expected = "the id of a snapshot, or a time such as 2026-01-31T12:30:00Z"
        raise WrongValue("{} is not a fixed point of the past", expected) from None
    return text


@dataclass(frozen=True, slots=True)
class ExternalTable:
    """An Iceberg table of another project or tool, as an input: see [external tables](../external.md). It is
    never written.

    ``table`` is its name in the project in the folder ``project``, in the target's other catalog ``catalog``,
    or in this project's own catalog. ``begin``: a snapshot's id or a time; only rows that came later count.
    None: all rows count.
    """

    place: Place
    table: TableName = setting(form=TableReference, read=TableName.parse, derived=True)
    """Its name there, such as `bronze.sales`. Default: the name of this file."""
    project: str | None = setting(None, min_length=1)
    """The folder of the lakesmith project that it belongs to, relative to this one's. Default: it is in the
    catalog of this project's target."""
    metadata: str | None = setting(None, min_length=1)
    """In place of `project`, `catalog` and `table`: the path of an Iceberg metadata file, `*.metadata.json`,
    relative to the project's folder."""
    begin: str | None = setting(None, key="from", form=str | int, read=fixed_point)
    """The id of a snapshot, or a time such as `2026-01-31T12:30:00Z`: only rows that came later count. The
    table must only have gained rows since. Default: all rows count."""
    catalog: str | None = setting(None, min_length=1)
    """The catalog that it is in, by its name in `other_catalogs` of the target. Default: that of the target
    itself."""


@dataclass(frozen=True, slots=True)
class SqlQuery:
    """One SELECT. ``place``: where ``text`` starts, so that messages can name its lines."""

    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class PythonQuery:
    """A function of the project that takes and returns DataFrames.

    ``arguments`` pairs each parameter of the function with its table, in the function's order. ``source`` is
    the file's text, which belongs to the fingerprint.
    """

    file: Path
    function: str = setting(derived=True, rows=Rows("its function", "own"))
    """The function of `NAME.py` that makes the table. Default: the one called NAME."""
    source: str = given()
    place: Place = given()
    arguments: tuple[tuple[str, TableName], ...] = setting(
        (), key="inputs", form=dict[str, TableReference], rows=Rows("its inputs", "own")
    )
    """The table for each parameter of the function, such as `{orders: bronze.orders}`. A parameter that is
    not here names its table itself, with two underscores: `bronze__orders`."""
    deterministic: bool = setting(usual=False)
    """Your declaration that the function always gives the same rows for the same inputs. Without it: full
    refreshes."""


WATERMARK_FORMS: Final = Choice(
    {"one": ColumnOfTable, "several": limited(list[ColumnOfTable], min_length=1)},
    lambda value: "several" if isinstance(value, list) else "one",
)


@dataclass(frozen=True, slots=True)
class Watermark:
    """The greatest value of a column of an input, minus a delay."""

    table: TableName
    column: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


def _watermarks(given: str | list[str]) -> tuple[Watermark, ...]:
    parts = (mark.rpartition(".") for mark in ([given] if isinstance(given, str) else given))
    return tuple(Watermark(TableName.parse(table), column) for table, _, column in parts)


@dataclass(frozen=True, slots=True)
class Emit:
    """Which rows of the query the table has: those of closed windows. Without it, a window is there from its
    first row on, and grows.

    ``closed``: the end of a window, which all ``watermarks`` must have passed. ``idle_after_seconds``: the
    watermark of an input without new rows for so long does not count; None: all always count.
    """

    query: SqlQuery
    closed: str = setting(form=ColumnName)
    """A column of the query with the end of the window. Its row appears once the watermark has passed
    that."""
    watermarks: tuple[Watermark, ...] = setting(key="watermark", form=WATERMARK_FORMS, read=_watermarks)
    """The column whose greatest value is the watermark, such as `silver.sales.sale_time`. Of several, in a
    list, the least counts."""
    delay_seconds: float = setting(key="delay", usual="0 seconds", form=str, read=duration())
    """How late rows may be: the watermark is so far behind the greatest value, such as `2 minutes`. Rows that
    come later still correct their window."""
    idle_after_seconds: float | None = setting(
        None, key="idle_after", form=str, read=duration(1e-9, within="more than 0 seconds")
    )
    """The watermark of an input without new rows for so long, such as `5 minutes`, keeps no window open until
    rows come again. Default: it always counts."""
    max_ahead_seconds: float = setting(
        key="max_ahead", usual="5 minutes", form=str, read=duration(), rows=Rows("its max_ahead")
    )
    """How far the time of a row may be ahead of its arrival, such as `1 hour`. Rows further ahead, such as
    those of a broken clock, do not move the watermark."""

    def __str__(self) -> str:
        return f"{self.closed} by {', '.join(map(str, self.watermarks))}"


class FileOrder(StrEnum):
    """The order of rows in compacted files."""

    BINPACK = "binpack"
    SORT = "sort"
    Z_ORDER = "z-order"


@dataclass(frozen=True, slots=True)
class Orphans:
    """Settings for files in a table's folder that no snapshot has, such as those of killed writers."""

    older_than: float = setting(
        3 * 86400.0, form=str, shared=True, read=duration(86400.0, "a day or more, such as 3 days")
    )
    """The least age of such files, such as `7 days`; one day or more, to spare the files of running writers.
    Default: `3 days`."""
    remove: bool = setting(False, shared=True)
    """Whether they are removed each time. Default: false; `lakesmith maintain --orphans` lists them and
    `--remove-orphans` removes them."""


@dataclass(frozen=True, slots=True)
class Maintenance:
    """How `lakesmith maintain` looks after a table: see [maintenance](../maintenance.md). Each setting is
    taken from the nearest file that has it.

    ``target_file_size`` is in bytes, ages are in seconds. ``columns`` are those of ``sort`` and ``z-order``.
    ``retain_last`` None: ``limits.NEWEST_POINTS_KEPT``, and one with ``older_than``.
    """

    target_file_size: int = setting(
        128 * 1024**2,
        form=str,
        shared=True,
        read=size(1024, expected="a size of 1 KiB or more, such as 128 MB"),
    )
    """The size to which small data files are compacted, such as `256 MB`. Files below half of it are small.
    Default: `128 MiB`."""
    strategy: FileOrder = setting(FileOrder.BINPACK, shared=True)
    """The order of rows in compacted files: `binpack` keeps it, `sort` sorts by `columns`, `z-order` by all
    of `columns` alike. Default: `binpack`."""
    columns: tuple[str, ...] = setting((), form=ColumnNames, shared=True, min_length=1)
    """With `sort` and `z-order`: the columns to sort by. Filters on them then skip files."""
    older_than: float | None = setting(
        None, form=str, shared=True, read=duration(3600.0, "an hour or more, such as 30 days")
    )
    """How long every point in time stays readable, such as `30 days`, an hour or more; older ones are
    removed. Default: the past is thinned out, and never cut off: see [what
    stays](../maintenance.md#the-past)."""
    retain_last: int | None = setting(None, shared=True, ge=1)
    """How many of the newest points in time stay, however old they are. Default: 1 with `older_than`, else
    100."""
    orphans: Orphans = setting(Orphans(), shared=True)
    """Files that no snapshot has."""
    schedule: Schedule | None = setting(None, form=SCHEDULE_FORMS, shared=True, read=schedule_of)
    """When `lakesmith up` maintains the table, in the forms of a table's `schedule`: `0 3 * * *`, `{every: 6
    hours}`. Default: never in full; tables with many batches are maintained in slices."""


class AsOf(StrEnum):
    """Which values of a lookup the rows of a derived table have."""

    ARRIVAL = "arrival"
    NOW = "now"


@dataclass(frozen=True, slots=True)
class Lookup:
    """How a table is looked up."""

    as_of: AsOf = setting()
    """`arrival`: rows keep the values that the looked-up table had when they arrived. `now`: a change there
    changes the matching rows, as with any other input."""


TRANSFORMS: Final = ("years", "months", "days", "hours", "bucket", "truncate")
_FIELD: Final = re.compile(r"\s*(?:(\w+)\s*\(\s*(?:(\d+)\s*,\s*)?([^(),]+?)\s*\)|([^(),]+?))\s*")
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SINGULAR: Final = {"year": "years", "month": "months", "day": "days", "date": "days", "hour": "hours"}


class PartitionProblem(ValueError):
    """A partition field that cannot be read. ``hint`` says what to write."""

    def __init__(self, what: str, hint: str | None = None) -> None:
        super().__init__(what)
        self.hint = hint


def partition_field(text: str) -> tuple[str, str]:
    """Returns the field in Spark's spelling, and its column.

    Raises PartitionProblem.

    >>> partition_field("bucket( 16,customer_id )")
    ('bucket(16, customer_id)', 'customer_id')
    >>> partition_field("`order city`")
    ('`order city`', 'order city')
    """
    found = _FIELD.fullmatch(text)
    if found is None:
        raise PartitionProblem(f"{text!r} is not a partition field")
    transform, number, inner, plain = found.groups()
    column = _unquoted(inner or plain)
    if transform is None:
        return quoted_if_odd(column), column
    name = _SINGULAR.get(transform.lower(), transform.lower())
    if name not in TRANSFORMS:
        raise PartitionProblem(f"there is no transform {transform!r}", did_you_mean(transform, TRANSFORMS))
    return _with_number(name, number, column, text), column


def _with_number(name: str, number: str | None, column: str, text: str) -> str:
    needs = name in {"bucket", "truncate"}
    if needs and (number is None or int(number) == 0):
        raise PartitionProblem(f"{text!r} lacks a number", f"write {name}(16, {column})")
    if not needs and number is not None:
        raise PartitionProblem(f"{text!r} has a number", f"write {name}({column})")
    return f"{name}({number}, {quoted_if_odd(column)})" if needs else f"{name}({quoted_if_odd(column)})"


def _unquoted(column: str) -> str:
    return column[1:-1].replace("``", "`") if len(column) > 2 and column[0] == column[-1] == "`" else column
