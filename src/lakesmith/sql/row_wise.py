"""Whether a query is row-wise: each row of its result comes from one row of one input, and nothing else.

Everything not known to be harmless makes it ``other``: a wrong "row-wise" would cost correct results, a wrong
"other" costs a full refresh. Spark's analysed plan still has to confirm it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from sqlglot import exp

from lakesmith.sql.functions import nondeterministic, not_scalar
from lakesmith.sql.model import Driven, Joined, SelectList, Shape, ShapeKind
from lakesmith.sql.parse import Parsed, spans
from lakesmith.sql.scope import cte_of, is_function, tables
from lakesmith.sql.tokens import Token, position

_SIDES = ("", "LEFT")
_KINDS = ("", "INNER", "OUTER")


def joined_tables(select: exp.Expr) -> list[tuple[exp.Table, Joined]] | None:
    """Returns the tables that ``select`` joins; None if one is not joined by (LEFT) JOIN with ON or USING.

    Only qualified columns say to which table they belong.
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
    """Returns the table's columns that the condition equates with something of other tables."""
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


_Path = tuple[SelectList, ...]

_HARMLESS: dict[type[exp.Expr], set[str]] = {
    exp.Select: {"expressions", "from_", "where", "with_", "hint"},
    exp.Union: {"this", "expression", "distinct", "by_name", "with_"},
    exp.Subquery: {"this", "alias", "with_"},
    exp.Table: {"this", "db", "alias"},
}
# The name of each clause, and the keyword of its line.
_CLAUSES = {
    "group": ("GROUP BY", "GROUP"),
    "having": ("HAVING", "HAVING"),
    "distinct": ("DISTINCT", "DISTINCT"),
    "joins": ("JOIN", "JOIN"),
    "laterals": ("LATERAL VIEW", "LATERAL"),
    "qualify": ("QUALIFY", "QUALIFY"),
    "windows": ("WINDOW", "WINDOW"),
    "order": ("ORDER BY", "ORDER"),
    "sort": ("SORT BY", "SORT"),
    "distribute": ("DISTRIBUTE BY", "DISTRIBUTE"),
    "cluster": ("CLUSTER BY", "CLUSTER"),
    "limit": ("LIMIT", "LIMIT"),
    "offset": ("OFFSET", "OFFSET"),
    "pivots": ("PIVOT or UNPIVOT", "PIVOT"),
    "sample": ("TABLESAMPLE", "TABLESAMPLE"),
    "version": ("time travel", "OF"),
    "catalog": ("a name of more than two parts", ""),
}


_AFTER_GROUP_BY = frozenset(
    {"HAVING", "ORDER", "SORT", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "MINUS", "QUALIFY", ";"}
)


class _NotRowWiseError(Exception):
    """Carries the reason, as a person reads it."""


@dataclass(slots=True)
class _QueryPaths:
    """One pass from the outermost SELECT down to the inputs, and its findings."""

    parsed: Parsed
    with_joins: bool = False
    inputs: list[exp.Table] = field(default_factory=list)
    joined: list[tuple[exp.Table, Joined]] = field(default_factory=list)
    ctes: list[exp.CTE] = field(default_factory=list)

    def paths(self, query: exp.Expr) -> list[_Path | None]:
        """One path for each part of a union; None if no column can be added."""
        if isinstance(query, exp.Union):
            return self._of_union(query)
        if isinstance(query, exp.SetOperation):
            raise _NotRowWiseError(self._at(query.key.upper(), query.key.upper(), query.expression))
        self._check(query)
        if isinstance(query, exp.Subquery):
            return self.paths(query.this)
        if not isinstance(query, exp.Select):
            raise _NotRowWiseError(f"{query.key.upper()}, which is no SELECT")
        return self._of_select(query)

    def _of_union(self, union: exp.Union) -> list[_Path | None]:
        self._check(union)
        if union.args.get("distinct"):
            raise _NotRowWiseError(self._at("UNION without ALL", "UNION", union.expression))
        return [*self.paths(union.this), *self.paths(union.expression)]

    def _of_select(self, select: exp.Select) -> list[_Path | None]:
        from_ = select.args.get("from_")
        if from_ is None:
            raise _NotRowWiseError("a SELECT that reads no table")
        self._check_expressions(select)
        source = from_.this
        below = self._of_source(source)
        if self.with_joins:
            level = None if below[0] is None else len(below[0])
            found = joined_tables(select) or ()
            self.joined += ((table, replace(joined, level=level)) for table, joined in found)
        here = _select_list(self.parsed, select)
        return [None if path is None or here is None else (*path, here) for path in below]

    def _of_source(self, source: exp.Expr) -> list[_Path | None]:
        self._check(source)
        alias = source.args.get("alias")
        if alias is not None and alias.columns:
            return [None for _ in self._below(source)]
        return self._below(source)

    def _below(self, source: exp.Expr) -> list[_Path | None]:
        if isinstance(source, exp.Subquery) and not isinstance(source.this, exp.Table):
            return self.paths(source.this)
        if not isinstance(source, exp.Table) or is_function(source):
            raise _NotRowWiseError(self._at("FROM something other than a table", "FROM", source))
        cte = cte_of(source)
        if cte is None:
            self.inputs.append(source)
            return [()]
        return self._of_cte(cte)

    def _of_cte(self, cte: exp.CTE) -> list[_Path | None]:
        if cte.find_ancestor(exp.With).recursive:  # type: ignore[union-attr]
            raise _NotRowWiseError("WITH RECURSIVE")
        again = cte in self.ctes
        self.ctes.append(cte)
        paths = self.paths(cte.this)
        return [None for _ in paths] if again or cte.args["alias"].columns else paths

    def _check(self, node: exp.Expr) -> None:
        """Refuses every clause that is not known to be harmless."""
        harmless = _HARMLESS.get(type(node))
        if harmless is None:
            raise _NotRowWiseError(self._at(f"{node.key.upper()} in FROM", "", node))
        for name, value in node.args.items():
            if name == "joins" and self.with_joins and joined_tables(node) is not None:
                continue
            if value and name not in harmless:
                text, word = _CLAUSES.get(name, (name.strip("_").replace("_", " ").upper(), ""))
                places = value if isinstance(value, list) else [value]
                place = next(
                    (item for item in places if isinstance(item, exp.Expr) and any(spans(item))), node
                )
                raise _NotRowWiseError(self._at(text, word, place))

    def _check_expressions(self, select: exp.Select) -> None:
        joins = [join.args.get("on") for join in select.args.get("joins") or ()]
        parts = [*select.expressions, select.args.get("where"), *joins]
        for node in (found for part in parts if part is not None for found in part.walk()):
            if isinstance(node, exp.Window):
                raise _NotRowWiseError(self._at("a window function", "OVER", node))
            if isinstance(node, (exp.Query, exp.Exists)) and node.find(exp.Select):
                raise _NotRowWiseError(self._at("a subquery", "SELECT", node))

    def _at(self, text: str, word: str, place: exp.Expr) -> str:
        token = self.parsed.keyword_before(place, word) if word else None
        first = min((start for start, _ in spans(place)), default=0)
        shown = _clause(self.parsed, token) if token and word == "GROUP" else text
        return f"{shown} at line {self.parsed.line(token.start if token else first)}"


