"""Sessions for reading files, whose planning time is in proportion to the columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from lakesmith import limits
from lakesmith.plan.steps import Strategy, TableStep
from lakesmith.project.definitions import Source
from lakesmith.sources.inspect import read_shape
from lakesmith.sources.listing import opened_file
from lakesmith.sources.shape import UnreadableFile
from lakesmith.spark.jvm.gateway import close_catalogs
from lakesmith.spark.jvm.growing import COMPILING, grow

_OF_FILES: Final = (Strategy.FILES, Strategy.LEDGER, Strategy.REPLAY)

# What Spark infers from one table's filter for another's takes time by the square of the columns, and more: a
# file of 300 columns was never planned. Nothing is joined where files are read.
_READING: Final = {"spark.sql.constraintPropagation.enabled": "false"}

# Java takes eight seconds to compile code for 300 columns: longer than to interpret a few thousand rows.
_INTERPRETED: Final = {**_READING, "spark.sql.codegen.wholeStage": "false", COMPILING: "NO_CODEGEN"}

_CLONES: Final = {"_compiled": _READING, "_interpreted": _INTERPRETED}


def zoned(session: SparkSession, source: Source) -> Source:
    """Returns the source with the zone of its local times: its own, or the session's if that is not UTC."""
    zone = session.conf.get("spark.sql.session.timeZone")
    if source.csv.time_zone is not None or zone in (None, "UTC", "Etc/UTC", "Z", "+00:00"):
        return source
    return replace(source, csv=replace(source.csv, time_zone=zone))


@dataclass(frozen=True)
class ReadingSessions:
    """The session of an engine, and its clones for reading files, created when they are needed."""

    session: SparkSession

    def of(self, step: TableStep, root: Path) -> SparkSession:
        if step.strategy not in _OF_FILES:
            return self.session
        return self._interpreted if is_wide(step, root) else self._compiled

    def grow(self) -> None:
        """Sets the sessions up for more than little data, for the rest of their time."""
        grow(self.session)
        for name, settings in _CLONES.items():
            if (clone := vars(self).get(name)) is not None:
                grow(clone)
                _set(clone, settings)

    def close(self) -> None:
        """Closes the clones. Raises Py4JError if the JVM does not answer."""
        for name in _CLONES:
            if (clone := vars(self).pop(name, None)) is not None:
                close_catalogs(clone)

    @cached_property
    def _compiled(self) -> SparkSession:
        return self._with(_READING)

    @cached_property
    def _interpreted(self) -> SparkSession:
        return self._with(_INTERPRETED)

    def _with(self, settings: Mapping[str, str]) -> SparkSession:
        clone = SparkSession(self.session.sparkContext, self.session._jsparkSession.cloneSession())
        _set(clone, settings)
        return clone


def _set(session: SparkSession, settings: Mapping[str, str]) -> None:
    for key, value in settings.items():
        session.conf.set(key, value)


def is_wide(step: TableStep, root: Path) -> bool:
    """Whether the step's files have many columns, and few bytes in each of them."""
    files = [file for intake in step.intakes for file in intake.files]
    columns = max(len(step.table.columns), _columns_of_first_file(step, root))
    return (
        columns > limits.COMPILED_UP_TO_COLUMNS
        and sum(file.size for file in files) < columns * limits.COMPILED_FROM_BYTES_A_COLUMN
    )


def _columns_of_first_file(step: TableStep, root: Path) -> int:
    for intake in step.intakes:
        for file in intake.files[:1]:
            try:
                return len(read_shape(opened_file(file, intake.source, root), intake.source).columns)
            except (OSError, UnreadableFile):
                return 0  # the batch reports it, with the file's name
    return 0
