"""Replaces the table names of a query, and only their characters: Spark reads the user's own text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat

from lakesmith.quoting import composed, quoted
from lakesmith.sql.model import Edit, SelectList, SqlAnalysis
from lakesmith.sql.tokens import SqlParseError, TokenKind, tokenize

Replacements = Mapping[str, str | tuple[str, ...]]
"""Replacements by a table's name (in any case); a tuple has one for each reference, in order."""


def splice(sql: str, analysis: SqlAnalysis, replacements: Replacements, more: Iterable[Edit] = ()) -> str:
    """Returns ``sql`` with each table reference replaced.

    A replacement is a view's name, or a table's with ``VERSION AS OF n`` behind it. A reference without an
    alias gets its own name as one, so that ``orders.city`` and ``bronze.orders.city`` still resolve.
    ``more``: other edits.

    Raises:
        KeyError: a table has no replacement.
        SqlParseError: a reference travels in time by itself.
        ValueError: ``analysis`` is of another text.
    """
    return _apply(sql, analysis, (*_table_edits(analysis, replacements), *more))


def mark_projection(analysis: SqlAnalysis, joined: Mapping[str, str], prefix: str) -> tuple[Edit, ...]:
    """Returns the edits that add a column of joined tables to the result, as ``prefix`` + its name.

    ``columns``: by the table's name a column that no other table has. A table that is joined twice, or at an
    unknown place, adds none.
    """
    driven = analysis.driven
    if driven is None or driven.select_lists is None:
        return ()
    names = [each.table.lower() for each in driven.joined]
    path, edits = driven.select_lists, list[Edit]()
    for each in driven.joined:
        column = joined.get(each.table.lower())
        if column is not None and each.level is not None and names.count(each.table.lower()) == 1:
            edits += _marked(path[each.level :], column, prefix)
    return tuple(edits)


def respelt(sql: str, names: Iterable[str]) -> tuple[Edit, ...]:
    """Returns the edits that give columns the spelling of ``names`` where the query composes it otherwise.

    A word that is one of the names in another case stays, and so does one that several look like.
    """
    known = {name.lower(): name for name in names if not name.isascii()}
    alike: dict[str, list[str]] = {}
    for name in known:
        alike.setdefault(composed(name), []).append(known[name])
    return tuple(
        Edit(token.start, token.end, quoted(found[0]))
        for token in (() if sql.isascii() or not known else tokenize(sql))
        if token.kind is TokenKind.QUOTED
        and (name := token.text[1:-1].replace("``", "`").lower()) not in known
        and len(found := alike.get(composed(name), [])) == 1
    )


def _marked(path: Sequence[SelectList], column: str, prefix: str) -> Iterator[Edit]:
    for number, select in enumerate(path):
        # A star above passes on the columns of the list below it.
        if number == 0 or not select.star:
            read = quoted(column) if number == 0 else quoted(prefix + column)
            yield Edit(select.at, select.at, f", {read} AS {quoted(prefix + column)}")


def _table_edits(analysis: SqlAnalysis, replacements: Replacements) -> Iterator[Edit]:
    by_name = {
        name.lower(): repeat(found) if isinstance(found, str) else iter(found)
        for name, found in replacements.items()
    }
    for reference in analysis.references:
        if reference.time_travel:
            what = "a table's query reads its inputs as planned and cannot travel in time"
            raise SqlParseError(reference.line, reference.column, what, reference.name)
        yield Edit(reference.start, reference.end, next(by_name[reference.name.lower()]))
        if reference.alias_at is not None:
            yield Edit(reference.alias_at, reference.alias_at, f" AS {reference.implied_alias}")
    yield from analysis.qualifiers


def _apply(sql: str, analysis: SqlAnalysis, edits: Iterable[Edit]) -> str:
    """Returns the text with the edits made. Edits at one place keep their order: a name before its alias."""
    from lakesmith.sql.analysis import digest_of

    if analysis.digest != digest_of(sql):
        raise ValueError("the analysis is not of this text")
    pieces: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        pieces += [sql[at : edit.start], edit.text]
        at = edit.end
    return "".join([*pieces, sql[at:]])
