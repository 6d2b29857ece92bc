"""Which paths take events for which tables: what a project declares of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lakesmith.errors import Problem, UsageError
from lakesmith.project.definitions import HttpSource, Project, TableDefinition


@dataclass(frozen=True, slots=True)
class EventSource:
    """A source of events of a table; ``folder`` is where its segments are."""

    table: TableDefinition
    source: HttpSource
    folder: Path


def event_sources(project: Project) -> tuple[EventSource, ...]:
    """The sources of events of a project. Raises UsageError LS270 where two have one path."""
    found = tuple(_sources(project.tables, project.root))
    for number, one in enumerate(found):
        for other in found[:number]:
            if one.source.url_path == other.source.url_path:
                raise _same_path(one, other)
    return found


def tokens_of(each: EventSource, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The bearer tokens of a source. Raises UsageError LS271 for a variable that is not set, or empty."""
    for name in each.source.tokens:
        if not environment.get(name):
            raise UsageError(
                Problem(
                    "LS271",
                    f"the environment has no token for {each.source.url_path}",
                    each.source.place,
                    expected=f"a value in {name}",
                    found="nothing",
                    hint=f"export {name}=...",
                )
            )
    return tuple(environment[name] for name in each.source.tokens)


def _sources(tables: Sequence[TableDefinition], root: Path) -> Iterator[EventSource]:
    for table in tables:
        for source in table.sources_of(HttpSource):
            yield EventSource(table, source, root / source.path)


def _same_path(one: EventSource, other: EventSource) -> UsageError:
    return UsageError(
        Problem(
            "LS270",
            f"{other.table.name} and {one.table.name} take events at one path",
            one.source.place,
            expected="a path for each",
            found=one.source.url_path,
            hint="give one of them another path; a table that derives from the other may read its events",
        )
    )
