"""Checks of what tables read: each reference names a table of the project, and no table reads itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from lakesmith.errors import Place, Problem, listed, nearest
from lakesmith.graph.inputs import Input, inputs_of, references_of
from lakesmith.project.definitions import Project, TableDefinition, TableName
from lakesmith.sql.model import SqlAnalysis

Analyses = Mapping[TableName, SqlAnalysis]


def reference_problems(
    project: Project, analyses: Analyses, declared: Set[TableName] = frozenset()
) -> tuple[Problem, ...]:
    """Returns LS131 for a reference to a missing table, LS132 for a name without exactly two parts.

    ``declared``: tables that exist but are not in ``project``, because their own files have problems.
    """
    known = declared | {table.name for table in project.tables}
    found = (
        _problem(table, reference, known)
        for table in project.tables
        for reference in references_of(table, analyses)
    )
    return tuple(dict.fromkeys(problem for problem in found if problem is not None))


def _problem(table: TableDefinition, reference: Input, known: Set[TableName]) -> Problem | None:
    written = ".".join(reference.parts)
    if reference.name is None:
        expected = "a table's logical name, layer.name"
        hint = nearest_table(".".join(reference.parts[-2:]), known)
        return Problem(
            "LS132", f"{written} is not a table of this project", reference.place, expected, written, hint
        )
    if reference.name in known:
        return None
    what = f"{table.name} reads {written}, which does not exist"
    return Problem("LS131", what, reference.place, hint=nearest_table(written, known))


def nearest_table(written: str, known: Set[TableName]) -> str:
    """Returns a hint with the table that was probably meant."""
    same_name = [str(name) for name in sorted(known) if name.name == written.rpartition(".")[2].lower()]
    found = same_name[0] if same_name else nearest(written, map(str, known))
    if found:
        return f"did you mean {found}?"
    return f"the tables are {listed(map(str, sorted(known)))}" if known else "there are no tables yet"


def cycle_problems(project: Project, analyses: Analyses) -> tuple[Problem, ...]:
    """Returns LS133: one problem for each cycle of tables, with the whole path."""
    tables = {table.name: table for table in project.tables}
    edges = {name: inputs_of(table, analyses) for name, table in tables.items()}
    return tuple(_cycle_problem(path, tables, analyses) for path in _cycles(edges))


def _cycles(edges: Mapping[TableName, tuple[TableName, ...]]) -> Iterator[tuple[TableName, ...]]:
    """Searches depth first. The tables of a finished path are settled, so that each cycle is found once."""
    settled: set[TableName] = set()
    for start in sorted(edges):
        path: list[TableName] = []
        todo = [(start, False)]
        while todo:
            name, leaving = todo.pop()
            if leaving:
                settled.add(path.pop())
            elif name in path:
                yield tuple(path[path.index(name) :])
            elif name not in settled:
                path.append(name)
                todo.append((name, True))
                todo += [(other, False) for other in edges.get(name, ()) if other in edges]


def _cycle_problem(
    path: tuple[TableName, ...], tables: Mapping[TableName, TableDefinition], analyses: Analyses
) -> Problem:
    first, then = path[0], path[1 % len(path)]
    circle = " → ".join(map(str, (*path, first)))
    what = f"{first} is made from itself"
    hint = "take one of these references out"
    return Problem("LS133", what, _place(tables[first], then, analyses), found=circle, hint=hint)


def _place(table: TableDefinition, name: TableName, analyses: Analyses) -> Place:
    places = (reference.place for reference in references_of(table, analyses) if reference.name == name)
    return next(places, table.place)
