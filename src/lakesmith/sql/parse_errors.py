"""Explains SQL that cannot be parsed: a parser only says where it failed.

That is often not the place of the mistake: an open parenthesis is missed at the end of the text, a misspelt
FROM is read as an alias. So the most frequent mistakes are searched for in the tokens. For others the
parser's own finding is given, without the names of its classes.
"""

import re
from collections.abc import Iterator, Sequence

from lakesmith.errors import nearest
from lakesmith.sql.tokens import SqlParseError, Token, TokenKind, error_at, position
from lakesmith.sql.words import KEYWORDS

SPARK_MAY = "if Spark accepts this, it is syntax that lakesmith cannot follow yet: say it in another way"

_CLAUSES = ("FROM", "WHERE", "GROUP", "ORDER", "HAVING", "JOIN", "OUTER", "INNER", "UNION", "LIMIT", "SELECT")
_NEED_BY = frozenset({"GROUP", "ORDER", "PARTITION", "SORT", "DISTRIBUTE", "CLUSTER"})
_LOOK_BEFORE = f"look for a comma, an operator or a keyword that is missing or too many; {SPARK_MAY}"

# The parser's messages, or how they begin, and their meaning.
_FINDINGS = (
    (r"Invalid expression", "this cannot stand here"),
    (r"Expecting \)", "a ) is missing before this"),
    (r"Expecting \(", "a ( is missing before this"),
    (r"Expect(?:ing|ed) ([\]}>])", r"a \1 is missing before this"),
    (r"Required keyword", "something is missing before this"),
    (r"Found multiple '(\w+)' clauses", r"there is a second \1"),
    (r"Expected END after CASE", "a CASE is not closed with END"),
    (r"Expected AS after CAST", "a CAST has no AS: write CAST(value AS type)"),
    (r"Expected TYPE after CAST", "this is not a type"),
    (r"Expected CTE to have alias", "WITH needs a name: WITH name AS (SELECT ...)"),
    (r"Expected table name", "the name of a table is missing"),
)


def parse_error(sql: str, tokens: Sequence[Token], found: str, line: int, column: int) -> SqlParseError:
    """Returns the error for a text that the parser refused with the message ``found`` at a token's end.

    ``tokens`` are those of ``sql``, at least one.
    """
    at = _index(sql, tokens, line, column)
    return (
        _parenthesis(sql, tokens)
        or _missing_by(sql, tokens, at)
        or _misspelt(sql, tokens, at)
        or _keyword_as_name(sql, tokens, at, found)
        or _comma(sql, tokens, at)
        or _finding(sql, tokens, at, found)
    )


def check_commas(sql: str, tokens: Sequence[Token]) -> None:
    """Raises SqlParseError for a comma with nothing behind it, which some parsers accept."""
    for index, token in enumerate(tokens):
        after = tokens[index + 1].upper if index + 1 < len(tokens) else ""
        if token.text == "," and (after in ("", ")", ";") or _is_from(tokens, index + 1)):
            raise _loose_comma(sql, token)


def _index(sql: str, tokens: Sequence[Token], line: int, column: int) -> int:
    ends = (position(sql, token.end - 1) for token in tokens)
    return next((index for index, end in enumerate(ends) if end >= (line, column)), len(tokens) - 1)


def _parenthesis(sql: str, tokens: Sequence[Token]) -> SqlParseError | None:
    opened: list[Token] = []
    for token in tokens:
        if token.text == "(":
            opened.append(token)
        elif token.text == ")" and not opened:
            return error_at(sql, token.start, "a ) closes nothing")
        elif token.text == ")":
            opened.pop()
    return error_at(sql, opened[-1].start, "a ( is opened and never closed") if opened else None


def _missing_by(sql: str, tokens: Sequence[Token], at: int) -> SqlParseError | None:
    before = tokens[at - 1] if at else None
    if before is None or before.upper not in _NEED_BY or tokens[at].upper == "BY":
        return None
    return error_at(sql, before.start, f"{before.upper} needs BY", f"write {before.upper} BY")


