"""The analysis of a query's text as frozen data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class ShapeKind(StrEnum):
    """What a query does to rows, as far as its text is certain."""

    ROW_WISE = "row_wise"
    ROW_WISE_UNION = "row_wise_union"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Shape:
    """The kind and, for ``other``, the ``reason`` why it is not row-wise: ``GROUP BY city at line 3``."""

    kind: ShapeKind
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class TableReference:
    """One place where the query names a table, not a CTE.

    ``parts``: the name without its quotes, two for a logical table; the caller refuses others.
    ``start``, ``end``: the name's characters in the text, ``end`` excluded. ``line``, ``column``: from 1.
    ``alias``: as the query gives it, without quotes. Without one, ``implied_alias`` is the quoted name to
    insert at ``alias_at`` if the name is replaced, so that qualified columns still resolve.
    """

    parts: tuple[str, ...]
    start: int
    end: int
    line: int
    column: int
    alias: str | None = None
    alias_at: int | None = None
    implied_alias: str | None = None
    time_travel: bool = False

    @property
    def name(self) -> str:
        """The parts joined with dots, as the query writes them."""
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the characters from ``start`` up to ``end`` (excluded) by ``text``."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Output:
    """One item of the query's result.

    A column with a ``name``; all columns of the table ``star_of`` but ``excluded``; or, if both are None, an
    expression without an alias, whose name only Spark knows.
    """

    name: str | None = None
    star_of: str | None = None
    excluded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionUse:
    """A function and the line it is called in."""

    name: str
    line: int

    def __str__(self) -> str:
        return f"{self.name} at line {self.line}"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a caller may want to refuse or mention.

    ``kind``: ``time_travel``, ``hint``, ``table_function`` or ``unnamed_column``.
    """

    kind: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class SelectList:
    """A SELECT list from an input to the result. ``at``: where to add a column. ``star``: it passes all."""

    at: int
    star: bool = False


@dataclass(frozen=True, slots=True)
class Joined:
    """A table joined to the rows of another, and its columns (lower case) that the join equates with theirs.

    ``level``: the index of the SELECT that joins it in ``select_lists``; None if unknown.
    """

    table: str
    columns: tuple[str, ...]
    level: int | None = None


@dataclass(frozen=True, slots=True)
class Driven:
    """A query that is row-wise except for its joins.

    Each row of its first table gives at most one row for each match in the ``joined`` tables.
    ``select_lists``: those from that table to the result, innermost first; None if a column cannot be added
    safely.
    """

    joined: tuple[Joined, ...]
    select_lists: tuple[SelectList, ...] | None = None


@dataclass(frozen=True, slots=True)
class SqlAnalysis:
    """The analysis of one query. ``digest`` ties it to its text: offsets mean nothing in another.

    ``qualifiers``: edits that turn ``bronze.orders.city`` into `````orders`.city```` once ``bronze.orders``
    is replaced.
    ``computed``, ``named``: see ``used_columns``; None: any columns.
    ``not_by_keys``: what prevents an incremental refresh by key, None if nothing does.
    ``driven``: its joins, if only those keep it from being row-wise.
    ``merges``: what merges rows on every way from its inputs to its result, so that a row has no arrival of
    its own; None if nothing does.
    """

    digest: str
    references: tuple[TableReference, ...]
    outputs: tuple[Output, ...]
    shape: Shape
    nondeterministic: tuple[FunctionUse, ...] = ()
    notices: tuple[Notice, ...] = ()
    qualifiers: tuple[Edit, ...] = ()
    computed: tuple[str, ...] | None = None
    named: tuple[str, ...] | None = None
    not_by_keys: str | None = None
    driven: Driven | None = None
    merges: str | None = None

    @property
    def output_columns(self) -> tuple[str, ...] | None:
        """The result's columns in order; None if a star or an unnamed expression leaves them open."""
        return self.columns_given({})

    @property
    def star_of(self) -> tuple[str, ...]:
        """The tables whose columns a star passes on, in order, once each."""
        return tuple(dict.fromkeys(output.star_of for output in self.outputs if output.star_of))

    def columns_given(self, schemas: Mapping[str, Sequence[str]]) -> tuple[str, ...] | None:
        """Returns the result's columns in order, stars filled in from the tables' columns by name.

        None if a table is not in ``schemas`` or an expression has no alias.
        """
        known = {name.lower(): columns for name, columns in schemas.items()}
        found: list[str] = []
        for output in self.outputs:
            columns = [output.name] if output.name else known.get((output.star_of or "").lower())
            if columns is None:
                return None
            found += [column for column in columns if column.lower() not in output.excluded]
        return tuple(found)
