"""Tables with 10,000 snapshots in their past against the same with 100: what `plan` and a run with one new
file take.

    python benchmarks/long_past.py [--small]

Whole processes, in turns, on the example invoices, three tables. All snapshots are kept. Then `plan` of 200
tables (``--small``: 20) against that of three.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import common
from history import MetadataFile, PastMaker
from idle import TABLES

from lakesmith.catalog.open import open_catalog
from lakesmith.project.definitions import TableName
from lakesmith.project.files import FolderFiles
from lakesmith.project.loader import parse_project

AS_QUICK = 1.1
COPIED = TableName.parse(TABLES[-1])


class Project:
    """The example after a first run and so many ``snapshots``."""

    def __init__(self, root: Path, snapshots: int) -> None:
        self.root = common.copy_example("invoices", root)
        self.landing = self.root / "landing" / "invoices"
        self.text = next(self.landing.glob("*.tsv")).read_text()
        self.landed = 0
        self.run()
        self.land(header_only=True)
        # Each batch is two: its rows, and its record.
        PastMaker(self.root).grow(TABLES, snapshots // 2)
        self.plan(), self.batch()

    def plan(self) -> float:
        """Seconds of ``lakesmith plan``."""
        return common.timed(common.lakesmith("plan"), self.root)

    def run(self) -> float:
        """Seconds of ``lakesmith run``."""
        return common.timed(common.lakesmith("run"), self.root)

    def batch(self) -> float:
        """Seconds of a run that takes one new file."""
        self.land()
        return self.run()

    def land(self, header_only: bool = False) -> None:
        """Brings a file more."""
        self.landed += 1
        text = self.text.splitlines()[0] + "\n" if header_only else self.text
        (self.landing / f"more-{self.landed:04}.tsv").write_text(text)

    def grow(self, tables: int) -> None:
        """Has the project so many tables: the gold one again and again, each with a metadata file of its
        own.
        """
        project = parse_project(FolderFiles(self.root), None).project
        catalog = open_catalog(project)
        state = catalog.table(COPIED.layer, COPIED.name)
        assert state is not None
        sql = (self.root / f"tables/{COPIED.layer}/{COPIED.name}.sql").read_text()
        for number in range(tables - len(project.tables)):
            copy = state.metadata_location.replace("/metadata/", f"/metadata/{number + 90000}-")
            shutil.copyfile(urlsplit(state.metadata_location).path, urlsplit(copy).path)
            (self.root / f"tables/{COPIED.layer}/copy_{number:03}.sql").write_text(sql)
            catalog.writer().register_table((COPIED.layer, f"copy_{number:03}"), copy)

    def snapshots(self) -> int:
        """How many the first table has now."""
        catalog = open_catalog(parse_project(FolderFiles(self.root), None).project)
        name = TableName.parse(TABLES[0])
        location = catalog.location(name.layer, name.name)  # type: ignore[attr-defined]
        return len(MetadataFile(location).data["snapshots"])


def compare(
    what: str, sides: tuple[Project, Project], act: Callable[[Project], float], rounds: int
) -> common.Comparison:
    """Both in turns."""
    calls = [lambda at=each: act(at) for each in sides]  # type: ignore[misc]
    ours, theirs = common.take_turns(calls, rounds)
    return common.Comparison(what, ours, theirs, AS_QUICK)


def measure(work: Path, options: argparse.Namespace) -> common.Outcome:
    """The long past beside the short one, then many tables beside few."""
    rounds = options.rounds or (1 if options.small else 3)
    long = Project(work / "long", 1_000 if options.small else 10_000)
    short = Project(work / "short", 100)
    counts = {"snapshots": long.snapshots(), "beside": short.snapshots()}
    sides = (long, short)
    plan = compare("plan", sides, Project.plan, 2 * rounds + 1)
    batch = compare("a run with one new file", sides, Project.batch, rounds)
    few, many = Project(work / "few", 100), Project(work / "many", 100)
    tables = 20 if options.small else 200
    many.grow(tables)
    many.plan()
    wide = compare(f"plan of {tables} tables (beside 3)", (many, few), Project.plan, 2 * rounds + 1)
    return common.Outcome("long past", (plan, batch, wide), counts, theirs="short past")


def main() -> None:
    """The command line."""
    parser = common.arguments("Tables with a long past against the same with a short one.")
    options = parser.parse_args()
    with common.workspace(options) as work:
        common.show(measure(work, options), options.json)


if __name__ == "__main__":
    main()
