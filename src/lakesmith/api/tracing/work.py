"""Events to try, and what they do to the tables below their source, without writing to the lake."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

from lakesmith.api.access import Access
from lakesmith.api.files import files
from lakesmith.api.frames import exact
from lakesmith.errors import UsageError
from lakesmith.execute.lake import table_bytes
from lakesmith.execute.opened import Opened
from lakesmith.plan.cost import DataSize
from lakesmith.project.definitions import HttpSource, Source, TableDefinition
from lakesmith.serve.intake.events import EventReader
from lakesmith.serve.send.values import EventMaker, Occasion
from lakesmith.sources.event_file import (
    cut_by_lines,
    is_packed,
    keep_event,
    kept_events,
    record_of,
    require_name,
    text_of,
)

if TYPE_CHECKING:
    from lakesmith.execute.events import Event
    from lakesmith.spark.trace.stops import Stop as Stop

MOST_CHARACTERS: Final = 1_000_000
_FILES: Final = 5
EventRows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Trace:
    """What an event does.

    Attributes:
        table: the table that it enters.
        source: the name of the source.
        text: the event, as a landing file or a request has it.
        stops: for the table and each below it, in dependency order, what happens there.
        notes: what is to be known besides.
        seconds: wall time.
    """

    table: str
    source: str
    text: str
    stops: tuple[Stop, ...]
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        stops = [each.to_dict() for each in self.stops]
        return {**asdict(self), "stops": stops, "seconds": round(self.seconds, 3)}


@dataclass(frozen=True, slots=True)
class Sample:
    """An event to begin with. ``origin``: the landing file it is from, ``kept`` or ``made``."""

    name: str
    origin: str
    text: str


@dataclass(frozen=True, slots=True)
class Samples:
    """Events of a source: first those that were kept, then real ones, and one made of the columns."""

    table: str
    source: str
    samples: tuple[Sample, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def samples(access: Access, table: str, source: str | None, record: tuple[str, int] | None) -> Samples:
    opened = access.opened()
    definition, chosen = _source(opened, table, source)
    found = tuple(_samples(access, opened, (definition, chosen), record))
    return Samples(str(definition.name), chosen.name, found)


def keep(access: Access, table: str, name: str, event: str, source: str | None) -> str:
    opened = access.opened()
    definition, chosen = _source(opened, table, source)
    require_name(name)
    return keep_event(opened.project.root, definition.name, chosen, name, _text(definition, chosen, event))


def _source(opened: Opened, table: str, source: str | None) -> tuple[TableDefinition, Source]:
    definition = opened.graph.node(opened.one(table)).definition
    if not definition.is_sourced:
        raise UsageError.of(
            "LS215", f"{definition.name} has no source", definition.place, "a table with a source"
        )
    if definition.has_topics:
        what = f"the rows of {definition.name} come from a topic, whose records cannot be followed"
        raise UsageError.of("LS279", what, definition.place, "files or events over HTTP")
    found = [each for each in definition.sources if source in (None, each.name)]
    if len(found) != 1:
        names = ", ".join(each.name for each in definition.sources)
        raise UsageError.of(
            "LS279", f"{definition.name} has several sources", None, f"one of {names}", source
        )
    return definition, found[0]


def _text(definition: TableDefinition, source: Source, event: str | EventRows) -> str:
    if not isinstance(event, str) and (odd := cut_by_lines(source, event)) is not None:
        what = f"a value of {odd} has a line break, and the files of {source.name} have a record a line"
        raise UsageError.of(
            "LS279", what, definition.place, "values without line breaks, or `multiline: true`"
        )
    text = event if isinstance(event, str) else text_of(source, definition.columns, event)
    if not text.strip() or len(text) > MOST_CHARACTERS:
        expected, found = f"1 to {MOST_CHARACTERS:,} characters", f"{len(text.strip()):,}"
        raise UsageError.of("LS279", "this is no event", None, expected, found)
    return text


def trace(
    access: Access,
    table: str,
    event: str | EventRows,
    how: tuple[str | None, float, Callable[[Event], None] | None],
) -> Trace:
    """Follows an event; see ``Lakehouse.trace``. ``how``: the source's name, the seconds, the listener."""
    began, opened = time.monotonic(), access.opened()
    definition, chosen = _source(opened, table, how[0])
    if not opened.project.target.is_local:
        what = "an event can be followed only in a lake whose catalog is embedded"
        raise UsageError.of("LS279", what, None, "a target of type local", opened.project.target.type)
    text = _text(definition, chosen, event)
    notes, sent = tuple(_notes(chosen)), text
    stops: tuple[Stop, ...]
    if isinstance(chosen, HttpSource):
        stops, sent = _refused(definition, chosen, text)
        if stops:
            return Trace(str(definition.name), chosen.name, text, stops, notes, time.monotonic() - began)
    names = (definition.name, *opened.graph.downstream(definition.name))
    inputs = {each for name in names for each in (name, *opened.graph.node(name).inputs)}
    size = DataSize.of(table_bytes(opened.lake, inputs))
    session = access.do(lambda: access.session(opened, size, reads=True))
    from lakesmith.spark.trace.copy import EventText
    from lakesmith.spark.trace.follow import follow

    given = EventText(definition.name, chosen.name, sent)
    tell = how[2] or (lambda _: None)
    stops = access.do_in_spark(session, lambda: follow(session, opened, given, exact, how[1], tell))
    return Trace(str(definition.name), chosen.name, text, stops, notes, time.monotonic() - began)


