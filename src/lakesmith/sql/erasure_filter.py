"""The filter of an erasure: columns and the values of the people to erase. Light to import."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from lakesmith.quoting import literal, quoted

_PYTHON, _JAVA = r"[^\W_]", r"[\p{L}\p{N}]"
"""A letter or a digit, as the regular expressions of each language have it."""
_FEWEST_DIGITS: Final = 4
"""Shorter numbers alone in a file's name identify nobody: such numbers count files."""


@dataclass(frozen=True, slots=True)
class ErasureFilter:
    """Rows in which the columns have one of the ``values`` each: of every column in order, as texts."""

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]

    def condition(self) -> str:
        """Returns SQL that is true for their rows; values are compared in the types of the columns."""
        return " OR ".join(f"({self._equal(each)})" for each in self.values)

    def _equal(self, values: tuple[str, ...]) -> str:
        pairs = zip(self.columns, values, strict=True)
        return " AND ".join(f"CAST({quoted(name)} AS STRING) = {literal(value)}" for name, value in pairs)

    def within(self, names: frozenset[str]) -> bool:
        """Whether a table with these columns (lower case) has them all."""
        return all(name.lower() in names for name in self.columns)

    def are_named_in(self, name: str, surely: bool = False) -> bool:
        """Whether the name of a file or folder, or a text, names one of these people.

        It does if it has an address (a value with ``@``), or all values of a person, with no letter or digit
        beside them. A number must be the value of a folder named like its column (``customer=1002``), or have
        four digits (not with ``surely``).
        """
        persons = self._patterns(_PYTHON, surely)
        return any(all(re.search(each, name) for each in person) for person in persons)

    def named_in(self, column: str) -> str:
        """Returns SQL that is true if the file name in ``column`` names one of them, as ``are_named_in``."""
        persons = [
            " AND ".join(f"{column} RLIKE {literal(pattern)}" for pattern in person)
            for person in self._patterns(_JAVA)
        ]
        return f"coalesce({' OR '.join(f'({each})' for each in persons)}, false)"

    def _patterns(self, character: str, surely: bool = False) -> list[list[str]]:
        """Returns regular expressions by person, all of which must match."""
        found = []
        for values in self.values:
            pairs = list(zip(self.columns, values, strict=True))
            found += [[_pattern(*pair, character, surely)] for pair in pairs if "@" in pair[1]]
            found.append([_pattern(*pair, character, surely) for pair in pairs])
        return found


def _pattern(column: str, value: str, character: str, surely: bool) -> str:
    alone = f"(?<!{character})(?:{'|'.join(map(regex_of, _spelt(value)))})(?!{character})"
    if not re.fullmatch(r"[+-]?[\d.]+", value):
        return f"(?i){alone}"
    in_folder = rf"(?<![\w-])(?:{_folders(column)})=0*{regex_of(value)}(?!{character})"
    # The year of a date is nobody's number, nor is the value of another column's folder.
    if surely or len(value) < _FEWEST_DIGITS:
        return f"(?i){in_folder}"
    return rf"(?i)(?:{in_folder}|(?<!=){alone}(?!-\d\d))"


def _folders(column: str) -> str:
    """Returns the names of folders for a column's values: its name, or a part of it."""
    name = column.lower()
    parts = {name, name.replace("_", ""), *(part for part in name.split("_") if part)}
    return "|".join(map(regex_of, sorted(parts)))


def _spelt(value: str) -> list[str]:
    """Returns a value as it is written in names: plain, and escaped as in folders and URLs."""
    return list(dict.fromkeys((value, quote(value, safe=""), quote(value, safe="@"))))


def regex_of(text: str) -> str:
    """A regular expression for just this text, of Python's as of Java's."""
    return re.sub(r"([\\.^$|?*+()\[\]{}\-])", r"\\\1", text)
