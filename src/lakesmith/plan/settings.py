"""What a table's file says beside its rows, held against the table: texts, partitioning and the format version, which metadata alone
can change.

The file counts: what it does not say (any more) is taken off the table too. Only the documentation of a column that is not
declared is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from lakesmith.catalog.state import TableState
from lakesmith.plan.facts import TableFacts
from lakesmith.plan.format_version import FormatUpgrade, format_change
from lakesmith.plan.steps import Decision, TableStep, UpToDate
from lakesmith.project.definitions import TableDefinition

COMMENT: Final = "comment"
"""The table property that engines show as the table's comment."""

OWNER: Final = "lakesmith.owner"
TAGS: Final = "lakesmith.tags"


@dataclass(frozen=True, slots=True)
class TextSetting:
    """A text to be changed: a table ``property``, or a ``column``'s documentation. ``wanted`` None: taken away."""

    name: str
    found: str | None
    wanted: str | None
    property: str = ""
    column: str = ""

    def __str__(self) -> str:
        return f"{self.name} {_shown(self.found)} becomes {_shown(self.wanted)}"


@dataclass(frozen=True, slots=True)
class Partitioning:
    """Partition fields to be changed, in Spark's spelling."""

    found: tuple[str, ...]
    wanted: tuple[str, ...]

    def __str__(self) -> str:
        now, then = (f"[{', '.join(fields)}]" for fields in (self.found, self.wanted))
        return (
            f"partition_by {now} becomes {then}, for rows written from then on (a full refresh rewrites all)"
        )


SettingChange = TextSetting | Partitioning | FormatUpgrade


def setting_properties(table: TableDefinition) -> dict[str, str]:
    """The properties that carry the settings which are declared."""
    texts = {COMMENT: table.description, OWNER: table.owner, TAGS: ",".join(table.tags)}
    return {name: text for name, text in texts.items() if text}


def changed_settings(table: TableDefinition, state: TableState) -> tuple[SettingChange, ...]:
    """What differs between the declaration and the table, in the order it is written in a table's file."""
    texts = (*_changed_texts(table, state), *_changed_docs(table, state))
    return (*texts, *_changed_partitions(table, state), *format_change(table, state))


def with_setting_notes(decision: Decision, facts: TableFacts) -> Decision:
    """The decision, with a note for each setting that the next batch of the table changes."""
    if facts.state is None or not isinstance(decision, TableStep | UpToDate):
        return decision
    changes = changed_settings(decision.table, facts.state)
    return replace(
        decision, notes=(*decision.notes, *(f"with its next batch, {change}" for change in changes))
    )


def _changed_texts(table: TableDefinition, state: TableState) -> Iterator[TextSetting]:
    wanted = setting_properties(table)
    for name, key in (("description", COMMENT), ("owner", OWNER), ("tags", TAGS)):
        found = state.properties.get(key)
        if found != wanted.get(key):
            yield TextSetting(name, found, wanted.get(key), property=key)


def _changed_docs(table: TableDefinition, state: TableState) -> Iterator[TextSetting]:
    there = {column.name.lower(): column for column in state.columns}
    for column in table.columns:
        known = there.get(column.name.lower())
        if known is not None and (known.doc or None) != (column.doc or None):
            yield TextSetting(f"doc of column {known.name}", known.doc, column.doc, column=known.name)


def _changed_partitions(table: TableDefinition, state: TableState) -> Iterator[Partitioning]:
    if {field.lower() for field in table.partition_by} != {field.lower() for field in state.partitioning}:
        yield Partitioning(state.partitioning, table.partition_by)


def _shown(text: str | None) -> str:
    return f"'{text}'" if text else "(none)"
