"""DQDL text to tokens, after the lexer grammar that AWS publishes (awslabs/dqdl, ``CommonLexerRules.g4``).

Two leniencies: a carriage return counts as white space, and a comment may end the text without a line feed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

TokenKind = Literal["word", "number", "string", "symbol", "bad", "end"]

_TOKEN = re.compile(
    r"""
      (?P<skip>[ \t\r\n]+|\#[^\n]*)
    | (?P<string>"(?:[^"\\]|\\["\\]?)*+")
    | (?P<unclosed>"(?s:.*))
    | (?P<number>[0-9]+(?:\.[0-9]+)?(?![A-Za-z0-9_.]))
    | (?P<word>[A-Za-z0-9_.]+)
    | (?P<symbol>!=|>=|<=|[=<>\[\](){},:$+*/-])
    | (?P<bad>(?s:.))
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text: ``text`` as written, ``line`` counted from 0, ``spaced`` if white space or a comment precedes it."""

    kind: TokenKind
    text: str
    line: int
    spaced: bool

    @property
    def shown(self) -> str:
        """The token for a message: the first line of what was written."""
        return "the end of the rules" if self.kind == "end" else self.text.splitlines()[0]


def tokenize(text: str) -> tuple[Token, ...]:
    """The tokens of a DQDL text, with one of kind ``end`` last. What cannot be read becomes a ``bad`` token."""
    tokens: list[Token] = []
    line, spaced = 0, False
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "skip":
            tokens.append(_token(match, line, spaced))
        spaced = match.lastgroup == "skip"
        line += match.group().count("\n")
    return (*tokens, Token("end", "", tokens[-1].line if tokens else 0, spaced))


def _token(match: re.Match[str], line: int, spaced: bool) -> Token:
    kinds: dict[str | None, TokenKind] = {
        "string": "string",
        "number": "number",
        "word": "word",
        "symbol": "symbol",
    }
    return Token(kinds.get(match.lastgroup, "bad"), match.group(), line, spaced)


def string_value(token: Token) -> str:
    r"""What a string token stands for: the quotes removed, ``\"`` and ``\\`` resolved, any other backslash kept."""
    return re.sub(r'\\(["\\])', r"\1", token.text[1:-1])


def raw_value(token: Token) -> str:
    r"""A string token that holds another language (a regular expression, SQL): only ``\"`` is resolved.

    Every other backslash belongs to that language, as in AWS Glue: ``"\d+"`` is the regular expression ``\d+``.
    """
    return re.sub(r'\\(["\\])', lambda match: '"' if match[1] == '"' else match[0], token.text[1:-1])


def joined(tokens: tuple[Token, ...]) -> str:
    """The tokens as written, with one space where there was white space or a comment."""
    first, *rest = tokens
    return first.text + "".join((" " if token.spaced else "") + token.text for token in rest)
