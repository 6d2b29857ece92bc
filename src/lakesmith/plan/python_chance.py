"""What the text of a Python query asks besides its inputs: a clock, chance, files, the environment.

Spark's plan of what the function returns has a constant in its place, the same for all rows of a batch and another in the next.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Final

_CLOCKS: Final = frozenset({"now", "today", "utcnow"})
_CHANCE: Final = frozenset({"random"})
_MODULES: Final = frozenset({"random", "secrets", "time", "uuid"})
"""Modules whose functions give something else each time they are called."""

_OUTSIDE: Final = frozenset(
    {
        *("environ", "getenv", "open", "read_bytes", "read_text", "urlopen"),
        *("read_csv", "read_excel", "read_feather", "read_json", "read_orc", "read_parquet", "read_table"),
    }
)
"""What reads files, addresses and the environment."""

_DIFFERS: Final = "differs from run to run"
_NO_TABLE: Final = "reads what is no table"

_CLOCK_LITERAL: Final = re.compile(
    r"\b(?:date|timestamp(?:_ltz|_ntz)?)\s*'\s*(?P<word>now|today|yesterday|tomorrow)\b", re.IGNORECASE
)
"""A word in SQL that Spark's parser makes a moment of."""


def asked_besides(source: str) -> str | None:
    """The first thing that a function asks and that is none of its inputs, as a reason for people; None: nothing is seen.

    Names are judged wherever they stand, to be on the safe side.
    """
    tree = ast.parse(source)
    bound = dict(_bound(tree))
    for node in ast.walk(tree):
        for name, why in _asked(node, bound):
            return f"it uses {name} at line {getattr(node, 'lineno', 1)}, which {why}"
    return None


def _asked(node: ast.AST, bound: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Attribute(attr=name) if name in _CLOCKS | _CHANCE:
            yield name, _DIFFERS
        case ast.Attribute(attr=name) | ast.Name(id=name) if name in _OUTSIDE:
            yield name, _NO_TABLE
        case ast.Name(id=name) if name in bound:
            yield name, bound[name]
        case ast.Constant(value=str(text)) if found := _CLOCK_LITERAL.search(text):
            yield f"'{found['word']}'", _DIFFERS


def _bound(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The names that an import gives to such a module, or to what is in one, and what is to be said of them."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((each.asname or each.name, _DIFFERS) for each in names if each.name in _MODULES)
            case ast.ImportFrom(module=module, names=names) if module in _MODULES:
                yield from ((each.asname or each.name, _DIFFERS) for each in names)
            case ast.ImportFrom(names=names):
                yield from (
                    (each.asname, _NO_TABLE) for each in names if each.asname and each.name in _OUTSIDE
                )
