"""A request to read files, as frozen data: a source's files, grouped by shape, and the columns to read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from pyspark.sql.types import StructField

from lakesmith.project.definitions import OnInexact, Source
from lakesmith.project.spark_types import parse_type
from lakesmith.quoting import literal, quoted
from lakesmith.sources.columns.fields import FieldPath
from lakesmith.sources.columns.names import Spellings
from lakesmith.sources.columns.reading import ReadGroup, SourceRead
from lakesmith.sources.file_types import loaded_as, read_as
from lakesmith.spark.frames.sql_text import any_of, case, in_regex, not_null, sql_type
from lakesmith.spark.read.exact_text import TextFormats

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SOURCE_FILE = "_source_file"
SOURCE_POSITION = "_source_position"
SOURCE_MODIFIED_AT = "_source_modified_at"
RAW = "_raw"
REASONS = "_reasons"
ROUNDED = "_rounded"
"""The column that names the columns of a row whose values were rounded; NULL for most rows."""
PROVENANCE = (SOURCE_FILE, SOURCE_POSITION, SOURCE_MODIFIED_AT)


_NULL_IN_PATH: Final = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED: Final = re.compile(r"""["#%'*/:=?\\{\[\]^\x00-\x1f\x7f]""")


def path_text(column: str) -> str:
    """Returns SQL of a column's text in a row's path: behind ``name=`` in the name of the innermost such
    folder, decoded.

    The writer escapes (``ExternalCatalogUtils`` of Spark, ``FileUtils`` of Hive): ``%`` and two digits for
    one byte.
    """
    names = {column, _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", column), quote(column, safe="")}
    spelt = "|".join(sorted(map(in_regex, names)))
    raw = f"regexp_extract({SOURCE_FILE}, {literal(f'^(?:.*/)?(?iu:{spelt})=([^/]*)/')}, 1)"
    decoded = f"coalesce(try_url_decode(replace({raw}, '+', '%2B')), {raw})"
    return f"IF({raw} IN ('', {literal(_NULL_IN_PATH)}), NULL, {decoded})"


def types_read(group: ReadGroup) -> str | None:
    """Returns a group's columns with the types they are read as, as DDL; None if they are unknown.

    ``file_type`` reverts it.
    """
    if not group.file_types or not all(group.file_types):
        return None
    pairs = zip(group.file_columns, group.file_types, strict=True)
    return ", ".join(f"{quoted(column)} {_type_read(type_)}" for column, type_ in pairs)


def _type_read(file_type: str) -> str:
    """As DDL; a type that the file has and Spark lacks goes into the comment."""
    loaded = loaded_as(parse_type(file_type))
    plain = read_as(loaded).text
    return plain if plain == loaded.text else f"{plain} COMMENT {literal(loaded.text)}"


def file_type(column: StructField) -> str:
    """Returns the type that a column of ``types_read`` has in the file."""
    return str(column.metadata.get("comment") or sql_type(column.dataType).text)


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """One read. ``root`` is the project's folder; ``columns`` pairs each declared name with its Spark SQL
    type.

    ``records``: the records, if they are at hand; then no file is read. Texts (CSV, JSON) are in ``_value``;
    Parquet and Avro rows in columns of their own; the last three columns are the provenance. ``absent``: SQL
    of a column's value where a file, or a record, has none; else it is NULL. ``symbols``: as of ``Column``.
    ``keys``: as of ``SourceRead``. ``inferred``: the columns of ``Column.is_inferred``.
    """

    source: Source
    root: Path
    groups: tuple[ReadGroup, ...]
    columns: tuple[tuple[str, str], ...]
    records: DataFrame | None = None
    keys: Mapping[FieldPath, Spellings] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    symbols: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    inferred: frozenset[str] = frozenset()

    @classmethod
    def of(cls, read: SourceRead, root: Path, records: DataFrame | None = None) -> ReadRequest:
        """Makes the request that a plan asks for."""
        typed = tuple((column.name, column.type or "string") for column in read.columns)
        # Other sources have all fields in each record, or deletes, of which only the key is known.
        defaults = read.source.fills_absent
        absent = {it.name: it.default for it in read.columns if it.default and defaults}
        symbols = {it.name: it.symbols for it in read.columns if it.symbols}
        inferred = frozenset(it.name for it in read.columns if it.is_inferred)
        return cls(read.source, root, read.groups, typed, records, read.keys, absent, symbols, inferred)

    def formats(self, column: str) -> TextFormats:
        """Returns how the texts of a column are written."""
        return replace(TextFormats.of(self.source), is_inferred=column in self.inferred)

    def without(self, column: str, type_: str) -> str:
        """Returns SQL of the column where a file or a record lacks it."""
        return f"CAST({self.absent.get(column, 'NULL')} AS {type_})"

    def spelt(self, *path: str) -> list[str]:
        """Returns the keys of a column, or a field, in records, better ones first."""
        return [key for tier in self.keys.get(path, ((path[-1],),)) for key in tier]


def rounded_columns(request: ReadRequest, inexact: Iterable[tuple[str, str | None]]) -> str:
    """Returns SQL of ``ROUNDED``, from each column's test. Nothing is tested unless a source rounds."""
    tests = [(column, test) for column, test in inexact if test]
    if request.source.on_inexact is not OnInexact.ROUND or not tests:
        return "CAST(NULL AS array<string>)"
    names = not_null(case([(test, literal(column))]) for column, test in tests)
    return f"IF({any_of(test for _, test in tests)}, {names}, NULL)"
