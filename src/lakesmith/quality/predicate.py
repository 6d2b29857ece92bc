r"""Conversion of checks to Spark SQL predicates: TRUE exactly if the row passes, never NULL, and never an
error on a value (ANSI mode).

What is checked follows AWS Glue (the DQDL reference, and awslabs/deequ where the reference is silent):

NULL
    fails every ``ColumnValues`` condition, ``not between`` and ``not matches`` included, except that it
    passes ``!=`` and ``not in`` unless the keyword NULL is among their values, and passes ``= NULL`` and
    ``in [..., NULL]``. ``ColumnLength`` treats NULL as a string of length 0, in all its forms.
Numbers
    The column's value is read as a number, whatever its type. A string is one if it has digits, with or
    without a sign, a point, an exponent and white space around. A value that is not a number (also NaN)
    fails the row, with ``!=`` and ``not in`` as well. Values are compared as doubles and, if the doubles
    are equal, as decimals of 38 digits, 18 of them (or as many as the rule has) after the point: bigints
    and decimals are compared exactly, and a double 0.1 equals ``0.1``.
Dates
    ``"2024-01-31"`` is a date, not a string, unless it is among other strings. The column's value is read
    as a date by ``try_cast``: a timestamp's time of day is cut off, in the session's time zone. A value
    that is not a date fails the row, with ``!=`` and ``not in`` as well.
between
    is exclusive at both ends: ``between 1 and 3`` holds for 2 only; ``not between`` is its opposite.
Strings
    are compared with the column's value cast to string, with case unless ``with ignoreCase = "true"``. EMPTY
    is the string of length 0, WHITESPACES_ONLY a string of one or more white space characters (Unicode's, not
    only spaces).
matches
    takes a Java regular expression that must match the whole value. An empty value is matched like any
    other.
where
    Rows for which the filter is not TRUE pass the rule.

Spark refuses a rule on a column whose type cannot be compared (a number rule on a date column) when it
analyses the predicate, before any row is checked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from lakesmith.quality.model import Check, Composite, Condition
from lakesmith.quoting import literal, quoted

MOST_DIGITS = 37
"""The most digits of the numbers in a rule, one less than Spark's widest decimal has. See ``_decimal``."""

_DECIMAL_SCALE = 18
_WHITESPACE_ONLY = r"(?U)\A\s+\z"


def is_row_check(check: Check) -> bool:
    """Returns whether a check decides on each row by itself, and always alike."""
    in_rows = check.type in ("IsComplete", "ColumnValues", "ColumnLength", "ColumnDataType")
    return in_rows and check.threshold is None and (check.condition is None or check.condition.is_fixed)


def predicate_of(check: Check | Composite) -> str:
    """Returns the Spark SQL predicate of a check, in parentheses or a call, to be part of any expression."""
    if isinstance(check, Composite):
        return "(" + f" {check.operator.upper()} ".join(predicate_of(part) for part in check.parts) + ")"
    passes = passes_of(check)
    return passes if check.where is None else f"(NOT coalesce(({check.where}), false) OR {passes})"


def passes_of(check: Check) -> str:
    """Returns whether a row among those of the check's ``where`` passes, in parentheses or a call."""
    column, condition = quoted(check.column), check.condition
    if condition is None:
        return f"({column} IS NOT NULL)"
    if check.type == "ColumnLength":
        return f"({_length_predicate(column, condition)})"
    if check.type == "ColumnDataType":
        return f"coalesce({_cast_predicate(column, condition, dict(check.tags).get('format'))}, false)"
    if dict(check.tags).get("ignoreCase", "").lower() == "true":
        return f"coalesce({_in_any_case(column, condition)}, false)"
    return f"coalesce({_value_predicate(column, condition)}, false)"


def _in_any_case(column: str, condition: Condition) -> str:
    if condition.operator.endswith("matches"):
        return _matched(column, replace(condition, values=(f"(?iu){condition.fixed[0]}",)))
    in_lower = replace(condition, values=tuple(value.lower() for value in condition.fixed))
    return _value_predicate(f"lower(CAST({column} AS STRING))", in_lower)


