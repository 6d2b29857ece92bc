"""What came within a day is known, of keys and of ids, in little memory, whoever was killed in between."""

import time
from pathlib import Path

import pytest

from lakesmith.serve.intake import known as module
from lakesmith.serve.intake.frames import Frame, Request, mark
from lakesmith.serve.intake.known import Known
from lakesmith.serve.intake.segments import Segments, release_ids
from lakesmith.serve.intake.writer import Full, Outcome, Taken, Writer


def ids(*numbers: int) -> tuple[bytes, ...]:
    return tuple(mark(b"id", b"%d" % number) for number in numbers)


def request(*numbers: int, key: bytes = b"", events: str = "") -> Request:
    return Request("".join(f'{{"n": {n}{events}}}\n' for n in numbers).encode(), key, ids(*numbers))


def stored(folder: Path) -> list[str]:
    """As it is after the end of any process."""
    segments = Segments(folder)
    segments.open()
    segments.close()
    return sorted(line for path in folder.glob("*.jsonl") for line in path.read_text().splitlines())


def taken(folder: Path, *requests: Request) -> list[Outcome]:
    """What becomes of requests that come at the same time, to a process that begins and ends."""
    writer = Writer(Segments(folder))
    writer.start()
    answers = [writer.take(each) for each in requests]
    writer.stop()
    return [answer.result(0) for answer in answers]


def test_an_event_comes_once_by_its_id(tmp_path: Path) -> None:
    new = Outcome(Taken.NEW)
    assert taken(tmp_path, request(1, 2), request(2, 3), request(3)) == [
        new, Outcome(Taken.NEW, 1), Outcome(Taken.NEW, 1)
    ]  # fmt: skip
    assert taken(tmp_path, request(4, 4, 1), request(5)) == [Outcome(Taken.NEW, 2), new]
    assert stored(tmp_path) == [f'{{"n": {n}}}' for n in range(1, 6)]


def test_a_key_is_known_by_all_that_came_with_it(tmp_path: Path) -> None:
    """Also where some of it was not written, or nothing was."""
    taken(tmp_path, request(1))
    assert taken(tmp_path, request(1, 2, key=b"a"), request(1, key=b"b")) == [
        Outcome(Taken.NEW, 1), Outcome(Taken.NEW, 1)
    ]  # fmt: skip
    assert taken(tmp_path, request(1, 2, key=b"a"), request(1, key=b"b"), request(9, key=b"b")) == [
        Outcome(Taken.KNOWN, 2), Outcome(Taken.KNOWN, 1), Outcome(Taken.OTHER, 1)
    ]  # fmt: skip
    assert stored(tmp_path) == ['{"n": 1}', '{"n": 2}']


def test_a_process_that_is_killed_leaves_its_ids_in_the_journal(tmp_path: Path) -> None:
    segments = Segments(tmp_path)
    segments.open()
    segments.append([Frame(b'{"n": 1}\n', b"", b"".join(ids(1)))])
    segments.close()
    assert taken(tmp_path, request(1)) == [Outcome(Taken.NEW, 1)]
    assert stored(tmp_path) == ['{"n": 1}']


def test_what_has_no_id_is_taken(tmp_path: Path) -> None:
    bad = Request(b'{"n": "x"}\n{"n": 1}\n', b"", (None, *ids(1)))
    assert taken(tmp_path, bad, bad) == [Outcome(Taken.NEW), Outcome(Taken.NEW, 1)]


def test_a_torn_file_of_keys_is_read_up_to_there(tmp_path: Path) -> None:
    known = Known(tmp_path)
    for number in range(3):
        known.add([frame := Frame(b"", b"", ids(number)[0])])
        known.keep([frame])
    known.close()
    (path,) = tmp_path.glob(".*.keys")
    path.write_bytes(path.read_bytes()[:-1])
    again = Known(tmp_path)
    again.open()
    assert [again.get(each) for each in ids(0, 1, 2)] == [b"", b"", None]
    again.add([frame])
    again.keep([frame])
    assert len(list(tmp_path.glob(".*.keys"))) == 2, "nothing is written behind a torn end"


def test_they_are_forgotten_by_age_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [time.time()]
    monkeypatch.setattr(module.time, "time", lambda: now[0])
    known = Known(tmp_path)
    for hour in range(60):
        known.add([frame := Frame(b"", b"", ids(hour)[0])])
        known.keep([frame])
        known.forget()
        now[0] += 3600
    assert known.get(ids(59)[0]) is not None
    assert known.get(ids(36)[0]) is not None
    assert known.get(ids(30)[0]) is None
    assert len(known) < 30
    assert len(list(tmp_path.glob(".*.keys"))) < 30
    assert known.forgotten == 0
    now[0] += 48 * 3600
    known.forget()
    assert len(known) == 0


def test_there_are_never_more_than_so_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_MARKS", 1600)
    known = Known(tmp_path)
    for number in range(5000):
        known.add([frame := Frame(b"", b"", ids(number)[0])])
        if number % 10 == 9:
            known.keep([frame])
        known.forget()
        assert len(known) <= 1600
    assert known.forgotten + len(known) == 5000
    assert all(known.get(each) is not None for each in ids(*range(3600, 5000)))


def test_too_much_that_waits_for_a_run_is_refused_until_it_is_taken(tmp_path: Path) -> None:
    writer = Writer(Segments(tmp_path), max_waiting=100)
    writer.start()
    end = time.monotonic() + 20
    with pytest.raises(Full) as full:
        while time.monotonic() < end:
            writer.take(Request(b'{"n": 1}\n')).result(10)
            time.sleep(0.02)
    assert (full.value.retry_after, writer.is_backed_up) == (5, True)
    writer.stop()
    again = Writer(Segments(tmp_path), max_waiting=100)
    again.start()
    with pytest.raises(Full):
        again.take(request(2))
    for path in again.segments.waiting():
        path.unlink()
    while again.is_backed_up:
        assert time.monotonic() < end
        time.sleep(0.02)
    assert again.take(request(2)).result(10) == Outcome(Taken.NEW)
    again.stop()


def test_a_released_id_is_taken_again_by_this_process_and_the_next(tmp_path: Path) -> None:
    taken(tmp_path, request(1, 2, 3))
    (segment,) = Segments(tmp_path).waiting()
    release_ids(tmp_path, segment.name, ids(1, 9))
    assert taken(tmp_path, request(1), request(2)) == [Outcome(Taken.NEW), Outcome(Taken.NEW, 1)]
    assert taken(tmp_path, request(1)) == [Outcome(Taken.NEW, 1)]
    segments = Segments(tmp_path)
    segments.open()
    release_ids(tmp_path, segment.name, ids(3))
    segments.measure()
    assert [segments.known.get(each) for each in ids(2, 3)] == [b"", None]
    segments.close()
    assert taken(tmp_path, request(3)) == [Outcome(Taken.NEW)]
    assert not list(tmp_path.glob(".*.released"))
