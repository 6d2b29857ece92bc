"""From the settings of a table of others to its definition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from lakesmith.errors import Problem
from lakesmith.project.definitions import ExternalTable, TableDefinition, TableName, Target
from lakesmith.project.nearest import did_you_mean
from lakesmith.project.written import Level, values_of

OF_EXTERNAL: Final = frozenset({"description", "owner", "tags"})
"""What can be said of a table of others: all else is up to whom it belongs to."""


def external_table(name: TableName, own: Level, problems: list[Problem]) -> ExternalTable | None:
    """The table of others that ``own`` declares, None where it declares none. What is wrong is added to ``problems``."""
    level = own.below("external")
    if level is None:
        return None
    problems += [*_not_together(name, own), *_wrong(level.model, own)]
    place = own.document.place("external")
    return ExternalTable(**{"place": place, "table": name, **values_of(ExternalTable, [level], problems)})


def _not_together(name: TableName, own: Level) -> Iterator[Problem]:
    for key in own.model.model_fields_set - OF_EXTERNAL - {"external"}:
        word = key.rstrip("_")
        what = f"{name} is a table of others, which {word} does not concern"
        yield Problem("LS112", what, own.document.place(word), "external: alone", f"external and {word}")


def _wrong(settings: Any, own: Level) -> Iterator[Problem]:
    place = own.document.place("external")
    if settings.metadata is not None and (settings.project or settings.catalog or settings.table):
        what = "metadata takes the place of project, catalog and table"
        yield Problem("LS105", what, place, "one of the two")
    if settings.project is not None and settings.catalog is not None:
        yield Problem("LS105", "a table is in a project or in a catalog", place, "one of the two")
    if not (settings.metadata or settings.project or settings.catalog or settings.table):
        expected = "project, catalog, table or metadata"
        yield Problem("LS104", "external does not say which table it is", place, expected)


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
