"""The files of the journal: whole lines of several processes, bounded, without secrets, in nobody's way."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lakesmith
from lakesmith.errors import Problem, RunError
from lakesmith.execute.events import PhaseStarted, TableFailed
from lakesmith.journal import acting as acting_module
from lakesmith.journal import lines
from lakesmith.journal.acting import Action, acting
from lakesmith.journal.lines import AUDIT, JOURNAL, OLDER, Journal, Tail
from lakesmith.journal.reading import Reader
from lakesmith.project.definitions import TableName

ONE = TableName("silver", "one")
WRITER = """
import sys
from pathlib import Path
from lakesmith.journal.lines import Journal
for number in range(300):
    Journal(Path(sys.argv[1])).append({"do": "said", "id": sys.argv[2], "number": number, "text": "x" * 300})
"""


def _lines(path: Path) -> list[dict[str, object]]:
    # A write in progress may look like a torn line: then an empty one stands between.
    return [json.loads(line) for line in path.read_text().splitlines() if line]


@pytest.mark.processes
def test_processes_write_whole_lines_beside_each_other(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(each)]) for each in range(4)
    ]
    assert [each.wait(60) for each in writers] == [0] * 4
    found = _lines(tmp_path / JOURNAL)
    for each in range(4):
        assert [line["number"] for line in found if line["id"] == str(each)] == list(range(300))


@pytest.mark.processes
def test_a_full_file_is_put_aside_once_and_nothing_of_the_newest_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = WRITER.replace(
        "for number", "import lakesmith.journal.lines as all\nall.MOST_BYTES = 250_000\nfor number"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path), str(each)]) for each in range(3)
    ]
    assert [each.wait(60) for each in writers] == [0] * 3
    assert sorted(path.name for path in tmp_path.iterdir()) == [OLDER, JOURNAL]
    assert all((tmp_path / name).stat().st_size < 252_000 for name in (OLDER, JOURNAL))
    found = [(line["id"], line["number"]) for name in (OLDER, JOURNAL) for line in _lines(tmp_path / name)]
    assert len(found) == len(set(found)) == 900


def test_a_torn_line_and_rubbish_are_skipped(tmp_path: Path) -> None:
    journal, path = Journal(tmp_path), tmp_path / JOURNAL
    journal.append({"do": "a"})
    path.open("ab").write(b'{"at": 1, "do": "to')
    journal.append({"do": "b"})
    path.open("ab").write(b"\xff\x00{[]}\n[1]\n{}\n" + b"[" * 5000 + b"\n" + b'{"at": "x", "do": "c"}\n')
    journal.append({"do": "d"})
    found, _ = Tail(path).new_lines()
    assert [line["do"] for line in found] == ["a", "b", "d"]
    assert Reader(tmp_path).look().actions() == []


def test_a_half_written_line_is_read_when_it_is_whole(tmp_path: Path) -> None:
    path, tail = tmp_path / JOURNAL, Tail(tmp_path / JOURNAL)
    path.write_text('{"at": 1, "do"')
    assert tail.new_lines() == ([], True)
    path.open("a").write(': "said"}\n')
    assert tail.new_lines() == ([{"at": 1, "do": "said"}], False)


def test_a_journal_that_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).mkdir()
    assert not Journal(tmp_path).append({"do": "said"})
    assert not Journal(tmp_path / "no/such/folder").append({"do": "said"})
    with acting(Action(Journal(tmp_path), "run", "run")) as action:
        action(PhaseStarted(ONE, "reading"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).symlink_to("/dev/full")
    assert not Journal(tmp_path).append({"do": "said"})


def test_secrets_and_long_texts_are_not_written(tmp_path: Path) -> None:
    problem = Problem("LS601", "no login with hunter2", found="row 17", hint="hunter2")
    action = Action(Journal(tmp_path, ("hunter2",)), "run", "run --x hunter2", ["a.hunter2"])
    action.begin()
    action(TableFailed(ONE, (problem,), 1))
    action.say("y" * 10_000)
    text = (tmp_path / JOURNAL).read_text()
    assert "hunter2" not in text and "no login with ***" in text and "row 17" not in text
    assert len(text) < 2_000


def test_an_action_is_put_together_from_its_lines(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    with pytest.raises(RunError), acting(Action(Journal(tmp_path), "run", "run silver.*")) as action:
        action(PhaseStarted(ONE, "merging 3 rows"))
        time.sleep(0.1)
        (found,) = reader.look().doing()
        assert (found.table, found.text, found.kind) == ("silver.one", "merging 3 rows", "run")
        action(TableFailed(ONE, (Problem("LS601", "it broke"),), 1, 2.5))
        assert reader.look().doing() == ()
        raise RunError(Problem("LS601", "it broke"))
    (done,) = reader.look().actions()
    assert (done.outcome, done.text, done.code, done.tables["silver.one"].what) == (
        "failed", "run silver.*", "LS601", "it broke",
    )  # fmt: skip
    assert done.seconds is not None and done.process.pid > 0 and done.process.by


def test_phases_are_written_at_most_twice_a_second_and_the_last_one_stays(tmp_path: Path) -> None:
    action, began = Action(Journal(tmp_path), "run", "run"), time.monotonic()
    while time.monotonic() - began < 1.2:
        action(PhaseStarted(ONE, f"phase {time.monotonic()}"))
        time.sleep(0.01)
    action(PhaseStarted(ONE, "the last"))
    time.sleep(0.7)
    found = [line for line in _lines(tmp_path / JOURNAL) if line["do"] == "phase"]
    assert 3 <= len(found) <= 5 and found[-1]["phase"] == "the last"


def test_how_far_spark_is_is_written_once_a_step_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acting_module, "LONG", 0.2)
    reader = Reader(tmp_path)
    with acting(Action(Journal(tmp_path), "run", "run")) as action:
        action(PhaseStarted(ONE, "merging"))
        action.progress("1 row read")
        time.sleep(0.3)
        for number in range(30):
            action.progress(f"{number} rows read")
            time.sleep(0.01)
        time.sleep(0.6)
        (found,) = reader.look().doing()
        assert found.text == "merging, 29 rows read"
        action(TableFailed(ONE, (Problem("LS601", "it broke"),), 1, 2.5))
    said = [line["text"] for line in _lines(tmp_path / JOURNAL) if line["do"] == "progress"]
    assert 1 <= len(said) <= 3 and "1 row read" not in said and reader.look().doing() == ()


def test_a_service_writes_a_run_only_if_it_does_something(tmp_path: Path) -> None:
    with acting(Action(Journal(tmp_path), "run", "up", lazy=True)):
        pass
    assert not list(tmp_path.iterdir())
    with acting(Action(Journal(tmp_path), "run", "up", lazy=True)) as action:
        action.say("something")
    assert [line["do"] for line in _lines(tmp_path / JOURNAL)] == ["begun", "said", "ended"]


@pytest.mark.processes
def test_a_killed_action_does_not_run_for_ever(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from lakesmith.journal.acting import *\n"
        "Action(Journal(Path(sys.argv[1])), 'run', 'run').begin(); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False).returncode == -9
    (found,) = Reader(tmp_path).look().actions()
    assert found.outcome == "killed"


def test_what_changed_the_lake_is_never_put_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MOST_BYTES", 2_000)
    reader = Reader(tmp_path)
    with acting(Action(Journal(tmp_path), "tag", "tag closing", lasting=True)):
        pass
    for number in range(40):
        with acting(Action(Journal(tmp_path), "run", f"run {number}")) as action:
            action.say("x" * 200)
        reader.look()
    assert len(_lines(tmp_path / AUDIT)) == 2
    for each in (reader, Reader(tmp_path).look()):
        kinds = [action.kind for action in each.actions()]
        assert kinds[0] == "run" and kinds[-1] == "tag" and each.actions()[0].text == "run 39"
    assert sum(path.stat().st_size for path in tmp_path.glob("journal*.jsonl")) < 6_000


@pytest.mark.processes
def test_a_run_is_in_the_journal_with_who_and_how_it_ended(tmp_path: Path) -> None:
    (tmp_path / "tables/bronze").mkdir(parents=True)
    (tmp_path / "landing").mkdir()
    (tmp_path / "lakesmith.yaml").write_text("name: shop\n")
    (tmp_path / "tables/bronze/o.yaml").write_text(
        "source: {files: {path: landing, format: csv}}\ncolumns: {id: bigint}\n"
    )
    lakesmith.open(tmp_path).run("bronze.*")
    begun, ended = _lines(tmp_path / ".lakesmith" / JOURNAL)
    assert (begun["kind"], begun["text"], ended["outcome"]) == ("run", "run bronze.*", "done")
    assert begun["by"] and begun["host"] and isinstance(begun["pid"], int)
