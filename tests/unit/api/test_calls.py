"""Calls whose caller is interrupted: ended by what is given for it, waited for, and never cut in two."""

import signal
import threading
import time
from collections.abc import Callable

import pytest

from lakesmith.api.access import PATIENCE_SECONDS, Calls


def interrupted_while(call: Callable[[], None]) -> Callable[[], None]:
    """The call, during which Ctrl-C reaches the main thread as a terminal's does."""

    def begun() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        call()

    return begun


def test_a_call_gives_what_it_gives_and_raises_what_it_raises() -> None:
    calls = Calls()
    assert calls.do(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        calls.do(lambda: 1 / 0)
    assert calls.do(threading.get_ident) != threading.get_ident()


def test_an_interrupt_ends_the_call_and_is_raised_when_it_has_ended() -> None:
    wanted, ended = threading.Event(), threading.Event()

    def work() -> None:
        assert wanted.wait(30)
        ended.set()

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        Calls().do(interrupted_while(work), lambda _ended: wanted.set())
    assert ended.is_set() and time.monotonic() - began < PATIENCE_SECONDS


def test_what_does_not_end_is_left_and_the_next_call_waits_for_it() -> None:
    calls, go_on, ended = Calls(patience=0.05), threading.Event(), threading.Event()

    def work() -> None:
        assert go_on.wait(30)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        calls.do(interrupted_while(work))
    assert not ended.is_set()
    assert calls.do_at_once(ended.is_set) is False
    threading.Timer(0.2, go_on.set).start()
    assert calls.do(ended.is_set) is True


def test_another_thread_does_not_wait_for_what_it_did_not_begin() -> None:
    """A callback of the call that is ending calls again: both would wait for ever."""
    calls, told = Calls(patience=0.05), []
    go_on = threading.Event()

    def work() -> None:
        assert go_on.wait(30)
        told.append(calls.do(lambda: "answered"))

    with pytest.raises(KeyboardInterrupt):
        calls.do(interrupted_while(work))
    go_on.set()
    calls.do(lambda: None)
    assert told == ["answered"]
