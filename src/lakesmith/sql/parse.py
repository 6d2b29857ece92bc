"""One query's text -> sqlglot's tree, read as Spark reads it. Importing this module imports sqlglot (0.3 s).

sqlglot's Spark dialect differs from Spark in places. Differences that hide a query are corrected here; those
that would make lakesmith read another query than Spark are found by comparing its tokens with ``tokens``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token as GlotToken
from sqlglot.tokenizer_core import TokenType

from lakesmith.sql.functions import calls_code
from lakesmith.sql.log_functions import SALTED, unsalted
from lakesmith.sql.parse_errors import SPARK_MAY, check_commas, parse_error
from lakesmith.sql.tokens import SqlParseError, Token, TokenKind, error_at, position, tokenize

_STARTS = frozenset({"SELECT", "WITH", "FROM", "("})
_SWALLOWED = frozenset({"DESCRIBE", "FROM", "JOIN", "LATERAL"})
"""Names of layers that sqlglot reads as keywords."""
_IN_PYTHON = "leave it out: what a table does beyond SQL belongs in a Python table"
_ONE_SELECT = "write one SELECT (or WITH ... SELECT); a table's settings go into its .yaml file"


class _Parser(SparkParser):
    """The Spark parser with Spark 4's ``variant:path``."""

    COLON_IS_VARIANT_EXTRACT = True
    COLON_CHAIN_IS_SINGLE_EXTRACT = False


@dataclass(frozen=True, slots=True)
class Parsed:
    """A query: its text, its tokens and its tree."""

    sql: str
    tokens: tuple[Token, ...]
    tree: exp.Query

    def line(self, at: int) -> int:
        """The line, counted from 1, of the character ``at``."""
        return position(self.sql, at)[0]

    def keyword_before(self, node: exp.Expr, word: str) -> Token | None:
        """Returns the last token ``word`` before the first located part of ``node``, else the last of all."""
        first = min((start for start, _ in spans(node)), default=len(self.sql))
        found = [token for token in self.tokens if token.upper == word]
        return next((token for token in reversed(found) if token.start < first), found[-1] if found else None)


def spans(node: exp.Expr) -> Iterator[tuple[int, int]]:
    """Returns the spans (start, end excluded) of all parts of ``node`` with a known position."""
    for part in node.walk():
        if "start" in part.meta:
            yield part.meta["start"], part.meta["end"] + 1


def parse(sql: str) -> Parsed:
    """Returns the tree of the one SELECT in ``sql``.

    Raises:
        SqlParseError: it is no SELECT, more than one statement, cannot be parsed, or uses what a definition
            cannot.
    """
    tokens = tokenize(sql)
    _check_statement(sql, tokens)
    _check_words(sql, tokens)
    _check_calls(sql, tokens)
    check_commas(sql, tokens)
    tree = _tree(sql, tokens, _glot_tokens(sql, tokens))
    _check_tree(sql, tokens, tree)
    return Parsed(sql, tokens, tree)


def _check_statement(sql: str, tokens: tuple[Token, ...]) -> None:
    if not tokens or tokens[0].text == ";":
        raise error_at(sql, 0, "the query is empty", _ONE_SELECT)
    if tokens[0].upper not in _STARTS:
        raise error_at(sql, tokens[0].start, f"this is no SELECT but {tokens[0].upper}", _ONE_SELECT)
    for token, after in pairwise(tokens):
        if token.text == ";" and after.text != ";":
            raise error_at(sql, after.start, "there is a second statement", _ONE_SELECT)


def _check_words(sql: str, tokens: tuple[Token, ...]) -> None:
    """Refuses names of tables that cannot be followed: TABLE t, TABLE(t), STREAM t, IDENTIFIER('t')."""
    for before, token, after in zip((None, *tokens), tokens, (*tokens[1:], None), strict=False):
        if token.kind is not TokenKind.WORD or after is None or (before and before.upper in (".", "AS")):
            continue
        names_next = after.text == "(" or after.kind is TokenKind.QUOTED
        opens = before is not None and before.upper in (
            "(",
            ",",
            "FROM",
            "JOIN",
            "ALL",
            "UNION",
            "EXCEPT",
            "INTERSECT",
        )
        if token.upper in ("TABLE", "STREAM") and opens and (names_next or _is_name(after)):
            raise error_at(
                sql, token.start, f"{token.upper} cannot be used in a table's query", "write FROM layer.table"
            )
        if (
            token.upper in _SWALLOWED
            and after.text == "."
            and before
            and before.upper in (",", "FROM", "JOIN")
        ):
            hint = f"put it in backticks: `{token.text}`"
            raise error_at(sql, token.start, f"{token.upper} is a keyword and no name", hint)
        if token.upper == "IDENTIFIER" and after.text == "(":
            raise error_at(
                sql, token.start, "IDENTIFIER(...) hides which table or column is meant", "write the name"
            )


