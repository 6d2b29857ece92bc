"""A plan for people: a table with what each step reads and replaces, and a closing line with the sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lakesmith.api.words import count, size
from lakesmith.cli.render.text import columns_aligned, terminal_width
from lakesmith.execute.forecast import Forecast
from lakesmith.plan.changes import ChangeCost
from lakesmith.plan.cost import UNKNOWN, Amount, Cost
from lakesmith.plan.outlook import is_rebuilt
from lakesmith.plan.steps import Refused, TableStep, UpToDate, Waiting

_HEADER = ("table", "how", "reads", "", "replaces", "", "why")
_AMOUNTS = (2, 3, 4, 5)
_NOTHING = ("", "")


def plan_lines(plan: Sequence[Forecast]) -> list[str]:
    """The plan as lines: what would be done to each table, its cost and why; notes, problems, sums."""
    notes = [
        f"  note: {item.decision.name}: {note}"
        for item in plan
        if isinstance(item.decision, TableStep | UpToDate)
        for note in item.decision.notes
    ]
    notes += [f"  note: {item.decision.name}: {note}" for item in plan for note in _later(item)]
    notes += [f"  note: {item.decision.name}: {note}" for item in plan for note in item.not_read]
    notes += [
        f"  note: {item.decision.name}: {item.decision.table.gate_in_words}"
        for item in plan
        if isinstance(item.decision, TableStep) and item.decision.table.gates
    ]
    problems = [
        f"  {line}"
        for item in plan
        if isinstance(item.decision, Refused)
        for line in item.decision.problem.lines()
    ]
    return [*_tables(plan), *notes, *problems, *_closing(plan, bool(problems))]


def _later(item: Forecast) -> Iterator[str]:
    """The changes of a table that waits for its inputs; other tables have them in their decisions."""
    if not isinstance(item.decision, Waiting):
        return
    for change in item.changes:
        if change.loses:
            yield f"{'; '.join(change.loses)}: it waits for lakesmith run --approve {item.decision.name}"
        elif change.cost is not ChangeCost.REBUILD:
            yield f"with its next batch, {change.what}"


def _tables(plan: Sequence[Forecast]) -> list[str]:
    """The tables in columns without empty ones; as paragraphs on a narrow terminal."""
    rows = [_row(item) for item in plan]
    kept = [at for at in range(len(_HEADER)) if at not in _AMOUNTS or any(row[at] for row in rows)]
    right = frozenset(at for at, column in enumerate(kept) if column in _AMOUNTS)
    header = [_HEADER] if right else []
    lines = columns_aligned([tuple(row[at] for at in kept) for row in [*header, *rows]], right)
    width = terminal_width()
    return _in_words(rows) if width and max(map(len, lines), default=0) > width else lines


def _in_words(rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = []
    for name, how, *amounts, why in rows:
        lines.append(f"{name}: {how}, {why}")
        parts = (("reads", amounts[:2]), ("replaces", amounts[2:]))
        shown = [f"{verb} {', '.join(filter(None, pair))}" for verb, pair in parts if any(pair)]
        lines += [f"  {'; '.join(shown)}"] if shown else []
    return lines


def _row(item: Forecast) -> tuple[str, ...]:
    decision, outlook = item.decision, item.outlook
    match decision:
        case TableStep():
            cost = item.cost or Cost()
            how = f"{decision.strategy.label} (to approve)" if decision.loses else decision.strategy.label
            return (str(decision.name), how, *_reads(cost), *_amount(cost.replaces), decision.reason)
        case Waiting(_, upstream) if outlook is None:
            why = f"there is no batch yet of {', '.join(map(str, upstream))}"
            return (str(decision.name), "waits", *_NOTHING, *_NOTHING, why)
        case Waiting() if outlook is not None:
            how = f"follows ({outlook.strategy.label})" if outlook.strategy else "follows"
            return (
                str(decision.name),
                how,
                *_about(outlook.reads),
                *_amount(outlook.replaces),
                outlook.reason,
            )
        case Refused(_, problem):
            return (str(decision.name), "refused", *_NOTHING, *_NOTHING, problem.what)
        case UpToDate(_, reason, held=True):
            return (str(decision.name), "held", *_NOTHING, *_NOTHING, reason)
    if item.export:
        return (str(decision.name), "export", *_NOTHING, *_NOTHING, item.export)
    reason = decision.reason if isinstance(decision, UpToDate) else ""
    return (str(decision.name), "up to date", *_NOTHING, *_NOTHING, reason)


def _reads(cost: Cost) -> tuple[str, str]:
    if cost.files:
        return count(cost.files, "file"), _bytes(cost.reads.bytes)
    if cost.at_most is None:
        return _amount(cost.reads)
    least, most = _amount(cost.reads), _amount(cost.at_most)
    if cost.reads.rows is None:
        return f"up to {most[0]}", f"up to {most[1]}"
    return f"{cost.reads.rows:,} to {most[0]}", f"{least[1]} to {most[1]}"


def _about(amount: Amount | None) -> tuple[str, str]:
    rows, volume = _amount(amount)
    return f"about {rows}" if rows else rows, volume


def _amount(amount: Amount | None) -> tuple[str, str]:
    if amount is None:
        return _NOTHING
    return "? rows" if amount.rows is None else count(amount.rows, "row"), _bytes(amount.bytes)


def _bytes(number: int | None) -> str:
    return "?" if number is None else size(number)


def _closing(plan: Sequence[Forecast], refused: bool) -> list[str]:
    busy = [item for item in plan if item.cost or item.outlook]
    exports = sum(bool(item.export) and not (item.cost or item.outlook) for item in plan)
    to_write = [f"{count(exports, 'export')} to write"] if exports else []
    if not busy and exports:
        return ["", *to_write]
    if not busy:
        waits = any(isinstance(item.decision, Waiting) for item in plan)
        if any(item.not_read for item in plan) and not refused:
            return ["nothing else to do: what there is to read in PostgreSQL, a run finds out"]
        return [] if refused else ["nothing to do yet" if waits else "nothing to do"]
    rebuilt = sum(_is_rebuilt(item) for item in busy)
    parts = [f"{count(len(busy), 'table')} to refresh: {_sums(busy)} to read"]
    parts += [f"{rebuilt} {'is' if rebuilt == 1 else 'are'} rebuilt"] if rebuilt else []
    return ["", "; ".join([*parts, *to_write])]


def _is_rebuilt(item: Forecast) -> bool:
    if item.outlook is not None:
        return item.outlook.rebuilds
    return isinstance(item.decision, TableStep) and is_rebuilt(item.decision)


def _sums(busy: Sequence[Forecast]) -> str:
    """All that is read: files, rows, bytes, with ``at least``, ``up to`` or ``about`` where not exact."""
    files = sum(item.cost.files for item in busy if item.cost)
    read = [_most(item) for item in busy]
    rows = [
        amount.rows for item, amount in zip(busy, read, strict=True) if not (item.cost and item.cost.files)
    ]
    counted = [count(sum(number or 0 for number in rows), "row")] if any(rows) or not files else []
    volume = size(sum(amount.bytes or 0 for amount in read))
    amounts = _limit(busy, rows, read) + ", ".join([*counted, volume])
    return f"{count(files, 'file')}, {amounts}" if files else amounts


def _most(item: Forecast) -> Amount:
    if item.cost is not None:
        return item.cost.at_most or item.cost.reads
    return (item.outlook.reads if item.outlook else None) or UNKNOWN


def _limit(busy: Sequence[Forecast], rows: Sequence[int | None], read: Sequence[Amount]) -> str:
    if None in rows or any(amount.bytes is None for amount in read):
        return "at least "
    if any(item.outlook for item in busy):
        return "about "
    return "up to " if any(item.cost.at_most for item in busy if item.cost) else ""