DATA_TYPE = re.compile(
    r"boolean|date|timestamp|integer|long|float|double|decimal\(\s*\d+\s*,\s*\d+\s*\)", re.IGNORECASE
)
"""The names of types that ColumnDataType knows."""

_SPARK_TYPES = {"integer": "INT", "long": "BIGINT"}


DATE_FORMAT = re.compile(
    r"(?:y{1,4}|M{1,4}|d{1,2}|H{1,2}|h{1,2}|m{1,2}|s{1,2}|S{1,9}|a|X{1,3}|'[^']*'|[^A-Za-z'\[\]{}#])+"
)
"""The formats of dates and times that ColumnDataType knows, a part of Java's."""


def _cast_predicate(column: str, condition: Condition, format: str | None) -> str:
    kind = condition.fixed[0].lower()
    if format is not None:
        fits = f"try_to_timestamp(CAST({column} AS STRING), {literal(format)}) IS NOT NULL"
    else:
        fits = f"try_cast({column} AS {_SPARK_TYPES.get(kind, kind.upper())}) IS NOT NULL"
    return fits if condition.operator == "=" else f"NOT ({fits})"


def _value_predicate(column: str, condition: Condition) -> str:
    if condition.operator in {"=", "in"}:
        return _is_one_of(column, condition)
    if condition.operator in {"!=", "not in"}:
        return _is_none_of(column, condition)
    if condition.operator in {"matches", "not matches"}:
        return _matched(column, condition)
    if condition.kind == "date":
        return _ordered(*_dates(column, condition), condition)
    return _ordered_numbers(column, condition)


def _matched(column: str, condition: Condition) -> str:
    whole = rf"\A(?:{condition.fixed[0]})\z"
    negation = "" if condition.operator == "matches" else "NOT "
    return f"{negation}CAST({column} AS STRING) RLIKE {literal(whole)}"


def _is_one_of(column: str, condition: Condition) -> str:
    choices = [_among(column, condition)] if _has_values(condition) else []
    if "NULL" in condition.keywords:
        choices.append(f"{column} IS NULL")
    return " OR ".join(choices)


def _is_none_of(column: str, condition: Condition) -> str:
    if not _has_values(condition):
        return f"{column} IS NOT NULL"
    if condition.kind == "number":
        absent = _number_not_among(column, condition.fixed)
    else:
        absent = f"NOT ({_among(column, condition)})"
    return absent if "NULL" in condition.keywords else f"{column} IS NULL OR {absent}"


def _has_values(condition: Condition) -> bool:
    return bool(condition.fixed) or condition.keywords != {"NULL"}


def _among(column: str, condition: Condition) -> str:
    """Whether the column's value is one of the values; NULL if it is NULL or cannot be read as their kind."""
    if condition.kind == "number":
        return _number_among(column, condition.fixed)
    if condition.kind == "date":
        return _in(*_dates(column, condition))
    return _text_among(f"CAST({column} AS STRING)", condition)


def _dates(column: str, condition: Condition) -> tuple[str, list[str]]:
    """The column and the values as dates; as timestamps if a value has a time."""
    kind = "TIMESTAMP" if any(" " in value for value in condition.fixed) else "DATE"
    return f"try_cast({column} AS {kind})", [f"{kind}'{value}'" for value in condition.fixed]


def _text_among(text: str, condition: Condition) -> str:
    values = (*condition.fixed, "") if "EMPTY" in condition.keywords else condition.fixed
    choices = [_in(text, [literal(value) for value in values])] if values else []
    if "WHITESPACES_ONLY" in condition.keywords:
        choices.append(f"{text} RLIKE {literal(_WHITESPACE_ONLY)}")
    return " OR ".join(choices)


def _number_among(column: str, values: Sequence[str]) -> str:
    # A value can differ from one in the list by less than doubles show. Then the decimals decide.
    doubles = _in(as_double(column), [f"{value}D" for value in values])
    decimals = _in(_decimal(column, values), [f"{value}BD" for value in values])
    return f"{doubles} AND {decimals}"


