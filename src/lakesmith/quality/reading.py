"""Tokens of DQDL, a cursor over them that can continue after a problem, and the problem itself."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from lakesmith.errors import Place, Problem

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
    """A piece of the text: ``text`` as written, ``line`` from 0, ``spaced`` if white space or a comment
    precedes it."""

    kind: TokenKind
    text: str
    line: int
    spaced: bool

    @property
    def shown(self) -> str:
        """The token for a message: its first line."""
        return "the end of the rules" if self.kind == "end" else self.text.splitlines()[0]


def tokenize(text: str) -> tuple[Token, ...]:
    """Returns the tokens of a DQDL text, with one of kind ``end`` last. Unreadable text becomes a ``bad``
    token."""
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
    r"""Returns a string token's text without quotes, with ``\"`` and ``\\`` resolved."""
    return re.sub(r'\\(["\\])', r"\1", token.text[1:-1])


def raw_value(token: Token) -> str:
    r"""Returns the text of a string token in another language (a regular expression, SQL).

    Only ``\"`` is resolved. Every other backslash belongs to that language, as in AWS Glue: ``"\d+"`` is the
    expression ``\d+``.
    """
    return re.sub(r'\\(["\\])', lambda match: '"' if match[1] == '"' else match[0], token.text[1:-1])


def joined(tokens: tuple[Token, ...]) -> str:
    """Returns the tokens as written, with one space for white space or a comment."""
    first, *rest = tokens
    return first.text + "".join((" " if token.spaced else "") + token.text for token in rest)


VALUE_KEYWORDS = frozenset({"NULL", "EMPTY", "WHITESPACES_ONLY"})


class Fault(Exception):
    """One problem of the text, at a token. The arguments are those of :class:`lakesmith.errors.Problem`."""

    def __init__(
        self,
        code: str,
        what: str,
        token: Token,
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(what)
        self._problem = Problem(code, what, None, expected, found, hint)
        self.line = token.line

    def problem(self, place: Place) -> Problem:
        """Returns the problem with its place. ``place``: where the text's first line is."""
        return replace(self._problem, place=moved(place, self.line))


def moved(place: Place, lines: int) -> Place:
    """Returns the place so many lines further down; a place without a line stays as it is."""
    return place if place.line is None else Place(place.file, place.line + lines)


class Reader:
    """Cursor over tokens. It never passes the last token, of kind ``end``."""

    def __init__(self, tokens: tuple[Token, ...]) -> None:
        self._tokens = tokens
        self.position = 0

    @property
    def now(self) -> Token:
        """The next token."""
        return self.peek(0)

    def peek(self, ahead: int) -> Token:
        """Returns the token so many places ahead, or the end."""
        return self._tokens[min(self.position + ahead, len(self._tokens) - 1)]

    def take(self) -> Token:
        """Reads one token."""
        token = self.now
        self.skip_to(self.position + 1)
        return token

    def sees(self, *texts: str) -> bool:
        """Returns whether the next token is one of these symbols or words."""
        return self.now.kind in {"symbol", "word"} and self.now.text in texts

    def took(self, *texts: str) -> bool:
        """Reads the next token if it is one of these symbols or words, and returns whether it was."""
        seen = self.sees(*texts)
        if seen:
            self.take()
        return seen

    def find(self, *texts: str) -> int | None:
        """Returns the first position of these tokens in sequence."""
        written = [token.text for token in self._tokens]
        starts = (at for at in range(len(written)) if tuple(written[at : at + len(texts)]) == texts)
        return next(starts, None)

    def skip_to(self, position: int) -> None:
        """Goes to a position."""
        self.position = min(position, len(self._tokens) - 1)

    def since(self, position: int) -> tuple[Token, ...]:
        """Returns the tokens from a position up to the next token."""
        return self._tokens[position : self.position]

    def skip_parentheses(self) -> None:
        """Reads past the ``)`` that closes the ``(`` of the next token."""
        depth = 0
        while self.now.kind != "end":
            depth += {"(": 1, ")": -1}.get(self.take().text, 0)
            if depth == 0:
                return

    def skip_simple(self) -> None:
        """Reads to the end of a faulty simple rule: a ``)``, ``and``, ``or`` or the rule's own end."""
        while not (self._ends_rule() or self.sees(")") or (self._joins() and self._begins_rule(1))):
            self.skip_parentheses() if self.sees("(") else self.take()

    def skip_rule(self) -> None:
        """Reads to the end of a rule with a problem: a comma before another rule, or the closing ``]``."""
        while not self._ends_rule():
            self.take()

    def _joins(self) -> bool:
        return self.sees("and", "AND", "or", "OR")

    def _ends_rule(self) -> bool:
        if self.now.kind == "end":
            return True
        if self.sees(","):
            return self._begins_rule(1)
        return self._closes_rules(0)

    def _closes_rules(self, ahead: int) -> bool:
        after = self.peek(ahead + 1)
        return self.peek(ahead).text == "]" and (after.kind == "end" or after.text == "Analyzers")

    def _begins_rule(self, ahead: int) -> bool:
        # One of the brackets may be wrong, so they are not counted: a rule is recognised by its first word.
        token, after = self.peek(ahead), self.peek(ahead + 1)
        if token.text == "(":
            return after.text != "now"
        names_type = token.kind == "word" and token.text.upper() not in {*VALUE_KEYWORDS, "NOW"}
        return names_type or self._closes_rules(ahead)
