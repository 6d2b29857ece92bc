"""The journal, for readers: its lines put together to actions, kept up to date as the files grow."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from lakesmith.execute.findings import Finding, Kind
from lakesmith.execute.status import Standing, TableStatus
from lakesmith.journal.lines import AUDIT, JOURNAL, OLDER, Line, Process, Tail

_MOST_ACTIONS: Final = 4_000
"""The newest actions that are kept in memory."""
_MOST_SAID: Final = 50
_SILENT_MS: Final = 600_000
"""An action of another machine that said nothing for so long is not known to go on."""


@dataclass(slots=True)
class TableDone:
    """What an action did to a table. ``state``: step, batch, failed, held; ``phase``: what it does now."""

    state: str = "step"
    strategy: str = ""
    phase: str = ""
    since_ms: int = 0
    seconds: float = 0.0
    batch: int | None = None
    rows: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    code: str = ""
    what: str = ""
    exported: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ActionDone:
    """An action: who did what, when, how it ended. ``outcome``: running, done, failed, interrupted, killed;
    unknown for one of another machine that fell silent. ``is_lasting``: it is kept in the audit file."""

    id: str
    kind: str
    text: str
    process: Process
    begun_ms: int
    is_lasting: bool = False
    ended_ms: int | None = None
    newest_ms: int = 0
    outcome: str = "running"
    code: str = ""
    what: str = ""
    phase: str = ""
    progress: str = ""
    named: tuple[str, ...] = ()
    tables: dict[str, TableDone] = field(default_factory=dict)
    said: list[tuple[int, str]] = field(default_factory=list)

    @property
    def seconds(self) -> float | None:
        """How long it took; None while it runs, or if that is not known."""
        return None if self.ended_ms is None else (self.ended_ms - self.begun_ms) / 1000

    @property
    def about(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.named, *self.tables)))

    @property
    def running(self) -> dict[str, TableDone]:
        """The tables that it works on now."""
        return {name: each for name, each in self.tables.items() if each.state == "step"}


@dataclass(frozen=True, slots=True)
class Doing:
    """What is being done to a table now; ``table`` "": before there is one."""

    table: str
    text: str
    kind: str
    since_ms: int


def with_failures(found: Sequence[TableStatus], state_dir: Path) -> tuple[TableStatus, ...]:
    """Returns statuses with findings of tables that are behind, because their last batch failed."""
    if not any(each.standing is Standing.BEHIND for each in found):
        return tuple(found)
    failed = _failures(state_dir)
    return tuple(
        replace(each, findings=(failed[str(each.name)], *each.findings))
        if each.standing is Standing.BEHIND and str(each.name) in failed
        else each
        for each in found
    )


def _failures(state_dir: Path) -> dict[str, Finding]:
    """Returns the failures of tables that no batch was published of since, by their names."""
    failed: dict[str, Finding] = {}
    for name in (OLDER, JOURNAL):
        with suppress(OSError):
            for text in (state_dir / name).read_bytes().splitlines():
                if b'"do": "failed"' not in text and b'"do": "batch"' not in text:
                    continue
                with suppress(ValueError, KeyError, TypeError):
                    line = json.loads(text)
                    failed.pop(line["table"], None)
                    if line["do"] == "failed":
                        why = f"{line.get('code', '')} {line['what']}".strip()
                        hint = f"lakesmith run {line['table']}"
                        what = f"its last batch failed: {why}"
                        failed[line["table"]] = Finding(Kind.FAILED, what, line["table"], hint=hint)
    return failed


class Reader:
    """The journal of a project. ``revision`` counts lines, but for those about phases. Threads share it."""

    def __init__(self, state_dir: Path) -> None:
        self._dir = state_dir
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        # The audit file first: lines of the others are about actions that begin in it.
        self._tails = {name: Tail(self._dir / name) for name in (AUDIT, JOURNAL)}
        self._actions: dict[str, ActionDone] = {}
        self.revision = 0
        kept, _ = self._tails[AUDIT].new_lines()
        self._take(kept, is_lasting=True)
        for tail in (Tail(self._dir / OLDER), self._tails[JOURNAL]):
            self._take(tail.new_lines()[0])

    def look(self) -> Reader:
        with self._lock:
            found = {name: tail.new_lines() for name, tail in self._tails.items()}
            if any(is_other for _, is_other in found.values()):
                # Put aside, or shortened by an erasure.
                revision = self.revision
                self._forget()
                self.revision += revision
            else:
                for name, (lines, _) in found.items():
                    self._take(lines, is_lasting=name == AUDIT)
            self._check_running()
        return self

    def actions(self) -> list[ActionDone]:
        """Returns the actions, newest first."""
        with self._lock:
            return sorted(self._actions.values(), key=lambda each: each.begun_ms)[::-1]

    def doing(self) -> tuple[Doing, ...]:
        with self._lock:
            return tuple(_doing(self._actions.values()))

    def _take(self, lines: Iterable[Line], is_lasting: bool = False) -> None:
        for line in lines:
            try:
                self._one(line, is_lasting)
            except (KeyError, TypeError, ValueError, AttributeError):
                # Of another version of lakesmith.
                continue
            self.revision += line["do"] not in ("phase", "progress")
        if len(self._actions) > 2 * _MOST_ACTIONS:
            newest = sorted(self._actions.values(), key=lambda each: (each.is_lasting, each.begun_ms))
            self._actions = {each.id: each for each in newest[-_MOST_ACTIONS:]}

    def _one(self, line: Line, is_lasting: bool) -> None:
        if line["do"] == "begun":
            process = Process(str(line["by"]), str(line["host"]), int(line["pid"]), str(line["born"]))
            self._actions.setdefault(
                line["id"],
                ActionDone(
                    line["id"],
                    str(line["kind"]),
                    str(line["text"]),
                    process,
                    line["at"],
                    is_lasting,
                    newest_ms=line["at"],
                    named=tuple(map(str, line.get("tables", ()))),
                ),
            )
        elif (action := self._actions.get(line["id"])) is not None:
            action.newest_ms = line["at"]
            _DO[line["do"]](action, line)

    def _check_running(self) -> None:
        now = time.time_ns() // 1_000_000
        for each in self._actions.values():
            if each.outcome == "running" and (alive := each.process.is_alive) is not True:
                is_silent = alive is None and now - each.newest_ms > _SILENT_MS
                if alive is False or is_silent:
                    each.outcome = "killed" if alive is False else "unknown"
                    self.revision += 1


def _doing(actions: Iterable[ActionDone]) -> Iterable[Doing]:
    for action in actions:
        if action.outcome != "running":
            continue
        if action.phase:
            yield Doing("", action.phase, action.kind, action.begun_ms)
        far = f", {action.progress}" if action.progress and len(action.running) == 1 else ""
        for name, table in action.running.items():
            text = f"{table.phase or table.strategy or 'at work'}{far}"
            yield Doing(name, text, action.kind, table.since_ms)


def _ended(action: ActionDone, line: Line) -> None:
    action.ended_ms, action.outcome, action.phase = line["at"], str(line["outcome"]), ""
    action.code, action.what = str(line.get("code") or ""), str(line.get("what") or "")
    for each in action.running.values():
        each.state = "stopped"


def _progress(action: ActionDone, line: Line) -> None:
    action.progress = str(line["text"])


def _said(action: ActionDone, line: Line) -> None:
    action.said = [*action.said, (line["at"], str(line["text"]))][-_MOST_SAID:]


def _phase(action: ActionDone, line: Line) -> None:
    if not line["table"]:
        action.phase = str(line["phase"])
    elif (table := action.tables.get(line["table"])) is None or table.state != "step":
        # Maintenance of a table has no step.
        action.tables[line["table"]] = TableDone(phase=str(line["phase"]), since_ms=line["at"])
    else:
        table.phase = str(line["phase"])


def _step(action: ActionDone, line: Line) -> None:
    strategy = str(line.get("strategy") or "")
    action.phase = action.progress = ""
    action.tables[line["table"]] = TableDone(strategy=strategy, since_ms=line["at"])


def _outcome(action: ActionDone, line: Line) -> None:
    table = action.tables.setdefault(line["table"], TableDone(since_ms=line["at"]))
    table.state, table.phase, action.progress = str(line["do"]), "", ""
    table.seconds, table.batch = float(line.get("seconds") or 0), line.get("batch")
    table.rows, table.counts = str(line.get("rows") or ""), dict(line.get("counts") or {})
    table.code = str(line.get("code") or "")
    table.what = str(line.get("what") or ", ".join(map(str, line.get("because") or ())))
    table.notes += map(str, line.get("notes") or ())


def _redone(action: ActionDone, line: Line) -> None:
    table = action.tables.setdefault(line["table"], TableDone(since_ms=line["at"]))
    table.notes.append(f"done again: {line.get('why') or 'it was changed meanwhile'}")


def _exported(action: ActionDone, line: Line) -> None:
    table = action.tables.setdefault(line["table"], TableDone(since_ms=line["at"]))
    if table.state == "step" and not table.strategy:
        table.state = "exported"
    table.exported = str(line.get("what") or "exported")


_DO: Final[Mapping[str, Callable[[ActionDone, Any], None]]] = {
    "ended": _ended,
    "said": _said,
    "phase": _phase,
    "progress": _progress,
    "step": _step,
    "batch": _outcome,
    "failed": _outcome,
    "held": _outcome,
    "redone": _redone,
    "exported": _exported,
    "export_failed": _exported,
}
