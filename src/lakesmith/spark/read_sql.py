"""Spark SQL text, safely: names and values quoted. Expressions are built as text because parsing one string in the JVM
costs one call, and a read of many columns and groups would make tens of thousands of them."""

from __future__ import annotations

from collections.abc import Iterable


def name(text: str) -> str:
    """A quoted identifier."""
    return "`" + text.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A string literal, whatever is in it."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\0", "\\u0000")
    return f"'{escaped}'"


def options(pairs: Iterable[tuple[str, str]]) -> str:
    """A map literal, as ``from_csv`` and ``from_json`` take it."""
    return "map(" + ", ".join(f"{literal(key)}, {literal(value)}" for key, value in pairs) + ")"


def any_of(conditions: Iterable[str]) -> str:
    """The conditions joined with OR; false when there are none."""
    return " OR ".join(f"({condition})" for condition in conditions) or "false"


def case(branches: Iterable[tuple[str, str]], otherwise: str = "NULL") -> str:
    """CASE WHEN condition THEN value ... END, or just ``otherwise`` without branches."""
    whens = " ".join(f"WHEN {condition} THEN {value}" for condition, value in branches)
    return f"CASE {whens} ELSE {otherwise} END" if whens else otherwise
