"""Answers the queries of one web page: ``python -m lakesmith.api.answering``.

The page's own process starts no JVM, and a query may hang, or need more memory than there is. So queries
are run in this process, which the page can end at any time: then the JVM that it borrowed or started drops
what it computes. Lines of JSON: the first on the standard input has the ``folder`` and the ``target``, others
are tasks.

    task                                       answers
    {"id", "sql", "as_of", "limit"}            {"id", "running"}, then {"id", "columns", "types", "rows", ...}
    {"id", "sql", "as_of", "limit", "file"}    {"id", "running"}, then {"id", "count", "is_cut", "seconds"}
    {"id", "trace"}                            {"id", "running"}, then {"id", "stops", "seconds", ...}
    {"cancel": ID}                             that of the task, which fails

An answer with ``problems`` is a failure. Without a task for a while, the process says ``ends``, and does so.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final, TextIO

from lakesmith.api.access import Host, unforeseen_in
from lakesmith.api.answering import lines_to_page
from lakesmith.api.frames import Rows, csv_line, exact, exact_text
from lakesmith.api.lakehouse import Lakehouse
from lakesmith.errors import LakesmithError, Problem

IDLE_SECONDS: Final = 180.0
CELL_CHARACTERS: Final = 1000
"""The longest value that is shown; of a longer one its beginning."""
RESULT_CHARACTERS: Final = 4_000_000
"""The longest result that is shown. A browser becomes slow beyond that."""
_END_SECONDS: Final = 5.0

Task = Mapping[str, Any]


class Answering:
    """Answers tasks one after the other; ``tell`` receives what is sent to the page."""

    def __init__(self, lake: Lakehouse, tell: Callable[[Mapping[str, Any]], None]) -> None:
        self._lake, self._tell = lake, tell
        self._running: tuple[str, threading.Event] | None = None

    def answer(self, task: Task) -> None:
        ended = threading.Event()
        self._running = task["id"], ended
        try:
            found = self._done(task)
        except LakesmithError as error:
            found = _problems(error.problems)
        except Exception as error:  # noqa: BLE001 - shown on the page, with its log
            found = _problems([unforeseen_in(self._lake.access, error)])
        finally:
            self._running = None
            ended.set()
        self._tell({"id": task["id"], **found})

    def cancel(self, task: str | None = None) -> None:
        """Ends a task (None: any), if it is running: what Spark computes for it is cancelled."""
        running, handle = self._running, self._lake.access.handle
        if running is None or task not in (None, running[0]) or handle is None:
            return
        from lakesmith.spark.open import keep_cancelling

        threading.Thread(target=keep_cancelling, args=(handle.cancel, running[1]), daemon=True).start()

    def _done(self, task: Task) -> dict[str, Any]:
        if "trace" in task:
            return self._traced(task)
        rows = self._lake.query(task["sql"], task["as_of"] or None)
        if (handle := self._lake.access.handle) is not None:
            # This session does nothing but such queries; landing files are read in others.
            handle.spark.conf.set("spark.sql.runSQLOnFiles", "false")
        self._tell({"id": task["id"], "running": True})
        begun = time.monotonic()
        found = _written(rows, task) if "file" in task else _shown(rows, task["limit"])
        return {**found, "seconds": time.monotonic() - begun}

    def _traced(self, task: Task) -> dict[str, Any]:
        given = dict(task["trace"])
        self._tell({"id": task["id"], "running": True})
        found = self._lake.trace(given.pop("table"), given.pop("event"), **given).to_dict()
        for stop in found["stops"]:
            rows = [row for each in stop["changes"] for row in (each["before"], each["after"]) if row]
            for row in [*rows, *stop["arrived"], *stop["current"]]:
                row.update({name: cell(value) for name, value in row.items()})
            for bad in stop["bad"]:
                bad["row"] = bad["row"][:CELL_CHARACTERS]
        return found


def _shown(rows: Rows, limit: int) -> dict[str, Any]:
    with rows.stream(limit + 1, longest=CELL_CHARACTERS) as result:
        shown, length = [], 0
        for row in islice(result.rows, limit):
            shown.append([cell(value) for value in row])
            texts = (each[0] if isinstance(each, list) else each for each in shown[-1])
            length += sum(len(each) for each in texts if isinstance(each, str))
            if length > RESULT_CHARACTERS:
                break
        is_cut = next(iter(result.rows), None) is not None
        return {"columns": result.columns, "types": result.types, "rows": shown, "is_cut": is_cut}


def cell(value: Any) -> Any:
    """Returns a value as it is shown: a number, true, false, null or a text; a list with the beginning of a
    text that is too long. What is nested is a text of JSON."""
    found = exact(value)
    if found is None or isinstance(found, bool | int | float):
        return found
    text = exact_text(value)
    # Half of a pair of UTF-16 is in no text that can be sent.
    plain = text[:CELL_CHARACTERS].encode("utf-8", "replace").decode()
    return plain if len(text) <= CELL_CHARACTERS else [plain]


def _written(rows: Rows, task: Task) -> dict[str, Any]:
    path, limit = Path(task["file"]), task["limit"]
    write = _write_parquet if path.suffix == ".parquet" else _write_csv
    number = write(rows, path, limit)
    return {"count": min(number, limit), "is_cut": number > limit}


def _write_csv(rows: Rows, path: Path, limit: int) -> int:
    """Writes at most ``limit`` rows. Returns how many there are; one more than ``limit``: more."""
    with rows.stream(limit + 1) as result, path.open("w", encoding="utf-8", errors="replace") as out:
        out.write(csv_line(result.columns))
        number = 0
        for number, row in enumerate(result.rows, 1):
            if number <= limit:
                out.write(csv_line(row))
        return number


def _write_parquet(rows: Rows, path: Path, limit: int) -> int:
    from pyarrow import parquet

    table = rows.arrow(limit + 1)
    named = table.rename_columns(list(_distinct(table.column_names)))
    parquet.write_table(named.slice(0, limit), path)
    return int(table.num_rows)


def _distinct(names: Sequence[str]) -> Iterator[str]:
    """Yields the names; of equal ones, which Parquet's readers do not tell apart, others with a number."""
    seen: set[str] = set()
    for name in names:
        free = (f"{name}_{number}" for number in range(2, len(names) + 2))
        found = name if name not in seen else next(each for each in free if each not in {*seen, *names})
        seen.add(found)
        yield found


