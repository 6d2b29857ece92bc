"""Spark SQL column types as a project writes them, brought to one spelling that is the same in Spark and in Iceberg."""

from __future__ import annotations

import re
from typing import Final

from lakesmith.project.nearest import did_you_mean
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
_TOKEN: Final = re.compile(r"\s*(?:([A-Za-z_][A-Za-z0-9_]*|`(?:[^`]|``)+`)|(\d+)|([<>(),:]))")
_KNOWN: Final = (*_SIMPLE, "decimal", "array", "map", "struct")
MAX_PRECISION: Final = 38


class TypeProblem(ValueError):
    """A type that cannot be used; ``hint`` says what to write."""

    def __init__(self, what: str, hint: str | None = None) -> None:
        super().__init__(what)
        self.hint = hint


def normal_type(text: str) -> str:
    """The type in one spelling, lower case but for the names of struct fields, without spaces; names are quoted where they
    have to be.

    Raises TypeProblem when it is no type or one that Iceberg does not have.

    >>> normal_type("STRUCT<Id: Long, tags: array<string>, price: decimal(10, 2)>")
    'struct<Id:bigint,tags:array<string>,price:decimal(10,2)>'
    """
    reader = _Reader(text)
    found = reader.type()
    reader.end()
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._cut(text)
        self._at = 0

    def type(self) -> str:
        """Reads one type."""
        word = self._word()
        name = word.lower()
        if name in _SIMPLE:
            return _SIMPLE[name]
        if name in {"decimal", "dec", "numeric"}:
            return self._decimal()
        if name == "array":
            return f"array<{self._bracketed(1)[0]}>"
        if name == "map":
            key, value = self._bracketed(2)
            return f"map<{key},{value}>"
        if name == "struct":
            return self._struct()
        raise self._unknown(word)

    def end(self) -> None:
        """Sees that nothing is left."""
        if self._at < len(self._tokens):
            raise TypeProblem(f"{self._tokens[self._at]!r} is not expected in {self._text!r}")

    def _decimal(self) -> str:
        if not self._took("("):
            return "decimal(10,0)"
        precision = self._number()
        scale = self._number() if self._took(",") else 0
        self._need(")")
        if not 1 <= precision <= MAX_PRECISION or scale > precision:
            raise TypeProblem(f"decimal({precision},{scale}) is not possible", "decimal(p,s): s ≤ p ≤ 38")
        return f"decimal({precision},{scale})"

    def _bracketed(self, count: int) -> list[str]:
        self._need("<")
        found = [self.type()]
        while len(found) < count:
            self._need(",")
            found.append(self.type())
        self._need(">")
        return found

    def _struct(self) -> str:
        self._need("<")
        fields = [self._field()]
        while self._took(","):
            fields.append(self._field())
        self._need(">")
        return f"struct<{','.join(fields)}>"

    def _field(self) -> str:
        name = self._word()
        self._took(":")
        plain = name[1:-1].replace("``", "`") if name[0] == "`" else name
        return f"{quoted_if_odd(plain)}:{self.type()}"

    def _unknown(self, word: str) -> TypeProblem:
        if word.lower() in _REPLACED:
            return TypeProblem(f"Iceberg has no type {word.lower()}", f"write {_REPLACED[word.lower()]}")
        return TypeProblem(f"there is no type {word!r}", did_you_mean(word, _KNOWN))

    def _word(self) -> str:
        token = self._next()
        if not (token[0].isalpha() or token[0] in "_`"):
            raise TypeProblem(f"{token!r} is not expected in {self._text!r}")
        return token

    def _number(self) -> int:
        token = self._next()
        if not token.isdigit():
            raise TypeProblem(f"{token!r} is no number in {self._text!r}")
        return int(token)

    def _need(self, symbol: str) -> None:
        if not self._took(symbol):
            raise TypeProblem(f"{symbol!r} is missing in {self._text!r}")

    def _took(self, symbol: str) -> bool:
        found = self._at < len(self._tokens) and self._tokens[self._at] == symbol
        self._at += found
        return found

    def _next(self) -> str:
        if self._at == len(self._tokens):
            raise TypeProblem(f"{self._text!r} ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    @staticmethod
    def _cut(text: str) -> list[str]:
        tokens, at, body = [], 0, text.rstrip()
        while at < len(body):
            found = _TOKEN.match(body, at)
            if found is None:
                raise TypeProblem(f"{body[at:]!r} is not expected in {text!r}")
            tokens.append(found.group().strip())
            at = found.end()
        return tokens
