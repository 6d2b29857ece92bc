"""Reads rows in quarantine again by the present definition, with the readers of landing files.

A text that did not parse is parsed again. A row that parsed, or that has typed values, comes from its JSON
with its types, and is cast to the declared ones as a Parquet file's row is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith.errors import SourceError
from lakesmith.execute.lake import LEDGER_PIN, Lake
from lakesmith.project.definitions import Column, KafkaSource, OnNewColumn, Source
from lakesmith.quoting import own
from lakesmith.sources.columns.names import ColumnMatch, match_columns
from lakesmith.sources.columns.reading import (
    ReadGroup,
    SourceRead,
    column_keys,
    record_shape,
    with_field_keys,
)
from lakesmith.sources.formats.registry import ColumnsIn, landing_format
from lakesmith.sources.shape import FileShape
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.frames.exact_json import frame_of, is_damaged, parse_types, read_json, restored
from lakesmith.spark.read.files import SparkRecords, no_rows, read_files, read_typed, request_of
from lakesmith.spark.read.kafka import put_together
from lakesmith.spark.read.records import VALUE
from lakesmith.spark.read.request import (
    PROVENANCE,
    SOURCE_FILE,
    SOURCE_MODIFIED_AT,
    SOURCE_POSITION,
    file_type,
)

ID: Final = own("id")
"""The number of a row of the quarantine during the batch."""

_SOURCE: Final = "_source"
_PROVENANCE: Final = (
    f"source_file AS {SOURCE_FILE}",
    f"{ID} AS {SOURCE_POSITION}",
    f"source_modified_at AS {SOURCE_MODIFIED_AT}",
)
_LOST_BYTES: Final = "exists(reasons, reason -> reason RLIKE '^(.*: )?not valid [A-Za-z0-9_-]+$')"


@dataclass(frozen=True)
class ReadAgain:
    """``rows``: as of ``read_files``, with the row's ``ID`` for its position. ``stuck``: the IDs of rows that
    cannot be read, because their bytes were not text of the declared encoding, or their source is gone.
    """

    rows: DataFrame
    stuck: DataFrame
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Form:
    """How some rows are kept: text with these ``columns``, or JSON with these ``types`` (DDL, or None)."""

    source: Source
    is_raw: bool
    columns: tuple[str, ...] = ()
    types: str | None = None

    @property
    def is_text(self) -> bool:
        return self.is_raw and landing_format(self.source).has_texts(self.source)

    def holds(self) -> SparkColumn:
        here = (F.col(_SOURCE) == self.source.name) & (F.col("raw").isNotNull() == F.lit(self.is_raw))
        if not self.is_text:
            return here & F.col("row_types").eqNullSafe(F.lit(self.types))
        none = F.array().cast("array<string>")
        columns = F.array(*map(F.lit, self.columns)).cast("array<string>")
        return here & (F.coalesce(F.col("raw_columns"), none) == columns)


def read_again(batch: Batch, lake: Lake, stored: DataFrame, columns: Sequence[Column]) -> ReadAgain:
    """Reads ``stored``, rows of a quarantine with an ``ID``, as rows of ``columns``.

    Raises SourceError LS433 if they lack a required column.
    """
    known = _with_source(batch, lake, stored)
    readable = F.col(_SOURCE).isNotNull() & ~F.coalesce(F.expr(_LOST_BYTES), F.lit(False))
    kept = known.where(readable)
    begin = ReadAgain(_nothing(batch, columns), known.where(~readable).select(ID), ())
    return reduce(_together, (_read(batch, kept, form, columns) for form in _forms(batch, kept)), begin)


def _with_source(batch: Batch, lake: Lake, stored: DataFrame) -> DataFrame:
    """The rows with the name of their source, by the ledger; null if the table lacks it now."""
    names = [source.name for source in batch.step.table.sources]
    if len(names) == 1:
        return stored.withColumn(_SOURCE, F.lit(names[0]))
    ledger = lake.ledgers.read(batch.name, batch.step.base.pin(LEDGER_PIN))
    files = [row.source_file for row in stored.select("source_file").distinct().collect()]
    known = [
        {"source_file": file, _SOURCE: ledger[file].source}
        for file in files
        if file in ledger and ledger[file].source in names
    ]
    sources = frame_of(batch.spark, known, f"source_file string, {_SOURCE} string")
    return stored.join(F.broadcast(sources), "source_file", "left")


def _forms(batch: Batch, kept: DataFrame) -> list[_Form]:
    sources = {source.name: source for source in batch.step.table.sources}
    found = kept.selectExpr(_SOURCE, "raw IS NOT NULL AS is_raw", "raw_columns", "row_types").distinct()
    forms = set()
    for row in found.collect():
        form = _Form(sources[row[_SOURCE]], row.is_raw)
        columns = tuple(row.raw_columns or ())
        forms.add(replace(form, columns=columns) if form.is_text else replace(form, types=row.row_types))
    return sorted(forms, key=repr)


def _read(batch: Batch, kept: DataFrame, form: _Form, columns: Sequence[Column]) -> ReadAgain:
    rows = kept.where(form.holds())
    if form.is_text:
        return _read_texts(batch, rows, form, columns)
    if form.types is None:
        return ReadAgain(_nothing(batch, columns), rows.select(ID), ())
    return _read_typed(batch, rows, form, columns)


def _read_texts(batch: Batch, rows: DataFrame, form: _Form, columns: Sequence[Column]) -> ReadAgain:
    text = put_together("raw", "`row`") if isinstance(form.source, KafkaSource) else "raw"
    records = rows.selectExpr(f"{text} AS {VALUE}", *_PROVENANCE)
    root = batch.project.root
    if landing_format(form.source).columns_in is ColumnsIn.RECORDS:
        read, named = _source_read(form, form.columns, columns), SparkRecords(batch.spark, root, records)
        shape, _ = record_shape(named, read, columns)
        match = _matched(columns, shape)
        read, _ = with_field_keys(named, replace(read, keys=column_keys(columns, shape.columns)))
    else:
        of_fields = landing_format(form.source).of_fields
        shape = of_fields(form.source, form.columns) if of_fields else _shape(form.columns)
        match = _matched(columns, shape)
        read = _source_read(form, shape.columns, columns, match)
        read = replace(read, groups=(replace(read.groups[0], layout=shape.layout),))
    request = request_of(batch.spark, read, root, records)
    return ReadAgain(read_files(batch.spark, request), rows.select(ID).limit(0), match.notes)


def _read_typed(batch: Batch, rows: DataFrame, form: _Form, columns: Sequence[Column]) -> ReadAgain:
    types = form.types or ""
    parsed = rows.selectExpr(f"{read_json('coalesce(raw, `row`)', types)} AS _row", ID, *_PROVENANCE)
    fields = parse_types(types).fields
    names = [field.name for field in fields]
    match = _matched(columns, _shape(names))
    records = parsed.where(f"NOT {is_damaged('_row', types)}").selectExpr(
        *restored("_row", types), *PROVENANCE
    )
    read = _source_read(form, names, columns, match, tuple(map(file_type, fields)))
    again = read_typed(batch.spark, request_of(batch.spark, read, batch.project.root, records))
    return ReadAgain(again, parsed.where(is_damaged("_row", types)).select(ID), match.notes)


def _shape(names: Sequence[str]) -> FileShape:
    return FileShape(tuple(names), (None,) * len(names))


def _matched(columns: Sequence[Column], shape: FileShape) -> ColumnMatch:
    match = match_columns(columns, shape, OnNewColumn.IGNORE)
    if match.problems:
        raise SourceError(match.problems)
    return match


def _source_read(
    form: _Form,
    names: Sequence[str],
    columns: Sequence[Column],
    match: ColumnMatch | None = None,
    types: tuple[str, ...] = (),
) -> SourceRead:
    spelt = tuple(pair for pair in (match.present if match else ()) if pair[0] != pair[1])
    in_path = (
        tuple(it.name for it in columns if "<" not in (it.type or ""))
        if form.source.has_foreign_files
        else ()
    )
    group = ReadGroup((), tuple(names), types, spelt, path_columns=in_path)
    return SourceRead(form.source, (group,), tuple(columns))


def _nothing(batch: Batch, columns: Sequence[Column]) -> DataFrame:
    return no_rows(batch.spark, [(column.name, column.type or "string") for column in columns])


def _together(one: ReadAgain, other: ReadAgain) -> ReadAgain:
    notes = tuple(dict.fromkeys((*one.notes, *other.notes)))
    return ReadAgain(one.rows.unionByName(other.rows), one.stuck.unionByName(other.stuck), notes)
