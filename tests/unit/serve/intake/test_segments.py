"""What is acknowledged is on the disk, once, whenever the writer is killed."""

import os
import threading
import time
from pathlib import Path

import pytest
from intake_process import until

from lakesmith.serve.intake import known as module
from lakesmith.serve.intake import segments as segments_module
from lakesmith.serve.intake import writer as writer_module
from lakesmith.serve.intake.frames import Frame, Request, mark, read_frames
from lakesmith.serve.intake.segments import Segments, remove_taken
from lakesmith.serve.intake.writer import Full, Outcome, Taken, Writer
from lakesmith.sources.model import place_of


def request(number: int, key: bytes = b"") -> Request:
    return Request(f'{{"n": {number}}}\n'.encode(), key)


def frame(number: int, key: bytes = b"") -> Frame:
    """As the writer writes it."""
    lines = request(number).lines
    return Frame(lines, mark(b"key", key) + mark(b"events", lines) if key else b"")


def knows(segments: Segments, *keys: bytes) -> bool:
    """Whether it knows these keys, and no others."""
    return len(segments.known) == len(keys) and all(segments.known.get(mark(b"key", key)) for key in keys)


def opened(folder: Path) -> Segments:
    segments = Segments(folder)
    segments.open()
    return segments


def reopened(segments: Segments) -> Segments:
    """As after the end of its process, which lets go of the folder."""
    segments.close()
    return opened(segments.folder)


def events(folder: Path) -> list[str]:
    segments = opened(folder)
    segments.close()
    return [line for path in segments.waiting() for line in path.read_text().splitlines()]


def test_a_torn_journal_gives_whole_requests_only() -> None:
    frames = [frame(number, b"k%d" % number).as_bytes() for number in range(3)]
    whole = b"".join(frames)
    for cut in range(len(whole) + 1):
        expected = sum(len(b"".join(frames[: n + 1])) <= cut for n in range(3))
        assert list(read_frames(whole[:cut])) == [frame(n, b"k%d" % n) for n in range(3)][:expected]


def test_a_flipped_bit_ends_a_journal() -> None:
    whole = bytearray(frame(1).as_bytes() + frame(2).as_bytes())
    whole[-3] ^= 1
    assert list(read_frames(bytes(whole))) == [frame(1)]


def test_a_process_that_was_killed_leaves_all_that_it_wrote(tmp_path: Path) -> None:
    segments = opened(tmp_path)
    segments.append([frame(1, b"a"), frame(2)])
    segments.append([frame(3)])
    again = reopened(segments)
    assert [line for path in again.waiting() for line in path.read_text().splitlines()] == [
        '{"n": 1}', '{"n": 2}', '{"n": 3}'
    ]  # fmt: skip
    assert knows(again, b"a")
    assert list(tmp_path.glob(".*.journal")) == []


def test_a_folder_has_one_writer(tmp_path: Path) -> None:
    """Another one waits until it has ended, or it would seal a journal that still grows."""
    first, second = opened(tmp_path), Segments(tmp_path)
    first.append([frame(1)])
    waiting = threading.Thread(target=second.open, daemon=True)
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive()
    first.append([frame(2)])
    first.close()
    waiting.join(10)
    assert not waiting.is_alive()
    second.close()
    assert events(tmp_path) == ['{"n": 1}', '{"n": 2}']


def test_one_that_was_killed_while_sealing_seals_the_same_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    segments = opened(tmp_path)
    segments.append([frame(1)])
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", lambda *_args, **_more: (_ for _ in ()).throw(OSError("killed")))
        with pytest.raises(OSError, match="killed"):
            segments.seal()
    assert len(list(tmp_path.glob(".*.journal"))) == 1
    segments.close()
    assert events(tmp_path) == ['{"n": 1}']
    assert events(tmp_path) == ['{"n": 1}']


def test_names_never_come_twice_and_taken_segments_go(tmp_path: Path) -> None:
    segments = opened(tmp_path)
    names = set()
    for number in range(20):
        segments.append([frame(number)])
        segments.seal()
        (path,) = segments.waiting()
        names.add(path.name)
        assert remove_taken(tmp_path, [path.name, "not-there.jsonl"]) == 1
    assert len(names) == 20
    assert segments.waiting() == []


def numbers_of(segments: Segments) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place in (place_of(f"in/{path.name}") for path in segments.waiting()):
        assert place is not None
        found.setdefault(place[0].name, []).append(place[1])
    return found


def test_segments_are_numbered_without_a_gap(tmp_path: Path) -> None:
    """Also where a journal gave none: all of its requests had no events."""
    segments = opened(tmp_path)
    for lines in (frame(1), Frame(b""), frame(2), Frame(b""), Frame(b""), frame(3)):
        segments.append([lines])
        segments.seal()
        segments.seal()
    assert list(numbers_of(segments).values()) == [[1, 2, 3]]


def test_each_opening_begins_a_series(tmp_path: Path) -> None:
    """What an earlier process has left becomes a segment of its own series, with the next number there."""
    segments = opened(tmp_path)
    for number in range(3):
        segments.append([frame(number)])
        segments.seal()
    segments.append([frame(3)])
    segments = reopened(segments)
    segments.append([frame(4)])
    segments = reopened(segments)
    segments.append([frame(5)])
    segments.seal()
    assert sorted(numbers_of(segments).values()) == [[1], [1], [1, 2, 3, 4]]


def test_keys_are_known_after_a_restart_until_they_are_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    segments = opened(tmp_path)
    segments.append([frame(1, b"a")])
    segments.seal()
    segments = reopened(segments)
    assert knows(segments, b"a")
    monkeypatch.setattr(module, "KEPT_SECONDS", -1)
    assert knows(reopened(segments))
    assert list(tmp_path.glob(".*.keys")) == []


