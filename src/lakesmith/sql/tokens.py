"""Cuts a text of Spark SQL into tokens exactly as Spark's lexer does, without a parser's dialect.

Source of the rules: Spark's ``SqlBaseLexer``. Comments nest; a line comment that ends in a backslash
continues in the next line; a doubled quote is one quote; ``r'..'`` has no escapes; ``/*+`` opens a hint; a
name may begin with a digit.
"""

import re
from dataclasses import dataclass
from enum import StrEnum


class TokenKind(StrEnum):
    """The kind of a token. A word is a keyword or an unquoted name: Spark's lexer cannot distinguish them."""

    WORD = "word"
    QUOTED = "quoted"
    STRING = "string"
    NUMBER = "number"
    SYMBOL = "symbol"


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its ``text`` as written, from character ``start`` up to and without ``end``."""

    kind: TokenKind
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """The text in upper case if it is a word, else as written: to compare with keywords and symbols."""
        return self.text.upper() if self.kind is TokenKind.WORD else self.text


class SqlParseError(ValueError):
    """A query that is not one single SELECT that can be understood.

    Args:
        line: counted from 1, in the query's own text.
        column: counted from 1, in characters.
        message: what is wrong, one sentence without a full stop.
        near: the text at that place, at most a few words.
        hint: what to do, if there is something better to say than to correct the SQL.
    """

    def __init__(self, line: int, column: int, message: str, near: str, hint: str | None = None) -> None:
        super().__init__(f"line {line}, column {column}: {message}" + (f" near {near!r}" if near else ""))
        self.line, self.column, self.message, self.near, self.hint = line, column, message, near, hint


_TOKEN = re.compile(
    r"""
    (?P<space>   \s+ | --(?:\\\n|[^\r\n])* )
  | (?P<comment> /\*(?!\+) )
  | (?P<string>  [rR]'[^']*' | [rR]"[^"]*" | '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" )
  | (?P<quoted>  `(?:[^`]|``)*` )
  | (?P<number>  (?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?(?:[bB][dD]|[fFdD])?(?![A-Za-z0-9_])
               | \d+(?:[eE][+-]?\d+)?(?:[bB][dD]|[lLsSyYfFdD])?(?!\w) )
  | (?P<word>    \w+ )
  | (?P<symbol>  <=> | >>> | /\*\+ | \*/ | [<>!=]= | <> | !> | !< | << | >> | \|\| | \|> | -> | => | :: | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*(?!\+)|\*/")


def tokenize(sql: str) -> tuple[Token, ...]:
    """The tokens of ``sql`` in order; white space and comments are left out, hints are kept.

    Raises:
        SqlParseError: a string, a quoted name or a comment is not closed.
    """
    tokens: list[Token] = []
    at = 0
    while match := _TOKEN.match(sql, at):
        kind = str(match.lastgroup)
        at = _end_of_comment(sql, at) if kind == "comment" else match.end()
        if kind not in ("space", "comment"):
            tokens.append(_token(sql, TokenKind(kind), match.start(), at))
    return tuple(tokens)


def _token(sql: str, kind: TokenKind, start: int, end: int) -> Token:
    token = Token(kind, sql[start:end], start, end)
    if kind is TokenKind.SYMBOL and token.text in "'\"`":
        raise error_at(sql, start, f"a quote {token.text} is opened and never closed")
    return token


def _end_of_comment(sql: str, start: int) -> int:
    """Where the bracketed comment at ``start`` ends; comments in it nest, hints in it do not."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(sql, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    raise error_at(sql, start, "a comment /* is opened and never closed")


def position(sql: str, at: int) -> tuple[int, int]:
    """Line and column, both counted from 1, of the character ``at``. LF and CRLF end a line."""
    return sql.count("\n", 0, at) + 1, at - sql.rfind("\n", 0, at)


def error_at(sql: str, at: int, message: str, hint: str | None = None) -> SqlParseError:
    """Returns the error for the character ``at`` of ``sql``, with the rest of that line."""
    line, column = position(sql, at)
    return SqlParseError(
        line, column, message, sql[at : at + 30].splitlines()[0] if sql[at:].strip() else "", hint
    )


def matching(tokens: tuple[Token, ...], opening: int) -> int:
    """Returns the index of the parenthesis that closes the one at ``opening``, else the last index."""
    depth = 0
    for index in range(opening, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[index].text, 0)
        if depth == 0:
            return index
    return len(tokens) - 1
