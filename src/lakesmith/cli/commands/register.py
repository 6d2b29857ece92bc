"""``lakesmith register``: enters tables in the catalog whose files are in the warehouse, when the catalog was lost."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

import typer

from lakesmith.api.local_lake import open_local
from lakesmith.api.words import count, moment
from lakesmith.catalog.entries import Entry, change_entries, folder_of, unmark
from lakesmith.catalog.family import foreign_owner
from lakesmith.catalog.home import project_lock
from lakesmith.catalog.lost import Lost, lost_tables, replaced_entries
from lakesmith.catalog.metadata import local_path
from lakesmith.catalog.progress import most_live_rows
from lakesmith.cli.asking import agreed
from lakesmith.cli.opening import open_lake
from lakesmith.cli.options import HERE, JsonOption, ProjectOption, TargetOption, YesOption, command_app
from lakesmith.cli.render.text import columns_aligned
from lakesmith.project.layout import RESERVED_LAYER

app = command_app()


_HEADER = ("table", "batch", "last written", "rows", "metadata")


@app.command()
def register(
    yes: YesOption = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``register_command`` takes them."""
    raise typer.Exit(register_command(project, target, yes, json))


def register_command(root: Path, target: str | None, yes: bool, as_json: bool) -> int:
    """Shows what is found, and enters it when that is agreed to; 0.

    Raises UsageError LS227 (nobody to ask), StateError LS511 (an entry came meanwhile), EnvironmentProblem LS320.
    """
    lake = open_local(open_lake(root, target).access)
    with project_lock(lake.project, "register", may_be_older=True):
        replaced = replaced_entries(lake.catalog)
        lost = (*lost_tables(lake.catalog), *(each for _, each in replaced))
        found = tuple(each for each in lost if _is_ours(each, lake.project.name))
        if not as_json:
            print("\n".join(_lines(found, tuple(entry for entry, _ in replaced))))
        if found and not agreed(f"enter {count(len(found), 'table')} in the catalog?", yes, as_json):
            print("nothing was registered")
            return 0
        if found:
            entries = [
                Entry(each.name, f"file://{Path(each.state.metadata_location).absolute()}") for each in found
            ]
            change_entries(lake.catalog, [entry for entry, each in replaced if each in found], entries)
            for each in found:
                unmark(folder_of(each.state.metadata_location), each.state.uuid)
    if as_json:
        print(json.dumps({"registered": [_as_dict(each) for each in found]}, indent=2))
    elif found:
        print(f"{count(len(found), 'table')} registered: the next run goes on from there")
    return 0


def _is_ours(lost: Lost, project: str) -> bool:
    """A file ledger is made by PyIceberg, and says no owner: its name does."""
    return lost.name.layer == RESERVED_LAYER or foreign_owner(lost.state, project) is None


def _lines(found: tuple[Lost, ...], replaced: tuple[Entry, ...]) -> list[str]:
    if not found:
        return ["every table in the warehouse is in the catalog"]
    names = {each.name for each in found}
    instead = [
        f"{each.name}: in place of {PurePosixPath(each.location).name}, which {_what_of(each)}"
        for each in replaced
        if each.name in names
    ]
    rows = [_row(each) for each in found]
    doubtful = [
        f"{each.name}: {count(each.others, 'other file')} may have been its last state as well; the newest is taken"
        for each in found
        if each.others
    ]
    return [*columns_aligned([_HEADER, *rows], right=frozenset({1, 3})), *doubtful, *instead]


def _what_of(entry: Entry) -> str:
    return "is older" if local_path(entry.location).is_file() else "is gone: what it had more is taken again"


def _row(lost: Lost) -> tuple[str, ...]:
    record, head = lost.record, lost.state.head
    rows = most_live_rows(head) if head else 0
    return (
        str(lost.name),
        str(record.batch) if record else "-",
        moment(lost.version.updated_ms),
        "?" if rows is None else f"{rows:,}",
        lost.version.file,
    )


def _as_dict(lost: Lost) -> dict[str, Any]:
    record = lost.record
    return {
        "table": str(lost.name),
        "uuid": lost.state.uuid,
        "metadata": lost.state.metadata_location,
        "batch": record.batch if record else None,
        "others": lost.others,
    }