def test_a_retry_with_a_key_is_written_once(tmp_path: Path) -> None:
    writer = Writer(Segments(tmp_path))
    writer.start()
    answers = [
        writer.take(each) for each in (request(1, b"a"), request(1, b"a"), request(2, b"a"), request(3))
    ]
    assert [answer.result(10) for answer in answers] == [
        Outcome(each) for each in (Taken.NEW, Taken.KNOWN, Taken.OTHER, Taken.NEW)
    ]
    writer.stop()
    assert events(tmp_path) == ['{"n": 1}', '{"n": 3}']


class Disk:
    """A disk that can be full: then half of what is written to a file arrives, and nothing is flushed."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.is_full = False
        write, flush, place = os.write, os.fdatasync, segments_module.write_whole
        patch.setattr(os, "write", lambda file, data: write(file, data[: len(data) // 2 + 1]))
        patch.setattr(os, "fdatasync", lambda file: self.fail() if self.is_full else flush(file))
        patch.setattr(
            segments_module,
            "write_whole",
            lambda *a, **more: self.fail() if self.is_full else place(*a, **more),
        )

    def fail(self) -> None:
        raise OSError(28, "No space left on device")


def taken_again(writer: Writer, *requests: Request) -> list[Outcome]:
    """The outcomes of requests that are sent again while nothing can be written."""
    outcomes: list[Outcome] = []
    end = time.monotonic() + 30
    while len(outcomes) < len(requests):
        assert time.monotonic() < end, writer.trouble
        try:
            outcomes.append(writer.take(requests[len(outcomes)]).result(10))
        except Full:
            time.sleep(0.02)
    return outcomes


def test_a_disk_that_was_full_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Acknowledged events stay, refused ones are in no segment, also after a restart."""
    monkeypatch.setattr(writer_module, "_TRIED_AFTER_SECONDS", 0.05)
    disk, writer = Disk(monkeypatch), Writer(Segments(tmp_path))
    writer.start()
    acknowledged: list[int] = []
    for number in range(0, 30, 3):
        writer.take(request(number, b"k%d" % number)).result(10)
        disk.is_full = True
        with pytest.raises(Full, match="No space left"):
            writer.take(request(number + 1, b"k%d" % (number + 1))).result(10)
        assert writer.trouble == (
            f"{tmp_path} cannot be written: No space left on device; it is tried again every second"
        )
        with pytest.raises(Full):
            writer.take(request(number + 1)).result(10)
        disk.is_full = False
        # The refused one comes again with its key, and is new.
        assert taken_again(writer, request(number + 1, b"k%d" % (number + 1)), request(number + 2)) == [
            Outcome(Taken.NEW), Outcome(Taken.NEW)
        ]  # fmt: skip
        assert writer.trouble is None
        acknowledged += [number, number + 1, number + 2]
    writer.stop()
    assert sorted(events(tmp_path)) == sorted(f'{{"n": {number}}}' for number in acknowledged)
    again = opened(tmp_path)
    assert knows(again, *(b"k%d" % number for number in acknowledged if number % 3 != 2))
    numbers = [number for each in numbers_of(again).values() for number in each]
    assert sorted(numbers) == list(range(1, len(numbers) + 1)), "no number is left out"
    assert [path.name for path in tmp_path.iterdir() if path.suffix not in {".jsonl", ".keys"}] == [".lock"]


def test_an_intake_that_ends_while_its_disk_is_full_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, writer = Disk(monkeypatch), Writer(Segments(tmp_path))
    writer.start()
    writer.take(request(1)).result(10)
    disk.is_full = True
    with pytest.raises(Full):
        writer.take(request(2)).result(10)
    writer.stop()
    disk.is_full = False
    assert '{"n": 1}' in events(tmp_path)


def test_a_folder_that_cannot_be_made_at_first_is_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "_TRIED_AFTER_SECONDS", 0.05)
    folder = tmp_path / "intake"
    folder.write_text("a file where the folder belongs")
    writer = Writer(Segments(folder))
    writer.start()
    assert "cannot be written" in (writer.trouble or "")
    with pytest.raises(Full):
        writer.take(request(1))
    folder.unlink()
    assert taken_again(writer, request(1)) == [Outcome(Taken.NEW)]
    writer.stop()
    assert events(folder) == ['{"n": 1}']


def test_a_run_that_begins_gets_a_segment_of_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "SEALED_AFTER_SECONDS", 1.0)
    monkeypatch.setattr(Segments, "age", lambda _: 0.0)
    writer = Writer(Segments(tmp_path))
    writer.start()
    writer.take(request(1)).result(10)
    writer.seal()
    until(writer.segments.waiting)
    assert not list(tmp_path.glob(segments_module.JOURNALS))
    writer.stop()
    assert events(tmp_path) == ['{"n": 1}']


def test_what_waits_is_counted_again_once_runs_have_taken_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "SEALED_AFTER_SECONDS", 0.05)
    monkeypatch.setattr(writer_module, "_MEASURED_AFTER_SECONDS", 0.05)
    writer = Writer(Segments(tmp_path), max_waiting=5)
    writer.start()
    writer.take(request(1)).result(10)
    until(lambda: writer.is_backed_up)
    assert writer.segments.backlog == len(request(1).lines)
    with pytest.raises(Full, match="max_waiting is reached: 5 bytes") as caught:
        writer.take(request(2))
    assert caught.value.said == f"{writer.trouble}; send it again later"
    remove_taken(tmp_path, [path.name for path in writer.segments.waiting()])
    until(lambda: writer.segments.backlog == 0 and not writer.is_backed_up)
    assert writer.trouble is None
    writer.stop()
