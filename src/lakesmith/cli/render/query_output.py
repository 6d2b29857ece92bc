"""A query's rows as text: a table for people; JSON and CSV with exact values.

In JSON and CSV, decimals keep their digits (a JSON string), timestamps and dates are ISO 8601 (a
``timestamp`` in UTC, with ``Z``; a ``timestamp_ntz`` without a zone), binary is base64, and NaN and
infinities are strings in JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from lakesmith.api.frames import csv_line, exact, exact_text
from lakesmith.api.words import count
from lakesmith.cli.render.text import columns_aligned, terminal_width
from lakesmith.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from lakesmith.spark.ask import QueryResult

FORMATS = ("table", "json", "csv")
"""The formats a result can be written in."""

TABLE_LIMIT = 100
"""The rows a table shows when no limit was given."""

_NARROWEST = 8
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_CONTROLS = dict.fromkeys((*range(32), 127), " ")


@dataclass(frozen=True, slots=True)
class Shown:
    """One of ``FORMATS``, and the most rows. ``limit`` None: all, but 100 in a table; 0: all."""

    output: str = "table"
    limit: int | None = None

    @property
    def most(self) -> int | None:
        """The most rows to show; None: all."""
        if self.limit is None:
            return TABLE_LIMIT if self.output == "table" else None
        return self.limit or None

    @property
    def computed(self) -> int | None:
        """How many to compute: one row more than is shown tells whether there are more."""
        return None if self.most is None else self.most + 1

    def require_known(self) -> None:
        """Raises UsageError LS242 for a format that there is not."""
        if self.output not in FORMATS:
            hint = did_you_mean(self.output, FORMATS)
            what, expected = f"there is no format {self.output}", ", ".join(FORMATS)
            raise UsageError.of("LS242", what, None, expected, hint=hint)


class Columns(Protocol):
    """The columns of rows, and their Spark SQL types."""

    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def types(self) -> tuple[str, ...]: ...


def write_result(result: QueryResult, output: str, most: int | None, out: TextIO) -> None:
    """Writes at most ``most`` rows (None: all) in one of ``FORMATS``."""
    rows = islice(result.rows, most)
    if output == "json":
        _write_json(result, rows, out)
    elif output == "csv":
        _write_csv(result, rows, out)
    else:
        shown = list(rows)
        write_rows(result, shown, output, out, next(iter(result.rows), None) is not None)


def write_rows(
    columns: Columns, rows: Sequence[Sequence[Any]], output: str, out: TextIO, is_cut: bool
) -> None:
    """Writes rows as CSV or as a table; ``is_cut``: there are more."""
    if output == "csv":
        _write_csv(columns, rows, out)
        return
    _write_table(columns, rows, out)
    if is_cut:
        print(f"({count(len(rows), 'row')} shown, there are more: --limit 0 shows all)", file=out)


def _write_json(result: Columns, rows: Any, out: TextIO) -> None:
    """An array of objects, a row a line."""
    start = "["
    for row in rows:
        text = json.dumps(dict(zip(result.columns, map(exact, row), strict=True)), ensure_ascii=False)
        out.write(f"{start}\n{text}")
        start = ","
    out.write("[]\n" if start == "[" else "\n]\n")


def _write_csv(result: Columns, rows: Any, out: TextIO) -> None:
    out.write(csv_line(result.columns))
    out.writelines(map(csv_line, rows))


def _write_table(result: Columns, rows: Sequence[Sequence[Any]], out: TextIO) -> None:
    cells = [tuple(map(_shown, row)) for row in rows]
    right = frozenset(n for n, kind in enumerate(result.types) if kind.startswith(_NUMBERS))
    table = _narrowed([tuple(name.translate(_CONTROLS) for name in result.columns), *cells])
    widths = [max(len(row[number]) for row in table) for number in range(len(result.columns))]
    lines = columns_aligned([table[0], tuple("-" * width for width in widths), *table[1:]], right)
    print("\n".join(lines), file=out)
    if not rows:
        print("(no rows)", file=out)


def _shown(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ").removesuffix("+00:00")
    return exact_text(value).translate(_CONTROLS)


def _narrowed(table: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Cuts the widest columns until a row fits the terminal. Elsewhere nothing is cut."""
    width = terminal_width()
    widths = [max(len(row[number]) for row in table) for number in range(len(table[0]))]
    while width and sum(widths) + 2 * (len(widths) - 1) > width and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return [tuple(_cut(cell, most) for cell, most in zip(row, widths, strict=True)) for row in table]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