def _refused(definition: TableDefinition, source: HttpSource, text: str) -> tuple[tuple[Stop, ...], str]:
    """Returns the stop of events that the intake answers 400; or none, and the events as lines."""
    from lakesmith.spark.trace.stops import Bad, Stop

    read = EventReader(definition.columns, source.event_id).read(text.encode("utf-8", "surrogatepass"))
    if not read.broken and (source.takes_bad or not read.faults):
        return (), "".join(f"{line}\n" for line in read.lines)
    reasons = tuple(
        f"{fault.column}: {fault.reason}" if fault.column else fault.reason for fault in read.faults
    )
    why = f"{source.url_path} answers 400: nothing of the request is accepted"
    return (Stop(str(definition.name), {"refused": 1}, why, bad=(Bad(reasons, text),)),), text


def _notes(source: Source) -> Iterator[str]:
    if is_packed(source):
        yield f"the source's files are {source.format.value}; the event is read as JSON"
    if isinstance(source, HttpSource) and source.event_id:
        yield f"whether an event with this {', '.join(source.event_id)} came before is not looked up"
    if source.snapshot is not None:
        yield "each file of the source is the whole table: the event counts as an export of its own"


def _samples(
    access: Access, opened: Opened, of: tuple[TableDefinition, Source], record: tuple[str, int] | None
) -> Iterator[Sample]:
    (definition, source), root = of, opened.project.root
    for name, text in kept_events(root, definition.name):
        yield Sample(name, "kept", text)
    lines = files(access, str(definition.name)).report.lines
    there = [each for each in lines if each.there and each.source == source.name and not source.is_in_store]
    if record is not None:
        yield from _record(root, source, [each.file.path for each in there], record)
    for line in sorted(there, key=lambda each: -each.file.modified_ns)[:_FILES]:
        with suppress(OSError, ValueError):
            if found := record_of(root / line.file.path, source):
                yield Sample(line.file.path.rpartition("/")[2], line.file.path, found)
    if columns := [column for column in definition.columns if column.type]:
        ids = source.event_id if isinstance(source, HttpSource) else ()
        now = datetime.now(UTC).replace(tzinfo=None)
        made = EventMaker(columns, ids).good(Occasion(Random(), now, time.time_ns() // 1_000_000))
        yield Sample("made", "made", text_of(source, columns, [_as_row(made)]))


def _record(root: Path, source: Source, paths: Sequence[str], record: tuple[str, int]) -> Iterator[Sample]:
    """Yields the record of a landing file that is still there, near the file's beginning."""
    path, position = record
    with suppress(OSError, ValueError):
        if path in paths and position > 0 and (text := record_of(root / path, source, position)):
            yield Sample(f"{path.rpartition('/')[2]}:{position}", path, text)


def _as_row(text: str) -> Mapping[str, Any]:
    row: dict[str, Any] = json.loads(text, parse_float=str)
    return row
