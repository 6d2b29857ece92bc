"""What of a topic is taken, by what the ledger says: pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from lakesmith.errors import Place
from lakesmith.project.definitions import KafkaSource
from lakesmith.project.formats import FileFormat
from lakesmith.sources.choose import FileChoice
from lakesmith.sources.kafka.slices import Bounds, Slice, TopicState, choose_slices, slice_of
from lakesmith.sources.ledger_view import EMPTY
from lakesmith.sources.model import FileAction, FileIdentity, LedgerEntry

PLACE = Place("tables/bronze/clicks.yaml", 1)
TOPIC = KafkaSource(
    "kafka", "kafka:clicks", FileFormat.JSON, PLACE, connection="CLICKS_KAFKA", topic="clicks"
)

Told = Mapping[int, tuple[int, int]]


def chosen(
    now: Told, *taken: tuple[str, Told], topic: KafkaSource = TOPIC, name: str = "clicks"
) -> FileChoice:
    """What is chosen of a topic whose id is ``b``, after the batches ``taken``, each of a topic by its id."""
    entries = [
        LedgerEntry(
            Slice(name, topic_id, number, *bounds).as_file(), "kafka", FileAction.TAKEN, "a", batch, 0
        )
        for batch, (topic_id, slices) in enumerate(taken, 1)
        for number, bounds in slices.items()
    ]
    state = TopicState("b", {number: Bounds(*bounds) for number, bounds in now.items()})
    return choose_slices(topic, state, EMPTY.plus(entries))


def taken_of(choice: FileChoice) -> dict[int, tuple[int, int]]:
    assert not choice.problems
    found = [slice_of(file) for file in choice.take]
    return {each.partition: (each.start, each.end) for each in found if each}


FAIL, SKIP = TOPIC, replace(TOPIC, skips_gone=True)
LATEST = replace(TOPIC, from_end=True)
RESTART = replace(TOPIC, restarts=True)

CASES: Sequence[tuple[str, KafkaSource, Told, Sequence[tuple[str, Told]], Told]] = [
    ("all there is at first, with where the empty ones begin", FAIL, {0: (3, 9), 1: (4, 4)}, [],
     {0: (3, 9), 1: (4, 4)}),
    ("nothing of a topic without a record", FAIL, {0: (0, 0)}, [], {}),
    ("the end alone", LATEST, {0: (3, 9), 1: (0, 0)}, [], {0: (9, 9), 1: (0, 0)}),
    ("what came since", LATEST, {0: (3, 12), 1: (0, 0)}, [("b", {0: (9, 9), 1: (0, 0)})], {0: (9, 12)}),
    ("nothing new", FAIL, {0: (3, 9)}, [("b", {0: (0, 5)}), ("b", {0: (5, 9)})], {}),
    ("a batch's end is where the next begins", FAIL, {0: (0, 9)}, [("b", {0: (0, 5)}), ("b", {0: (5, 7)})],
     {0: (7, 9)}),
    ("records gone that were taken", FAIL, {0: (5, 9)}, [("b", {0: (0, 5)})], {0: (5, 9)}),
    ("a new partition from its beginning", LATEST, {0: (0, 5), 1: (0, 2)}, [("b", {0: (0, 5)})], {1: (0, 2)}),
    ("a new partition without a record waits", FAIL, {0: (0, 5), 1: (0, 0)}, [("b", {0: (0, 5)})], {}),
    ("past what is gone", SKIP, {0: (7, 9)}, [("b", {0: (0, 5)})], {0: (7, 9)}),
    ("all is gone, and that is kept", SKIP, {0: (9, 9)}, [("b", {0: (0, 5)})], {0: (9, 9)}),
    ("from an end that was set back", SKIP, {0: (0, 3)}, [("b", {0: (0, 5)})], {0: (3, 3)}),
    ("a topic made again, from its beginning", RESTART, {0: (0, 3)}, [("a", {0: (0, 5)})], {0: (0, 3)}),
    ("it goes on with the new one", FAIL, {0: (0, 4)}, [("a", {0: (0, 5)}), ("b", {0: (0, 3)})], {0: (3, 4)}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("topic", "now", "taken", "expected"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_what_is_taken(
    topic: KafkaSource, now: Told, taken: Sequence[tuple[str, Told]], expected: Told
) -> None:
    assert taken_of(chosen(now, *taken, topic=topic)) == expected


REFUSED = [
    ("LS462", {0: (0, 3)}, ("a", {0: (0, 5)}), "the id b"),
    ("LS463", {0: (7, 9), 1: (0, 1)}, ("b", {0: (0, 5), 1: (0, 1)}),
     "partition 0 begins at 7, 2 offsets are gone"),
    ("LS464", {0: (0, 3)}, ("b", {0: (0, 5)}), "partition 0 ends at 3"),
    ("LS465", {0: (0, 5)}, ("b", {0: (0, 5), 4: (0, 0)}), "none"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "now", "taken", "found"), REFUSED, ids=[case[0] for case in REFUSED])
def test_what_is_refused(code: str, now: Told, taken: tuple[str, Told], found: str) -> None:
    choice = chosen(now, taken)
    assert [(problem.code, problem.found) for problem in choice.problems] == [(code, found)]
    assert choice.take == ()


def test_what_is_said_of_what_goes_on() -> None:
    """Gaps with their offsets, new partitions, a topic made again: once, with the batch that follows."""
    lost = chosen({0: (7, 9), 1: (0, 1)}, ("b", {0: (0, 5)}), topic=SKIP).notes
    assert [note.removeprefix("source 'kafka': ") for note in lost] == [
        "partition 0: offsets 5 to 6 are gone and were not taken (on_gone: skip)",
        "partition 1 is new and taken from its beginning",
    ]
    (again,) = chosen({0: (0, 1)}, ("a", {0: (0, 5)}), topic=RESTART).notes
    assert "made again (its id was a)" in again
    assert chosen({0: (0, 2)}, ("a", {0: (0, 5)}), ("b", {0: (0, 2)}), topic=RESTART).notes == ()


def test_lines_of_other_topics_and_files_do_not_count() -> None:
    """A source may be pointed at another topic; that it is another one is its declaration's word."""
    assert taken_of(chosen({0: (0, 3)}, ("a", {0: (0, 5)}), name="other")) == {0: (0, 3)}
    assert slice_of(FileIdentity("landing/kafka:x", 1, 1)) is None
