"""Rows that an earlier version may have read wrongly: their tables and files, and how to read them again.

A progress record says which batches were read by the present reader (``Record.readers``). Only earlier
batches are looked at, so what was read again is not named again.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lakesmith.api.doctor_machine import Check, Verdict
from lakesmith.api.words import count
from lakesmith.catalog.record import Record
from lakesmith.errors import LakesmithError
from lakesmith.execute.files import FileState, file_report
from lakesmith.execute.opened import Opened
from lakesmith.plan.facts import TableFacts
from lakesmith.project.definitions import Source, SqlQuery, TableDefinition, TableName
from lakesmith.project.formats import FileFormat
from lakesmith.project.spark_types import SqlType, parse_type
from lakesmith.sources.formats.text import unpacked
from lakesmith.sources.inspect import damaged_files
from lakesmith.sources.listing import opened_file
from lakesmith.sources.model import FileIdentity, LandingFile
from lakesmith.sources.names import printable
from lakesmith.sql.parse import parse
from lakesmith.sql.used_columns import compared_columns

_FLOATS: Final = frozenset({"float", "double"})
_TYPED: Final = frozenset({FileFormat.PARQUET, FileFormat.AVRO})
_WHOLE: Final = re.compile(rb"(?<=[\s\[:,])-?\d{16,300}(?=[\s\],}])")
"""Whole numbers in JSON. Those of fewer digits are exact as a double."""

_SHOWN: Final = 5


def value_checks(opened: Opened, look_into_files: bool) -> Iterator[Check]:
    """Yields a check for each table with rows that an earlier version may have read wrongly.

    ``look_into_files``: landing files are read, which may take minutes; without it they are counted.
    """
    for name in opened.graph.order:
        try:
            facts = opened.lake.facts(name)
            record = facts.base.record
            if record is not None and record.was_read_before(1):
                table = _Old(opened, opened.graph.node(name).definition, facts, record)
                yield from _filters(table) if table.definition.query else _sources(table, look_into_files)
        except (LakesmithError, OSError) as error:
            text = f"rows that earlier versions read cannot be looked at: {error}"
            yield Check(str(name), Verdict.NOTE, text)


@dataclass(frozen=True)
class _Old:
    """A table with rows of an earlier reader."""

    opened: Opened
    definition: TableDefinition
    facts: TableFacts
    record: Record

    def types(self, name: TableName) -> dict[str, SqlType]:
        """Returns the types of a table's columns by their names."""
        state = self.opened.lake.catalog.table(name.layer, name.name)
        return {each.name: parse_type(each.type) for each in state.columns} if state else {}

    def files(self, source: Source) -> list[FileIdentity]:
        """Returns the files of a source that were read before and are still there."""
        lines = file_report(self.opened.lake, self.definition, self.facts).lines
        taken = (it for it in lines if it.state is FileState.TAKEN and it.there and it.source == source.name)
        return [it.file for it in taken if it.batch is not None and self.record.was_read_before(it.batch)]


def _filters(table: _Old) -> Iterator[Check]:
    """Yields a note if the table's query may filter by a float column, by which rows were lost."""
    query, name = table.definition.query, table.definition.name
    inputs = table.opened.graph.node(name).inputs
    floats, known = set[str](), {part.lower() for item in inputs for part in (item.layer, item.name)}
    for item in inputs:
        types = table.types(item)
        known |= {part.lower() for column, of in types.items() for part in _names(column, of)}
        floats |= {part.lower() for column, of in types.items() for part in _names(column, of, _FLOATS)}
    if not floats:
        return
    compared = compared_columns(parse(query.text).tree) if isinstance(query, SqlQuery) else floats
    if found := sorted(each for each in compared if each in floats or each not in known):
        text = (
            f"was computed by a version whose filters lost rows with -0.0 and NaN; by: {', '.join(found)}\n"
            "verify says whether rows are missing"
        )
        hint = f"lakesmith verify {name}, and if it differs: lakesmith run --full-refresh {name}"
        yield Check(str(name), Verdict.NOTE, text, hint)


def _names(column: str, of: SqlType, leaves: frozenset[str] | None = None) -> Iterator[str]:
    """Yields a column's name and those of its fields, only those of ``leaves`` if given."""
    if leaves is None or of.text in leaves:
        yield column
    for name, part in of.parts:
        yield from _names(name, part, leaves)


def _sources(table: _Old, look_into_files: bool) -> Iterator[Check]:
    definition = table.definition
    name, types = str(definition.name), table.types(definition.name)
    for source in (each for each in definition.sources if each.has_files):
        if source.format in _TYPED and "_metadata" in types:
            text = "rows of files with a column _metadata lack their file and their position in it"
            hint = (
                f"lakesmith drop {name}, then lakesmith run (files that left their folder do not come back)"
            )
            yield Check(name, Verdict.PROBLEM, text, hint)
        if not (source.format is FileFormat.PARQUET or _has_rounded(definition, source, types)):
            continue
        files = table.files(source)
        if files and not look_into_files:
            text = f"{count(len(files), 'file')} read by a version that may have read them wrongly"
            yield Check(name, Verdict.NOTE, text, "lakesmith doctor --files reads them and names those")
        elif files:
            yield from _looked_at(table, source, files)


def _has_rounded(definition: TableDefinition, source: Source, types: Mapping[str, SqlType]) -> bool:
    """Whether types of numbers inside JSON columns were inferred as double."""
    declared = {column.name for column in definition.columns}
    inner = (of for column, of in types.items() if of.outer and column not in declared)
    return source.format is FileFormat.JSON and any("double" in _leaves(of) for of in inner)


def _leaves(of: SqlType) -> set[str]:
    return {of.text} if not of.outer else set().union(*(_leaves(part) for _, part in of.parts))


def _looked_at(table: _Old, source: Source, files: Sequence[FileIdentity]) -> Iterator[Check]:
    root, name = table.opened.project.root, table.definition.name
    if source.format is FileFormat.PARQUET:
        wrong = {bad.file.path: bad.problem.found for bad in damaged_files(files, source, root, name)}
    else:
        why = "whole numbers in it lose digits as double"
        wrong = {file.path: why for file in files if _loses_digits(opened_file(file, source, root))}
    if not wrong:
        yield Check(str(name), Verdict.OK, f"files that an earlier version read, rightly: {len(files)}")
        return
    lines = [f"{printable(path)}: {why}" for path, why in wrong.items()]
    more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    text = "\n".join((f"files that were read wrongly: {len(wrong)} of {len(files)}", *lines[:_SHOWN], *more))
    forget = " ".join(f"--forget {shlex.quote(path)}" for path in wrong)
    yield Check(str(name), Verdict.PROBLEM, text, f"lakesmith files {name} {forget}, then lakesmith run")


def _loses_digits(file: LandingFile) -> bool:
    """Whether a JSON file has a whole number that is another one as a double."""
    with unpacked(file) as stream:
        return any(int(float(digits)) != int(digits) for line in stream for digits in _WHOLE.findall(line))
