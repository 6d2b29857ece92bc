"""Scans files into records, each with the file it came from and its position in it.

The position must be the same whenever a file is read again, whatever files are read with it. Spark packs
blocks of several files into one partition, unless opening a file is declared to cost as much as one
partition: then a partition is one block, and ``monotonically_increasing_id`` counts a block's records. A
position is the block's first byte + the record's number in the block, from 1: for a file in one block simply
the record's number. It grows with the file and is unique because a record takes at least one byte; that does
not hold for compressed bytes, so such files stay whole.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial, reduce

from pyspark.sql import DataFrame, DataFrameReader, SparkSession

from lakesmith import limits
from lakesmith.project.definitions import OBJECT_SCHEME, CsvOptions, is_object
from lakesmith.quoting import literal, own, quoted
from lakesmith.sources.columns.reading import ReadGroup
from lakesmith.sources.formats.csv_records import csv_records
from lakesmith.sources.formats.registry import landing_format
from lakesmith.sources.formats.text import is_wide
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.threads import map_in_threads
from lakesmith.spark.read.in_python import Split, ToRecords, in_python
from lakesmith.spark.read.request import (
    PROVENANCE,
    SOURCE_FILE,
    SOURCE_MODIFIED_AT,
    SOURCE_POSITION,
    ReadRequest,
)

VALUE = "_value"
_WHOLE_FILE_BYTES = 1 << 40
_ORDINAL = (
    "(monotonically_increasing_id() & 8589934591L)"  # the low 33 bits: the row's number in its partition
)
METADATA = "_metadata"
"""Spark's hidden column of a file's facts. A column of that name in the file comes before it."""
_BLOCK_START = f"{METADATA}.file_block_start"
_HERE = own("here")
_NEVER_ENCODED = re.compile(r"[A-Za-z0-9/._-]+")
_PATTERN = re.compile(r"[{}\[\]*?\\]")
_PLAIN_ENDINGS = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".dat", ".data", ".log")


class Portion(Enum):
    """Files that are read alike: ``LARGE`` ones in blocks, ``SMALL`` ones whole, many to a task."""

    LARGE = "large"
    SMALL = "small"


@dataclass(frozen=True, slots=True)
class RecordScan:
    """A session to read with, whose settings do not disturb threads of the caller's."""

    session: SparkSession
    request: ReadRequest
    portion: Portion

    def reader(self, format_: str, files: Iterable[FileIdentity]) -> DataFrameReader:
        """Returns a reader of ``format_``, for ``absolute_paths`` of ``files``.

        Hadoop's usual local file system cannot open a name with a colon, and checks a file against a ``.crc``
        beside it, however outdated. The raw one does neither, but is created for every file, so it is used
        only where necessary.
        """
        reader = self.session.read.format(format_)
        paths = [_absolute(file.path, self.request) for file in files]
        if any(map(_needs_raw_access, paths)):
            reader = reader.option("fs.file.impl", "org.apache.hadoop.fs.RawLocalFileSystem")
            reader = reader.option("fs.file.impl.disable.cache", "true")
        return reader.option("__globPaths__", "false") if any(map(_is_read_alone, paths)) else reader

    def by_rows(self) -> RecordScan:
        """Returns a scan of Parquet by Spark's reader of rows, in place of its vectorised one."""
        clone = SparkSession(self.session.sparkContext, self.session._jsparkSession.cloneSession())
        clone.conf.set("spark.sql.parquet.enableVectorizedReader", "false")
        return replace(self, session=clone)

    def gathered(self, frame: DataFrame, group: ReadGroup) -> DataFrame:
        """Returns the group's records in as many partitions as they need; large files stay as they are.

        To be called before the projection that makes values of them, which is set up for every partition.
        """
        from_small_files = self.portion is Portion.SMALL and self.request.records is None
        return gathered(frame, [group]) if from_small_files else frame

    def provenance(self, files: Iterable[FileIdentity], metadata: str = METADATA) -> tuple[str, str]:
        """Returns SQL of a row's file and of its time. ``metadata``: the column that has them."""
        path = source_path(files, self.request, metadata)
        return f"{path} AS {SOURCE_FILE}", f"{metadata}.file_modification_time AS {SOURCE_MODIFIED_AT}"


