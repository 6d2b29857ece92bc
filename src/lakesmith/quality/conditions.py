"""The conditions of DQDL: operators and their values, and why some values are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, DivisionByZero, InvalidOperation, localcontext
from typing import Final, cast

from lark import Token, Tree

from lakesmith.quality.faults import Fault, Node, first_of, shown
from lakesmith.quality.foreign import regex_problem
from lakesmith.quality.model import Call, Condition, Keyword, Kind, Operator, Value
from lakesmith.quality.predicate import MOST_DIGITS, digits_needed

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?: (?P<half>[AP]M))?")
_MINUTES: Final = {"minutes": 1, "hours": 60, "days": 1440}
_BYTES: Final = {unit: 1024**power for power, unit in enumerate(("B", "KB", "MB", "GB", "TB"))}
_EQUALITY: Final = frozenset({"=", "!=", "in", "not in"})

_ALL_DIGITS: Final = 1000

MOST_EARLIER: Final = 100
"""The most earlier metrics that ``last`` can ask for: they are in every progress record."""

_ONE_OF: Final = ("avg", "median", "min", "max", "sum", "std")
"""Functions of the list that ``last(k)`` is."""


@dataclass(frozen=True, slots=True)
class _Read:
    kind: str
    value: Value
    token: Token


Constants = Mapping[str, tuple[Token, ...]]
"""The tokens of the declared constants by name."""


def string_value(token: Token) -> str:
    r"""Returns a string token's text without quotes, with ``\"`` and ``\\`` resolved."""
    return re.sub(r'\\(["\\])', r"\1", token[1:-1])


def raw_value(token: Token) -> str:
    r"""Returns the text of a string token in another language (a regular expression, SQL).

    Only ``\"`` is resolved. Every other backslash belongs to that language, as in AWS Glue: ``"\d+"`` is the
    expression ``\d+``.
    """
    return re.sub(r'\\(["\\])', lambda match: '"' if match[1] == '"' else match[0], token[1:-1])


def constant(tree: Node, constants: Constants) -> tuple[Token, ...]:
    """Returns the tokens of the constant that ``$name`` names. Raises Fault if it is not declared."""
    name = tree.children[1]
    if name not in constants:
        expected = ", ".join(constants) or "a declaration before the rules: name = ..."
        raise Fault("LS185", f"the constant ${name} is not declared", name, expected)
    return constants[name]


def condition(tree: Node, constants: Constants, zone: str | None) -> Condition:
    """Returns a condition; ``zone``: the time zone of its times of day. Raises Fault LS185."""
    first = first_of(tree)
    operator = _operator(tree)
    if operator.endswith("matches"):
        return _regex(operator, tree.children[-1])
    read = [each for part in tree.children for each in _values(part, constants)]
    return _condition(operator, read, first, zone)


def _operator(tree: Node) -> Operator:
    words = [str(child) for child in tree.children if isinstance(child, Token)]
    negated = words[0] == "not"
    if words[0] == "!":
        return "!="
    return cast(Operator, " ".join(words[:2]) if negated else words[0])


def _regex(operator: Operator, token: Token) -> Condition:
    wrong = regex_problem(raw_value(token))
    if wrong:
        raise Fault("LS185", f"the regular expression is not valid: {wrong}", token, found=shown(token))
    return Condition(operator, "text", (raw_value(token),))


_TEXTS: Final = ("STRING", "NULL", "EMPTY", "WHITESPACES_ONLY")


def _values(part: Node | Token, constants: Constants) -> Iterator[_Read]:
    if isinstance(part, Token):
        if part.type in (*_TEXTS, "NUMBER"):
            yield _plain(part)
    elif part.data == "list":
        yield from (each for child in part.children for each in _values(child, constants))
    elif part.data == "reference":
        yield from map(_plain, constant(part, constants))
    elif part.data == "date":
        yield _Read("date", Call("now", (_offset(part),)), first_of(part))
    elif part.data == "amount":
        yield _amount(part)
    else:
        yield _Read("number", _number(part), first_of(part))


def _plain(token: Token) -> _Read:
    if token.type == "STRING":
        return _Read("text", string_value(token), token)
    if token.type == "NUMBER":
        return _Read("number", _without_zeros(token), token)
    return _Read("keyword", token.upper(), token)


def _without_zeros(number: str) -> str:
    whole, point, fraction = number.partition(".")
    return (whole.lstrip("0") or "0") + point + fraction


