"""``lakesmith maintain``: looks after the tables that need it, in pieces between which runs come through."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from lakesmith import limits
from lakesmith.cli.guard import INTERRUPTED
from lakesmith.cli.opening import open_project
from lakesmith.cli.options import HERE, JsonOption, ProjectOption, SelectArgument, TargetOption, command_app
from lakesmith.cli.render.maintain_text import done_as_dict, done_lines, left_lines, plan_as_dict, plan_lines
from lakesmith.cli.render.run_view import Output, stray_prints_to_stderr
from lakesmith.execute.engine import RunStopped
from lakesmith.execute.locking import Turns
from lakesmith.execute.maintenance import Maintained, NotMaintained, Orders, Unknown, Verdict, verdicts
from lakesmith.execute.opened import Opened
from lakesmith.plan.maintenance import Care

if TYPE_CHECKING:
    from rich.status import Status

    from lakesmith.spark.start.session import SessionHandle

app = command_app()


@app.command()
def maintain(
    select: SelectArgument = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what tables need, and why; do nothing. Starts no Spark.")
    ] = False,
    orphans: Annotated[
        bool, typer.Option("--orphans", help="List files that no snapshot has, too; remove none.")
    ] = False,
    remove_orphans: Annotated[
        bool, typer.Option("--remove-orphans", help="Remove files that no snapshot has, too.")
    ] = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``maintain_command`` takes them."""
    opened = open_project(project, target)
    orders = Orders(orphans, remove_orphans)
    found = verdicts(opened.lake, opened.names(tuple(select or ())), orders.looks_for_orphans)
    if dry_run:
        raise typer.Exit(show_plan(found, json))
    raise typer.Exit(maintain_command(opened, found, orders, json))


def show_plan(found: Sequence[Verdict], as_json: bool) -> int:
    """Prints what tables need; 1 when that cannot be told of one."""
    plan = {"tables": list(map(plan_as_dict, found))}
    print(json.dumps(plan, indent=2) if as_json else "\n".join(plan_lines(found)))
    return _code(found, ())


def maintain_command(opened: Opened, found: Sequence[Verdict], orders: Orders, as_json: bool) -> int:
    """Maintains the tables that need it, and prints what was done; 0, 1 when one failed, 130 when it was stopped."""
    done: list[Maintained | NotMaintained] = []
    with open_view(as_json) as view, stray_prints_to_stderr(as_json):
        stopped = not _maintained(opened, found, orders, view.told_to(done))
    if as_json:
        left = [plan_as_dict(each) for each in found if not (isinstance(each, Care) and each.todo)]
        said = {"maintained": list(map(done_as_dict, done)), "left": left, "stopped": stopped}
        print(json.dumps(said, indent=2))
    else:
        for line in left_lines(found):
            print(line)
        if stopped:
            print("stopped: what was done stays, and the next call goes on")
    return INTERRUPTED if stopped else _code(found, done)


def _code(found: Sequence[Verdict], done: Sequence[Maintained | NotMaintained]) -> int:
    failed = any(isinstance(each, Unknown) for each in found) or any(
        isinstance(each, NotMaintained) for each in done
    )
    return 1 if failed else 0


def _maintained(opened: Opened, found: Sequence[Verdict], orders: Orders, view: _View) -> bool:
    """Whether it came to its end."""
    cares = [each for each in found if isinstance(each, Care) and each.todo]
    if not cares:
        return True
    from lakesmith.cli.warm import keep_of
    from lakesmith.spark.maintenance.maintainer import Maintainer
    from lakesmith.spark.maintenance.tasks import maintain_tables
    from lakesmith.spark.open import open_session

    little = sum(care.bytes_to_rewrite for care in cares) <= limits.LITTLE_DATA_BYTES
    view.say("starting Spark")
    session = open_session(opened.project, little, keep_of(opened.project))
    turns = Turns(opened.lake, "maintain", on_wait=lambda holder: view.say(f"waiting for {holder}"))
    try:
        with stopping(turns, session):
            maintain_tables(Maintainer(session, opened.lake, turns, orders, view.say), cares, view.tell)
    except RunStopped:
        return False
    finally:
        session.stop()
    return True


@dataclass
class _View:
    """What happens, on a terminal's live line (``status``) or as lines on ``output``; and what was done, as it comes."""

    output: Output | None = None
    status: Status | None = None
    tell: Callable[[Maintained | NotMaintained], None] = field(default=lambda _: None)

    def say(self, text: str) -> None:
        """What it does now."""
        if self.status is not None:
            from rich.markup import escape

            self.status.update(escape(text))

    def told_to(self, done: list[Maintained | NotMaintained]) -> _View:
        """Keeps what is done, and shows it."""

        def tell(each: Maintained | NotMaintained) -> None:
            done.append(each)
            if self.output is not None:
                for line in done_lines(each):
                    self.output.write(line)

        self.tell = tell
        return self


@contextmanager
def open_view(as_json: bool) -> Iterator[_View]:
    if as_json:
        yield _View()
    elif sys.stdout.isatty():
        from rich.console import Console

        with Console().status("looking at the tables") as status:
            yield _View(Output(), status)
    else:
        yield _View(Output())


@contextmanager
def stopping(turns: Turns, session: SessionHandle) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the piece that is under way, of which nothing counts then; a second one ends the process at once."""
    from lakesmith.spark.progress import keep_cancelling

    ended = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        if turns.stop.is_set():
            os._exit(INTERRUPTED)
        turns.stop.set()
        # Not here: the main thread may be in the middle of a call to the JVM.
        threading.Thread(
            target=keep_cancelling, args=(session.cancel, ended), name="cancel", daemon=True
        ).start()

    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(each, stop) for each in signals]
    try:
        yield
    finally:
        ended.set()
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)
