"""The conditions of DQDL: operators and their values, and why some values are refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import cast

from lakesmith.quality.foreign import regex_problem
from lakesmith.quality.model import Condition, Keyword, Kind, Operator
from lakesmith.quality.predicate import MOST_DIGITS, digits_needed
from lakesmith.quality.reading import VALUE_KEYWORDS, Fault, Reader, Token, raw_value, string_value

OPERATORS = ("=", "!=", ">", ">=", "<", "<=", "between", "in", "matches", "not")
"""The tokens a condition can begin with."""

RESERVED = frozenset(OPERATORS) | {"and", "AND", "or", "OR", "where", "with", "labels"} | VALUE_KEYWORDS
"""Words that name neither a rule type nor a column."""

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"[0-9]{1,2}:[0-9]{2}( [AP]M)?")
_UNKNOWN_CHARACTERS = {
    "'": "strings and names are in double quotes",
    "\u201c": 'use straight double quotes: "',
    "\u201d": 'use straight double quotes: "',
    '"': "close the string with a double quote",
}


@dataclass(frozen=True, slots=True)
class _Value:
    kind: str
    text: str
    token: Token


def unexpected(token: Token, expected: str) -> Fault:
    """Returns the fault that something else is expected here."""
    if token.kind == "bad":
        what = "a string is not closed" if token.text[0] == '"' else "a character that DQDL does not have"
        return Fault("LS180", what, token, expected, token.shown, _UNKNOWN_CHARACTERS.get(token.text[0]))
    if token.text == "]" and expected.startswith("a rule"):
        return Fault("LS180", "a comma ends the list of rules", token, expected, "]", "remove the comma")
    lower = token.text.lower()
    hint = f"DQDL writes it in lower case: {lower}" if lower in RESERVED and lower != token.text else None
    return Fault("LS180", "the rule cannot be read", token, expected, token.shown, hint)


def condition(reader: Reader, *, lengths: bool) -> Condition:
    """Reads a condition; ``lengths``: one of ColumnLength, which compares with numbers only.

    Raises:
        Fault: something else is there, or the condition is not supported on single rows.
    """
    first = reader.now
    operator = _operator(reader)
    if operator.endswith("matches"):
        found = _regex(reader, operator)
    else:
        found = _condition(operator, _values(reader, operator))
    if lengths and (found.kind != "number" or found.keywords):
        hint = "NULL has the length 0" if "NULL" in found.keywords else None
        raise Fault("LS185", "ColumnLength is compared with numbers only", first, found=operator, hint=hint)
    return found


def _operator(reader: Reader) -> Operator:
    token = reader.now
    if not reader.sees(*OPERATORS):
        raise unexpected(token, "a condition: one of " + " ".join(OPERATORS))
    negated = "not " if reader.took("not") else ""
    if negated and not reader.sees("between", "in", "matches"):
        raise unexpected(reader.now, "not between, not in or not matches")
    return cast(Operator, negated + reader.take().text)


def _regex(reader: Reader, operator: Operator) -> Condition:
    token = reader.take()
    if token.kind != "string":
        raise unexpected(token, "a regular expression in double quotes")
    wrong = regex_problem(raw_value(token))
    if wrong:
        raise Fault("LS185", f"the regular expression is not valid: {wrong}", token, found=token.shown)
    return Condition(operator, "text", (raw_value(token),))


def _values(reader: Reader, operator: Operator) -> list[_Value]:
    if operator.endswith("between"):
        low = _value(reader)
        if not reader.took("and", "AND"):
            raise unexpected(reader.now, "`and` and the upper bound")
        return [low, _value(reader)]
    return _list(reader) if operator.endswith("in") else [_value(reader)]


def _list(reader: Reader) -> list[_Value]:
    if not reader.took("["):
        _refuse_variable(reader)
        raise unexpected(reader.now, 'a list of values: ["a", "b"]')
    values = [_value(reader)]
    while reader.took(","):
        values.append(_value(reader))
    if not reader.took("]"):
        raise unexpected(reader.now, "a comma and another value, or the ] that closes the list")
    return values


def _value(reader: Reader) -> _Value:
    _refuse_variable(reader)
    _refuse_expression(reader)
    token = reader.now
    if token.kind == "string":
        return _Value("text", string_value(token), reader.take())
    if token.kind == "word" and token.text in VALUE_KEYWORDS | {word.lower() for word in VALUE_KEYWORDS}:
        return _Value("keyword", token.text.upper(), reader.take())
    return _number(reader)


def _number(reader: Reader) -> _Value:
    sign = "-" if reader.took("-") else ""
    token = reader.now
    if token.kind != "number":
        raise unexpected(token, "a number, a string in double quotes, NULL, EMPTY or WHITESPACES_ONLY")
    reader.take()
    if reader.sees("+", "-", "*", "/"):
        raise Fault("LS183", "arithmetic is not supported in conditions", token, hint="write the result")
    return _Value("number", sign + _plain(token.text), token)


def _plain(number: str) -> str:
    whole, point, fraction = number.partition(".")
    return (whole.lstrip("0") or "0") + point + fraction


def _refuse_variable(reader: Reader) -> None:
    if reader.sees("$"):
        raise Fault("LS183", "variables are not supported", reader.now, hint="write the values in the rule")


def _refuse_expression(reader: Reader) -> None:
    token = reader.now
    inner = reader.peek(1) if reader.sees("(") else token
    if token.kind == "word" and reader.peek(1).text == "(":
        reader.take()
    if not reader.sees("("):
        return
    reader.skip_parentheses()
    if inner.text == "now":
        hint = "compare with a fixed date, or filter by time in the query"
        raise Fault("LS184", "now() changes with time: a rebuild would give another result", inner, hint=hint)
    what = "functions, dynamic rules and arithmetic are not supported in conditions"
    raise Fault("LS183", what, inner, found=inner.shown, hint="write a fixed value")


def _condition(operator: Operator, values: Sequence[_Value]) -> Condition:
    keywords = frozenset(cast(Keyword, value.text) for value in values if value.kind == "keyword")
    plain = [value for value in values if value.kind != "keyword"]
    kind = _common_kind(plain, keywords)
    _check_order(operator, kind, values)
    _check_keywords(kind, values)
    _check_digits(kind, plain)
    return Condition(operator, kind, tuple(dict.fromkeys(value.text for value in plain)), keywords)


def _common_kind(values: Sequence[_Value], keywords: frozenset[Keyword]) -> Kind:
    kinds = {value.kind for value in values}
    if len(kinds) > 1:
        what = "numbers and strings are mixed in one condition"
        raise Fault("LS185", what, values[0].token, found=", ".join(value.token.shown for value in values))
    if kinds == {"number"}:
        return "number"
    # As in DQDL a string that looks like a date is one; beside other strings it can only be a string.
    if values and keywords <= {"NULL"} and all(_DATE.fullmatch(value.text) for value in values):
        _check_dates(values)
        return "date"
    return "text"


def _check_dates(values: Sequence[_Value]) -> None:
    for value in values:
        try:
            date.fromisoformat(value.text)
        except ValueError as error:
            raise Fault(
                "LS185", "a date that no calendar has", value.token, "YYYY-MM-DD", value.text
            ) from error


def _check_order(operator: Operator, kind: Kind, values: Sequence[_Value]) -> None:
    if operator in {"=", "!=", "in", "not in"}:
        return
    first, last = values[0], values[-1]
    keyword = next((value for value in values if value.kind == "keyword"), None)
    if keyword:
        what = f"{keyword.text} has no order: it can stand with =, !=, in and not in only"
        raise Fault("LS185", what, keyword.token, found=operator)
    if kind == "text":
        raise _no_order(operator, first)
    if len(values) == 2 and not (_rank(kind, first) < _rank(kind, last)):
        what = "no value is between the bounds: the lower has to be below the upper one"
        raise Fault("LS185", what, first.token, found=f"{first.text} and {last.text}")


def _rank(kind: Kind, value: _Value) -> Decimal:
    return Decimal(value.text if kind == "number" else value.text.replace("-", ""))


def _no_order(operator: Operator, value: _Value) -> Fault:
    if _TIME.fullmatch(value.text):
        what = f"{value.token.shown} is a time of the present day: a rebuild would give another result"
        return Fault("LS184", what, value.token, hint="filter by time in the query")
    expected = 'a number, or a date as "YYYY-MM-DD"'
    hint = "numbers have no quotes; strings can be compared with =, !=, in and matches"
    return Fault(
        "LS185", f"{operator} does not compare strings", value.token, expected, value.token.shown, hint
    )


def _check_keywords(kind: Kind, values: Sequence[_Value]) -> None:
    odd = next((value for value in values if value.text in {"EMPTY", "WHITESPACES_ONLY"}), None)
    if kind == "number" and odd:
        raise Fault("LS185", f"{odd.text} is a keyword for strings", odd.token, found="numbers beside it")


def _check_digits(kind: Kind, values: Sequence[_Value]) -> None:
    if kind != "number":
        return
    if sum(digits_needed([value.text for value in values])) > MOST_DIGITS:
        what = f"the numbers need more than {MOST_DIGITS} digits"
        raise Fault("LS185", what, values[0].token, found=", ".join(value.text for value in values))
