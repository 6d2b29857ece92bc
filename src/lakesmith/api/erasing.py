"""Erases people's rows from every table, landing file and snapshot, and proves that nothing is left."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from lakesmith.api.access import Access
from lakesmith.api.erasure_work import Done, Listener, Work, clean_places, do, find_in_landing, walk, ways
from lakesmith.api.results import Change, Heads, heads_of, require_same_heads
from lakesmith.errors import RunError, StateError
from lakesmith.execute.erase import Asked, EraseDecider, Erasure, Receipts, plan_erasure
from lakesmith.execute.faults import reach
from lakesmith.execute.landing_erase import LandingFile, require_choices
from lakesmith.execute.opened import Opened
from lakesmith.plan.cost import DataSize
from lakesmith.plan.steps import Strategy
from lakesmith.project.definitions import TableName
from lakesmith.recovery.versions import erase_versions, require_client
from lakesmith.sql.parse_erasure_filter import parse_erasure_filter


@dataclass(frozen=True, slots=True)
class EraseOptions:
    """Options of an erasure; see ``Lakehouse.erase``."""

    where: str
    also: tuple[str, ...] = ()
    besides: tuple[str, ...] = ()
    wait: float = 0.0
    on_event: Listener = lambda _: None


@dataclass(frozen=True, slots=True)
class ErasedTable:
    """A table that rows are erased from.

    Attributes:
        rows: the rows of the persons; None if the table has no such columns.
        bad_rows: those in its quarantine.
        is_sourced: whether rows are deleted from it; a derived table follows.
        lookups: the tables that its rows look up again when it is refreshed in full.
    """

    table: TableName
    rows: int | None
    bad_rows: int
    is_sourced: bool
    lookups: tuple[TableName, ...] = ()


@dataclass(frozen=True, slots=True)
class OtherTable:
    """A table that is not erased from. ``rows`` is None if it was never run; ``way`` is what to do."""

    table: TableName
    rows: int | None
    way: str


@dataclass(frozen=True, slots=True)
class ErasurePreview:
    """What an erasure would do.

    Attributes:
        erasure: its scope: the table that was named, tables without such columns, and tags that are deleted.
        tables: the tables that rows are erased from, in dependency order.
        others: tables with the columns that nothing is erased from.
        landing: the landing files with records of the persons.
        in_s3: whether the lake may be in S3, where old versions of objects are deleted, too.
    """

    erasure: Erasure
    tables: tuple[ErasedTable, ...]
    others: tuple[OtherTable, ...]
    landing: tuple[LandingFile, ...]
    in_s3: bool = False

    def to_dict(self) -> dict[str, Any]:
        erasure = self.erasure
        return {
            "asked": str(erasure.asked),
            "columns": list(erasure.persons.columns),
            "tables": [
                {"table": str(each.table), "rows": each.rows, "bad_rows": each.bad_rows}
                for each in self.tables
            ],
            "not_looked_into": list(map(str, erasure.skipped)),
            "others": [{"table": str(each.table), "rows": each.rows} for each in self.others],
            "left_out": list(map(str, erasure.besides)),
            "landing": [
                {"file": each.path, "choice": each.choice or "none", "removed": each.goes}
                for each in self.landing
            ],
            "tags_taken_off": sorted(erasure.tags),
        }


@dataclass(frozen=True, slots=True)
class Receipt:
    """The receipt of an erasure, as it is in ``file``, but for names of files that tell of the persons."""

    content: Mapping[str, Any]
    file: Path

    @property
    def is_done(self) -> bool:
        """Whether nothing is left of the persons; ``content["proof"]["left"]`` names what is."""
        return bool(self.content["done"])

    def to_dict(self) -> dict[str, Any]:
        return {**self.content, "file": str(self.file)}


@dataclass(frozen=True, slots=True)
class Readmitted:
    """Tables that new rows of the persons enter again."""

    tables: tuple[TableName, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"readmitted": list(map(str, self.tables))}


def erase(access: Access, table: str, options: EraseOptions) -> Change[ErasurePreview, Receipt]:
    opened = access.opened()
    asked = _asked(opened, table, options)
    with access.alone(opened, f"erase from {asked.table}", options.wait):
        erasure = plan_erasure(opened.lake, opened.graph, asked)
        require_client(opened.lake, erasure)
        work = _look(access, opened, erasure, options.on_event)
        heads = heads_of(opened.lake.catalog, erasure.tables)
    require_choices(work.landing.in_tables(erasure.sourced))
    change = Change(
        _preview(work),
        heads,
        nullcontext,
        lambda: heads_of(opened.lake.catalog, erasure.tables),
        lambda _: _erase(access, work, asked, heads, options.wait),
    )
    # By which columns, and not by which values, which are the persons'.
    text = f"erase {asked.table} --where {', '.join(asked.persons.columns)}=..."
    return access.noted(change, opened.project, "erase", text, erasure.tables)


def _asked(opened: Opened, table: str, options: EraseOptions) -> Asked:
    also, besides = (tuple(map(opened.one_of_ours, each)) for each in (options.also, options.besides))
    return Asked(opened.one_of_ours(table), parse_erasure_filter(options.where), also, besides)


def _look(access: Access, opened: Opened, erasure: Erasure, on_event: Listener) -> Work:
    """Looks for the persons in the tables, and in the landing files of those that have the columns.

    The session writes their rows to its folders, so it ends with the erasure; so does one that was left warm.
    """
    from lakesmith.spark.erase import find

    access.stop_warm(opened)
    session = access.do(lambda: access.session(opened, size=DataSize.LARGE, stays=False))

    def look() -> Work:
        found = find(session, opened.lake, erasure)
        landing = find_in_landing(opened, erasure, session)
        return Work(opened, erasure, session, found, landing, on_event)

    return access.do_in_spark(session, look)


def _preview(work: Work) -> ErasurePreview:
    erasure, found = work.erasure, work.found
    tables = tuple(
        ErasedTable(
            name,
            found.rows.get(name),
            found.bad_rows.get(name, 0),
            name in erasure.sourced,
            tuple(work.definition(name).lookups),
        )
        for name in erasure.tables
    )
    others = tuple(_other(work, name) for name in erasure.others)
    landing, target = work.landing.in_tables(erasure.sourced), work.opened.project.target
    return ErasurePreview(erasure, tables, others, landing, target.type in ("glue", "rest", "jdbc"))


def _other(work: Work, name: TableName) -> OtherTable:
    found = work.found
    rows = found.rows.get(name, 0) + found.bad_rows.get(name, 0)
    way = ways(work.definition(name), work.erasure) if rows else "nothing is erased from it"
    return OtherTable(name, rows if name in found.rows else None, way)


def _erase(access: Access, work: Work, asked: Asked, heads: Heads, wait: float) -> Receipt:
    opened, erasure = work.opened, work.erasure
    receipts = Receipts(opened.project.state_dir)
    number = receipts.id_of(asked.table, asked.persons)
    with access.alone(opened, f"erase from {asked.table}", wait):
        require_same_heads(heads, heads_of(opened.lake.catalog, erasure.tables))
        if plan_erasure(opened.lake, opened.graph, asked) != erasure:
            what, hint = "the lake was changed since this was prepared", "prepare it again"
            raise StateError.of("LS511", what, hint=hint)
        replicas = _replicas(opened)
        done = access.do_in_spark(work.session, lambda: do(work, receipts, number))
        access.close()
        done.left += clean_places(opened, erasure)
        versions = erase_versions(opened.lake, erasure, replicas)
        done.left += versions.left
        sessions = _sessions(opened)
    # Those of commands that wait for the lock end only when it is free.
    done.left += (
        f"{folder} may have rows of theirs that Spark shuffled: end what uses it (lakesmith up, a query,"
        " lakesmith stop), and call this again"
        for folder in _lasting(access, opened, sessions, wait)
    )
    content = {**_receipt(work, done), "old_versions": versions.to_dict()}
    _alert(access, opened, asked.table, done.left)
    reach("erase-proved", str(asked.table))
    # A file with nobody else's records may be called as they are.
    alone_in = [file.path for file in work.landing.theirs if file.records == file.all_records]
    hidden = receipts.hidden(content, asked.persons, alone_in)
    return Receipt(content, receipts.finish(number, {"receipt": number, **hidden}))


def _replicas(opened: Opened) -> dict[str, str]:
    """The buckets that the target's deployment copies to others, each with its copy."""
    from lakesmith.deploy.facts import Stack

    deploy = opened.project.target.deploy
    if deploy is None or deploy.replica_region is None:
        return {}
    stack = Stack(opened.project, opened.graph, deploy)
    return {bucket.name: stack.replica_of(bucket) for bucket in stack.copied}


