"""The problems of a DQDL text: where they are, and how they are worded."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from lark import Token

from lakesmith.errors import Place, Problem
from lakesmith.quality.rule_types import TYPES

Node = Any
"""A tree of lark, whose children are trees and tokens."""


@dataclass(frozen=True)
class Written:
    """A text and its tokens."""

    text: str
    tokens: Sequence[Token]

    @property
    def last(self) -> Token:
        return self.tokens[-1] if self.tokens else Token("$END", "", line=1, start_pos=0, end_pos=0)

    def between(self, start: int, end: int) -> str:
        """Returns the text between two positions, with one space for white space or a comment."""
        first = bisect_left(self.tokens, start, key=lambda token: token.start_pos or 0)
        parts, position = [], start
        for token in self.tokens[first:]:
            if (token.start_pos or 0) >= end:
                break
            parts.append((" " if token.start_pos != position else "") + str(token))
            position = token.end_pos or 0
        return "".join(parts)


def first_of(tree: Node) -> Token:
    token: Token = next(tree.scan_values(lambda token: isinstance(token, Token)))
    return token


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
        self.line = (token.line or 1) - 1

    def problem(self, place: Place) -> Problem:
        """Returns the problem with its place. ``place``: where the text's first line is."""
        return replace(self._problem, place=moved(place, self.line))


def moved(place: Place, lines: int) -> Place:
    """Returns the place so many lines further down; a place without a line stays as it is."""
    return place if place.line is None else Place(place.file, place.line + lines)


_A_VALUE: Final = "a number, a string in double quotes, NULL, EMPTY or WHITESPACES_ONLY"
_MOST_WRITTEN: Final = 37
_EXPECTED: Final = (
    ({"RULES", "ANALYZERS"}, "Rules = [ ... ], upper and lower case as here"),
    ({"NAME", "LPAR", "RSQB"}, 'a rule, for example: IsComplete "column"'),
    ({"EQUAL", "NOT", "STRING", "NAME"}, "the name of a column or a condition, then a comma"),
    ({"EQUAL", "NOT", "COMMA"}, "a condition: one of = != > >= < <= between in matches not"),
    ({"EQUAL", "NOT"}, "a condition: one of = != > >= < <= between in matches not"),
    ({"STRING", "NUMBER"}, _A_VALUE),
    ({"BETWEEN", "IN"}, "not between, not in or not matches"),
    ({"LSQB", "DOLLAR"}, 'a list of values: ["a", "b"]'),
    ({"STAR", "RPAR"}, "an arithmetic operator, or the ) that closes the expression"),
    ({"AND", "RPAR"}, "the ) that closes the rule, or `and` or `or`"),
    ({"AND", "COMMA"}, "a comma and another rule, or the ] that closes the rules"),
    ({"RSQB", "COMMA"}, "a comma and another value, or the ] that closes the list"),
    ({"NUMBER", "LPAR"}, "a number"),
    ({"AND"}, "`and` and the upper bound"),
    ({"UNIT"}, "a unit: days, hours, minutes, B, KB, MB, GB or TB"),
    ({"STRING", "NAME"}, "the name of a column"),
    ({"NAME", "LPAR"}, 'a rule, for example: IsComplete "column"'),
    ({"STRING"}, "a text in double quotes"),
    ({"NAME"}, "a name"),
    ({"EQUAL"}, "="),
    ({"LSQB"}, "[ and a list"),
    ({"$END"}, "nothing after the ] that closes the rules"),
)  # fmt: skip
"""What is expected, by terminals that the parser accepts; the first whose terminals are all accepted."""

_UNKNOWN_CHARACTERS: Final = {
    "'": "strings and names are in double quotes",
    "\u201c": 'use straight double quotes: "',
    "\u201d": 'use straight double quotes: "',
    '"': "close the string with a double quote",
}


def shown(token: Token) -> str:
    """The token for a message: its first line."""
    return "the end of the rules" if token.type == "$END" else str(token).splitlines()[0]


def unexpected(written: Written, at: int, accepted: frozenset[str]) -> Fault:
    """Returns the fault that something else is expected in place of the token ``at`` a position."""
    at_end = at == len(written.tokens)
    token = Token.new_borrow_pos("$END", "", written.last) if at_end else written.tokens[at]
    if at and _in_capitals(written.tokens[at - 1]):
        token = written.tokens[at - 1]
    expected = next((words for names, words in _EXPECTED if names <= accepted), "the rest of the rule")
    if fault := _no_value(written, at, accepted):
        return fault
    if token.type in ("BAD", "UNCLOSED"):
        what = "a string is not closed" if token[0] == '"' else "a character that DQDL does not have"
        return Fault("LS180", what, token, expected, shown(token), _UNKNOWN_CHARACTERS.get(token[0]))
    if token.type == "RSQB" and at and written.tokens[at - 1].type == "COMMA" and "LPAR" in accepted:
        return Fault("LS180", "a comma ends the list of rules", token, expected, "]", "remove the comma")
    return Fault("LS180", "the rule cannot be read", token, expected, shown(token), _hint(token))


def _no_value(written: Written, at: int, accepted: frozenset[str]) -> Fault | None:
    """Returns the fault that a word is where a value is expected: it may only be the name of a function."""
    at -= accepted == {"LPAR"}
    token = written.tokens[at] if 0 <= at < len(written.tokens) else written.last
    if token.type != "NAME" or not accepted & {"LPAR", "NUMBER"} or token in TYPES:
        return None
    if token[0] not in "0123456789.":
        return Fault("LS180", f"{token} is no value", token, _A_VALUE, str(token), f'a text is "{token}"')
    # The sign of an exponent is a token of its own.
    is_signed = token[-1] in "eE" and written.tokens[at + 1 : at + 2] and written.tokens[at + 1] in ("+", "-")
    ends = at + 3 if is_signed else at + 1
    text = "".join(written.tokens[at:ends])
    what, expected = f"{text} is not a number as DQDL writes it", "digits, such as 1000 or 0.25"
    return Fault("LS180", what, token, expected, text, _written_out(text))


def _written_out(text: str) -> str | None:
    try:
        found = Decimal(text)
    except InvalidOperation:
        return None
    is_short = abs(found.adjusted()) < _MOST_WRITTEN
    return f"write it as {found:f}" if is_short else "write it without an exponent"


def _in_capitals(token: Token) -> bool:
    lower = token.lower()
    return (
        token.type == "NAME"
        and lower != token
        and lower in ("between", "in", "not", "matches", "where", "with")
    )


def _hint(token: Token) -> str | None:
    if _in_capitals(token):
        return f"DQDL writes it in lower case: {token.lower()}"
    if token.type not in ("NAME", "$END") and token.isalpha():
        return f'{token} is a word of DQDL; if it is a name, write "{token}"'
    return None
