"""From the settings of a table of others to its definition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from lakesmith.errors import Place, Problem
from lakesmith.project.definitions import ExternalTable, TableDefinition, TableName, Target
from lakesmith.project.models import ExternalSettings, TableFile
from lakesmith.project.nearest import did_you_mean
from lakesmith.project.settings import Level

_OF_ANY_TABLE: Final = frozenset({"external", "description", "owner", "tags"})
"""What can be said of a table of others: all else is up to whom it belongs to."""


def external_table(name: TableName, own: Level[TableFile], problems: list[Problem]) -> ExternalTable | None:
    """The table of others that ``own`` declares, None where it declares none. What is wrong is added to ``problems``."""
    settings = own.model.external
    if settings is None:
        return None
    place = own.document.place("external")
    problems += [*_not_together(name, own), *_wrong(settings, own)]
    begin = None if settings.from_ is None else str(settings.from_)
    table = TableName.parse(settings.table) if settings.table else name
    return ExternalTable(place, table, settings.project, settings.metadata, begin, settings.catalog)


def _not_together(name: TableName, own: Level[TableFile]) -> Iterator[Problem]:
    for key in own.model.model_fields_set - _OF_ANY_TABLE:
        word = key.rstrip("_")
        what = f"{name} is a table of others, which {word} does not concern"
        yield Problem("LS112", what, own.document.place(word), "external: alone", f"external and {word}")


def _wrong(settings: ExternalSettings, own: Level[TableFile]) -> Iterator[Problem]:
    place = own.document.place("external")
    if settings.metadata is not None and (settings.project or settings.catalog or settings.table):
        what = "metadata takes the place of project, catalog and table"
        yield Problem("LS105", what, place, "one of the two")
    if settings.project is not None and settings.catalog is not None:
        yield Problem("LS105", "a table is in a project or in a catalog", place, "one of the two")
    if not (settings.metadata or settings.project or settings.catalog or settings.table):
        expected = "project, catalog, table or metadata"
        yield Problem("LS104", "external does not say which table it is", place, expected)
    if settings.from_ is not None and not _is_fixed(str(settings.from_)):
        yield _no_point(str(settings.from_), own.document.place("external", "from"))


def _is_fixed(text: str) -> bool:
    """Whether it will mean the same snapshot for ever: a tag can be moved."""
    if text.isdecimal():
        return True
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _no_point(text: str, place: Place) -> Problem:
    expected = "the id of a snapshot, or a moment such as 2026-01-31T12:30:00Z"
    return Problem("LS105", "from names no fixed point of the past", place, expected, repr(text))


def unknown_catalogs(tables: Iterable[TableDefinition], target: Target) -> Iterator[Problem]:
    """LS124: tables in catalogs of others that the target does not have."""
    known = [other.name for other in target.others]
    for table in tables:
        name = table.external.catalog if table.external else None
        if name is not None and name not in known:
            yield Problem(
                "LS124",
                f"target {target.name!r} has no other catalog {name!r}",
                table.place,
                f"one of {', '.join(known)}" if known else f"other_catalogs: {{{name}: ...}} in its settings",
                hint=did_you_mean(name, known),
            )
