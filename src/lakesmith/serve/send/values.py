"""Plausible events, made from the types and names of a table's columns, as JSON text."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from random import Random
from typing import Final

from lakesmith.project.definitions import Column
from lakesmith.project.spark_types import SqlType, parse_type, precision_and_scale

WRONG: Final = '"no such value"'
_FEW: Final = 50
"""Ids are from 1 to this, so that they repeat."""
_BITS: Final = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_NUMBERS: Final[Mapping[str, tuple[int, int]]] = {
    "quantity": (1, 5),
    "qty": (1, 5),
    "count": (1, 20),
    "age": (18, 90),
    "percent": (0, 100),
    "year": (2020, 2026),
    "month": (1, 12),
    "minute": (0, 59),
    "hour": (0, 23),
    "day": (1, 28),
}
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "city": ("Berlin", "Lisbon", "Oslo", "Vienna", "Zürich", "Kraków", "Dublin", "Porto"),
    "country": ("DE", "PT", "NO", "AT", "CH", "PL", "IE"),
    "currency": ("EUR", "CHF", "NOK", "PLN"),
    "status": ("new", "paid", "sent", "returned"),
    "state": ("new", "paid", "sent", "returned"),
    "channel": ("web", "shop", "phone"),
    "name": ("Ada", "Björn", "Chloé", "Dana", "Elif", "Frank", "Grace", "Hugo"),
}


@dataclass(frozen=True, slots=True)
class Occasion:
    """The circumstances of an event: its time, in UTC without a zone, and a number of its own."""

    random: Random
    moment: datetime
    number: int


Maker = Callable[[Occasion], str]


class EventMaker:
    """Makes the events of one source; ``event_id`` are the columns that identify an event."""

    def __init__(self, columns: Sequence[Column], event_id: Sequence[str] = ()) -> None:
        self._makers = {column.name: _maker_of(column, column.name in event_id) for column in columns}
        self._required = [column.name for column in columns if column.required]
        self._typed = [
            column.name for column in columns if (column.type or "string") not in ("string", "binary")
        ]

    def good(self, occasion: Occasion) -> str:
        """Returns an event that fits the columns."""
        return _object({name: make(occasion) for name, make in self._makers.items()})

    def bad(self, occasion: Occasion) -> str:
        """Returns an event with one fault: a value of another type, a missing one, or no object."""
        ways = [(name, WRONG) for name in self._typed] + [(name, "null") for name in self._required]
        if not ways:
            return "7"
        name, value = occasion.random.choice(ways)
        return _object({**{each: make(occasion) for each, make in self._makers.items()}, name: value})


def _object(fields: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{json.dumps(name)}: {value}" for name, value in fields.items()) + "}"


def _maker_of(column: Column, is_id: bool) -> Maker:
    kind = parse_type(column.type or "string")
    return _unique(kind) if is_id and _can_be_unique(kind) else _maker(kind, column.name.lower())


def _can_be_unique(kind: SqlType) -> bool:
    return kind.text in _BITS or kind.text == "string" or precision_and_scale(kind.text) is not None


def _unique(kind: SqlType) -> Maker:
    if kind.text == "string":
        return lambda occasion: f'"event-{occasion.number:x}"'
    digits = precision_and_scale(kind.text)
    above = 2 ** (_BITS[kind.text] - 1) if digits is None else 10 ** (digits[0] - digits[1])
    return lambda occasion: str(occasion.number % above)


def _maker(kind: SqlType, name: str) -> Maker:
    if kind.outer:
        return _nested(kind, name)
    if (digits := precision_and_scale(kind.text)) is not None:
        return _price(*digits)
    if kind.text in _BITS:
        return _whole(name, 2 ** (_BITS[kind.text] - 1) - 1)
    return _SIMPLE.get(kind.text) or _text(name)


def _nested(kind: SqlType, name: str) -> Maker:
    makers = {
        part: _maker(each, name if kind.outer != "struct" else part.lower()) for part, each in kind.parts
    }
    if kind.outer == "struct":
        return lambda occasion: _object({part: make(occasion) for part, make in makers.items()})
    if kind.outer == "map":
        return lambda occasion: "{" + f'"{name}": {makers["value"](occasion)}' + "}"
    element = makers["element"]
    return lambda occasion: f"[{', '.join(element(occasion) for _ in range(occasion.random.randint(1, 3)))}]"


def _price(precision: int, scale: int) -> Maker:
    """Returns a maker of values from 1 to 100, as far as there are digits."""
    most = 10**precision - 1
    least = min(10**scale, most // 10)
    most = min(100 * 10**scale - 1, most)

    def make(occasion: Occasion) -> str:
        return f"{Decimal(occasion.random.randint(least, most)).scaleb(-scale):f}"

    return make


def _whole(name: str, most: int) -> Maker:
    least, greatest = next((span for word, span in _NUMBERS.items() if _is_said(word, name)), (1, _FEW))
    least, greatest = min(least, most), min(greatest, most)
    return lambda occasion: str(occasion.random.randint(least, greatest))


def _text(name: str) -> Maker:
    if "mail" in name:
        return lambda occasion: f'"user{occasion.random.randint(1, _FEW)}@example.com"'
    words = next((words for word, words in _WORDS.items() if _is_said(word, name)), ())
    texts = [json.dumps(word) for word in words] or [
        json.dumps(f"{name.removesuffix('_id')}-{n}") for n in range(1, _FEW + 1)
    ]
    return lambda occasion: occasion.random.choice(texts)


def _is_said(word: str, name: str) -> bool:
    return word in name.split("_")


_SIMPLE: Final[Mapping[str, Maker]] = {
    "boolean": lambda occasion: occasion.random.choice(("true", "false")),
    "float": lambda occasion: str(round(occasion.random.uniform(0, 100), 2)),
    "double": lambda occasion: str(round(occasion.random.uniform(0, 100), 2)),
    "timestamp": lambda occasion: f'"{occasion.moment.isoformat(timespec="milliseconds")}Z"',
    "timestamp_ntz": lambda occasion: f'"{occasion.moment.isoformat(timespec="milliseconds")}"',
    "date": lambda occasion: f'"{occasion.moment.date().isoformat()}"',
    "binary": lambda occasion: f'"{base64.b64encode(occasion.random.randbytes(6)).decode()}"',
}
