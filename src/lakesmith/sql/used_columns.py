"""The columns that a query computes with, beyond passing them on, and the columns that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

WHOLE_ROW = "*"
"""A star inside an expression, ``struct(*)``: its value depends on the table's columns."""


def computed_columns(tree: exp.Query) -> tuple[str, ...]:
    """Returns the columns in expressions, conditions and the like, in lower case and sorted.

    A name in a path (``address.city``) may be a table's alias, a column's or a field's: all parts are given.
    With several SELECTs a column may be renamed before it is used: then all named columns are given.

    >>> from sqlglot import parse_one
    >>> sql = "SELECT a, b AS c, o.*, upper(d), x.y + 1 FROM o WHERE e > 0"
    >>> computed_columns(parse_one(sql, read="spark"))
    ('d', 'e', 'x', 'y')
    >>> computed_columns(parse_one("SELECT to_json(struct(*)) FROM o", read="spark"))
    ('*',)
    >>> computed_columns(parse_one("SELECT a FROM o AS t(a, b)", read="spark"))
    ('*',)
    """
    from sqlglot import exp

    if len(list(tree.find_all(exp.Query))) > 1:
        return named_columns(tree)
    columns = (column for column in tree.find_all(exp.Column) if not _is_passed_on(column))
    names = {part.name.lower() or WHOLE_ROW for column in columns for part in column.parts}
    stars = any(
        not isinstance(star.parent, exp.Select | exp.Count | exp.Column) for star in tree.find_all(exp.Star)
    )
    return tuple(sorted({*names, WHOLE_ROW} if stars or _names_by_place(tree) else names))


def named_columns(tree: exp.Query) -> tuple[str, ...]:
    """Returns all columns named anywhere, in lower case and sorted, with ``*`` if other columns matter, too.

    >>> from sqlglot import parse_one
    >>> named_columns(parse_one("SELECT a, o.b AS c FROM o JOIN p USING (d)", read="spark"))
    ('a', 'b', 'd', 'o')
    >>> named_columns(parse_one("SELECT count(*) AS n FROM (SELECT * FROM o)", read="spark"))
    ('*',)
    """
    from sqlglot import exp

    names = {part.name.lower() or WHOLE_ROW for column in tree.find_all(exp.Column) for part in column.parts}
    joins = list(tree.find_all(exp.Join))
    names |= {each.name.lower() for join in joins for each in join.args.get("using") or ()}
    stars = any(not isinstance(star.parent, exp.Count) for star in tree.find_all(exp.Star))
    natural = any(str(join.args.get("method") or "").upper() == "NATURAL" for join in joins)
    return tuple(sorted({*names, WHOLE_ROW} if stars or natural or _names_by_place(tree) else names))


def compared_columns(tree: exp.Query) -> frozenset[str]:
    """Returns all parts of the columns that conditions compare, in lower case: where rows are left out.

    >>> from sqlglot import parse_one
    >>> sql = "SELECT a > 1 FROM o JOIN p ON o.b < 3 WHERE s.c = 0 AND NOT d IN (1) AND e IS NULL"
    >>> sorted(compared_columns(parse_one(sql, read="spark")))
    ['b', 'c', 'd', 'o', 's']
    """
    from sqlglot import exp

    places = (exp.Where, exp.Having, exp.Join, exp.Qualify, exp.Filter)
    comparisons = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.In, exp.Between)
    found = (node for place in tree.find_all(*places) for node in place.find_all(*comparisons))
    columns = (column for node in found for column in node.find_all(exp.Column))
    return frozenset(part.name.lower() for column in columns for part in column.parts)


def _names_by_place(tree: exp.Query) -> bool:
    """Whether columns get their names by their position, or are those that a PIVOT does not name."""
    from sqlglot import exp

    tables = tree.find_all(exp.Table, exp.Subquery)
    return any(table.args.get("pivots") or table.alias_column_names for table in tables)


def _is_passed_on(column: exp.Column) -> bool:
    from sqlglot import exp

    item = column.parent if isinstance(column.parent, exp.Alias) else column
    return isinstance(item.parent, exp.Select) and item.arg_key == "expressions" if item else False
