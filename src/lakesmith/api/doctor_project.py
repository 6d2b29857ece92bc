"""What ``doctor`` looks at in a project: its folder, its lock, its catalog, its sources and its tables."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from lakesmith.api.doctor_machine import Check, Verdict, disk_check
from lakesmith.api.doctor_target import target_checks
from lakesmith.api.words import count
from lakesmith.catalog import busy
from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.lock import Holder
from lakesmith.errors import LakesmithError, Problem
from lakesmith.execute.opened import Opened
from lakesmith.project.definitions import HttpSource, KafkaSource, PostgresSource, Source, TableDefinition
from lakesmith.serve.intake_process import require_server
from lakesmith.serve.routes import EventSource, tokens_of
from lakesmith.sources.kafka.broker import topic_state
from lakesmith.sources.listing import list_files
from lakesmith.sources.postgres.fetch import require_readable


def project_checks(opened: Opened) -> Iterator[Check]:
    """What there is to say of a project that could be read."""
    project = opened.project
    tables = count(len(opened.graph.order), "table")
    text = f"{project.name}: {tables}, target {project.target.name} ({project.target.type})"
    yield Check("project", Verdict.OK, text)
    yield _folder(project.root)
    yield _lock(project.state_dir / "locks" / "project.lock")
    catalog = _catalog(opened)
    yield catalog
    reached = catalog.verdict is Verdict.OK
    if not project.target.is_local:
        yield from target_checks(opened, reached)
    yield from _sources(opened)
    # Of each table the same would be said once more.
    yield from _tables(opened) if reached else ()


def _folder(root: Path) -> Check:
    if not os.access(root, os.W_OK):
        hint = "what only reads works; to run, make the folder writable for you: the lake is in .lakesmith/"
        return Check("project folder", Verdict.PROBLEM, f"{root} cannot be written", hint)
    return disk_check("project folder", root)


def _lock(file: Path) -> Check:
    """Who holds the project's lock; nothing is taken or changed."""
    try:
        with file.open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _held(lock.read())
    except FileNotFoundError:
        return Check("lock", Verdict.OK, "free: nothing has run here yet")
    except OSError as error:
        hint = "put the project on a file system with locks, in a folder that is yours"
        return Check("lock", Verdict.PROBLEM, f"{file}: {error.strerror or error}", hint)
    return Check("lock", Verdict.OK, "free")


def _held(content: bytes) -> Check:
    try:
        holder = Holder(**json.loads(content))
    except (ValueError, TypeError):
        return Check("lock", Verdict.NOTE, "held by a process that has not said which")
    if holder.is_stopped:
        hint = f"let it go on with 'kill -CONT {holder.pid}', or end it"
        return Check("lock", Verdict.PROBLEM, f"held by {holder}, which is stopped", hint)
    return Check("lock", Verdict.NOTE, f"held by {holder}")


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


def _problem(name: str, error: LakesmithError) -> Check:
    return as_check(name, error.problems[0])


def as_check(name: str, problem: Problem) -> Check:
    """A problem as a check that failed."""
    lines = replace(problem, hint=None).lines()
    return Check(name, Verdict.PROBLEM, "\n".join(lines), problem.hint)
