"""Loading of a project: from its folder to frozen definitions, with all problems at once.

Only ``files`` reads the disk; everything here works on ``ProjectFiles``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from pydantic import BaseModel

from lakesmith.errors import Problem, ProjectError
from lakesmith.project.definitions import (
    FullExport,
    Project,
    TableDefinition,
    TableName,
    Target,
    export_problems,
)
from lakesmith.project.files import ProjectFiles
from lakesmith.project.keyed import export_of_source
from lakesmith.project.layout import Draft, Layout, TableFiles, layout
from lakesmith.project.loaded import LoadedProject, sorted_problems
from lakesmith.project.project_file import Header, read_header
from lakesmith.project.tables import TableBuilder, unknown_catalogs
from lakesmith.project.variables import Filler
from lakesmith.project.written import Level, defaults_model, model_of, validated
from lakesmith.project.yaml_reader import Document, read_yaml

_FIXED_BY_DEFAULTS: Final = frozenset({"LS104", "LS121"})
"""Missing settings may be in a file of defaults: these are reported only if all such files could be read."""


def parse_project(
    files: ProjectFiles, target: str | None = None, environ: Mapping[str, str] = os.environ
) -> LoadedProject:
    """Reads the project in ``files`` for ``target`` (None: its default target).

    A wrong project raises nothing: ``problems`` has every problem, sorted by place. No code of the project is
    run. LS101 a file cannot be read or parsed; LS102 a duplicate key; LS103 an unknown setting; LS104 a
    missing one; LS105 a wrong value; LS106 a variable, LS107 an environment variable that is not set; LS110 a
    misplaced file; LS111 two tables of one name; LS112 sourced and derived, or neither; LS113 an Avro schema;
    LS114 a column type; LS115 a partition field; LS116, LS117 a Python query; LS119 no project; LS120 an
    unknown target; LS124 an unknown other catalog; LS18x rules.
    """
    problems: list[Problem] = []
    try:
        header = read_header(files, target, environ)
    except ProjectError as error:
        problems += error.problems
        header = None
        if error.problems[0].code == "LS119":
            return LoadedProject(_project(files, None, ()), tuple(problems))
    try:
        found = layout(files.table_paths())
    except ProjectError as error:
        return LoadedProject(_project(files, header, ()), sorted_problems([*problems, *error.problems]))
    problems += found.problems
    declared = frozenset(table.name for table in found.tables)
    if header is not None:
        problems += _same_names(header.target, found)
    tables = _Tables(files, header, found, problems).definitions()
    if header is not None:
        problems += unknown_catalogs(tables, header.target)
    problems += export_problems(tables)
    uses_environment = header is not None and header.uses_environment
    return LoadedProject(
        _project(files, header, tables), sorted_problems(problems), declared, uses_environment
    )


def _project(files: ProjectFiles, header: Header | None, tables: tuple[TableDefinition, ...]) -> Project:
    if header is None:
        return Project(files.root, "", Target("", ""), tables)
    variables = tuple(sorted(header.variables.items()))
    reached = tuple(_with_store(table, header.target) for table in tables)
    return Project(
        files.root,
        header.name,
        header.target,
        reached,
        variables,
        header.keep_warm_seconds,
        header.secrets,
        header.alerts,
        header.checks,
        header.ui,
    )


def _same_names(target: Target, found: Layout) -> Iterator[Problem]:
    """LS123: two tables that would have one name in the target's catalog."""
    known: dict[tuple[str, str], TableName] = {}
    for table in found.tables:
        physical = target.naming.physical(table.name)
        first = known.setdefault(physical, table.name)
        if first != table.name:
            what = f"{first} and {table.name} would both be {'.'.join(physical)} in the catalog"
            hint = "give their layers other namespaces, or rename one"
            yield Problem("LS123", what, target.place, "a name of its own for each table", hint=hint)


def _with_store(table: TableDefinition, target: Target) -> TableDefinition:
    """The table, with the target's store in its sources in S3."""
    if not any(source.is_in_store for source in table.sources):
        return table
    sources = (
        replace(source, store=target.store) if source.is_in_store else source for source in table.sources
    )
    return replace(table, sources=tuple(sources))


class _Tables:
    """Reader of all tables: first their files, then the definitions of those that could be read."""

    def __init__(
        self, files: ProjectFiles, header: Header | None, found: Layout, problems: list[Problem]
    ) -> None:
        self._files = files
        self._header = header
        self._layout = found
        self._problems = problems

    def definitions(self) -> tuple[TableDefinition, ...]:
        """Returns all tables without a problem, sorted by name, each name once."""
        levels = {
            path: self._level(path, defaults_model(TableBuilder.kind)) for path in self._layout.defaults
        }
        drafts = [draft for table in self._layout.tables if (draft := self._draft(table, levels)) is not None]
        sourced = {
            draft.files.name: export_of_source(draft.settings.source)
            for draft in drafts
            if draft.settings.source is not None
        }
        built = {draft.files.name: self._build(draft, sourced) for draft in reversed(drafts)}
        return tuple(sorted((table for table in built.values() if table), key=lambda table: table.name))

    def _build(self, draft: Draft, sourced: Mapping[TableName, FullExport | None]) -> TableDefinition | None:
        filler = self._filler()
        builder = TableBuilder(draft, self._files, [], filler, sourced)
        try:
            table = builder.build()
        except ProjectError as error:
            self._problems += error.problems
            return None
        found = (*filler.problems, *builder.problems)
        self._problems += [p for p in found if draft.complete or p.code not in _FIXED_BY_DEFAULTS]
        return None if found else table

    def _draft(self, table: TableFiles, levels: Mapping[str, Level | None]) -> Draft | None:
        own = self._level(table.yaml, model_of(TableBuilder.kind)) if table.yaml else _no_settings(table)
        above = [levels[path] for path in reversed(self._layout.defaults_for(table))]
        if self._header is not None and self._header.defaults is not None:
            above.append(self._header.defaults)
        defaults = tuple(level for level in above if level is not None)
        complete = self._header is not None and len(defaults) == len(above)
        return None if own is None else Draft(table, own, defaults, complete)

    def _level(self, path: str, model: type[BaseModel]) -> Level | None:
        filler = self._filler()
        try:
            document = filler.document(read_yaml(self._files.read(path), path))
            level = Level(document, validated(model, document))
        except ProjectError as error:
            self._problems += (*filler.problems, *error.problems)
            return None
        self._problems += filler.problems
        return None if filler.problems else level

    def _filler(self) -> Filler:
        return Filler(self._header.variables if self._header else None)


def _no_settings(table: TableFiles) -> Level:
    return Level(Document(table.main, {}, {(): 1}), model_of(TableBuilder.kind).model_validate({}))
