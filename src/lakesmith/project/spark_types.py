"""Spark SQL types: parsed, composed, and in the one spelling that is the same in Spark and in Iceberg."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from lakesmith.errors import did_you_mean
from lakesmith.quoting import quoted_if_odd

_SIMPLE: Final = {
    "boolean": "boolean",
    "int": "int",
    "integer": "int",
    "bigint": "bigint",
    "long": "bigint",
    "float": "float",
    "real": "float",
    "double": "double",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ltz": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
}
_REPLACED: Final = {
    "tinyint": "int",
    "byte": "int",
    "smallint": "int",
    "short": "int",
    "varchar": "string",
    "char": "string",
    "character": "string",
    "text": "string",
}
_PARTS: Final = {"array": ("element",), "map": ("key", "value"), "struct": ()}
_OUTER: Final = re.compile(r"(array|map|struct)\s*<\s*", re.IGNORECASE)
_LEAF: Final = re.compile(r"[A-Za-z_][^<>(),:]*(\([^()]*\))?")
_PRINTED_NAME: Final = re.compile(r"(?:`((?:[^`]|``)+)`|([^`:,<>]+?))\s*:")
_WRITTEN_NAME: Final = re.compile(r"(?:`((?:[^`]|``)+)`|([A-Za-z_][A-Za-z0-9_]*))\s*:?")
_WORD: Final = re.compile(r"\w+|.", re.DOTALL)
_DECIMAL: Final = re.compile(r"\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
_KNOWN: Final = (*_SIMPLE, "decimal", *_PARTS)
MAX_PRECISION: Final = 38


class TypeProblem(ValueError):
    """A type that cannot be used. ``hint`` says what to write."""

    def __init__(self, what: str, hint: str | None = None) -> None:
        super().__init__(what)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class SqlType:
    """A Spark SQL type with its named parts. ``outer`` is struct, array or map, or empty for all others.

    The part of an array is called ``element``, those of a map ``key`` and ``value``. ``text`` is the type as
    written.
    """

    outer: str = ""
    parts: tuple[tuple[str, SqlType], ...] = ()
    text: str = field(default="", compare=False)

    @property
    def has_fields(self) -> bool:
        """Whether it contains a struct."""
        return self.outer == "struct" or any(part.has_fields for _, part in self.parts)

    @property
    def has_odd_keys(self) -> bool:
        """Whether it contains a map whose keys are not texts; JSON has no such maps."""
        is_odd = self.outer == "map" and self.parts[0][1].text != "string"
        return is_odd or any(part.has_odd_keys for _, part in self.parts)

    @property
    def is_typeless(self) -> bool:
        """Whether its only values are null and empty lists or maps. Only files have such columns."""
        if self.outer == "struct":
            return bool(self.parts) and all(part.is_typeless for _, part in self.parts)
        return self.parts[-1][1].is_typeless if self.outer else self.text == "void"

    def leaves(self) -> Iterator[SqlType]:
        """Returns the types without parts in it, at any depth; for a type without parts, itself."""
        if not self.outer:
            yield self
        for _, part in self.parts:
            yield from part.leaves()


def normal_type(text: str) -> str:
    """Returns the type in one spelling: lower case except for the names of struct fields, without spaces, and
    with names quoted where necessary.

    Raises TypeProblem if it is not a type, or not one that Iceberg has.

    Raises TypeProblem when it is not a type or one that Iceberg does not have.

    >>> normal_type("STRUCT<Id: Long, tags: array<string>, price: decimal(10, 2)>")
    'struct<Id:bigint,tags:array<string>,price:decimal(10,2)>'
    """
    return _normal(_Reader(text, _WRITTEN_NAME).whole(), text).text


def parse_type(text: str) -> SqlType:
    """Parses a type, even one that Iceberg does not have. Raises ValueError if it is not a type.

    >>> parse_type("struct<`a b`:array<int>>").parts[0][0]
    'a b'
    """
    try:
        return _Reader(text, _PRINTED_NAME).whole()
    except TypeProblem as error:
        raise ValueError(f"not a type of Spark SQL: {error}") from error


def composed(outer: str, parts: Sequence[tuple[str, SqlType]]) -> SqlType:
    """Returns a struct, array or map of these parts.

    >>> composed("struct", [("a b", parse_type("int"))]).text
    'struct<`a b`:int>'
    """
    is_struct = outer == "struct"
    texts = (f"{quoted_if_odd(name)}:{part.text}" if is_struct else part.text for name, part in parts)
    return SqlType(outer, tuple(parts), f"{outer}<{','.join(texts)}>")


def precision_and_scale(text: str) -> tuple[int, int] | None:
    """Returns (10, 2) for ``decimal(10,2)``; None for other types.

    >>> precision_and_scale("decimal(10, 2)")
    (10, 2)
    """
    digits = _DECIMAL.fullmatch(text, len("decimal")) if text.startswith("decimal") else None
    return (int(digits[1]), int(digits[2] or 0)) if digits else None


def _normal(kind: SqlType, whole: str) -> SqlType:
    if kind.outer == "struct" and not kind.parts:
        raise TypeProblem(f"{kind.text!r} has no field")
    if kind.outer:
        return composed(kind.outer, [(name, _normal(part, whole)) for name, part in kind.parts])
    return SqlType(text=_normal_leaf(kind.text, whole))


def _normal_leaf(text: str, whole: str) -> str:
    word = _WORD.match(text)[0]  # type: ignore[index]  # a type begins with a letter
    name, rest = word.lower(), text[len(word) :]
    digits = _DECIMAL.match(rest)
    if name in ("decimal", "dec", "numeric"):
        found = _decimal(int(digits[1]), int(digits[2] or 0)) if digits else "decimal(10,0)"
        rest = rest[digits.end() :] if digits else rest
    elif name in _PARTS:
        raise TypeProblem(f"'<' is missing in {whole!r}")
    elif name in _SIMPLE:
        found = _SIMPLE[name]
    else:
        raise _unknown(word)
    if after := _WORD.match(rest.strip()):
        raise TypeProblem(f"{after[0]!r} is not expected in {whole!r}")
    return found


def _decimal(precision: int, scale: int) -> str:
    if not 1 <= precision <= MAX_PRECISION or scale > precision:
        raise TypeProblem(f"decimal({precision},{scale}) is not possible", "decimal(p,s): s ≤ p ≤ 38")
    return f"decimal({precision},{scale})"


def _unknown(word: str) -> TypeProblem:
    if word.lower() in _REPLACED:
        return TypeProblem(f"Iceberg has no type {word.lower()}", f"write {_REPLACED[word.lower()]}")
    return TypeProblem(f"there is no type {word!r}", did_you_mean(word, _KNOWN))


class _Reader:
    """Parser of a type's text. ``name``: the name before the type of a struct's field."""

    def __init__(self, text: str, name: re.Pattern[str]) -> None:
        self._text, self._name, self._at = text, name, 0

    def whole(self) -> SqlType:
        """Returns the type of the whole text."""
        self._skip_blanks()
        found = self._type()
        if self._at < len(self._text):
            raise TypeProblem(f"{self._text[self._at :]!r} is not expected in {self._text!r}")
        return found

    def _type(self) -> SqlType:
        start = self._at
        outer = self._took(_OUTER)
        if outer is None:
            return SqlType(text=self._needed(_LEAF)[0].strip())
        kind = outer[1].lower()
        parts = self._fields() if kind == "struct" else self._unnamed(_PARTS[kind])
        self._need(">")
        return SqlType(kind, tuple(parts), self._text[start : self._at].strip())

    def _fields(self) -> list[tuple[str, SqlType]]:
        fields: list[tuple[str, SqlType]] = []
        while not self._text.startswith(">", self._at):
            if fields:
                self._need(",")
            name = self._needed(self._name)
            fields.append((name[1].replace("``", "`") if name[1] else name[2], self._type()))
        return fields

    def _unnamed(self, names: Sequence[str]) -> list[tuple[str, SqlType]]:
        parts: list[tuple[str, SqlType]] = []
        for name in names:
            if parts:
                self._need(",")
            parts.append((name, self._type()))
        return parts

    def _need(self, symbol: str) -> None:
        if not self._text.startswith(symbol, self._at):
            raise TypeProblem(f"{symbol!r} is missing in {self._text!r}")
        self._at += 1
        self._skip_blanks()

    def _needed(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = self._took(pattern)
        if found is None:
            rest = self._text[self._at :]
            raise TypeProblem(
                f"{rest!r} is not expected in {self._text!r}" if rest else f"{self._text!r} ends too early"
            )
        return found

    def _took(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._at)
        if found:
            self._at = found.end()
            self._skip_blanks()
        return found

    def _skip_blanks(self) -> None:
        self._at += len(self._text[self._at :]) - len(self._text[self._at :].lstrip())