def _clause(parsed: Parsed, opening: Token) -> str:
    """Returns the clause that begins with ``opening``, as the query writes it, shortened."""
    depth, end = 0, opening.end
    for token in (token for token in parsed.tokens if token.start > opening.start):
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth < 0 or (depth == 0 and token.upper in _AFTER_GROUP_BY):
            break
        end = token.end
    text = " ".join(parsed.sql[opening.start : end].split())
    return text if len(text) <= 50 else text[:47] + "..."


def shape_of(parsed: Parsed) -> Shape:
    walk = _QueryPaths(parsed)
    try:
        paths = walk.paths(parsed.tree)
        _check_text(parsed, walk)
    except _NotRowWiseError as reason:
        return Shape(ShapeKind.OTHER, str(reason))
    return Shape(ShapeKind.ROW_WISE if len(paths) == 1 else ShapeKind.ROW_WISE_UNION)


def driven_by_one(parsed: Parsed) -> Driven | None:
    """Returns the tables joined to the rows of the first, if the query is row-wise otherwise; else None."""
    walk = _QueryPaths(parsed, with_joins=True)
    try:
        paths = walk.paths(parsed.tree)
        _check_text(parsed, walk)
    except _NotRowWiseError:
        return None
    if len(paths) != 1 or not walk.joined:
        return None
    return Driven(tuple(found for _, found in walk.joined), paths[0])


def _check_text(parsed: Parsed, walk: _QueryPaths) -> None:
    """What is never allowed, also in parts that the walk did not enter."""
    pipe = next((token for token in parsed.tokens if token.text == "|>"), None)
    if pipe:
        raise _NotRowWiseError(f"the pipe |> at line {parsed.line(pipe.start)}")
    chance = nondeterministic(parsed.sql, parsed.tokens)
    if chance:
        raise _NotRowWiseError(f"{chance[0]}, whose value is not decided by the row")
    reason = not_scalar(parsed.sql, parsed.tokens)
    if reason:
        raise _NotRowWiseError(reason)
    read = [*walk.inputs, *(table for table, _ in walk.joined)]
    unread = [table for table in tables(parsed) if not any(table is each for each in read)]
    if unread:
        at = min(start for start, _ in spans(unread[0]))
        raise _NotRowWiseError(
            f"{unread[0].sql('spark')} at line {parsed.line(at)}, which is not read row by row"
        )


def _select_list(parsed: Parsed, select: exp.Select) -> SelectList | None:
    """Where this SELECT's list ends, if the text shows it."""
    at = _list_end(parsed, select)
    return None if at is None else SelectList(at, any(item.is_star for item in select.expressions))


def _list_end(parsed: Parsed, select: exp.Select) -> int | None:
    """The end of the last item of the list: the token before the FROM that closes it."""
    first = min((start for item in select.expressions for start, _ in spans(item)), default=None)
    opening = [
        i
        for i, t in enumerate(parsed.tokens)
        if first is not None and t.start < first and t.upper == "SELECT"
    ]
    if not opening:
        return None
    closing = _closing_from(parsed.tokens, opening[-1])
    from_ = min((start for start, _ in spans(select.args["from_"])), default=-1)
    if closing is None or position(parsed.sql, from_) < position(parsed.sql, parsed.tokens[closing].start):
        return None  # FROM comes before SELECT
    return parsed.tokens[closing - 1].end


def _closing_from(tokens: tuple[Token, ...], opening: int) -> int | None:
    """The index of the FROM of the SELECT at ``opening``, not of ``IS DISTINCT FROM``."""
    depth = 0
    for index in range(opening + 1, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[index].text, 0)
        if depth < 0:
            return None
        if depth == 0 and tokens[index].upper == "FROM" and tokens[index - 1].upper != "DISTINCT":
            return index
    return None