def _alert(access: Access, opened: Opened, table: TableName, left: Sequence[str]) -> None:
    if opened.project.alerts is not None:
        from lakesmith.alerts.alerting import after_erasure

        after_erasure(opened.project, table, left, access.host.notice)


def _sessions(opened: Opened) -> set[Path]:
    """The folders of the project's sessions that have not ended, which have what these shuffled."""
    from lakesmith.spark.open import log_of
    from lakesmith.spark.start.session_folder import living_folders

    return set(living_folders(str(log_of(opened.project))))


def _lasting(access: Access, opened: Opened, sessions: set[Path], wait: float) -> list[Path]:
    """Waits for sessions to end, at most so many seconds; returns those that have not."""
    end = time.monotonic() + wait
    if sessions and wait:
        access.host.notice(f"waiting for Spark sessions to end: {', '.join(map(str, sorted(sessions)))}")
    while sessions:
        # A command that ended meanwhile may have left its session warm.
        access.stop_warm(opened)
        sessions &= _sessions(opened)
        if time.monotonic() >= end:
            break
        time.sleep(0.3)
    return sorted(sessions)


def _receipt(work: Work, done: Done) -> dict[str, Any]:
    erasure, found, project = work.erasure, work.found, work.opened.project
    assert done.proof is not None
    return {
        "project": project.name,
        "target": project.target.name,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        **_preview(work).to_dict(),
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
        "others": [{"table": str(name), "rows": found.rows.get(name, 0)} for name in erasure.others],
        "proof": {**asdict(done.proof), "landing_files": done.landing_files, "left": done.left},
        "done": not done.left,
    }


def readmit(access: Access, table: str, options: EraseOptions) -> Readmitted:
    opened = access.opened()
    asked = _asked(opened, table, options)
    acting = access.noting(opened.project, "readmit", f"readmit {asked.table}", [asked.table], lasting=True)
    with acting, access.alone(opened, f"erase from {asked.table}", options.wait):
        erasure = plan_erasure(opened.lake, opened.graph, asked)
        persons, strategy = asked.persons, Strategy.READMIT
        decider = EraseDecider(opened.graph, opened.lake, persons=persons, strategy=strategy)
        for name in erasure.sourced:
            if failed := access.in_session(opened, DataSize.LITTLE, partial(walk, decider, name)):
                raise RunError(failed)
    return Readmitted(erasure.sourced)
