"""Names the landing files over which a batch failed: those that Spark cannot read, and those of which it
reads another number of rows than they have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from lakesmith.execute.engine import Outdated
from lakesmith.plan.steps import FileIntake, TableStep
from lakesmith.project.definitions import is_object
from lakesmith.sources.bad_files import BadFile, BadFiles, unreadable
from lakesmith.sources.formats.registry import landing_format
from lakesmith.sources.inspect import count_records, damaged_files, padded_files
from lakesmith.sources.listing import absolute_path
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.names import named
from lakesmith.sources.shape import UnreadableFile
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.jvm.failures import causes_of, full_text, unreadable_file
from lakesmith.spark.read.request import SOURCE_FILE

_OF_CONTENT: Final = re.compile(
    r"\bAvro\w*Exception\b|the data may be corrupt|not a gzip file|\bParquetDecodingException\b"
    r"|\bNUMERIC_VALUE_OUT_OF_RANGE\b|\bDECIMAL_PRECISION_EXCEEDS"
)
"""Messages of Spark's readers about bytes that are not of the format, and not about a disk or a network."""

_OF_CHECKED: Final = re.compile(
    r"\b(NullPointer|\w*IndexOutOfBounds|NegativeArraySize|BufferUnderflow|ClassCast|IllegalArgument|EOF"
    r"|IllegalState|InvalidSchema|InvalidRecord|TProtocol|TTransport|SparkUnsupportedOperation"
    r"|BadConfiguration)Exception\b|ClassNotFoundException: \S+Codec\b|Invalid Spark read type"
)
"""How Spark's reader fails at a file that was read whole before (``LandingFormat.is_checked``)."""


@contextmanager
def naming_bad_files(batch: Batch) -> Iterator[None]:
    """Raises BadFiles with all damaged files of the batch in place of a failure over one of them."""
    try:
        yield
    except (Py4JError, PySparkException, OSError) as error:
        of_a_file = isinstance(error, OSError) and error.errno is None
        if not of_a_file and unreadable_file(error) is None:
            raise
        root = batch.project.root
        bad = [
            damaged
            for intake in batch.step.intakes
            if intake.source.has_files
            for damaged in damaged_files(intake.files, intake.source, root, batch.name)
        ]
        if not bad:
            _read_otherwise_if_padded(batch, error)
        bad = bad or _refused(batch, error)
        if not bad:
            raise
        raise BadFiles(bad) from error


def _read_otherwise_if_padded(batch: Batch, error: BaseException) -> None:
    """Raises Outdated if files have zeros between members: planned again, they are read in Python."""
    padded = [
        file.path
        for intake in batch.step.intakes
        if intake.source.has_files
        for file in padded_files(intake.files, intake.source, batch.project.root)
    ]
    if padded:
        raise Outdated(f"Spark cannot read zeros between the members of {named(padded)}") from error


def landing_file(step: TableStep, root: Path, error: BaseException) -> tuple[FileIntake, FileIdentity] | None:
    """Returns the landing file that could not be read, and its intake; None if it was another file."""
    path = unreadable_file(error)
    files = ((intake, file) for intake in step.intakes for file in intake.files) if path else ()
    return next((found for found in files if _as_spark_says(found[1].path, root) == path), None)


def _as_spark_says(path: str, root: Path) -> str:
    return path if is_object(path) else str(absolute_path(path, root))


def _refused(batch: Batch, error: BaseException) -> list[BadFile]:
    """The file that Spark refuses although it looks complete: only Spark decodes it."""
    landed = landing_file(batch.step, batch.project.root, error)
    if landed is None:
        return []
    intake, file = landed
    checked = landing_format(intake.source).is_checked
    if not is_of_content(error, checked):
        return []
    found = str(causes_of(full_text(error))[-1])
    hint = "PyArrow reads it: write it again, with pyarrow.parquet.write_table" if checked else ""
    bad = UnreadableFile("LS422", "Spark cannot read it", "a file that Spark can read", found, hint)
    return [unreadable(file, intake.source, bad, batch.name)]


def is_of_content(error: BaseException, checked: bool) -> bool:
    """Returns whether Spark failed over a file's bytes, and not over a disk or a network. ``checked``: the
    file was read whole before."""
    text = full_text(error)
    failed = checked and _OF_CHECKED.search(str(causes_of(text)[-1]))
    return bool(failed or _OF_CONTENT.search(text))


def require_all_rows(batch: Batch, rows: DataFrame) -> None:
    """Raises BadFiles for the files of typed formats of which Spark reads another number of rows than they
    have. To be called if the sums differ; ``rows``: as Spark reads them."""
    read = dict(map(tuple, rows.groupBy(SOURCE_FILE).count().collect()))
    bad = [
        unreadable(file, intake.source, _miscounted(counted, read.get(file.path, 0)), batch.name)
        for intake in batch.step.intakes
        if intake.source.has_files and landing_format(intake.source).is_checked
        for file in intake.files
        for counted in [count_records([file], intake.source, batch.project.root)]
        if counted is not None and counted != read.get(file.path, 0)
    ]
    if bad:
        raise BadFiles(bad)


def _miscounted(promised: int, given: int) -> UnreadableFile:
    found = f"a file that promises {promised:,} rows and gives {given:,}"
    return UnreadableFile("LS422", "Spark cannot read its rows", "as many rows as its footer says", found)
