"""Which names of a query's tree are tables, which are CTEs, and what its qualified columns belong to."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from lakesmith.graph.sql_model import Edit, TableReference
from lakesmith.graph.sql_parse import Parsed
from lakesmith.graph.sql_tokens import Token, error_at, matching, position


def quoted(name: str) -> str:
    """The name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def is_function(table: exp.Table) -> bool:
    """Whether this FROM item is a table-valued function."""
    return isinstance(table.this, exp.Func)


def relations(node: exp.Expr) -> Iterator[exp.Table]:
    """Every FROM or JOIN item in ``node`` that is written as a name or a function call; names in hints are none."""
    for table in node.find_all(exp.Table):
        if not isinstance(table.find_ancestor(exp.Hint, exp.Select), exp.Hint):
            yield table


def cte_of(table: exp.Table) -> exp.CTE | None:
    """The CTE that this name means, None if it means a table: one part, defined in a WITH around it and before it
    (a recursive one also within itself)."""
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
    """The CTEs that ``node`` lends to its child ``inside``: a body sees all, a CTE those before it."""
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
    return tuple(_reference(parsed, table) for table in tables(parsed))


def _reference(parsed: Parsed, table: exp.Table) -> TableReference:
    start, end = _span(parsed, table.parts)
    line, column = position(parsed.sql, start)
    parts = tuple(part.name for part in table.parts)
    travels = table.args.get("version") is not None
    alias = _alias(table)
    if alias is not None:
        return TableReference(parts, start, end, line, column, alias, time_travel=travels)
    return TableReference(
        parts, start, end, line, column, None, _alias_at(parsed, end), quoted(implied_alias(table)), travels
    )


def _span(parsed: Parsed, parts: list[exp.Expr]) -> tuple[int, int]:
    """From the first character of a dotted name to behind its last. Each part must be where sqlglot says it is."""
    places = [(part.meta.get("start", -1), part.meta.get("end", -2) + 1) for part in parts]
    for part, (start, end) in zip(parts, places, strict=True):
        if parsed.sql[max(start, 0) : end].strip("`").replace("``", "`") != part.name:
            raise error_at(parsed.sql, max(start, 0), f"the place of {part.name} in the text is not known")
    return places[0][0], places[-1][1]


def _alias(table: exp.Table) -> str | None:
    alias = table.args.get("alias")
    return alias.name or None if alias is not None else None


def implied_alias(table: exp.Table) -> str:
    """What columns call a table without an alias: its last part, or all parts where another of the same SELECT has
    the same last part (``bronze.orders`` beside ``silver.orders``)."""
    name = table.name
    select = table.find_ancestor(exp.Select)
    others = [other for other in _tables_of(select) if other is not table] if select else []
    taken = {(_alias(other) or other.name).lower() for other in others}
    return ".".join(part.name for part in table.parts) if name.lower() in taken else name


def _tables_of(select: exp.Expr) -> Iterator[exp.Table]:
    """The FROM and JOIN items of this SELECT that are names, not those of SELECTs inside it."""
    for table in relations(select):
        if table.find_ancestor(exp.Select) is select and not is_function(table):
            yield table


def _alias_at(parsed: Parsed, end: int) -> int:
    """Where an alias goes: behind the name and what Spark wants between name and alias (time travel, sampling)."""
    following = [index for index, token in enumerate(parsed.tokens) if token.start >= end]
    at = following[0] if following else len(parsed.tokens)
    while at < len(parsed.tokens):
        after = _behind_clause(parsed.tokens, at)
        if after == at:
            break
        at, end = after, parsed.tokens[after - 1].end
    return end


def _behind_clause(tokens: tuple[Token, ...], at: int) -> int:
    """The index behind the TABLESAMPLE (..), REPEATABLE (..) or .. AS OF .. that begins at ``at``, else ``at``."""
    word = tokens[at].upper
    if word in ("TABLESAMPLE", "REPEATABLE") and at + 1 < len(tokens) and tokens[at + 1].text == "(":
        return matching(tokens, at + 1) + 1
    start = at + 1 if word == "FOR" else at
    travels = tokens[start + 1 : start + 3]
    if [t.upper for t in travels] == ["AS", "OF"] and tokens[start].upper != "AS":
        return min(start + 4, len(tokens))
    return at


def qualifiers(parsed: Parsed) -> tuple[Edit, ...]:
    """The edits from ``layer.name.column`` to ``alias.column``, for columns of tables that have no alias."""
    found = (_qualifier(parsed, column) for column in parsed.tree.find_all(exp.Column))
    return tuple(sorted((edit for edit in found if edit), key=lambda edit: edit.start))


def _qualifier(parsed: Parsed, column: exp.Column) -> Edit | None:
    parts = column.parts
    if len(parts) < 3:
        return None
    name = tuple(part.name.lower() for part in parts[:2])
    select = column.find_ancestor(exp.Select)
    while select is not None:
        for table in _tables_of(select):
            if tuple(part.name.lower() for part in table.parts) == name and _alias(table) is None:
                start, end = _span(parsed, parts[:2])
                return Edit(start, end, quoted(implied_alias(table)))
        select = select.find_ancestor(exp.Select)
    return None
