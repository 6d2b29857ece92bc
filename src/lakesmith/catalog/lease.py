"""The lease of a shared lake, in the lake itself, for runners on machines that share no disk. It only
prevents double work: every publish is right without it, by compare-and-swap, so a wrong clock costs time
alone. It is a table without rows. Its newest snapshot's summary names the holder and the end; taking,
renewing and returning it are empty appends."""

from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from lakesmith import limits
from lakesmith.catalog.busy import is_in_doubt, looked_up
from lakesmith.catalog.lock import MAINTENANCE
from lakesmith.catalog.metadata import plain_location
from lakesmith.errors import LockedError, StateError
from lakesmith.project.layout import RESERVED_LAYER

LASTS_SECONDS: Final = 120.0
"""How long a lease holds that is not renewed: so long others wait for a runner that was killed."""

_RENEWED_EACH: Final = LASTS_SECONDS / 4
_POLL_SECONDS: Final = 2.0
_TRIES: Final = 20
_KEY: Final = "lakesmith.lease"
_KEPT: Final = 20
_PROPERTIES: Final = {
    "format-version": "2",
    "commit.retry.num-retries": "0",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "5",
}


@dataclass(frozen=True, slots=True)
class Lease:
    """The holder of a lease. ``until_ms``: ms since the epoch by the holder's clock; 0: it was given back."""

    token: str
    host: str
    pid: int
    command: str
    since: str
    until_ms: int

    def __str__(self) -> str:
        return f"{self.command!r} on {self.host} (process {self.pid}), since {self.since}"


def _place(location: str) -> str:
    return re.sub(r"^s3[an]:", "s3:", plain_location(location)).rstrip("/")


def lease_name(project: str) -> tuple[str, str]:
    return RESERVED_LAYER, f"lease__{project}"


class LeaseTable:
    """The lease of a project in a PyIceberg catalog. ``ask`` explains failures. ``home``: the warehouse of
    new tables (None: the catalog decides); a lease elsewhere came with a copied database."""

    def __init__(
        self,
        catalog: Any,
        project: str,
        ask: Callable[[Callable[[], Any]], Any] = lambda question: question(),
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        home: str | None = None,
    ) -> None:
        self._home = home
        self._catalog = catalog
        self._name = lease_name(project)
        self._ask = ask
        self._now_ms = now_ms

    def holder(self) -> Lease | None:
        """Who holds it now; None: nobody, or nobody any more. Raises as ``try_to_take``."""
        found = _lease(self._ask(self._table))
        return found if found is not None and found.until_ms > self._now_ms() else None

    def try_to_take(self, wanted: Lease) -> Lease | None:
        """Takes or renews the lease; returns its holder if another has it. Raises StateError LS525 for a
        lease outside ``home``, and what ``ask`` raises."""
        other: Lease | None = self._ask(lambda: self._try(wanted))
        return other

    def _try(self, wanted: Lease) -> Lease | None:
        from pyiceberg.exceptions import CommitFailedException

        for _ in range(_TRIES):
            table = self._table()
            self._require_home(table.metadata.location)
            found = _lease(table)
            if found is not None and found.token != wanted.token and found.until_ms > self._now_ms():
                return found
            if found == wanted:
                return None
            try:
                self._write(table, wanted)
                return None
            except CommitFailedException:
                # Somebody else wrote: what is there now tells.
                continue
            except Exception as error:
                if not is_in_doubt(error) and "sequence number" not in str(error):
                    raise
        return _lease(self._table())

    def _require_home(self, location: str) -> None:
        if self._home is not None and not f"{_place(location)}/".startswith(f"{_place(self._home)}/"):
            raise StateError.of(
                "LS525",
                "the catalog names the tables of another warehouse, so nothing is written",
                expected=f"tables in {self._home}, the target's warehouse",
                found=f"the lease of the project in {location}",
                hint="a catalog's database that was copied names the original's files: begin with an "
                "empty database, or give the"
                " target its own warehouse back",
            )

    def _write(self, table: Any, lease: Lease) -> None:
        import pyarrow as pa

        said = {_KEY: json.dumps(asdict(lease))}
        table.append(pa.table({"nothing": pa.array([], pa.string())}), snapshot_properties=said)
        snapshots = [snapshot.snapshot_id for snapshot in table.metadata.snapshots]
        if len(snapshots) > _KEPT:
            head = table.metadata.current_snapshot_id
            table.maintenance.expire_snapshots().by_ids([each for each in snapshots if each != head]).commit()

    def _table(self) -> Any:
        from pyiceberg.exceptions import NoSuchTableError, TableAlreadyExistsError
        from pyiceberg.schema import Schema
        from pyiceberg.types import NestedField, StringType

        try:
            return looked_up(self._catalog.load_table(self._name))
        except NoSuchTableError:
            self._catalog.create_namespace_if_not_exists(self._name[0])
        try:
            schema = Schema(NestedField(1, "nothing", StringType(), required=False))
            return looked_up(self._catalog.create_table(self._name, schema, properties=_PROPERTIES))
        except TableAlreadyExistsError:
            return looked_up(self._catalog.load_table(self._name))