def _problems(problems: Sequence[Problem]) -> dict[str, Any]:
    return {"problems": [each.as_dict() for each in problems]}


def _listen(lines: TextIO, tasks: SimpleQueue[Task | None], answering: Answering) -> None:
    """Takes tasks and cancellations until the page's process has gone; this one then follows it."""
    for line in lines:
        task = json.loads(line)
        if "cancel" in task:
            answering.cancel(task["cancel"])
        else:
            tasks.put(task)
    answering.cancel()
    tasks.put(None)
    time.sleep(_END_SECONDS)
    # Without the end of a session: whoever lent the JVM sees that this process died.
    os._exit(1)


def main() -> None:
    """Answers until the standard input ends, or nothing was asked for a while."""
    tell = lines_to_page()
    settings = json.loads(sys.stdin.readline())
    host = Host(reuses=True, keeps_warm="if declared")
    with Lakehouse(settings["folder"], settings["target"], host=host) as lake:
        tasks, answering = SimpleQueue[Task | None](), Answering(lake, tell)
        threading.Thread(target=_listen, args=(sys.stdin, tasks, answering), daemon=True).start()
        with suppress(Empty):
            while (task := tasks.get(timeout=IDLE_SECONDS)) is not None:
                answering.answer(task)
        # A task that the page gives it from now on is for the next process.
        with suppress(OSError):
            tell({"ends": True})


if __name__ == "__main__":
    main()