def _check_calls(sql: str, tokens: tuple[Token, ...]) -> None:
    if (use := calls_code(sql, tokens)) is not None:
        at = next(token.start for token in tokens if token.text.strip("`").lower() == use.name)
        raise error_at(sql, at, f"{use.name} calls code, or reads a file by its path", _IN_PYTHON)
    if (call := unsalted(tokens)) is not None:
        what = f"{SALTED} has a second argument, the name of an environment variable with its salt"
        raise error_at(sql, call.start, what, f"write {SALTED}(address, 'ADDRESS_SALT')")


def _is_name(token: Token) -> bool:
    return token.kind is TokenKind.WORD and token.upper not in ("FROM", "AS", "WHERE", "ON", "JOIN")


def _glot_tokens(sql: str, tokens: tuple[Token, ...]) -> list[GlotToken]:
    try:
        found: list[GlotToken] = Spark().tokenize(sql)
    except TokenError as error:
        raise error_at(sql, 0, "this text cannot be cut into words", SPARK_MAY) from error
    _check_same(sql, tokens, found)
    for token, after in pairwise(found):
        # window(ts, '1 minute') is a function; a named window is WINDOW w AS (...).
        if token.token_type is TokenType.WINDOW and after.token_type is TokenType.L_PAREN:
            token.token_type = TokenType.VAR
    return found


def _check_same(sql: str, ours: tuple[Token, ...], theirs: list[GlotToken]) -> None:
    """Both must see the same names and strings, or a comment or a string hides something from one."""
    spark_starts = {token.start for token in ours}
    text_starts = {t.start for t in ours if t.kind in (TokenKind.STRING, TokenKind.QUOTED)}
    glot_starts = {token.start for token in theirs}
    glot_texts = {
        t.start for t in theirs if sql[t.start] in "'\"`" or sql[t.start].isalpha() or sql[t.start] == "_"
    }
    prefixed = {start + 1 for start in glot_starts}
    different = (glot_texts - spark_starts) | (text_starts - glot_starts - prefixed)
    if different:
        raise error_at(sql, min(different), "Spark reads this text in another way than it looks", SPARK_MAY)


def _tree(sql: str, ours: tuple[Token, ...], theirs: list[GlotToken]) -> exp.Query:
    try:
        trees = _Parser(dialect=Spark()).parse(theirs, sql)
    except ParseError as error:
        raise _parse_error(sql, ours, error) from error
    tree = trees[0] if trees else None
    if not isinstance(tree, (exp.Select, exp.SetOperation, exp.Subquery)):
        raise error_at(sql, 0, "this is no SELECT", _ONE_SELECT)
    return tree


def _parse_error(sql: str, tokens: tuple[Token, ...], error: ParseError) -> SqlParseError:
    """sqlglot counts columns at the end of the offending token."""
    first = error.errors[0] if error.errors else {}
    found = str(first.get("description") or "")
    return parse_error(sql, tokens, found, first.get("line") or 1, first.get("col") or 1)


def _check_tree(sql: str, tokens: tuple[Token, ...], tree: exp.Query) -> None:
    if (script := tree.find(exp.QueryTransform)) is not None:
        at = min((start for start, _ in spans(script)), default=0)
        raise error_at(sql, at, "TRANSFORM ... USING runs a program", _IN_PYTHON)
    if tree.find(exp.Placeholder, exp.Parameter, exp.SessionParameter, exp.Command):
        at = next((token.start for token in tokens if token.text in (":", "?", "$", "{")), 0)
        raise error_at(
            sql, at, "a parameter has no value here", "write ${vars.name} and set it in lakesmith.yaml"
        )
