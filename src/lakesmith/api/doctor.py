"""What this machine and this project lack, and how to fix it; without a JVM unless asked."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from lakesmith.api.access import Access
from lakesmith.api.doctor_machine import Check, Verdict, disk_check, machine_checks, start_check
from lakesmith.api.doctor_values import value_checks
from lakesmith.api.words import count
from lakesmith.catalog import busy
from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.remote import RemoteCatalog
from lakesmith.errors import EnvironmentProblem, LakesmithError, Problem, ProjectError
from lakesmith.execute.opened import Opened
from lakesmith.execute.rows_of_postgres import WrongRows, wrong_rows
from lakesmith.project.definitions import (
    OBJECT_SCHEME,
    HttpSource,
    KafkaSource,
    PostgresSource,
    Project,
    Source,
    TableDefinition,
)
from lakesmith.serve.intake_process import require_server
from lakesmith.serve.routes import EventSource, tokens_of
from lakesmith.sources.kafka.broker import topic_state
from lakesmith.sources.listing import list_files
from lakesmith.sources.object_probe import probe, who_am_i
from lakesmith.sources.postgres.fetch import require_readable
from lakesmith.spark.start.jars import cached_jars, jars_folder
from lakesmith.spark.start.target_conf import jars_of


@dataclass(frozen=True, slots=True)
class Checks:
    """What was looked at, and what was found."""

    checks: tuple[Check, ...]

    @property
    def problems(self) -> int:
        """How many checks found a problem."""
        return sum(check.verdict is Verdict.PROBLEM for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        return {"checks": [asdict(check) for check in self.checks]}


def check(access: Access, start: bool, files: bool) -> Checks:
    return Checks(tuple(_checks(access, start, files)))


def _checks(access: Access, start: bool, files: bool) -> Iterator[Check]:
    yield from machine_checks()
    opened = None
    try:
        opened = access.opened()
    except ProjectError as error:
        yield from (_unreadable(problem, access.is_named) for problem in error.problems)
    yield from project_checks(opened, files) if opened else ()
    if start:
        yield _start(opened)


def _start(opened: Opened | None) -> Check:
    if opened is None:
        return Check("spark", Verdict.NOTE, "not started: that takes a project that can be read")
    return start_check(opened.project)


def _unreadable(problem: Problem, is_named: bool) -> Check:
    """If no project was named there need not be one: then only the machine is looked at."""
    if problem.code == "LS119" and not is_named:
        return Check(
            "project", Verdict.NOTE, "none in this folder: only the machine was looked at", problem.hint
        )
    return as_check("project", problem)


def project_checks(opened: Opened, files: bool) -> Iterator[Check]:
    """What there is to say of a project that could be read. ``files``: as of ``value_checks``."""
    project = opened.project
    tables = count(len(opened.graph.order), "table")
    text = f"{project.name}: {tables}, target {project.target.name} ({project.target.type})"
    yield Check("project", Verdict.OK, text)
    yield _folder(project.root)
    catalog = _catalog(opened)
    yield catalog
    reached = catalog.verdict is Verdict.OK
    if not project.target.is_local:
        yield from target_checks(opened, reached)
    yield from _sources(opened)
    # Of each table the same would be said once more.
    if reached:
        yield from _tables(opened)
        yield from value_checks(opened, files)


def _folder(root: Path) -> Check:
    if not os.access(root, os.W_OK):
        hint = "what only reads works; to run, make the folder writable for you: the lake is in .lakesmith/"
        return Check("project folder", Verdict.PROBLEM, f"{root} cannot be written", hint)
    return disk_check("project folder", root)


def _catalog(opened: Opened) -> Check:
    catalog = opened.lake.catalog
    try:
        found = sum(
            len(catalog.names(layer)) for layer in sorted({name.layer for name in opened.graph.order})
        )
    except LakesmithError as error:
        return _problem("catalog", error)
    if not isinstance(catalog, LocalCatalog):
        return Check("catalog", Verdict.OK, f"{opened.project.target.type}, with {count(found, 'table')}")
    if not catalog.db.exists():
        return Check("catalog", Verdict.OK, f"{catalog.db}: the first run makes it")
    return _writable(catalog.db) or Check(
        "catalog", Verdict.OK, f"{catalog.db}, with {count(found, 'table')}"
    )


def _writable(db: Path) -> Check | None:
    """A check that failed when the file cannot be written to now: nothing is written."""
    try:
        with closing(busy.connect(db, busy.LOOK_SECONDS)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    except sqlite3.Error as error:
        hint = "let the process that writes to it finish, or make the file and its folder writable for you"
        return Check("catalog", Verdict.PROBLEM, f"{db} cannot be written: {error}", hint)
    return None


def _sources(opened: Opened) -> Iterator[Check]:
    for node in opened.graph.nodes:
        for source in node.definition.sources:
            name = f"{node.name} {source.kind}"
            try:
                yield Check(name, Verdict.OK, _found(opened, node.definition, source))
            except LakesmithError as error:
                yield _problem(name, error)


def _found(opened: Opened, table: TableDefinition, source: Source) -> str:
    """What there is at a source. Raises LakesmithError where it cannot be asked, or lacks what it takes."""
    if isinstance(source, KafkaSource):
        found = topic_state(source)
        return f"{source.path}: {count(len(found.partitions), 'partition')}"
    if isinstance(source, PostgresSource):
        require_readable(table.name, source)
        return f"{source.table} in PostgreSQL can be read"
    if isinstance(source, HttpSource):
        require_server()
        tokens_of(EventSource(table, source, opened.project.root / source.path), os.environ)
        return f"lakesmith up takes them at {source.url_path}"
    listing = list_files(source, opened.project.root, time.time_ns())
    return f"{source.path}: {count(len(listing.found), 'file')}"


def _tables(opened: Opened) -> Iterator[Check]:
    """Only the tables that something is wrong with."""
    for name in opened.graph.order:
        try:
            problem = opened.lake.facts(name).problem
        except LakesmithError as error:
            yield _problem(str(name), error)
        else:
            if problem is not None:
                yield as_check(str(name), problem)
            else:
                yield from _rows_of_postgres(opened, opened.graph.node(name).definition)


def _rows_of_postgres(opened: Opened, table: TableDefinition) -> Iterator[Check]:
    """Rows of PostgreSQL that an earlier version of lakesmith made or deleted wrongly."""
    for source in table.sources_of(PostgresSource):
        name = str(table.name)
        try:
            found = wrong_rows(opened.lake, table, source, opened.lake.facts(table.name))
        except LakesmithError as error:
            yield _problem(name, error)
        except OSError as error:
            yield Check(name, Verdict.PROBLEM, f"its rows cannot be read: {error}")
        else:
            if found.files:
                files = " ".join(f"--forget {file}" for file in found.files)
                hint = f"after a run: lakesmith files {name} {files}"
                yield Check(name, Verdict.PROBLEM, "; ".join(_in_words(found)), hint)


def _in_words(found: WrongRows) -> Iterator[str]:
    if found.pieces:
        rows = count(found.pieces, "row")
        yield f"{rows} made of lines of a JSON document that is a value of another row"
    if found.lost:
        yield f"{count(found.lost, 'row')} deleted when PostgreSQL wrote a key in another way"


def _problem(name: str, error: LakesmithError) -> Check:
    return as_check(name, error.problems[0])


def as_check(name: str, problem: Problem) -> Check:
    """A problem as a check that failed."""
    lines = replace(problem, hint=None).lines()
    return Check(name, Verdict.PROBLEM, "\n".join(lines), problem.hint)


SKEW_SECONDS: Final = 60.0
"""AWS refuses requests whose time is 5 to 15 minutes off; a lease depends on clocks."""


def target_checks(opened: Opened, reached: bool) -> Iterator[Check]:
    """What there is to say of the target; ``reached``: its catalog answers."""
    project = opened.project
    yield from _jars(project)
    if _uses_s3(project):
        yield from _store(project)
    if reached:
        yield _lease(opened)


def _jars(project: Project) -> Iterator[Check]:
    try:
        coordinates = jars_of(project)
    except EnvironmentProblem:
        # Which jars, follows from PySpark: what is wrong with that has been said.
        return
    found = cached_jars(jars_folder(coordinates)) if coordinates else ()
    if found is None:
        hint = "the first run fetches them; on a machine without a network they have to be there before"
        yield Check("target's jars", Verdict.NOTE, "not here yet", hint)
    else:
        yield Check("target's jars", Verdict.OK, count(len(found), "file"))


def _uses_s3(project: Project) -> bool:
    return project.target.type == "glue" or bool(_places(project))


def _places(project: Project) -> list[str]:
    warehouse = dict(project.target.catalog).get("warehouse", "")
    return [warehouse] if warehouse.startswith(OBJECT_SCHEME) else []


def _store(project: Project) -> Iterator[Check]:
    store = project.target.store
    try:
        found = who_am_i(store)
    except LakesmithError as error:
        yield Check("aws credentials", Verdict.PROBLEM, error.problems[0].what, error.problems[0].hint)
        return
    if found is None:
        hint = (
            "aws configure, or export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a role of the machine"
        )
        yield Check("aws credentials", Verdict.PROBLEM, "there are none", hint)
        return
    yield Check("aws credentials", Verdict.OK, found)
    for place in _places(project):
        yield from _place(project, place)


def _place(project: Project, place: str) -> Iterator[Check]:
    answer = probe(place, project.target.store)
    if answer.refused:
        hint = (
            "check the bucket's name, the region and the endpoint, and that these credentials have"
            " s3:ListBucket on it,"
            " s3:GetObject, s3:PutObject and s3:DeleteObject below it"
        )
        yield Check("warehouse", Verdict.PROBLEM, f"{place}: {answer.refused}", hint)
    else:
        yield Check("warehouse", Verdict.OK, f"{place}: can be listed, written and deleted")
    if answer.skew_seconds is not None:
        yield _clock(answer.skew_seconds)


def _clock(skew: float) -> Check:
    if abs(skew) <= SKEW_SECONDS:
        return Check("clock", Verdict.OK, "as the server's, within a minute")
    off = f"{abs(skew):,.0f} s {'ahead of' if skew > 0 else 'behind'} the server's"
    return Check("clock", Verdict.PROBLEM, off, "set this machine's clock: timedatectl set-ntp true")


def _lease(opened: Opened) -> Check:
    catalog = opened.lake.catalog
    assert isinstance(catalog, RemoteCatalog)
    try:
        holder = catalog.lease_holder(opened.project.name)
    except LakesmithError as error:
        return Check("lease", Verdict.PROBLEM, error.problems[0].found or error.problems[0].what)
    if holder is None:
        return Check("lease", Verdict.OK, "free: no runner is at work on this target")
    return Check("lease", Verdict.NOTE, f"held by {holder}")
