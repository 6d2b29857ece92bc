"""Tables that a SELECT joins to the rows of another, and by which of their columns."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from lakesmith.sql.model import Joined
from lakesmith.sql.scope import cte_of, is_function

_SIDES = ("", "LEFT")
_KINDS = ("", "INNER", "OUTER")


def joined_tables(select: exp.Expr) -> list[tuple[exp.Table, Joined]] | None:
    """The tables that ``select`` joins; None where one of its joins is of another kind than JOIN and LEFT JOIN of a table by ON or USING.

    Only columns that are qualified say to which table they belong.
    """
    found = [_joined(join) for join in select.args.get("joins") or ()]
    known = [each for each in found if each is not None]
    return known if known and len(known) == len(found) else None


def _joined(join: exp.Join) -> tuple[exp.Table, Joined] | None:
    table = join.this
    plain = (join.side or "").upper() in _SIDES and (join.kind or "").upper() in _KINDS and not join.method
    if not plain or not isinstance(table, exp.Table) or is_function(table) or cte_of(table) is not None:
        return None
    if table.args.get("version") or table.args.get("sample") or table.args.get("pivots"):
        return None
    using = [column.name.lower() for column in join.args.get("using") or ()]
    on = join.args.get("on")
    columns = using or (list(_equated(on, table)) if on is not None else [])
    return table, Joined(".".join(part.name for part in table.parts), tuple(dict.fromkeys(columns)))


def _equated(condition: exp.Expr, table: exp.Table) -> Iterator[str]:
    """The table's columns that have to be equal to something of other tables for the condition to hold."""
    if isinstance(condition, exp.Paren):
        yield from _equated(condition.this, table)
    elif isinstance(condition, exp.And):
        yield from _equated(condition.this, table)
        yield from _equated(condition.expression, table)
    elif isinstance(condition, (exp.EQ, exp.NullSafeEQ)):
        sides = (condition.this, condition.expression)
        for one, other in (sides, sides[::-1]):
            if _is_of(one, table) and not any(
                _may_be_of(column, table) for column in other.find_all(exp.Column)
            ):
                yield one.name.lower()


def _is_of(node: exp.Expr, table: exp.Table) -> bool:
    return (
        isinstance(node, exp.Column)
        and not isinstance(node.this, exp.Star)
        and _called(node) in _names(table)
    )


def _may_be_of(column: exp.Column, table: exp.Table) -> bool:
    return not column.table or _called(column) in _names(table)


def _called(column: exp.Column) -> str:
    return ".".join(part.name.lower() for part in column.parts[:-1])


def _names(table: exp.Table) -> tuple[str, ...]:
    if table.alias:
        return (table.alias.lower(),)
    parts = [part.name.lower() for part in table.parts]
    return (parts[-1], ".".join(parts))
