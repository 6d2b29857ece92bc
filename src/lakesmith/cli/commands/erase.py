"""``lakesmith erase``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from lakesmith.api.access import ignore
from lakesmith.api.erasing import ErasurePreview, Readmitted, Receipt
from lakesmith.api.words import count
from lakesmith.cli import command as opt
from lakesmith.cli.command import apply_agreed, open_lake, say, show
from lakesmith.cli.render.live import stray_prints_to_stderr
from lakesmith.errors import listed
from lakesmith.execute.landing_erase import LandingFile

app = opt.command_app()


@app.command()
def erase(
    table: opt.TableArgument,
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
    yes: opt.YesOption = False,
    wait: opt.WaitOption = 0.0,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Erases people's rows after asking; 1 if something is left, which the receipt names."""
    with open_lake(project, target) as lake, stray_prints_to_stderr(json):
        if readmit:
            let_in = lake.readmit(table, where, also=also or (), besides=besides or (), wait=wait)
        else:
            tell = ignore if json else say
            change = lake.erase(
                table, where, also=also or (), besides=besides or (), wait=wait, on_event=tell
            )
            tables = count(len(change.preview.tables), "table")
            done = apply_agreed(
                change, f"erase them from {tables}?", yes, json, "nothing was erased", _lines(change.preview)
            )
    if readmit:
        show(let_in, json, _let_in)
    elif done is not None:
        show(done, json, _closing)
        raise typer.Exit(0 if done.is_done else 1)


def _let_in(done: Readmitted) -> Iterator[str]:
    tables = listed(map(str, done.tables))
    yield (
        f"new rows of theirs are taken again into {tables}; a file that came meanwhile: lakesmith files"
        " --forget"
    )


def _lines(preview: ErasurePreview) -> Iterator[str]:
    """What is there of them, and what goes."""
    erasure = preview.erasure
    columns = " and ".join(erasure.persons.columns)
    for each in preview.tables:
        rows = "no such columns" if each.rows is None else count(each.rows, "row")
        bad = f", {count(each.bad_rows, 'bad row')} in quarantine" if each.bad_rows else ""
        yield f"{each.table}: {rows}{bad} ({'deleted' if each.is_sourced else 'follows'})"
    for each in preview.tables:
        if each.lookups:
            looked_up = listed(map(str, each.lookups))
            yield f"{each.table}: its rows look {looked_up} up again where it is refreshed in full"
    yield from (f"{name}: not looked into, it has no {columns}" for name in erasure.skipped)
    for other in preview.others:
        said = "never run" if other.rows is None else f"{count(other.rows, 'row')} of theirs"
        yield f"{other.table}: {said}, and {erasure.asked} is not made from it ({other.way})"
    yield from (f"{name}: left out, as asked" for name in erasure.besides)
    yield from (f"{each.path}: {_becomes(each)}" for each in preview.landing)
    for tag, tables in erasure.tags.items():
        yield f"{tag}, which keeps the past of {', '.join(map(str, tables))}, is taken off"
    yield (
        f"the past of {count(len(preview.tables), 'table')} before now goes: no query --as-of and no"
        " rollback reaches behind it"
    )
    if preview.in_s3:
        yield "old versions of objects in S3, copies included, that have rows of theirs are deleted for good"


def _becomes(file: LandingFile) -> str:
    if file.goes:
        return "is removed" if file.choice == "remove" else "is removed: it has no other records"
    return "is rewritten without them" if file.is_rewritten else "is kept, as declared"


def _closing(receipt: Receipt) -> Iterator[str]:
    proof = receipt.content["proof"]
    files, rows = count(proof["files"], "file"), count(proof["rows"], "row")
    yield f"looked into {files} with {rows}, and {count(proof['landing_files'], 'landing file')}"
    if proof["unnamed_files"] is None:
        yield "files that no snapshot names cannot be listed in S3 Tables: it removes them by itself"
    elif proof["unnamed_files"]:
        yield f"looked into {count(proof['unnamed_files'], 'file')} that no snapshot names"
    if old := receipt.content["old_versions"]["deleted"]:
        yield f"deleted {count(old, 'old version')} of objects in S3, copies included"
    yield from (f"left: {left}" for left in proof["left"])
    kept = sum(file["choice"] == "keep" for file in receipt.content["landing"])
    if kept:
        yield f"{count(kept, 'landing file')} kept, as declared: rows of theirs are still in them"
    end = "nothing is left of them" if receipt.is_done else "not all is gone"
    yield f"{end}; receipt: {receipt.file}"
