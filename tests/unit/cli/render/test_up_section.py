"""What ``status`` shows of ``lakesmith up``: only one that lives is shown as one that does."""

import json
import os
import socket
import subprocess
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lakesmith.api.reading import up_to_dict
from lakesmith.cli.render.up_section import up_lines
from lakesmith.serve.state import (
    FILE,
    Board,
    IntakeState,
    LastRun,
    TableState,
    UpState,
    is_alive,
    moment,
    read_state,
    this_process,
)

NOW = datetime(2026, 11, 23, 6, 30, tzinfo=UTC)
NOW_MS = round(NOW.timestamp() * 1000)
BAD = {"code": "LS601", "what": "Spark failed: no number"}


def before(seconds: float) -> str:
    return moment(NOW - timedelta(seconds=seconds))


def state() -> UpState:
    tables = {
        "bronze.a": TableState(last_batch=before(3), last_rows=1200, last_changed=1150, lag_seconds=0.4),
        "silver.b": TableState(failures=9, is_parked=True, problem=BAD, next_try=before(-90)),
        "silver.quiet": TableState(),
        "gold.c": TableState("0 6 * * * UTC", "2026-11-24T06:00:00.000+00:00"),
    }
    run = LastRun(before(3), 1.5, ("bronze.a",), ("silver.b",))
    here = replace(this_process("http://127.0.0.1:8080"), pid=os.getpid())
    return replace(
        here,
        since=before(7200),
        written=before(0.5),
        doing="waiting",
        last_run=run,
        tables=tables,
        intake=IntakeState(is_taking=True),
    )


def lines(found: UpState) -> list[str]:
    return up_lines(found, list(found.tables), NOW_MS)


def test_one_that_lives() -> None:
    assert lines(state()) == [
        f"lakesmith up (process {os.getpid()}, begun 2 h ago): waiting;"
        " it takes events at http://127.0.0.1:8080",
        "  last run just now: 1 batch in 1.5 s, 1 table failed",
        "  silver.b is parked: LS601 Spark failed: no number; it is tried again in 1 min 30 s",
        "",
        "up        schedule       next                     last batch  rows in  rows out  waits for    "
        "failures",
        "bronze.a  on arrival     -                        just now      1,200     1,150     0.40 s         "
        "  0",
        "silver.b  on arrival     -                        -                 -         -          -  9 "
        "(parked)",
        "gold.c    0 6 * * * UTC  2026-11-24 06:00:00 UTC  -                 -         -          -         "
        "  0",
    ]


def test_one_that_cannot_run_anything_and_one_that_is_stopped() -> None:
    assert "  nothing can be run: LS601 Spark failed: no number" in lines(replace(state(), problem=BAD))
    silent = "  it was heard of last 1 min ago: it does not answer, or its folder cannot be written"
    assert silent in lines(replace(state(), written=before(100)))


def test_an_intake_that_takes_nothing_is_not_said_to_take_events() -> None:
    killed = lines(replace(state(), intake=IntakeState()))
    assert killed[0].endswith(
        "waiting; the process that takes events at http://127.0.0.1:8080 is being started, and they wait"
    )
    full = IntakeState(True, {"/sales": "No space left on device"})
    assert "  /sales takes no events: No space left on device" in lines(replace(state(), intake=full))
    wrong = IntakeState(problem="LS104 tables/a.yaml:1: unknown setting")
    assert "  no events are taken: LS104 tables/a.yaml:1: unknown setting" in lines(
        replace(state(), intake=wrong)
    )


def test_one_that_was_killed_is_never_told_as_live() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    killed = replace(state(), pid=process.pid, written=before(10800))

    assert lines(killed) == [
        f"lakesmith up is not running: process {process.pid} ended without a word,"
        " and was heard of last 3 h ago"
    ]
    assert (up_to_dict(killed) or {})["is_alive"] is False


@pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="the kernel does not tell when a process began"
)
def test_another_process_of_its_number_is_not_taken_for_it() -> None:
    assert is_alive(state())
    assert not is_alive(replace(state(), born="1"))


def test_one_of_another_machine_is_told_as_what_it_wrote() -> None:
    elsewhere = replace(state(), host="another")

    assert lines(elsewhere)[0].startswith(
        f"lakesmith up (process {os.getpid()} on another, begun 2 h ago): waiting"
    )
    assert (up_to_dict(elsewhere) or {})["is_alive"] is None


def test_the_board_is_there_while_it_is_kept(tmp_path: Path) -> None:
    with Board(tmp_path, this_process(), lambda: {"bronze.a": 2.5}) as board:
        board.put(
            doing="waiting",
            tables={"bronze.a": TableState()},
            last_run=LastRun(before(1), 1.0, ("bronze.a",)),
            intake=IntakeState(True, {"/a": "full"}),
        )
        found = read_state(tmp_path)
        assert found is not None
        assert (found.doing, found.host, found.tables["bronze.a"].lag_seconds) == (
            "waiting", socket.gethostname(), 2.5,
        )  # fmt: skip
        assert found.last_run is not None
        assert found.intake == IntakeState(True, {"/a": "full"})
        assert list(found.last_run.published) == ["bronze.a"]

    board.put(doing="bringing bronze.a up to date")
    assert read_state(tmp_path) is None, (
        "threads that are left of a run that was abandoned do not bring it back"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({**asdict(state()), "more": 1})])
def test_a_file_of_another_kind_is_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)

    assert read_state(tmp_path) is None
