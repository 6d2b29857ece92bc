"""``lakesmith erase``: takes people's rows out of every table, file and snapshot, and writes a receipt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from lakesmith.api.words import count
from lakesmith.cli.alone import alone
from lakesmith.cli.asking import agreed
from lakesmith.cli.erasing import Done, Work, clean_places, do, landing_as_dicts, look, walk, ways
from lakesmith.cli.opening import open_project
from lakesmith.cli.options import (
    HERE,
    JsonOption,
    ProjectOption,
    TableArgument,
    TargetOption,
    WaitOption,
    YesOption,
    command_app,
)
from lakesmith.cli.session import sessions_left, spark_session
from lakesmith.errors import RunError
from lakesmith.execute.erase import Asked, EraseDecider, Receipts, plan_erasure
from lakesmith.execute.faults import reach
from lakesmith.execute.landing_erase import LandingFile, require_choices
from lakesmith.execute.opened import Opened
from lakesmith.plan.steps import Strategy
from lakesmith.project.definitions import OnErase
from lakesmith.project.nearest import listed
from lakesmith.sql.parse_erasure_filter import parse_erasure_filter

app = command_app()


@dataclass(frozen=True, slots=True)
class EraseOptions:
    """What the caller of ``erase`` asked for: whose rows, in which other tables, and whether it is agreed to. ``wait`` is in seconds."""

    where: str
    yes: bool = False
    wait: float = 0.0
    also: tuple[str, ...] = ()
    besides: tuple[str, ...] = ()


@app.command()
def erase(
    table: TableArgument,
    where: Annotated[
        str,
        typer.Option("--where", help='Whose rows: "email = \'a@b.c\'", "id IN (1, 2)".', show_default=False),
    ],
    readmit: Annotated[
        bool, typer.Option("--readmit", help="Erase nobody: let new rows of people in again who were erased.")
    ] = False,
    also: Annotated[
        list[str] | None,
        typer.Option("--also", help="Erase from this table too, which TABLE is not made from."),
    ] = None,
    besides: Annotated[
        list[str] | None,
        typer.Option("--except", help="Leave this table out: the columns mean something else in it."),
    ] = None,
    yes: YesOption = False,
    wait: WaitOption = 0.0,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``erase_command`` takes them."""
    options = EraseOptions(where, yes, wait, tuple(also or ()), tuple(besides or ()))
    command = readmit_command if readmit else erase_command
    raise typer.Exit(command(project, target, table, options, json))


def erase_command(root: Path, target: str | None, table: str, options: EraseOptions, as_json: bool) -> int:
    """Erases when that is agreed to; 0, or 1 when something is left, which the receipt names.

    Raises UsageError LS201, LS205, LS221, LS227, LS258, LS259, LS260, StateError LS511, LS523, LockedError LS701, LS703, RunError with what failed.
    """
    opened = open_project(root, target)
    asked = _asked(opened, table, options)
    receipts = Receipts(opened.project.state_dir)
    with alone(opened, f"erase from {asked.table}", options.wait):
        erasure = plan_erasure(opened.lake, opened.graph, asked)
        number = receipts.id_of(asked.table, asked.persons)
        with spark_session(opened, little=False, stays=False) as session:
            work = look(opened, erasure, session, as_json)
            require_choices([file for file in work.landing.theirs if file.table in erasure.sourced])
            if not as_json:
                print("\n".join(_lines(work)))
            if not agreed(f"erase them from {count(len(erasure.tables), 'table')}?", options.yes, as_json):
                print("nothing was erased")
                return 0
            done = do(work, receipts, number)
        done.left += (*clean_places(opened, erasure), *sessions_left(opened))
        receipt = _receipt(work, done)
        reach("erase-proved", str(asked.table))
        # A file with nobody else's records may be called as they are.
        alone_in = [file.path for file in work.landing.theirs if file.records == file.all_records]
        hidden = receipts.hidden(receipt, asked.persons, alone_in)
        path = receipts.finish(number, {"receipt": number, **hidden})
    print(json.dumps({**receipt, "file": str(path)}) if as_json else "\n".join(_closing(receipt, path)))
    return 0 if receipt["done"] else 1


def _asked(opened: Opened, table: str, options: EraseOptions) -> Asked:
    also, besides = (tuple(map(opened.one_of_ours, each)) for each in (options.also, options.besides))
    return Asked(opened.one_of_ours(table), parse_erasure_filter(options.where), also, besides)


