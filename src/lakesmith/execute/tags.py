"""Moments of a whole lake by names: a tag on each table's head, which every engine knows. Reads metadata, no JVM."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lakesmith.catalog.state import MAIN, RECORD_TAG, TableState
from lakesmith.errors import Problem, StateError, UsageError
from lakesmith.execute.lake import Lake
from lakesmith.project.definitions import Project, TableName
from lakesmith.project.nearest import did_you_mean

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.\-]*")
_OWN: Final = "lakesmith"


@dataclass(frozen=True, slots=True)
class Tag:
    """A moment by its name: the tables that have it, each with its snapshot. ``newest_ms``: of the newest of them (since the epoch)."""

    name: str
    tables: Mapping[TableName, int]
    newest_ms: int


def known_name(text: str) -> str:
    """``text``, where it can be a tag's name. Raises UsageError LS256: names are told apart from moments, snapshots and lakesmith's own."""
    if _NAME.fullmatch(text) and text != MAIN and not text.startswith(_OWN):
        return text
    expected = "a letter, and then letters, digits, _ - and ."
    hint = f"{MAIN!r} and names that begin with {_OWN!r} are taken"
    raise UsageError(Problem("LS256", f"{text!r} cannot be the name of a tag", None, expected, hint=hint))


def own_states(lake: Lake) -> dict[TableName, TableState]:
    """The project's tables that were written, without those of others."""
    names = [table.name for table in lake.project.tables if table.external is None]
    with lake.one_look(names):
        facts = {name: lake.facts(name) for name in names}
    for each in facts.values():
        if each.problem is not None and each.problem.code == "LS503":
            raise StateError(each.problem)
    return {name: each.state for name, each in facts.items() if each.state is not None and each.state.head}


def tags_of(states: Mapping[TableName, TableState]) -> tuple[Tag, ...]:
    """All tags that people have set, by their names."""
    names = sorted({tag for state in states.values() for tag in state.tags if tag != RECORD_TAG})
    return tuple(_tag(name, states) for name in names)


def _tag(name: str, states: Mapping[TableName, TableState]) -> Tag:
    tables = {table: state.refs[name] for table, state in states.items() if name in state.tags}
    times = (states[table].snapshots[at].committed_ms for table, at in tables.items())
    return Tag(name, tables, max(times))


def to_be_tagged(
    name: str, states: Mapping[TableName, TableState], *, replace: bool
) -> dict[TableName, TableState]:
    """The tables that do not have the tag where it is to be: at their heads.

    Raises StateError LS522 where one has it elsewhere and it is not to be replaced: a tag that was set by half goes on, another is kept.
    """
    elsewhere = [str(table) for table, state in states.items() if _is_elsewhere(name, state)]
    if elsewhere and not replace:
        what = f"there is a tag {name} already, and the lake has moved on since"
        found = f"{', '.join(elsewhere[:3])}{' and others' if elsewhere[3:] else ''}"
        hint = f"take another name, or add --replace; lakesmith untag {name} takes it away"
        raise StateError(Problem("LS522", what, None, "a new name", found, hint))
    return {table: state for table, state in states.items() if state.refs.get(name) != state.refs[MAIN]}


def _is_elsewhere(name: str, state: TableState) -> bool:
    return name in state.refs and (name not in state.tags or state.refs[name] != state.refs[MAIN])


def to_be_untagged(
    name: str, states: Mapping[TableName, TableState], project: Project
) -> dict[TableName, TableState]:
    """The tables that have the tag. Raises UsageError LS257 where none has."""
    found = {table: state for table, state in states.items() if name in state.tags}
    if not found:
        names = [tag.name for tag in tags_of(states)]
        expected = ", ".join(names) or "a tag; there is none yet"
        hint = did_you_mean(name, names)
        raise UsageError(
            Problem("LS257", f"there is no tag {name} in {project.name}", None, expected, hint=hint)
        )
    return found
