"""Values of YAML and CSV as values of a column's type, and how values are shown."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

_TRUTH: Final = {"true": True, "false": False}
_NOT_NUMBERS: Final = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class WrongValue(ValueError):
    """A value that a column cannot hold."""


def typed(value: Any, type_: pa.DataType, is_text: bool = False) -> Any:
    """Returns what a value of a story is in a column of a type: Decimal, datetime, list, dict and so on.

    Args:
        is_text: it is a text of CSV, of which an empty one is NULL, and nested values are JSON.

    Raises:
        WrongValue: it is no value of the type; says what it is.
    """
    import pyarrow.types as pt

    if value is None or (is_text and value == ""):
        return None
    if is_text and pt.is_nested(type_):
        return _nested(_json(value), type_)
    if pt.is_nested(type_):
        return _nested(value, type_)
    for is_of, read in _READERS:
        if getattr(pt, is_of)(type_):
            return read(value, is_text, type_)
    raise WrongValue(f"values of type {type_} cannot be written in a story")


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_float=Decimal)
    except ValueError as error:
        raise WrongValue(f"{text!r} is not JSON") from error


def _nested(value: Any, type_: Any) -> Any:
    import pyarrow.types as pt

    if pt.is_struct(type_):
        if not isinstance(value, Mapping):
            raise WrongValue(f"{shown(value)} is not a mapping of fields")
        names = [type_.field(at).name for at in range(type_.num_fields)]
        if unknown := [name for name in value if name not in names]:
            raise WrongValue(f"the field {unknown[0]} is not among {', '.join(names)}")
        return {name: typed(value.get(name), type_.field(name).type) for name in names}
    if pt.is_map(type_):
        if not isinstance(value, Mapping):
            raise WrongValue(f"{shown(value)} is not a mapping")
        return {
            typed(key, type_.key_type, is_text=True): typed(item, type_.item_type)
            for key, item in value.items()
        }
    if not isinstance(value, list):
        raise WrongValue(f"{shown(value)} is not a list")
    return [typed(each, type_.value_type) for each in value]


def _boolean(value: Any, is_text: bool, _type: Any) -> bool:
    if is_text and value.lower() in _TRUTH:
        return _TRUTH[value.lower()]
    if isinstance(value, bool):
        return value
    raise WrongValue(f"{shown(value)} is neither true nor false")


def _integer(value: Any, is_text: bool, _type: Any) -> int:
    try:
        if isinstance(value, str) and is_text:
            return int(value)
    except ValueError:
        pass
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise WrongValue(f"{shown(value)} is not a whole number")


def _decimal(value: Any, _is_text: bool, _type: Any) -> Decimal:
    """A text is exact, also in YAML, whose numbers are binary."""
    try:
        if isinstance(value, str | int | float | Decimal) and not isinstance(value, bool):
            found = Decimal(str(value))
            if found.is_finite():
                return found
    except InvalidOperation:
        pass
    raise WrongValue(f"{shown(value)} is not a decimal number")


def _floating(value: Any, is_text: bool, _type: Any) -> float:
    if isinstance(value, str):
        if value.lower() in _NOT_NUMBERS:
            return _NOT_NUMBERS[value.lower()]
        try:
            return float(value) if is_text else _no_number(value)
        except ValueError:
            return _no_number(value)
    return (
        float(value)
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        else _no_number(value)
    )


def _no_number(value: Any) -> float:
    raise WrongValue(f"{shown(value)} is not a number")


def _string(value: Any, _is_text: bool, _type: Any) -> str:
    if isinstance(value, str):
        return value
    raise WrongValue(f"{shown(value)} is not a text; put it in quotes")


def _timestamp(value: Any, _is_text: bool, type_: Any) -> datetime:
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise WrongValue(f"{shown(value)} is not a time such as 2026-01-05 10:00:00") from error
    if type_.tz is None:
        if found.tzinfo is not None:
            raise WrongValue(f"{shown(value)} has a time zone, and the column has none")
        return found
    return found.astimezone(UTC) if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _date(value: Any, _is_text: bool, _type: Any) -> date:
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise WrongValue(f"{shown(value)} is not a date such as 2026-01-05") from error


def _binary(value: Any, _is_text: bool, _type: Any) -> bytes:
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError) as error:
        raise WrongValue(f"{shown(value)} is not in hexadecimal digits") from error


_READERS: Final = (
    ("is_boolean", _boolean),
    ("is_integer", _integer),
    ("is_decimal", _decimal),
    ("is_floating", _floating),
    ("is_string", _string),
    ("is_large_string", _string),
    ("is_timestamp", _timestamp),
    ("is_date", _date),
    ("is_binary", _binary),
    ("is_large_binary", _binary),
)


def found_value(value: Any) -> Any:
    """Returns a value of Arrow as ``typed`` has it: maps, which Arrow gives as pairs, as mappings."""
    if isinstance(value, list):
        is_map = bool(value) and all(isinstance(each, tuple) for each in value)
        return (
            {key: found_value(item) for key, item in value}
            if is_map
            else [found_value(each) for each in value]
        )
    if isinstance(value, dict):
        return {key: found_value(item) for key, item in value.items()}
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    return value


def comparable(value: Any) -> Hashable:
    """Returns a hashable equal for equal values: a NaN equals a NaN, and 1.50 equals 1.5."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value
    if isinstance(value, Mapping):
        return tuple(
            (key, comparable(item)) for key, item in sorted(value.items(), key=lambda pair: str(pair[0]))
        )
    if isinstance(value, list):
        return ("list", *map(comparable, value))
    return value if isinstance(value, Hashable) else str(value)


def shown(value: Any) -> str:
    """Returns a value as a person reads it: texts in quotes, no value as NULL."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case str():
            return repr(value)
        case bytes():
            return value.hex() or "no bytes"
        case datetime():
            zone = "" if value.tzinfo is None else " UTC" if value.tzinfo == UTC else f" {value.tzinfo}"
            return f"{value.replace(tzinfo=None).isoformat(' ')}{zone}"
        case Mapping():
            return "{" + ", ".join(f"{key}: {shown(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(shown, value)) + "]"
    return str(value)