def readmit_command(root: Path, target: str | None, table: str, options: EraseOptions, as_json: bool) -> int:
    """Lets new rows of people in again; 0. Raises as ``erase_command``, RunError LS623 where nobody of them was erased."""
    opened = open_project(root, target)
    asked = _asked(opened, table, options)
    with alone(opened, f"erase from {asked.table}", options.wait):
        erasure = plan_erasure(opened.lake, opened.graph, asked)
        with spark_session(opened, little=True) as session:
            decider = EraseDecider(
                opened.graph, opened.lake, persons=asked.persons, strategy=Strategy.READMIT
            )
            for each in erasure.sourced:
                if failed := walk(decider, session, each):
                    raise RunError(failed)
    tables = list(map(str, erasure.sourced))
    said = f"new rows of theirs are taken again into {listed(tables)}; a file that came meanwhile: lakesmith files --forget"
    print(json.dumps({"readmitted": tables}) if as_json else said)
    return 0


def _lines(work: Work) -> Iterator[str]:
    """What is there of them, and what goes."""
    erasure, found = work.erasure, work.found
    for name in erasure.tables:
        rows = found.rows.get(name)
        bad = f", {count(found.bad_rows[name], 'bad row')} in quarantine" if found.bad_rows.get(name) else ""
        how = "deleted" if name in erasure.sourced else "follows"
        yield f"{name}: {'no such columns' if rows is None else count(rows, 'row')}{bad} ({how})"
    for name in erasure.tables:
        if lookups := work.opened.graph.node(name).definition.lookups:
            yield f"{name}: its rows look {listed(map(str, lookups))} up anew where it is refreshed in full"
    for name in erasure.skipped:
        yield f"{name}: not looked into, it has no {' and '.join(erasure.persons.columns)}"
    for name in erasure.others:
        rows = found.rows.get(name, 0) + found.bad_rows.get(name, 0)
        said = f"{count(rows, 'row')} of theirs" if name in found.rows else "never run"
        how = ways(work.definition(name), erasure) if rows else "nothing is erased from it"
        yield f"{name}: {said}, and {erasure.asked} is not made from it ({how})"
    yield from (f"{name}: left out, as asked" for name in erasure.besides)
    for file in work.landing.theirs:
        if file.table in erasure.sourced:
            yield f"{file.path}: {_becomes(file)}"
    for tag, tables in erasure.tags.items():
        yield f"{tag}, which keeps the past of {', '.join(map(str, tables))}, is taken off"
    yield f"the past of {count(len(erasure.tables), 'table')} before now goes: no query --as-of and no rollback reaches behind it"


def _becomes(file: LandingFile) -> str:
    if file.goes:
        return "is removed" if file.choice is OnErase.REMOVE else "is removed: it has no other records"
    return "is rewritten without them" if file.is_rewritten else "is kept, as declared"


def _receipt(work: Work, done: Done) -> dict[str, Any]:
    erasure, found = work.erasure, work.found
    assert done.proof is not None
    return {
        "project": work.opened.project.name,
        "target": work.opened.project.target.name,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "asked": str(erasure.asked),
        "columns": list(erasure.persons.columns),
        "persons": len(erasure.persons.values),
        "tables": [
            {
                "table": str(name),
                "rows": found.rows.get(name),
                "bad_rows": found.bad_rows.get(name, 0),
                "files_rewritten": done.rewritten[name],
                "snapshots_expired": done.snapshots[name],
            }
            for name in erasure.tables
        ],
        "not_looked_into": list(map(str, erasure.skipped)),
        "others": [{"table": str(name), "rows": found.rows.get(name, 0)} for name in erasure.others],
        "left_out": list(map(str, erasure.besides)),
        "tags_taken_off": sorted(erasure.tags),
        "landing": landing_as_dicts(work),
        "proof": {**asdict(done.proof), "landing_files": done.landing_files, "left": done.left},
        "done": not done.left,
    }


def _closing(receipt: dict[str, Any], path: Path) -> Iterator[str]:
    proof = receipt["proof"]
    yield f"looked into {count(proof['files'], 'file')} with {count(proof['rows'], 'row')}, and {count(proof['landing_files'], 'landing file')}"
    if proof["unnamed_files"] is None:
        yield "files that no snapshot names cannot be listed in S3 Tables: it removes them by itself"
    elif proof["unnamed_files"]:
        yield f"looked into {count(proof['unnamed_files'], 'file')} that no snapshot names"
    for left in proof["left"]:
        yield f"left: {left}"
    kept = sum(file["choice"] == OnErase.KEEP for file in receipt["landing"])
    if kept:
        yield f"{count(kept, 'landing file')} kept, as declared: rows of theirs are still in them"
    yield f"{'nothing is left of them' if receipt['done'] else 'not all is gone'}; receipt: {path}"
