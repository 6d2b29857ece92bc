"""Resolves a query's names: tables, CTEs, and the tables of qualified columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from lakesmith.quoting import quoted
from lakesmith.sql.model import Edit, TableReference
from lakesmith.sql.parse import Parsed
from lakesmith.sql.tokens import Token, error_at, matching, position


def is_function(table: exp.Table) -> bool:
    """Whether this FROM item is a table-valued function."""
    return isinstance(table.this, exp.Func)


def relations(node: exp.Expr) -> Iterator[exp.Table]:
    """Every FROM or JOIN item in ``node`` that is a name or a function call, without names in hints."""
    for table in node.find_all(exp.Table):
        if not isinstance(table.find_ancestor(exp.Hint, exp.Select), exp.Hint):
            yield table


def cte_of(table: exp.Table) -> exp.CTE | None:
    """Returns the CTE that this name means, None for a table.

    It has one part, and is defined in a WITH around it and before it (a recursive one also within itself).
    """
    if is_function(table) or table.args.get("db"):
        return None
    name, inside, node = table.name.lower(), table, table.parent
    while node is not None:
        for cte in reversed(_visible_ctes(node, inside)):
            if cte.alias.lower() == name:
                return cte
        inside, node = node, node.parent  # type: ignore[assignment]
    return None


def _visible_ctes(node: exp.Expr, inside: exp.Expr) -> list[exp.CTE]:
    """The CTEs of ``node`` visible in its child ``inside``: a body sees all, a CTE those before it."""
    if isinstance(node, exp.With):
        ctes = list(node.expressions)
        at = next(index for index, cte in enumerate(ctes) if cte is inside)
        return ctes[: at + 1] if node.recursive else ctes[:at]
    with_ = node.args.get("with_")
    return [] if with_ is None or with_ is inside else list(with_.expressions)


def tables(parsed: Parsed) -> list[exp.Table]:
    """The nodes that name a table (no CTE, no function), in the order of the text."""
    found = [t for t in relations(parsed.tree) if not is_function(t) and cte_of(t) is None]
    return sorted(found, key=lambda table: _span(parsed, table.parts)[0])


def references(parsed: Parsed) -> tuple[TableReference, ...]:
    """Every reference to a table, in the order of the text."""
    scopes = _Scopes(parsed.tree)
    return tuple(_reference(parsed, table, scopes) for table in tables(parsed))


def _reference(parsed: Parsed, table: exp.Table, scopes: _Scopes) -> TableReference:
    start, end = _span(parsed, table.parts)
    line, column = position(parsed.sql, start)
    parts = tuple(part.name for part in table.parts)
    travels = table.args.get("version") is not None
    alias = _alias(table)
    if alias is not None:
        return TableReference(parts, start, end, line, column, alias, time_travel=travels)
    return TableReference(
        parts,
        start,
        end,
        line,
        column,
        None,
        _alias_at(parsed, end),
        quoted(scopes.implied_alias(table)),
        travels,
    )


def _span(parsed: Parsed, parts: list[exp.Expr]) -> tuple[int, int]:
    """The span of a dotted name. Each part must be where sqlglot says it is."""
    places = [(part.meta.get("start", -1), part.meta.get("end", -2) + 1) for part in parts]
    for part, (start, end) in zip(parts, places, strict=True):
        if parsed.sql[max(start, 0) : end].strip("`").replace("``", "`") != part.name:
            raise error_at(parsed.sql, max(start, 0), f"the place of {part.name} in the text is not known")
    return places[0][0], places[-1][1]


def _alias(table: exp.Table) -> str | None:
    alias = table.args.get("alias")
    return alias.name or None if alias is not None else None


@dataclass(frozen=True, slots=True)
class _Owner:
    """Returns the table without an alias that a column's first ``parts`` name.

    ``hidden``: between the two, a SELECT has something else with the name of its last part.
    """

    table: exp.Table
    parts: int
    hidden: bool = False


class _Scopes:
    """What the SELECTs of a query read, and the tables of its columns."""

    def __init__(self, tree: exp.Expr) -> None:
        self._relations: dict[int, list[exp.Expr]] = {}
        for node in tree.find_all(exp.Table, exp.Subquery, exp.Lateral, exp.Values):
            around = node.find_ancestor(exp.Hint, exp.Select)
            if isinstance(around, exp.Select) and _called(node):
                self._relations.setdefault(id(around), []).append(node)
        called = [_called(node) for nodes in self._relations.values() for node in nodes]
        self._twice = {name for name in called if called.count(name) > 1}
        owners = map(self._by_all_parts, tree.find_all(exp.Column)) if self._twice else ()
        self._hidden = {id(owner.table) for owner in owners if owner is not None and owner.hidden}

    def implied_alias(self, table: exp.Table) -> str:
        """Returns the name by which columns can refer to a table without an alias.

        Its last part; all parts if something else has that name in the same SELECT (``bronze.orders`` beside
        ``silver.orders``), or in a SELECT inside it that names columns of the table.
        """
        select = table.find_ancestor(exp.Select)
        others = [node for node in self._read_by(select) if node is not table]
        taken = id(table) in self._hidden or table.name.lower() in map(_called, others)
        return ".".join(part.name for part in table.parts) if taken else table.name

    def owner(self, column: exp.Column) -> _Owner | None:
        """Returns the table that the column must name differently; None if the column may stay."""
        found = self._by_all_parts(column) or (self._by_last_part(column) if self._hidden else None)
        return None if found is None or (found.parts == 1 and id(found.table) not in self._hidden) else found

    def _read_by(self, select: exp.Expr | None) -> list[exp.Expr]:
        return self._relations.get(id(select), [])

    def _by_all_parts(self, column: exp.Column) -> _Owner | None:
        name = tuple(part.name.lower() for part in column.parts[:2])
        select, hidden = column.find_ancestor(exp.Select), False
        while select is not None and len(column.parts) > 2:
            for node in self._read_by(select):
                if isinstance(node, exp.Table) and _is_called_in_full(node, name):
                    return _Owner(node, 2, hidden)
            hidden = hidden or name[1] in map(_called, self._read_by(select))
            select = select.find_ancestor(exp.Select)
        return None

    def _by_last_part(self, column: exp.Column) -> _Owner | None:
        select = column.find_ancestor(exp.Select)
        while select is not None and len(column.parts) > 1:
            found = [node for node in self._read_by(select) if _called(node) == column.parts[0].name.lower()]
            if found:
                only = found[0] if len(found) == 1 else None
                return _Owner(only, 1) if isinstance(only, exp.Table) and _alias(only) is None else None
            select = select.find_ancestor(exp.Select)
        return None


def _is_called_in_full(table: exp.Table, name: tuple[str, ...]) -> bool:
    parts = tuple(part.name.lower() for part in table.parts)
    return parts == name and _alias(table) is None and not is_function(table)


def _called(relation: exp.Expr) -> str:
    """The names by which columns refer to it, in lower case; empty if they cannot."""
    name: str = relation.alias_or_name
    return name.lower()


def _alias_at(parsed: Parsed, end: int) -> int:
    """Where an alias goes: behind the name and its time travel or sampling."""
    following = [index for index, token in enumerate(parsed.tokens) if token.start >= end]
    at = following[0] if following else len(parsed.tokens)
    while at < len(parsed.tokens):
        after = _behind_clause(parsed.tokens, at)
        if after == at:
            break
        at, end = after, parsed.tokens[after - 1].end
    return end


def _behind_clause(tokens: tuple[Token, ...], at: int) -> int:
    """The index behind the sampling or time travel clause that begins at ``at``, else ``at``."""
    word = tokens[at].upper
    if word in ("TABLESAMPLE", "REPEATABLE") and at + 1 < len(tokens) and tokens[at + 1].text == "(":
        return matching(tokens, at + 1) + 1
    start = at + 1 if word == "FOR" else at
    travels = tokens[start + 1 : start + 3]
    if [t.upper for t in travels] == ["AS", "OF"] and tokens[start].upper != "AS":
        return min(start + 4, len(tokens))
    return at


def qualifiers(parsed: Parsed) -> tuple[Edit, ...]:
    """The edits from ``layer.name.column`` to ``alias.column``, for columns of tables without an alias.

    Also from ``name.column`` if the table has another alias then.
    """
    scopes = _Scopes(parsed.tree)
    found = (_qualifier(parsed, column, scopes) for column in parsed.tree.find_all(exp.Column))
    return tuple(sorted((edit for edit in found if edit), key=lambda edit: edit.start))


def _qualifier(parsed: Parsed, column: exp.Column, scopes: _Scopes) -> Edit | None:
    found = scopes.owner(column)
    if found is None:
        return None
    start, end = _span(parsed, column.parts[: found.parts])
    return Edit(start, end, quoted(scopes.implied_alias(found.table)))