def _offset(tree: Node) -> str:
    amounts = list(tree.find_data("amount"))
    if not amounts:
        return "0"
    found = _amount(amounts[0])
    if found.kind != "duration":
        raise Fault("LS185", "a size cannot be added to a time", found.token, "days, hours or minutes")
    sign = "-" if "-" in tree.children else ""
    return f"{sign}{found.value}"


def _amount(tree: Node) -> _Read:
    number, unit = tree.children
    if "." in number:
        raise Fault("LS185", f"{number} {unit} is not a whole number", number, "a whole number")
    kind, factor = ("size", _BYTES[unit]) if unit in _BYTES else ("duration", _MINUTES[unit])
    return _Read(kind, str(int(number) * factor), number)


def _number(tree: Node | Token) -> Value:
    """Returns a number as written; the result of arithmetic, if it is known."""
    if isinstance(tree, Token):
        if tree.type != "NUMBER":
            raise Fault("LS185", "NULL is not a number to calculate with", tree)
        return _without_zeros(tree)
    parts = tree.children
    if tree.data == "group":
        return _number(parts[1])
    if tree.data == "negative":
        return "-" + _without_zeros(parts[1])
    if tree.data == "call":
        return _call(tree)
    left, operator, right = _number(parts[0]), parts[1], _number(parts[2])
    if isinstance(left, Call) or isinstance(right, Call):
        return Call(str(operator), (left, right))
    return _calculated(left, operator, right)


def _calculated(left: str, operator: Token, right: str) -> str:
    # A quotient has no last digit; of the others the digits are counted later.
    with localcontext(prec=28 if operator == "/" else _ALL_DIGITS) as context:
        context.traps[DivisionByZero] = context.traps[InvalidOperation] = True
        one, other = Decimal(left), Decimal(right)
        try:
            found = {"+": lambda: one + other, "-": lambda: one - other, "*": lambda: one * other}.get(
                operator, lambda: one / other
            )()
        except (DivisionByZero, InvalidOperation) as error:
            raise Fault("LS185", "a division by zero", operator, found=f"{left} / {right}") from error
        return f"{found:f}"


def _call(tree: Node) -> Value:
    name = tree.children[0]
    parts = [
        child for child in tree.children[2:] if isinstance(child, Tree) or child.type in ("NUMBER", "NULL")
    ]
    arguments = tuple(map(_number, parts))
    if name == "last":
        return Call("last", (_how_many(name, arguments),))
    if name == "abs" and len(arguments) == 1:
        return arguments[0].removeprefix("-") if isinstance(arguments[0], str) else Call("abs", arguments)
    if name == "index" and len(arguments) == 2:
        return _indexed(name, arguments)
    if name in _ONE_OF and arguments:
        return Call(str(name), arguments)
    expected = "last(k), abs(x), index(last(k), i), or one of avg, median, min, max, sum, std of last(k)"
    what = f"{name}({len(arguments)} values) is not a function of DQDL's dynamic rules"
    raise Fault("LS185", what, name, expected)


def _how_many(name: Token, arguments: tuple[Value, ...]) -> str:
    (many,) = arguments or ("1",) if len(arguments) < 2 else (Call("last"),)
    if isinstance(many, str) and many.isdigit() and 1 <= int(many) <= MOST_EARLIER:
        return many
    raise Fault("LS185", "last(k) takes a whole number of earlier runs", name, f"1 to {MOST_EARLIER}")


def _indexed(name: Token, arguments: tuple[Value, ...]) -> Call:
    earlier, at = arguments
    if isinstance(earlier, Call) and earlier.name == "last" and isinstance(at, str) and at.isdigit():
        if int(at) < int(cast(str, earlier.arguments[0])):
            return Call("index", arguments)
        raise Fault("LS185", f"index {at} is beyond last({earlier.arguments[0]}); the newest is 0", name)
    raise Fault("LS185", "index takes last(k) and a whole number", name, "index(last(3), 0)")


def _condition(operator: Operator, read: Sequence[_Read], first: Token, zone: str | None) -> Condition:
    keywords = frozenset(cast(Keyword, each.value) for each in read if each.kind == "keyword")
    plain = [each for each in read if each.kind != "keyword"]
    kind = _common_kind(operator, plain, keywords)
    if kind == "date":
        plain = [_as_date(each, zone) for each in plain]
    _check_order(operator, kind, read, plain)
    _check_keywords(kind, read)
    _check_lists(plain)
    values = tuple(dict.fromkeys(each.value for each in plain))
    _check_digits(kind, values, first)
    return Condition(
        operator, kind, values if operator in _EQUALITY else tuple(e.value for e in plain), keywords
    )


