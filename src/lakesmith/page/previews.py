"""What actions of the page would do, in words, with the heads of the tables that this holds for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lakesmith.errors import UsageError, count
from lakesmith.execute.maintenance import NotThere, Unknown
from lakesmith.execute.opened import Opened
from lakesmith.execute.rollback import known_name, own_states, to_be_tagged
from lakesmith.journal.acting import Action, acting
from lakesmith.journal.lines import Journal
from lakesmith.page.overview import times
from lakesmith.plan.maintenance import Care
from lakesmith.plan.steps import Refused, TableStep, UpToDate, Waiting
from lakesmith.project.definitions import TableName
from lakesmith.serve.orders import Orders
from lakesmith.serve.state import is_alive, read_state

_WAIT_SECONDS: Final = 2.0
"""How long a batch is waited for before a rollback is prepared, which looks at the lake under its lock."""
Given = Mapping[str, str]
"""The parameters of an action, as the address or the form has them."""
Heads = Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Preview:
    """What an action would do.

    Attributes:
        action: its name in addresses.
        title: what it is called: ``Run silver.customers``.
        table: the table that it is about; empty for all.
        lines: what would happen.
        heads: the snapshots of the tables concerned; None: not built. Orders to ``up`` are for any.
        command: what does the same in a terminal; empty: nothing.
        task: what the process gets that does it; None: it is an order to ``up``.
        is_needless: whether there is nothing to do.
    """

    action: str
    title: str
    table: str
    lines: tuple[str, ...]
    heads: Heads = field(default_factory=dict)
    command: str = ""
    task: Mapping[str, Any] | None = None
    is_needless: bool = False


def preview_of(lake: Any, action: str, given: Given) -> Preview:
    """Returns what an action would do now; ``lake`` is a ``Lakehouse``. Raises LakesmithError."""
    opened: Opened = lake.access.opened()
    name = opened.one_of_ours(given["table"]) if given.get("table") else None
    if name is None and action not in ("run", "tag"):
        raise UsageError.of("LS201", "no table is named", None, "one table")
    return PREVIEWS[action](lake, opened, name, given)


def _heads(opened: Opened, names: Iterable[TableName]) -> dict[str, int | None]:
    with opened.lake.one_look(list(names)):
        states = {str(name): opened.lake.catalog.table(name.layer, name.name) for name in names}
    return {name: state.head_id if state else None for name, state in states.items()}


SCOPES: Final = {"": "{}", "up": "+{}", "down": "{}+"}
"""Which tables a run of one table has: it alone, with what it depends on, with what depends on it."""


def _run(lake: Any, opened: Opened, name: TableName | None, given: Given) -> Preview:
    scope = given.get("with", "")
    select = (SCOPES.get(scope, "{}").format(name),) if name else ()
    decisions = [each.decision for each in lake.plan(*select).tables]
    lines = [line for each in decisions if (line := _decided(each))]
    current = sum(isinstance(each, UpToDate) for each in decisions)
    if current:
        lines.append(f"{count(current, 'table')} {'is' if current == 1 else 'are'} up to date")
    return Preview(
        "run",
        f"Run {select[0] if select else 'the lake'}",
        str(name or ""),
        tuple(lines),
        _heads(opened, [each.name for each in decisions]),
        " ".join(("lakesmith run", *select)),
        {"select": list(select)},
        current == len(decisions),
    )


def _decided(decision: Any) -> str:
    match decision:
        case TableStep(loses=loses) if loses:
            return f"{decision.name} waits for approval, and is left as it is: {'; '.join(loses)}"
        case TableStep():
            return f"{decision.name} is refreshed ({decision.strategy.value}): {decision.reason}"
        case Waiting(_, upstream):
            return f"{decision.name} follows {', '.join(map(str, upstream))}"
        case Refused(_, problem):
            return f"{decision.name} is refused: {problem.what}"
    return ""


def _retry(lake: Any, opened: Opened, name: TableName | None, given: Given) -> Preview:
    up = read_state(opened.project.state_dir)
    if up is None or not is_alive(up):
        return _run(lake, opened, name, given)
    table, key = up.tables.get(str(name)), str(name)
    failures = table.failures if table is not None else 0
    lines = [f"{key} has not failed in lakesmith up since its last batch"]
    if failures:
        lines = [f"lakesmith up tries {key} at once, which failed {times(failures)}"]
    if table is not None and table.next_try:
        lines.append(f"without this, it is tried at {table.next_try[:19].replace('T', ' ')} UTC")
    return Preview("retry", f"Try {key} again", key, tuple(lines), is_needless=not failures)


def _maintain(lake: Any, opened: Opened, name: TableName | None, _given: Given) -> Preview:
    lines, needed = list[str](), False
    for each in lake.plan_maintenance(str(name)).tables:
        match each:
            case Care(todo=todo):
                needed = needed or bool(todo)
                lines += [f"{task.value}: {why}" for task, why in todo.items()]
                lines += [f"no {task.value}: {why}" for task, why in each.left.items()]
            case NotThere(why=why):
                lines.append(why)
            case Unknown(problem=problem):
                lines.append(problem.what)
    command = f"lakesmith maintain {name}"
    heads = _heads(opened, [name] if name else [])
    return Preview("maintain", f"Maintain {name}", str(name), tuple(lines), heads, command, {}, not needed)


def _replay(lake: Any, opened: Opened, name: TableName | None, _given: Given) -> Preview:
    found = [each for each in lake.quarantine().tables.items() if each[0] == name]
    rows = found[0][1].rows if found else 0
    is_sourced = name is not None and opened.graph.node(name).definition.is_sourced
    how = (
        "they are validated by the present definition: good ones go into the table, once"
        if is_sourced
        else "the table is recomputed from its inputs, as a derived table's bad rows are"
    )
    reasons = [
        f"{count(number, 'row')}: {reason}" for reason, number in (found[0][1].reasons[:5] if found else ())
    ]
    return Preview(
        "replay",
        f"Replay the bad rows of {name}",
        str(name),
        (f"{count(rows, 'row')} in quarantine: {how}", *reasons) if rows else ("nothing is in quarantine",),
        _heads(opened, [name] if name else []),
        f"lakesmith quarantine replay {name}",
        {},
        not rows,
    )


def _tag(_lake: Any, opened: Opened, _name: TableName | None, given: Given) -> Preview:
    tag = known_name(given.get("name", "").strip())
    states = own_states(opened.lake)
    to_be_tagged(tag, states, replace=False)
    heads = {str(name): state.head_id for name, state in states.items()}
    lines = (
        f"{count(len(heads), 'table')} get the tag {tag} at their present snapshots",
        "the snapshots stay as long as the tag does: queries, rollbacks and this page can go back to it",
    )
    command = f"lakesmith tag {tag}"
    return Preview("tag", f"Tag the lake as {tag}", "", lines, heads, command, {"name": tag}, not heads)


def _roll_back(lake: Any, opened: Opened, name: TableName | None, given: Given) -> Preview:
    downstream, hold = given.get("downstream") == "1", given.get("hold") == "1"
    change = lake.rollback(
        str(name), given.get("to", ""), with_downstream=downstream, hold=hold, wait=_WAIT_SECONDS
    )
    options = f"{' --with-downstream' if downstream else ''}{' --hold' if hold else ''}"
    lines = [*change.preview.lines()]
    if hold:
        lines.append("it stays there until it is released")
    return Preview(
        "rollback",
        f"Set {name} back",
        str(name),
        tuple(lines),
        {str(table): head for table, head in change.heads.items()},
        f"lakesmith rollback {name} --to {given.get('to', '')}{options}",
        {"to": given.get("to", ""), "downstream": downstream, "hold": hold},
        change.preview.is_needless,
    )


def _release(lake: Any, opened: Opened, name: TableName | None, _given: Given) -> Preview:
    del lake
    lines = ("the next run refreshes it again, from where it was set back to",)
    heads = _heads(opened, [name] if name else [])
    return Preview("release", f"Release {name}", str(name), lines, heads, f"lakesmith release {name}", {})


def _pause(_lake: Any, opened: Opened, name: TableName | None, _given: Given) -> Preview:
    key = str(name)
    is_paused = key in Orders(opened.project.state_dir).paused()
    schedule = opened.graph.node(name).definition.schedule if name else None
    when = f"at its times ({schedule})" if schedule else "when something arrives"
    lines: Sequence[str] = (
        f"lakesmith up leaves {key} alone, {when}, until it is resumed",
        "tables made from it go on with what it has; lakesmith run refreshes it nevertheless",
    )
    if is_paused:
        lines = (f"{key} is paused already",)
    return Preview("pause", f"Pause {key}", key, tuple(lines), is_needless=is_paused)


def _resume(_lake: Any, opened: Opened, name: TableName | None, _given: Given) -> Preview:
    key = str(name)
    is_paused = key in Orders(opened.project.state_dir).paused()
    lines = ["lakesmith up refreshes it again; a time that has passed meanwhile is made up for at once"]
    if not is_paused:
        lines = [f"{key} is not paused"]
    return Preview("resume", f"Resume {key}", key, tuple(lines), is_needless=not is_paused)


PREVIEWS: Final[Mapping[str, Callable[[Any, Opened, TableName | None, Given], Preview]]] = {
    "run": _run,
    "retry": _retry,
    "maintain": _maintain,
    "replay": _replay,
    "tag": _tag,
    "rollback": _roll_back,
    "release": _release,
    "pause": _pause,
    "resume": _resume,
}


def order(opened: Opened, preview: Preview) -> list[str]:
    """Gives ``up`` the order of a preview, on record; returns what was done."""
    project, kind = opened.project, preview.action
    journal, text = Journal(project.state_dir, project.secrets), f"{kind} {preview.table} (on the page)"
    with acting(Action(journal, kind, text, [preview.table], lasting=True)):
        return list(_ordered(Orders(project.state_dir), kind, preview.table))


def _ordered(orders: Orders, kind: str, table: str) -> Iterator[str]:
    match kind:
        case "pause":
            orders.pause(table)
            yield f"{table} is paused"
        case "resume":
            orders.resume(table)
            yield f"{table} is refreshed again"
        case "retry":
            orders.try_again(table)
            yield f"lakesmith up tries {table} at once"
