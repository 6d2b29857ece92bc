"""``lakesmith erase``: takes people's rows out of every table, file and snapshot, and writes a receipt."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, nullcontext, redirect_stdout
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lakesmith.cli.alone import alone
from lakesmith.cli.ground import agreed
from lakesmith.cli.opening import Opened, open_project
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
from lakesmith.cli.render.text import count
from lakesmith.cli.session import spark_session
from lakesmith.errors import Problem, RunError
from lakesmith.execute.erase import EraseDecider, Erasure, plan_erasure
from lakesmith.execute.events import Event, TableFailed
from lakesmith.execute.faults import reach
from lakesmith.execute.landing_erase import LandingFile, landing_files, remove, require_choices
from lakesmith.execute.landing_rewrite import Expected, Left, rewrite, wanted_of
from lakesmith.execute.receipt import Receipts
from lakesmith.execute.runner import Walk
from lakesmith.plan.steps import FileIntake, Strategy
from lakesmith.project.definitions import OnErase, TableName
from lakesmith.project.nearest import listed
from lakesmith.sql.parse_persons import parse_persons

if TYPE_CHECKING:
    from lakesmith.spark.erase import Found
    from lakesmith.spark.erase_proof import Proof
    from lakesmith.spark.start.session import SessionHandle

app = command_app()

_CHOICES = {
    OnErase.REMOVE: "is removed",
    OnErase.REWRITE: "is rewritten without them",
    OnErase.KEEP: "is kept, as declared",
}


@dataclass(frozen=True, slots=True)
class EraseOptions:
    """What the caller of ``erase`` asked for: whose rows, and whether it is agreed to. ``wait`` is in seconds."""

    where: str
    yes: bool = False
    wait: float = 0.0


@dataclass(frozen=True)
class _Work:
    """One erasure on its way: what it is of, what was found, and the session that does it."""

    opened: Opened
    erasure: Erasure
    session: SessionHandle
    found: Found
    landing: tuple[LandingFile, ...]
    quiet: bool

    def say(self, text: str) -> None:
        if not self.quiet:
            print(text, flush=True)


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
    yes: YesOption = False,
    wait: WaitOption = 0.0,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``erase_command`` takes them."""
    options = EraseOptions(where, yes, wait)
    command = readmit_command if readmit else erase_command
    raise typer.Exit(command(project, target, table, options, json))


def erase_command(root: Path, target: str | None, table: str, options: EraseOptions, as_json: bool) -> int:
    """Erases when that is agreed to; 0, or 1 when something is left, which the receipt names.

    Raises UsageError LS201, LS205, LS221, LS227, LS258, LS259, LS260, StateError LS511, LS523, LockedError LS701, LS703, RunError with what failed.
    """
    opened, persons = open_project(root, target), parse_persons(options.where)
    name = opened.one_of_ours(table)
    receipts = Receipts(opened.project.state_dir)
    with alone(opened, f"erase from {name}", options.wait):
        erasure = plan_erasure(opened.lake, opened.graph, name, persons)
        number = receipts.id_of(name, persons)
        with spark_session(opened, little=False) as session:
            work = _found(opened, erasure, session, as_json)
            require_choices(work.landing)
            if not as_json:
                print("\n".join(_lines(work)))
            if not agreed(f"erase them from {count(len(erasure.tables), 'table')}?", options.yes, as_json):
                print("nothing was erased")
                return 0
            receipt = _do(work, Journal(receipts, number))
            reach("erase-proved", str(name))
    path = receipts.finish(number, {"receipt": number, **receipt})
    print(json.dumps({**receipt, "file": str(path)}) if as_json else "\n".join(_closing(receipt, path)))
    return 0 if receipt["done"] else 1


