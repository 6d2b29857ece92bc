"""The progress record: what a table has consumed, published with the data by one Iceberg commit. It is the
summary of a batch's last, empty append, and pins the position of each input and the snapshot of each sidecar.
What no record pins does not count."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

SUMMARY_KEY = "lakesmith.record"
"""The summary property that holds the record as JSON."""

FORMAT = 1
"""The version of the record's JSON; a newer one is refused, never guessed at."""

READER = 1
"""The revision of how values are read and compared. It is raised if rows of earlier versions may be wrong:
``doctor`` names them (``api/doctor_values``)."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A table at a snapshot (None: empty): an input's position or a sidecar's version. ``schema``: the id of
    the schema in which an input was read, if kept."""

    uuid: str
    snapshot: int | None
    schema: int | None = None


@dataclass(frozen=True, slots=True)
class Versions:
    """Counts of the versions that a batch read; a row can have several. ``opened`` a row, ``continued`` the
    row before, ``closed`` it (deletes)."""

    opened: int = 0
    continued: int = 0
    closed: int = 0

    @property
    def placed(self) -> int:
        """How many they are."""
        return self.opened + self.continued + self.closed


@dataclass(frozen=True, slots=True)
class Account:
    """The row balance of a batch (law 3), in rows; ``read`` is counted independently. In a table that keeps
    versions, ``versions`` has what was read, and ``inserted``, ``updated`` and ``deleted`` count the table's
    own rows. ``rounded`` rows, among ``inserted``, lost digits."""

    read: int = 0
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    superseded: int = 0
    filtered: int = 0
    quarantined: int = 0
    absent_deletes: int = 0
    rounded: int = 0
    rows_before: int = 0
    rows_after: int = 0
    versions: Versions | None = None

    @property
    def placed(self) -> int:
        """The rows whose end is known: what ``read`` has to equal where the account is by row."""
        if self.versions is not None:
            moved = self.versions.placed
        else:
            moved = self.inserted + self.updated + self.deleted
        return (
            moved + self.unchanged + self.superseded + self.filtered + self.quarantined + self.absent_deletes
        )


class Gate(NamedTuple):
    """How a table rule ended in a batch: ``passed`` or ``failed``, the metric, and what was ``expected``, in
    words (None: an older record)."""

    outcome: str
    metric: float | None
    expected: str | None = None

    @property
    def has_failed(self) -> bool:
        """Whether the table did not meet the rule."""
        return self.outcome == "failed"


@dataclass(frozen=True, slots=True)
class Record:
    """One published batch.

    ``attempt`` is this batch's UUID and ``parent`` that of the batch it continues; ``batch`` is a number for
    people. ``kind``: a plan's strategy: files, ledger, append, upsert, advance, keys, sums, full, replay,
    drop. ``by_row``: the account balances row by row (keyed and row-wise batches); a recomputed table
    balances by its row counts alone. ``definition`` maps the parts of the definition that ``fingerprint``
    stands for to short hashes; older records have none. ``refused``: what the query turned out not to allow
    (see ``plan.facts``). ``columns``: the table's own by name, with their field ids, as the publish leaves
    them; older records have none. ``idle``: the inputs whose watermarks did not count; ``closed``: up to
    where windows were published before, where that had to be kept, and ``closed_later`` the ends of those
    that watermarks could not reach yet. ``arrived``: when the rows of the inputs with watermarks had last
    changed, in milliseconds since the epoch; ``ahead``: by watermark how many rows were too far ahead of
    that, and their greatest time. ``unknown``: by lookup as of arrival how many of the rows that were
    computed found nothing there. ``started_ms`` is milliseconds since the epoch. ``checks`` maps a rule's
    text to the number of rows that broke it. ``metrics`` has what table rules measured, newest first, with
    what they may ask of earlier batches; ``gates`` how each ended in this batch. ``readers`` maps a revision
    (``READER``) to the first batch of the table's rows that it read; rows of batches before are older.
    """

    attempt: str
    parent: str | None
    batch: int
    kind: str
    started_ms: int
    fingerprint: str
    account: Account
    by_row: bool = True
    inputs: Mapping[str, Pin] = field(default_factory=dict)
    sidecars: Mapping[str, Pin] = field(default_factory=dict)
    files: int = 0
    ledger_hash: str | None = None
    checks: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    definition: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, int] = field(default_factory=dict)
    idle: tuple[str, ...] = ()
    closed: str | None = None
    closed_later: tuple[str, ...] = ()
    arrived: Mapping[str, int] = field(default_factory=dict)
    ahead: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    unknown: Mapping[str, int] = field(default_factory=dict)
    metrics: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    gates: Mapping[str, Gate] = field(default_factory=dict)
    readers: Mapping[str, int] = field(default_factory=dict)

    def was_read_before(self, batch: int) -> bool:
        """Returns whether rows of a batch are of an earlier ``READER``."""
        return str(READER) not in self.readers or batch < self.readers[str(READER)]

    def to_summary(self) -> dict[str, str]:
        """The snapshot summary property that carries the record."""
        return {SUMMARY_KEY: json.dumps({"format": FORMAT, **asdict(self)}, separators=(",", ":"))}

    @classmethod
    def from_summary(cls, summary: Mapping[str, str]) -> Record | None:
        """Returns the record in a snapshot's summary, or None. Raises ValueError for a record of a newer
        lakesmith."""
        text = summary.get(SUMMARY_KEY)
        return None if text is None else _parsed(text)

    @classmethod
    def _from_json(cls, data: dict[str, Any]) -> Record:
        written = data.pop("format", None)
        if written != FORMAT:
            raise ValueError(f"a progress record of format {written}; this lakesmith reads format {FORMAT}")
        versions = data["account"].pop("versions", None)
        data["account"] = Account(**data["account"], versions=Versions(**versions) if versions else None)
        for name in ("inputs", "sidecars"):
            data[name] = {key: Pin(**pin) for key, pin in data[name].items()}
        data["notes"] = tuple(data["notes"])
        data["idle"] = tuple(data.get("idle", ()))
        data["closed_later"] = tuple(data.get("closed_later", ()))
        data["metrics"] = {key: tuple(found) for key, found in data.get("metrics", {}).items()}
        data["gates"] = {key: Gate(*found[:3]) for key, found in data.get("gates", {}).items()}
        data["ahead"] = {key: tuple(found) for key, found in data.get("ahead", {}).items()}
        return cls(**data)


@lru_cache(maxsize=2048)
def _parsed(text: str) -> Record:
    """Returns the record of a summary. One command asks for the same ones several times."""
    return Record._from_json(json.loads(text))