def _lease(table: Any) -> Lease | None:
    snapshot = table.metadata.current_snapshot_id and table.metadata.snapshot_by_id(
        table.metadata.current_snapshot_id
    )
    said = snapshot.summary.additional_properties.get(_KEY) if snapshot and snapshot.summary else None
    try:
        return Lease(**json.loads(said)) if said else None
    except (TypeError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class Waiting:
    """How long other holders are waited for, in seconds; ``on_wait`` is called once, ``given_up`` ends it."""

    seconds: float = 0.0
    on_wait: Callable[[Lease], None] = lambda _: None
    given_up: Callable[[], bool] = lambda: False


@contextmanager
def held(table: LeaseTable, command: str, waiting: Waiting) -> Iterator[None]:
    """Holds and renews the lease while the body runs. Raises LockedError LS703 after the wait."""
    since = datetime.now(UTC).isoformat(timespec="seconds")
    mine = Lease(uuid.uuid4().hex, socket.gethostname(), os.getpid(), command, since, 0)
    _wait(table, mine, waiting)
    done = threading.Event()
    renewing = threading.Thread(target=_renew, args=(table, mine, done), name="lease", daemon=True)
    renewing.start()
    try:
        yield
    finally:
        done.set()
        renewing.join(_RENEWED_EACH)
        _let_go(lambda: table.try_to_take(mine))


def _until() -> int:
    return int((time.time() + LASTS_SECONDS) * 1000)


def _wait(table: LeaseTable, mine: Lease, waiting: Waiting) -> None:
    begun = time.monotonic()
    has_called = False
    while (other := table.try_to_take(replace(mine, until_ms=_until()))) is not None:
        soon = limits.MAINTENANCE_WAITED_SECONDS if other.command in MAINTENANCE else 0.0
        if waiting.given_up() or time.monotonic() - begun >= max(waiting.seconds, soon):
            raise _taken(other)
        if not has_called:
            waiting.on_wait(other)
        has_called = True
        time.sleep(_POLL_SECONDS)


def _renew(table: LeaseTable, mine: Lease, done: threading.Event) -> None:
    while not done.wait(_RENEWED_EACH):
        _let_go(lambda: table.try_to_take(replace(mine, until_ms=_until())))


def _let_go(step: Callable[[], object]) -> None:
    """Runs a step on the lease and ignores its failure: a lease that is not renewed runs out by itself."""
    with suppress(Exception):
        step()


def _taken(other: Lease) -> LockedError:
    until = datetime.fromtimestamp(other.until_ms / 1000, UTC).strftime("%H:%M:%S")
    return LockedError.of(
        "LS703",
        "another runner is at work on this target",
        expected="one at a time, so that nothing is computed twice",
        found=f"held by {other}; its lease runs until {until} UTC, and longer while it works",
        hint="wait for it (--wait SECONDS), or end it: after a kill the lease runs out by itself",
    )