def readmit_command(root: Path, target: str | None, table: str, options: EraseOptions, as_json: bool) -> int:
    """Lets new rows of people in again; 0. Raises as ``erase_command``, RunError LS623 where nobody of them was erased."""
    opened, persons = open_project(root, target), parse_persons(options.where)
    name = opened.one_of_ours(table)
    with alone(opened, f"erase from {name}", options.wait):
        erasure = plan_erasure(opened.lake, opened.graph, name, persons)
        with spark_session(opened, little=True) as session:
            decider = EraseDecider(opened.graph, opened.lake, persons=persons, strategy=Strategy.READMIT)
            for each in erasure.sourced:
                if failed := _walk(decider, session, each):
                    raise RunError(failed)
    tables = list(map(str, erasure.sourced))
    said = f"new rows of theirs are taken again into {listed(tables)}; a file that came meanwhile: lakesmith files --forget"
    print(json.dumps({"readmitted": tables}) if as_json else said)
    return 0


def _found(opened: Opened, erasure: Erasure, session: SessionHandle, quiet: bool) -> _Work:
    from lakesmith.spark.erase import find

    found = find(session, opened.lake, erasure)
    landing = tuple(landing_files(opened.lake, opened.graph, found.files))
    return _Work(opened, erasure, session, found, landing, quiet)


def _lines(work: _Work) -> Iterator[str]:
    """What is there of them, and what goes."""
    erasure, found = work.erasure, work.found
    for name in erasure.tables:
        rows = found.rows.get(name)
        bad = f", {count(found.bad_rows[name], 'bad row')} in quarantine" if found.bad_rows.get(name) else ""
        how = "deleted" if name in erasure.sourced else "follows"
        yield f"{name}: {'no such columns' if rows is None else count(rows, 'row')}{bad} ({how})"
    for name in erasure.tables:
        if lookups := work.opened.graph.node(name).definition.lookups:
            yield f"{name}: its rows look {listed(map(str, lookups))} up anew where it is computed as a whole"
    for name in erasure.skipped:
        yield f"{name}: not looked into, it has no {' and '.join(erasure.persons.columns)}"
    for file in work.landing:
        yield f"{file.path}: {_CHOICES[file.choice or OnErase.KEEP]}"
    for tag, tables in erasure.tags.items():
        yield f"{tag}, which keeps the past of {', '.join(map(str, tables))}, is taken off"
    yield f"the past of {count(len(erasure.tables), 'table')} before now goes: no query --as-of and no rollback reaches behind it"


@dataclass(frozen=True)
class Journal:
    """What one erasure keeps, so that a call that is killed goes on."""

    receipts: Receipts
    number: str


def _do(work: _Work, journal: Journal) -> dict[str, Any]:
    from lakesmith.spark.erase import forget_past, renew
    from lakesmith.spark.erase_proof import prove

    opened, erasure = work.opened, work.erasure
    found = {str(name): files for name, files in work.found.files.items()}
    begun = journal.receipts.begin(journal.number, found)
    reach("erase-begun", str(erasure.asked))
    renewed, unchanged = _rewrite_landing(work, journal, begun)
    rewritten = {}
    for name in erasure.tables:
        _bring(work, name, renewed)
        rewritten[name] = renew(work.session, opened.lake, name)
        work.say(f"{name}: rewrote {count(rewritten[name], 'data file')}")
    snapshots = forget_past(work.session, opened.lake, erasure)
    files = {TableName.parse(name): paths for name, paths in begun.items()}
    landing = landing_files(opened.lake, opened.graph, files)
    for file in landing:
        if file.choice is OnErase.REMOVE:
            remove(opened.lake, file)
            reach("erase-landing", "")
    proof = prove(work.session, opened.lake, erasure)
    proof = replace(proof, left=(*proof.left, *unchanged))
    return _receipt(work, proof, rewritten, snapshots) | {"landing": _landing(landing)}