def read_portions(
    spark: SparkSession, request: ReadRequest, records: Callable[[RecordScan, ReadGroup], DataFrame]
) -> DataFrame | None:
    """Applies ``records`` to each group of each portion; all of it in one frame of ``spark``, None without
    files.

    Groups are unioned before small files are gathered into tasks, so that many groups do not make many tasks.
    """
    if request.records is not None:
        at_hand = RecordScan(scan_session(spark), request, Portion.SMALL)
        return owned_by(spark, union_all([records(at_hand, group) for group in request.groups]))
    frames = []
    for portion in Portion:
        groups = _groups_of(request, portion)
        if groups:
            scan = RecordScan(scan_session(spark, portion), request, portion)
            whole = union_all(_each(scan, groups, records))
            frames.append(gathered(whole, groups) if portion is Portion.SMALL else whole)
    return owned_by(spark, union_all(frames)) if frames else None


def _each(
    scan: RecordScan, groups: list[ReadGroup], records: Callable[[RecordScan, ReadGroup], DataFrame]
) -> list[DataFrame]:
    """``records`` of each group.

    Spark examines the files of a frame one after the other, and waits for S3 twice each time: many objects
    get several frames, side by side.
    """
    if not scan.request.source.is_in_store:
        return [records(scan, group) for group in groups]
    files = sum(len(group.files) for group in groups)
    size = max(limits.OBJECTS_A_FRAME, -(-files // limits.OBJECT_THREADS))
    parts = [
        replace(group, files=group.files[start : start + size])
        for group in groups
        for start in range(0, len(group.files), size)
    ]
    return map_in_threads(lambda part: records(scan, part), parts, over_network=True)


def scan_session(spark: SparkSession, portion: Portion = Portion.SMALL) -> SparkSession:
    """Returns a clone of ``spark`` for reading, which skips nothing and mixes no blocks."""
    clone = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    block = limits.READ_BLOCK_BYTES if portion is Portion.LARGE else _WHOLE_FILE_BYTES
    for key, value in {
        "spark.sql.files.maxPartitionBytes": block,
        "spark.sql.files.openCostInBytes": block + 1,
        "spark.sql.files.minPartitionNum": 1,
        "spark.sql.files.ignoreMissingFiles": "false",
        "spark.sql.files.ignoreCorruptFiles": "false",
        "spark.sql.sources.parallelPartitionDiscovery.threshold": 1_000_000,
        "spark.sql.caseSensitive": "true",
        "spark.sql.legacy.javaCharsets": "true",
        "spark.sql.legacy.codingErrorAction": "true",
        "spark.sql.variant.allowDuplicateKeys": "false",
        "spark.sql.legacy.parquet.nanosAsLong": "true",
        "parquet.page.verify-checksum.enabled": "true",
    }.items():
        clone.conf.set(key, str(value))
    return clone


def row_by_row(scan: RecordScan) -> RecordScan:
    """Returns a scan that reads Parquet by Spark's row reader, not by its vectorised one."""
    session = scan_session(scan.session, scan.portion)
    session.conf.set("spark.sql.parquet.enableVectorizedReader", "false")
    return replace(scan, session=session)


def owned_by(spark: SparkSession, frame: DataFrame) -> DataFrame:
    """Returns the same rows as a frame of ``spark``. Its scans keep their session's settings."""
    jvm = spark._jvm
    assert jvm is not None
    dataset = jvm.org.apache.spark.sql.classic.Dataset
    plan = frame._jdf.queryExecution().analyzed()
    return DataFrame(dataset.ofRows(spark._jsparkSession, plan), spark)


def union_all(frames: list[DataFrame]) -> DataFrame:
    """The rows of all frames, which have the same columns in the same order."""
    return reduce(DataFrame.union, frames)


def text_records(scan: RecordScan, group: ReadGroup, before: int, comment: str = "") -> DataFrame:
    """Returns the lines of text files: ``_value`` and the provenance.

    Blank lines, comments and each file's lines ``before`` the first record are left out.

    Lines end as Hadoop reads them: LF, CRLF or CR; a UTF-8 byte order mark is taken off.
    """
    if scan.request.records is not None:
        return owned_by(scan.session, scan.request.records)
    if group.layout.padded:
        lines_alone = partial(csv_records, delimiter="", quote="", escape="", comment=comment, skip=before)
        return split_records(scan, group, lines_alone)
    csv = scan.request.source.csv
    paths = absolute_paths(group.files, scan.request)
    lines = (
        scan.reader("text", group.files)
        .load(paths)
        .selectExpr(
            f"{_decoded(csv)} AS {VALUE}",
            *scan.provenance(group.files),
            f"{_BLOCK_START} AS _start",
            f"{_ORDINAL} AS _line",
        )
    )
    kept = [f"trim({VALUE}) <> ''"]
    kept += [f"NOT (_start = 0 AND _line < {before})"] if before else []
    kept += [f"NOT startswith({VALUE}, {literal(comment)})"] if comment else []
    return _with_position(lines.where(" AND ".join(kept)))


def split_records(scan: RecordScan, group: ReadGroup, split: ToRecords) -> DataFrame:
    """Returns records that are not lines, as ``text_records``. ``split`` makes them of each file's lines."""
    if scan.request.records is not None:
        return owned_by(scan.session, scan.request.records)
    file, at = source_path(group.files, scan.request), "unix_micros(_metadata.file_modification_time)"
    if group.layout.padded:
        files = scan.reader("binaryFile", group.files).load(absolute_paths(group.files, scan.request))
        encoding = "UTF-8" if _is_as_it_is(scan.request.source.csv) else scan.request.source.csv.encoding
        found = in_python(files, "content", file, at, Split(split, unpacked_as=encoding))
    else:
        lines, text = _raw_lines(scan, group)
        found = in_python(lines, text, file, at, Split(split))
    return found.selectExpr(
        f"CAST(value AS STRING) AS {VALUE}",
        f"file AS {SOURCE_FILE}",
        f"number AS {SOURCE_POSITION}",
        f"timestamp_micros(at) AS {SOURCE_MODIFIED_AT}",
    )


def _raw_lines(scan: RecordScan, group: ReadGroup) -> tuple[DataFrame, str]:
    """The texts between two LF, blank or not, and SQL of their bytes in UTF-8."""
    csv, reader, text = scan.request.source.csv, scan.reader("text", group.files), ""
    if is_wide(csv):
        # As CSV of one column, whose delimiter no text has: the reader of texts finds line ends inside wide
        # characters.
        settings = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_text", "multiLine": "true"}
        reader = scan.reader("csv", group.files).schema("line string, _text string")
        reader = reader.options(**settings, sep="\x01", quote="", escape="", encoding=csv.encoding)
        text = "coalesce(_text, line, '')"
    frame = reader.option("lineSep", "\n").load(absolute_paths(group.files, scan.request))
    return frame, f"CAST({text or _decoded(csv)} AS BINARY)"


def without_last(records: DataFrame, count: int) -> DataFrame:
    from_end = f"row_number() OVER (PARTITION BY {SOURCE_FILE} ORDER BY {SOURCE_POSITION} DESC) AS _from_end"
    return records.selectExpr("*", from_end).where(f"_from_end > {count}").drop("_from_end")


def where_last(frame: DataFrame, condition: str) -> DataFrame:
    """Returns the rows of which ``condition`` is true, after the frame's columns have been computed.

    Spark moves a filter below the projections before it, and repeats what they compute for each use in the
    condition: a line would be parsed again for each of its fields. It does not move a filter below an
    aggregate that counts rows.
    """
    numbered = frame.selectExpr("*", f"monotonically_increasing_id() AS {_HERE}")
    return numbered.where(f"({condition}) AND {_HERE} >= 0").drop(_HERE)


def record_number() -> str:
    """Returns SQL of a row's number in its partition, from 0; to be called before any row is left out."""
    return _ORDINAL


def undecoded(csv: CsvOptions) -> str:
    """Returns SQL that is true if a record's bytes are not text of the declared encoding.

    Bytes that were decoded before became U+FFFD; a file with that character in it cannot be distinguished.
    """
    strange = f" OR contains({VALUE}, '\\uFFFD')" if csv.encoding.upper() != "UTF-8" else ""
    return f"NOT is_valid_utf8({VALUE}){strange}"


def csv_options(csv: CsvOptions) -> tuple[tuple[str, str], ...]:
    """Returns the options that separate fields."""
    return (("sep", csv.delimiter), ("quote", csv.quote), ("escape", csv.escape))


def _needs_raw_access(path: str) -> bool:
    folder, _, file = path.rpartition("/")
    return not is_object(path) and (":" in path or os.path.exists(f"{folder}/.{file}.crc"))  # noqa: PTH110


def absolute_paths(files: Iterable[FileIdentity], request: ReadRequest) -> list[str]:
    """Returns the files as Spark takes them: absolute, with a scheme, nothing encoded, patterns escaped.

    Turning patterns off (``__globPaths__``) does not work for several files: Spark then reads *all* paths
    again for each path that looks like a pattern (``DataSource.checkAndGlobPathIfNecessary``), so that rows
    are read twice.
    """
    absolute = (_escaped(_absolute(file.path, request)) for file in files)
    return [path if is_object(path) else f"file:{path}" for path in absolute]


def _escaped(path: str) -> str:
    return path if _is_read_alone(path) else _PATTERN.sub(r"\\\g<0>", path)


def _is_read_alone(path: str) -> bool:
    """Whether to read a file by itself: Hadoop cannot match a pattern to a name with a colon."""
    return ":" in path.removeprefix(OBJECT_SCHEME) and _PATTERN.search(path) is not None


def source_path(files: Iterable[FileIdentity], request: ReadRequest, metadata: str = METADATA) -> str:
    """SQL that turns a row's file path, which Spark URL-encodes, into ``FileIdentity.path``."""
    raw = f"{metadata}.file_path"
    if request.source.is_in_store:
        return _decoded_path(raw)
    absolute = {file: _absolute(file.path, request) for file in files}
    prefixes = sorted({_prefixes(file.path, path) for file, path in absolute.items()}, reverse=True)
    if len(prefixes) == 1 and all(_NEVER_ENCODED.fullmatch(path) for path in absolute.values()):
        # The usual case, tested for every row: nothing to decode, and all prefixes are of one length. As
        # bytes: Spark counts the characters of a text for each part that it takes.
        usual, short = (
            _renamed(f"CAST({raw} AS BINARY)", scheme + prefixes[0][0], prefixes[0][1], "CAST({} AS STRING)")
            for scheme in ("file://", "file:")
        )
        return f"IF(startswith({raw}, 'file:///'), {usual}, {short})"
    plain = _decoded_path(raw)
    local = f"substr({plain}, IF(startswith({raw}, 'file:///'), 8, 6))"
    shown = local
    for beginning, instead in reversed(prefixes):
        shown = (
            f"IF(startswith({local}, {literal(beginning)}), {_renamed(local, beginning, instead)}, {shown})"
        )
    return shown


def _decoded_path(raw: str) -> str:
    # url_decode makes a blank of '+', which Spark leaves as it is.
    return f"IF(instr({raw}, '%') = 0, {raw}, url_decode(replace({raw}, '+', '%2B')))"


def _renamed(path: str, start: str, instead: str, as_text: str = "{}") -> str:
    rest = as_text.format(f"substr({path}, {len(start) + 1})")
    return f"concat({literal(instead)}, {rest})" if instead else rest


def _prefixes(path: str, absolute: str) -> tuple[str, str]:
    """The prefixes of a file's absolute path and of its name in the project, up to their common rest."""
    if absolute.endswith("/" + path) or absolute == path:
        return absolute[: len(absolute) - len(path)], ""
    here, shown = absolute.rpartition("/")[0], path.rpartition("/")[0]
    return here + "/", shown + "/"


def _absolute(path: str, request: ReadRequest) -> str:
    return path if is_object(path) else os.path.abspath(request.root / path)  # noqa: PTH100


def _decoded(csv: CsvOptions) -> str:
    if _is_as_it_is(csv):
        return "value"
    return f"decode(CAST(value AS BINARY), {literal(csv.encoding)})"


def _is_as_it_is(csv: CsvOptions) -> bool:
    return csv.encoding.upper().replace("_", "-") in ("UTF-8", "UTF8", "US-ASCII", "ASCII")


def _with_position(records: DataFrame) -> DataFrame:
    # A second count, after the lines that are not records have gone.
    position = f"_start + {_ORDINAL} + 1 AS {SOURCE_POSITION}"
    counted = records.selectExpr(VALUE, SOURCE_FILE, position, SOURCE_MODIFIED_AT)
    return counted.select(VALUE, *(quoted(column) for column in PROVENANCE))


def _groups_of(request: ReadRequest, portion: Portion) -> list[ReadGroup]:
    groups = []
    for group in request.groups:
        files = tuple(
            file for file in group.files if file.size > 0 and _portion(file, group, request) is portion
        )
        alone = dict.fromkeys(file for file in files if _is_read_alone(_absolute(file.path, request)))
        together = tuple(file for file in files if file not in alone)
        groups += [replace(group, files=part) for part in (together, *((file,) for file in alone)) if part]
    return groups


def _portion(file: FileIdentity, group: ReadGroup, request: ReadRequest) -> Portion:
    """Whether a file is read in blocks: of lines; other rows are numbered through the file."""
    has_lines = landing_format(request.source).has_lines(request.source) and not group.layout.is_stream
    plain = has_lines and file.path.lower().endswith(_PLAIN_ENDINGS)
    return Portion.LARGE if plain and file.size >= limits.LARGE_FILE_BYTES else Portion.SMALL


def gathered(frame: DataFrame, groups: Sequence[ReadGroup]) -> DataFrame:
    """The partitions merged into as many as there is work for; a row keeps its number."""
    return frame.coalesce(tasks_for(groups, frame.sparkSession.sparkContext.defaultParallelism))


def tasks_for(groups: Sequence[ReadGroup], parallelism: int) -> int:
    """Returns how many tasks read small files."""
    files = sum(len(group.files) for group in groups)
    size = sum(file.size for group in groups for file in group.files)
    work = size + files * limits.OPENING_A_LANDING_FILE_BYTES
    worth = min(parallelism, -(-work // limits.READING_TASK_BYTES))
    return max(1, worth, -(-size // limits.READ_BLOCK_BYTES))


def is_read_plainly(request: ReadRequest, files: Sequence[FileIdentity]) -> bool:
    """Returns whether files are on local disks, are each read whole, and need no option of their own."""
    if request.records is not None or request.source.is_in_store:
        return False
    paths = [_absolute(file.path, request) for file in files if file.size < limits.LARGE_FILE_BYTES]
    return len(paths) == len(files) and not any(
        _needs_raw_access(path) or _is_read_alone(path) for path in paths
    )
