"""Processes beside ``up``: what they say, and that one that hangs is replaced."""

import os
import threading
import time
from pathlib import Path

import pytest

from lakesmith.serve.kept_process import KeptProcess, lines_of


def test_lines_are_whole_however_they_come() -> None:
    read, write = os.pipe()
    for part in (b"on", b"e\ntwo\n", b"\nth"):
        os.write(write, part)
    threading.Timer(0.2, lambda: (os.write(write, b"ree\n"), os.close(write))).start()
    assert list(lines_of(read, 5.0)) == [b"one", b"two", b"", b"three"]
    os.close(read)


def test_a_pipe_on_which_nothing_comes_is_silent() -> None:
    read, write = os.pipe()
    os.write(write, b"one\nhalf")
    assert list(lines_of(read, 0.1)) == [b"one", None]
    os.close(read)
    os.close(write)


def test_a_process_that_hangs_is_replaced_and_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hangs.py").write_text("import time; print('here', flush=True); time.sleep(60)\n")
    said, ends, again = list[bytes](), list[str](), threading.Event()

    def say(line: bytes) -> None:
        said.append(line)
        if len(said) == 2:
            again.set()

    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    process = KeptProcess(["hangs"], "test", say, ends.append, 1.0, 2.0)
    try:
        process.start([])
        deadline = time.monotonic() + 20
        while not said and time.monotonic() < deadline:
            time.sleep(0.02)
        first = process.pid
        assert again.wait(30) and process.pid != first
        assert ends[0] == "it hung: it said nothing for 2 seconds" and not Path(f"/proc/{first}").exists()
    finally:
        process.end()
    assert not Path(f"/proc/{process.pid}").exists()