def _rewrite_landing(
    work: _Work, journal: Journal, begun: Mapping[str, Mapping[str, int]]
) -> tuple[dict[TableName, tuple[FileIntake, ...]], list[str]]:
    """Takes their records out of the landing files that are to be rewritten; what is to be entered by table, and what was left, in words."""
    opened, receipts, number = work.opened, journal.receipts, journal.number
    intakes: dict[TableName, tuple[FileIntake, ...]] = {}
    left: list[str] = []
    for text, records in begun.items():
        name = TableName.parse(text)
        ledger = opened.lake.ledger(name, opened.lake.facts(name))
        wanted = wanted_of(opened.graph.node(name).definition, work.erasure.persons)
        for file in landing_files(opened.lake, opened.graph, {name: records}):
            if file.choice is not OnErase.REWRITE:
                continue
            taken = ledger[file.path].file if file.path in ledger else None
            # Read anew: another table may have the same file.
            expected = Expected(wanted, records[file.path], receipts.made(number).get(file.path))
            note = partial(receipts.note_made, number, file.path)
            done = rewrite(opened.lake, file, taken, expected, note)
            if isinstance(done, Left):
                left.append(f"{done.path} {done.why}")
                continue
            work.say(f"{file.path}: {count(done.records, 'record')} taken out")
            intakes[name] = (*intakes.get(name, ()), FileIntake(done.source, renewed=(done.file,)))
    return intakes, left


def _bring(work: _Work, name: TableName, renewed: Mapping[TableName, tuple[FileIntake, ...]]) -> None:
    """Erases from a sourced table, brings a derived one up to date. Raises RunError with what failed."""
    opened, erasure = work.opened, work.erasure
    approved = frozenset(erasure.tables)
    decider = EraseDecider(
        opened.graph, opened.lake, approved=approved, persons=erasure.persons, renewed=renewed
    )
    with redirect_stdout(None) if work.quiet else nullcontext():
        failed = _walk(decider, work.session, name)
    if failed:
        hint = "what was erased until then stays so: mend this, and call the same erase again"
        raise RunError([*failed, Problem("LS621", f"the erasure stopped at {name}", hint=hint)])


def _walk(decider: EraseDecider, session: SessionHandle, name: TableName) -> list[Problem]:
    """Does what is decided on a table; what failed."""
    from lakesmith.spark.engine import SparkEngine

    failed: list[Problem] = []

    def tell(event: Event) -> None:
        if isinstance(event, TableFailed):
            failed.extend(event.problems)

    with closing(SparkEngine(session, decider.lake, keeps_session=True)) as engine:
        Walk(decider, (name,), lambda: engine, tell).run()
    return failed


def _receipt(
    work: _Work, proof: Proof, rewritten: dict[TableName, int], snapshots: dict[TableName, int]
) -> dict[str, Any]:
    erasure, found = work.erasure, work.found
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
                "files_rewritten": rewritten[name],
                "snapshots_expired": snapshots[name],
            }
            for name in erasure.tables
        ],
        "not_looked_into": list(map(str, erasure.skipped)),
        "tags_taken_off": sorted(erasure.tags),
        "proof": asdict(proof),
        "done": not proof.left,
    }


def _landing(files: Sequence[LandingFile]) -> list[dict[str, str]]:
    return [{"file": file.path, "choice": file.choice.value if file.choice else "none"} for file in files]


def _closing(receipt: dict[str, Any], path: Path) -> Iterator[str]:
    proof = receipt["proof"]
    yield f"looked into {count(proof['files'], 'file')} with {count(proof['rows'], 'row')}"
    if proof["unnamed_files"] is None:
        yield "files that no snapshot names cannot be listed in S3 Tables: it removes them by itself"
    elif proof["unnamed_files"]:
        yield f"looked into {count(proof['unnamed_files'], 'file')} that no snapshot names"
    for left in proof["left"]:
        yield f"left: {left}"
    kept = sum(file["choice"] == OnErase.KEEP for file in receipt["landing"])
    if kept:
        yield f"{count(kept, 'landing file')} kept, as declared: rows of theirs are still in them"
    yield f"{'nothing is left of them in the tables' if receipt['done'] else 'not all is gone'}; receipt: {path}"
