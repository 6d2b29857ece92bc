"""A table's settings besides its rows: names and order of columns, texts, partitioning, format.

Metadata alone can change them. What the file no longer declares is removed from the table, too, except the
documentation of an undeclared column.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from lakesmith.catalog.record import Record
from lakesmith.catalog.state import TableState
from lakesmith.plan.facts import TableFacts, still_refused
from lakesmith.plan.format_version import FormatUpgrade, format_change
from lakesmith.plan.steps import Decision, InputRange, Strategy, TableStep, UpToDate
from lakesmith.project.definitions import TableDefinition
from lakesmith.project.table_parts import partition_field
from lakesmith.quoting import quoted_if_odd
from lakesmith.sources.columns.types import column_changes, known_columns

COMMENT: Final = "comment"
"""The table property that engines show as the table's comment."""

OWNER: Final = "lakesmith.owner"
TAGS: Final = "lakesmith.tags"
_AHEAD: Final = "with its next batch, "


@dataclass(frozen=True, slots=True)
class TextSetting:
    """A text to change: a table ``property`` or a ``column``'s documentation. ``wanted`` None: removed."""

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
            f"partition_by {now} becomes {then}, for rows written from then on (`lakesmith rewrite` rewrites"
            " the others)"
        )


@dataclass(frozen=True, slots=True)
class Renaming:
    """A renamed column; its values and its past stay."""

    found: str
    wanted: str

    def __str__(self) -> str:
        return f"column {self.found} becomes {self.wanted}, in metadata alone"


@dataclass(frozen=True, slots=True)
class Reordering:
    """Columns to put first, in this order."""

    wanted: tuple[str, ...]

    def __str__(self) -> str:
        return f"columns stand in the order {', '.join(self.wanted)}, in metadata alone"


SettingChange = TextSetting | Partitioning | FormatUpgrade | Renaming | Reordering


def setting_properties(table: TableDefinition) -> dict[str, str]:
    """The properties of the declared settings."""
    texts = {COMMENT: table.description, OWNER: table.owner, TAGS: ",".join(table.tags)}
    return {name: text for name, text in texts.items() if text}


def changed_settings(table: TableDefinition, state: TableState) -> tuple[SettingChange, ...]:
    """Returns the differences between declaration and table, in the order of a table's file."""
    renamed, state = renamings(table, state), with_renamings(table, state)
    texts = (*_changed_texts(table, state), *_changed_docs(table, state))
    storage: tuple[SettingChange, ...] = (*_changed_partitions(table, state), *format_change(table, state))
    return (*renamed, *_changed_order(table, state), *texts, *storage)


def renamings(table: TableDefinition, state: TableState) -> tuple[Renaming, ...]:
    """Returns the columns declared as renamed of which the table has only the earlier name."""
    there = {column.name.lower(): column.name for column in state.columns}
    declared = {column.name.lower() for column in table.columns}
    found: dict[str, Renaming] = {}
    for column in table.columns:
        earlier = (
            name.lower()
            for name in column.earlier
            if name.lower() in there and (name == column.renamed_from or name.lower() not in declared)
        )
        if column.name.lower() not in there and (name := next(earlier, None)) and name not in found:
            found[name] = Renaming(there[name], column.name)
    return tuple(found.values())


def not_renamed(table: TableDefinition, state: TableState) -> tuple[str, ...]:
    """Describes columns declared as renamed that cannot be: the table has both names."""
    there = {column.name.lower(): column.name for column in with_renamings(table, state).columns}
    return tuple(
        f"column {column.name} is declared as renamed from {there[earlier]}, and the table has both: nothing"
        " is renamed, and each keeps its values"
        for column in table.columns
        if (earlier := (column.renamed_from or "").lower()) in there and column.name.lower() in there
    )


def declared_changes(table: TableDefinition, state: TableState) -> tuple[str, ...]:
    """Describes declared columns of a sourced table that are missing in the table, or narrower."""
    if not table.is_sourced:
        return ()
    there = with_renamings(table, state)
    declared = known_columns(table, there)[: len(table.columns)]
    return tuple(
        str(change) for _, changes in column_changes(there.columns, declared) for change in changes or ()
    )


def with_renamings(table: TableDefinition, state: TableState) -> TableState:
    """The table as it is once its columns are renamed."""
    names = {change.found: change.wanted for change in renamings(table, state)}
    if not names:
        return state
    columns = (replace(column, name=names.get(column.name, column.name)) for column in state.columns)
    fields = (_renamed_field(text, names) for text in state.partitioning)
    return replace(state, columns=tuple(columns), partitioning=tuple(fields))


def _renamed_field(text: str, names: Mapping[str, str]) -> str:
    column = partition_field(text)[1]
    if column not in names:
        return text
    before, _, after = text.rpartition(quoted_if_odd(column))
    return f"{before}{quoted_if_odd(names[column])}{after}"


def structure_changes(table: TableDefinition, state: TableState) -> tuple[str, ...]:
    """Describes what metadata alone has to change to make the table as declared."""
    return (*map(str, changed_settings(table, state)), *declared_changes(table, state))


def with_structure(decision: Decision, facts: TableFacts) -> Decision:
    """Returns the decision with a note for each changed setting.

    A table with no other work has a step for its declared structure.
    """
    state, record = facts.state, facts.base.record
    if state is None or not isinstance(decision, TableStep | UpToDate):
        return decision
    ahead = (f"{_AHEAD}{change}" for change in changed_settings(decision.table, state))
    notes = (*decision.notes, *ahead, *not_renamed(decision.table, state))
    changes = structure_changes(decision.table, state)
    if isinstance(decision, TableStep) or not changes or record is None or _was_no_use(changes, record):
        return replace(decision, notes=notes)
    more = f", and {len(changes) - 1} more" if len(changes) > 1 else ""
    return TableStep(
        table=decision.table,
        strategy=Strategy.ADVANCE,
        reason=f"it is not yet as declared: {changes[0]}{more}",
        base=facts.base,
        fingerprint=record.fingerprint,
        inputs=InputRange.unread(record),
        notes=notes,
        row_wise=True,
        refused=still_refused(record, decision.table.trusts_python),
    )


def _was_no_use(changes: Collection[str], record: Record) -> bool:
    """Whether the last batch made the same changes in vain: a catalog may store a text differently."""
    return record.kind == Strategy.ADVANCE.value and set(changes) <= set(record.notes)


def still_ahead(notes: tuple[str, ...], done: Collection[str]) -> tuple[str, ...]:
    """Returns a decision's notes without those of what its batch has ``done``."""
    return tuple(note for note in notes if note.removeprefix(_AHEAD) not in done)


def _changed_order(table: TableDefinition, state: TableState) -> Iterator[Reordering]:
    """For a sourced table, whose new columns come last."""
    if not table.is_sourced:
        return
    spelt = {column.name.lower(): column.name for column in table.columns}
    there = [spelt[column.name.lower()] for column in state.columns if column.name.lower() in spelt]
    wanted = [column.name for column in table.columns]
    if there + [name for name in wanted if name not in there] != wanted:
        yield Reordering(tuple(wanted))


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
