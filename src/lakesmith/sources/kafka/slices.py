"""Slices of a topic's partitions stand for files: their lines in the ledger, and those that a batch ingests.
Pure.

A partition of a topic has one path for ever, with the topic's id in it, and the newest line of a path counts.
So the pinned ledger says how far each partition was ingested, in one line each, however many batches there
were. A rollback takes that back with the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lakesmith.errors import Problem
from lakesmith.project.definitions import KAFKA_PATH, KafkaSource
from lakesmith.sources.choose import FileChoice
from lakesmith.sources.ledger_view import LedgerView
from lakesmith.sources.model import FileIdentity

_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Bounds:
    """The first offset of a partition, and the one after its last record that can be read."""

    first: int
    end: int


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic. ``id`` distinguishes it from other topics of its name."""

    id: str
    partitions: Mapping[int, Bounds]


@dataclass(frozen=True, slots=True)
class Slice:
    """Records of a partition, from ``start`` up to but not including ``end``."""

    topic: str
    topic_id: str
    partition: int
    start: int
    end: int

    def as_file(self) -> FileIdentity:
        """Returns its line in the ledger. The size is the number of offsets; some may have no record."""
        path = f"{KAFKA_PATH}{self.topic}@{self.topic_id}/{self.partition}"
        return FileIdentity(path, self.end - self.start, 0, etag=f"{self.start}-{self.end}")


def slice_of(file: FileIdentity) -> Slice | None:
    """Reverts ``as_file``; None for a file that is not a slice."""
    if not is_slice(file.path):
        return None
    name, _, partition = file.path.removeprefix(KAFKA_PATH).rpartition("/")
    topic, _, topic_id = name.partition("@")
    start, _, end = file.etag.partition("-")
    return Slice(topic, topic_id, int(partition), int(start), int(end))


def is_slice(path: str) -> bool:
    return path.startswith(KAFKA_PATH)


def choose_slices(source: KafkaSource, state: TopicState, ledger: LedgerView) -> FileChoice:
    """Chooses what to ingest of the topic, given how far the ledger says that each partition was ingested."""
    taken = _taken(source, ledger)
    now = {found.partition: found.end for found in taken if found.topic_id == state.id}
    before = taken[-1].topic_id if taken and not now else None
    if before is not None and not source.restarts:
        return FileChoice(problems=(_made_again(source, state, before),))
    choice = _Choice(source, state, now, is_first=not taken)
    if problems := tuple(choice.problems()):
        return FileChoice(problems=problems)
    restarted = () if before is None else (_restarted(source, before),)
    return FileChoice(
        take=tuple(each.as_file() for each in choice.slices()), notes=(*restarted, *choice.notes())
    )


def _taken(topic: KafkaSource, ledger: LedgerView) -> list[Slice]:
    """The last slice of each partition of topics of this name, the oldest first."""
    entries = sorted((ledger[path] for path in ledger if is_slice(path)), key=lambda entry: entry.batch)
    found = (slice_of(entry.file) for entry in entries)
    return [each for each in found if each is not None and each.topic == topic.topic]


@dataclass(frozen=True, slots=True)
class _Choice:
    """``now``: the next offset of each partition that was ingested before; ``is_first``: the topic is new."""

    source: KafkaSource
    state: TopicState
    now: Mapping[int, int]
    is_first: bool

    def slices(self) -> list[Slice]:
        """The slices of a batch; with records, also where partitions without any begin."""
        found = [self._slice(number) for number in sorted(self.state.partitions)]
        moved = [each for each in found if each.start != self.now.get(each.partition, each.start)]
        # Later, the end would be another.
        has_to_be_kept = moved or (self.is_first and self.source.from_end)
        if not has_to_be_kept and all(each.start == each.end for each in found):
            return []
        return [it for it in found if it.end > it.start or it in moved or it.partition not in self.now]

    def _slice(self, number: int) -> Slice:
        """From where it was left, or begins, to its end."""
        bounds = self.state.partitions[number]
        at_end = self.is_first and self.source.from_end
        start = self.now.get(number, bounds.end if at_end else bounds.first)
        start = min(max(start, bounds.first), bounds.end)
        return Slice(self.source.topic, self.state.id, number, start, bounds.end)

    def problems(self) -> Iterator[Problem]:
        missing = sorted(self.now.keys() - self.state.partitions.keys())
        if missing:
            yield self._problem(
                "LS465", f"partitions {_listed(missing)} are gone", "all partitions that were taken", "none"
            )
            return
        if gone := list(self._gone()):
            if not self.source.skips_gone:
                yield self._problem(
                    "LS463",
                    "records that were not ingested are gone: the topic keeps them for less time than passes"
                    " between runs",
                    "; ".join(f"partition {number} from offset {at}" for number, at, _ in gone[:_SHOWN]),
                    "; ".join(
                        f"partition {number} begins at {first}, {first - at} offsets are gone"
                        for number, at, first in gone[:_SHOWN]
                    ),
                    "`on_gone: skip` goes on with what is there and keeps on record what is missing",
                )
            return
        if (short := list(self._short())) and not self.source.skips_gone:
            yield self._problem(
                "LS464",
                "the topic ends before what was taken of it: brokers have lost records, or were set back",
                "; ".join(f"partition {number} up to offset {at}" for number, at, _ in short[:_SHOWN]),
                "; ".join(f"partition {number} ends at {end}" for number, _, end in short[:_SHOWN]),
                "`on_gone: skip` goes on at its end; records that were written there meanwhile are not taken",
            )

    def notes(self) -> Iterator[str]:
        """Notes on what continues nevertheless."""
        said = f"source {self.source.name!r}: partition"
        for number, at, first in self._gone():
            yield f"{said} {number}: offsets {at} to {first - 1} are gone and were not taken (on_gone: skip)"
        for number, at, end in self._short():
            yield (
                f"{said} {number} ends at {end}, and was ingested up to {at}: it goes on at its end"
                " (on_gone: skip)"
            )
        new = [] if not self.now else sorted(self.state.partitions.keys() - self.now.keys())
        for number in (it for it in new if self.state.partitions[it].end > self.state.partitions[it].first):
            yield f"{said} {number} is new and taken from its beginning"

    def _gone(self) -> Iterator[tuple[int, int, int]]:
        for number, at in sorted(self.now.items()):
            if number in self.state.partitions and at < (first := self.state.partitions[number].first):
                yield number, at, first

    def _short(self) -> Iterator[tuple[int, int, int]]:
        for number, at in sorted(self.now.items()):
            if number in self.state.partitions and at > (end := self.state.partitions[number].end):
                yield number, at, end

    def _problem(self, code: str, what: str, expected: str, found: str, hint: str | None = None) -> Problem:
        text = f"source {self.source.name!r}: topic {self.source.topic}: {what}"
        return Problem(code, text, self.source.place, expected, found, hint)


def _made_again(source: KafkaSource, state: TopicState, before: str) -> Problem:
    return Problem(
        "LS462",
        f"source {source.name!r}: topic {source.topic} was deleted and made again",
        source.place,
        f"the topic that was taken before, with the id {before}",
        f"the id {state.id}",
        "`on_recreated: restart` takes the new one from its beginning, besides the rows that are there",
    )


def _restarted(source: KafkaSource, before: str) -> str:
    return (
        f"source {source.name!r}: topic {source.topic} was made again (its id was {before}); the new one is"
        " taken from its"
        " beginning (on_recreated: restart)"
    )


def _listed(numbers: Sequence[int]) -> str:
    more = f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
    return ", ".join(map(str, numbers[:_SHOWN])) + more