def _number_not_among(column: str, values: Sequence[str]) -> str:
    # Not just the negation: Spark's decimals read digits of other scripts, and only doubles are numbers here.
    double, doubles = as_double(column), [f"{value}D" for value in values]
    decimals = [f"{value}BD" for value in values]
    tie = f"{_in(double, doubles)} AND NOT {_in(_decimal(column, values), decimals)}"
    return f"NOT {_in(double, doubles)} OR ({tie})"


def _in(expression: str, literals: Sequence[str]) -> str:
    return (
        f"{expression} = {literals[0]}" if len(literals) == 1 else f"{expression} IN ({', '.join(literals)})"
    )


def _ordered(expression: str, literals: Sequence[str], condition: Condition) -> str:
    if condition.operator == "between":
        return f"{expression} > {literals[0]} AND {expression} < {literals[1]}"
    if condition.operator == "not between":
        return f"{expression} <= {literals[0]} OR {expression} >= {literals[1]}"
    return f"{expression} {condition.operator} {literals[0]}"


def _ordered_numbers(column: str, condition: Condition) -> str:
    low, high = condition.fixed[0], condition.fixed[-1]
    if condition.operator == "between":
        return f"({_number_compared(column, '>', low)}) AND ({_number_compared(column, '<', high)})"
    if condition.operator == "not between":
        return f"({_number_compared(column, '<=', low)}) OR ({_number_compared(column, '>=', high)})"
    return _number_compared(column, condition.operator, low)


def _number_compared(column: str, operator: str, value: str) -> str:
    # Rounding to a double or a decimal never reverses an order; it only makes neighbours equal. So doubles
    # that differ are right, and only where they are equal the (slower) decimals decide.
    double, decimal = as_double(column), _decimal(column, [value])
    return f"{double} {operator[0]} {value}D OR ({double} = {value}D AND {decimal} {operator} {value}BD)"


def compared(number: str, condition: Condition) -> str:
    """Returns whether an expression meets a condition of numbers, as SQL that may be NULL."""
    if condition.operator in {"=", "in", "!=", "not in"}:
        among = _in(number, condition.fixed)
        return among if condition.operator in {"=", "in"} else f"NOT ({among})"
    return _ordered(number, condition.fixed, condition)


def as_double(column: str) -> str:
    """Returns a column read as a double, as SQL: NULL if it is not a number."""
    # Spark parses doubles with Java, so the strings 5d, 5F, 0x1p3 and Infinity would be numbers. The
    # optimiser folds typeof, so columns of other types do not pay for this check.
    java_only = f"typeof({column}) LIKE 'string%' AND CAST({column} AS STRING) RLIKE '[DFXdfx]'"
    return f"nanvl(try_cast(if({java_only}, NULL, {column}) AS DOUBLE), NULL)"


def _decimal(column: str, values: Sequence[str]) -> str:
    """The column as a decimal that holds all the values exactly, with 18 decimals if there is room for them.

    It has room for one more digit before the point. So a value that is too large for it (NULL) is not close
    to any of the values as a double, and the decimal does not matter.
    """
    whole, fraction = digits_needed(values)
    scale = max(fraction, min(_DECIMAL_SCALE, MOST_DIGITS - whole))
    return f"try_cast({column} AS DECIMAL(38, {scale}))"


def digits_needed(values: Sequence[str]) -> tuple[int, int]:
    """Returns the most digits before and after the point that any of the numbers has."""
    parts = [value.lstrip("-").partition(".") for value in values]
    return max(len(part[0]) for part in parts), max(len(part[2]) for part in parts)


def _length_predicate(column: str, condition: Condition) -> str:
    length = f"coalesce(length(CAST({column} AS STRING)), 0)"
    if condition.operator in {"in", "="}:
        return _in(length, condition.fixed)
    if condition.operator in {"not in", "!="}:
        return f"NOT {length} IN ({', '.join(condition.fixed)})"
    return _ordered(length, condition.fixed, condition)
