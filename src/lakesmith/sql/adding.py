"""Can a query's sums be brought forward by what changed? What its text says of that.

A proposal only, for people and plans: Spark's analysed plan decides (see ``spark.catalyst.summable``), and what a batch did is on
record. So nothing is proposed here that only Spark can see through.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from lakesmith.sql.exact_types import has_exact_mean, is_exact, places
from lakesmith.sql.model import SqlSums
from lakesmith.sql.parse import Parsed
from lakesmith.sql.scope import cte_of, is_function

_ALLOWED: Final = frozenset({"expressions", "from_", "where", "group", "joins", "laterals", "hint"})
_CLAUSES: Final = {
    "having": "HAVING",
    "distinct": "DISTINCT",
    "order": "ORDER BY",
    "sort": "SORT BY",
    "distribute": "DISTRIBUTE BY",
    "cluster": "CLUSTER BY",
    "qualify": "QUALIFY",
    "windows": "WINDOW",
    "with_": "WITH",
}


_COLUMN, _MEAN, _CAST = "column", "mean", "cast"
"""What is found in a value that can be added up: as ``SqlSums`` has it."""


class _NotAddedError(Exception):
    """Carries the reason, as a person reads it."""


def sums_of(parsed: Parsed) -> SqlSums | None:
    """What the text says of a query that groups rows; None of any other."""
    select = parsed.tree
    if not isinstance(select, exp.Select) or select.args.get("group") is None:
        return None
    try:
        _check_clauses(select)
        tables = _tables(select)
        found = list(_summed(select, tables))
    except _NotAddedError as reason:
        return SqlSums(against=str(reason))
    columns, means, casts = (
        tuple(text for what, text in found if what is each) for each in (_COLUMN, _MEAN, _CAST)
    )
    return SqlSums(_adding(select, tables), columns, None, means, casts)


def _check_clauses(select: exp.Select) -> None:
    for name, value in select.args.items():
        if value and name not in _ALLOWED:
            raise _NotAddedError(_CLAUSES.get(name, name.strip("_").upper()))
    if select.find(exp.Window):
        raise _NotAddedError("a window function")
    if any(each is not select for each in select.find_all(exp.Query)):
        raise _NotAddedError("a query within the query")


def _tables(select: exp.Select) -> list[exp.Table]:
    from_ = select.args["from_"].this if select.args.get("from_") else None
    joins = select.args.get("joins") or []
    sources = [from_, *(join.this for join in joins)]
    tables = [source for source in sources if isinstance(source, exp.Table) and not is_function(source)]
    if len(tables) < len(sources) or any(
        table.args.get("joins") or table.alias_column_names or cte_of(table) for table in tables
    ):
        raise _NotAddedError("what is in FROM, which only Spark's plan sees through")
    return tables


def _adding(select: exp.Select, tables: list[exp.Table]) -> tuple[str, ...]:
    """The tables of which each row of the joins is made from one row, named once."""
    made = [tables[0]]
    for join, table in zip(select.args.get("joins") or [], tables[1:], strict=True):
        is_asked = join.side.upper() == "LEFT" or join.kind.upper() in ("SEMI", "ANTI")
        made = [table] if join.side.upper() == "RIGHT" else [*made, *([] if is_asked else [table])]
    names = [_name(table) for table in tables]
    return tuple(name for name in map(_name, made) if names.count(name) == 1)


def _name(table: exp.Table) -> str:
    return ".".join(part.name for part in table.parts)


def _summed(select: exp.Select, tables: list[exp.Table]) -> Iterator[tuple[str, str]]:
    """What is added up. Raises _NotAddedError where an item is neither of a group nor can be added up."""
    groups = _groups(select)
    values = [item.unalias() for item in select.expressions]
    if not all(any(_tells(value, group) for value in values) for group in groups):
        raise _NotAddedError("a group that no column of its result tells")
    for value in values:
        if not any(_tells(value, group) for group in groups):
            yield from _added(value, groups, tables)
            if isinstance(_aggregate(value), exp.Avg):
                _require_beside(value, values)


def _groups(select: exp.Select) -> list[exp.Expr]:
    """What is grouped by; a place or an alias in the list stands for the item there."""
    group, items = select.args["group"], select.expressions
    if group.args.get("all"):
        return [item.unalias() for item in items if item.find(exp.AggFunc) is None]
    aliases = {item.alias.lower(): item.this for item in items if isinstance(item, exp.Alias)}
    found = []
    for each in group.expressions:
        if isinstance(each, exp.Literal) and each.is_int and 0 < int(each.this) <= len(items):
            each = items[int(each.this) - 1].unalias()
        elif isinstance(each, exp.Column) and not each.table:
            each = aliases.get(each.name.lower(), each)
        found.append(each)
    return found


def _tells(value: exp.Expr, group: exp.Expr) -> bool:
    """Whether a value of the result says which group it is: it is what is grouped by, or an end of that event-time window."""
    if isinstance(value, exp.Column) and isinstance(group, exp.Column):
        same = value.name.lower() == group.name.lower()
        return same and (value.table.lower() == group.table.lower() or not (value.table and group.table))
    if isinstance(value, exp.Column) and value.table.lower() == "window" and _is_window(group):
        # What Spark calls the window of a query that groups by one.
        return value.name.lower() in ("start", "end")
    is_end = isinstance(value, exp.Dot) and value.this == group
    return value == group or (is_end and value.expression.name.lower() in ("start", "end"))


def _is_window(group: exp.Expr) -> bool:
    return isinstance(group, exp.Anonymous) and group.name.lower() == "window"


def _added(value: exp.Expr, groups: list[exp.Expr], tables: list[exp.Table]) -> Iterator[tuple[str, str]]:
    if value.find(exp.AggFunc, exp.Anonymous) is None:
        _require_of_group(value, groups)
        return
    added, to = _aggregate(value), _cast_to(value)
    plain = isinstance(added, exp.Count | exp.Sum | exp.Avg)
    plain = plain or (isinstance(added, exp.Min | exp.Max) and to is None)
    if not plain or added.find(exp.Distinct) or (added.expressions and not isinstance(added, exp.Count)):
        raise _NotAddedError(f"{_text(value)} cannot be brought forward")
    if isinstance(added, exp.Avg):
        yield from ((_MEAN, name) for name in _columns_in(added, tables))
        return
    if to is not None and (kept := places(to)) is None:
        raise _NotAddedError(f"{_text(value)} cannot be brought forward")
    if isinstance(added, exp.Sum):
        for name in _columns_in(added, tables):
            yield _COLUMN, name
            if to is not None:
                yield _CAST, f"{kept} {name}"


def _aggregate(value: exp.Expr) -> exp.Expr:
    """What is below a cast and a FILTER."""
    below = value.this if _cast_to(value) is not None else value
    return below.this if isinstance(below, exp.Filter) else below


def _cast_to(value: exp.Expr) -> str | None:
    """The type that a value is cast to; None where it is not, or gives null for what the type does not have."""
    if not isinstance(value, exp.Cast) or value.args.get("safe"):
        return None
    return value.to.sql("spark").lower().replace(" ", "")


def _require_beside(mean: exp.Expr, values: list[exp.Expr]) -> None:
    """Raises _NotAddedError where an average does not stand beside the sum and the count of the very values."""
    filtered = mean.this if _cast_to(mean) is not None else mean
    of = _aggregate(mean).this
    for kind in (exp.Sum, exp.Count):
        wanted = kind(this=of.copy())
        beside = (
            exp.Filter(this=wanted, expression=filtered.expression.copy())
            if filtered is not _aggregate(mean)
            else wanted
        )
        if not any(_plain(value) == beside for value in values):
            raise _NotAddedError(f"{_text(_aggregate(mean))} without {_text(wanted)} beside it")


def _plain(value: exp.Expr) -> exp.Expr:
    """An aggregate without a cast, as it compares with one that is made here."""
    below = (value.this if _cast_to(value) is not None else value).copy()
    for count in below.find_all(exp.Count):
        count.set("big_int", None)
    return below


def _require_of_group(value: exp.Expr, groups: list[exp.Expr]) -> None:
    columns = value.find_all(exp.Column)
    if not all(any(_tells(column, group) for group in groups) for column in columns):
        raise _NotAddedError(f"{_text(value)}, which only Spark's plan sees through")


def _columns_in(added: exp.Sum | exp.Avg, tables: list[exp.Table]) -> Iterator[str]:
    """The column whose values are added up, where the text itself does not say what type they are."""
    value, names = added.this, {table.alias_or_name.lower() for table in tables}
    if isinstance(value, exp.Cast):
        is_right = is_exact if isinstance(added, exp.Sum) else has_exact_mean
        if not is_right(value.to.sql("spark").lower().replace(" ", "")):
            raise _NotAddedError(f"{_text(added)} is not exact")
    elif isinstance(value, exp.Column) and (not value.table or value.table.lower() in names):
        yield value.name.lower()
    elif not (isinstance(value, exp.Literal) and value.is_int):
        raise _NotAddedError(f"{_text(added)}, whose type only Spark's plan tells")


def _text(node: exp.Expr) -> str:
    return node.sql("spark", normalize_functions="lower")
