"""Small hand-made pasts of a table, for what is pure."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from lakesmith.catalog.record import Account, Record
from lakesmith.catalog.state import Snapshot, TableState
from lakesmith.errors import LakesmithError

HOUR_MS = 3_600_000


def record(batch: int) -> Record:
    """The record of batch ``batch``, whose attempt is ``attempt-N``."""
    account = Account(read=5, inserted=3, updated=1, quarantined=1, rows_before=9, rows_after=12)
    return Record(f"attempt-{batch}", None, batch, "upsert", 0, "fingerprint", account)


@dataclass
class Past:
    """Builds a ``TableState`` commit by commit: sequence numbers count up, each commit an hour after the
    last.
    """

    snapshots: dict[int, Snapshot]
    refs: dict[str, int]
    published: list[tuple[int, int]]

    def commit(self, operation: str = "append", batch: int = 0, branch: str = "main", **counts: int) -> int:
        """Adds a snapshot on a branch and returns its id; ``total_records=3`` becomes ``total-records``."""
        number = len(self.snapshots) + 1
        summary = {"operation": operation} | {key.replace("_", "-"): str(n) for key, n in counts.items()}
        summary |= record(batch).to_summary() if batch else {}
        parent = self.refs.get(branch)
        self.snapshots[number] = Snapshot(number, parent, number, number * HOUR_MS, operation, "", summary)
        self.move(branch, number)
        return number

    def move(self, ref: str, snapshot_id: int) -> None:
        """Points a branch or tag at a snapshot; main's log gets an entry at the time of the newest commit."""
        self.refs[ref] = snapshot_id
        if ref == "main":
            self.published.append((snapshot_id, len(self.snapshots) * HOUR_MS))

    def state(self, expired: tuple[int, ...] = (), tags: Mapping[str, int] | None = None) -> TableState:
        """The table as it is now, without the expired snapshots. As Iceberg does, the log begins after the
        last of them.
        """
        log = list(self.published)
        for index in reversed(range(len(log))):
            if log[index][0] in expired:
                log = log[index + 1 :]
                break
        return TableState(
            name="silver.people",
            uuid="uuid",
            location="/lake/people",
            metadata_location="/lake/people/metadata/1.metadata.json",
            format_version=2,
            columns=(),
            snapshots={key: value for key, value in self.snapshots.items() if key not in expired},
            refs=self.refs | dict(tags or {}),
            tags=frozenset(tags or {}),
            published=tuple(log),
            properties={},
        )


@pytest.fixture
def past() -> Past:
    """A table without a commit."""
    return Past({}, {}, [])


@pytest.fixture
def data() -> Callable[[str], Path]:
    """The path of a metadata file that PyIceberg wrote (see ``data/make.py``)."""
    return lambda name: Path(__file__).parent / "data" / name


AsNobody = Callable[[Path, Callable[[], object]], str]


@pytest.fixture
def as_nobody() -> AsNobody:
    """Runs an action in a process that may read a folder and not write it; the answer is its repr, or its
    error.
    """
    return _as_nobody


def _as_nobody(folder: Path, action: Callable[[], object]) -> str:
    """What ``action`` returns in a child process that cannot write ``folder`` (root can write anything)."""
    modes = {path: path.stat().st_mode for path in (folder, *folder.rglob("*"))}
    for path in modes:
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = {path: path.stat().st_mode for path in folder.parents if path.stat().st_mode & 0o055 != 0o055}
    for path, mode in before.items():
        path.chmod(mode | 0o055)
    try:
        return _in_child(action)
    finally:
        for path, mode in (before | modes).items():
            path.chmod(mode)


def _in_child(action: Callable[[], object]) -> str:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setuid(65534)
            os.write(writer, repr(action()).encode())
        except LakesmithError as error:
            os.write(writer, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as answer:
        return answer.read()
