"""The columns that a query gives, as far as its text shows."""

from collections.abc import Sequence

from sqlglot import exp

from lakesmith.sql.model import Output
from lakesmith.sql.scope import cte_of, is_function

_UNKNOWN = (Output(),)
_ONE_SIDED_JOINS = ("SEMI", "ANTI")


def outputs(query: exp.Expr) -> tuple[Output, ...]:
    """The result's items in order. A star over a CTE or a subquery is followed into it."""
    if isinstance(query, exp.SetOperation):
        return outputs(query.this)
    if isinstance(query, exp.Subquery):
        return _UNKNOWN if query.args.get("pivots") else outputs(query.this)
    if not isinstance(query, exp.Select):
        return _UNKNOWN
    return tuple(output for item in query.expressions for output in _of_item(query, item))


def _of_item(select: exp.Select, item: exp.Expr) -> Sequence[Output]:
    if isinstance(item, exp.Star):
        return _without(_all_columns(select), item)
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        return _without(_columns_of(select, item), item.this)
    if isinstance(item, exp.Aliases):
        return [Output(alias.name) for alias in item.aliases]
    return [Output(_name_of(item))]


def _name_of(item: exp.Expr) -> str | None:
    """Returns the name Spark gives an item; None for expressions, whose names only Spark knows."""
    if isinstance(item, exp.Paren):
        return _name_of(item.this)
    if isinstance(item, exp.Alias):
        return item.alias
    if isinstance(item, exp.Column):
        return item.name
    if isinstance(item, exp.Dot) and isinstance(item.expression, exp.Identifier):
        return item.expression.name
    return None


def _without(columns: Sequence[Output], star: exp.Star) -> Sequence[Output]:
    """The columns but those of ``EXCEPT (...)``."""
    if star.args.get("replace") or star.args.get("rename") or star.args.get("ilike"):
        return _UNKNOWN
    dropped = star.args.get("except_") or []
    if any(isinstance(item, exp.Column) and len(item.parts) > 1 for item in dropped):
        return _UNKNOWN  # a field of a struct or a qualified column: only Spark can tell which
    names = tuple(item.name.lower() for item in dropped)
    return [
        Output(o.name, o.star_of, (*o.excluded, *names)) if o.star_of else o
        for o in columns
        if not (o.name and o.name.lower() in names)
    ]


def _sources(select: exp.Select) -> list[exp.Expr]:
    """Returns what a bare star covers: FROM, the joins that add columns, the lateral views."""
    from_ = select.args.get("from_")
    first = [from_.this] if from_ is not None else []
    nested = first[0].args.get("joins") or [] if first else []
    joins = [*nested, *(select.args.get("joins") or [])]
    added = [join.this for join in joins if (join.kind or join.side or "").upper() not in _ONE_SIDED_JOINS]
    return [*first, *added, *(select.args.get("laterals") or [])]


def _all_columns(select: exp.Select) -> Sequence[Output]:
    joins = select.args.get("joins") or []
    if any(join.args.get("using") or (join.method or "").upper() == "NATURAL" for join in joins):
        return _UNKNOWN  # the shared columns come once, and first
    return [output for source in _sources(select) for output in _of_source(source)]


def _columns_of(select: exp.Select, star: exp.Column) -> Sequence[Output]:
    """``t.*``: the columns of the one source with that name."""
    wanted = [part.name.lower() for part in star.parts[:-1]]
    found = [source for source in _sources(select) if _is_called(source, wanted)]
    return _of_source(found[0]) if len(found) == 1 else _UNKNOWN


def _is_called(source: exp.Expr, wanted: list[str]) -> bool:
    if source.alias:
        return [source.alias.lower()] == wanted
    parts = [part.name.lower() for part in source.parts] if isinstance(source, exp.Table) else []
    return bool(wanted) and parts[-len(wanted) :] == wanted


def _of_source(source: exp.Expr) -> Sequence[Output]:
    alias = source.args.get("alias")
    named = alias.columns if isinstance(alias, exp.TableAlias) else []
    if source.args.get("pivots"):
        return _UNKNOWN
    if named:
        return [Output(column.name) for column in named]
    if isinstance(source, exp.Subquery):
        return _UNKNOWN if isinstance(source.this, exp.Table) else outputs(source)
    return _of_table(source) if isinstance(source, exp.Table) and not is_function(source) else _UNKNOWN


def _of_table(table: exp.Table) -> Sequence[Output]:
    cte = cte_of(table)
    if cte is None:
        return [Output(star_of=".".join(part.name for part in table.parts))]
    columns = cte.args["alias"].columns
    return [Output(column.name) for column in columns] if columns else _unless_recursive(cte, table)


def _unless_recursive(cte: exp.CTE, table: exp.Table) -> Sequence[Output]:
    inside_itself = any(parent is cte for parent in _ancestors(table))
    return _UNKNOWN if inside_itself else outputs(cte.this)


def _ancestors(node: exp.Expr) -> list[exp.Expr]:
    found: list[exp.Expr] = []
    parent = node.parent
    while parent is not None:
        found.append(parent)
        parent = parent.parent
    return found