def _misspelt(sql: str, tokens: Sequence[Token], at: int) -> SqlParseError | None:
    """Returns a word at or before the place, unknown to Spark, that resembles a clause's keyword."""
    for index in (at - 1, at):
        meant = _meant(tokens[index].text) if index > 0 and _may_be_clause(tokens, index) else None
        if meant is not None:
            what = f"{tokens[index].text} is no keyword"
            return error_at(sql, tokens[index].start, what, f"did you mean {meant}?")
    return None


def _meant(word: str) -> str | None:
    """Returns the intended keyword; None for names that only begin with one: ``orders``, ``group_id``."""
    meant = nearest(word, _CLAUSES)
    is_name = meant is None or word.upper().startswith(meant) or abs(len(word) - len(meant)) > 1
    return None if is_name else meant


def _may_be_clause(tokens: Sequence[Token], index: int) -> bool:
    token, before = tokens[index], tokens[index - 1].upper
    after = tokens[index + 1].text if index + 1 < len(tokens) else ""
    is_name = before in (".", "AS", ",") or after in (".", ",", "(", ")")
    return token.kind is TokenKind.WORD and token.upper not in KEYWORDS and not is_name


def _keyword_as_name(sql: str, tokens: Sequence[Token], at: int, found: str) -> SqlParseError | None:
    token: Token | None = tokens[at]
    is_alias = at > 0 and tokens[at - 1].upper == "AS" and found.startswith("Invalid expression")
    if not is_alias or tokens[at].upper not in _CLAUSES:
        token = next((near for near in _dotted(tokens, at) if near.upper in KEYWORDS), None)
    if token is None:
        return None
    hint = f"put it in backticks: `{token.text}`"
    return error_at(sql, token.start, f"{token.upper} is a keyword and no name", hint)


def _dotted(tokens: Sequence[Token], at: int) -> Iterator[Token]:
    """Returns the words at the place or beside it that are parts of a dotted name."""
    for index in range(max(0, at - 1), min(at + 2, len(tokens))):
        beside = (*tokens[max(0, index - 1) : index], *tokens[index + 1 : index + 2])
        if tokens[index].kind is TokenKind.WORD and any(token.text == "." for token in beside):
            yield tokens[index]


def _comma(sql: str, tokens: Sequence[Token], at: int) -> SqlParseError | None:
    is_loose = at > 0 and tokens[at - 1].text == "," and tokens[at].upper in _CLAUSES
    return _loose_comma(sql, tokens[at - 1]) if is_loose else None


def _loose_comma(sql: str, comma: Token) -> SqlParseError:
    return error_at(sql, comma.start, "nothing comes behind this comma", "take the comma out")


def _is_from(tokens: Sequence[Token], index: int) -> bool:
    """Whether FROM is the clause, and not a column of that name: the clause is there once in a SELECT."""
    rest = tokens[index : index + 2]
    if len(rest) < 2 or rest[0].upper != "FROM" or rest[1].upper in ("FROM", "AS", ",", "."):
        return False
    depth = 0
    for token in tokens[index + 1 :]:
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth < 0 or (depth == 0 and token.upper in ("UNION", "INTERSECT", "EXCEPT", "MINUS")):
            break
        if depth == 0 and token.upper == "FROM":
            return False
    return True


def _finding(sql: str, tokens: Sequence[Token], at: int, found: str) -> SqlParseError:
    """What the parser found, from the name that a lone dot belongs to."""
    at -= 1 if at and tokens[at].text == "." else 0
    if tokens[at].text == "#":
        return error_at(sql, tokens[at].start, "# begins no comment", "comments begin with --")
    matches = ((re.match(pattern, found), meaning) for pattern, meaning in _FINDINGS)
    message = next(
        (match.expand(meaning) for match, meaning in matches if match), "this cannot be understood"
    )
    if at == len(tokens) - 1 and message.startswith("something is missing"):
        message = "something is missing here"
    return error_at(sql, tokens[at].start, message, _LOOK_BEFORE)
