"""What is expected of a batch besides rows: numbers of its balance, its strategy, the rows put aside."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from lakesmith.stories.model import BadRow, Expectation
from lakesmith.stories.values import shown

if TYPE_CHECKING:
    from lakesmith.catalog.record import Record

NONE = "none"
"""The strategy of a batch that had nothing to do."""


class FoundBadRow(Protocol):
    """A row in quarantine: its reasons, and the JSON of a parsed row or the text of another."""

    @property
    def reasons(self) -> tuple[str, ...]: ...
    @property
    def raw(self) -> str | None: ...
    @property
    def row(self) -> str | None: ...


def wrong_numbers(each: Expectation, record: Record | None) -> Iterator[tuple[str, str]]:
    """Yields what of the strategy and the balance is not as expected, and what was found. ``record``: that of
    the batch; None: the table was up to date."""
    kind = NONE if record is None else record.kind
    if each.strategy is not None and each.strategy != kind:
        yield "its strategy", f"{kind}, expected {each.strategy}"
    balance = {} if record is None else asdict(record.account)
    for name, number in each.balance:
        found = balance.get(name, 0) if record is None or name in balance else None
        if found is None:
            yield "its row balance", f"it has no {name}: {', '.join(balance)}"
        elif found != number:
            yield "its row balance", f"{name} is {found}, expected {number}"


def wrong_bad_rows(expected: Sequence[BadRow] | int, found: Sequence[FoundBadRow]) -> Iterator[str]:
    """Yields how the rows in quarantine differ from those that are expected."""
    if isinstance(expected, int):
        if len(found) != expected:
            yield f"{len(found)} in quarantine, expected {expected}"
            yield from (f"+ {_described(row)}" for row in found[:20])
        return
    left = list(found)
    for each in expected:
        match = next((row for row in left if _is_meant(each, row)), None)
        if match is None:
            values = ", ".join(f"{name} {shown(value)}" for name, value in each.values)
            yield f"- missing: {', '.join(filter(None, (each.reason, values))) or 'a bad row'}"
        else:
            left.remove(match)
    yield from (f"+ unexpected: {_described(row)}" for row in left[:20])


def _is_meant(each: BadRow, row: FoundBadRow) -> bool:
    values = _values(row)
    return (
        each.reason is None or any(each.reason.lower() in reason.lower() for reason in row.reasons)
    ) and all(
        name in values and (values[name] == value or str(values[name]) == str(value))
        for name, value in each.values
    )


def _values(row: FoundBadRow) -> dict[str, Any]:
    found = json.loads(row.row) if row.row else None
    return found if isinstance(found, dict) else {}


def _described(row: FoundBadRow) -> str:
    return f"{row.row or row.raw}: {'; '.join(row.reasons)}"