def _common_kind(operator: Operator, values: Sequence[_Read], keywords: frozenset[Keyword]) -> Kind:
    kinds = {each.kind for each in values}
    texts = [str(each.value) for each in values if each.kind == "text"]
    # As in DQDL a string that looks like a date is one; beside other strings it can only be a string.
    dates = keywords <= {"NULL"} and all(map(_DATE.fullmatch, texts))
    times = operator not in _EQUALITY and all(
        _DATE.fullmatch(text) or _TIME.fullmatch(text) for text in texts
    )
    if values and kinds <= {"text", "date"} and (dates or times):
        return "date"
    if len(kinds) > 1:
        what = "numbers, strings and other values are mixed in one condition"
        raise Fault("LS185", what, values[0].token, found=", ".join(shown(each.token) for each in values))
    return cast(Kind, kinds.pop()) if kinds else "text"


def _as_date(read: _Read, zone: str | None) -> _Read:
    if isinstance(read.value, Call):
        return read
    if match := _TIME.fullmatch(read.value):
        hour, minute, half = int(match["hour"]), int(match["minute"]), match["half"]
        if minute > 59 or not (0 < hour < 13 if half else hour < 24):
            raise Fault("LS185", "a time that no clock has", read.token, "9:30 AM or 21:30", read.value)
        hour = hour % 12 + (12 if half == "PM" else 0) if half else hour
        return _Read("date", Call("time", (str(60 * hour + minute), zone or "UTC")), read.token)
    try:
        date.fromisoformat(read.value)
    except ValueError as error:
        raise Fault("LS185", "a date that no calendar has", read.token, "YYYY-MM-DD", read.value) from error
    return read


def _check_order(operator: Operator, kind: Kind, read: Sequence[_Read], plain: Sequence[_Read]) -> None:
    if operator in _EQUALITY:
        return
    if keyword := next((each for each in read if each.kind == "keyword"), None):
        what = f"{keyword.value} has no order: it can stand with =, !=, in and not in only"
        raise Fault("LS185", what, keyword.token, found=operator)
    if kind == "text":
        expected = 'a number, or a date as "YYYY-MM-DD"'
        hint = "numbers have no quotes; strings can be compared with =, !=, in and matches"
        what = f"{operator} does not compare strings"
        raise Fault("LS185", what, read[0].token, expected, shown(read[0].token), hint)
    low, high = plain[0].value, plain[-1].value
    if len(plain) == 2 and isinstance(low, str) and isinstance(high, str) and not _rank(low) < _rank(high):
        what = "no value is between the bounds: the lower has to be below the upper one"
        raise Fault("LS185", what, read[0].token, found=f"{low} and {high}")


def _rank(value: str) -> Decimal:
    return Decimal(value.replace("-", "") if _DATE.fullmatch(value) else value)


def _check_keywords(kind: Kind, read: Sequence[_Read]) -> None:
    odd = next((each for each in read if each.value in {"EMPTY", "WHITESPACES_ONLY"}), None)
    if kind == "number" and odd is not None and odd.kind == "keyword":
        raise Fault("LS185", f"{odd.value} is a keyword for strings", odd.token, found="numbers beside it")


def _check_lists(read: Sequence[_Read]) -> None:
    for each in read:
        if isinstance(each.value, Call) and _is_list(each.value):
            hint = f"choose from them: avg({each.token}(k)) or index({each.token}(k), 0)"
            raise Fault("LS185", "last(k) gives several values here", each.token, "one value", hint=hint)


def _is_list(call: Call) -> bool:
    if call.name == "last":
        return call.arguments != ("1",)
    takes_lists = call.name in (*_ONE_OF, "index")
    return not takes_lists and any(isinstance(each, Call) and _is_list(each) for each in call.arguments)


def _check_digits(kind: Kind, values: Sequence[Value], first: Token) -> None:
    fixed = [value for value in values if isinstance(value, str)]
    if kind == "number" and fixed and sum(digits_needed(fixed)) > MOST_DIGITS:
        what = f"the numbers need more than {MOST_DIGITS} digits"
        raise Fault("LS185", what, first, found=", ".join(fixed))
